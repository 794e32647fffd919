"""Genome-wide association: each variant tested on its own."""
