from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import (
    ParameterError,
    genotypes_in_region,
    pack_dosages,
    read_genotypes,
    select_samples,
)
from tests.conftest import real_data
from tests.genotype_sets import CODES, assert_same, genotypes_of

GENOTYPES = genotypes_of(np.arange(24).reshape(6, 4) % 4)


@given(CODES, st.randoms(use_true_random=False))
def test_selected_samples_have_their_dosages(codes, random):
    genotypes = genotypes_of(codes)
    indices = np.array(random.sample(range(len(codes)), random.randint(0, len(codes))), int)
    found = select_samples(genotypes, indices)
    assert found.samples.ids.tolist() == [f"s{index}" for index in indices]
    dosages = genotypes.dosages(slice(None))
    np.testing.assert_array_equal(found.dosages(slice(None)), dosages[indices])


def test_samples_are_selected_by_truth_values_too():
    is_wanted = np.array([True, False, False, True, True, False])
    assert_same(select_samples(GENOTYPES, is_wanted), select_samples(GENOTYPES, [0, 3, 4]))
    assert select_samples(GENOTYPES, []).n_samples == 0


@pytest.mark.parametrize(
    ("indices", "words"),
    [
        ([0, 6], "sample 6 is not there, needs to be from 0 to 5"),
        ([-1], "sample -1 is not there, needs to be from 0 to 5"),
        ([1, 2, 1], "sample 1 is named twice, needs to be named once"),
        ([0.5], "indices are float64 of 1 dimension, need integers of 1"),
        (np.ones(5, bool), r"indices are bool of shape \(5,\), need \(6,\)"),
    ],
)
def test_bad_samples_are_refused(indices, words):
    with pytest.raises(ParameterError, match=words):
        select_samples(GENOTYPES, indices)


@given(CODES)
def test_dosages_are_packed_and_come_back(codes):
    genotypes = genotypes_of(codes)
    dosages = genotypes.dosages(slice(None))
    floats = np.where(dosages < 0, np.nan, dosages)
    for values in (dosages, floats, dosages.astype(np.int64)):
        assert_same(pack_dosages(values, genotypes.samples, genotypes.variants), genotypes)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (3, "the dosage of sample 2 at variant 1 is 3.0, needs to be 0, 1 or 2"),
        (0.5, "the dosage of sample 2 at variant 1 is 0.5, needs"),
        (np.inf, "is inf, needs"),
    ],
)
def test_bad_dosages_are_refused(value, words):
    dosages = np.zeros((6, 4))
    dosages[2, 1] = value
    with pytest.raises(ParameterError, match=words):
        pack_dosages(dosages, GENOTYPES.samples, GENOTYPES.variants)


def test_dosages_of_other_shapes_and_kinds_are_refused():
    with pytest.raises(ParameterError, match=r"have shape \(4, 6\), need \(6, 4\)"):
        pack_dosages(np.zeros((4, 6)), GENOTYPES.samples, GENOTYPES.variants)
    with pytest.raises(ParameterError, match="dosages are <U1, need integers or floats"):
        pack_dosages(np.full((6, 4), "A"), GENOTYPES.samples, GENOTYPES.variants)


def test_variants_of_a_region_are_those_of_a_slow_search():
    genotypes = read_genotypes(real_data("genotypes/maize_mdp.bed"))
    found = genotypes_in_region(genotypes, "3", 5_000_000, 90_000_000)
    variants = genotypes.variants
    rows = [
        row
        for row in range(genotypes.n_variants)
        if variants.contigs[variants.contig_ids[row]] == "3"
        and 5_000_000 <= variants.positions[row] < 90_000_000
    ]
    assert len(rows) > 10
    assert_same(found, genotypes.take_variants(np.array(rows)))
    assert genotypes_in_region(genotypes, "99", 0, 10).n_variants == 0
