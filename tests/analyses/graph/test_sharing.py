"""Similarity, presence and growth are those of plain sets and of all choices of groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from genoviz import find_presence, pangenome_growth, path_similarity, read_gfa, write_gfa
from genoviz.analyses.figures.paths import make_similarity_figure
from genoviz.analyses.graph.picture.palettes import LIGHT, parse_colour
from genoviz.analyses.graph.query import sharing
from genoviz.analyses.graph.query.path_groups import group_paths
from genoviz.analyses.graph.query.sharing import order_groups, similar_order
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from tests.conftest import real_data
from tests.graphs import make_graph, random_graph
from tests.oracles.sharing import grow, jaccard, visited

NAMES = ("a#1#c", "b#1#c", "a#2#c", "plain", "c#1#c", "b#2#d")


def named_graph(seed):
    return replace(random_graph(seed, n_paths=6, max_steps=25), path_names=NAMES)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("by", ["path", "sample"])
@pytest.mark.parametrize("n_cells", [1, 1 << 20])
def test_similarity_and_presence_are_those_of_sets(monkeypatch, seed, by, n_cells):
    monkeypatch.setattr(sharing, "CELLS_PER_BLOCK", n_cells)
    graph = named_graph(seed)
    presence = find_presence(graph, by)
    sets = visited(graph, by)
    assert presence.groups.names == tuple(sets)
    matrix = np.concatenate([block for _, block in presence.iter_blocks()])
    assert [set(np.flatnonzero(column).tolist()) for column in matrix.T] == list(sets.values())
    found = path_similarity(presence)
    for weights, matrix in (
        ([1] * graph.n_nodes, found.jaccard_nodes),
        (graph.node_lengths.tolist(), found.jaccard_bp),
    ):
        expected = [[jaccard(a, b, weights) for b in sets.values()] for a in sets.values()]
        np.testing.assert_allclose(matrix, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("counted", ["bp", "nodes"])
def test_growth_is_the_mean_over_all_choices_of_groups(seed, counted):
    graph = named_graph(seed)
    weights = graph.node_lengths.tolist() if counted == "bp" else [1] * graph.n_nodes
    found = pangenome_growth(find_presence(graph), counted=counted, n_orders=200, seed=seed)
    union, core = grow(list(visited(graph, "path").values()), weights)
    assert found.expected == pytest.approx(union)
    assert found.core == pytest.approx(core)
    assert (found.low <= found.median).all()
    assert (found.median <= found.high).all()
    assert found.median[-1] == found.low[-1] == pytest.approx(union[-1])
    assert found.low[0] <= union[0] <= found.high[0]


def test_drawn_orders_have_the_expected_mean(monkeypatch):
    presence = find_presence(named_graph(3))
    generator = np.random.default_rng(0)
    curves = [sharing._grow(presence, presence.node_lengths, generator) for _ in range(3000)]
    expected = pangenome_growth(presence, n_orders=0).expected
    assert np.mean(curves, axis=0) == pytest.approx(expected, rel=0.02)


def test_one_seed_gives_one_curve_and_none_is_drawn_unless_asked_for():
    presence = find_presence(named_graph(1))
    first, again = (pangenome_growth(presence, n_orders=9, seed=4).median for _ in range(2))
    assert first.tolist() == again.tolist()
    assert np.isnan(pangenome_growth(presence, n_orders=0).median).all()


def test_paths_without_steps_share_nothing():
    presence = find_presence(make_graph([3, 4], [[], []]))
    assert np.isnan(path_similarity(presence).jaccard_bp).all()
    growth = pangenome_growth(presence)
    assert growth.expected.tolist() == growth.high.tolist() == [0, 0]


def test_bad_values_are_refused():
    with pytest.raises(ParameterError, match="the graph has no paths, needs one at least"):
        find_presence(make_graph([3], []))
    presence = find_presence(named_graph(0))
    with pytest.raises(ParameterError, match="counted is 'edges', needs 'bp' or 'nodes'"):
        pangenome_growth(presence, counted="edges")
    with pytest.raises(ParameterError, match="n_orders is -1"):
        pangenome_growth(presence, n_orders=-1)


def test_a_real_graph():
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"), sequences=False, cache=False)
    presence = find_presence(graph)
    found = path_similarity(presence)
    sets = list(visited(graph, "path").values())
    assert found.jaccard_bp[2, 7] == pytest.approx(
        jaccard(sets[2], sets[7], graph.node_lengths.tolist())
    )
    growth = pangenome_growth(presence, n_orders=20)
    assert growth.expected[-1] == pytest.approx(graph.total_length)
    assert growth.expected[0] == pytest.approx(np.diag(found.shared_bp).mean())
    assert (np.diff(growth.expected) > 0).all()
    assert (np.diff(growth.core) < 0).all()


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    graph = replace(make_graph([10, 5, 1], [[1, 2], [1, 3, 1], [-2]]), path_names=NAMES[:3])
    write_gfa(graph, tmp_path / "graph.gfa")
    return str(tmp_path / "graph.gfa")


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code
    return [line.split("\t") for line in capsys.readouterr().out.splitlines()]


def test_similarity_is_printed(path, capsys):
    assert run(capsys, "similarity", path, "--by", "sample") == [
        ["#a", "b", "shared_nodes", "jaccard_nodes", "shared_bp", "jaccard_bp"],
        ["a", "a", "2", "1", "15", "1"],
        ["a", "b", "1", "0.3333333333", "10", "0.625"],
        ["b", "a", "1", "0.3333333333", "10", "0.625"],
        ["b", "b", "2", "1", "11", "1"],
    ]


def test_presence_is_written(path, capsys, tmp_path):
    assert run(capsys, "presence", path, "-o", str(tmp_path / "table.tsv")) == []
    assert (tmp_path / "table.tsv").read_text() == (
        "#node\tlength\ta#1#c\tb#1#c\ta#2#c\n1\t10\t1\t1\t0\n2\t5\t1\t0\t1\n3\t1\t0\t1\t0\n"
    )


def test_growth_is_printed(path, capsys):
    rows = run(capsys, "growth", path, "--count", "nodes", "--orders", "0")
    assert rows[0] == ["#n_groups", "expected", "core", "median", "low", "high"]
    assert [row[0] for row in rows[1:]] == ["1", "2", "3"]
    assert [float(row[1]) for row in rows[1:]] == pytest.approx([5 / 3, 8 / 3, 3])
    assert [float(row[2]) for row in rows[1:]] == pytest.approx([5 / 3, 2 / 3, 0])
    assert all(row[3:] == [".", ".", "."] for row in rows[1:])


def test_groups_are_put_in_the_order_of_the_file_of_names_or_of_a_tree():
    graph = make_graph([5, 7, 9, 2, 3], [[1, 2, 3], [4, 5], [1, 2, 3, 4], [4, 5, 1]])
    graph = replace(graph, path_names=("x10", "x9", "b", "a"))
    groups = group_paths(graph, "path")
    assert order_groups(graph, groups, "file") is groups
    assert order_groups(graph, groups, "name").names == ("a", "b", "x9", "x10")
    ordered = order_groups(graph, groups, "similarity").names
    assert {ordered[:2], ordered[2:]} in [
        {("x10", "b"), ("a", "x9")},
        {("b", "x10"), ("a", "x9")},
        {("x10", "b"), ("x9", "a")},
        {("b", "x10"), ("x9", "a")},
    ]
    with pytest.raises(ParameterError, match="ordered by 'size', needs file, name or similarity"):
        order_groups(graph, groups, "size")


@pytest.mark.parametrize("seed", range(4))
def test_similar_groups_are_the_leaves_of_the_tree_of_scipy(seed):
    graph = random_graph(seed, n_paths=12, max_steps=25)
    found = path_similarity(find_presence(graph))
    distances = 1 - np.nan_to_num(found.jaccard_bp)
    np.fill_diagonal(distances, 0)
    order = similar_order(found)
    assert sorted(order.tolist()) == list(range(12))
    tree = linkage(squareform(distances, checks=False), "average")
    heights = squareform(cophenet(tree))
    # Whoever is joined below a height stands in one run of the order.
    for height in tree[:, 2].tolist():
        runs = heights[np.ix_(order, order)] <= height + 1e-12
        for row in runs:
            assert np.count_nonzero(np.diff(np.flatnonzero(row)) > 1) == 0


def test_a_figure_of_similarity_has_the_colours_of_its_values():
    values = np.array([[1.0, 0.5], [0.5, np.nan]])
    figure = make_similarity_figure(["a", "b"], values)
    low, high = (list(parse_colour(LIGHT.ramps["density"][k])) for k in (0, -1))
    ground = list(parse_colour(LIGHT.ground))
    assert figure.pixels.colours.tolist() == [[high, low], [low, ground]]
    assert {"a", "b"} <= {part.text for part in figure.parts if hasattr(part, "text")}
    with pytest.raises(ParameterError, match="3 names need a matrix of as many rows"):
        make_similarity_figure(["a", "b", "c"], values)
