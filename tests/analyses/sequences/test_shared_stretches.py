from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.sequences import shared_stretches
from genoviz.analyses.sequences.shared_stretches import iter_shared_stretches
from genoviz.analyses.sequences.stretch_text import spell_stretches
from genoviz.errors import ParameterError
from tests.conftest import real_data
from tests.graphs import make_graph, make_spelled_graph
from tests.oracles.kmer_counts import turn
from tests.oracles.paths import spell_path, walk_path

bases = st.one_of(
    st.text("ACGT", min_size=1, max_size=12),
    st.text("ACN", max_size=4),
    st.sampled_from(["*2", "A" * 15]),
)


@st.composite
def spelled_graphs(draw):
    nodes = draw(st.lists(bases, min_size=1, max_size=5))
    steps = st.integers(1, len(nodes)).flatmap(lambda node: st.sampled_from([node, node, -node]))
    paths = draw(st.lists(st.lists(steps, max_size=12), max_size=4))
    copied = draw(st.lists(st.sampled_from(paths), max_size=3)) if paths else []
    turned = [[-node for node in reversed(path)] for path in copied]
    return make_spelled_graph(nodes, paths + copied + turned)


def stretches_of(graph, max_k):
    *_, (n_done, shared) = iter_shared_stretches(graph, max_k)
    assert n_done == graph.n_steps
    return shared, spell_stretches(graph, shared)


def check_units(graph, max_k):
    """Check that all windows of all paths are read from units, and each place is in one unit."""
    shared, spelled = stretches_of(graph, max_k)
    letters = spelled.sequences.bases.tobytes().decode()
    ends = spelled.sequences.offsets[1:]
    texts = [spell_path(graph, path) for path in range(graph.n_paths)]
    steps = {step.step: step for path in range(graph.n_paths) for step in walk_path(graph, path)}
    seen = [np.zeros(len(text), int) for text in texts]
    for unit in range(shared.n_units):
        start, length = int(spelled.unit_starts[unit]), int(shared.lengths[unit])
        stop = int(ends[np.searchsorted(ends, start, side="right")])
        text = letters[start : min(start + length + max_k - 1, stop)]
        first, last = shared.stand_offsets[unit : unit + 2]
        assert first < last
        for number in shared.stand_steps[first:last].tolist():
            step = steps[number]
            if shared.is_turned[step.path]:
                walk = turn(texts[step.path])
                place = len(walk) - step.position - step.length
                covered = seen[step.path][::-1]
            else:
                walk, place, covered = texts[step.path], step.position, seen[step.path]
            place += int(shared.shifts[unit])
            assert walk[place : place + length + max_k - 1] == text
            covered[place : place + length] += 1
    assert all((counts == 1).all() for counts in seen)
    return shared, spelled


@given(spelled_graphs(), st.integers(1, 20))
def test_each_window_is_read_from_one_unit(graph, max_k):
    check_units(graph, max_k)


@pytest.mark.parametrize("steps_per_slice", [1, 3])
def test_slices_of_steps_are_put_together(monkeypatch, steps_per_slice):
    monkeypatch.setattr(shared_stretches, "STEPS_PER_SLICE", steps_per_slice)
    nodes = ["ACGTTG", "C", "GG", "TACCA"]
    paths = [[1, 2, 4, 1, 3, 4], [], [1, 2, 4, 1, 3, 4], [-4, -3, -1, -4, -2, -1], [2], [1, -2, 4]]
    graph = make_spelled_graph(nodes, paths)
    shared, spelled = check_units(graph, 4)
    assert shared.is_turned.tolist() == [False, False, False, True, False, False]
    reports = list(iter_shared_stretches(graph, 4))
    assert [done for done, _ in reports] == [*range(0, graph.n_steps, steps_per_slice), 22]
    assert spelled.sequences.total_length < sum(graph.path_lengths)


def test_what_paths_share_is_kept_once():
    graph = make_spelled_graph(["ACGTACGTAC", "C", "G", "TTGACATTAG"], [[1, 2, 4], [1, 3, 4]] * 50)
    shared, spelled = stretches_of(graph, 5)
    # Node 1 but its last 4 bases, those and the SNP twice, node 4: 6 + 2 * 5 + 10 and overlaps.
    assert shared.lengths.sum() == 6 + 2 * 5 + 10
    assert spelled.sequences.total_length == 26 + 1 * 4
    assert np.diff(shared.stand_offsets).tolist() == [100, 50, 50, 100, 100, 50, 50]


def test_graph_without_sequences_is_refused():
    graph = make_graph([3, 4], [[1, 2]])
    *_, (_, shared) = iter_shared_stretches(graph, 3)
    with pytest.raises(ParameterError, match="opened without its sequences"):
        spell_stretches(graph, shared)


@pytest.mark.parametrize(
    ("name", "most"), [("chr6.C4", 410_000), ("DRB1-3123", 66_000), ("LPA", 760_000)]
)
def test_real_haplotypes_share_most_of_their_bases(name, most):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    shared, spelled = stretches_of(graph, 256)
    assert spelled.sequences.total_length < most
    n_standing = np.diff(shared.stand_offsets)
    assert (n_standing * shared.lengths).sum() == graph.path_lengths.sum()
