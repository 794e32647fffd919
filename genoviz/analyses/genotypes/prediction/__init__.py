"""Breeding values: SNP-BLUP, GBLUP and single step."""
