from __future__ import annotations

import numpy as np
import pytest

from genoviz import Intervals, ParameterError
from genoviz.model import ByteStrings

PLACE = {
    "contig_ids": np.zeros(2, np.int32),
    "starts": np.array([1, 5]),
    "ends": np.array([4, 5]),
}


def test_columns_become_intervals_in_their_order():
    found = Intervals.from_columns(
        ["b", "a", "b"],
        [5, -3, 2],
        [6, 2**40, 2],
        strands=["+", ".", "-"],
        names=["x", "", "zz"],
        scores=[1, 2.5, np.nan],
    )
    assert found.contigs == ("b", "a")
    assert found.contig_ids.tolist() == [0, 1, 0]
    assert found.lengths.tolist() == [1, 2**40 + 3, 0]
    assert found.strands.tolist() == [1, 0, -1]
    assert list(found.names) == ["x", "", "zz"]
    assert (found.n_contigs, len(found), found.find_contig("a")) == (2, 3, 1)
    assert not found.starts.flags.writeable


def test_rows_are_selected_by_number_and_by_mask():
    found = Intervals.from_columns(["a", "b", "a"], [0, 1, 2], [9, 9, 9], names=["x", "yy", ""])
    turned = found.select(np.array([2, 1]))
    assert (turned.starts.tolist(), list(turned.names)) == ([2, 1], ["", "yy"])
    assert turned.contigs == ("a", "b")
    assert found.select(found.starts > 0).starts.tolist() == [1, 2]
    assert len(found.select(np.array([], np.int64))) == 0


def test_a_region_has_what_touches_it():
    found = Intervals.from_columns(
        ["a"] * 6 + ["b"], [0, 0, 5, 10, 10, 11, 6], [5, 6, 5, 10, 20, 11, 7]
    )
    assert found.within("a", 5, 10).starts.tolist() == [0, 5, 10]


def test_the_arrays_of_the_caller_stay_writeable():
    starts = np.array([1, 5])
    Intervals(("a",), PLACE["contig_ids"], starts, PLACE["ends"])
    starts[0] = 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ends": np.array([4, 4])}, "interval 1 starts at 5 and ends at 4, needs an end"),
        ({"ends": np.array([4.0, 5.0])}, r"ends is float64 \(2,\), needs int64 \(2,\)"),
        ({"contig_ids": np.array([0, 1], np.int32)}, "contig 1 is not one of the 1 contigs"),
        ({"contig_ids": np.array([0, -1], np.int32)}, "contig -1 is not"),
        ({"contigs": ("a", "a")}, "named twice"),
        ({"names": ByteStrings.from_texts(["x"])}, "there are 1 names for 2 intervals"),
        ({"strands": np.zeros(3, np.int8)}, r"strands is int8 \(3,\), needs int8 \(2,\)"),
    ],
)
def test_what_does_not_fit_is_refused(change, words):
    with pytest.raises(ParameterError, match=words):
        Intervals(**({"contigs": ("a",)} | PLACE | change))


def test_an_unknown_contig_is_named():
    found = Intervals.from_columns(["chr1", "chr2"], [0, 0], [1, 1])
    with pytest.raises(ParameterError, match="no contig is named '1'; there are 2: chr1, chr2"):
        found.find_contig("1")
