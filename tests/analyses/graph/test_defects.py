"""Torn joints, folds and crossings of layouts, against plain versions."""

from __future__ import annotations

import json

import numpy as np
import pytest

from genoviz import count_defects, near_stress, write_gfa, write_layout
from genoviz.analyses.graph.layout import defects
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from genoviz.model import GraphLayout
from tests.graphs import make_graph, random_graph
from tests.oracles.path_layout import crossings, folds_and_turns


@pytest.mark.parametrize("chord_bp", [1, 40, 100])
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_those_of_plain_versions(seed, chord_bp):
    generator = np.random.default_rng(seed)
    graph = random_graph(seed)
    edges = generator.integers(0, 2 * graph.n_nodes, (60, 2))
    graph = make_graph(
        graph.node_lengths, [signed(graph, path) for path in range(graph.n_paths)], edges
    )
    # Wider than high in some, higher than wide in others.
    scale = [300, 60] if seed % 2 else [60, 300]
    ends = generator.normal(0, 1, (graph.n_nodes, 2, 2)) * scale
    layout = GraphLayout(ends)
    found = count_defects(graph, layout, chord_bp=chord_bp)
    assert (found.n_folds, found.n_turns) == folds_and_turns(graph, ends, chord_bp)
    assert found.n_crossings == crossings(graph, ends) > 20
    near = near_stress(graph, layout, backend="cpu")
    assert (found.n_torn, found.n_joints) == (near.n_torn, near.n_joints)


def signed(graph, path):
    return [(h // 2 + 1) * (-1 if h % 2 else 1) for h in graph.path_steps(path).tolist()]


def test_a_straight_line_has_no_defects_and_a_hairpin_one_fold():
    graph = make_graph([100] * 6, [[1, 2, 3, 4, 5, 6]])
    x = np.arange(7) * 100.0
    straight = np.zeros((6, 2, 2))
    straight[:, 0, 0], straight[:, 1, 0] = x[:-1], x[1:]
    found = count_defects(graph, GraphLayout(straight))
    assert (found.n_torn, found.n_folds, found.n_turns, found.n_crossings) == (0, 0, 5, 0)
    hairpin = straight.copy()
    hairpin[3:, :, 0] = 600 - hairpin[3:, :, 0]
    assert count_defects(graph, GraphLayout(hairpin)).n_folds == 1


def test_linked_and_touching_nodes_do_not_cross_and_nodes_nowhere_are_left_out():
    ends = np.array([[[0, 0], [2, 2]], [[0, 2], [2, 0]], [[2, 2], [4, 0]], [[np.nan] * 2] * 2])
    free = make_graph([2] * 4, [[1], [2]])
    linked = make_graph([2] * 4, [[1, 2]], [(3, 0)])
    assert count_defects(free, GraphLayout(ends)).n_crossings == 1
    assert count_defects(linked, GraphLayout(ends)).n_crossings == 0
    nothing = make_graph([], [])
    assert count_defects(nothing, GraphLayout(np.zeros((0, 2, 2)))).n_crossings == 0
    with pytest.raises(ParameterError, match="the layout has 0 nodes and the graph 4"):
        count_defects(free, GraphLayout(np.zeros((0, 2, 2))))


def test_commands_print_the_counts(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    graph = random_graph(1)
    layout = GraphLayout(np.random.default_rng(1).normal(0, 60, (graph.n_nodes, 2, 2)))
    files = [str(tmp_path / "graph.gfa"), str(tmp_path / "graph.lay")]
    write_gfa(graph, files[0])
    write_layout(layout, files[1])
    wanted = count_defects(graph, layout)

    def run(*arguments):
        with pytest.raises(SystemExit):
            main(list(arguments))
        return capsys.readouterr().out

    found = json.loads(run("stress", *files, "--json", "--backend", "cpu"))["defects"]
    assert found["n_folds"] == wanted.n_folds > 0
    assert found["n_crossings"] == wanted.n_crossings > 0
    words = (
        f"torn joints {wanted.n_torn} of {wanted.n_joints}, folds {wanted.n_folds} of "
        f"{wanted.n_turns} turns, crossings {wanted.n_crossings}"
    )
    assert words in run("stress", *files, "--backend", "cpu").splitlines()
    again = str(tmp_path / "again.lay")
    printed = json.loads(run("layout", files[0], "-o", again, "--json", "--backend", "cpu"))
    assert printed["defects"]["n_joints"] == wanted.n_joints
    monkeypatch.setattr(defects, "MAX_PAIRS", 3)
    assert run("stress", *files, "--backend", "cpu").endswith("crossings not counted\n")
