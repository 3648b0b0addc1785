"""Formalisms: the same machine, its accelerations by principles that differ."""
