"""What a plugin of each kind must look like: one file for each kind."""
