"""Intervals and annotations."""
