"""Sequences and indexes of k-mers as files."""
