"""Files of graphs, layouts and node tables."""
