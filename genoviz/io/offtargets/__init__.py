"""Files of guides, genomes to search, and off-target hits."""
