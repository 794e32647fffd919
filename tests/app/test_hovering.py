"""The node under the pointer is found as it is seen, also where the picture is stretched."""

from __future__ import annotations

import pytest
from bokeh.plotting import figure

from app.pages.pangenome.hovering import FoundNode, Hovering, pixels_away
from app.pages.pangenome.live_picture import describe_node
from genoviz.analyses.viewport import Viewport

STRETCHED = Viewport(0, 1000, 0, 10, 100, 100)  # 10 bp wide and 0.1 bp high pixels


@pytest.mark.parametrize(
    ("point", "ends", "pixels"),
    [
        ((500, 5), (400, 5, 600, 5), 0),
        ((500, 6), (400, 5, 600, 5), 10),
        ((700, 5), (400, 5, 600, 5), 10),
        ((530, 5.4), (500, 5, 500, 5), 5),
        ((0, 0), (100, 0, 0, 1), 50**0.5),
    ],
)
def test_distance_is_that_on_the_screen(point, ends, pixels):
    assert pixels_away(*point, ends, STRETCHED) == pytest.approx(pixels)


def test_a_node_is_described(graph):
    assert describe_node(graph, 2) == "Node s3\n6 bp\nDepth 1 step"
    assert describe_node(graph, 0) == "Node s1\n4 bp\nDepth 2 steps"


def test_label_and_highlight_follow_the_pointer_and_leave_with_it():
    nodes = {
        (1.0, 1.0): FoundNode("Node a", (0, 0, 2, 2)),
        (9.0, 9.0): FoundNode("Node b", (9, 9, 9, 9)),
    }
    hovering = Hovering(lambda x, y: nodes.get((x, y)))
    hovering.attach(figure(x_range=(0, 10), y_range=(0, 10)))
    label, highlight = hovering._label, hovering._highlight

    def point(x, y):
        hovering._pointer.data = {"x": x, "y": y}

    point([1.0], [1.0])
    assert (label.visible, label.text, label.text_align) == (True, "Node a", "left")
    assert highlight.data["x1"] == [2]
    point([9.0], [9.0])
    assert (label.text, label.text_align) == ("Node b", "right")
    point([5.0], [5.0])
    assert (label.visible, highlight.data["x0"]) == (False, [])
    point([1.0], [1.0])
    nodes[(1.0, 1.0)] = FoundNode("Node c", (1, 1, 1, 1))
    hovering.refresh()
    assert label.text == "Node c", "the layout moved under a pointer that rests"
    point([], [])
    assert not label.visible
