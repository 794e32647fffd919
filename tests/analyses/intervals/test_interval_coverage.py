"""Coverage and depth of intervals, base by base, and against bedtools."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from genoviz.analyses.intervals.coverage import coverage_fraction
from genoviz.analyses.intervals.coverage_index import CoverageIndex
from genoviz.analyses.intervals.depth_steps import depth_steps
from genoviz.errors import ParameterError
from genoviz.model.intervals.intervals import Intervals
from tests.analyses.intervals.test_intervals import OPTIONS, bedtools, expected_counts, read_bed
from tests.conftest import real_data
from tests.intervals import interval_strategy, random_intervals
from tests.oracles.intervals import base_depths, overlap_pairs

CONTIGS = ("chr1", "chr2", "chrX")


def coverage_by_bases(queries, subjects, **options):
    """Return covered and summed bases of each query, from the bases of the pairs that overlap."""
    zero_length, closed = options["zero_length"], options["closed"]

    def bases(intervals, row):
        start, end = int(intervals.starts[row]), int(intervals.ends[row]) + closed
        if start == end and zero_length == "bedtools":
            start, end = start - 1, end + 1
        return set(range(start, end))

    covered, summed = [set() for _ in range(len(queries))], [0] * len(queries)
    for i, j in overlap_pairs(queries, subjects, **options):
        common = bases(queries, i) & bases(subjects, j)
        covered[i] |= common
        summed[i] += len(common)
    return [len(common) for common in covered], summed


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_covered_and_summed_bases_are_those_of_all_pairs(backend, options):
    for seed in range(4):
        queries, subjects = random_intervals(seed, 40), random_intervals(seed + 9, 30)
        coverage = coverage_fraction(queries, subjects, backend=backend, **options)
        assert coverage.backend == backend
        covered, summed = coverage_by_bases(queries, subjects, **options)
        assert coverage.covered_bases.tolist() == covered
        assert coverage.summed_bases.tolist() == summed
        assert coverage.counts.tolist() == expected_counts(queries, subjects, **options)
        lengths = queries.ends - queries.starts + options["closed"]
        lengths[(lengths == 0) & (options["zero_length"] == "bedtools")] = 2
        assert coverage.lengths.tolist() == lengths.tolist()
        bases = np.maximum(lengths, 1)
        assert coverage.fractions.tolist() == (np.array(covered) / bases).tolist()
        assert coverage.mean_depths.tolist() == (np.array(summed) / bases).tolist()


def test_closed_intervals_have_their_last_base():
    # Bases 10 to 19 and 15 to 24, both counted: 5 of 10 in common; half-open 4 of 9.
    queries = Intervals.from_columns(["c"], [10], [19])
    subjects = Intervals.from_columns(["c"], [15], [24])
    closed = coverage_fraction(queries, subjects, closed=True, backend="cpu")
    assert (closed.covered_bases[0], closed.lengths[0], closed.fractions[0]) == (5, 10, 0.5)
    half_open = coverage_fraction(queries, subjects, backend="cpu")
    assert (half_open.covered_bases[0], half_open.lengths[0]) == (4, 9)


def test_coverage_without_intervals_is_zero():
    queries, nothing = random_intervals(1, 5), random_intervals(1, 0)
    assert coverage_fraction(queries, nothing).fractions.tolist() == [0.0] * 5
    assert len(coverage_fraction(nothing, queries).counts) == 0


@pytest.mark.parametrize(
    ("query_file", "subject_file"),
    [
        ("dbsnp_chr21_22", "exons_hg19"),
        ("exons_hg19", "dbsnp_chr21_22"),
        ("refseq.chr1.exons", "simpleRepeats.chr1"),
        ("CTCF_SE_CTRL_chr22_50k", "CTCF_SE_ChIP_chr22_50k"),
    ],
)
def test_coverage_of_real_files_is_that_of_bedtools(query_file, subject_file):
    paths = [real_data(f"intervals/{name}.bed.gz") for name in (query_file, subject_file)]
    rows = [
        line.split("\t")[-4:]
        for line in bedtools("coverage", "-a", paths[0], "-b", paths[1]).splitlines()
    ]
    coverage = coverage_fraction(*map(read_bed, paths), backend="cpu")
    ours = np.stack([coverage.counts, coverage.covered_bases, coverage.lengths], axis=1)
    np.testing.assert_array_equal(ours, np.array([[int(x) for x in row[:3]] for row in rows]))
    np.testing.assert_allclose(coverage.fractions, [float(row[3]) for row in rows], atol=1e-6)


def test_mean_depth_of_real_files_is_that_of_bedtools():
    names = ("refseq.chr1.exons", "simpleRepeats.chr1")
    paths = [real_data(f"intervals/{name}.bed.gz") for name in names]
    text = bedtools("coverage", "-mean", "-a", paths[0], "-b", paths[1])
    expected = [float(line.rpartition("\t")[2]) for line in text.splitlines()]
    coverage = coverage_fraction(*map(read_bed, paths), backend="cpu")
    np.testing.assert_allclose(coverage.mean_depths, expected, atol=1e-6)


def test_depth_of_a_real_file_is_that_of_bedtools(tmp_path):
    path = real_data("intervals/CTCF_SE_ChIP_chr22_50k.bed.gz")
    genome = tmp_path / "genome"
    genome.write_text("chr22\t51304566\n")
    index = CoverageIndex.of(read_bed(path))
    for rule, lowest in (("-bg", 1), ("-bga", 0)):
        text = bedtools("genomecov", rule, "-i", path, "-g", genome)
        expected = [tuple(map(int, line.split("\t")[1:])) for line in text.splitlines()]
        steps = index.steps("chr22", 0, 51304566)
        rows = zip(pairwise(steps.edges.tolist()), steps.depths.tolist(), strict=True)
        assert [(*edges, depth) for edges, depth in rows if depth >= lowest] == expected


# The index ----------------------------------------------------------------------------------------


def check_bins(index, contig, depths, intervals, edges):
    """Compare bins with depths base by base; a contig of known length ends with it."""
    bins = index.bins(contig, edges)
    rank = index.contigs.index(contig)
    on_contig = intervals.contig_ids == rank
    lengths = intervals.contig_lengths
    limit = None if lengths is None else int(lengths[rank])
    for i, (low, high) in enumerate(pairwise(edges)):
        bases = range(max(low, 0), high if limit is None else min(high, limit))
        inside = [depths[b] if b < len(depths) else 0 for b in bases] or [0]
        assert bins.means[i] == pytest.approx(sum(inside) / len(inside), rel=1e-12)
        assert bins.maxima[i] == max(inside)
        assert bins.minima[i] == min(inside)
        touches = on_contig & (intervals.starts < high) & (intervals.ends > low)
        assert bins.counts[i] == np.sum(touches & (intervals.lengths > 0))
    np.testing.assert_array_equal(index.bin_means(contig, edges), bins.means)
    np.testing.assert_array_equal(index.bin_max(contig, edges), bins.maxima)
    np.testing.assert_array_equal(index.bin_min(contig, edges), bins.minima)
    np.testing.assert_array_equal(index.bin_counts(contig, edges), bins.counts)


def test_bins_and_steps_of_any_intervals_are_those_of_their_bases():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st

    @hypothesis.given(
        interval_strategy(),
        st.lists(st.integers(-5, 50), min_size=2, max_size=9, unique=True).map(sorted),
    )
    def check(intervals, edges):
        index = CoverageIndex.of(intervals)
        for contig in index.contigs:
            depths = base_depths(intervals, contig, 45)
            check_bins(index, contig, depths, intervals, edges)
            assert index.depths(contig, 0, 45).tolist() == depths
            assert index.depths(contig, 7, 20).tolist() == depths[7:20]
            assert index.depths_at(contig, np.arange(-3, 48)).tolist() == [
                *[0] * 3,
                *depths,
                *[0] * 3,
            ]
            steps = index.steps(contig, 0, 45)
            assert (np.diff(steps.depths) != 0).all()
            assert (np.diff(steps.edges) > 0).all()
            size = index.contig_ends[index.contigs.index(contig)]
            for bases in (1, 4, 100):
                parts = list(index.iter_steps(contig, bases=bases))
                again = [np.repeat(part.depths, np.diff(part.edges)) for part in parts]
                assert np.concatenate([[], *again]).tolist() == depths[:size]
                joined = np.concatenate([[], *(part.depths for part in parts)])
                assert (np.diff(joined) != 0).all()

    check()


def test_the_bases_of_a_contig_alone_are_averaged():
    # One read over each base: the depth is 1 in every bin, wherever bins begin and end.
    reads = Intervals(
        ("c",), *np.array([[0]], np.int32), np.array([0]), np.array([517]),
        contig_lengths=np.array([517]),
    )  # fmt: skip
    for edges in ([-100, 0, 500, 1000], [-50, 50, 450, 517], [0, 10_000], [516, 518, 600]):
        bins = CoverageIndex.of(reads).bins("c", edges)
        is_there = np.array([low < 517 and high > 0 for low, high in pairwise(edges)])
        for values in (bins.means, bins.minima, bins.maxima, bins.counts):
            assert values.tolist() == is_there.astype(int).tolist()


def test_bins_of_contigs_of_known_length_are_those_of_their_bases():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st

    @hypothesis.given(
        interval_strategy(),
        st.integers(1, 40),
        st.lists(st.integers(-5, 50), min_size=2, max_size=9, unique=True).map(sorted),
    )
    def check(intervals, length, edges):
        lengths = np.full(intervals.n_contigs, length)
        known = replace(intervals, contig_lengths=lengths)
        cut = replace(
            known,
            starts=np.minimum(known.starts, length),
            ends=np.minimum(known.ends, length),
        )
        index = CoverageIndex.of(known)
        steps = depth_steps(known, zeros=True)
        for rank, contig in enumerate(index.contigs):
            depths = base_depths(intervals, contig, length)
            check_bins(index, contig, depths, cut, edges)
            on_contig = steps.contig_ids == rank
            again = np.repeat(steps.scores[on_contig], steps.lengths[on_contig])
            assert again.tolist() == depths

    check()


def test_bins_of_many_intervals_use_the_blocks():
    intervals = random_intervals(3, 60_000, span=40_000, longest=300, contigs=CONTIGS[:2])
    index = CoverageIndex.of(intervals)
    depths = base_depths_by_events(intervals, 1, 41_000)
    generator = np.random.default_rng(4)
    for n_edges in (2, 3, 40, 900):
        edges = np.unique(generator.integers(-50, 41_000, n_edges + 3))
        check_bins(index, "chr2", depths, intervals, edges)
    np.testing.assert_array_equal(index.depths("chr2", 0, 41_000), depths)


def base_depths_by_events(intervals, rank, length) -> np.ndarray:
    changes = np.zeros(length + 1, np.int64)
    on_contig = intervals.contig_ids == rank
    np.add.at(changes, intervals.starts[on_contig], 1)
    np.add.at(changes, intervals.ends[on_contig], -1)
    return np.cumsum(changes)[:length]


def test_contigs_beyond_32_bits_have_exact_sums():
    length = 2**33
    intervals = Intervals.from_columns(["a"] * 3, [0, 5, length - 4], [length, 2**32 + 1, length])
    index = CoverageIndex.of(intervals)
    bins = index.bins("a", [0, 2**32 + 1, length])
    assert bins.means.tolist() == [
        (2 * (2**32 + 1) - 5) / (2**32 + 1),
        (2**32 - 1 + 4) / (2**32 - 1),
    ]
    assert (bins.minima.tolist(), bins.maxima.tolist()) == ([1, 1], [2, 2])
    assert index.depths_at("a", [0, 5, length - 1, length]).tolist() == [1, 2, 2, 0]


def test_a_contig_without_intervals_has_no_depth():
    nothing = Intervals(("a", "b"), np.zeros(0, np.int32), *np.zeros((2, 0), np.int64))
    index = CoverageIndex.of(nothing)
    bins = index.bins("b", [0, 10, 20])
    assert (bins.means.tolist(), bins.maxima.tolist(), bins.counts.tolist()) == (
        [0.0, 0.0],
        [0, 0],
        [0, 0],
    )
    assert index.steps("a", 3, 9).depths.tolist() == [0]
    assert list(index.iter_steps("a")) == []


@pytest.mark.parametrize(
    ("contig", "edges", "message"),
    [
        ("chr9", [0, 1], "no contig is named 'chr9'; there are 3: chr1, chr2, chrX"),
        ("chr1", [0, 5, 5], "edge 2 is 5 after 5, needs ascending edges"),
        ("chr1", [0], r"edges are int64 \(1,\), needs at least two integers in a row"),
        ("chr1", [0.5, 1], r"edges are float64 \(2,\), needs at least two integers"),
    ],
)
def test_wrong_bins_are_refused(contig, edges, message):
    index = CoverageIndex.of(random_intervals(1, 30))
    for function in (index.bins, index.bin_means, index.bin_max, index.bin_min, index.bin_counts):
        with pytest.raises(ParameterError, match=message):
            function(contig, edges)


def test_an_empty_region_has_no_steps():
    index = CoverageIndex.of(random_intervals(1, 30))
    with pytest.raises(ParameterError, match="region goes from 7 to 7, needs 0 <= start < end"):
        index.steps("chr1", 7, 7)
