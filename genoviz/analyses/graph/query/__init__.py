"""Questions to a graph: regions, positions, parts, depth, statistics."""
