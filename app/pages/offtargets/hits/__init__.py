"""Hits of a search: table, filters, card, figures and files."""
