"""FMUs with Python inside."""
