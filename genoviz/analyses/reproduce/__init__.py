"""Reproduces figures and tables of the papers from runs on this machine."""
