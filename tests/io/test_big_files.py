from __future__ import annotations

import numpy as np
import pytest

from genoviz import FileFormatError, Intervals, ParameterError
from genoviz.io.big_files import BigWig, write_bigwig
from genoviz.io.intervals import read_intervals
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
    assert part.ends[1:-1].tolist() == whole.ends[1:-1].tolist()
    assert part.scores.tolist() == whole.scores.tolist()
    with pytest.raises(FileFormatError, match="has no contig '9', it has chr9"):
        read_intervals(path, region="9:1-2")


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
