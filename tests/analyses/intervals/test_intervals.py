"""Counts, pairs and neighbours of intervals, against each pair looked at, and against bedtools."""

from __future__ import annotations

import gzip
import shutil
import subprocess
from collections import Counter
from itertools import product

import numpy as np
import pytest

from genoviz.analyses.intervals.count import count_overlaps, total_overlaps
from genoviz.analyses.intervals.coverage import coverage_fraction
from genoviz.analyses.intervals.pairs import iter_overlap_pairs, nearest_intervals
from genoviz.errors import ParameterError
from genoviz.model.intervals.intervals import Intervals
from tests.conftest import real_data
from tests.intervals import interval_strategy, random_intervals
from tests.oracles.intervals import nearest_distances, overlap_pairs

OPTIONS = [
    {"closed": closed, "strand": strand, "zero_length": zero_length}
    for closed, strand, zero_length in product(
        (False, True), (None, "same", "opposite"), ("bedtools", "strict", "interior")
    )
]


def expected_counts(queries, subjects, **options) -> list[int]:
    counts = Counter(i for i, _ in overlap_pairs(queries, subjects, **options))
    return [counts[i] for i in range(len(queries))]


def interval(start, end, contig="chr1") -> Intervals:
    return Intervals.from_columns([contig], [start], [end])


def test_ends_are_open_unless_said_otherwise(backend):
    before, after = interval(5, 10), interval(10, 12)
    for closed, n in (({}, 0), ({"closed": True}, 1)):
        assert count_overlaps(before, after, backend=backend, **closed).tolist() == [n]
        assert total_overlaps(before, after, backend=backend, **closed) == n
        assert sum(len(p.queries) for p in iter_overlap_pairs(before, after, **closed)) == n
        assert nearest_intervals(before, after, **closed).distances.tolist() == [1 - n]
        coverage = coverage_fraction(before, after, backend=backend, **closed)
        assert (coverage.counts.tolist(), coverage.lengths.tolist()) == ([n], [5 + n])


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_counts_are_those_of_all_pairs(backend, options):
    for seed in range(6):
        queries = random_intervals(seed, 40, contigs=("chr2", "chrX", "chr9"))
        subjects = random_intervals(seed + 50, 60)
        expected = expected_counts(queries, subjects, **options)
        for method in ("auto", "sweep", "merge", "search"):
            counts = count_overlaps(queries, subjects, method=method, backend=backend, **options)
            assert counts.tolist() == expected
        assert total_overlaps(queries, subjects, backend=backend, **options) == sum(expected)


def test_counts_and_pairs_of_any_intervals_are_those_of_all_pairs():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st

    @hypothesis.given(
        interval_strategy(),
        interval_strategy(),
        st.sampled_from(OPTIONS),
        st.sampled_from(["auto", "sweep", "merge", "search"]),
        st.integers(1, 30),
    )
    def check(queries, subjects, options, method, pairs_per_chunk):
        expected = overlap_pairs(queries, subjects, **options)
        counts = count_overlaps(queries, subjects, method=method, backend="cpu", **options)
        per_query = Counter(i for i, _ in expected)
        assert counts.tolist() == [per_query[i] for i in range(len(queries))]
        chunks = list(
            iter_overlap_pairs(queries, subjects, pairs_per_chunk=pairs_per_chunk, **options)
        )
        found = [
            pair
            for chunk in chunks
            for pair in zip(chunk.queries.tolist(), chunk.subjects.tolist(), strict=True)
        ]
        assert sorted(found) == expected
        starts = subjects.starts[[j for _, j in found]]
        assert sorted(range(len(found)), key=lambda k: (found[k][0], starts[k])) == [
            *range(len(found))
        ]
        for chunk in chunks:
            assert len(chunk.queries) <= max(pairs_per_chunk, per_query[chunk.queries[0]])
            assert chunk.n_queries_done > chunk.queries[-1]

    check()


def test_nearest_is_as_far_as_the_nearest_of_all():
    hypothesis = pytest.importorskip("hypothesis")

    @hypothesis.given(interval_strategy(max_position=60), interval_strategy(max_size=9))
    def check(queries, subjects):
        nearest = nearest_intervals(queries, subjects)
        expected = nearest_distances(queries, subjects)
        assert nearest.distances.tolist() == expected
        for i, (row, distance) in enumerate(zip(nearest.subjects, expected, strict=True)):
            assert (row == -1) == (distance == -1)
            if row >= 0:
                one_query, one_subject = queries.select([i]), subjects.select([row])
                assert nearest_distances(one_query, one_subject) == [distance]

    check()


