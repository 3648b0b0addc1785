"""Loads in joints, and ports where machines are coupled."""
