"""Nodes: search, selection and description."""
