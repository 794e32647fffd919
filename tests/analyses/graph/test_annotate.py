"""Annotations land on the bases that they name, by hand and by an oracle."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.graph.query.annotate import place_annotations
from genoviz.analyses.graph.query.find import find
from genoviz.analyses.graph.query.placed_intervals import place_intervals
from genoviz.errors import ParameterError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import Annotations, ByteStrings, Categories, Intervals, PathRegion
from tests.conftest import real_data
from tests.graphs import make_graph
from tests.oracles.annotations import place_interval
from tests.oracles.paths import walk_bases


def make_annotations(rows):
    """Return annotations of rows ``(contig, start, end)`` or ``(contig, start, end, name)``."""
    contigs = tuple(dict.fromkeys(row[0] for row in rows))
    names = [row[3] if len(row) > 3 else "" for row in rows]
    n = len(rows)
    return Annotations(
        contigs=Categories(contigs, np.array([contigs.index(r[0]) for r in rows], np.int32)),
        starts=np.array([row[1] for row in rows], np.int64),
        ends=np.array([row[2] for row in rows], np.int64),
        names=ByteStrings.from_texts(names),
        types=Categories(("gene",), np.zeros(n, np.int32)),
        strands=np.zeros(n, np.int8),
        scores=np.full(n, np.nan),
        colours=np.full(n, -1, np.int32),
        block_offsets=np.zeros(n + 1, np.int64),
        blocks=np.empty((0, 2), np.int64),
    )


def named_graph(*names, lengths=(60, 40), steps=(1, -2)):
    graph = make_graph(lengths, [steps] * len(names))
    return dataclasses.replace(graph, path_names=names)


def places_of(placed):
    columns = (placed.rows, placed.paths, placed.starts, placed.ends, placed.is_clipped)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.fixture(scope="module")
def c4():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"), cache=False)
    return graph, read_annotations(real_data("gfa/chr6.C4.bed"))


def test_complement_genes_by_hand(c4):
    graph, annotations = c4
    placed = place_annotations(graph, annotations)
    path = "grch38#chr6:31972046-32055647"
    assert list(annotations.names) == ["C4A", "C4A_HERV-K", "C4B", "C4B_HERV-K"]
    # 31982057 - 31972046 = 10011 and 32002681 - 31972046 = 30635, and so on.
    assert tuple(placed.regions) == (
        PathRegion(path, 10_011, 30_635),
        PathRegion(path, 13_055, 19_012),
        PathRegion(path, 42_749, 63_372),
        PathRegion(path, 45_793, 51_750),
    )
    assert placed.notes == ()
    assert not placed.is_clipped.any()
    bases = walk_bases(graph, graph.find_path(path))
    for place, region in enumerate(placed.regions):
        nodes = sorted({base[0] for base in bases[region.start : region.end]})
        assert placed.nodes(place).tolist() == nodes


def test_both_complement_genes_are_4_steps_of_one_repeat(c4):
    graph, annotations = c4
    placed = place_annotations(graph, annotations)
    shared = np.intersect1d(placed.nodes(0), placed.nodes(2))
    assert len(shared) > 0.9 * len(placed.nodes(0))


@given(
    st.lists(st.tuples(st.integers(0, 260), st.integers(0, 120)), min_size=1, max_size=8),
    st.lists(st.integers(0, 200), min_size=1, max_size=4),
)
def test_each_interval_is_placed_on_each_sub_path(intervals, path_starts):
    graph = named_graph(*(f"s#1#c:{start}-{start + 100}" for start in path_starts))
    rows = [("s#1#c", start, start + length) for start, length in intervals]
    placed = place_annotations(graph, make_annotations(rows))
    expected = [
        (row, *place)
        for row, (_, start, end) in enumerate(rows)
        for place in place_interval(path_starts, [100] * len(path_starts), start, end)
    ]
    assert places_of(placed) == expected
    bases = walk_bases(graph, 0)
    for place, (_, _, start, end, _) in enumerate(expected):
        inside = bases[start:end] or [bases[min(start, 99)]]
        assert placed.nodes(place).tolist() == sorted({base[0] for base in inside})
    n_outside = len(rows) - len({place[0] for place in expected})
    assert any("outside the stretches" in note for note in placed.notes) == (n_outside > 0)


@pytest.mark.parametrize(
    ("path_name", "contig", "start"),
    [
        ("chr6", "chr6", 30),
        ("g#1#chr6:10-110", "g#1#chr6", 20),
        ("g#1#chr6:10-110", "g#1#chr6:10-110", 30),
        ("g#1#chr6:10-110", "g#chr6", 20),
        ("g#1#chr6:10-110", "chr6", 20),
        ("g#chr6:10-110", "g#0#chr6", 20),
        ("chr6[10]", "chr6", 20),
        ("g#1#6", "chr6", 30),
        ("g#1#chr6", "g#1#6", 30),
        ("chrM", "MT", 30),
        ("g#0#MT", "chrM", 30),
    ],
)
def test_contigs_are_found_under_their_other_names(path_name, contig, start):
    placed = place_annotations(named_graph(path_name), make_annotations([(contig, 30, 40)]))
    assert places_of(placed) == [(0, 0, start, start + 10, False)]


def test_blocks_are_cut_at_the_ends_of_the_path():
    """By hand: rows of BED12 on a path that has the bases from 1,000 to 1,100 of its contig."""
    graph = named_graph("a#1#c:1000-1100")
    rows = [("a#1#c", *span) for span in ((1010, 1090), (950, 1030), (900, 1200), (1005, 1006))]
    blocks = [(1010, 1020), (1080, 1090), (950, 1003), (1010, 1030), (900, 910), (1190, 1200)]
    annotations = dataclasses.replace(
        make_annotations(rows), block_offsets=np.array([0, 2, 4, 6, 6]), blocks=np.array(blocks)
    )
    offsets, blocks = place_annotations(graph, annotations).blocks
    found = [part.tolist() for part in np.split(blocks, offsets[1:-1])]
    assert found == [[[10, 20], [80, 90]], [[0, 3], [10, 30]], [[0, 0]], []]


def test_other_names_are_noted():
    placed = place_annotations(named_graph("g#1#6"), make_annotations([("chr6", 1, 2)]))
    assert placed.notes == ("Contigs of the annotations are taken under other names: chr6 as 6.",)


def test_what_is_not_placed_is_counted_with_its_reason():
    graph = named_graph("a#1#c:0-100", "b#1#c:0-100", "a#1#d:500-600")
    rows = [("x", 1, 2), ("x", 3, 4), ("c", 1, 2), ("d", 1, 2), ("d", 590, 610), ("d", 500, 501)]
    placed = place_annotations(graph, make_annotations(rows))
    assert places_of(placed) == [(4, 2, 90, 100, True), (5, 2, 0, 1, False)]
    assert placed.notes == (
        "2 annotations are not placed: the graph has no path of contig x.",
        "1 annotation is not placed: 'c' could be any of 2 contigs, needs one of a#1#c, b#1#c.",
        "1 annotation is not placed: outside the stretches that the graph has of the contig.",
        "1 annotation is cut off where their paths end.",
    )
    chosen = place_annotations(graph, make_annotations(rows), sample="b")
    assert places_of(chosen) == [(2, 1, 1, 2, False)]
    with pytest.raises(ParameterError, match="no path is of sample 'z'"):
        place_annotations(graph, make_annotations(rows), sample="z")


def test_a_contig_of_several_samples_is_that_of_the_only_one_that_reaches_there():
    names = ("one#c:1000-1100", "two#c:1060-1160", "three#c:5000-5100", "three#c:5100-5200")
    rows = [
        ("c", 1000, 1005), ("c", 1050, 1061), ("c", 1100, 1200), ("c", 5090, 5110),
        ("c", 9000, 9001), ("two#c", 1050, 1070),
    ]  # fmt: skip
    graph, annotations = named_graph(*names), make_annotations(rows)
    placed = place_annotations(graph, annotations)
    assert places_of(placed) == [
        (0, 0, 0, 5, False),
        (2, 1, 40, 100, True),
        (3, 2, 90, 100, True),
        (3, 3, 0, 10, True),
        (5, 1, 0, 10, True),
    ]
    assert placed.notes[0] == (
        "1 annotation is not placed: 'c' could be any of 3 contigs, needs one of one#c, two#c, "
        "three#c."
    )
    assert placed.notes[1].startswith("1 annotation is not placed: outside")
    ids = annotations.contigs.codes
    intervals = Intervals(annotations.contigs.names, ids, annotations.starts, annotations.ends)
    others = place_intervals(graph, intervals)
    found = zip(others.rows, others.paths, others.starts, others.ends, strict=True)
    assert sorted(map(tuple, found)) == [place[:4] for place in places_of(placed)]


def test_of_a_reference_and_haplotypes_on_its_contig_the_reference_is_meant():
    """`genoviz construct` names all paths by the same contig."""
    names = ("HG1#1#c", "ref#0#c", "HG1#2#c:0-100", "HG2#1#c:200-300")
    rows = [("c", 10, 20), ("c", 90, 130), ("c", 210, 230), ("HG1#2#c", 10, 20)]
    graph, annotations = named_graph(*names), make_annotations(rows)
    placed = place_annotations(graph, annotations)
    assert places_of(placed) == [
        (0, 1, 10, 20, False),
        (1, 1, 90, 100, True),
        (2, 3, 10, 30, False),  # the only one that has it
        (3, 2, 10, 20, False),
    ]
    ids = annotations.contigs.codes
    intervals = Intervals(annotations.contigs.names, ids, annotations.starts, annotations.ends)
    others = place_intervals(graph, intervals)
    assert (others.n_placed, others.reasons) == (4, ())
    found = zip(others.rows, others.paths, others.starts, others.ends, strict=True)
    assert sorted(map(tuple, found)) == [place[:4] for place in places_of(placed)]
    two = place_annotations(named_graph(*names, "CHM13#0#c"), annotations)
    assert [place[:2] for place in places_of(two)] == [(2, 3), (3, 2)]
    assert "'c' could be any of 5 contigs" in two.notes[0]


def test_no_annotations_and_no_paths():
    assert len(place_annotations(named_graph("c"), make_annotations([]))) == 0
    placed = place_annotations(make_graph([1], []), make_annotations([("c", 1, 2)]))
    assert len(placed) == 0
    assert placed.notes[0].startswith("1 annotation is not placed: the graph has no path")
    empty = named_graph("c", steps=())
    assert len(place_annotations(empty, make_annotations([("c", 0, 0), ("c", 0, 2)]))) == 0


def test_findings_come_in_the_order_of_their_likelihood(c4):
    graph, annotations = c4
    placed = place_annotations(graph, annotations)
    labels = [finding.label for finding in find(graph, "c4", annotations=placed)]
    assert labels == ["C4A", "C4B", "C4A_HERV-K", "C4B_HERV-K"]
    assert [f.label for f in find(graph, "C4B", annotations=placed, limit=1)] == ["C4B"]
    found = find(graph, "17", annotations=placed)
    assert [(f.kind, f.label, f.region) for f in found] == [("node", "17", None)]
    assert graph.node_names[int(found[0].nodes[0])] == "17"
    (region,) = find(graph, "grch38#chr6:31982057-32002681", annotations=placed)
    assert region.region == placed.regions[0]
    assert region.nodes.tolist() == placed.nodes(0).tolist()
    assert find(graph, "C4A", annotations=placed)[0].nodes.tolist() == placed.nodes(0).tolist()


def test_several_nodes_are_found_at_once(c4):
    graph, _ = c4
    (found,) = find(graph, "17, 18;19 17")
    assert (found.kind, found.label) == ("node", "3 nodes")
    assert [graph.node_names[node] for node in found.nodes.tolist()] == ["17", "18", "19"]
    assert find(graph, "17, no") == ()


def test_nothing_is_found_and_a_wrong_place_says_why(c4):
    graph, annotations = c4
    placed = place_annotations(graph, annotations)
    assert find(graph, "  ", annotations=placed) == ()
    assert find(graph, "HLA-A", annotations=placed) == ()
    with pytest.raises(ParameterError, match="no path or contig is named 'chr7'"):
        find(graph, "chr7:1-2", annotations=placed)
    with pytest.raises(ParameterError, match="31,972,046-32,055,647"):
        find(graph, "grch38#chr6:1-2", annotations=placed)


def test_of_one_name_the_longest_comes_first():
    rows = [("c", 10, 20, "GENE"), ("c", 0, 90, "gene"), ("c", 5, 50, "Gene2"), ("c", 0, 99, "a")]
    graph = named_graph("c")
    found = find(graph, "gEn", annotations=place_annotations(graph, make_annotations(rows)))
    assert [(finding.label, finding.region.length) for finding in found] == [
        ("gene (gene)", 90),
        ("GENE (gene)", 10),
        ("Gene2 (gene)", 45),
    ]
