"""Places of a genome are found on the paths of a graph, where only one is meant."""

from __future__ import annotations

import pytest

from genoviz.io.graph.gfa import read_gfa
from genoviz.model import PathRegion
from genoviz_app.session.graph_places import on_graph

GFA = """S\t1\tACGTACGTAC
S\t2\tGGGGGTTTTT
P\tone#chr6:1000-1020\t1+,2+\t*
P\ttwo#chr6:5000-5020\t2+,1+\t*
P\tthree#0#chr6:5010-5020\t1+\t*
P\t9\t1+\t*
P\tHG1#1#c20\t1+,2+\t*
P\tref#0#c20\t2+,1+\t*
P\tHG1#2#c20\t1+,2+\t*
P\tHG1#2#c21\t1+,2+\t*
P\tHG1#1#c21\t1+,2+\t*
"""


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (("chr6", 1004, 1006), ("one#chr6:1000-1020", 4, 6)),
        (("chr6", 990, 1006), ("one#chr6:1000-1020", 0, 6)),
        (("chr6", 5002, 5004), ("two#chr6:5000-5020", 2, 4)),
        (("chr6", 5012, 5014), ("chr6", 5012, 5014)),  # two samples have it
        (("chr6", 3000, 3001), ("chr6", 3000, 3001)),  # none has it
        (("two#chr6", 5012, 5014), ("two#chr6:5000-5020", 12, 14)),
        (("chr7", 1004, 1006), ("chr7", 1004, 1006)),
        (("6", 1004, 1006), ("one#chr6:1000-1020", 4, 6)),  # its other name
        (("6", 3000, 3001), ("6", 3000, 3001)),
        (("chr9", 4, 60), ("9", 4, 10)),  # as far as there is a path
        (("9", 12, 14), ("9", 12, 14)),
        (("c20", 12, 14), ("ref#0#c20", 12, 14)),  # the reference of the samples
        (("c21", 12, 14), ("c21", 12, 14)),
    ],
)
def test_a_place_of_a_contig_of_several_samples(tmp_path, place, expected):
    path = tmp_path / "three.gfa"
    path.write_text(GFA)
    assert on_graph(read_gfa(path), PathRegion(*place)) == PathRegion(*expected)
