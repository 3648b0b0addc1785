"""Plugins: what they look like, where they come from, how they are named."""
