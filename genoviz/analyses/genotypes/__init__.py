"""Genotypes: products of the packed matrix, and the analyses based on them."""
