"""Paths, their annotations and variation sites."""
