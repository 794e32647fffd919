"""Plots: convert arrays to Bokeh figures and image files, without widgets."""
