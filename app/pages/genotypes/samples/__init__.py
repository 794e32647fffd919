"""Samples: principal components, relationships, and the list of samples."""
