"""How a model becomes an FMU."""
