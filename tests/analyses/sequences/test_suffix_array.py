"""Suffix arrays of texts with names and other letters, and what is none."""

import numpy as np
import pytest

from genoviz.analyses.sequences.index_text import make_index_text
from genoviz.analyses.sequences.suffix_array import (
    common_prefixes,
    iter_suffix_array,
    suffix_array,
)
from genoviz.errors import ParameterError
from genoviz.io.sequences.reader import read_sequences
from tests.conftest import real_data
from tests.kernels.texts import TEXTS, make_text, mutated, random_letters
from tests.oracles.suffix_array import common_prefixes as compared_prefixes
from tests.oracles.suffix_array import is_suffix_array, sort_by_prefix, sort_suffixes


def test_exceptions_are_first_the_last_one_before_all(backend):
    text = make_text("ACGT", "", "CANNA")
    order = suffix_array(text, backend=backend)
    n = len(text.exceptions)
    assert order[:n].tolist() == text.exceptions[::-1].tolist()
    assert order.tolist() == sort_suffixes(text.symbols())
    lengths = common_prefixes(text, order, backend=backend)
    assert lengths.tolist() == compared_prefixes(text.symbols(), order.tolist())


def test_progress_tells_the_fraction_that_is_tied_after_each_round():
    text = make_text(*TEXTS["strains"]())
    *steps, last = iter_suffix_array(text, backend="cpu")
    assert all(step.suffix_array is None for step in steps)
    assert is_suffix_array(text, last.suffix_array)
    assert last.suffix_array.dtype == np.uint32
    assert not last.suffix_array.flags.writeable
    fractions = last.tied_fractions
    assert 0.2 < fractions[0] < 1
    assert fractions == tuple(sorted(fractions, reverse=True))
    assert fractions[-1] == 0
    assert all(step.tied_fractions == fractions[: len(step.tied_fractions)] for step in steps[-3:])


def test_a_text_without_symbols_has_an_empty_array(backend):
    text = make_text()
    order = suffix_array(text, backend=backend)
    assert order.shape == (0,)
    assert is_suffix_array(text, order)
    assert common_prefixes(text, order, backend=backend).shape == (0,)


def test_what_is_no_suffix_array_is_known():
    text = make_text("GATTACAGATTACA", "ANGA")
    order = suffix_array(text, backend="cpu")
    assert is_suffix_array(text, order)
    for row in range(len(order) - 1):
        swapped = order.copy()
        swapped[[row, row + 1]] = swapped[[row + 1, row]]
        assert not is_suffix_array(text, swapped)
    twice = order.copy()
    twice[3] = twice[4]
    assert not is_suffix_array(text, twice)
    beyond = order.copy()
    beyond[3] = len(order)
    assert not is_suffix_array(text, beyond)


def test_an_array_of_another_length_is_refused():
    text = make_text("GATTACA")
    with pytest.raises(ParameterError, match=r"suffix array is \(7,\), needs \(8,\) as the text"):
        common_prefixes(text, suffix_array(text, backend="cpu")[1:])


def test_the_first_eighteen_bases_alone_do_not_sort_a_text_with_repeats():
    generator = np.random.default_rng(10)
    letters = random_letters(generator, 3_000)
    repetitive = make_text(letters + mutated(generator, letters, 0.01))
    exact = suffix_array(repetitive, backend="cpu")
    by_prefix = sort_by_prefix(repetitive.symbols(), 18)
    assert not is_suffix_array(repetitive, by_prefix)
    assert 0.05 < (by_prefix != exact).mean() < 0.9
    # Without repeats the same sort is right, and with more bases than any repeat has it is, too.
    alone = make_text(letters)
    np.testing.assert_array_equal(
        sort_by_prefix(alone.symbols(), 18), suffix_array(alone, backend="cpu")
    )
    longest = int(common_prefixes(repetitive, exact, backend="cpu").max())
    np.testing.assert_array_equal(sort_by_prefix(repetitive.symbols(), longest + 1), exact)


def test_a_yeast_genome_is_sorted(backend):
    text = make_index_text(read_sequences(real_data("genomes/sacCer3.2bit")))
    order = suffix_array(text, backend=backend)
    assert is_suffix_array(text, order)
    lengths = common_prefixes(text, order, backend=backend)
    # The repeats of this genome: 6.3 % of its suffixes share 18 bases with another one, and the
    # longest repeat has 8,375.
    is_tied = np.maximum(lengths, np.append(lengths[1:], 0)) >= 18
    assert is_tied.mean() == pytest.approx(0.063, abs=0.002)
    assert lengths.max() == 8_375


def test_runs_of_n_are_one_symbol(backend):
    text = make_index_text(read_sequences(real_data("genomes/human_chr22_20-21M.fa.gz")))
    order = suffix_array(text, backend=backend)
    assert is_suffix_array(text, order)
    assert len(text.exceptions) < 100
