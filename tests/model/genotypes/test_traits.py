from __future__ import annotations

import numpy as np
import pytest

from genoviz import ParameterError, read_trait

nan = np.nan


@pytest.mark.parametrize(
    ("values", "kind", "wanted", "is_binary", "note"),
    [
        ([1, 2, 1, nan], "auto", [1, 2, 1, nan], True, ""),
        ([1, 2, 0, 0], "auto", [1, 2, nan, nan], True, "y is 0 2 times, else 1 or 2: it is miss"),
        ([0, 2, 2], "auto", [nan, 2, 2], False, "y is 0 once"),
        ([0, 1, nan], "auto", [0, 1, nan], True, "y is 0 or 1: 0 is control and 1 is case."),
        ([0, 1, 2, 3], "auto", [0, 1, 2, 3], False, ""),
        ([0, 1, 2.5], "auto", [0, 1, 2.5], False, ""),
        ([1, 2, 0], "quantitative", [1, 2, 0], False, ""),
        ([0, 1], "quantitative", [0, 1], False, ""),
        ([3, 7.5], "auto", [3, 7.5], True, ""),
        ([3, 7.5], "case-control", [3, 7.5], True, ""),
        ([1, 2, 0], "case-control", [1, 2, nan], True, "y is 0 once"),
        ([nan], "auto", [nan], False, ""),
    ],
)
def test_the_rule_is_plinks(values, kind, wanted, is_binary, note):
    values = np.array(values, float)
    kept = values.copy()
    found = read_trait(values, "y", kind)
    np.testing.assert_array_equal(found.values, wanted)
    assert found.is_binary == is_binary
    assert len(found.notes) == bool(note)
    assert "".join(found.notes).startswith(note)
    np.testing.assert_array_equal(values, kept)


def test_what_is_no_case_and_control_is_refused():
    with pytest.raises(ParameterError, match="y has 3 values, needs two: 1 for controls and 2 for"):
        read_trait(np.array([1, 2, 3.0]), "y", "case-control")
    with pytest.raises(ParameterError, match="y has 1 value, needs two"):
        read_trait(np.array([0, 2.0]), "y", "case-control")
    with pytest.raises(ParameterError, match="the type is 'x', needs one of auto, quantitative"):
        read_trait(np.array([1.0]), "y", "x")
