"""Figures and tables of the papers, drawn anew from a run on this machine."""
