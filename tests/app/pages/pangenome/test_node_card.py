"""The card of picked nodes, against a walk over all steps and edges of the graph."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from genoviz.io.graph.gfa import read_gfa
from genoviz.model import PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.nodes import facts as node_facts
from genoviz_app.pages.pangenome.nodes import visits_table
from genoviz_app.pages.pangenome.nodes.card import NodeCard
from genoviz_app.pages.pangenome.nodes.facts import facts_html, find_neighbours, read_node_facts
from genoviz_app.parts.file_button import file_stem, write_to_bytes
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until
from tests.conftest import real_data
from tests.graphs import make_graph, random_graph


def walk(graph, nodes):
    """Path, start, end and strand of every step on some nodes."""
    rows = []
    for path, name in enumerate(graph.path_names):
        position = 0
        for handle in graph.path_steps(path).tolist():
            end = position + int(graph.node_lengths[handle >> 1])
            if handle >> 1 in nodes:
                rows.append((handle >> 1, name, position, end, "-" if handle & 1 else "+"))
            position = end
    return sorted(rows)


def rows_of(graph, facts):
    frame = facts.visits.frame
    nodes = [graph.node_names.find(name) for name in frame["Node"]]
    if not frame["Node"].any():
        nodes = [int(facts.nodes[0])] * len(frame)
    frame = frame.assign(**{"Start (bp)": frame["Start (bp)"] - 1})
    columns = (frame[name].tolist() for name in ("Path", "Start (bp)", "End (bp)", "Strand"))
    return sorted(zip(nodes, *columns, strict=True))


@pytest.mark.parametrize("nodes", [[3], [0, 7, 8, 30], list(range(40))])
@pytest.mark.parametrize("seed", range(4))
def test_visits_are_those_of_a_walk_over_all_paths(seed, nodes):
    graph = random_graph(seed)
    facts = read_node_facts(graph, np.array(nodes))
    expected = walk(graph, nodes)
    assert rows_of(graph, facts) == expected
    assert facts.n_visits == len(expected)
    assert facts.n_paths == len({row[1] for row in expected})
    copies = Counter(row[1] for row in expected)
    times = sorted(Counter(copies.values()).items()) if len(nodes) == 1 else []
    assert [tuple(pair) for pair in facts.n_copies.T.tolist()] == times
    listed = dict(zip(facts.visits.frame["Path"], facts.visits.frame["Copies"], strict=True))
    assert listed == dict(copies)
    is_told = len(nodes) == 1 and any(n > 1 for n in copies.values())
    assert ("Copies" not in facts.visits.hidden) == is_told
    if expected:
        n_reverse = sum(row[4] == "-" for row in expected)
        assert facts.reverse_share == pytest.approx(n_reverse / len(expected))


def test_how_many_paths_have_how_many_copies_is_said_in_words():
    graph = make_graph([5], [[1], [1], [1, 1], [1] * 3])
    words = facts_html(graph, read_node_facts(graph, np.array([0])), None)
    assert "<dt>Copies</dt><dd>1 in 2 paths, 2 in 1, 3 in 1</dd>" in words
    graph = make_graph([5], [[1] * n for n in range(1, 10)])
    words = facts_html(graph, read_node_facts(graph, np.array([0])), None)
    assert "1 in 1 path, 2 in 1, 3 in 1, 4 in 1, 5 in 1, 6 to 9 in 4</dd>" in words
    graph = make_graph([5], [[1], [1]])
    assert "Copies" not in facts_html(graph, read_node_facts(graph, np.array([0])), None)


def test_neighbours_are_at_the_ends_where_edges_arrive():
    # 1+ -> 2+, 1+ -> 3-, 2- -> 1- (the first again), 3- -> 2-, 2+ -> 2+, 4+ -> 1-
    edges = [(0, 2), (0, 5), (3, 1), (5, 3), (2, 2), (6, 1)]
    graph = make_graph([5, 5, 5, 5], [[1]], edges)
    left, right = find_neighbours(graph, 0)
    assert (left.tolist(), right.tolist()) == ([], [2, 5, 7])
    left, right = find_neighbours(graph, 1)
    assert (left.tolist(), right.tolist()) == ([1, 3], [2, 4])


def test_more_visits_than_a_table_holds_are_said(monkeypatch):
    graph = make_graph([1, 2], [[1] * 30, [2, 1] * 20])
    monkeypatch.setattr(visits_table, "MAX_ROWS", 25)
    monkeypatch.setattr(node_facts, "MAX_ROWS", 25)
    facts = read_node_facts(graph, np.array([0]))
    assert (facts.n_visits, facts.n_paths, len(facts.visits.frame)) == (50, 2, 25)
    assert facts.visits.note == "the first of 50 visits"
    monkeypatch.setattr(node_facts, "MAX_COUNTED_VISITS", 40)
    facts = read_node_facts(graph, np.array([0, 1]))
    assert (facts.n_visits, facts.n_paths) == (70, None)
    assert len(facts.visits.frame) == 25


@pytest.fixture
def shown(session, graph):
    """A card of the small graph, which its file gave bases."""
    view = LayoutView(submit=session.submit)
    session.opened = OpenGraph("small", "small", graph)
    view.set_graph(graph)
    card = NodeCard(session, view)
    card.set_graph(graph)
    return SimpleNamespace(session=session, card=card)


def pick(shown, *nodes):
    shown.session.picked = np.array(nodes, np.int64)
    poll_until(shown.session.poll, lambda: shown.card.facts is not None)
    poll_until(shown.session.poll, lambda: shown.card.facts.nodes.tolist() == list(nodes))


def test_a_picked_node_is_described_and_a_row_is_the_region(shown):
    card = shown.card
    assert (card.empty.visible, card.card.visible) == (True, False)
    pick(shown, 0)
    assert (card.empty.visible, card.card.visible) == (False, True)
    assert card.name.object == "Node s1"
    assert "<dd>4 bp</dd>" in card.text.object
    assert "2 of 2" in card.text.object
    assert "not in the file" in card.text.object
    assert (card.copy.text, card.fasta.disabled) == ("", True)
    assert card.table.table.value["Path"].tolist() == ["ref", "alt"]
    card.table._on_click(SimpleNamespace(row=1))
    assert shown.session.region == PathRegion("alt", 0, 4)


def test_a_selection_has_all_its_visits_and_the_search_narrows_them(shown):
    pick(shown, 1, 2, 3)
    card = shown.card
    assert card.name.object == "Selection"
    assert "<dd>9 bp</dd>" in card.text.object
    assert "s2, s3, s4" in card.text.object
    assert card.table.table.value["Node"].tolist() == ["s2", "s3", "s4", "s4"]
    card.table.search.value_input = "AL"
    assert card.table.table.value["Path"].tolist() == ["alt", "alt"]
    assert "2 of 4 rows" in card.table.count.object
    card.table._on_click(SimpleNamespace(row=1))
    assert shown.session.region == PathRegion("alt", 10, 11)


def test_sorting_and_clicking_meet_the_same_row(shown):
    pick(shown, 0, 3)
    table = shown.card.table.table
    table.sorters = [{"field": "Start (bp)", "dir": "desc"}]
    event = SimpleNamespace(event_name="cell-click", column="Path", row=0, value=None, pre=False)
    table._process_event(event)
    assert shown.session.region == PathRegion("alt", 10, 11)


def test_another_graph_leaves_nothing_picked(shown):
    pick(shown, 0)
    shown.session.picked = np.empty(0, np.int64)
    shown.card.set_graph(make_graph([4], [[1]]))
    assert (shown.card.facts, shown.card.empty.visible) == (None, True)


def test_the_fasta_file_has_the_bases_of_the_nodes(session, graph_file):
    graph = read_gfa(graph_file)
    view = LayoutView(submit=session.submit)
    card = NodeCard(session, view)
    card.set_graph(graph)
    shown = SimpleNamespace(session=session, card=card)
    pick(shown, 0, 2)
    assert card.copy.visible is False
    name, write = card._prepare_fasta()
    assert (name, write_to_bytes(name, write)) == ("2_nodes.fa", b">s1\nACGT\n>s3\nGGGTTT\n")
    pick(shown, 0)
    assert (card.copy.text, card.copy.visible) == ("ACGT", True)
    assert "ACGT" in card.text.object


def test_names_of_files_are_harmless():
    assert file_stem("../a b#c.gfa") == "a_b_c.gfa"
    assert file_stem("///") == "graph"


def test_a_repeat_of_a_real_graph_is_listed_with_contig_positions():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"))
    node = int(np.argmax(graph.node_depths))
    facts = read_node_facts(graph, np.array([node]))
    assert rows_of(graph, facts) == walk(graph, {node})
    frame = facts.visits.frame
    row = frame[frame["Path"].str.startswith("grch38#chr6")].iloc[0]
    start = int(row["Path"].split(":")[1].split("-")[0])
    first, last = (start + row[name] for name in ("Start (bp)", "End (bp)"))
    assert row["On its contig"] == f"chr6:{first:,}-{last:,}"
    assert isinstance(frame, pd.DataFrame)
