"""The paths of a simulated graph: references, whole haplotypes, haplotypes in pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError

N_REFERENCES = 2


@dataclass(frozen=True)
class Contigs:
    """Extent and name of each path.

    Attributes
    ----------
    first_bins, last_bins
        int64, shape (n_paths,): path ``p`` covers the bins ``first_bins[p]`` to
        ``last_bins[p] - 1``.
    names
        ``sample#haplotype#contig``.
    n_haplotypes
        Number of haplotypes that the paths make up, including references.
    """

    first_bins: np.ndarray
    last_bins: np.ndarray
    names: tuple[str, ...]
    n_haplotypes: int


def cut_contigs(
    rng: np.random.Generator,
    n_paths: int,
    n_bins: int,
    *,
    n_steps: int | None,
    whole_steps: float,
    contig: str,
) -> Contigs:
    """Divide ``n_paths`` paths among haplotypes, as contigs with gaps between them.

    The first two paths are whole references. ``whole_steps`` is the number of steps of a path
    through the whole graph; with ``n_steps`` it determines the number of haplotypes.

    Raises
    ------
    ParameterError
        If the references alone have more steps than ``n_steps``.
    """
    n_references = min(n_paths, N_REFERENCES)
    max_pieces = max(1, n_bins // 4)
    n_haplotypes, coverage = _plan_haplotypes(n_paths, n_steps, whole_steps, max_pieces)
    names = [f"REF{letter}#0#{contig}" for letter in "AB"[:n_references]]
    first_bins = [np.zeros(n_references, np.int64)]
    last_bins = [np.full(n_references, n_bins, np.int64)]
    n_pieces = _deal(rng, n_paths - n_references, n_haplotypes - n_references, max_pieces)
    for haplotype, n in enumerate(n_pieces.tolist()):
        n_covered = min(n_bins, max(n, round(coverage * n_bins)))
        lengths = _partition(rng, n_covered - n, n) + 1
        gaps = _partition(rng, n_bins - n_covered, n + 1)
        firsts = np.cumsum(gaps)[:-1] + np.cumsum(lengths) - lengths
        first_bins.append(firsts)
        last_bins.append(firsts + lengths)
        owner = f"S{haplotype // 2 + 1:04d}#{haplotype % 2 + 1}"
        names += [f"{owner}#{contig if n == 1 else f'ctg{k + 1:05d}'}" for k in range(n)]
    return Contigs(
        np.concatenate(first_bins), np.concatenate(last_bins), tuple(names), n_haplotypes
    )


def _plan_haplotypes(
    n_paths: int, n_steps: int | None, whole_steps: float, max_pieces: int
) -> tuple[int, float]:
    """Return the number of haplotypes, and how much of the graph each non-reference covers."""
    n_references = min(n_paths, N_REFERENCES)
    if n_steps is None:
        n_haplotypes, coverage = max(n_references, math.ceil(0.75 * n_paths)), 0.97
    else:
        if n_steps < 0.98 * n_references * whole_steps or (n_paths == 0 and n_steps > 0):
            raise ParameterError(
                f"n_steps is {n_steps:,}, needs about {n_references * whole_steps:,.0f} or more "
                f"here, as {n_references} of the paths run through the whole graph"
            )
        n_haplotypes = min(n_paths, max(n_references, math.ceil(n_steps / whole_steps)))
        coverage = (n_steps / whole_steps - n_references) / max(n_haplotypes - n_references, 1)
    minimum = n_references + math.ceil((n_paths - n_references) / max_pieces)
    if n_haplotypes < minimum:
        coverage *= (n_haplotypes - n_references) / max(minimum - n_references, 1)
        n_haplotypes = minimum
    return n_haplotypes, min(max(coverage, 0.0), 1.0)


def _deal(rng: np.random.Generator, n_paths: int, n_haplotypes: int, maximum: int) -> np.ndarray:
    """Return how many of ``n_paths`` each haplotype gets: at random, 1 to ``maximum``."""
    n_pieces = np.ones(n_haplotypes, np.int64)
    while n_pieces.sum() < n_paths:
        has_room = n_pieces < maximum
        n_missing = n_paths - int(n_pieces.sum())
        n_pieces += rng.multinomial(n_missing, has_room / has_room.sum())
        n_pieces = np.minimum(n_pieces, maximum)
    return n_pieces


def _partition(rng: np.random.Generator, total: int, n: int) -> np.ndarray:
    """Return ``n`` random integers >= 0 that sum to ``total``."""
    cuts = np.sort(rng.integers(0, total, n - 1, endpoint=True))
    return np.diff(np.concatenate(([0], cuts, [total])))
