"""Colours of annotations, computed once for all views."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.graph.picture.annotation_colours import place_colours
from genoviz.analyses.graph.query.annotate import PlacedAnnotations

_COLOURS: WeakKeyDictionary[PlacedAnnotations, np.ndarray] = WeakKeyDictionary()


def colours_of(placed: PlacedAnnotations) -> np.ndarray:
    """Return the colour of each place, as on the layout; ``#rrggbb``, shape (n_places,)."""
    if placed not in _COLOURS:
        _COLOURS[placed] = place_colours(placed)
    return _COLOURS[placed]
