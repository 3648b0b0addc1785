"""Built-in writers."""
