"""Counts of blocks are those of ``bedtools intersect -split -c``."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.intervals import split_overlaps
from genoviz.analyses.intervals.split_overlaps import count_split_overlaps
from genoviz.errors import ParameterError
from genoviz.model import Intervals
from tests.cli.test_intervals import bedtools, same
from tests.conftest import real_data

CHR9 = "intervals/chr9_4-6Mb"


def make_bed12(path, seed, n, span=3000):
    rng = np.random.default_rng(seed)
    lines = []
    for k in range(n):
        start, lengths = int(rng.integers(0, span)), rng.integers(1, 40, rng.integers(1, 5))
        gaps = np.append(0, rng.integers(1, 60, len(lengths) - 1))
        offsets = np.cumsum(gaps + np.append(0, lengths[:-1]))
        end = start + int(offsets[-1] + lengths[-1])
        blocks = f"{','.join(map(str, lengths))}\t{','.join(map(str, offsets))}"
        strand = "+-"[int(rng.integers(2))]
        lines.append(
            f"c{k % 2}\t{start}\t{end}\tr{k}\t0\t{strand}\t{start}\t{end}\t0\t{len(lengths)}\t"
            f"{blocks}\n"
        )
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize("options", [(), ("-s",), ("-S",)], ids=" ".join)
def test_blocks_of_bed12_are_counted_as_by_bedtools(run, tmp_path, options):
    a, b = make_bed12(tmp_path / "a.bed", 1, 300), make_bed12(tmp_path / "b.bed", 2, 500)
    code, out, _ = run("count", a, b, "--split", *options)
    assert code == 0
    assert same(out, bedtools("intersect", "-split", "-c", *options, "-a", a, "-b", b))
    assert out != run("count", a, b, *options)[1], "blocks make a difference here"


def test_spliced_reads_are_counted_as_by_bedtools(run, tmp_path):
    pysam = pytest.importorskip("pysam")
    bam, kept = real_data(f"{CHR9}/bam_chr9_4000000_6000000.bam"), tmp_path / "kept.bam"
    pysam.view("-b", "-F", "1796", "-o", str(kept), str(bam), catch_stdout=False)
    windows = tmp_path / "windows.bed"
    windows.write_text("".join(f"chr9\t{k}\t{k + 300}\n" for k in range(4_000_000, 6_000_000, 300)))
    out = run("count", windows, bam, "--split")[1]
    assert same(out, bedtools("intersect", "-split", "-c", "-a", windows, "-b", kept))


def test_reads_are_cut_at_introns_and_not_at_deletions(run, tmp_path):
    head = "@SQ\tSN:c\tLN:1000\n"
    read = "r{}\t0\tc\t101\t60\t10M20{}10M\t*\t0\t0\t*\t*\n"
    (tmp_path / "x.sam").write_text(head + read.format(1, "D") + read.format(2, "N"))
    (tmp_path / "a.bed").write_text("c\t112\t118\nc\t105\t109\nc\t95\t200\n")
    out = run("count", tmp_path / "a.bed", tmp_path / "x.sam", "--split")[1]
    assert [line.split("\t")[3] for line in out.splitlines()] == ["1", "2", "2"]


def test_contigs_are_matched_and_a_graph_is_refused(run, tmp_path):
    a, b = tmp_path / "a.bed", tmp_path / "b.bed"
    a.write_text("chr1\t5\t9\n")
    b.write_text("1\t0\t30\tx\t0\t+\t0\t30\t0\t2\t4,4\t0,26\n")
    assert run("count", a, b, "--split")[1] == "chr1\t5\t9\t0\n"
    assert run("count", a, b)[1] == "chr1\t5\t9\t1\n"
    assert "has no effect with --graph" in run("count", a, b, "--split", "--graph", a)[2]


PARTS = st.lists(st.tuples(st.integers(0, 5), st.integers(1, 6)), min_size=1, max_size=4)
BLOCKS = st.lists(st.tuples(st.integers(0, 60), PARTS), max_size=6)


def blocks_of(items):
    rows = []
    for owner, (start, parts) in enumerate(items):
        at = start
        for gap, length in parts:
            rows.append((owner, at + gap, at + gap + length))
            at += gap + length
    owners, starts, ends = (np.array([row[k] for row in rows], np.int64) for k in range(3))
    return Intervals.from_columns(["c"] * len(rows), starts, ends), owners


def bases_of(items):
    """Return the bases that the blocks of each item cover."""
    found = []
    for at, parts in items:
        bases = set()
        for gap, length in parts:
            bases |= set(range(at + gap, at + gap + length))
            at += gap + length
        found.append(bases)
    return found


@settings(deadline=None)
@given(BLOCKS, BLOCKS, st.integers(1, 9))
def test_each_subject_counts_once_whatever_its_blocks(queries, subjects, chunk):
    a, of_a = blocks_of(queries)
    b, of_b = blocks_of(subjects)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(split_overlaps, "PAIRS_PER_CHUNK", chunk)
        found = count_split_overlaps(a, b, query_owners=of_a, subject_owners=of_b)
    queries, subjects = bases_of(queries), bases_of(subjects)
    assert found.tolist() == [sum(bool(x & y) for y in subjects) for x in queries]


@pytest.mark.parametrize("strand", [None, "same", "opposite"])
@pytest.mark.parametrize("zero_length", ["bedtools", "strict", "interior"])
def test_queries_in_one_piece_count_as_if_they_were_cut(strand, zero_length):
    rng = np.random.default_rng(4)
    names, starts, ends, strands, owners = [], [], [], [], []
    for owner in range(400):
        sign, contig = rng.choice([-1, 0, 1]), f"c{rng.integers(3)}"
        end = int(rng.integers(80))
        for _ in range(rng.integers(1, 6)):
            start = end + int(rng.integers(0, 12))
            end = start + int(rng.integers(1, 9))
            for column, value in zip(
                (names, starts, ends, strands, owners),
                (contig, start, end, sign, owner),
                strict=True,
            ):
                column.append(value)
    reads = Intervals.from_columns(names, starts, ends, strands=strands)
    query_starts = rng.integers(0, 150, 300)
    queries = Intervals.from_columns(
        [f"c{k}" for k in rng.integers(4, size=300)],
        query_starts,
        query_starts + rng.integers(0, 60, 300) * rng.integers(0, 2, 300),
        strands=rng.choice([-1, 0, 1], 300),
    )
    options = {"strand": strand, "zero_length": zero_length}
    found = count_split_overlaps(queries, reads, subject_owners=np.array(owners), **options)
    # With one more query that is cut, the pairs of blocks are gone through.
    two = queries.select([*range(300), 299])
    pairs = count_split_overlaps(
        two, reads, query_owners=[*range(300), 299], subject_owners=np.array(owners), **options
    )
    assert found.tolist() == pairs.tolist()
    blocks = count_split_overlaps(queries, reads, **options)
    assert (found <= blocks).all()
    assert 0 < found.sum() < blocks.sum()


def test_owners_that_do_not_fit_are_refused():
    blocks = Intervals.from_columns(["c"], [0], [5])
    with pytest.raises(ParameterError, match=r"there are 2 owners, needs 1 that ascend from 0"):
        count_split_overlaps(blocks, blocks, subject_owners=np.array([0, 1]))
