"""Which view shows the whole layout: in its true shape, or stretched over the picture."""

from __future__ import annotations

from genoviz.analyses.viewport import Viewport

REFIT_SHARE = 0.8
STRETCH_ABOVE, KEEP_BELOW = 12.0, 8.0

Bounds = tuple[float, float, float, float]


class Fitting:
    """Fits views to a layout that moves.

    Attributes
    ----------
    wish
        True to stretch, False to keep the true shape; None stretches what is so much longer than
        high, or higher than long, that it would be a line.
    is_stretched
        Whether the last view was stretched.
    """

    def __init__(self) -> None:
        self.wish: bool | None = None
        self.is_stretched = False

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
        was_stretched = self.is_stretched
        self.is_stretched = self._stretches(bounds, width, height)
        fitted = Viewport.fit(bounds, width, height, keep_aspect=not self.is_stretched)
        if last is None or self.is_stretched != was_stretched:
            return fitted
        if (last.width, last.height) != (width, height):
            return fitted
        return last if _will_do(last, fitted, bounds) else fitted

    def _stretches(self, bounds: Bounds, width: int, height: int) -> bool:
        if self.wish is not None:
            return self.wish
        x_extent = max(bounds[2] - bounds[0], 1e-9) / width
        y_extent = max(bounds[3] - bounds[1], 1e-9) / height
        elongation = max(x_extent, y_extent) / min(x_extent, y_extent)
        return elongation > (KEEP_BELOW if self.is_stretched else STRETCH_ABOVE)


def _will_do(last: Viewport, fitted: Viewport, bounds: Bounds) -> bool:
    """Tell whether a view holds everything without being much too large."""
    holds_all = (
        last.x_min <= bounds[0]
        and last.y_min <= bounds[1]
        and last.x_max >= bounds[2]
        and last.y_max >= bounds[3]
    )
    x_share = (fitted.x_max - fitted.x_min) / (last.x_max - last.x_min)
    y_share = (fitted.y_max - fitted.y_min) / (last.y_max - last.y_min)
    return holds_all and min(x_share, y_share) > REFIT_SHARE


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