def test_of_two_neighbours_as_far_away_the_one_before_is_nearest():
    subjects = Intervals.from_columns(["chr1"] * 3, [30, 0, 31], [40, 10, 41])
    nearest = nearest_intervals(interval(15, 25), subjects)
    assert (nearest.subjects.tolist(), nearest.distances.tolist()) == ([1], [6])
    nearest = nearest_intervals(interval(15, 26), subjects)
    assert (nearest.subjects.tolist(), nearest.distances.tolist()) == ([0], [5])


def test_an_insertion_comes_in_its_own_place_among_those_that_begin_a_base_before():
    # Widened to [8, 10), the first insertion begins where the second interval does.
    subjects = Intervals.from_columns(["chr1"] * 4, [9, 8, 10, 9], [9, 9, 10, 12])
    query = interval(8, 12)
    pairs = next(iter_overlap_pairs(query, subjects))
    assert pairs.subjects.tolist() == [1, 0, 3, 2]
    assert nearest_intervals(query, subjects).subjects.tolist() == [1]


def test_neighbours_of_another_contig_are_none():
    subjects = Intervals.from_columns(["chr1", "chr3"], [5, 5], [9, 9])
    nearest = nearest_intervals(interval(5, 9, "chr2"), subjects)
    assert (nearest.subjects.tolist(), nearest.distances.tolist()) == ([-1], [-1])


def test_zero_length_intervals_by_policy():
    # Worked out by hand: an insertion at 20 touches the end of [10, 20).
    query, insertion = interval(10, 20), interval(20, 20)
    counts = {
        policy: (
            count_overlaps(query, insertion, zero_length=policy, backend="cpu").tolist(),
            count_overlaps(insertion, insertion, zero_length=policy, backend="cpu").tolist(),
            count_overlaps(interval(15, 15), query, zero_length=policy, backend="cpu").tolist(),
        )
        for policy in ("bedtools", "strict", "interior")
    }
    assert counts == {
        "bedtools": ([1], [1], [1]),
        "strict": ([0], [0], [0]),
        "interior": ([0], [0], [1]),
    }


def test_an_insertion_before_the_first_base_is_counted(backend):
    counts = count_overlaps(interval(0, 0), interval(0, 1), backend=backend)
    assert counts.tolist() == [1]


@pytest.mark.parametrize("first", [2**29, 2**32, 2**40])
def test_chromosomes_of_any_length(backend, first):
    queries = random_intervals(1, 50, first=first)
    subjects = random_intervals(2, 50, first=first)
    expected = expected_counts(queries, subjects)
    for method in ("auto", "sweep", "merge", "search"):
        counts = count_overlaps(queries, subjects, method=method, backend=backend)
        assert counts.tolist() == expected


def test_coordinates_that_cannot_be_packed_are_searched(backend):
    queries, subjects = (random_intervals(seed, 50, first=2**57) for seed in (1, 2))
    counts = count_overlaps(queries, subjects, backend=backend)
    assert counts.tolist() == expected_counts(queries, subjects)
    with pytest.raises(ParameterError, match=r"method 'sweep' needs 67 bits .* and has 63"):
        count_overlaps(queries, subjects, method="sweep", backend=backend)


def test_contigs_are_matched_by_name_whatever_their_order(backend):
    queries = Intervals.from_columns(["b", "a"], [0, 0], [10, 10])
    subjects = Intervals.from_columns(["a", "c", "a", "b"], [0, 0, 5, 9], [5, 10, 15, 20])
    assert count_overlaps(queries, subjects, backend=backend).tolist() == [1, 2]


def test_wrong_intervals_are_named():
    good = random_intervals(1, 9)
    starts, ends = np.array([0, 7, 3, -2], np.int64), np.array([5, 9, 4, 8], np.int64)
    bad = Intervals(("chr1",), np.zeros(4, np.int32), starts, ends)
    ends[2] = 1
    message = r"row 2 of the subjects goes from 3 to 1, needs start <= end; 1 row is wrong"
    with pytest.raises(ParameterError, match=message):
        count_overlaps(good, bad)
    message = r"row 2 of the queries goes from 3 to 1, needs 0 <= start <= end; 2 rows are wrong"
    with pytest.raises(ParameterError, match=message):
        nearest_intervals(bad, good)


