from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from genoviz import FileFormatError, Intervals, ParameterError
from genoviz.io.files.compiled_errors import held_messages
from genoviz.io.intervals.big_files import BigWig
from genoviz.io.intervals.bigwig_writer import write_bigwig
from genoviz.io.intervals.intervals import iter_read_split, read_intervals
from tests.conftest import real_data

pytest.importorskip("pybigtools")

BIGWIGS = [
    f"intervals/chr9_4-6Mb/bigwig_chr9_4000000_6000000_K562_{mark}.bigwig"
    for mark in ("H3K27ac", "H3K27me3", "H3K4me3", "RNA")
]


@pytest.mark.parametrize("name", BIGWIGS)
def test_steps_are_those_that_another_library_reads(name):
    other = pytest.importorskip("pyBigWig")
    path = real_data(name)
    with other.open(str(path)) as file:
        wanted = file.intervals("chr9")
        length = file.chroms("chr9")
    found = read_intervals(path)
    assert (found.contigs, found.contig_lengths.tolist()) == (("chr9",), [length])
    assert found.starts.tolist() == [row[0] for row in wanted]
    assert found.ends.tolist() == [row[1] for row in wanted]
    assert found.scores.tolist() == [row[2] for row in wanted]


def test_bins_are_those_of_the_steps():
    path = real_data(BIGWIGS[0])
    file = BigWig(path)
    start, end, n_bins = 4_500_000, 4_600_000, 100
    steps = file.steps("chr9", start, end)
    values = np.full(end - start, np.nan)
    for a, b, value in zip(steps.starts, steps.ends, steps.scores, strict=True):
        values[max(a - start, 0) : max(min(b, end) - start, 0)] = value
    rows = values.reshape(n_bins, -1)
    assert np.isfinite(rows).any(axis=1).all()
    for summary, reduce in (("mean", np.nanmean), ("min", np.nanmin), ("max", np.nanmax)):
        found = file.bins("chr9", start, end, n_bins, summary=summary, exact=True)
        np.testing.assert_allclose(found, reduce(rows, axis=1), rtol=1e-6)


def test_a_region_is_a_part(tmp_path):
    path = real_data(BIGWIGS[3])
    whole = read_intervals(path).within("chr9", 5_000_000, 5_100_000)
    part = read_intervals(path, region="chr9:5,000,000-5,100,000")
    assert len(part) > 10
    assert part.starts.tolist() == whole.starts.tolist()
    assert part.ends.tolist() == whole.ends.tolist()
    assert part.scores.tolist() == whole.scores.tolist()
    with pytest.raises(FileFormatError, match="has no contig '99', it has chr9"):
        read_intervals(path, region="99:1-2")
    assert len(read_intervals(path, region="9:5,000,000-5,100,000")) == len(part)
    assert read_intervals(path, region="9").starts.tolist() == read_intervals(path).starts.tolist()


def test_a_signal_comes_back(tmp_path):
    steps = Intervals.from_columns(
        ["b", "a", "a", "b"], [5, 10, 0, 0], [9, 12, 4, 5], scores=[1.5, -2, np.nan, 0]
    )
    path = tmp_path / "signal.bw"
    write_bigwig(path, steps)
    found = read_intervals(path)
    rows = [
        (found.contigs[rank], start, end, value)
        for rank, start, end, value in zip(
            found.contig_ids.tolist(),
            found.starts.tolist(),
            found.ends.tolist(),
            found.scores.tolist(),
            strict=True,
        )
    ]
    assert sorted(rows) == [("a", 10, 12, -2.0), ("b", 0, 5, 0.0), ("b", 5, 9, 1.5)]
    assert dict(BigWig(path).contig_lengths) == {"a": 12, "b": 9}
    assert np.isnan(BigWig(path).bins("a", 0, 10, 2)).all()


def test_what_is_no_signal_is_refused(tmp_path):
    path = tmp_path / "signal.bw"
    with pytest.raises(ParameterError, match="needs intervals with scores"):
        write_bigwig(path, Intervals.from_columns(["a"], [0], [1]))
    with pytest.raises(ParameterError, match="do not overlap, these do"):
        write_bigwig(path, Intervals.from_columns(["a", "a"], [0, 1], [2, 3], scores=[1, 2]))
    one = Intervals.from_columns(["a"], [0], [9], scores=[1])
    for words, steps, lengths in [
        ("there is none", Intervals.from_columns(["a"], [0], [9], scores=[np.nan]), None),
        ("of a ends at 9, beyond its 8 bp", one, [8]),
        ("2 contig lengths for 1 contigs", one, [9, 9]),
        ("4,284,481,537 bp, and bigWig is written of at most 4,284,481,536", one, [4_284_481_537]),
    ]:
        with pytest.raises(ParameterError, match=words):
            write_bigwig(path, steps, contig_lengths=lengths)
    assert not path.exists()
    path.write_text("chr1\t1\t2\n")
    with pytest.raises(FileFormatError, match="is no bigWig file that can be read"):
        BigWig(path)
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_intervals(tmp_path / "none.bw")
    file = BigWig(real_data(BIGWIGS[0]))
    with pytest.raises(ParameterError, match="has no contig 'chrX', it has chr9"):
        file.bins("chrX", 0, 1, 1)
    with pytest.raises(ParameterError, match="need a bin, and an end after a start"):
        file.bins("chr9", 5, 5, 1)
    with pytest.raises(ParameterError, match="need bases from 0 to"):
        file.bins("chr9", 5, 2**31, 1)


