"""Where sets that are lit up lie along a contig or path, as far as a drawing shows them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np


class Lit(Protocol):
    """A set: its name and colour, and where it is."""

    title: str
    colour: str

    def stretches(self, contig: str) -> np.ndarray:
        """Return where it is on a contig; int64, shape (n, 2), ascending by start."""


@dataclass(frozen=True, eq=False)
class LitAlong:
    """One set along one contig.

    Attributes
    ----------
    title, colour
        Its name and colour.
    stretches
        int64, shape (n, 2): starts and ends in bp, ascending by start.
    reach
        int64, shape (n,): the furthest end so far.
    """

    title: str
    colour: str
    stretches: np.ndarray
    reach: np.ndarray

    def between(self, start: float, end: float, bp_per_pixel: float) -> np.ndarray:
        """Return what is between two places; what is less than a pixel apart is joined.

        Returns
        -------
        numpy.ndarray
            int64, shape (n, 3): start, end, and how many stretches they stand for.
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


def lit_along(sets: Iterable[Lit], contig: str) -> tuple[LitAlong, ...]:
    """Return the sets that have a place on a contig or path."""
    found = []
    for lit in sets:
        stretches = lit.stretches(contig)
        if len(stretches):
            reach = np.maximum.accumulate(stretches[:, 1])
            found.append(LitAlong(lit.title, lit.colour, stretches, reach))
    return tuple(found)
