"""What is coupled: FMUs and machines in process."""
