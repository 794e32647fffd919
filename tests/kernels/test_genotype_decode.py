"""Decoded blocks against slow definitions, on each backend; and products of missing samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.backend import load_kernel
from genoviz.kernels.missing_products.cpu import missing_products
from tests.oracles.genotypes import codes_of, dense


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(st.integers(0, 9), st.integers(1, 70), st.integers(0, 99))
@settings(max_examples=20)
def test_decoded_blocks_have_the_value_of_each_code(backend, dtype, n_variants, n_samples, seed):
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (n_variants, (n_samples + 3) // 4), dtype=np.uint8)
    values = rng.normal(size=(n_variants, 4)).astype(dtype)
    packed.flags.writeable = False
    found = load_kernel("genotype_decode", backend).decode(packed, n_samples, values)
    found = found if isinstance(found, np.ndarray) else found.get()
    assert found.dtype == dtype
    assert found.shape == (n_variants, n_samples)
    if n_variants:
        assert (found == dense(packed, n_samples, values).T).all()


@given(st.integers(0, 9), st.integers(1, 70), st.integers(0, 99))
@settings(max_examples=20)
def test_products_of_missing_samples_are_their_sums(n_variants, n_samples, seed):
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (n_variants, (n_samples + 3) // 4), dtype=np.uint8)
    columns = rng.normal(size=(n_samples, 3))
    found = missing_products(packed, n_samples, columns)
    codes = codes_of(packed, n_samples)
    for j in range(n_variants):
        missed = columns[codes[:, j] == 1]
        np.testing.assert_allclose(found[j], missed.T @ missed, atol=1e-12)