def test_unknown_options_are_refused():
    intervals = interval(0, 5)
    for options, message in [
        ({"method": "tree"}, "method is 'tree', needs one of auto, sweep, merge, search"),
        ({"strand": "+"}, r"strand is '\+', needs one of None, same, opposite"),
        ({"zero_length": "wide"}, "zero_length is 'wide', needs one of bedtools, strict, interior"),
        ({"strand": "same"}, "the queries have no strands, needs them for strand 'same'"),
    ]:
        with pytest.raises(ParameterError, match=message):
            count_overlaps(intervals, intervals, **options)
    with pytest.raises(ParameterError, match="pairs_per_chunk is 0, needs at least 1"):
        iter_overlap_pairs(intervals, intervals, pairs_per_chunk=0)


# Real files, against bedtools ---------------------------------------------------------------------

PAIRS_OF_FILES = [
    ("dbsnp_chr21_22", "exons_hg19"),
    ("exons_hg19", "dbsnp_chr21_22"),
    ("exons_hg19", "fBrain-DS14718_hg19"),
    ("refseq.chr1.exons", "simpleRepeats.chr1"),
    ("contigs50k", "contigs50k"),
    ("CTCF_SE_CTRL_chr22_50k", "CTCF_SE_ChIP_chr22_50k"),
]


def read_bed(path) -> Intervals:
    """Read columns 1-3 and 6 without the readers that are tested elsewhere."""
    rows = [line.split(b"\t") for line in gzip.decompress(path.read_bytes()).splitlines()]
    return Intervals.from_columns(
        [row[0].decode() for row in rows],
        np.array([int(row[1]) for row in rows]),
        np.array([int(row[2]) for row in rows]),
        strands=[row[5].decode().strip() if len(row) > 5 else "." for row in rows],
    )


def bedtools(*arguments) -> str:
    if shutil.which("bedtools") is None:
        pytest.skip("bedtools is not installed")
    return subprocess.run(
        ["bedtools", *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout


def last_column(text: str) -> list[int]:
    return [int(line.rpartition("\t")[2]) for line in text.splitlines()]


@pytest.mark.parametrize(("query_file", "subject_file"), PAIRS_OF_FILES)
def test_counts_of_real_files_are_those_of_bedtools(backend, query_file, subject_file):
    paths = [real_data(f"intervals/{name}.bed.gz") for name in (query_file, subject_file)]
    expected = last_column(bedtools("intersect", "-c", "-a", paths[0], "-b", paths[1]))
    counts = count_overlaps(*map(read_bed, paths), backend=backend)
    assert counts.tolist() == expected
    assert any(expected)


@pytest.mark.parametrize(("flag", "strand"), [("-s", "same"), ("-S", "opposite")])
def test_counts_by_strand_are_those_of_bedtools(flag, strand):
    paths = [real_data(f"intervals/CTCF_SE_{name}_chr22_50k.bed.gz") for name in ("CTRL", "ChIP")]
    expected = last_column(bedtools("intersect", "-c", flag, "-a", paths[0], "-b", paths[1]))
    counts = count_overlaps(*map(read_bed, paths), strand=strand, backend="cpu")
    assert counts.tolist() == expected


def test_counts_of_every_corner_are_those_of_bedtools(tmp_path):
    # Every pair of intervals within six bases, empty ones included, on all strands.
    rows = [(start, end) for start in range(1, 7) for end in range(start, 7)]
    rows = [(*row, strand) for row in rows for strand in "+-."]
    bed = tmp_path / "corners.bed"
    bed.write_text("".join(f"chr1\t{a}\t{b}\tx\t0\t{strand}\n" for a, b, strand in rows))
    intervals = Intervals.from_columns(
        ["chr1"] * len(rows),
        [row[0] for row in rows],
        [row[1] for row in rows],
        strands=[row[2] for row in rows],
    )
    for flags, strand in [((), None), (("-s",), "same"), (("-S",), "opposite")]:
        expected = last_column(bedtools("intersect", "-c", *flags, "-a", bed, "-b", bed))
        counts = count_overlaps(intervals, intervals, strand=strand, backend="cpu")
        assert counts.tolist() == expected


def test_nearest_of_real_files_is_as_far_as_that_of_bedtools(tmp_path):
    names = ("refseq.chr1.exons", "simpleRepeats.chr1")
    paths = [tmp_path / f"{name}.bed.gz" for name in names]
    for path in paths:
        text = bedtools("sort", "-i", real_data(f"intervals/{path.name}"))
        path.write_bytes(gzip.compress(text.encode()))
    text = bedtools("closest", "-d", "-t", "first", "-a", paths[0], "-b", paths[1])
    nearest = nearest_intervals(*map(read_bed, paths))
    assert nearest.distances.tolist() == last_column(text)
