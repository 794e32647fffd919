from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from genoviz import Genotypes, ParameterError, SampleTable, VariantTable
from tests.genotype_sets import CODES, genotypes_of
from tests.oracles.genotypes import dosages_of


@given(CODES)
def test_dosages_are_those_by_hand(codes):
    genotypes = genotypes_of(codes)
    found = genotypes.dosages(slice(None))
    assert (found.dtype, found.shape) == (np.int8, codes.shape)
    wanted = dosages_of(genotypes.packed, len(codes))
    np.testing.assert_array_equal(np.where(found < 0, np.nan, found), wanted)


def test_variants_are_taken_in_any_order():
    genotypes = genotypes_of(np.arange(20).reshape(4, 5) % 4)
    found = genotypes.take_variants(np.array([3, 0]))
    assert found.variants.ids.tolist() == ["rs3", "rs0"]
    np.testing.assert_array_equal(
        found.dosages(slice(None)), genotypes.dosages(slice(None))[:, [3, 0]]
    )
    assert genotypes.take_variants(slice(1, 3)).packed.base is not None
    assert genotypes.variants.is_sorted
    assert not found.variants.is_sorted


def test_variants_have_labels_and_regions():
    variants = VariantTable(
        ("1", "2"),
        np.array([0, 1, 1, 1], np.int32),
        np.array([5, 9, 7, -1]),
        np.array(["rs1", ".", "", "a"]),
        *(np.array(list("ACGT")) for _ in range(2)),
        np.zeros(4),
    )
    assert [variants.label(k) for k in range(4)] == ["rs1", "2:10", "2:8", "a"]
    assert variants.in_region("2", 0, 10).tolist() == [2, 1]
    assert variants.in_region("2", 8, 9).tolist() == []
    assert variants.in_region("X", 0, 10).tolist() == []


def test_arrays_that_do_not_fit_are_refused():
    samples = SampleTable.from_ids(["a", "b", "c", "d", "e"])
    variants = genotypes_of(np.zeros((5, 2), int)).variants
    with pytest.raises(
        ParameterError, match=r"uint8 of shape \(2, 1\), need uint8 of shape \(2, 2"
    ):
        Genotypes(np.zeros((2, 1), np.uint8), samples, variants)
    with pytest.raises(ParameterError, match="sexes has 1 of 5 samples"):
        SampleTable(*(samples.ids for _ in range(4)), np.zeros(1, np.uint8))
