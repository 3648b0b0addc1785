"""FMU files: reading them, and what variables they have."""
