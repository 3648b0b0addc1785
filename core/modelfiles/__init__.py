"""Mechanisms from files: TOML, URDF, and by name."""
