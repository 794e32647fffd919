"""Annotations on the paths of a graph: their stretches, steps and nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.model import Annotations, PangenomeGraph, PathRegion


@dataclass(frozen=True, eq=False, repr=False)
class PlacedAnnotations:
    """Where annotations lie on paths; a row that is on several paths is there several times.

    Attributes
    ----------
    graph, annotations
        What was placed on what.
    rows
        int64, shape (n,): the row of ``annotations``; ascending.
    paths
        int64, shape (n,): index of the path.
    starts, ends
        int64, shape (n,): 0-based half-open, bp from the path's first base, within the path.
    is_clipped
        bool, shape (n,): whether the annotation goes beyond the path.
    notes
        What was not placed and why, one sentence each.
    """

    graph: PangenomeGraph
    annotations: Annotations
    rows: np.ndarray
    paths: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    is_clipped: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"PlacedAnnotations({len(self):,} places of {len(self.annotations):,} annotations)"

    @property
    def regions(self) -> Sequence[PathRegion]:
        """The stretch of each place."""
        return _Regions(self)

    @cached_property
    def step_ranges(self) -> np.ndarray:
        """First and stop step of each place, global numbers; int64, shape (n, 2)."""
        last_bases = self.graph.path_lengths[self.paths] - 1
        firsts = np.minimum(self.starts, last_bases)
        lasts = np.minimum(np.maximum(self.ends - 1, self.starts), last_bases)
        index = self.graph.position_index
        ranges = [index.steps_at(self.paths, firsts), index.steps_at(self.paths, lasts) + 1]
        return np.stack(ranges, axis=1)

    def nodes(self, place: int) -> np.ndarray:
        """Return the nodes of a place, ascending and once each; int64.

        An annotation without length has the node at its position.
        """
        first, stop = self.step_ranges[place]
        return np.unique(self.graph.steps[first:stop] >> 1).astype(np.int64)


class _Regions(Sequence):
    """Regions that are made when they are asked for: there may be millions."""

    def __init__(self, placed: PlacedAnnotations) -> None:
        self._placed = placed

    def __len__(self) -> int:
        return len(self._placed)

    def __getitem__(self, place: int) -> PathRegion:
        placed = self._placed
        name = placed.graph.path_names[placed.paths[place]]
        return PathRegion(name, int(placed.starts[place]), int(placed.ends[place]))
