"""Genotypes, phenotypes and pedigrees as files."""