def test_a_contig_may_be_longer_than_2_gb(tmp_path):
    # The library steps through gaps, which takes seconds for one as long.
    starts = [10, 3 * 10**9 - 30, 3 * 10**9]
    ends = [20, 3 * 10**9 - 20, 3 * 10**9 + 5]
    steps = Intervals.from_columns(["a", "c", "c"], starts, ends, scores=[1, 3, 2])
    path = tmp_path / "signal.of.any.name"
    write_bigwig(path, steps)
    found = read_intervals(path)
    assert (found.starts.tolist(), found.scores.tolist()) == (starts, [1, 3, 2])
    part = read_intervals(path, region=("c", 3 * 10**9 + 1, 3 * 10**9 + 2))
    assert part.scores.tolist() == [2]
    across = Intervals.from_columns(["c"], [2**31 - 9], [2**31 + 9], scores=[1])
    write_bigwig(path, across)
    assert read_intervals(path, region=("c", 2**31 - 5, 2**31 - 3)).ends.tolist() == [2**31 + 9]


def test_rows_of_a_region_are_whole_and_overlap_it(tmp_path):
    """As those of bedGraph and BED: not cut at its bounds, and none that only touches them."""
    tools = pytest.importorskip("pybigtools")
    lengths, paths = {"a": 5000}, (tmp_path / "signal.bw", tmp_path / "rows.bb")
    rows = [(0, 7), (7, 1900), (1900, 1901), (1901, 1950), (3000, 5000)]
    for path, rest in zip(paths, (1.5, "name"), strict=True):
        file = tools.open(str(path), "w")
        empty = [(2000, 2000)] if path.suffix == ".bb" else []
        file.write(lengths, (("a", *row, rest) for row in sorted([*rows, *empty])))
        file.close()
    for path in paths:
        whole = read_intervals(path)
        for region in [(3, 5), (7, 8), (8, 1901), (1950, 2000), (2000, 3000), (4999, 5000)]:
            found = read_intervals(path, region=("a", *region))
            wanted = whole.within("a", *region)
            assert found.starts.tolist() == wanted.starts.tolist()
            assert found.ends.tolist() == wanted.ends.tolist()
    nothing = read_intervals(paths[0], region=("a", 2500, 2600))
    assert nothing.scores.tolist() == []
    assert BigWig(paths[0]).steps("a", 100, 200).ends.tolist() == [1900]


DAMAGE = """
import random, sys
from genoviz import BigWig, FileFormatError
from genoviz.io.intervals.intervals import iter_read_split, read_intervals
whole = open(sys.argv[1], "rb").read()
n_said = 0
for seed in range(40):
    chosen = random.Random(seed)
    content = bytearray(whole)
    for _ in range(10):
        content[chosen.randrange(100, len(content))] = chosen.randrange(256)
    with open(sys.argv[2], "wb") as file:
        file.write(content[: chosen.randrange(100, len(content))] if seed % 4 == 3 else content)
    try:
        read_intervals(sys.argv[2])
        if sys.argv[2].endswith("bw"):
            BigWig(sys.argv[2]).bins("chr1", 0, 40_000, 10, exact=True)
    except FileFormatError as error:
        n_said += "damaged" in str(error)
print(n_said)
"""


@pytest.mark.parametrize("ending", ["bw", "bb"])
def test_a_damaged_file_is_one_sentence_and_no_panic(tmp_path, ending):
    tools = pytest.importorskip("pybigtools")
    path = tmp_path / f"whole.{ending}"
    rows = (
        ("chr1", 10 * k, 10 * k + 7, float(k % 13) if ending == "bw" else f"n{k}\t{k}\t+")
        for k in range(4000)
    )
    file = tools.open(str(path), "w")
    file.write({"chr1": 40_000}, rows)
    file.close()
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, str(path), str(tmp_path / f"damaged.{ending}")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 10


