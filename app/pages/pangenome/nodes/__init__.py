"""Nodes: found, picked and described."""
