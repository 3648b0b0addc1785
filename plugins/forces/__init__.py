"""Built-in forces."""
