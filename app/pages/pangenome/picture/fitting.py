"""Fits views to the whole layout: in true shape, stretched, or folded into rows."""

from __future__ import annotations

from enum import StrEnum

from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz_app.parts.words import n_words

REFIT_SHARE = 0.8
FOLD_MARGIN = 0.03
STRETCH_ABOVE, KEEP_BELOW = 12.0, 8.0

Bounds = tuple[float, float, float, float]


class Shape(StrEnum):
    """How the layout is fitted into the picture."""

    TRUE = "true"
    STRETCHED = "stretched"
    FOLDED = "folded"


SHAPES = {"True shape": Shape.TRUE, "Stretched": Shape.STRETCHED, "Folded": Shape.FOLDED}
"""The shapes by the names that people see."""


class Fitting:
    """Fits views to a moving layout.

    Attributes
    ----------
    wish
        The requested shape. None stretches a layout that is so elongated that it would look like a
        line, and shows all others in true shape.
    shape
        Shape of the last view of the whole layout.
    fold
        How the layout is folded into rows, or None.
    """

    def __init__(self) -> None:
        self.wish: Shape | None = None
        self.shape = Shape.TRUE
        self.fold: Fold | None = None

    def fit(self, bounds: Bounds, width: int, height: int, last: Viewport | None) -> Viewport:
        """Return a view of the whole layout; the last one as long as it fits.

        Parameters
        ----------
        bounds
            Bounds of the layout: x_min, y_min, x_max, y_max, bp.
        width, height
            Size of the picture, px.
        last
            The current view, if it was computed here.
        """
        before = (self.shape, self.fold)
        self.shape = self._choose(bounds, width, height)
        self.fold = self._fold(bounds, width, height) if self.shape is Shape.FOLDED else None
        bounds = bounds if self.fold is None else self.fold.bounds
        is_stretched = self.shape is Shape.STRETCHED
        fitted = Viewport.fit(bounds, width, height, keep_aspect=not is_stretched)
        if last is None or (self.shape, self.fold) != before:
            return fitted
        return last if will_do(last, fitted, bounds) else fitted

    def overview(self, bounds: Bounds, width: int, height: int) -> Viewport:
        """Return a view of the whole layout in the current shape, for the overview map."""
        bounds = bounds if self.fold is None else self.fold.bounds
        return Viewport.fit(bounds, width, height, keep_aspect=self.shape is not Shape.STRETCHED)

    def _choose(self, bounds: Bounds, width: int, height: int) -> Shape:
        if self.wish is not None:
            return self.wish
        x_extent = max(bounds[2] - bounds[0], 1e-9) / width
        y_extent = max(bounds[3] - bounds[1], 1e-9) / height
        elongation = max(x_extent, y_extent) / min(x_extent, y_extent)
        limit = KEEP_BELOW if self.shape is Shape.STRETCHED else STRETCH_ABOVE
        return Shape.STRETCHED if elongation > limit else Shape.TRUE

    def _fold(self, bounds: Bounds, width: int, height: int) -> Fold | None:
        """Return the last fold as long as it fits; None if there is nothing to fold."""
        last = self.fold
        if last is not None and (last.width, last.height) == (width, height):
            old = last.layout_bounds
            holds_all = old[0] <= bounds[0] and old[1] <= bounds[1]
            holds_all = holds_all and old[2] >= bounds[2] and old[3] >= bounds[3]
            if holds_all and bounds[2] - bounds[0] > REFIT_SHARE * (old[2] - old[0]):
                return last
        x_margin, y_margin = (FOLD_MARGIN * (bounds[i + 2] - bounds[i]) for i in (0, 1))
        wide = (
            bounds[0] - x_margin,
            bounds[1] - y_margin,
            bounds[2] + x_margin,
            bounds[3] + y_margin,
        )
        fold = Fold(wide, width, height)
        return fold if fold.n_rows > 1 else None


def will_do(last: Viewport, fitted: Viewport, bounds: Bounds) -> bool:
    """Return whether a view contains the whole layout without being much too large."""
    if (last.width, last.height) != (fitted.width, fitted.height):
        return False
    holds_all = (
        last.x_min <= bounds[0]
        and last.y_min <= bounds[1]
        and last.x_max >= bounds[2]
        and last.y_max >= bounds[3]
    )
    x_share = (fitted.x_max - fitted.x_min) / (last.x_max - last.x_min)
    y_share = (fitted.y_max - fitted.y_min) / (last.y_max - last.y_min)
    return holds_all and min(x_share, y_share) > REFIT_SHARE


def unstretched(view: Viewport) -> Viewport:
    """Return a view in true shape with the same width; intentionally stretched views are kept."""
    x_scale, y_scale = view.bp_per_pixel
    if not 1 / KEEP_BELOW < x_scale / y_scale < KEEP_BELOW:
        return view
    middle, half = (view.y_min + view.y_max) / 2, x_scale * view.height / 2
    return Viewport(view.x_min, view.x_max, middle - half, middle + half, view.width, view.height)


def shape_text(view: Viewport, fold: Fold | None) -> str:
    """Describe how a view transforms the layout; empty for the true shape."""
    parts = [stretch_text(view)]
    if fold is not None:
        parts.insert(0, f"Folded into {n_words(fold.n_rows, 'row')}")
    return ", ".join(filter(None, parts))


def stretch_text(view: Viewport) -> str:
    """Describe how much a view distorts the layout; empty without distortion."""
    x_scale, y_scale = view.bp_per_pixel
    factor = x_scale / y_scale
    if 0.99 < factor < 1.01:
        return ""
    axis, factor = ("Height", factor) if factor > 1 else ("Width", 1 / factor)
    return (
        f"{axis} stretched {factor:,.1f} times"
        if factor < 10
        else (f"{axis} stretched {factor:,.0f} times")
    )
