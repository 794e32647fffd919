"""Genotypes, phenotypes and pedigrees."""
