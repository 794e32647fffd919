"""Suffix arrays against comparison of suffixes, their definition, and an independent sorter."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.backend import array_module, load_kernel
from genoviz.kernels.suffix_sort import STAGES, cpu, cpu_names, row_dtype
from genoviz.kernels.suffix_sort.cpu_blocks import _is_checked
from tests.conftest import real_data
from tests.kernels.texts import TEXTS, make_text, mutated, random_letters
from tests.oracles.suffix_array import is_suffix_array, sort_suffixes


def sort_text(text, backend="cpu", dtype=np.uint32):
    kernel, arrays = load_kernel("suffix_sort", backend), array_module(backend)
    order = np.zeros(text.n_symbols, dtype)
    steps = list(
        kernel.iter_sort_suffixes(
            arrays.asarray(text.packed), text.n_symbols, arrays.asarray(text.exceptions), order
        )
    )
    return order, steps


CONTIGS = st.lists(
    st.builds(lambda unit, n, end: unit * n + end, st.text("ACGTN", max_size=9), st.integers(0, 30),
              st.text("ACGTNR", max_size=40)),
    max_size=6,
)  # fmt: skip


@given(CONTIGS)
def test_small_texts_are_sorted_as_by_comparison(backend, contigs):
    text = make_text(*contigs)
    assert sort_text(text, backend)[0].tolist() == sort_suffixes(text.symbols())


@pytest.mark.parametrize("name", TEXTS)
def test_hard_texts_are_sorted(backend, name):
    text = make_text(*TEXTS[name]())
    assert is_suffix_array(text, sort_text(text, backend)[0])


@pytest.mark.parametrize("name", ["AC again and again", "strains", "families", "long runs"])
def test_ties_are_refined_among_positions_of_64_bits(name):
    text = make_text(*TEXTS[name]())
    order, _ = sort_text(text, dtype=np.int64)
    assert order.dtype == np.int64
    assert is_suffix_array(text, order)


def runs_of(generator, unit, n_runs, longest):
    """Return repeats of a unit, each of another length and with other letters behind it."""
    parts = []
    for n in generator.integers(1, longest, n_runs).tolist():
        cut = int(generator.integers(0, len(unit) + 1))
        parts += [unit * n + unit[:cut], random_letters(generator, int(generator.integers(0, 4)))]
    return "".join(parts)


@pytest.mark.parametrize("unit", ["AC", "CA", "AAC", "TG", "GATTACA", "ACACAT", 60, 171])
def test_repeats_sort_by_how_much_is_left_and_what_follows(unit):
    """Of runs of one unit some end in a smaller suffix and some in a larger one, some are equal."""
    generator = np.random.default_rng(len(str(unit)))
    if isinstance(unit, int):
        unit = random_letters(generator, unit)
    runs = [runs_of(generator, unit, 12, 40), runs_of(generator, unit, 2, 400), unit * 90]
    text = make_text(runs[0], "N" * 3 + runs[1], runs[0][:-1], runs[2], runs[2] + "A", runs[2])
    for dtype in (np.uint32, np.int64):
        assert is_suffix_array(text, sort_text(text, dtype=dtype)[0])


def test_repeats_of_small_texts_are_sorted_as_by_comparison():
    generator = np.random.default_rng(11)
    for _ in range(12):
        unit = random_letters(generator, int(generator.integers(2, 9)), "AC")
        text = make_text(runs_of(generator, unit, 3, 120), runs_of(generator, unit, 2, 90))
        assert sort_text(text)[0].tolist() == sort_suffixes(text.symbols())


@pytest.mark.parametrize(("unit", "n_rounds"), [("AC", 1), ("GATTACA", 1), ("ACGGTCATTC" * 17, 2)])
def test_a_repeat_takes_a_round_whatever_its_length(unit, n_rounds):
    """Each round of doubling would double the bases that are told apart: some ten rounds."""
    for n in (40_000, 160_000):
        text = make_text((unit * n)[:n], "G")
        order, steps = sort_text(text)
        assert is_suffix_array(text, order)
        assert [stage for stage, *_ in steps].count("ties") <= n_rounds


def fibonacci(n):
    shorter, longer = "A", "AC"
    while len(longer) < n:
        shorter, longer = longer, longer + shorter
    return longer[:n]


def note_names(monkeypatch):
    """Return a list that gets the names of each text, or None."""
    named, name = [], cpu._name

    def note(*given):
        found = yield from name(*given)
        named.append(found)
        return found

    monkeypatch.setattr(cpu, "_name", note)
    return named


@pytest.mark.parametrize("unit", ["AC", "AAC", "GATTACA", "A" + "C" * 30])
@pytest.mark.parametrize("end", ["", "A", "C", "T", "AG", "N", "AN", "A" * 20 + "N", "TN"])
def test_one_repeat_is_sorted_as_by_comparison(monkeypatch, unit, end):
    """Also where a name of 32 bases is the same before a seed and before an exception."""
    monkeypatch.setattr(cpu, "MIN_NAMED", cpu.SAMPLE_NAMES)
    named = note_names(monkeypatch)
    text = make_text((unit * 70 + end) * 2 + unit[:-1])
    assert sort_text(text)[0].tolist() == sort_suffixes(text.symbols())
    assert named[0] is not None or len(unit) == 31


def test_seeds_with_few_names_are_sorted_as_by_comparison(monkeypatch):
    """Names that begin with each other, before a seed and before an exception, among them."""
    monkeypatch.setattr(cpu, "MIN_NAMED", cpu.SAMPLE_NAMES)
    monkeypatch.setattr(cpu, "CHUNK_WORDS", 3)
    monkeypatch.setattr(cpu_names, "STEP_NAMES", 50)
    named = note_names(monkeypatch)
    generator = np.random.default_rng(12)
    for _ in range(40):
        unit = random_letters(
            generator, int(generator.integers(2, 9)), "ACGT"[: generator.integers(2, 5)]
        )
        runs = runs_of(generator, unit, 4, 40) + "A" * int(generator.integers(0, 3))
        text = make_text(
            runs, "N" + runs[: len(runs) // 2], unit * 60, unit * 60 + "A", fibonacci(300)
        )
        assert sort_text(text)[0].tolist() == sort_suffixes(text.symbols())
    assert sum(given is not None for given in named) >= 30


def changed_repeat(n_unit, n_times):
    """A repeat of which a hundredth of the bases are others."""
    generator = np.random.default_rng(14)
    letters = list(random_letters(generator, n_unit, "ACGT") * n_times)
    for place in np.flatnonzero(generator.random(len(letters)) < 0.01):
        letters[place] = "ACGT"[generator.integers(0, 4)]
    return "".join(letters)


@pytest.mark.parametrize(
    "letters",
    ["AC" * 150_000, fibonacci(300_000), "GATTACA" * 40_000, changed_repeat(171, 1800)],
)
def test_long_repeats_are_sorted_by_names(letters):
    text = make_text(letters, "N" + letters[1:200_001], "T" * 5000 + "G" * 3001)
    for dtype in (np.uint32, np.int64):
        order, steps = sort_text(text, dtype=dtype)
        assert is_suffix_array(text, order)
        assert "ties" not in [stage for stage, *_ in steps]


@pytest.mark.parametrize("alphabet", ["AC", "ACGT"])
def test_random_letters_get_no_names(monkeypatch, alphabet):
    """Of two letters all that lies between seeds has a name, of four there are too many."""
    letters = random_letters(np.random.default_rng(13), 400_000, alphabet)
    text = make_text(letters)
    named = note_names(monkeypatch)
    assert is_suffix_array(text, sort_text(text)[0])
    assert named == [None]


@pytest.mark.parametrize("letter", "ACGT")
@pytest.mark.parametrize("step_rows", [1, 33, 1 << 23])
def test_runs_of_a_letter_are_placed_a_word_at_a_time(monkeypatch, letter, step_rows):
    monkeypatch.setattr(cpu, "STEP_ROWS", step_rows)
    text = make_text(letter * 203, "AC" + letter * 129 + "GT", letter * 64, letter * 32 + "A", "T")
    assert sort_text(text)[0].tolist() == sort_suffixes(text.symbols())


@pytest.mark.parametrize("key_bases", [16, 21, 24])
def test_ties_are_checked_once_for_each_doubling_of_depth(key_bases):
    doublings = [48, 96, 192, 384, 768, 1536]
    depths = range(1, 2000)
    checked = [depth for depth in depths if _is_checked(depth, key_bases)]
    assert checked == [
        depth for depth in depths if any(0 <= depth - doubled < key_bases for doubled in doublings)
    ]


def test_blocks_have_the_suffixes_that_are_sorted_by_bases():
    generator = np.random.default_rng(3)
    text = make_text(
        random_letters(generator, 30_000),
        random_letters(generator, 3_000) + "N" * 5 + "AC" * 40,
    )
    order, found = np.zeros(text.n_symbols, np.uint32), []

    def steps():
        found.append(
            (yield from cpu.iter_sort_suffixes(text.packed, text.n_symbols, text.exceptions, order))
        )

    assert [stage for stage, *_ in steps()]
    sizes = found[0]
    rows = np.empty(text.n_symbols, np.int64)
    rows[order] = np.arange(text.n_symbols)
    symbols = np.array(text.symbols())
    is_rising = np.append(rows[:-1] < rows[1:], False)
    is_seed = np.append(False, is_rising[1:] & ~is_rising[:-1]) & (symbols < 4)
    expected = np.bincount(symbols[is_seed], minlength=4)
    assert sizes.reshape(4, -1).sum(axis=1).tolist() == expected.tolist()
    assert len(sizes) > 4


def test_steps_name_their_stage_and_count_what_is_left(backend):
    text = make_text(*TEXTS["strains"]())
    _, steps = sort_text(text, backend)
    assert [STAGES.index(stage) for stage, *_ in steps] == sorted(
        STAGES.index(stage) for stage, *_ in steps
    )
    assert {"partition", "blocks", "ties"} <= {stage for stage, *_ in steps}
    assert all(0 <= n_done <= n_total for _, n_done, n_total, _ in steps)
    tied = [n_tied for stage, *_, n_tied in steps if stage == "ties"]
    assert tied == sorted(tied, reverse=True)
    assert tied[-1] == 0
    assert next(steps[i] for i in range(len(steps) - 1, -1, -1) if steps[i][0] == "blocks")[3] > 0


@pytest.mark.parametrize("name", ["strains", "dense exceptions", "random"])
def test_any_number_of_threads_gives_the_same_array(name):
    generator = np.random.default_rng(8)
    text = make_text(*TEXTS[name](), random_letters(generator, 200_000))
    n_threads = numba.get_num_threads()
    orders = []
    try:
        for n in sorted({1, n_threads}):
            numba.set_num_threads(n)
            orders.append(sort_text(text)[0])
    finally:
        numba.set_num_threads(n_threads)
    assert is_suffix_array(text, orders[0])
    for order in orders[1:]:
        np.testing.assert_array_equal(order, orders[0])


def test_work_in_many_steps_and_chunks_gives_the_same_array(monkeypatch):
    generator = np.random.default_rng(9)
    letters = random_letters(generator, 60_000)
    text = make_text(letters, mutated(generator, letters, 0.001), "NN" * 40 + letters[:700])
    expected, few = sort_text(text)
    for name in ("CHUNK_WORDS", "STEP_SEEDS", "STEP_ROWS"):
        monkeypatch.setattr(cpu, name, 500)
    order, many = sort_text(text)
    assert len(many) > 3 * len(few)
    np.testing.assert_array_equal(order, expected)
    assert is_suffix_array(text, order)


def test_a_genome_is_sorted_as_by_an_independent_sorter(backend):
    pydivsufsort = pytest.importorskip("pydivsufsort")
    from genoviz.io.sequences.reader import read_sequences

    genome = read_sequences(real_data("genomes/sacCer3.2bit"))
    letters = genome.cut(0, 0, 200_000).tobytes().decode()
    text = make_text(letters)
    # One contig without other letters: its end is the only exception, smaller than all bases.
    assert text.n_symbols == len(letters) + 1
    order, _ = sort_text(text, backend)
    assert order[0] == len(letters)
    np.testing.assert_array_equal(order[1:], pydivsufsort.divsufsort(letters.encode()))


def test_the_array_and_its_caller_s_text_are_left_alone(backend):
    text = make_text(*TEXTS["dense exceptions"]())
    packed, exceptions = text.packed.copy(), text.exceptions.copy()
    sort_text(text, backend)
    np.testing.assert_array_equal(text.packed, packed)
    np.testing.assert_array_equal(text.exceptions, exceptions)


def test_rows_have_64_bits_where_32_do_not_do():
    assert row_dtype(0) is row_dtype(2**32 - 2) is np.uint32
    assert row_dtype(2**32 - 1) is row_dtype(2**33) is np.int64
