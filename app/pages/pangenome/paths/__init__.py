"""Paths, annotations and variation sites."""
