"""Genome-wide association: each variant is tested separately."""
