"""Figures and tables of five documents, made again, and a page for every model."""
