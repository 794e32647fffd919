"""Prediction of breeding values, and its accuracy."""
