"""Simulated data of all kinds, from a seed."""
