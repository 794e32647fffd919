from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import Intervals, ParameterError
from genoviz.analyses.intervals.depth_steps import depth_steps
from genoviz.analyses.intervals.signal_index import SignalIndex
from genoviz.io.intervals.intervals import read_intervals
from tests.conftest import real_data
from tests.intervals import interval_strategy


def random_signal(seed, n):
    """Return stretches with gaps on two contigs, in random order."""
    generator = np.random.default_rng(seed)
    gaps = generator.integers(0, 4, 2 * n)
    places = np.cumsum(gaps)
    contigs = generator.integers(0, 2, n).astype(np.int32)
    signal = Intervals(
        ("a", "b"),
        contigs,
        places[::2],
        places[1::2],
        scores=np.where(generator.random(n) < 0.1, np.nan, generator.normal(size=n).round(3)),
    )
    return signal.select(generator.permutation(n))


def values_by_hand(signal, contig, size):
    values = np.full(size, np.nan)
    for row in np.flatnonzero(signal.contig_ids == signal.find_contig(contig)):
        values[signal.starts[row] : signal.ends[row]] = signal.scores[row]
    return values


@given(
    seed=st.integers(0, 50),
    n=st.sampled_from([0, 1, 5, 64, 65, 700]),
    edges=st.lists(st.integers(-5, 2200), min_size=2, max_size=9, unique=True).map(sorted),
)
def test_bins_are_those_of_the_bases(seed, n, edges):
    signal = random_signal(seed, n)
    values = values_by_hand(signal, "a", 2300)
    found = SignalIndex.of(signal).bins("a", np.array(edges))
    for k, (low, high) in enumerate(pairwise(edges)):
        inside = values[max(low, 0) : max(high, 0)]
        inside = inside[~np.isnan(inside)]
        assert found.covered_bases[k] == len(inside)
        wanted = (inside.mean(), inside.min(), inside.max()) if len(inside) else [np.nan] * 3
        got = (found.means[k], found.minima[k], found.maxima[k])
        np.testing.assert_allclose(got, wanted, atol=1e-12)
    places = np.arange(0, 2300, 7)
    np.testing.assert_array_equal(SignalIndex.of(signal).values_at("a", places), values[places])


def test_means_of_regions_stand_alone():
    scores = [1e20, 0.1, np.inf, np.nan, 0.2, -np.inf] + [0.3] * 200
    n = len(scores)
    starts = np.arange(n) * 10
    steps = Intervals(("c",), np.zeros(n, np.int32), starts, starts + 10, scores=np.array(scores))
    lows = np.array([10, 0, 15, 40, 42, 25, 60, 400, 30, 5000, -20])
    highs = np.array([20, 20, 22, 50, 48, 45, 2000, 500, 40, 5001, 0])
    found = SignalIndex.of(steps).means("c", lows, highs)
    wanted = [0.1, 5e19, np.inf, 0.2, 0.2, np.inf, 0.3, 0.3, np.nan, np.nan, np.nan]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_bins_of_a_real_signal():
    path = real_data("intervals/chr9_4-6Mb/bigwig_chr9_4000000_6000000_K562_H3K4me3.bigwig")
    signal = read_intervals(path)
    index = SignalIndex.of(signal)
    found = index.bins("chr9", np.linspace(4_000_000, 6_000_000, 11).astype(np.int64))
    values = values_by_hand(signal, "chr9", 6_000_000)[4_000_000:].reshape(10, -1)
    np.testing.assert_allclose(found.means, np.nanmean(values, axis=1))
    np.testing.assert_array_equal(found.maxima, np.nanmax(values, axis=1))
    np.testing.assert_array_equal(found.minima, np.nanmin(values, axis=1))
    steps = index.steps_of("chr9", 5_000_000, 5_000_500)
    wanted = signal.within("chr9", 5_000_000, 5_000_500)
    assert steps.starts.tolist() == wanted.starts[wanted.ends > 5_000_000].tolist()


def test_what_is_no_signal_is_refused():
    with pytest.raises(ParameterError, match="needs intervals with scores"):
        SignalIndex.of(Intervals.from_columns(["a"], [0], [1]))
    with pytest.raises(ParameterError, match=r"two stretches overlap at a:1"):
        SignalIndex.of(Intervals.from_columns(["a", "a"], [1, 0], [3, 2], scores=[1, 2]))
    index = SignalIndex.of(Intervals.from_columns(["a"], [0], [1], scores=[1]))
    with pytest.raises(ParameterError, match="no contig is named 'b'"):
        index.bins("b", [0, 1])
    for edges in ([0], [1, 1], [0.0, 1.0]):
        with pytest.raises(ParameterError, match="needs at least two ascending integers"):
            index.bins("a", edges)


@given(interval_strategy(), st.booleans())
def test_depth_steps_are_the_depth_of_each_base(intervals, zeros):
    lengths = np.full(intervals.n_contigs, 50)
    intervals = Intervals(
        intervals.contigs,
        intervals.contig_ids,
        intervals.starts,
        intervals.ends,
        contig_lengths=lengths,
    )
    depth = np.zeros((intervals.n_contigs, 50), np.int64)
    for contig, start, end in zip(
        intervals.contig_ids, intervals.starts, intervals.ends, strict=True
    ):
        depth[contig, start:end] += 1
    found = depth_steps(intervals, zeros=zeros)
    painted = np.full(depth.shape, 0 if not zeros else -1, np.int64)
    for contig, start, end, value in zip(
        found.contig_ids, found.starts, found.ends, found.scores, strict=True
    ):
        painted[contig, start:end] = value
    np.testing.assert_array_equal(painted, depth)
    touching = (found.contig_ids[1:] == found.contig_ids[:-1]) & (
        found.starts[1:] == found.ends[:-1]
    )
    assert (found.scores[1:][touching] != found.scores[:-1][touching]).all()
    order = np.lexsort((found.starts, found.contig_ids))
    assert order.tolist() == list(range(len(found)))
    assert zeros or (found.scores > 0).all()


def test_depth_zero_needs_lengths_and_ends_with_the_contig():
    intervals = Intervals.from_columns(["a"], [0], [9])
    with pytest.raises(ParameterError, match="need the lengths of the contigs"):
        depth_steps(intervals, zeros=True)
    short = Intervals(
        ("a",), intervals.contig_ids, intervals.starts, intervals.ends, contig_lengths=np.array([5])
    )
    steps = depth_steps(short, zeros=True)
    assert (steps.starts.tolist(), steps.ends.tolist(), steps.scores.tolist()) == ([0], [5], [1])
