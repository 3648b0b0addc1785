"""Machines put together from subsystems: the recursive modular methodology of document 002."""
