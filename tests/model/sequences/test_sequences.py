from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.errors import ParameterError
from genoviz.model import Sequences

RECORDS = st.lists(st.tuples(st.sampled_from("abc"), st.text("ACGTNacgtnRyUu")), max_size=5)


@given(RECORDS)
def test_records_come_back(records):
    sequences = Sequences.from_records(records)
    assert sequences.names == tuple(name for name, _ in records)
    assert sequences.lengths.tolist() == [len(letters) for _, letters in records]
    for rank, (_, letters) in enumerate(records):
        whole = sequences.cut(rank, 0, len(letters)).tobytes().decode()
        assert whole == letters.upper().replace("U", "T")


@given(RECORDS)
def test_lower_case_is_masked(records):
    sequences = Sequences.from_records(records)
    expected, at = [], 0
    for _, letters in records:
        for is_lower, group in itertools.groupby(letters, str.islower):
            n = len(list(group))
            expected += [[at, at + n]] if is_lower else []
            at += n
    assert sequences.masked.tolist() == expected


def test_the_first_of_two_names_is_found():
    sequences = Sequences.from_records([("a", "AC"), ("b", "G"), ("a", "TT")])
    assert sequences.find("a") == 0
    assert sequences.cut("a", 0, 2).tobytes() == b"AC"
    assert sequences.cut(2, 0, 1).tobytes() == b"T"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda s: s.find("chr9"), "no sequence is named 'chr9'; there are 2: chr1, chr2"),
        (lambda s: s.cut(2, 0, 1), "there is no sequence 2, only 2"),
        (lambda s: s.cut("chr1", 2, 5), "chr1:2-5 is not within its 4 bp"),
        (lambda s: s.cut("chr1", -1, 2), "chr1:-1-2 is not within"),
        (lambda s: s.cut("chr1", 3, 2), "chr1:3-2 is not within"),
        (lambda s: type(s).from_records([("x", "AC-G")]), "base 3 of 'x' is '-', needs one of"),
        (
            lambda s: Sequences(("a",), np.array([0, 3]), s.bases, s.masked),
            "offsets need to go from 0",
        ),
        (
            lambda s: Sequences(("a",), np.array([0, 7], np.int32), s.bases, s.masked),
            r"offsets is int32 \(2,\), needs int64 \(2,\)",
        ),
    ],
)
def test_what_does_not_fit_is_said(call, words):
    sequences = Sequences.from_records([("chr1", "ACGT"), ("chr2", "ACG")])
    with pytest.raises(ParameterError, match=words):
        call(sequences)


def test_arrays_cannot_be_changed():
    sequences = Sequences.from_records([("chr1", "ACGT")])
    with pytest.raises(ValueError, match="read-only"):
        sequences.bases[0] = 0
