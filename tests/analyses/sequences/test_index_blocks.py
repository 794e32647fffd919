"""An index that is built block by block is the same file as one built in memory."""

import itertools
import re

import numpy as np
import pytest

from genoviz import (
    Sequences,
    build_fm_index,
    build_index_in_parts,
    invert_bwt,
    iter_write_index_in_parts,
    read_fm_index,
    verify_fm_index,
    write_fm_index,
    write_index_in_parts,
)
from genoviz.analyses.sequences import index_blocks
from genoviz.errors import ParameterError
from genoviz.io.sequences.gvfm_file import ArrayWriter
from genoviz.kernels.suffix_sort import COVER_BITS
from tests.conftest import count_gpus
from tests.kernels.texts import TEXTS, make_text, random_letters

OPTIONS = (
    {},
    {"sample_rate": 8, "table_k": 3, "super_shift": 2},
    {"sample_rate": 2**14, "table_k": 0, "super_shift": 6},
)
ENOUGH = 10**9


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(index_blocks, "SLICE_ROWS", 1 << 12)


@pytest.fixture
def many_blocks(monkeypatch):
    """Blocks have a tenth of the rows, whatever the memory."""
    plan = index_blocks._plan

    def planned(text, *arguments):
        _, _, needed = plan(text, *arguments)
        return text.n_symbols // 10 + 1, 6, needed

    monkeypatch.setattr(index_blocks, "_plan", planned)


@pytest.mark.usefixtures("small_slices", "many_blocks")
@pytest.mark.parametrize("name", TEXTS)
def test_the_file_is_that_of_the_index_in_memory(name, backend, tmp_path):
    text = make_text(*TEXTS[name]())
    for options in OPTIONS:
        index = build_fm_index(text, backend="cpu", **options)
        write_fm_index(index, tmp_path / "memory.gvfm")
        parts = build_index_in_parts(text, memory=ENOUGH, **options, backend=backend)
        write_index_in_parts(parts, tmp_path / "parts.gvfm")
        assert (tmp_path / "parts.gvfm").read_bytes() == (tmp_path / "memory.gvfm").read_bytes()
    np.testing.assert_array_equal(invert_bwt(index, backend="cpu"), text.symbols())


@pytest.mark.usefixtures("many_blocks")
@pytest.mark.parametrize("n", [127, 128, 129, 4096, 8191, 8192, 81_920, 90_001])
def test_rows_end_within_at_and_after_a_line(n, backend, tmp_path, monkeypatch):
    """The end of the contig is a row too."""
    monkeypatch.setattr(index_blocks, "SLICE_ROWS", 1 << 10)
    genome = Sequences.from_records([("a", random_letters(np.random.default_rng(n), n - 1))])
    parts = build_index_in_parts(genome, memory=ENOUGH, backend=backend)
    write_index_in_parts(parts, tmp_path / "parts.gvfm")
    write_fm_index(build_fm_index(genome, backend="cpu"), tmp_path / "memory.gvfm")
    assert (tmp_path / "parts.gvfm").read_bytes() == (tmp_path / "memory.gvfm").read_bytes()
    verify_fm_index(tmp_path / "parts.gvfm")
    found = read_fm_index(tmp_path / "parts.gvfm")
    np.testing.assert_array_equal(invert_bwt(found, backend="cpu"), found.text.symbols())


def test_an_index_that_is_not_finished_leaves_what_was_there(tmp_path):
    text = make_text(*TEXTS["strains"]())
    path = tmp_path / "x.gvfm"
    path.write_bytes(b"what was there")
    for n_steps in (1, 3, 12):
        writing = iter_write_index_in_parts(build_index_in_parts(text, memory=ENOUGH), path)
        assert len(list(itertools.islice(writing, n_steps))) == n_steps
        writing.close()
        assert path.read_bytes() == b"what was there"
        assert list(tmp_path.iterdir()) == [path]


