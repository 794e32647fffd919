"""Graphs, layouts and tables of nodes as files."""
