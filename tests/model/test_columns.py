"""Helpers over columns, against NumPy."""

import numpy as np
import pytest

from genoviz.model.columns import distinct


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.bool_])
@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_different_values_are_those_of_numpy(dtype, n):
    values = np.random.default_rng(n).integers(0, 300, n).astype(dtype)
    found, expected = distinct(values), np.unique(values, return_index=True)[0]
    assert found.dtype == dtype
    assert np.array_equal(found, expected)


def test_different_values_of_lists_and_of_arrays_with_axes():
    assert distinct([[3, -1], [3, 2]]).tolist() == [-1, 2, 3]
    assert distinct(np.array([[7, 7]])).tolist() == [7]
    ends = np.array([2**64 - 1, 0, 2**63], np.uint64)
    assert distinct(ends).tolist() == [0, 2**63, 2**64 - 1]