def test_progress_goes_from_the_text_to_the_table(tmp_path, many_blocks):
    index = build_index_in_parts(make_text(*TEXTS["strains"]()), memory=ENOUGH)
    assert index.n_blocks == 10
    steps = list(iter_write_index_in_parts(index, tmp_path / "x.gvfm"))
    stages = [stage for stage, _ in itertools.groupby(step.stage for step in steps)]
    assert stages == ["text", "blocks", "cover", "splitters", "blocks", "table"]
    fractions = [step.fraction for step in steps if step.stage != "text"]
    assert fractions[-1] == 1.0
    assert all(0 <= fraction <= 1 for fraction in fractions)


@pytest.mark.parametrize("memory", [0, 10**6, 4 * 10**8])
def test_too_little_memory_is_refused_with_the_number_that_is_needed(memory):
    text = make_text("ACGT" * 1000, "GG")
    with pytest.raises(ParameterError) as refused:
        build_index_in_parts(text, memory=memory)
    found = re.fullmatch(
        r"an index of 4,002 bases needs (\S+) GB of memory at least, is allowed (\S+) GB",
        str(refused.value),
    )
    assert float(found[2]) == memory / 10**9
    assert build_index_in_parts(text, memory=round(float(found[1]) * 10**9)).n_blocks == 1


def test_more_memory_means_fewer_blocks_and_a_cover_that_fits():
    """A text that is not there: only its numbers count."""
    text = make_text("ACGT")
    n = 1_500_000_000
    vars(text)["n_symbols"] = n
    plans = [index_blocks._plan(text, 12, memory, "cpu") for memory in
             (2 * 10**9, 4 * 10**9, 8 * 10**9, 40 * 10**9)]  # fmt: skip
    assert [rows for rows, *_ in plans] == sorted(rows for rows, *_ in plans)
    assert [bits for _, bits, _ in plans] == sorted((bits for _, bits, _ in plans), reverse=True)
    assert plans[-1][0] == n
    for (_, bits, needed), memory in zip(plans, (2, 4, 8, 40), strict=True):
        assert needed <= memory * 10**9
        assert bits in COVER_BITS


@pytest.mark.gpu
@pytest.mark.skipif(count_gpus() < 2, reason="needs two GPUs")
def test_several_gpus_make_the_same_file(tmp_path):
    text = make_text(*TEXTS["strains"]())
    index = build_fm_index(text, backend="cpu", sample_rate=32)
    write_fm_index(index, tmp_path / "memory.gvfm")
    options = {"memory": ENOUGH, "sample_rate": 32, "backend": "cuda", "devices": [0, 1]}
    write_index_in_parts(build_index_in_parts(text, **options), tmp_path / "parts.gvfm")
    assert (tmp_path / "parts.gvfm").read_bytes() == (tmp_path / "memory.gvfm").read_bytes()


def test_devices_are_gpus():
    with pytest.raises(ParameterError, match="devices are numbers of GPUs"):
        build_index_in_parts(make_text("ACGT"), memory=ENOUGH, devices=[0])


@pytest.mark.parametrize("options", [{"sample_rate": 3}, {"table_k": 13}, {"super_shift": 25}])
def test_options_are_checked_as_those_of_an_index_in_memory(options):
    with pytest.raises(ParameterError, match=f"{next(iter(options))} is "):
        build_index_in_parts(make_text("ACGT"), memory=ENOUGH, **options)


def test_an_array_takes_neither_more_nor_fewer_items_than_it_has(tmp_path):
    with (tmp_path / "x").open("wb") as file:
        writer = ArrayWriter(file, {}, {"a": (np.uint32, (3,))})
        assert list(writer.append("a", np.arange(2, dtype=np.uint32))) == [8]
        with pytest.raises(ValueError, match="'a' lacks 4 bytes"):
            writer.finish()
        with pytest.raises(ValueError, match="'a' has 12 bytes, is given more"):
            list(writer.append("a", np.arange(2, dtype=np.uint32)))
