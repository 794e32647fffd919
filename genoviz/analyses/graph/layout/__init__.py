"""Layouts of graphs by path-guided SGD, and their path stress."""
