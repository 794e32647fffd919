"""The node under the pointer is described, and is looked for again as the layout moves."""

from __future__ import annotations

from genoviz_app.pages.pangenome.picture.frames import FoundNode, Hovering
from genoviz_app.pages.pangenome.picture.live_picture import describe_node


def test_a_node_is_described(graph):
    assert describe_node(graph, 2) == "Node s3\n6 bp\nDepth 1 step"
    assert describe_node(graph, 0) == "Node s1\n4 bp\nDepth 2 steps"


def test_the_node_is_that_under_the_pointer_until_it_leaves():
    nodes = {(1.0, 1.0): FoundNode(3, "Node a", ((0, 0, 2, 2),))}
    hovering = Hovering(lambda x, y: nodes.get((x, y)))
    assert hovering.look() is None
    assert hovering.point(1.0, 1.0) == {"text": "Node a", "lines": [[0, 0, 2, 2]]}
    assert hovering.point(5.0, 5.0) is None
    hovering.point(1.0, 1.0)
    nodes[(1.0, 1.0)] = FoundNode(4, "Node c", ((1, 1, 1, 1),))
    assert hovering.look()["text"] == "Node c", "the layout moved under a pointer that rests"
    hovering.leave()
    assert hovering.look() is None
