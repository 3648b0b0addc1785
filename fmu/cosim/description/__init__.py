"""Coupled systems as data, from Python, TOML and SSP."""
