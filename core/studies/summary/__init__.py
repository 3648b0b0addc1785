"""What the runs of a study say together."""
