"""Plots: convert arrays to HoloViews objects, Bokeh figures and image files, without widgets."""

import holoviews as hv
import holoviews.plotting.bokeh

hv.Store.set_current_backend("bokeh")
