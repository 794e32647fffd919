"""Searches: guides, the searched genome or graph, and jobs."""
