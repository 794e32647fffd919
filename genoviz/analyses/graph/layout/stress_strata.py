"""Which pairs of steps a sampled path stress takes, and what each of them counts.

The terms of near steps are few and can be huge, those of far steps are many and alike. So all
pairs up to some jump (steps between the two) are taken, and the others are drawn from strata of
jumps, each up to twice as long as the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from genoviz.errors import ParameterError

Weighting = Literal["pairs", "steps"]
WEIGHTINGS = ("pairs", "steps")
SHARE_OF_NEAR = 2 / 3
"""At most this share of the terms goes to near pairs."""
MIN_PER_STRATUM = 64


@dataclass(frozen=True, eq=False)
class Stratum:
    """Pairs of steps whose jumps are alike.

    Attributes
    ----------
    shortest, longest
        Steps between the two of a pair; those of paths of one step are in the stratum from 1 on.
    paths
        int64: the paths that have such pairs.
    shares
        float64: share of the weight that the paths up to each have; rising to 1.
    weight
        What all of its terms count together.
    n_samples
        Terms to draw.
    """

    shortest: int
    longest: int
    paths: np.ndarray
    shares: np.ndarray
    weight: float
    n_samples: int


def check_weighting(weighting: str) -> None:
    """Refuse what is no weighting.

    Raises
    ------
    ParameterError
        If it is neither ``"pairs"`` nor ``"steps"``.
    """
    if weighting not in WEIGHTINGS:
        raise ParameterError(f"weighting is {weighting!r}, needs one of {', '.join(WEIGHTINGS)}")


def count_terms(n_steps: np.ndarray, shortest: int, longest: int) -> np.ndarray:
    """Return how many terms of some jumps paths have; the one of a path of one step is of jump 1.

    Parameters
    ----------
    n_steps
        int64: steps of each path, 1 or more.
    """
    last = np.minimum(longest, n_steps - 1)
    n_jumps = np.maximum(last - shortest + 1, 0)
    n_terms = 2 * n_jumps * (2 * n_steps - shortest - last)
    return n_terms + ((n_steps == 1) & (shortest == 1))


def term_weights(n_steps: np.ndarray, weighting: Weighting) -> np.ndarray:
    """Return what a term of each path counts; float64.

    All terms count alike by ``"pairs"``, so a path counts by the square of its steps. By
    ``"steps"`` the mean of each path counts by its steps.
    """
    if weighting == "pairs":
        return np.ones(len(n_steps))
    return n_steps / count_terms(n_steps, 1, int(n_steps.max(initial=1)))


def find_near(n_steps: np.ndarray, n_samples: int) -> int:
    """Return up to which jump all pairs are taken: all if they fit, 0 for none."""
    longest = max(int(n_steps.max(initial=1)) - 1, 1)
    if count_terms(n_steps, 1, longest).sum() <= n_samples:
        return longest
    low, high = 0, longest
    while high - low > 1:
        middle = (low + high) // 2
        fits = count_terms(n_steps, 1, middle).sum() <= SHARE_OF_NEAR * n_samples
        low, high = (middle, high) if fits else (low, middle)
    return low


def make_strata(
    n_steps: np.ndarray, weighting: Weighting, near: int, n_samples: int
) -> list[Stratum]:
    """Return the strata of all jumps above ``near``, with ``n_samples`` terms to draw in all.

    Half of the samples go to the near strata, which are the uneven ones: half of these to the
    nearest, a quarter to the next, and so on. A quarter is shared out evenly, a quarter by weight.
    """
    longest = int(n_steps.max(initial=1)) - 1
    bounds = [near, *_iter_doubled(near, max(longest, 1))]
    if n_samples < MIN_PER_STRATUM * len(bounds):
        bounds = [near, max(longest, 1)]
    pairs = pairwise(bounds) if near < max(longest, 1) else []
    weights = term_weights(n_steps, weighting)
    found = []
    for before, last in pairs:
        of_paths = weights * count_terms(n_steps, before + 1, last)
        paths = np.flatnonzero(of_paths)
        if len(paths):
            sums = np.cumsum(of_paths[paths])
            found.append((before + 1, last, paths, sums / sums[-1], float(sums[-1])))
    counts = _share_out(np.array([stratum[-1] for stratum in found]), n_samples)
    return [
        Stratum(*stratum, n_samples=int(count))
        for stratum, count in zip(found, counts, strict=True)
        if count
    ]


def _iter_doubled(near: int, longest: int) -> Iterator[int]:
    bound = max(2 * near, 1)
    while bound < longest:
        yield bound
        bound *= 2
    yield longest


def _share_out(weights: np.ndarray, n_samples: int) -> np.ndarray:
    if len(weights) == 0:
        return np.zeros(0, np.int64)
    halving = 0.5 ** np.arange(1, len(weights) + 1)
    shares = 0.25 * weights / weights.sum() + 0.25 / len(weights) + 0.5 * halving / halving.sum()
    counts = (shares * n_samples).astype(np.int64)
    counts[np.argmax(weights)] += n_samples - counts.sum()
    return counts
