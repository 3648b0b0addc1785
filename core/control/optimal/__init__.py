"""Optimal control: motions of machines at the least cost."""
