"""Screws, joints, closures and algebra as CasADi expressions."""
