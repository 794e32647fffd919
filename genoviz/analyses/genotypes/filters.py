"""Quality filters for samples and variants."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, fields

import numpy as np

from genoviz.analyses.genotypes.sample_statistics import iter_sample_statistics
from genoviz.analyses.genotypes.selection import iter_select_samples
from genoviz.analyses.genotypes.statistics import iter_variant_statistics
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, in_one_go, report_last
from genoviz.model.columns import distinct
from genoviz.model.genotypes.genotypes import Genotypes

_WHAT = "filtering"


@dataclass(frozen=True)
class FilterOptions:
    """Thresholds that samples and variants must pass; the defaults keep all.

    Attributes
    ----------
    min_maf
        Minimum minor allele frequency, 0 to 0.5; above 0, constant variants are removed.
    max_variant_missing
        Maximum share of samples without a genotype, 0 to 1.
    max_sample_missing
        Maximum share of variants without a genotype, 0 to 1.
    min_hwe_p
        Minimum p value of the exact test of Hardy-Weinberg proportions, 0 to 1.

    Raises
    ------
    ParameterError
        If a threshold is out of range.
    """

    min_maf: float = 0.0
    max_variant_missing: float = 1.0
    max_sample_missing: float = 1.0
    min_hwe_p: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value, largest = getattr(self, field.name), 0.5 if field.name == "min_maf" else 1.0
            if not 0 <= value <= largest:
                raise ParameterError(f"{field.name} is {value}, needs to be 0 to {largest:g}")


@dataclass(frozen=True, eq=False)
class FilteredGenotypes:
    """The genotypes that passed the filters.

    Attributes
    ----------
    genotypes
        The kept samples and variants.
    sample_indices, variant_indices
        int64, ascending: their indices in the unfiltered genotypes.
    sentence
        How many are kept, and why others are not.
    """

    genotypes: Genotypes
    sample_indices: np.ndarray
    variant_indices: np.ndarray
    sentence: str


def iter_filter_genotypes(
    genotypes: Genotypes,
    options: FilterOptions | None = None,
    *,
    samples: np.ndarray | None = None,
    variants: np.ndarray | None = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Filter step by step; the last step has the result of `filter_genotypes`."""
    options = options or FilterOptions()
    sample_indices = _indices(samples, genotypes.n_samples, "sample")
    variant_indices = _indices(variants, genotypes.n_variants, "variant")
    left = genotypes
    if len(variant_indices) < genotypes.n_variants:
        left = genotypes.take_variants(variant_indices)
    left = yield from _take_samples(left, sample_indices, 0.0, 0.1)
    reasons = []
    if options.max_sample_missing < 1:
        statistics = yield from report_last(
            iter_sample_statistics(left, backend=backend), 0.1, 0.5, what=_WHAT
        )
        is_kept = statistics.missing_rate <= options.max_sample_missing
        reasons += _reason(~is_kept, "sample", f"over {options.max_sample_missing:g} missing")
        left = yield from _take_samples(left, np.flatnonzero(is_kept), 0.5, 0.6)
        sample_indices = sample_indices[is_kept]
    is_kept, variant_reasons = yield from _good_variants(left, options, backend)
    if not is_kept.all():
        left = left.take_variants(np.flatnonzero(is_kept))
    counts = (
        f"{left.n_samples:,} of {n_words(genotypes.n_samples, 'sample')} and "
        f"{left.n_variants:,} of {n_words(genotypes.n_variants, 'variant')}"
    )
    sentence = "; ".join([f"{counts} are kept", *reasons, *variant_reasons]) + "."
    if not left.n_samples or not left.n_variants:
        raise ParameterError(f"nothing is left to analyse: {sentence}")
    kept = FilteredGenotypes(left, sample_indices, variant_indices[is_kept], sentence)
    yield Progress(_WHAT, 1.0, kept)


@in_one_go(iter_filter_genotypes)
def filter_genotypes(last: Progress) -> FilteredGenotypes:
    """Return the genotypes that pass, filtering samples first and then variants among these.

    Parameters
    ----------
    genotypes
        The genotypes to filter; they are not modified.
    options
        The thresholds.
    samples, variants
        Candidates: integer indices, or a bool mask; all if None.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If nothing is left.
    """
    return last.result


def _good_variants(
    genotypes: Genotypes, options: FilterOptions, backend: Backend
) -> Generator[Progress, None, tuple[np.ndarray, list[str]]]:
    is_kept = np.ones(genotypes.n_variants, bool)
    reasons: list[str] = []
    if options == FilterOptions(max_sample_missing=options.max_sample_missing):
        return is_kept, reasons
    steps = iter_variant_statistics(genotypes, backend=backend)
    statistics = yield from report_last(steps, 0.6, 0.8, what=_WHAT)
    maximum, maf, min_p = options.max_variant_missing, options.min_maf, options.min_hwe_p
    tests = [(statistics.missing_rate > maximum, f"over {maximum:g} missing")]
    if maf > 0:
        # A variant without genotypes has a NaN frequency, which fails every threshold.
        tests.append((~(statistics.minor_allele_frequency >= maf), f"a MAF below {maf:g}"))
    if min_p > 0:
        hwe_p = yield from report_last(statistics.iter_hwe_p(), 0.8, 1.0, what=_WHAT)
        tests.append((hwe_p < min_p, f"a Hardy-Weinberg p below {min_p:g}"))
    for is_bad, why in tests:
        reasons += _reason(is_kept & is_bad, "variant", why)
        is_kept &= ~is_bad
    return is_kept, reasons


def _take_samples(
    genotypes: Genotypes, samples: np.ndarray, start: float, end: float
) -> Generator[Progress, None, Genotypes]:
    if len(samples) == genotypes.n_samples:
        return genotypes
    return (yield from report_last(iter_select_samples(genotypes, samples), start, end, what=_WHAT))


def _reason(is_bad: np.ndarray, what: str, why: str) -> list[str]:
    n = int(is_bad.sum())
    return [f"{n:,} {what}{'s have' if n != 1 else ' has'} {why}"] if n else []


def _indices(chosen: np.ndarray | None, n: int, what: str) -> np.ndarray:
    if chosen is None:
        return np.arange(n)
    chosen = np.asarray(chosen)
    if chosen.dtype == bool and chosen.shape == (n,):
        return np.flatnonzero(chosen)
    indices = distinct(chosen).astype(np.int64)
    if chosen.dtype == bool or (len(indices) and (indices[0] < 0 or indices[-1] >= n)):
        raise ParameterError(f"{what}s are named that are not among the {n:,} there are")
    return indices
