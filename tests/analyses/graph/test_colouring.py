"""Every mode gives each node the colour that a plain count says, and the legend says what it is."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.graph.layout.components import find_components
from genoviz.analyses.graph.picture import annotation_colours
from genoviz.analyses.graph.picture.annotation_colours import by_annotation
from genoviz.analyses.graph.picture.colour_modes import by_numbers, node_gc_shares
from genoviz.analyses.graph.picture.colouring import MODES, ColourChoice, make_colouring
from genoviz.analyses.graph.picture.colours import MAX_INDEX
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from genoviz.analyses.graph.picture.palettes import DARK, LIGHT
from genoviz.analyses.graph.picture.viewport import Viewport
from genoviz.analyses.graph.query.annotate import place_annotations
from genoviz.analyses.graph.query.path_groups import (
    count_node_groups,
    find_group_nodes,
    group_paths,
)
from genoviz.errors import ParameterError
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.layout_files import read_layout
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.graph.node_table import NodeColumn, NodeTable
from tests.conftest import real_data

FEW = settings(max_examples=40)
NAMES = ["A#1#c1", "A#1#c2", "A#2#c1:5-90", "B#1#c1", "B#1#c2[7]", "plain", "C#c1"]


@st.composite
def graphs(draw):
    """Return graphs with PanSN names, reverse steps, repeats, nodes off all paths."""
    n_nodes = draw(st.integers(1, 7))
    handle = st.integers(0, 2 * n_nodes - 1)
    paths = draw(st.lists(st.lists(handle, max_size=8), min_size=1, max_size=len(NAMES)))
    return PangenomeGraph(
        node_names=ByteStrings.from_integers(1, n_nodes),
        node_lengths=np.array(
            draw(st.lists(st.integers(0, 60), min_size=n_nodes, max_size=n_nodes)), np.int64
        ),
        edges=np.empty((0, 2), np.uint32),
        path_names=tuple(NAMES[: len(paths)]),
        path_offsets=np.cumsum([0, *map(len, paths)]).astype(np.int64),
        steps=np.array([step for path in paths for step in path], np.uint32),
    )


def draw_nodes(colouring, n_nodes, *, factor=1):
    """Draw the nodes as bars, one above the other; return the colour of each, and the picture."""
    coordinates = np.zeros((n_nodes, 2, 2))
    coordinates[:, :, 1] = np.arange(n_nodes)[:, None] + 0.5
    coordinates[:, 1, 0] = 3.9
    drawing = LayoutDrawing(coordinates, node_values=colouring.node_values, backend="cpu")
    view = Viewport(0, 4, 0, n_nodes, 4, n_nodes)
    picture = drawing.draw(view, **colouring.options)
    return [colouring.palette[row[1]] for row in picture.indices], picture


def steps_of(graph, path):
    return [(step >> 1, step & 1) for step in graph.path_steps(path).tolist()]


def naive_values(graph, mode, paths):
    """Return what a mode shows of each node, counted step by step; None where it has nothing."""
    visits = [steps_of(graph, path) for path in range(graph.n_paths)]
    found = []
    for node in range(graph.n_nodes):
        here = [is_reverse for visit in visits for n, is_reverse in visit if n == node]
        holders = [p for p, visit in enumerate(visits) if any(n == node for n, _ in visit)]
        if mode == "depth":
            found.append(len(here))
        elif mode == "path-depth":
            found.append(len(holders) or None)
        elif mode == "copies":
            found.append(len(here) / len(holders) if holders else None)
        elif mode == "strand":
            found.append(100 * sum(here) / len(here) if here else None)
        elif mode == "length":
            found.append(int(graph.node_lengths[node]))
    return found


@FEW
@given(graphs())
@pytest.mark.parametrize("mode", ["depth", "path-depth", "copies", "strand", "length"])
def test_numbers_are_those_of_a_plain_count(mode, graph):
    colouring = make_colouring(graph, ColourChoice(mode))
    expected = naive_values(graph, mode, None)
    for value, wanted in zip(colouring.node_values.tolist(), expected, strict=True):
        assert math.isnan(value) if wanted is None else value == pytest.approx(wanted, rel=1e-6)
    assert (colouring.missing != "") == (None in expected)
    colours, picture = draw_nodes(colouring, graph.n_nodes)
    legend = colouring.legend(picture)
    low, high = colouring.options["value_range"]
    assert all(low <= np.float32(value) <= high for value in expected if value is not None)
    for colour, wanted in zip(colours, expected, strict=True):
        if wanted is None:
            assert colour == DARK.other
            continue
        shown, levels = legend.palette_part(colouring.palette)
        place = np.searchsorted(levels, np.float32(wanted), side="right") - 1
        assert colour == shown[max(place, 0)]


@FEW
@given(graphs(), st.sampled_from(["path", "sample", "haplotype", "contig"]))
def test_groups_of_paths_are_those_of_their_names(graph, by):
    def group(name):
        text = name.partition(":")[0].partition("[")[0]
        fields = text.split("#")
        if by == "path":
            return name
        if by == "contig" or len(fields) == 1:
            return fields[-1]
        if by == "sample" or len(fields) == 2:
            return fields[0]
        return "#".join(fields[:2])

    groups = group_paths(graph, by)
    assert [groups.names[g] for g in groups.of_path] == [group(n) for n in graph.path_names]
    assert len(set(groups.names)) == len(groups.names)
    found = count_node_groups(graph, groups)
    for node in range(graph.n_nodes):
        holders = [
            group(name)
            for path, name in enumerate(graph.path_names)
            if any(n == node for n, _ in steps_of(graph, path))
        ]
        assert found.counts[node] == len(set(holders))
        first = found.first[node]
        assert (groups.names[first] in holders) if holders else first == -1


@FEW
@given(graphs(), st.sampled_from(["path", "sample"]), st.data())
def test_the_colour_of_a_group_is_for_nodes_on_it_alone(graph, by, data):
    names = list(group_paths(graph, by).names)
    chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    colouring = make_colouring(graph, ColourChoice("paths", tuple(chosen), group_by=by))
    nodes = {name: set(find_group_nodes(graph, by, [name]).tolist()) for name in chosen}
    colours, picture = draw_nodes(colouring, graph.n_nodes)
    counted = Counter()
    for node, colour in enumerate(colours):
        holders = [rank for rank, name in enumerate(chosen) if node in nodes[name]]
        if not holders:
            expected = DARK.other
        elif len(holders) == 1:
            expected = DARK.colour(holders[0])
        else:
            expected = DARK.everything if len(holders) == len(chosen) else DARK.some
        assert colour == expected
        counted[expected] += 1
    for colour, name in colouring.legend(picture).items:
        assert name.endswith(f"({counted[colour]:,})")


@FEW
@given(graphs(), st.sampled_from(["path", "sample", "haplotype"]))
def test_core_shell_and_private_nodes_are_counted(graph, by):
    groups = group_paths(graph, by)
    n = len(groups.names)
    counts = count_node_groups(graph, groups).counts.tolist()
    colouring = make_colouring(graph, ColourChoice("class", group_by=by))
    core, shell, private = (DARK.categories[i] for i in (6, 1, 0))
    colours, _ = draw_nodes(colouring, graph.n_nodes)
    for colour, count in zip(colours, counts, strict=True):
        expected = DARK.other if count == 0 else core if count == n else private
        assert colour == (shell if 1 < count < n else expected)
    sharing = make_colouring(graph, ColourChoice("sharing", group_by=by))
    assert sharing.title.endswith(f"on a node (of {n:,})")
    np.testing.assert_array_equal(np.nan_to_num(sharing.node_values), counts)


@FEW
@given(graphs())
def test_components_are_ranked_by_size(graph):
    components = find_components(graph)
    colouring = make_colouring(graph, ColourChoice("component"))
    sizes = Counter(components.tolist())
    by_colour = {}
    for node, value in enumerate(colouring.node_values.tolist()):
        by_colour.setdefault(int(value), set()).add(int(components[node]))
    assert all(len(found) == 1 for found in by_colour.values())
    ranked = [sizes[next(iter(by_colour[rank]))] for rank in range(len(sizes))]
    assert ranked == sorted(sizes.values(), reverse=True)
    assert colouring.items[0][1] == f"1 ({ranked[0]})"


@given(st.lists(st.text("ACGTacgtNRY", max_size=12), min_size=1, max_size=6))
def test_gc_content_is_counted_base_by_base(sequences):
    graph = PangenomeGraph(
        ByteStrings.from_integers(1, len(sequences)),
        np.array([len(s) for s in sequences], np.int64),
        np.empty((0, 2), np.uint32),
        (),
        np.zeros(1, np.int64),
        np.empty(0, np.uint32),
        ByteStrings.from_texts(sequences),
    )
    if not any(sequences):
        with pytest.raises(ParameterError, match="needs the nodes' sequences, and the graph has"):
            node_gc_shares(graph)
        return
    for share, sequence in zip(node_gc_shares(graph).tolist(), sequences, strict=True):
        known = [base for base in sequence.upper() if base in "ACGT"]
        n_gc = sum(base in "GC" for base in known)
        assert math.isnan(share) if not known else share == pytest.approx(n_gc / len(known))


def small_graph(*, paths=("ref",)):
    return PangenomeGraph(
        ByteStrings.from_integers(1, 4),
        np.array([10, 20, 30, 40]),
        np.empty((0, 2), np.uint32),
        paths,
        np.array([0, 4]) if paths else np.zeros(1, np.int64),
        np.array([0, 2, 4, 6] if paths else [], np.uint32),
    )


def nodes_alone(n):
    return PangenomeGraph(
        ByteStrings.from_integers(1, n),
        np.ones(n, np.int64),
        np.empty((0, 2), np.uint32),
        (),
        np.zeros(1, np.int64),
        np.empty(0, np.uint32),
    )


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        (ColourChoice("rainbow"), "the colours are 'rainbow', need one of density, depth"),
        (ColourChoice("position", ("chr9",)), "no path is named 'chr9'; the graph has ref"),
        (ColourChoice("paths", ("x",), "sample"), "no sample is named 'x'; the graph has ref"),
        (ColourChoice("paths", (), "village"), "grouped by 'village', needs one of path, sample"),
        (ColourChoice("gc"), "needs the nodes' sequences, and the graph has none"),
        (ColourChoice("annotation"), "needs annotations, and there are none"),
        (ColourChoice("table"), "needs a table, and there is none"),
    ],
)
def test_what_is_missing_is_said(choice, message):
    with pytest.raises(ParameterError, match=message):
        make_colouring(small_graph(), choice)


WITH_PATHS = [
    *("depth", "path-depth", "copies", "strand", "position", "paths", "class", "stress"),
]


@pytest.mark.parametrize("mode", WITH_PATHS)
def test_without_paths_there_is_nothing_to_colour_by(mode):
    with pytest.raises(ParameterError, match=f"colouring by {mode} needs paths"):
        make_colouring(small_graph(paths=()), ColourChoice(mode))


def test_too_many_groups_are_refused_and_sharing_is_named():
    names = tuple(f"p{i}" for i in range(30))
    graph = PangenomeGraph(
        ByteStrings.from_integers(1, 1),
        np.ones(1, np.int64),
        np.empty((0, 2), np.uint32),
        names,
        np.arange(31),
        np.zeros(30, np.uint32),
    )
    with pytest.raises(ParameterError, match="there are 30 paths, and a picture tells 21 apart"):
        make_colouring(graph, ColourChoice("paths"))
    own = tuple((name, f"#0000{rank:02x}") for rank, name in enumerate(names))
    assert make_colouring(graph, ColourChoice("paths", colours=own)).colours[-1] == "#00001d"


def test_own_colours_of_paths_are_used():
    graph = small_graph()
    choice = ColourChoice("paths", ("ref",), colours=(("ref", "#12ab34"),))
    colours, _ = draw_nodes(make_colouring(graph, choice), 4)
    assert colours == ["#12ab34"] * 4


def test_the_light_ground_has_its_own_colours_and_the_same_values():
    dark = make_colouring(small_graph(), ColourChoice("depth"))
    light = dark.on(LIGHT)
    assert light.node_values is dark.node_values
    assert (light.palette[0], dark.palette[0]) == ("#ffffff", DARK.ground)
    assert light.palette[1] == LIGHT.ramps["depth"][0]


@pytest.mark.parametrize("mode", ["density", "length", "paths"])
def test_marks_have_palette_indices_of_their_own(mode):
    colouring = make_colouring(small_graph(), ColourChoice(mode))
    palette = colouring.palette_with(["#010203", "#040506"])
    assert len(palette) == 256
    assert palette[MAX_INDEX + 1 : MAX_INDEX + 3] == ("#010203", "#040506")
    assert palette[: MAX_INDEX + 1] == colouring.palette[: MAX_INDEX + 1]
    _, picture = draw_nodes(colouring, 4)
    assert picture.indices.max() <= MAX_INDEX


@FEW
@given(graphs(), st.sampled_from(["density", "depth", "strand", "length", "sharing", "class"]))
def test_single_nodes_have_the_indices_of_the_picture(graph, mode):
    colouring = make_colouring(graph, ColourChoice(mode))
    _, picture = draw_nodes(colouring, graph.n_nodes)
    nodes = np.arange(graph.n_nodes)
    indices = colouring.node_indices(nodes, picture.levels)
    assert indices.dtype == np.uint8
    assert indices.tolist() == picture.indices[:, 1].tolist()


def test_tables_colour_by_numbers_colours_and_texts():
    columns = (
        NodeColumn("n", "numbers", np.array([1, np.nan, 3, 2], np.float32)),
        NodeColumn("c", "colours", np.array([0, -1, 1, 0], np.int32), ("#010203", "#ffffff")),
        NodeColumn("t", "texts", np.array([1, 0, -1, 1], np.int32), ("exon", "intron")),
    )
    graph, table = small_graph(), NodeTable("t.csv", columns)
    by = {c.name: make_colouring(graph, ColourChoice("table", column=c.name), table=table)
          for c in columns}  # fmt: skip
    assert by["n"].missing == "not in the table"
    assert (by["n"].title, by["n"].options["value_range"]) == ("n", (1.0, 3.0))
    assert draw_nodes(by["c"], 4)[0] == ["#010203", DARK.other, "#ffffff", "#010203"]
    exon, intron = DARK.categories[:2]
    assert draw_nodes(by["t"], 4)[0] == [intron, exon, DARK.other, intron]
    assert [name for _, name in by["t"].items] == ["exon (1)", "intron (2)", "not in the table (1)"]
    with pytest.raises(ParameterError, match="has values of 4 nodes, and the graph has 1"):
        make_colouring(nodes_alone(1), ColourChoice("table"), table=table)


def test_of_too_many_texts_and_colours_the_rare_ones_are_merged():
    n = 500
    graph = nodes_alone(n)
    codes = np.arange(n, dtype=np.int32) % 300
    texts = NodeColumn("t", "texts", codes, tuple(f"t{i}" for i in range(300)))
    shades = tuple(f"#{i:02x}{i // 2:02x}{255 - i % 256:02x}" for i in range(256))
    shades += tuple(f"#ff{i:02x}00" for i in range(44))
    colours = NodeColumn("c", "colours", codes, shades)
    table = NodeTable("t.csv", (texts, colours))
    by_text = make_colouring(graph, ColourChoice("table", column="t"), table=table)
    frequent = by_text.node_values[:200]
    assert len(set(frequent.tolist())) == 200
    assert (by_text.node_values[200:300] == 0).all()
    assert by_text.items[-1][1] == "100 rarer texts, or not in the table (100)"
    by_colour = make_colouring(graph, ColourChoice("table", column="c"), table=table)
    assert "100 rarer colours are drawn as the nearest of these" in by_colour.note
    drawn = [by_colour.colours[int(value)] for value in by_colour.node_values]
    for node, colour in enumerate(drawn):
        assert colour == shades[codes[node]] or codes[node] >= 200


@pytest.fixture
def placed(tmp_path):
    def place(text, name="a.bed"):
        path = tmp_path / name
        path.write_text(text)
        graph = small_graph()
        return graph, place_annotations(graph, read_annotations(path))

    return place


def test_the_shortest_annotation_of_a_node_is_shown_and_said(placed):
    graph, found = placed("ref\t0\t60\tgene\nref\t10\t30\texon\nref\t60\t61\tsnp\n")
    colouring = by_annotation(graph, found)
    names = dict(zip([0, 1, 2], ["gene", "exon", "snp"], strict=True))
    colours, picture = draw_nodes(colouring, 4)
    legend = {name.split(" ")[0]: colour for colour, name in colouring.legend(picture).items}
    assert colours == [legend["gene"], legend["exon"], legend["gene"], legend["snp"]]
    assert len({legend[name] for name in names.values()}) == 3
    assert colouring.note == "1 node has several, the shortest is shown"


def test_annotations_that_are_short_on_average_are_over_longer_ones(placed):
    """``rare`` has one of 12 bp, ``frequent`` two of 10 bp on average."""
    rows = "ref\t0\t12\trare\nref\t0\t5\tfrequent\nref\t5\t20\tfrequent\n"
    _, found = placed(rows)
    _, names, _ = annotation_colours._label(found, "name")
    assert list(names) == ["rare", "frequent"]


def test_colours_of_the_file_are_kept(placed):
    rows = "ref\t0\t10\tx\t0\t+\t0\t10\t255,0,16\nref\t30\t60\ty\t0\t+\t30\t60\t0,128,0\n"
    graph, found = placed(rows)
    colouring = by_annotation(graph, found)
    assert draw_nodes(colouring, 4)[0] == ["#ff0010", DARK.other, "#008000", DARK.other]
    assert {name for _, name in colouring.items} == {
        "x (1)",
        "y (1)",
        "without annotation (2)",
    }
    by_name = by_annotation(graph, found, "name")
    assert draw_nodes(by_name, 4)[0][0] in DARK.categories
    with pytest.raises(ParameterError, match="coloured by 'size', needs one of name, type, colour"):
        by_annotation(graph, found, "size")
    with pytest.raises(ParameterError, match="placed on another graph"):
        by_annotation(small_graph(), found)


def test_every_mode_colours_real_haplotypes():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"), cache=False)
    found = place_annotations(graph, read_annotations(real_data("gfa/chr6.C4.bed")))
    for mode in MODES:
        if mode in ("table", "stress"):
            continue
        group_by = "sample" if mode in ("sharing", "class") else "path"
        paths = graph.path_names[:2] if mode == "paths" else ()
        choice = ColourChoice(mode, paths, group_by)
        colouring = make_colouring(graph, choice, annotations=found)
        _, picture = draw_nodes(colouring, graph.n_nodes)
        assert colouring.legend(picture).title
    samples = {name.split("#")[0] for name in graph.path_names}
    sharing = make_colouring(graph, ColourChoice("sharing", group_by="sample"))
    assert sharing.title == f"Samples on a node (of {len(samples)})"
    on_node = {
        name.split("#")[0]
        for path, name in enumerate(graph.path_names)
        if (graph.path_steps(path) >> 1 == 100).any()
    }
    assert sharing.node_values[100] == len(on_node)


def test_groups_of_walks_and_paths_of_one_file():
    graph = read_gfa(real_data("gfa/hprc_RHCE.gfa.gz"), sequences=False, cache=False)
    groups = group_paths(graph, "sample")
    assert set(groups.names) == {
        name.split("[")[0].split(":")[0].split("#")[0] for name in graph.path_names
    }
    shares = make_colouring(graph, ColourChoice("strand")).node_values
    steps = graph.steps
    assert np.nansum(shares * graph.node_depths) / 100 == pytest.approx((steps & 1).sum(), rel=1e-5)


def test_core_shell_and_private_nodes_of_real_haplotypes():
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"), sequences=False, cache=False)
    on_path = [set((graph.path_steps(path) >> 1).tolist()) for path in range(graph.n_paths)]
    counts = Counter(node for nodes in on_path for node in nodes)
    n_core = sum(count == 12 for count in counts.values())
    n_private = sum(count == 1 for count in counts.values())
    colouring = make_colouring(graph, ColourChoice("class"))
    assert [name for _, name in colouring.items] == [
        f"core: all 12 paths ({n_core:,})",
        f"shell: some ({len(counts) - n_core - n_private:,})",
        f"private: one ({n_private:,})",
        *(
            [f"none of these paths ({graph.n_nodes - len(counts):,})"]
            if len(counts) < graph.n_nodes
            else []
        ),
    ]
    layout = read_layout(real_data("layouts/DRB1-3123.odgi.lay"), graph)
    drawing = LayoutDrawing(
        layout.coordinates, node_values=colouring.node_values, nodes=sorted(on_path[0])
    )
    view = Viewport.fit(drawing.bounds, 600, 400)
    picture = drawing.draw(view, **colouring.options)
    shown = {colouring.palette[index] for index in np.unique(picture.indices) if index}
    assert shown <= {DARK.colour(colour) for colour in colouring.colours}
    assert DARK.categories[6] in shown


@pytest.mark.parametrize("value", [0.0, 3.0, -1e6, 1e6, 1e16, -1e30, 3e38])
def test_one_value_of_all_nodes_has_the_first_colour(value):
    colouring = by_numbers(np.full(3, value), "value", ramp="depth", is_heavy_tailed=value > 0)
    found, picture = draw_nodes(colouring, 3)
    assert found == [colouring.palette[1]] * 3
    assert colouring.legend(picture).ticks()[0][0] == pytest.approx(value, rel=1e-6)
