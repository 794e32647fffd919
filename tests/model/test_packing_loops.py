from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from genoviz.model import packing_loops
from tests.oracles.genotypes import codes_of, pack

CODE_OF_DOSAGE = {2: 0, -1: 1, 1: 2, 0: 3}


@settings(max_examples=40)
@given(st.data(), st.integers(1, 40), st.integers(0, 19))
def test_samples_are_taken_as_by_hand(data, n_samples, n_variants):
    packed = data.draw(hnp.arrays(np.uint8, (n_variants, (n_samples + 3) // 4)))
    samples = data.draw(st.permutations(range(n_samples)))
    samples = np.array(samples[: data.draw(st.integers(0, n_samples))], np.int64)
    packed.flags.writeable = False  # as those of genotypes
    found = packing_loops.take_samples(packed, samples)
    np.testing.assert_array_equal(found, pack(codes_of(packed, n_samples)[samples]))


@settings(max_examples=40)
@given(st.integers(0, 40), st.integers(0, 19))
@example(4 * packing_loops.TILE + 3, 5)
def test_a_turned_file_has_the_samples_as_rows(n_samples, n_variants):
    packed = np.random.default_rng(n_samples + n_variants).integers(
        0, 256, (n_variants, (n_samples + 3) // 4), dtype=np.uint8
    )
    found = packing_loops.transpose(packed, n_samples)
    np.testing.assert_array_equal(found, pack(codes_of(packed, n_samples).T))


@given(
    hnp.arrays(
        np.int8, st.tuples(st.integers(0, 5), st.integers(0, 11)), elements=st.integers(-1, 2)
    )
)
@example(np.array([[-9, 5, 0, 1, 2]], np.int8))
def test_dosages_are_packed_as_by_hand(dosages):
    codes = [[CODE_OF_DOSAGE.get(value, 1) for value in row] for row in dosages.T.tolist()]
    codes = np.array(codes, int).reshape(dosages.shape[::-1])
    np.testing.assert_array_equal(packing_loops.pack_dosages(dosages), pack(codes))


@pytest.mark.parametrize("n_variants", [1, 8, 33])
def test_many_samples_of_a_file_that_cannot_be_written_to(n_variants):
    n_samples, n_taken = 8 * packing_loops.BLOCK + 3, 4 * packing_loops.BLOCK + 7
    rng = np.random.default_rng(n_variants)
    packed = rng.integers(0, 256, (n_variants, (n_samples + 3) // 4), dtype=np.uint8)
    packed.flags.writeable = False
    samples = rng.permutation(n_samples)[:n_taken]
    found = packing_loops.take_samples(packed, samples)
    wanted = codes_of(packed, n_samples)[samples]
    np.testing.assert_array_equal(codes_of(found, n_taken), wanted)
    assert (found[:, -1] >> 2 * (n_taken % 4) == 0).all()
