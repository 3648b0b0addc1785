"""Gradients of what runs compute: a discrete adjoint of the steps that were taken, in machine code."""
