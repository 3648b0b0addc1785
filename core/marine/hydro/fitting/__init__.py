"""Radiation memory of a hull as a passive linear system, fitted to its hydrodynamic data."""
