"""Searches: their guides, the genome or graph that is searched, and how they run."""
