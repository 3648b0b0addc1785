"""Servo-constraints: the inputs that drive measures of a machine along a path."""
