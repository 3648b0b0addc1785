"""Built-in joint-load methods."""
