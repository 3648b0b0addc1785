"""Document 001: a thesis on optimal control of multibody systems with energy-momentum schemes."""
