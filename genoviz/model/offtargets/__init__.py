"""Guides, genomes for the search, and off-target hits."""
