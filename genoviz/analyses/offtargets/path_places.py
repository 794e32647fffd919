"""Columns of the places of sites on paths, and of the windows behind the sites."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.model.columns import expand_counts


@dataclass(frozen=True, eq=False)
class PathPlaces:
    """Places of sites on paths, sorted by site and path.

    Attributes
    ----------
    sites
        int64, shape (n,): row of the site.
    paths
        int32, shape (n,): index of the path.
    starts
        int64, shape (n,): leftmost base, 0-based, bp from the path's first base.
    strands
        int8, shape (n,): 1 if the guide reads 5' to 3' along the path, else -1.
    """

    sites: np.ndarray
    paths: np.ndarray
    starts: np.ndarray
    strands: np.ndarray

    def __len__(self) -> int:
        return len(self.sites)


@dataclass(frozen=True, eq=False)
class SiteMembers:
    """Windows of shared stretches that read the same nodes as a site.

    Site ``i`` is ``units[offsets[i]:offsets[i + 1]]``. ``offsets`` are int64, shape
    (n_sites + 1,); ``units`` and ``starts`` (first base in the unit, bp) int64, ``lengths`` (bp)
    int64 and ``strands`` (along the walk) int8, shape (n_members,).
    """

    offsets: np.ndarray
    units: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    strands: np.ndarray


def expand_rows(offsets: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the concatenated items of rows, and the row of each; int64."""
    owners, within = expand_counts(offsets[rows + 1] - offsets[rows])
    return offsets[rows][owners] + within, owners
