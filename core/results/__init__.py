"""Histories, joint loads in them, and files of both."""
