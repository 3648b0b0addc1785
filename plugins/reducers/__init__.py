"""What is kept of a run of a study."""
