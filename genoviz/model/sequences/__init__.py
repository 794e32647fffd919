"""Sequences and their indexes."""
