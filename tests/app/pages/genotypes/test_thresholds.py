"""What is exactly on a threshold of the Genotypes page passes it, as in the analysis."""

from __future__ import annotations

from dataclasses import asdict, replace
from types import SimpleNamespace

import numpy as np
import pytest

from genoviz.analyses.genotypes.filters import FilterOptions, filter_genotypes
from genoviz.analyses.genotypes.sample_statistics import sample_statistics
from genoviz.analyses.genotypes.statistics import variant_statistics
from genoviz.errors import ParameterError
from genoviz_app.pages.genotypes.association.export import ScanRows
from genoviz_app.pages.genotypes.quality.thresholds import (
    LIMITS,
    Thresholds,
    passing_samples,
    passing_variants,
    read_threshold,
)
from tests.genotype_sets import genotypes_of

CODES = np.random.default_rng(4).choice([0, 1, 2, 3], (20, 30), p=[0.5, 0.1, 0.2, 0.2])
GENOTYPES = genotypes_of(CODES)
GENOTYPES = replace(GENOTYPES, variants=replace(GENOTYPES.variants, contigs=("1", "2")))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("min_maf", np.arange(21) / 40),
        ("max_variant_missing", np.arange(21) / 20),
        ("max_sample_missing", np.arange(31) / 30),
        ("min_hwe_p", None),  # those of the variants
    ],
)
def test_the_page_counts_as_passing_what_the_filter_keeps(name, values):
    variants, samples = variant_statistics(GENOTYPES), sample_statistics(GENOTYPES)
    for value in np.unique(variants.hwe_p) if values is None else values:
        thresholds = Thresholds(**{name: float(value)})
        options = FilterOptions(**asdict(thresholds))
        try:
            kept = filter_genotypes(GENOTYPES, options)
        except ParameterError:
            n_kept = (0, 0)
        else:
            n_kept = (len(kept.sample_indices), len(kept.variant_indices))
        n_passing = (
            passing_samples(samples, thresholds).sum(),
            passing_variants(variants, thresholds).sum(),
        )
        assert n_passing == n_kept or 0 in n_passing


def test_a_variant_without_genotypes_fails_only_where_its_frequency_or_missing_rate_is_asked_for():
    genotypes = genotypes_of(np.array([[1, 2], [1, 0]]))
    statistics = variant_statistics(genotypes)
    assert np.isnan(statistics.minor_allele_frequency).tolist() == [True, False]
    for thresholds, passes in (
        (Thresholds(), True),
        (Thresholds(min_hwe_p=1e-6, max_sample_missing=0.9), True),
        (Thresholds(min_maf=0.01), False),
        (Thresholds(max_variant_missing=0.99), False),
    ):
        assert passing_variants(statistics, thresholds).tolist() == [passes, True]
        kept = filter_genotypes(genotypes, FilterOptions(**asdict(thresholds)))
        assert kept.variant_indices.tolist() == [0, 1][not passes :]


def test_what_is_on_a_threshold_passes():
    maf, missing, p = np.array([0.1, 0.05]), np.array([0.2, 0.3]), np.array([1e-3, 1e-4])
    variants = SimpleNamespace(minor_allele_frequency=maf, missing_rate=missing, hwe_p=p)
    for thresholds in (Thresholds(min_maf=0.1), Thresholds(max_variant_missing=0.2)):
        assert passing_variants(variants, thresholds).tolist() == [True, False]
    assert passing_variants(variants, Thresholds(min_hwe_p=1e-3)).tolist() == [True, False]
    samples = SimpleNamespace(missing_rate=missing)
    assert passing_samples(samples, Thresholds(max_sample_missing=0.2)).tolist() == [True, False]


def test_a_p_on_the_limit_of_the_table_is_listed():
    scan = SimpleNamespace(minus_log10_p=np.array([2.0, 5.0, np.nan, 4.999]))
    assert ScanRows(None, scan).strong(5.0).tolist() == [True, False, False]


@pytest.mark.parametrize("name", LIMITS)
def test_the_ends_of_a_range_are_thresholds(name):
    low, high = LIMITS[name]
    assert [read_threshold(name, f"{value:g}") for value in (low, high)] == [low, high]
    for text in (f"{low - 1e-6}", f"{high + 1e-6}", "x"):
        with pytest.raises(ParameterError, match=f"needs a number from {low:g} to {high:g}"):
            read_threshold(name, text)
    assert read_threshold(name, " ") == getattr(Thresholds(), name)
