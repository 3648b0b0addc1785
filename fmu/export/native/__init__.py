"""FMUs in plain C."""
