"""Document 002: a thesis on a modular and recursive modelling methodology for multibody systems."""
