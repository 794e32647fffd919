"""Predictions of breeding values, and how good they are."""
