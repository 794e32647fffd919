"""What is lit up: named sets that all pages follow, with their counts in words."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.errors import ParameterError
from genoviz.model import Intervals, PathRegion
from genoviz.model.byte_strings import ByteStrings
from genoviz_app.pages.pangenome.page import PangenomePage
from genoviz_app.pages.pangenome.picture.shared_marks import PICKED_COLOUR, REGION_COLOUR
from genoviz_app.parts.lighting import LitList, light_button
from genoviz_app.plots.kmer_genome import GenomeFigures
from genoviz_app.plots.lit_stretches import lit_along, lit_bars
from genoviz_app.session.address import Address
from genoviz_app.session.lit_links import MAX_NODES, MAX_PLACES, parse_lit, write_lits
from genoviz_app.session.lit_sets import COLOURS, Highlight, LitSet
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until
from tests.graphs import make_graph

PATHS = ("ref", "alt")


@pytest.fixture
def opened(session, graph):
    """A session with the small graph: ref is s1 s2 s4 (7 bp), alt is s1 s3 s4 (11 bp)."""
    session.opened = OpenGraph("small", "small", graph)
    return session


def on_paths(*rows, title="GATTACA", noun="hit", **options):
    ids, starts, ends = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    return Highlight(title, noun, Intervals(PATHS, ids.astype(np.int32), starts, ends), **options)


def light(session, highlight):
    """Light something up, and return its set; None if it has no place."""
    n_before = session.highlights.sets
    session.problem = ""
    session.highlights.light_up(highlight)
    poll_until(session.poll, lambda: session.highlights.sets is not n_before or session.problem)
    return session.highlights.sets[-1] if not session.problem else None


def test_all_hits_are_counted_with_their_nodes_and_haplotypes(opened):
    hits = on_paths((0, 1, 3), (0, 3, 6), (1, 1, 3), is_everywhere=True)
    lit = light(opened, hits)
    assert lit.nodes.tolist() == [0, 1]
    assert lit.words == "3 hits on 2 nodes, 2 haplotypes"
    one = light(opened, on_paths((1, 5, 6), title="TT", is_everywhere=True))
    assert one.words == "1 hit on 1 node, 1 haplotype"
    assert one.colour != lit.colour
    cut = light(opened, on_paths((1, 5, 6), title="A", is_everywhere=True, n_found=7_000))
    assert cut.words.startswith("1 of 7,000 hits on 1 node")


def test_hits_are_on_their_own_paths_and_a_gene_on_all_that_share_its_nodes(opened):
    hits = light(opened, on_paths((0, 0, 2), title="hits", is_everywhere=True))
    assert hits.stretches("ref").tolist() == [[0, 2]]
    assert hits.stretches("alt").tolist() == []
    gene = light(opened, on_paths((0, 0, 2), title="gene", noun="gene"))
    assert gene.stretches("ref").tolist() == [[0, 2]]
    assert gene.stretches("alt").tolist() == [[0, 4]]  # all of s1
    assert gene.words == "1 gene on 1 node, 2 haplotypes"
    picked = light(opened, Highlight("s3", "node", nodes=np.array([2]), graph=opened.opened.graph))
    assert picked.stretches("alt").tolist() == [[4, 10]]
    assert picked.words == "1 node, 1 haplotype"


def test_the_same_things_are_listed_once_and_keep_their_colour(opened):
    first = light(opened, on_paths((0, 0, 2)))
    light(opened, on_paths((0, 0, 2), title="other"))
    again = light(opened, on_paths((1, 4, 6)))
    assert [lit.title for lit in opened.highlights.sets] == ["other", "GATTACA"]
    assert (again.key, again.colour) == (first.key, first.colour)
    assert again.nodes.tolist() == [2]


def test_sets_are_hidden_removed_and_cleared_in_the_list(opened):
    wanted = []
    shown = LitList(opened.highlights, wanted.append)
    assert not shown.visible
    for title in ("a", "b", "c"):
        light(opened, on_paths((0, 0, 2), title=title))
    assert [item["title"] for item in shown.items] == ["a", "b", "c"]
    assert shown.visible
    shown._handle_msg({"act": "hide", "key": 1, "is_hidden": True})
    assert [lit.title for lit in opened.highlights.shown] == ["b", "c"]
    assert [item["is_hidden"] for item in shown.items] == [True, False, False]
    shown._handle_msg({"act": "remove", "key": 2})
    assert [lit.title for lit in opened.highlights.sets] == ["a", "c"]
    shown._handle_msg({"act": "go", "key": 3})
    assert [lit.title for lit in wanted] == ["c"]
    shown._handle_msg({"act": "clear"})
    assert (opened.highlights.sets, shown.visible) == ((), False)


def test_what_has_no_place_is_not_listed_and_it_is_said_why(session, graph):
    region = PathRegion("chr6", 10, 20)
    assert light(session, Highlight.of_region(region)) is None
    assert session.problem == (
        "chr6:11-20 is not lit up: no graph is open. Open one whose paths have it, or tracks."
    )
    session.opened = OpenGraph("small", "small", graph)
    assert light(session, Highlight.of_region(region)) is None
    assert session.problem == (
        "chr6:11-20 is not lit up: the graph's paths have no contig chr6. Open a graph or tracks "
        "that have it."
    )
    assert light(session, Highlight("2 samples", "sample", samples=("x", "y"))) is None
    assert "no path of the graph and no genotypes belong to these samples" in session.problem


def test_a_contig_of_several_samples_is_lit_where_one_of_them_alone_reaches(session):
    graph = make_graph([10, 10, 10], [[1], [2], [3]])
    graph = replace(graph, path_names=("a#c:0-10", "b#c:10-20", "b#c:5-15"))
    session.opened = OpenGraph("three", "three", graph)
    lit = light(session, Highlight("nodes", "node", nodes=np.arange(3), graph=graph))
    assert lit.stretches("c").tolist() == [[10, 20]]
    assert lit.stretches("a#c").tolist() == [[0, 10]]
    names = ("a#1#c:0-10", "ref#0#c:0-10", "b#1#c:20-30")  # positions on c are the reference's
    session.opened = OpenGraph("ref", "ref", replace(graph, path_names=names))
    of_reference = Highlight("nodes", "node", nodes=np.arange(3), graph=session.opened.graph)
    assert light(session, of_reference).stretches("c").tolist() == [[0, 10], [20, 30]]


def test_samples_are_the_nodes_of_their_paths(session):
    graph = make_graph([1, 2, 3], [[1], [1, 2], [3]])
    graph = replace(graph, path_names=("a#1#c", "a#2#c", "b#1#c"))
    session.opened = OpenGraph("three", "three", graph)
    lit = light(session, Highlight("2 samples", "sample", samples=("a", "absent")))
    assert lit.nodes.tolist() == [0, 1]
    assert lit.words == "2 samples on 2 nodes, 2 haplotypes"


def test_another_graph_forgets_nodes_and_finds_places_anew(opened):
    light(opened, Highlight("Selection", "node", nodes=np.array([0]), graph=opened.opened.graph))
    light(opened, on_paths((0, 1, 3)))
    other = replace(make_graph([2, 9], [[1, 2]]), path_names=("ref",))
    opened.opened = OpenGraph("other", "other", other)
    assert [lit.title for lit in opened.highlights.sets] == ["GATTACA"]
    poll_until(opened.poll, lambda: len(opened.highlights.sets[0].nodes))
    (lit,) = opened.highlights.sets
    assert (lit.graph, lit.nodes.tolist()) == (other, [0, 1])
    opened.opened = None
    assert opened.highlights.sets[0].words == "1 hit on ref"


def test_a_button_lights_up_what_is_made_beside_the_page_or_says_why_not(opened):
    button = light_button(opened, lambda: lambda: on_paths((0, 0, 2)), "hits")
    button.param.trigger("clicks")
    poll_until(opened.poll, lambda: opened.highlights.sets)

    def complain():
        raise ParameterError("no hit is there")

    light_button(opened, complain, "hits").param.trigger("clicks")
    assert opened.problem == "No hit is there."


def test_a_page_that_is_made_late_shows_what_is_lit_and_picked(opened):
    light(opened, on_paths((0, 1, 3)))
    opened.picked = np.array([3])
    page = PangenomePage(opened)
    marks = {}

    def look():
        opened.poll()
        page.poll()
        marks.update({mark.colour: mark for mark in page.view.picture.notes.marks})

    (lit,) = opened.highlights.sets
    poll_until(look, lambda: len(marks) == 2)
    assert marks[lit.colour].nodes.tolist() == [0]
    assert marks[lit.colour].is_lit
    opened.highlights.hide(lit.key)
    assert [mark.nodes.tolist() for mark in page.view.picture.notes.marks] == [[3]]
    page.close()


def test_what_is_lit_is_drawn_over_the_region_and_the_picked_nodes(opened):
    """Near by, a node has the colour of its last mark alone."""
    page = PangenomePage(opened)
    lit = light(opened, on_paths((0, 1, 3)))
    opened.region, opened.picked = PathRegion("ref", 0, 4), np.array([0])

    def look():
        opened.poll()
        page.poll()

    poll_until(look, lambda: len(page.view.picture.notes.marks) == 3)
    colours = [mark.colour for mark in page.view.picture.notes.marks]
    assert colours == [REGION_COLOUR, PICKED_COLOUR, lit.colour]
    page.close()


def test_stretches_nearer_than_a_pixel_are_drawn_as_one_with_their_number(opened):
    rows = [(0, 0, 1), (0, 2, 3), (0, 6, 7)]
    (along,) = lit_along([light(opened, on_paths(*rows))], "ref")
    assert along.between(0, 7, 0.1).tolist() == [[0, 1, 1], [2, 3, 1], [6, 7, 1]]
    assert along.between(0, 7, 1.5).tolist() == [[0, 3, 2], [6, 7, 1]]
    assert along.between(2.5, 5, 0.1).tolist() == [[2, 3, 1]]
    assert along.between(3, 6, 0.1).tolist() == []


def test_sets_are_bars_one_above_the_other_where_contigs_are_in_a_row(opened):
    sets = [
        light(opened, on_paths((0, 1, 3), (1, 5, 6), title="both", is_everywhere=True)),
        light(opened, on_paths((1, 0, 2), title="alt", is_everywhere=True)),
    ]
    bars = lit_bars(sets, [("ref", 0.0, 1.0), ("alt", 7.0, 1.0)], (2.0, 13.0), 0.1, 0.5)
    assert list(zip(bars["left"], bars["right"], bars["says"], strict=True)) == [
        (1, 3, "both: 1"), (12, 13, "both: 1"), (7, 9, "alt: 1")
    ]  # fmt: skip
    assert bars["bottom"] == [1, 1, 1.5]
    assert bars["top"] == pytest.approx([1.4, 1.4, 1.9])
    assert bars["colour"] == [sets[0].colour] * 2 + [sets[1].colour]


def test_a_figure_gets_bars_when_there_are_some_and_they_keep_their_share_of_its_height(opened):
    figures = GenomeFigures()
    n_parts = len(figures.hits.references())
    lit = light(opened, on_paths((0, 1, 3), title="one"))
    rows, ends = [("ref", 0.0, 0.25)], (0.0, 10.0)
    figures.show_lit(lit_bars([], rows, ends, 0.1, 0.5))
    assert len(figures.hits.references()) == n_parts
    figures.show_lit(lit_bars([lit], rows, ends, 0.1, 0.5))
    assert len(figures.hits.references()) > n_parts
    low, high = figures.hits.y_range.start, figures.hits.y_range.end
    source = figures.hits.renderers[-1].data_source
    assert source.data["bottom"] == pytest.approx([low + 0.25 * (high - low)])
    figures.show_hits({name: np.array([9]) for name in figures.hit_source.data}, "Hits")
    assert figures.hits.y_range.end > 9
    assert source.data["bottom"] == pytest.approx([1.12 * 9 * (2 * 0.25 - 1)])
    assert source.data["top"] == pytest.approx([1.12 * 9 * (2 * 0.65 - 1)])
    figures.show_lit(lit_bars([], rows, ends, 0.1, 0.5))
    assert list(source.data["left"]) == []


def test_what_is_lit_is_part_of_the_link_and_what_is_too_large_is_said(opened):
    graph = opened.opened.graph
    light(opened, on_paths((0, 0, 2), (1, 5, 6), title="a,b!c", is_everywhere=True))
    opened.highlights.remove(light(opened, on_paths((0, 0, 2), title="gone")).key)
    light(opened, Highlight("s3, s4", "node", nodes=np.array([2, 3]), graph=graph))
    many = on_paths(*[(0, i % 5, i % 5 + 2 + i % 2) for i in range(2001)], title="many")
    light(opened, many)
    samples = tuple(f"HG{i:05}" for i in range(100))
    hidden = light(opened, Highlight("100 samples", "sample", samples=("ref", *samples)))
    opened.highlights.hide(hidden.key)
    links = opened.highlights.link
    assert len(links) == 3
    words = [item["words"] for item in LitList(opened.highlights, print).items]
    is_large = [text.endswith("; too many for a link") for text in words]
    assert is_large == [False, False, True, False]
    address = Address.parse(Address(lit=links).query, pages=())
    assert address.lit == links
    before = [lit for lit in opened.highlights.sets if lit.title != "many"]
    opened.highlights.clear()
    opened.highlights.follow_link(
        (*address.lit, "x", "node!n!n!s9", "hit!n!P!c:-1", "hit!n!P!c:1!9")
    )
    poll_until(opened.poll, lambda: len(opened.highlights.sets) == 3)
    for old, new in zip(before, opened.highlights.sets, strict=True):
        assert (old.title, old.words) == (new.title, new.words)
        assert (old.colour, old.is_hidden) == (new.colour, new.is_hidden)
        assert old.nodes.tolist() == new.nodes.tolist()
    for what in (
        "'x' is nothing",
        "'hit!n!P!c:1!9' is nothing",
        "has node 's9', which is not here",
    ):
        assert what in opened.problem
    assert "'' in the link needs numbers with dots between" in opened.problem


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 10**12), st.integers(0, 40))))
def test_many_places_come_back_from_a_link(rows):
    """A few are listed, many are packed; these are sorted on each contig."""
    rows = [(contig, start, start + length) for contig, start, length in rows]
    for few in filter(None, (rows[:40], rows)):
        lit = LitSet(on_paths(*few, title="x y", is_everywhere=True), 1, "#52f06a", "")
        found, colour, is_hidden = parse_lit(*write_lits([replace(lit, is_hidden=True)]), None)
        assert (found.title, found.noun, colour, is_hidden) == ("x y", "hit", "#52f06a", True)
        assert found.is_everywhere
        placed = found.intervals
        contigs = [PATHS.index(placed.contigs[i]) for i in placed.contig_ids.tolist()]
        starts, ends = placed.starts.tolist(), placed.ends.tolist()
        assert sorted(zip(contigs, starts, ends, strict=True)) == sorted(few)


@given(st.sets(st.integers(0, 300), min_size=1), st.sampled_from(["{}", "s{}", "0{}"]))
def test_many_nodes_come_back_from_a_link(numbers, name):
    names = [name.format(number) for number in range(1, 302)]
    graph = SimpleNamespace(node_names=ByteStrings.from_texts(names))
    nodes = np.array(sorted(numbers))
    lit = LitSet(Highlight("box", "node", nodes=nodes, graph=graph), 1, COLOURS[0], "", graph=graph)
    (text,) = write_lits([lit])
    found, colour, is_hidden = parse_lit(text, graph)
    assert sorted(found.nodes.tolist()) == sorted(nodes.tolist())
    assert (colour, is_hidden) == (COLOURS[0], False)


def test_a_link_that_asks_for_too_much_is_cut():
    graph = SimpleNamespace(node_names=ByteStrings.from_integers(1, 6000))
    found, _, _ = parse_lit("node!box!N!1.zzzzzzzzz" + ".0.zzzzzzzzz" * 5000, graph)
    assert len(found.nodes) == MAX_NODES
    found, _, _ = parse_lit("hit!x!P!" + ",".join(["c:1" + ".zzzzzzzzz" * 99] * 30), None)
    assert len(found.intervals) == MAX_PLACES
