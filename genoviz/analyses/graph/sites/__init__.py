"""Variation sites of a graph and their alleles."""
