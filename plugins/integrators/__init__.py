"""Built-in integrators."""
