from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import FileFormatError, Intervals, ParameterError
from genoviz.io.intervals.bigwig_writer import on_genome, read_genome
from genoviz.io.intervals.intervals import read_interval_rows, read_intervals
from genoviz.io.intervals.writer import (
    Column,
    iter_lines,
    iter_table,
    rows_of,
    write_bed,
    write_bedgraph,
)
from tests.intervals import random_intervals


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


@pytest.mark.parametrize("name", ["a.bed", "a.bed.gz"])
def test_bed_comes_back(folder, name):
    rows = random_intervals(3, 200)
    write_bed(folder / name, rows)
    found = read_intervals(folder / name)
    assert [found.contigs[k] for k in found.contig_ids] == [
        rows.contigs[k] for k in rows.contig_ids
    ]
    np.testing.assert_array_equal(found.starts, rows.starts)
    np.testing.assert_array_equal(found.ends, rows.ends)
    np.testing.assert_array_equal(found.strands, rows.strands)


def test_scores_of_bed_have_all_digits(folder):
    scores = [1234567.0, 0.1234567891, np.nan]
    rows = Intervals.from_columns(["a"] * 3, [0, 5, 9], [4, 8, 12], strands=["+"] * 3)
    write_bed(folder / "s.bed", replace(rows, scores=np.array(scores)))
    lines = (folder / "s.bed").read_text().splitlines()
    assert [line.split("\t")[4] for line in lines] == ["1234567", "0.1234567891", "0"]


def test_written_blocks_can_be_indexed(folder):
    pysam = pytest.importorskip("pysam")
    write_bed(folder / "b.bed.gz", Intervals.from_columns(["a"] * 3, [0, 5, 9], [4, 8, 12]))
    pysam.tabix_index(str(folder / "b.bed.gz"), preset="bed", force=True)
    assert read_intervals(folder / "b.bed.gz", region="a:6-10").starts.tolist() == [5, 9]


@given(
    values=st.lists(
        st.floats(allow_nan=False, allow_infinity=False) | st.integers(-5, 5).map(float),
        max_size=20,
    )
)
def test_bedgraph_comes_back_to_the_last_bit(folder, values):
    n = len(values)
    starts = np.arange(n) * 10
    signal = Intervals(("c",), np.zeros(n, np.int32), starts, starts + 7, scores=np.array(values))
    write_bedgraph(folder / "a.bedgraph", signal)
    found = read_intervals(folder / "a.bedgraph")
    np.testing.assert_array_equal(found.starts, starts)
    if n:
        assert found.scores.tolist() == [value + 0.0 for value in values]


def test_stretches_without_a_value_are_left_out(folder):
    signal = Intervals.from_columns(["c", "d"], [0, 5], [5, 9], scores=[np.nan, 2.5])
    write_bedgraph(folder / "b.bdg.gz", signal)
    assert gzip.decompress((folder / "b.bdg.gz").read_bytes()) == b"d\t5\t9\t2.5\n"
    with pytest.raises(ParameterError, match="bedGraph needs intervals with scores"):
        write_bedgraph(folder / "c.bdg", Intervals.from_columns(["c"], [0], [1]))


@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(codec="utf-8", exclude_characters="\0\t\r\n"), max_size=5),
            st.integers(-(2**62), 2**62),
            st.floats(0, 1e6, width=32),
        ),
        min_size=1,
        max_size=9,
    ),
    end=st.sampled_from(["\n", "\r\n"]),
    ends_open=st.booleans(),
)
def test_lines_get_numbers_behind_them(folder, rows, end, ends_open):
    lines = [f"c\t1\t2\t{name}" for name, _, _ in rows]
    text = "#x" + end + end.join(lines) + ("" if ends_open else end)
    path = folder / "lines.bed"
    path.write_bytes(text.encode())
    found = read_interval_rows(path)
    whole = np.array([number for _, number, _ in rows])
    shares = np.array([share for _, _, share in rows], np.float32)
    written = b"".join(iter_lines(found, [Column(whole), Column(shares, decimals=7)])).decode()
    wanted = [
        f"{line}\t{number}\t{share:.7f}"
        for line, number, share in zip(lines, whole.tolist(), shares.tolist(), strict=True)
    ]
    assert written == "".join(f"{line}\n" for line in wanted)


def test_rows_of_files_without_lines():
    rows = rows_of(
        Intervals.from_columns(
            ["a", "b"], [1, 2], [3, 2], strands=["-", "."], names=["x", ""], scores=[0.5, np.nan]
        )
    )
    assert b"".join(iter_lines(rows, [])) == b"a\t1\t3\tx\t0.5\t-\nb\t2\t2\t.\t0\t.\n"
    assert b"".join(iter_lines(rows_of(Intervals.from_columns([], [], [])), [])) == b""
    table = iter_table(("a", "bc"), np.array([1, 0]), [np.array([1, -2]), np.array([3.0, 4.0])])
    assert b"".join(table) == b"bc\t1\t3\na\t-2\t4\n"


def test_a_genome_orders_the_contigs(folder):
    path = folder / "a.genome"
    path.write_text("#name\tlength\nb\t10\r\na\t20\textra\n")
    lengths = read_genome(path)
    assert list(lengths.items()) == [("b", 10), ("a", 20)]
    names = {"file": folder / "x.bed", "genome": path}
    found = on_genome(Intervals.from_columns(["a", "chrb"], [0, 5], [20, 6]), lengths, **names)
    assert (found.contigs, found.contig_ids.tolist()) == (("b", "a"), [1, 0])
    assert found.contig_lengths.tolist() == [10, 20]
    message = r"x.bed: has intervals on 'c', which a.genome has not: give a genome file with all"
    with pytest.raises(FileFormatError, match=message):
        on_genome(Intervals.from_columns(["a", "c"], [0, 5], [20, 6]), lengths, **names)
    message = r"x.bed: has an interval from 11 to 12 on 'b', which has 10 bp in a.genome: give the"
    with pytest.raises(FileFormatError, match=message):
        on_genome(Intervals.from_columns(["b"], [11], [12]), lengths, **names)
    over = on_genome(Intervals.from_columns(["b"], [9], [12]), lengths, **names)
    assert over.ends.tolist() == [12]


def test_positions_beyond_what_a_float_holds_are_written_exactly():
    start = 2**53 + 1
    columns = [np.array([start]), np.array([start + 2]), np.array([3.0])]
    table = iter_table(("c",), np.zeros(1, np.int32), columns)
    assert b"".join(table) == b"c\t9007199254740993\t9007199254740995\t3\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a\n", "line 1: has 'a', needs a contig, a tab and its length"),
        ("a\t5\nb\t-1\n", "line 2: has 'b.*-1', needs a contig"),
        ("a\t5\na\t6\n", "line 2: has contig 'a' a second time"),
    ],
)
def test_a_wrong_genome_is_named(folder, text, words):
    path = folder / "wrong.genome"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        read_genome(path)
