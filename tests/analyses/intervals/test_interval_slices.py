"""What takes long is done in slices: with progress, and the same results wherever these end."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.analyses.intervals import depth_steps as steps_module
from genoviz.analyses.intervals.count import count_overlaps, iter_count_overlaps
from genoviz.analyses.intervals.coverage import coverage_fraction, iter_coverage_fraction
from genoviz.analyses.intervals.depth_steps import depth_steps, iter_depth_steps
from genoviz.kernels.interval_count import METHODS, cpu, cpu_sorted
from genoviz.model import Intervals


def make_intervals(n, seed, span=4000):
    rng = np.random.default_rng(seed)
    starts = rng.integers(0, span, n)
    return Intervals(
        ("a", "b", "none"),
        rng.integers(0, 2, n).astype(np.int32),
        starts,
        starts + rng.integers(0, 60, n),
    )


@pytest.fixture
def small_slices(monkeypatch):
    """Slices of a few items, and arrays sorted in many ranges."""
    monkeypatch.setattr(cpu, "SLICE", 7)
    monkeypatch.setattr(cpu, "COVER_SLICE", 5)
    monkeypatch.setattr(cpu_sorted, "MIN_PARALLEL", 1)
    monkeypatch.setattr(cpu_sorted, "get_num_threads", lambda: 5)


def follow(reports):
    """Return what is found, after a look at the reports."""
    shares = []
    for report in reports:
        assert 0 <= report.n_done <= report.n_total
        shares.append(report.n_done / max(report.n_total, 1))
    assert shares == sorted(shares)
    assert report.found is not None
    return report.found, shares


@pytest.mark.parametrize("method", ["auto", *METHODS])
@pytest.mark.parametrize("span", [4000, 100_000_000])
def test_slices_count_the_same(method, span, small_slices):
    queries, subjects = make_intervals(200, 1, span), make_intervals(300, 2, span)
    found, shares = follow(iter_count_overlaps(queries, subjects, method=method, backend="cpu"))
    is_there = queries.contig_ids[:, None] == subjects.contig_ids
    starts, ends = ((i.starts - (i.lengths == 0), i.ends + (i.lengths == 0)) for i in
                    (queries, subjects))  # fmt: skip
    overlaps = (starts[0][:, None] < ends[1]) & (ends[0] < starts[1][:, None])
    assert found.tolist() == (is_there & overlaps).sum(axis=1).tolist()
    assert method == "sweep" or len(set(shares)) > 20


def test_slices_measure_the_same(small_slices, monkeypatch):
    queries, subjects = make_intervals(200, 3), make_intervals(300, 4)
    found, shares = follow(iter_coverage_fraction(queries, subjects, backend="cpu"))
    monkeypatch.undo()
    whole = coverage_fraction(queries, subjects, backend="cpu")
    for name in ("counts", "covered_bases", "lengths", "summed_bases"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()
    assert len(set(shares)) > 40


@pytest.mark.parametrize("size", [1, 2, 13])
@pytest.mark.parametrize("span", [5, 400, 100_000])
def test_slices_find_the_same_steps(size, span, monkeypatch):
    intervals = make_intervals(150, span, span)
    whole = depth_steps(intervals)

    def iter_slices(run, n_items, **_options):
        for first in range(0, n_items, size):
            stop = min(first + size, n_items)
            yield stop, run(first, stop)

    monkeypatch.setattr(steps_module, "iter_slices", iter_slices)
    found, shares = follow(iter_depth_steps(intervals))
    for name in ("contig_ids", "starts", "ends", "scores"):
        assert getattr(found, name).tolist() == getattr(whole, name).tolist()
    depth = np.zeros((2, span + 61), int)
    for contig, start, end in zip(
        intervals.contig_ids, intervals.starts, intervals.ends, strict=True
    ):
        depth[contig, start:end] += 1
    for contig, start, end, value in zip(
        found.contig_ids, found.starts, found.ends, found.scores, strict=True
    ):
        assert (depth[contig, start:end] == value).all()
        depth[contig, start:end] = 0
    assert not depth.any()
    assert len(set(shares)) > 100 // size


@pytest.mark.parametrize("n", [0, 1])
def test_no_interval_and_one_are_found_too(n, backend):
    few, many = make_intervals(n, 5), make_intervals(40, 6)
    for pair in ((few, many), (many, few), (few, few)):
        found, _ = follow(iter_count_overlaps(*pair, backend=backend))
        assert found.tolist() == count_overlaps(*pair, backend="cpu").tolist()
        covered, _ = follow(iter_coverage_fraction(*pair, backend=backend))
        assert len(covered.summed_bases) == len(pair[0])
    steps, _ = follow(iter_depth_steps(few))
    assert int(steps.lengths.sum()) == int(few.lengths.sum())
