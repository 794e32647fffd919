"""Genotypes: products of the packed matrix, and the analyses that stand on them."""
