"""Transcriptions of optimal control problems, and terms of their costs."""
