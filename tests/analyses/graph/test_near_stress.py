"""Where a layout is bad: stress by step, node and path, and torn joints, against plain versions."""

from __future__ import annotations

import json
from itertools import chain, pairwise

import numpy as np
import pytest

from genoviz import ColourChoice, make_colouring, near_stress, path_stress, write_gfa, write_layout
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from genoviz.model import GraphLayout
from tests.graphs import make_graph, random_graph
from tests.oracles.path_layout import point_of, steps_with_positions


def terms_of_steps(graph, coordinates, reach):
    """Return the terms of each step, path by path: with itself alone, or with those behind it."""
    found = []
    for path in range(graph.n_paths):
        steps = steps_with_positions(graph, path)
        for i, s in enumerate(steps):
            pairs = [
                (s, t, a, b) for t in steps[i + 1 : i + 1 + reach] for a in (0, 1) for b in (0, 1)
            ]
            if len(steps) == 1:
                pairs = [(s, s, 0, 1)]
            terms = []
            for s, t, a, b in pairs:
                (node, end), x = point_of(s, bool(a), graph)
                (other, other_end), y = point_of(t, bool(b), graph)
                if x != y:
                    far = np.linalg.norm(coordinates[node, end] - coordinates[other, other_end])
                    terms.append(((far - abs(x - y)) / abs(x - y)) ** 2)
            found.append(terms)
    return found


def mean(terms):
    return np.mean(terms) if terms else np.nan


def test_nodes_are_coloured_by_the_logarithm_of_their_stress():
    graph = random_graph(1)
    ends = np.random.default_rng(1).normal(0, 60, (graph.n_nodes, 2, 2))
    colouring = make_colouring(graph, ColourChoice("stress"), layout=GraphLayout(ends))
    by_node = [[] for _ in range(graph.n_nodes)]
    for handle, terms in zip(graph.steps.tolist(), terms_of_steps(graph, ends, 8), strict=True):
        by_node[handle >> 1] += terms
    expected = [min(max(np.log10(mean(terms)), -4), 1) for terms in by_node]
    assert colouring.node_values == pytest.approx(expected, nan_ok=True, abs=1e-6)
    assert min(expected) < 0 < 1 == max(expected), "some beyond the end of the ramp"
    with pytest.raises(ParameterError, match="by stress needs a layout, and there is none"):
        make_colouring(graph, ColourChoice("stress"))


def test_the_legend_says_of_which_nodes_there_is_no_stress():
    graph = make_graph([10] * 4, [[1, 2, 3]])  # the third node is the last, the fourth on no path
    ends = np.random.default_rng(1).normal(0, 60, (4, 2, 2))
    colouring = make_colouring(graph, ColourChoice("stress"), layout=GraphLayout(ends))
    assert np.isnan(colouring.node_values).tolist() == [False, False, True, True]
    assert colouring.missing == "on no path, or at the end of one"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("reach", [1, 3, 100])
def test_stress_of_steps_nodes_and_paths_is_that_of_a_plain_version(backend, seed, reach):
    graph = random_graph(seed)
    layout = GraphLayout(np.random.default_rng(seed).normal(0, 60, (graph.n_nodes, 2, 2)))
    found = near_stress(graph, layout, reach=reach, backend=backend)
    terms = terms_of_steps(graph, layout.coordinates, reach)
    assert found.steps == pytest.approx([mean(each) for each in terms], nan_ok=True)
    by_node = [[] for _ in range(graph.n_nodes)]
    for handle, each in zip(graph.steps.tolist(), terms, strict=True):
        by_node[handle >> 1] += each
    assert found.nodes == pytest.approx([mean(each) for each in by_node], nan_ok=True)
    bounds = graph.path_offsets.tolist()
    by_path = [list(chain(*terms[a:b])) for a, b in pairwise(bounds)]
    assert found.paths == pytest.approx([mean(each) for each in by_path], nan_ok=True)
    if reach == 100:
        exact = path_stress(graph, layout, backend="cpu").mean
        assert np.mean([term for each in terms for term in each]) == pytest.approx(exact)


def torn_graph():
    """Ten nodes of 10 bp in a line of two paths, with the last four carried off by 500 bp."""
    graph = make_graph([10] * 10, [list(range(1, 11)), [-3, -2, -1], [5]])
    coordinates = np.zeros((10, 2, 2))
    coordinates[:, 0, 0] = np.arange(10) * 10
    coordinates[:, 1, 0] = np.arange(10) * 10 + 10
    coordinates[6:, :, 1] += 500
    return graph, GraphLayout(coordinates)


def test_a_torn_joint_is_found_and_its_node_is_the_worst(backend):
    graph, layout = torn_graph()
    found = near_stress(graph, layout, backend=backend)
    assert (found.n_torn, found.n_joints) == (1, 11)
    assert np.flatnonzero(found.is_torn).tolist() == [5]
    assert found.gaps[[4, 5, 10]] == pytest.approx([0, 500, 0])
    assert np.isnan(found.gaps[[9, 12, 13]]).all()
    assert found.find_worst(graph, 3)[0] == 5
    assert found.paths[1:] == pytest.approx([0, 0])


def test_a_graph_without_paths_has_no_stress(backend):
    graph = make_graph([3, 4], [])
    found = near_stress(graph, GraphLayout(np.zeros((2, 2, 2))), backend=backend)
    assert np.isnan(found.nodes).all()
    assert (len(found.steps), len(found.paths), found.n_torn, found.n_joints) == (0, 0, 0, 0)
    assert len(found.find_worst(graph, 5)) == 0


def test_bad_options_are_refused():
    graph, layout = torn_graph()
    with pytest.raises(ParameterError, match="reach is 0, needs at least 1 step"):
        near_stress(graph, layout, reach=0)
    with pytest.raises(ParameterError, match="the layout has 1 node and the graph 10"):
        near_stress(graph, GraphLayout(np.zeros((1, 2, 2))))


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    graph, layout = torn_graph()
    write_gfa(graph, tmp_path / "graph.gfa")
    write_layout(layout, tmp_path / "graph.lay")
    return [str(tmp_path / "graph.gfa"), str(tmp_path / "graph.lay")]


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code
    return capsys.readouterr()


def test_the_worst_nodes_and_the_paths_are_printed(files, capsys):
    printed = run(capsys, "stress", *files, "--worst", "2", "--backend", "cpu")
    header, first, second = [line.split("\t") for line in printed.out.splitlines()]
    assert header == ["#node", "path", "position", "stress", "gap_bp", "torn"]
    assert (*first[:3], *first[4:]) == ("6", "path0", "50", "500", "1")
    assert float(first[3]) > float(second[3]) > 0
    assert "1 of 11 joints are torn" in printed.err
    printed = run(capsys, "stress", *files, "--by-path", "--json", "--backend", "cpu")
    rows = json.loads(printed.out)["rows"]
    assert [(row["path"], row["n_steps"], row["n_torn"]) for row in rows] == [
        ("path0", 10, 1),
        ("path1", 3, 0),
        ("path2", 1, 0),
    ]
