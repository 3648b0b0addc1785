"""The cranes of document 000, a module for each kind; D2_cranes_000.py makes the figures."""
