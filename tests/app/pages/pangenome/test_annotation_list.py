"""Annotations are listed, labelled and coloured as they lie on the paths."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from genoviz.analyses.graph.query.annotate import place_annotations
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import PathRegion
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.annotations import (
    AnnotationList,
    boxes_on_path,
    labels_of,
)
from genoviz_app.pages.pangenome.paths.linear_view import PathView
from genoviz_app.plots.annotation_rows import LABEL_OFFSET, AnnotationBoxes, pack_boxes
from tests.app.conftest import poll_until
from tests.conftest import real_data

BED = "alt\t4\t10\tgene\nalt\t0\t2\tstart\t0\t-\nnowhere\t0\t9\tlost\n"


@pytest.fixture
def listed(session, graph_file, tmp_path):
    """The small graph, its view and its list of annotations."""
    (tmp_path / "a.bed").write_text(BED)
    (tmp_path / "b.bed").write_text("ref\t0\t7\twhole\n")
    session.open(str(graph_file))
    poll_until(session.poll, lambda: session.graphs.opening is None)
    view = LayoutView(submit=session.submit)
    panel = AnnotationList(session, view)
    view.set_graph(session.opened.graph)
    panel.set_graph(session.opened.graph)

    def poll():
        session.poll()
        panel.poll()

    return SimpleNamespace(session=session, view=view, panel=panel, poll=poll, folder=tmp_path)


def names(listed):
    return listed.panel.table.table.value["Name"].tolist()


def test_a_file_is_added_listed_labelled_and_taken_away(listed):
    panel = listed.panel
    assert "Add a BED" in panel.table.count.object
    assert panel.labels.disabled
    panel.open_file(str(listed.folder / "a.bed"))
    poll_until(listed.poll, lambda: names(listed) == ["gene", "start"])
    frame = panel.table.table.value
    assert frame["Path"].tolist() == ["alt", "alt"]
    assert frame[["Start (bp)", "End (bp)", "Length (bp)"]].values.tolist() == [
        [5, 10, 6],
        [1, 2, 2],
    ]
    assert frame["Strand"].tolist() == ["", "-"]
    assert panel.summary.object == "2 of 3 annotations lie on paths."
    assert "nowhere" in panel.notes.object
    poll_until(listed.poll, lambda: listed.view.picture.notes.labels)
    assert [(label.node, label.text) for label in listed.view.picture.notes.labels] == [
        (2, "gene"),
        (0, "start"),
    ]
    panel.labels.value = False
    assert listed.view.picture.notes.labels == ()
    listed.session.graphs.close_annotations(listed.session.annotation_files.files[0])
    poll_until(listed.poll, lambda: listed.session.annotation_files.placed is None)
    assert names(listed) == []


def test_uploads_are_opened_one_after_the_other(listed):
    listed.panel.upload.value = {
        name: (listed.folder / name).read_bytes() for name in ("a.bed", "b.bed")
    }
    poll_until(listed.poll, lambda: names(listed) == ["gene", "start", "whole"])
    assert listed.panel.upload.value == {}
    assert len(listed.panel.files.objects) == 2


def test_a_row_becomes_the_region_and_is_shown(listed, monkeypatch):
    looked = []
    monkeypatch.setattr(
        listed.panel._nodes, "_on_answer", lambda nodes: looked.append(nodes.tolist())
    )
    listed.panel.open_file(str(listed.folder / "a.bed"))
    poll_until(listed.poll, lambda: len(names(listed)) == 2)
    listed.panel.table.search.value_input = "STA"
    assert names(listed) == ["start"]
    listed.panel.table._on_click(SimpleNamespace(row=0))
    assert listed.session.region == PathRegion("alt", 0, 2)
    poll_until(listed.poll, lambda: looked == [[0]])
    for clicked in listed.view.picture._label_callbacks:
        clicked(0)
        clicked(99)
    assert listed.session.region == PathRegion("alt", 4, 10)
    assert names(listed) == ["gene", "start"], "the search would hide it"
    assert listed.panel.table.table.selection == [0]
    listed.poll()
    assert looked == [[0]], "the picture stays where it is"


def test_the_switch_and_the_field_for_colours_agree(listed):
    panel, bar = listed.panel, listed.view.bar.colours
    panel.open_file(str(listed.folder / "a.bed"))
    poll_until(listed.poll, lambda: listed.session.annotation_files.placed is not None)
    bar.set_annotations(listed.session.annotation_files.placed)
    panel.colours.value = True
    assert listed.view.picture.choice.mode == "annotation"
    bar.mode.value = "length"
    listed.poll()
    assert panel.colours.value is False
    assert listed.view.picture.choice.mode == "length"


def test_the_path_view_turns_to_the_path_that_has_annotations(listed):
    path_view = PathView(listed.session, listed.view)
    path_view.set_graph(listed.session.opened.graph)
    assert path_view.path.value == "ref"
    listed.panel.open_file(str(listed.folder / "a.bed"))
    poll_until(listed.poll, lambda: path_view.path.value == "alt")
    poll_until(
        lambda: (listed.poll(), path_view.poll()),
        lambda: path_view.track._sources["boxes"].data["name"],
    )
    boxes = path_view.track._sources["boxes"].data
    assert boxes["name"] == ["gene", "start"]
    assert boxes["left"].tolist() == [4, 0]
    path_view.track.on_box(0)
    assert listed.session.region == PathRegion("alt", 4, 10)


def test_genes_of_a_real_graph_lie_where_its_path_name_says():
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"))
    bed = read_annotations(real_data("gfa/chr6.C4.bed"))
    placed = place_annotations(graph, bed)
    path = int(placed.paths[0])
    offset = int(graph.path_names[path].split(":")[1].split("-")[0])
    boxes = boxes_on_path(placed, path)
    assert list(boxes.names) == ["C4A", "C4A_HERV-K", "C4B", "C4B_HERV-K"]
    assert (boxes.starts + offset).tolist() == bed.starts.tolist()
    assert (boxes.ends + offset).tolist() == bed.ends.tolist()
    for label in labels_of(placed, limit=10):
        place = list(boxes.names).index(label.text)
        assert label.node in placed.nodes(place)
    assert len(labels_of(placed, limit=2)) == 2


@pytest.mark.parametrize("width", [500, 90])
def test_boxes_and_their_names_never_meet_in_a_row(width):
    """In the narrow window, some names fit neither behind their box nor before it."""
    generator = np.random.default_rng(1)
    starts = generator.integers(0, 10_000, 80)
    ends = starts + generator.integers(0, 900, 80)
    names = ["n" * int(n) for n in generator.integers(0, 12, 80)]
    boxes = AnnotationBoxes(starts, ends, names, ["#ffffff"] * 80, [""] * 80)
    packed, bp = pack_boxes(boxes, 1000, 6000, width=width, n_rows=6), 5000 / width
    in_view = (starts < 6000) & (ends > 1000)
    assert packed.n_in_view == in_view.sum()
    assert in_view[packed.boxes].all()
    assert 6 >= packed.n_rows > 1
    n_beside = n_crossed = 0
    for row in range(6):
        spans = []
        for box in packed.boxes[packed.rows == row]:
            left, right = max((starts[box] - 1000) / bp, 0), (ends[box] - 1000) / bp
            label = (packed.label_starts[packed.boxes == box][0] - 1000) / bp + LABEL_OFFSET
            length = 6.4 * len(names[box])
            spans.append((min(left, label), max(right, label + length)))
            # It is drawn across no edge of its box, unless there is room neither behind nor before.
            is_crossed = any(label < edge < label + length - 1e-6 for edge in (left, right))
            assert not is_crossed or (right + length + 4 > width and left < length + 8)
            n_crossed += is_crossed
            n_beside += label >= right or label + length <= left
        spans.sort()
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert n_beside > 3 or n_crossed > 0
