"""The bars of a spectrum: exact counts first, then bins that grow, then all beyond a limit."""

from __future__ import annotations

import numpy as np

N_EXACT = 20
BINS_PER_DECADE = 10
LIMITS = {"no limit": 0, "100": 100, "1,000": 1000, "10,000": 10_000, "100,000": 100_000}

TICKS = (1, 2, 3, 5, 10, 15, *(step * 10**power for power in range(1, 12) for step in (2, 5, 10)))

Bin = tuple[int, int, int, int]


def spectrum_bins(
    multiplicities: np.ndarray, n_kmers: np.ndarray, *, limit: int = 0
) -> tuple[Bin, ...]:
    """Return the bars of a spectrum: lowest and highest count, k-mers, and positions of each.

    Parameters
    ----------
    multiplicities, n_kmers
        int64, ascending: how often k-mers occur, and how many occur that often.
    limit
        What is beyond it is in the last bar; 0 for none.
    """
    if not len(multiplicities):
        return ()
    highest = int(multiplicities[-1])
    top = min(limit, highest) if limit else highest
    edges = [edge for edge in bin_edges(top) if edge <= top]
    edges.append(top + 1)
    if highest > top:
        edges.append(highest + 1)
    bounds = np.searchsorted(multiplicities, edges)
    mass = np.concatenate([[0], np.cumsum(multiplicities * n_kmers)])
    kmers = np.concatenate([[0], np.cumsum(n_kmers)])
    return tuple(
        (low, high - 1, int(kmers[b] - kmers[a]), int(mass[b] - mass[a]))
        for low, high, a, b in zip(edges, edges[1:], bounds, bounds[1:], strict=False)
    )


def bin_edges(top: int) -> list[int]:
    """Return where bins begin: 1, 2, ..., then so many per decade."""
    edges = list(range(1, N_EXACT + 1))
    exponent = BINS_PER_DECADE * np.log10(N_EXACT)
    step = int(np.floor(exponent)) + 1
    while edges[-1] < top:
        edge = round(10 ** (step / BINS_PER_DECADE))
        if edge > edges[-1]:
            edges.append(edge)
        step += 1
    return edges


def bin_ticks(bins: tuple[Bin, ...], limit: int) -> dict[float, str]:
    """Return where the axis has ticks, and what is written there."""
    ticks, last = {}, -2
    for place, (low, high, _kmers, _mass) in enumerate(bins):
        if limit and low > limit:
            ticks[place + 0.5] = f">{limit:,}"
            continue
        named = next((value for value in TICKS if low <= value <= high), None)
        if named is not None and (place - last >= 2 or named <= 3):
            ticks[place + 0.5] = f"{named:,}"
            last = place
    return ticks
