"""Linkage disequilibrium (r^2) between variants, and LD pruning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.haplotypes import haplotype_r2
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.sex_chromosomes import as_linked
from genoviz.analyses.genotypes.statistics import variant_statistics
from genoviz.analyses.genotypes.variant_blocks import find_near
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError, check_choice, check_minimum, n_words
from genoviz.generators import Progress, in_one_go, last_of
from genoviz.model.genotypes.genotypes import Genotypes

Measure = Literal["dosage", "haplotype"]

_PAIRS = 1 << 16
_MAX_PAIRS = 1 << 20
_STEP_WORDS = 1 << 24
"""Maximum number of 64-sample words compared in a pruning step: some 50 ms."""


def linkage(genotypes: Genotypes, variants: np.ndarray | slice) -> np.ndarray:
    """Return dosage r^2 between all pairs of the given variants.

    At X, males have zero or one copy of A1. At Y only males count. A heterozygous male is missing
    at both.

    Parameters
    ----------
    genotypes
        The genotypes.
    variants
        Variant indices, shape (k,), or a slice.

    Returns
    -------
    numpy.ndarray
        float64, shape (k, k), symmetric: over samples with both genotypes; NaN if either variant
        is constant among these. Equal to ``plink --r2``.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> linkage(simulate_genotypes(100, 50, seed=1), [3, 4, 40]).shape
    (3, 3)
    """
    part = as_linked(genotypes.take_variants(_checked(variants, genotypes.n_variants)))
    first, second = np.triu_indices(part.n_variants)
    found = np.empty((part.n_variants, part.n_variants))
    found[first, second] = found[second, first] = _r2_of_pairs(part, first, second)
    return found


def _r2_of_pairs(linked: Genotypes, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    kernel = load_kernel("linkage", "cpu")
    planes = kernel.make_planes(linked.packed, linked.n_samples)
    return kernel.squared_correlations(planes, linked.n_samples, first, second)


def iter_linkage_windows(
    genotypes: Genotypes, *, window: int = 50
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield r^2 of each variant with the next ones on its contig, in blocks.

    Parameters
    ----------
    genotypes
        Genotypes with variants sorted by contig and position, else raises `ParameterError`.
    window
        Each variant is paired with the next window - 1 variants.

    Yields
    ------
    tuple
        A slice of variants; and float64, shape (its length, window - 1): r^2 with the following
        variants in order; NaN past the end of the contig, and as in `linkage`.
    """
    _check_window(window)
    contigs = genotypes.chromosome_ids
    is_back = np.diff(genotypes.variants.positions) < 0
    if is_back[contigs[1:] == contigs[:-1]].any():
        raise ParameterError("windows need variants in order of position; sort them first")
    steps, block = np.arange(1, window), max(1, _PAIRS // (window - 1))
    for start in range(0, genotypes.n_variants, block):
        end = min(start + block, genotypes.n_variants)
        last = min(end + window - 1, genotypes.n_variants)
        part = as_linked(genotypes.take_variants(slice(start, last)))
        first, step = np.divmod(np.arange((end - start) * (window - 1)), window - 1)
        second = first + steps[step]
        is_there = second < last - start
        is_there[is_there] &= contigs[start + first[is_there]] == contigs[start + second[is_there]]
        found = np.full(len(first), np.nan)
        found[is_there] = _r2_of_pairs(part, first[is_there], second[is_there])
        yield slice(start, end), found.reshape(end - start, window - 1)


@dataclass(frozen=True, eq=False)
class LinkedPairs:
    """Linked pairs of variants.

    Attributes
    ----------
    first, second
        int64, shape (n_pairs,): variant indices. Without chosen variants, ``first`` precedes
        ``second`` by contig and position; otherwise ``first`` is the chosen variant.
    r2
        float64, shape (n_pairs,): as for `linkage`.
    """

    first: np.ndarray
    second: np.ndarray
    r2: np.ndarray

    def __len__(self) -> int:
        return len(self.first)


def iter_linked_pairs(
    genotypes: Genotypes,
    *,
    variants: np.ndarray | None = None,
    max_distance: int = 1_000_000,
    window: int | None = None,
    min_r2: float = 0.2,
    measure: Measure = "dosage",
) -> Iterator[Progress]:
    """Find nearby linked pairs of variants; the last step has the `LinkedPairs`.

    Parameters
    ----------
    genotypes
        The genotypes, with variants in any order. Variants without a position are in no pair.
    variants
        Variant indices: only pairs with one of these are considered; all pairs if None.
    max_distance
        Largest distance of a pair in bp, at least 0.
    window
        Pair each variant with the next window - 1 of its contig, by position, as ``plink
        --ld-window``; all within the distance if None.
    min_r2
        Minimum r^2 of a pair, 0 to 1. Pairs with a constant variant have no r^2.
    measure
        ``"dosage"``: r^2 of dosages, as for `linkage`; ``"haplotype"``: of maximum-likelihood
        haplotype frequencies, as ``plink --r2 dprime``.

    Raises
    ------
    ParameterError
        If the measure is unknown, a number is out of range, or no variant has a position.
    """
    check_linkage_options(max_distance, min_r2, measure)
    if window is not None:
        _check_window(window)
    order, starts, ends = _neighbours(genotypes, max_distance, window or genotypes.n_variants + 1)
    wanted = np.arange(len(order))
    if variants is not None:
        is_wanted = np.zeros(genotypes.n_variants, bool)
        is_wanted[_checked(variants, genotypes.n_variants)] = True
        wanted = np.flatnonzero(is_wanted[order])
    else:
        starts = np.arange(1, len(order) + 1)
    parts: list[tuple[np.ndarray, ...]] = []
    sizes = np.maximum(ends[wanted] - starts[wanted], 0)
    for block in _blocks_of_pairs(sizes, genotypes.n_samples):
        places = wanted[block]
        first = np.repeat(places, sizes[block])
        within = np.arange(len(first)) - np.repeat(
            np.cumsum(sizes[block]) - sizes[block], sizes[block]
        )
        second = np.repeat(starts[places], sizes[block]) + within
        is_pair = first != second
        first, second = order[first[is_pair]], order[second[is_pair]]
        r2 = MEASURES[measure](genotypes, first, second, at_least=min_r2)
        is_linked = r2 >= min_r2
        parts.append((first[is_linked], second[is_linked], r2[is_linked]))
        yield Progress("Linkage", min(block.stop / max(len(wanted), 1), 1.0))
    columns = zip(*parts, strict=True) if parts else ((), (), ())
    joined = (
        np.concatenate([np.empty(0, dtype), *column])
        for dtype, column in zip((np.int64, np.int64, np.float64), columns, strict=True)
    )
    yield Progress("Linkage", 1.0, LinkedPairs(*joined))


@in_one_go(iter_linked_pairs)
def linked_pairs(last: Progress) -> LinkedPairs:
    """Return nearby linked pairs of variants; see `iter_linked_pairs`.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> found = linked_pairs(simulate_genotypes(100, 50, seed=1), min_r2=0.5)
    >>> bool((found.r2 >= 0.5).all())
    True
    """
    return last.result


def dosage_r2(
    genotypes: Genotypes, first: np.ndarray, second: np.ndarray, **_: float
) -> np.ndarray:
    """Return dosage r^2 of all pairs of variants, as for `linkage`: float64, shape (p,)."""
    used, at = np.unique(np.concatenate([first, second]), return_inverse=True)
    part = as_linked(genotypes.take_variants(used))
    return _r2_of_pairs(part, at[: len(first)], at[len(first) :])


MEASURES = {"dosage": dosage_r2, "haplotype": haplotype_r2}


def check_linkage_options(max_distance: int, min_r2: float, measure: str) -> None:
    """Raise `ParameterError` if an option is out of range."""
    check_minimum("max_distance", max_distance, 0)
    if not 0 <= min_r2 <= 1:
        raise ParameterError(f"min_r2 is {min_r2}, needs to be 0 to 1")
    check_choice("measure", measure, MEASURES)


def has_position(genotypes: Genotypes) -> np.ndarray:
    """Return which variants have a position on a contig: bool (n_variants,).

    Raises
    ------
    ParameterError
        If there are variants but none has a position.
    """
    is_known = genotypes.variants.positions >= 0
    if len(is_known) and not is_known.any():
        raise ParameterError(
            f"none of {n_words(len(is_known), 'variant')} has a position, and distances need them"
        )
    return is_known


def _neighbours(
    genotypes: Genotypes, max_distance: int, window: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return variants by contig and position, and the range of near ones of each: from, to."""
    contigs, positions = genotypes.chromosome_ids, genotypes.variants.positions
    order = np.lexsort((positions, contigs))
    order = order[has_position(genotypes)[order]]
    starts, ends = find_near(contigs[order], positions[order], max_distance)
    places = np.arange(len(order))
    return order, np.maximum(starts, places - window + 1), np.minimum(ends, places + window)


def _blocks_of_pairs(sizes: np.ndarray, n_samples: int) -> Iterator[slice]:
    """Yield slices of variants sized so that the pairs of each take a moment."""
    maximum = max(1, min(_MAX_PAIRS, _STEP_WORDS // (n_samples // 64 + 1)))
    totals, start = np.cumsum(sizes), 0
    while start < len(sizes):
        done = totals[start - 1] if start else 0
        stop = int(np.searchsorted(totals, done + maximum, side="right"))
        stop = min(max(stop, start + 1), len(sizes))
        yield slice(start, stop)
        start = stop


def prune_by_linkage(
    genotypes: Genotypes, *, window: int = 50, step: int = 5, max_r2: float = 0.2
) -> np.ndarray:
    """Return which variants to keep; see `iter_prune_by_linkage`."""
    return last_of(iter_prune_by_linkage(genotypes, window=window, step=step, max_r2=max_r2)).result


def iter_prune_by_linkage(
    genotypes: Genotypes, *, window: int = 50, step: int = 5, max_r2: float = 0.2
) -> Iterator[Progress]:
    """Select variants with low pairwise r^2; the last step has bool (n_variants,).

    Equals ``plink --indep-pairwise window step max_r2``: of a pair above ``max_r2``, the variant
    with the lower minor allele frequency is dropped, after constant variants and those where all
    samples are heterozygous. Unlike in PLINK's pruning, r^2 at X and Y is that of `linkage`.

    Parameters
    ----------
    genotypes
        Genotypes with variants in any order; windows are of neighbours by position.
    window
        Number of variants that are compared with each other, at least 2.
    step
        Shift of the window, in variants.
    max_r2
        Largest r^2 between two kept variants of a window.

    Raises
    ------
    ParameterError
        If a number is out of range.
    """
    _check_window(window)
    check_minimum("step", step, 1)
    if not 0 <= max_r2 <= 1:
        raise ParameterError(f"max_r2 is {max_r2}, needs to be 0 to 1")
    order = np.lexsort((genotypes.variants.positions, genotypes.chromosome_ids))
    if (order[1:] < order[:-1]).any():
        genotypes = genotypes.take_variants(order)
    kernel = load_kernel("linkage", "cpu")
    statistics = variant_statistics(genotypes.hard_called, nonfounders=True, backend="cpu")
    known, frequencies = statistics.counts, np.nan_to_num(statistics.minor_allele_frequency)
    is_kept, n_compared = frequencies > 0, np.zeros(genotypes.n_variants, np.int64)
    for variants, n_windows in _stretches(genotypes, window, step):
        part = as_linked(genotypes.take_variants(variants))
        is_same = np.may_share_memory(part.packed, genotypes.packed)
        counts = known[variants] if is_same else allele_counts(part, backend="cpu")
        is_kept[variants] &= (counts[:, [0, 2, 3]] > 0).sum(1) > 1
        planes = kernel.make_planes(part.packed, part.n_samples)
        states = frequencies[variants], is_kept[variants], n_compared[variants]
        kernel.prune(planes, part.n_samples, *states, n_windows, window, step, max_r2)
        yield Progress("Pruning", min(variants.start / genotypes.n_variants, 1.0))
    yield Progress("Pruning", 1.0, is_kept[np.argsort(order)])


def _stretches(genotypes: Genotypes, window: int, step: int) -> Iterator[tuple[slice, int]]:
    """Yield runs of consecutive windows on a contig: their variants, and the number of windows."""
    words = window * step * max(genotypes.n_samples // 64, 1)
    maximum = max(1, _STEP_WORDS // words)
    edges = (np.flatnonzero(np.diff(genotypes.chromosome_ids)) + 1).tolist()
    for start, end in zip([0, *edges], [*edges, genotypes.n_variants], strict=True):
        n_windows = -(-(end - start) // step)
        for first in range(0, n_windows, maximum):
            n, begin = min(maximum, n_windows - first), start + first * step
            yield slice(begin, min(begin + (n - 1) * step + window, end)), n


def _checked(variants: np.ndarray | slice, n_variants: int) -> np.ndarray | slice:
    if isinstance(variants, slice):
        return variants
    numbers = np.asarray(variants, np.int64)
    if len(numbers) and (numbers.min() < 0 or numbers.max() >= n_variants):
        raise ParameterError(f"variants are named that are not among the {n_variants:,} there are")
    return numbers


def _check_window(window: int) -> None:
    if window < 2:
        raise ParameterError(f"window is {window}, needs to be at least 2 variants")
