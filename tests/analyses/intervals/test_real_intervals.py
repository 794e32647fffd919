"""Overlaps of real, negative and very large coordinates, against each pair looked at."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from itertools import pairwise, product

import numpy as np
import pytest

from genoviz import CoverageIndex, SignalIndex, write_bed, write_bedgraph, write_bigwig
from genoviz.analyses.intervals.count import count_overlaps, total_overlaps
from genoviz.analyses.intervals.coverage import coverage_fraction
from genoviz.analyses.intervals.depth_steps import depth_steps
from genoviz.analyses.intervals.pairs import iter_overlap_pairs, nearest_intervals
from genoviz.analyses.intervals.split_overlaps import count_split_overlaps
from genoviz.errors import ParameterError
from genoviz.model.intervals.intervals import Intervals
from tests.intervals import random_intervals
from tests.oracles.intervals import overlap_pairs

METHODS = ("auto", "sweep", "merge", "search")
OPTIONS = [
    {"closed": closed, "strand": strand, "zero_length": zero_length}
    for closed, strand, zero_length in product(
        (False, True), (None, "same", "opposite"), ("bedtools", "strict", "interior")
    )
]


def row_counts(queries, subjects, **options) -> list[int]:
    counts = Counter(i for i, _ in overlap_pairs(queries, subjects, **options))
    return [counts[i] for i in range(len(queries))]


def with_coordinates(intervals: Intervals, starts, ends) -> Intervals:
    return Intervals(
        intervals.contigs, intervals.contig_ids, starts, ends, strands=intervals.strands
    )


def random_reals(seed: int, n: int, *, may_be_empty: bool) -> Intervals:
    """Return intervals whose ends are few different reals on either side of 0, so that many tie."""
    generator = np.random.default_rng(seed)
    places = np.sort(generator.normal(0, 10, 25))
    first = generator.integers(0, 24, n)
    last = np.minimum(first + generator.integers(0 if may_be_empty else 1, 6, n), 24)
    return with_coordinates(random_intervals(seed, n), places[first], places[last])


def test_a_real_overlap_is_counted(backend):
    query = Intervals.from_columns(["c"], [10.2], [11.7])
    subject = Intervals.from_columns(["c"], [11.5], [12.0])
    for method in METHODS:
        assert count_overlaps(query, subject, method=method, backend=backend).tolist() == [1]
    touching = Intervals.from_columns(["c"], [11.7], [12.0])
    assert count_overlaps(query, touching, backend=backend).tolist() == [0]
    assert count_overlaps(query, touching, closed=True, backend=backend).tolist() == [1]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_counts_of_reals_are_those_of_all_pairs(backend, options):
    may_be_empty = options["closed"] or options["zero_length"] != "bedtools"
    for seed in range(4):
        queries = random_reals(seed, 40, may_be_empty=may_be_empty)
        subjects = random_reals(seed, 60, may_be_empty=may_be_empty)
        # The oracle compares places; it is given them as multiples of a step, which is exact.
        places, ranks = np.unique(
            [*queries.starts, *queries.ends, *subjects.starts, *subjects.ends], return_inverse=True
        )
        assert len(places) < 200
        a, b, c, d = np.split(ranks.astype(np.int64), [40, 80, 140])
        ordered = with_coordinates(queries, a, b), with_coordinates(subjects, c, d)
        expected = row_counts(*ordered, **options)
        assert sum(expected) > 0
        for method in METHODS:
            counts = count_overlaps(queries, subjects, method=method, backend=backend, **options)
            assert counts.tolist() == expected
        assert total_overlaps(queries, subjects, backend=backend, **options) == sum(expected)
        pairs = [
            pair
            for chunk in iter_overlap_pairs(queries, subjects, **options)
            for pair in zip(chunk.queries.tolist(), chunk.subjects.tolist(), strict=True)
        ]
        assert sorted(pairs) == overlap_pairs(*ordered, **options)


def test_any_two_floats_are_told_apart(backend):
    # Neighbours among the floats, the least of all, and both zeros, which are one number.
    tiny = np.nextafter(0.0, 1.0)
    places = [-1e300, -tiny, -0.0, 0.0, tiny, 1.0, np.nextafter(1.0, 2.0), 2.0**53, 1e300, 1e300]
    queries = Intervals.from_columns(["c"] * 9, places[:-1], places[1:])
    half_open = [a < b for a, b in pairwise(places)]
    assert half_open == [True, True, False, True, True, True, True, True, False]
    expected = [
        sum(a < places[j + 1] and places[j] < b and half_open[i] and half_open[j] for j in range(9))
        for i, (a, b) in enumerate(pairwise(places))
    ]
    for method in METHODS:
        counts = count_overlaps(
            queries, queries, zero_length="strict", method=method, backend=backend
        )
        assert counts.tolist() == expected


def test_reals_of_any_kind_are_counted_as_their_pairs():
    hypothesis = pytest.importorskip("hypothesis")
    from hypothesis import strategies as st

    number = st.floats(allow_nan=False, allow_infinity=False)
    rows = st.lists(st.tuples(st.sampled_from("ab"), number, number), min_size=1, max_size=12)

    def build(found):
        ends = [sorted(row[1:]) for row in found]
        return Intervals.from_columns(
            [row[0] for row in found], [e[0] for e in ends], [e[1] for e in ends]
        )

    @hypothesis.given(rows.map(build), rows.map(build), st.booleans(), st.sampled_from(METHODS))
    def check(queries, subjects, closed, method):
        try:
            counts = count_overlaps(
                queries, subjects, closed=closed, zero_length="strict", method=method,
                backend="cpu",
            )  # fmt: skip
        except ParameterError as error:
            assert "digits than a float64" in str(error)  # noqa: PT017
            return
        for i in range(len(queries)):
            a, b = queries.starts[i].item(), queries.ends[i].item()
            expected = 0
            for j in range(len(subjects)):
                c, d = subjects.starts[j].item(), subjects.ends[j].item()
                meets = (a <= d and c <= b) if closed else (a < d and c < b and a < b and c < d)
                name = subjects.contigs[subjects.contig_ids[j]]
                expected += meets and name == queries.contigs[queries.contig_ids[i]]
            assert counts[i] == expected

    check()


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o.values())))
def test_counts_of_negative_coordinates_are_those_of_all_pairs(backend, options):
    queries, subjects = (random_intervals(seed, 50, first=-30) for seed in (1, 2))
    expected = row_counts(queries, subjects, **options)
    for method in METHODS:
        counts = count_overlaps(queries, subjects, method=method, backend=backend, **options)
        assert counts.tolist() == expected


@pytest.mark.parametrize("first", [2**61, 2**62, 2**63 - 100, -(2**63)])
def test_contigs_too_long_for_one_line_are_counted(backend, first):
    # Three contigs of 2^61 and more do not fit beside each other in 63 bits.
    queries, subjects = (random_intervals(seed, 50, first=first) for seed in (1, 2))
    expected = row_counts(queries, subjects)
    assert sum(expected) > 0
    for method in METHODS:
        counts = count_overlaps(queries, subjects, method=method, backend=backend)
        assert counts.tolist() == expected


def test_at_the_ends_of_64_bits_an_empty_interval_is_widened_as_far_as_there_are_numbers(backend):
    highest, lowest = 2**63 - 1, -(2**63)
    queries = Intervals.from_columns(["c", "c"], [highest, lowest], [highest, lowest])
    subjects = Intervals.from_columns(["c", "c"], [highest - 1, lowest], [highest, lowest + 1])
    assert count_overlaps(queries, subjects, backend=backend).tolist() == [1, 1]


def test_bases_of_contigs_too_long_for_one_line_are_refused():
    intervals = Intervals.from_columns(["a", "b", "c"], [0] * 3, [2**61] * 3)
    for function in (
        CoverageIndex.of,
        depth_steps,
        lambda i: coverage_fraction(i, i, backend="cpu"),
        lambda i: nearest_intervals(i, i),
    ):
        with pytest.raises(ParameterError, match=r"6,917,529,027,641,081,856 bp in all, needs"):
            function(intervals)


def test_sums_of_bases_beyond_63_bits_are_refused():
    intervals = Intervals.from_columns(["a"] * 8, [0] * 8, [2**60] * 8)
    for function in (CoverageIndex.of, lambda i: coverage_fraction(i, i, backend="cpu")):
        with pytest.raises(ParameterError, match="8 intervals have more than 2"):
            function(intervals)


def test_what_measures_bases_refuses_reals(tmp_path):
    real = Intervals.from_columns(["c", "c"], [0, 10.2], [1, 11.7], scores=[1, 2])
    whole = Intervals.from_columns(["c"], [0], [20])
    wanted = r"needs whole coordinates, and the \w+ have real ones, as 10.2 to 11.7 in row 1"
    for function in (
        lambda: CoverageIndex.of(real),
        lambda: SignalIndex.of(real),
        lambda: depth_steps(real),
        lambda: coverage_fraction(real, whole),
        lambda: coverage_fraction(whole, real),
        lambda: nearest_intervals(whole, real),
        lambda: count_split_overlaps(whole, real),
        lambda: write_bed(tmp_path / "x.bed", real),
        lambda: write_bedgraph(tmp_path / "x.bedgraph", real),
        lambda: write_bigwig(tmp_path / "x.bw", real),
    ):
        with pytest.raises(ParameterError, match=wanted):
            function()
    assert not list(tmp_path.iterdir())


def test_an_empty_interval_of_reals_cannot_be_widened(backend):
    point = Intervals.from_columns(["c"], [0.5], [0.5])
    with pytest.raises(ParameterError, match=r"row 0 of the queries is empty at 0.5, and real"):
        count_overlaps(point, point, backend=backend)
    assert count_overlaps(point, point, closed=True, backend=backend).tolist() == [1]
    assert count_overlaps(point, point, zero_length="strict", backend=backend).tolist() == [0]


def test_whole_and_real_columns_come_together(backend):
    whole = Intervals.from_columns(["c", "c"], [0, 11], [10, 12])
    real = Intervals.from_columns(["c"], [9.5], [11.0])
    assert count_overlaps(whole, real, backend=backend).tolist() == [1, 0]
    assert count_overlaps(real, whole, backend=backend).tolist() == [1]
    odd = Intervals.from_columns(["c"], [0], [2**53 + 1])
    with pytest.raises(ParameterError, match=r"ends of the queries have 9,007,199,254,740,993 in"):
        count_overlaps(odd, real, backend=backend)


@pytest.mark.parametrize(
    ("starts", "ends", "words"),
    [
        ([0.5, np.nan], [1, 2], "starts have nan in row 1, needs finite numbers"),
        ([0.5, 1], [1, np.inf], "ends have inf in row 1, needs finite numbers"),
        ([0, 1], [1, float("inf")], "ends have inf in row 1, needs finite numbers"),
        ([0, 1], [1, 2**64], "ends have a number beyond 63 bits"),
        ([0, 1], np.array([1, 2**63], np.uint64), "ends have a number beyond 63 bits"),
        ([0, 1], [1, None], "ends are object, needs numbers"),
        ([0, 1j], [1, 2], "starts are complex128, needs numbers"),
        ([2**53 + 1, 0], [2**60, 0.5], "starts have 9,007,199,254,740,993 in row 0 beside real"),
        ([0, 3.5], [1, 3.25], "interval 1 starts at 3.5 and ends at 3.25, needs an end"),
    ],
)
def test_columns_that_are_no_coordinates_are_refused(starts, ends, words):
    with pytest.raises(ParameterError, match=words):
        Intervals.from_columns(["a", "b"], starts, ends)


def test_arrays_that_are_not_finite_are_refused():
    ids = np.zeros(2, np.int32)
    with pytest.raises(ParameterError, match=r"interval 1 goes from nan to 2\.0, needs"):
        Intervals(("a",), ids, np.array([0, np.nan]), np.array([1.0, 2.0]))


def test_whole_numbers_of_any_kind_are_integers():
    for column in (
        [1, 2],
        [1.0, 2.0],
        ["1", "2"],
        np.array([1, 2], np.uint64),
        np.array([1, 2], np.float32),
        [Decimal(1), Decimal(2)],
        np.array([1, 2], object),
    ):
        found = Intervals.from_columns(["a", "a"], column, [5, 6])
        assert found.starts.dtype == np.int64
        assert found.starts.tolist() == [1, 2]
        assert not found.is_real
    for column in ([1, 2.5], ["1", "2.5"], [Decimal(1), Decimal("2.5")], np.float32([1, 2.5])):
        found = Intervals.from_columns(["a", "a"], column, [5, 6])
        assert found.is_real
        assert found.starts.tolist() == [1.0, 2.5]
        assert found.ends.dtype == np.float64
