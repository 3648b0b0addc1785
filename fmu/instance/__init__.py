"""FMUs at work: one instance, its functions, its log."""
