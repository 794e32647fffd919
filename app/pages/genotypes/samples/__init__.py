"""Samples: principal components, relationships, lists."""
