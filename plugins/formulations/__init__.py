"""Built-in formulations."""
