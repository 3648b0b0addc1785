"""Where the cases of a study are run."""
