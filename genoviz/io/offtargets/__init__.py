"""Guides, genomes for the search and off-target hits as files."""
