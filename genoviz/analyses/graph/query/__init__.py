"""Queries of a graph: regions, positions, parts, depth, statistics."""