def test_what_others_write_to_standard_error_is_passed_on(capfd):
    with held_messages():
        os.write(2, b"of another thread\n")
    assert capfd.readouterr().err == "of another thread\n"

    def fail():
        with held_messages():
            os.write(2, b"of the library\n")
            raise OSError("the library fails")

    with pytest.raises(OSError, match="the library fails"):
        fail()
    assert capfd.readouterr().err == ""


def test_bigbed_rows_have_names_scores_and_strands(tmp_path):
    tools = pytest.importorskip("pybigtools")
    path = tmp_path / "genes.bb"
    rows = [("chr1", 0, 10, "a\t5\t+"), ("chr1", 5, 20, "b\t0\t-"), ("chr2", 1, 2, "c\t7\t.")]
    file = tools.open(str(path), "w")
    file.write({"chr1": 100, "chr2": 50}, iter(rows))
    file.close()
    found = read_intervals(path)
    assert (found.contigs, found.contig_ids.tolist()) == (("chr1", "chr2"), [0, 0, 1])
    assert found.starts.tolist() == [0, 5, 1]
    assert list(found.names) == ["a", "b", "c"]
    assert found.scores.tolist() == [5, 0, 7]
    assert found.strands.tolist() == [1, -1, 0]
    assert read_intervals(path, region="chr2:0-9", names=False).contig_ids.tolist() == [1]


def write_bigbed(path, rows):
    file = pytest.importorskip("pybigtools").open(str(path), "w")
    parts = [row.split("\t", 3) for row in rows]
    lengths = dict.fromkeys("abc", 200)
    file.write(lengths, ((c, int(start), int(end), rest) for c, start, end, rest in parts))
    file.close()


def test_rows_of_bigbed_are_split_as_those_of_bed(tmp_path):
    rows = [
        "a\t10\t50\tx\t1\t+\t10\t50\t0\t2\t10,10,\t0,30,",
        "a\t12\t40\ty\t2\t-\t12\t40\t0\t1\t28\t0",
        "c\t0\t90\tz\t3\t+\t0\t90\t0\t3\t5,20,10\t0,50,80",
    ]
    (tmp_path / "x.bed").write_text("\n".join(rows) + "\n")
    write_bigbed(tmp_path / "x.bb", rows)
    for options in ({}, {"region": "a:35-45"}, {"region": "c:60-95"}):
        bed, big = (
            read_intervals(tmp_path / name, blocks=True, **options) for name in ("x.bed", "x.bb")
        )
        assert [big.contigs[k] for k in big.contig_ids] == [bed.contigs[k] for k in bed.contig_ids]
        for name in ("starts", "ends", "strands"):
            assert getattr(big, name).tolist() == getattr(bed, name).tolist(), options
        assert list(big.names) == list(bed.names)
    assert read_intervals(tmp_path / "x.bb").ends.tolist() == [50, 40, 90]
    bed, big = ([*iter_read_split(tmp_path / name)][-1].split for name in ("x.bed", "x.bb"))
    assert big.owners.tolist() == bed.owners.tolist() == [0, 0, 1, 2, 2, 2]
    assert big.blocks.starts.tolist() == bed.blocks.starts.tolist()
    assert big.blocks.ends.tolist() == bed.blocks.ends.tolist()


def test_columns_of_bigbed_that_are_no_blocks_are_left_alone(tmp_path):
    beyond, before = "1\t10\t6", "1\t10\t-1"  # by one base
    for last in ("2\tten\tnone", "2\t10,10\t0", "1\t10\t20", "1\t-1\t0", beyond, before):
        write_bigbed(tmp_path / "x.bb", [f"a\t10\t25\tx\t1\t+\t10\t25\t0\t{last}"])
        found = read_intervals(tmp_path / "x.bb", blocks=True)
        assert (found.starts.tolist(), found.ends.tolist()) == ([10], [25])


def test_stretches_without_length_are_left_out_of_a_bigwig(tmp_path):
    # An empty stretch, alone on its place, inside another, and between two that touch.
    steps = Intervals.from_columns(
        ["a"] * 6, [0, 5, 7, 10, 10, 30], [5, 10, 7, 10, 20, 30], scores=[1, 2, 9, 9, 3, 9]
    )
    path = tmp_path / "x.bw"
    write_bigwig(path, steps)
    found = read_intervals(path)
    assert (found.starts.tolist(), found.ends.tolist()) == ([0, 5, 10], [5, 10, 20])
    assert found.scores.tolist() == [1, 2, 3]
    with pytest.raises(ParameterError, match="needs a stretch with a value, there is none"):
        write_bigwig(path, steps.select(steps.lengths == 0))
