"""Index analysis: what kind of equations a servo task leads to, and whether it can work at all."""
