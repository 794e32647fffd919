"""Arrays in, HoloViews and picture files out; no widgets."""

import holoviews as hv
import holoviews.plotting.bokeh

hv.Store.set_current_backend("bokeh")
