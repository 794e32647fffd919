from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import Sequences, make_index_text
from genoviz.errors import ParameterError
from tests.oracles.index_text import slow_text

CONTIG = st.one_of(
    st.text("ACGT", max_size=150),
    st.text("ACGTNR", max_size=80),
    st.text("N", max_size=40),
    st.text("acgtACGTn", max_size=80),
)
CONTIGS = st.lists(CONTIG, max_size=5)


def text_of(contigs):
    return make_index_text(Sequences.from_records([(f"c{i}", s) for i, s in enumerate(contigs)]))


@given(CONTIGS)
def test_symbols_and_places_are_those_of_the_letters(contigs):
    text, slow = text_of(contigs), slow_text([contig.upper() for contig in contigs])
    assert text.n_symbols == len(slow.symbols)
    assert text.symbols().tolist() == slow.symbols
    assert text.run_lengths.tolist() == slow.run_lengths
    places = text.locate(np.arange(text.n_symbols))
    assert list(zip(places.contig_ids.tolist(), places.starts.tolist(), strict=True)) == slow.places
    for (contig, start), position in slow.position_of.items():
        assert text.find(contig, start) == position


@given(CONTIGS, st.data())
def test_letters_are_cut_as_they_were(contigs, data):
    text = text_of(contigs)
    for number, contig in enumerate(contigs):
        end = data.draw(st.integers(0, len(contig)))
        start = data.draw(st.integers(0, end))
        letters = contig[start:end]
        assert text.cut(number, start, end).tobytes().decode() == letters.upper()
        assert text.cut(number, start, end, soft_masked=True).tobytes().decode() == letters


@given(CONTIGS.filter(len), st.integers(0, 30), st.data())
def test_letters_of_many_stretches_are_those_of_the_contigs(contigs, width, data):
    text = text_of(contigs)
    ids = data.draw(st.lists(st.integers(0, len(contigs) - 1), max_size=8))
    starts = [data.draw(st.integers(-40, len(contigs[i]) + 10)) for i in ids]
    found = text.cut_each(np.array(ids, np.int32), np.array(starts, np.int64), width)
    assert found.shape == (len(ids), width)
    for row, contig, start in zip(found, ids, starts, strict=True):
        places = range(start, start + width)
        inside = [contigs[contig][i] if 0 <= i < len(contigs[contig]) else "\0" for i in places]
        assert row.tobytes().decode() == "".join(inside)


@given(CONTIGS, st.integers(-300, 300), st.integers(-300, 300))
def test_symbols_are_sliced_as_a_list_is(contigs, start, stop):
    text = text_of(contigs)
    assert text.symbols(start, stop).tolist() == text.symbols().tolist()[start:stop]


@given(CONTIGS)
def test_words_hold_the_first_symbol_in_the_highest_bits(contigs):
    text = text_of(contigs)
    symbols = text.symbols().tolist()
    symbols = [symbol % 4 for symbol in symbols] + [0] * (len(text.packed) * 32 - len(symbols))
    for word in range(len(text.packed)):
        bits = "".join(f"{symbol:02b}" for symbol in symbols[word * 32 : word * 32 + 32])
        assert int(text.packed[word]) == int(bits, 2)


def test_parts_that_are_worked_on_at_once_meet():
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, 3_500_000)]
    for start, end in ((1_048_570, 1_048_580), (2_097_152, 2_097_153), (2_097_200, 3_145_728)):
        letters[start:end] = ord("N")
    letters[3_200_000:3_200_003] = np.frombuffer(b"RNN", np.uint8)
    lengths = [1_048_576, 0, 2_000_000, 451_424]
    starts = np.cumsum([0, *lengths])
    parts = [letters[a:b] for a, b in pairwise(starts)]
    text = make_index_text(Sequences.from_records([("c", part) for part in parts]))
    for contig, part in enumerate(parts):
        assert (text.cut(contig, 0, len(part)) == part).all()
    is_base = np.isin(letters, np.frombuffer(b"ACGT", np.uint8))
    symbols = text.symbols()
    assert (
        symbols[symbols < 4].tolist()
        == np.searchsorted(np.frombuffer(b"ACGT", np.uint8), letters[is_base]).tolist()
    )


def test_no_contig_is_an_empty_text():
    text = text_of([])
    assert (text.n_symbols, text.n_contigs, text.symbols().tolist()) == (0, 0, [])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda t: t.find(2, 0), "there is no contig 2, only 1"),
        (lambda t: t.find(0, 4), "c0:4-5 is not within its 4 bp"),
        (lambda t: t.cut(0, 2, 9), "c0:2-9 is not within its 4 bp"),
    ],
)
def test_what_is_not_in_the_text_is_said(call, words):
    with pytest.raises(ParameterError, match=words):
        call(text_of(["ACGT"]))
