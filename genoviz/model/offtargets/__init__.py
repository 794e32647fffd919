"""Guides, genomes to search, and off-target hits."""
