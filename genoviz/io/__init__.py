"""Readers and writers that convert between files and model objects."""
