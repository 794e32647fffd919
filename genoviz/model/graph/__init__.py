"""Graphs, layouts and paths."""
