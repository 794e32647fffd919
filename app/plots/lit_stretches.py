"""Intervals of highlighted sets along a contig or path, at the resolution of a drawing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from bokeh.models import ColumnDataSource, HoverTool


class Lit(Protocol):
    """A highlighted set: its name, colour and intervals."""

    title: str
    colour: str

    def stretches(self, contig: str) -> np.ndarray:
        """Return its intervals on a contig; int64, shape (n, 2), ascending by start."""


@dataclass(frozen=True, eq=False)
class LitAlong:
    """The intervals of one set on one contig.

    Attributes
    ----------
    title, colour
        Name and colour of the set.
    stretches
        int64, shape (n, 2): starts and ends in bp, ascending by start.
    reach
        int64, shape (n,): running maximum of the ends.
    """

    title: str
    colour: str
    stretches: np.ndarray
    reach: np.ndarray

    def between(self, start: float, end: float, bp_per_pixel: float) -> np.ndarray:
        """Return the intervals in a range; those less than a pixel apart are merged.

        Returns
        -------
        numpy.ndarray
            int64, shape (n, 3): start, end, and number of merged intervals.
        """
        first = int(np.searchsorted(self.reach, start, side="right"))
        last = int(np.searchsorted(self.stretches[:, 0], end, side="left"))
        found, reach = self.stretches[first:last], self.reach[first:last]
        if not len(found):
            return np.empty((0, 3), np.int64)
        begins = np.ones(len(found), bool)
        begins[1:] = found[1:, 0] - reach[:-1] > bp_per_pixel
        places = np.flatnonzero(begins)
        stops = np.append(places[1:], len(found))
        return np.stack([found[places, 0], reach[stops - 1], stops - places], axis=1)


LIT_PIXELS = 5
"""Minimum width of a bar."""
LIT_COLUMNS = ("left", "right", "bottom", "top", "colour", "says")


def lit_bars(
    sets: Iterable[Lit],
    rows: Iterable[tuple[str, float, float]],
    ends: tuple[float, float],
    bp_per_pixel: float,
    height: float,
) -> dict[str, list[Any]]:
    """Return bars of highlighted intervals on contigs, with sets stacked.

    Parameters
    ----------
    rows
        Name of each contig, its start on the axis, and the lower edge of its bars.
    ends
        The visible range of the axis.
    bp_per_pixel, height
        Resolution of the axis, and height of each bar.
    """
    columns: dict[str, list[Any]] = {name: [] for name in LIT_COLUMNS}
    places = tuple(rows)
    for number, lit in enumerate(sets):
        for contig, first, level in places:
            for along in lit_along((lit,), contig):
                found = along.between(ends[0] - first, ends[1] - first, bp_per_pixel)
                n, bottom = len(found), level + number * height
                columns["left"] += (found[:, 0] + first).tolist()
                columns["right"] += (found[:, 1] + first).tolist()
                columns["bottom"] += [bottom] * n
                columns["top"] += [bottom + 0.8 * height] * n
                columns["colour"] += [along.colour] * n
                columns["says"] += [f"{along.title}: {count:,}" for count in found[:, 2].tolist()]
    return columns


class LitBars:
    """Highlight bars in a figure; their glyphs are created when first needed."""

    def __init__(self, plot: Any) -> None:
        self._plot = plot
        self._source: ColumnDataSource | None = None

    @property
    def columns(self) -> dict[str, Any]:
        """The drawn data; see `lit_bars`."""
        return {name: [] for name in LIT_COLUMNS} if self._source is None else self._source.data

    def show(self, columns: dict[str, Any]) -> None:
        """Replace the bars."""
        if self._source is not None:
            self._source.data = columns
        elif columns["left"]:
            self._source = ColumnDataSource(data=columns)
            self._add()

    def _add(self) -> None:
        drawn = self._plot.quad(
            left="left", right="right", bottom="bottom", top="top", source=self._source,
            fill_color="colour", line_color="colour", line_width=LIT_PIXELS,
        )  # fmt: skip
        hover = HoverTool(
            renderers=[drawn], point_policy="follow_mouse", tooltips=[("Lit", "@says")]
        )
        self._plot.add_tools(hover)


def lit_along(sets: Iterable[Lit], contig: str) -> tuple[LitAlong, ...]:
    """Return the sets that have intervals on a contig or path."""
    found = []
    for lit in sets:
        stretches = lit.stretches(contig)
        if len(stretches):
            reach = np.maximum.accumulate(stretches[:, 1])
            found.append(LitAlong(lit.title, lit.colour, stretches, reach))
    return tuple(found)
