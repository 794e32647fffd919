"""Which view shows the whole layout: in its true shape, stretched over the picture, or in rows."""

from __future__ import annotations

from enum import StrEnum

from genoviz.analyses.graph.picture.fold import Fold
from genoviz.analyses.graph.picture.viewport import Viewport

REFIT_SHARE = 0.8
FOLD_MARGIN = 0.03
STRETCH_ABOVE, KEEP_BELOW = 12.0, 8.0

Bounds = tuple[float, float, float, float]


class Shape(StrEnum):
    """How a layout lies in the picture."""

    TRUE = "true"
    STRETCHED = "stretched"
    FOLDED = "folded"


class Fitting:
    """Fits views to a layout that moves.

    Attributes
    ----------
    wish
        The shape that is wished; None stretches what is so much longer than high, or higher than
        long, that it would be a line, and shows all else in its true shape.
    shape
        That of the last view of everything.
    fold
        How the layout is cut into rows, or None.
    """

    def __init__(self) -> None:
        self.wish: Shape | None = None
        self.shape = Shape.TRUE
        self.fold: Fold | None = None

    def fit(self, bounds: Bounds, width: int, height: int, last: Viewport | None) -> Viewport:
        """Return a view of everything: the last one for as long as it will do.

        Parameters
        ----------
        bounds
            Of the layout: x_min, y_min, x_max, y_max, bp.
        width, height
            Of the picture, pixels.
        last
            The view shown at present, if it was made here.
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
        """Return a view of everything in the shape that is shown, for a small map."""
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
        """Return the last fold for as long as it will do; None when there is nothing to fold."""
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
    """Return whether a view still holds everything without being much too large."""
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
    """Return a view in true shape, as wide as it is; one that is meant to be stretched as it is."""
    x_scale, y_scale = view.bp_per_pixel
    if not 1 / KEEP_BELOW < x_scale / y_scale < KEEP_BELOW:
        return view
    middle, half = (view.y_min + view.y_max) / 2, x_scale * view.height / 2
    return Viewport(view.x_min, view.x_max, middle - half, middle + half, view.width, view.height)


def shape_text(view: Viewport, fold: Fold | None) -> str:
    """Return what a view does to the layout, in words; empty when it shows the true shape."""
    parts = [stretch_text(view)]
    if fold is not None:
        parts.insert(0, f"Folded into {fold.n_rows} rows")
    return ", ".join(filter(None, parts))


def stretch_text(view: Viewport) -> str:
    """Return how much a view distorts the layout, in words; empty when it does not."""
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
