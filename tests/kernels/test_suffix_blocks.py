"""Suffix arrays block by block, against the same answers as suffix arrays made at once."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.backend import load_kernel
from genoviz.kernels import suffix_sort
from genoviz.kernels.suffix_sort import BLOCK_STAGES, COVER_BITS, cpu_rows, make_cover, row_dtype
from genoviz.kernels.suffix_sort.cpu_blocks import sort_words
from tests.conftest import real_data
from tests.kernels.test_suffix_sort import CONTIGS, runs_of
from tests.kernels.texts import TEXTS, fibonacci_letters, make_text, mutated, random_letters
from tests.oracles.suffix_array import is_suffix_array, sort_suffixes


def sort_blocks(text, block_rows, cover_bits=6, seed=0):
    """Return the suffix array, and the rows of each block; the exceptions are the first."""
    kernel = load_kernel("suffix_sort", "cpu")
    steps = kernel.iter_sort_blocks(
        text.packed, text.n_symbols, text.exceptions, block_rows, cover_bits, seed
    )
    blocks = [rows.copy() for *_, rows in steps if rows is not None]
    dtype = row_dtype(text.n_symbols)
    assert all(rows.dtype == dtype for rows in blocks)
    return np.concatenate([np.empty(0, dtype), *blocks]), [len(rows) for rows in blocks]


@pytest.mark.parametrize("cover_bits", COVER_BITS)
def test_each_residue_is_a_difference_of_two_of_the_cover(cover_bits):
    cover, v = make_cover(cover_bits), 1 << cover_bits
    assert {(one - other) % v for one in cover.tolist() for other in cover.tolist()} == {*range(v)}
    assert len(cover) ** 2 < 4 * v


@given(CONTIGS, st.integers(1, 40))
def test_small_texts_are_sorted_as_by_comparison(contigs, block_rows):
    text = make_text(*contigs)
    rows, sizes = sort_blocks(text, block_rows)
    assert rows.tolist() == sort_suffixes(text.symbols())
    assert max(sizes[1:], default=0) <= block_rows


@pytest.mark.parametrize("cover_bits", [6, 8])
@pytest.mark.parametrize("n_blocks", [1, 2, 9])
@pytest.mark.parametrize("name", TEXTS)
def test_hard_texts_are_sorted(name, n_blocks, cover_bits):
    text = make_text(*TEXTS[name]())
    block_rows = text.n_symbols // n_blocks + 1
    rows, sizes = sort_blocks(text, block_rows, cover_bits)
    assert is_suffix_array(text, rows)
    assert max(sizes[1:], default=0) <= block_rows


@pytest.mark.parametrize("cover_bits", COVER_BITS)
def test_any_cover_breaks_ties(cover_bits):
    generator = np.random.default_rng(cover_bits)
    letters = random_letters(generator, 9_000)
    copy = mutated(generator, letters, 0.0005)
    text = make_text(letters, copy + "N" + letters[:5_000], fibonacci_letters(20_000))
    assert is_suffix_array(text, sort_blocks(text, text.n_symbols, cover_bits)[0])
    assert is_suffix_array(text, sort_blocks(text, 8_000, cover_bits)[0])


@pytest.mark.parametrize("unit", ["A", "AC", "CA", "AAC", "TG", "GATTACA", "ACACAT", 60, 171, 400])
def test_repeats_sort_by_how_much_is_left_and_what_follows(unit):
    """Splitters stand in the midst of repeats; of these some are cut by them, some are equal."""
    generator = np.random.default_rng(len(str(unit)))
    if isinstance(unit, int):
        unit = random_letters(generator, unit)
    runs = [runs_of(generator, unit, 12, 40), runs_of(generator, unit, 2, 400), unit * 90]
    text = make_text(runs[0], "N" * 3 + runs[1], runs[0][:-1], runs[2], runs[2] + "A", runs[2])
    for block_rows in (text.n_symbols, text.n_symbols // 7):
        assert is_suffix_array(text, sort_blocks(text, block_rows)[0])


def test_every_suffix_may_be_a_splitter():
    text = make_text("ACGT" * 30 + "N", "ACGT" * 30)
    rows, sizes = sort_blocks(text, 1)
    assert rows.tolist() == sort_suffixes(text.symbols())
    assert sizes == [len(text.exceptions)] + [1] * text.n_bases


def test_splitters_do_not_change_the_rows():
    text = make_text(*TEXTS["strains"]())
    expected, _ = sort_blocks(text, text.n_symbols)
    cuts = set()
    for seed in range(3):
        rows, sizes = sort_blocks(text, 20_000, seed=seed)
        np.testing.assert_array_equal(rows, expected)
        cuts.add(tuple(sizes))
    assert len(cuts) == 3


@pytest.mark.parametrize("name", ["AC again and again", "strains", "Fibonacci", "long runs"])
def test_positions_of_64_bits_are_sorted_alike(name, monkeypatch):
    text = make_text(*TEXTS[name]())
    expected, _ = sort_blocks(text, 30_000)
    monkeypatch.setattr(suffix_sort, "N_LARGE", 10)
    rows, _ = sort_blocks(text, 30_000)
    assert (expected.dtype, rows.dtype) == (np.uint32, np.int64)
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.parametrize("n_spare", [1_000, 20_000])
@pytest.mark.parametrize("share", [0.0, 0.6, 0.9, 0.999])
def test_words_of_which_most_have_one_key_are_sorted_and_keep_their_order(share, n_spare):
    generator = np.random.default_rng(3)
    keys = generator.integers(0, 1 << 40, 20_000, dtype=np.uint64)
    is_most = generator.random(len(keys)) < share
    keys[is_most] = 1 << 39
    words = keys << np.uint64(24) | np.arange(len(keys), dtype=np.uint64)
    expected = np.sort(words)
    sort_words(words, 0, len(words), np.empty(n_spare, np.uint64), 24)
    np.testing.assert_array_equal(words >> np.uint64(24), expected >> np.uint64(24))
    np.testing.assert_array_equal(np.sort(words), expected)
    if share > 0.8 and n_spare == len(words):
        of_most = words[words >> np.uint64(24) == 1 << 39] & np.uint64(0xFFFFFF)
        np.testing.assert_array_equal(of_most, np.flatnonzero(is_most))


def test_any_number_of_threads_and_chunks_gives_the_same_rows(monkeypatch):
    generator = np.random.default_rng(8)
    text = make_text(*TEXTS["strains"](), *TEXTS["dense exceptions"](), "AC" * 5_000,
                     random_letters(generator, 20_000))  # fmt: skip
    n_threads = numba.get_num_threads()
    found = []
    try:
        for n in sorted({1, n_threads}):
            numba.set_num_threads(n)
            found.append(sort_blocks(text, 50_000)[0])
    finally:
        numba.set_num_threads(n_threads)
    monkeypatch.setattr(cpu_rows, "CHUNK_WORDS", 100)
    found.append(sort_blocks(text, 50_000)[0])
    assert is_suffix_array(text, found[0])
    for rows in found[1:]:
        np.testing.assert_array_equal(rows, found[0])


def test_a_genome_is_sorted_as_by_an_independent_sorter():
    pydivsufsort = pytest.importorskip("pydivsufsort")
    from genoviz.io.sequences.reader import read_sequences

    genome = read_sequences(real_data("genomes/sacCer3.2bit"))
    letters = genome.cut(0, 0, 200_000).tobytes().decode()
    text = make_text(letters)
    assert text.n_symbols == len(letters) + 1
    rows, sizes = sort_blocks(text, 30_000, cover_bits=7)
    assert len(sizes) > 6
    assert rows[0] == len(letters)
    np.testing.assert_array_equal(rows[1:], pydivsufsort.divsufsort(letters.encode()))


def test_steps_name_their_stage_and_say_how_far_they_are():
    text = make_text(*TEXTS["strains"]())
    kernel = load_kernel("suffix_sort", "cpu")
    steps = list(
        kernel.iter_sort_blocks(text.packed, text.n_symbols, text.exceptions, 40_000, 6, 0)
    )
    assert {stage for stage, *_ in steps} == {*BLOCK_STAGES}
    assert all(0 <= n_done <= n_total for _, n_done, n_total, _ in steps)
    done = [n_done for stage, n_done, *_ in steps if stage == "blocks"]
    assert done == sorted(done)
    assert done[-1] == text.n_symbols


def test_the_memory_grows_with_blocks_and_shrinks_with_the_cover():
    needed = load_kernel("suffix_sort", "cpu").needed_bytes
    n = 10**9
    assert needed(n, 10**8, 10) < needed(n, 2 * 10**8, 10)
    assert needed(n, 10**8, 11) < needed(n, 10**8, 6)
    assert needed(n, n, 10) > 12 * n
