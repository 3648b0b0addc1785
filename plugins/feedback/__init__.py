"""Controllers that keep a machine on the path of a servo task."""
