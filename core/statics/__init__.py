"""Equilibria and small motions."""
