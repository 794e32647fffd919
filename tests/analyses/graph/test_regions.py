"""Regions are found as people write them, on the names that real graphs have."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest

from genoviz import read_gfa
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from tests.conftest import REAL_GRAPHS, real_data
from tests.graphs import make_graph


@cache
def real_graph(name):
    return read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)


C4 = "grch38#chr6:31972046-32055647"
RHCE = "HG00621.1.JAHBCD010000037.1[0-35449780][26254622]#0#0:0-633212"
DRB1 = "gi|568815592:32578768-32589835"
MICB = "GRCh38#0#chr6:31498140-31511173"


@pytest.mark.parametrize(
    ("graph", "text", "path", "start", "end"),
    [
        ("chr6.C4", "grch38#chr6:31982057-32002681", C4, 10_011, 30_635),
        ("chr6.C4", " grch38#chr6:31,982,057-32,002,681 ", C4, 10_011, 30_635),
        ("chr6.C4", f"{C4}:10-20", C4, 10, 20),
        ("chr6.C4", f"{C4}:83,600", C4, 83_600, 83_601),
        ("chr6.C4", f"{C4}:83000-999999", C4, 83_000, 83_601),
        ("chr6.C4", C4, C4, 0, 83_601),
        ("chr6.C4", "grch38#chr6", C4, 0, 83_601),
        ("chr6.C4", "grch38", C4, 0, 83_601),
        ("chr6.C4", "grch38:31972046", C4, 0, 1),
        ("chr6.C4", "grch38#chr6:1-31972050", C4, 0, 4),
        (
            "chr6.C4",
            "JAHBCB010000040.1:24,270,000-24,270,010",
            "HG00438#1#JAHBCB010000040.1:24269348-24320210",
            652,
            662,
        ),
        (
            "chr6.C4",
            "HG00438#1:24270000",
            "HG00438#1#JAHBCB010000040.1:24269348-24320210",
            652,
            653,
        ),
        ("hprc_RHCE", "HG00621.1.JAHBCD010000037.1:26254700-26255000", RHCE, 78, 378),
        ("hprc_RHCE", "HG00621.1.JAHBCD010000037.1#0#0:26254700", RHCE, 78, 79),
        ("hprc_RHCE", f"{RHCE}:78", RHCE, 78, 79),
        ("hprc_RHCE", "GRCh38.chr1:10-20", "GRCh38.chr1", 10, 20),
        ("MHC_4", "CHM13:100-200", "CHM13#0#0:0-4920303", 100, 200),
        ("MHC_4", "HG002#1#1:5042921", "HG002#1#1:0-5042922", 5_042_921, 5_042_922),
        ("DRB1-3123", "gi|568815592:32578767-32578777", DRB1, 0, 10),
        ("DRB1-3123", DRB1, DRB1, 0, 11_068),
        ("micb-kir3dl1", "GRCh38#chr6:31498140-31500000", MICB, 0, 1860),
        ("hprc_chrY.noseq", "chrY:5-9", "GRCh38#0#chrY", 5, 9),
        ("chr5.yeast", "ABQ_6.ChrX:5-9", "ABQ_6.ChrX", 5, 9),
    ],
)
def test_region_of_a_real_graph(graph, text, path, start, end):
    assert resolve_region(real_graph(graph), text) == (PathRegion(path, start, end),)


def named_graph(*names):
    graph = make_graph([100, 50], [[1, 2]] * len(names))
    return type(graph)(
        graph.node_names,
        graph.node_lengths,
        graph.edges,
        names,
        graph.path_offsets,
        graph.steps,
    )


def test_each_sub_path_gives_its_part():
    graph = named_graph("a#1#c:0-150", "a#1#c:200-350", "a#1#c[400]", "b#1#c:0-150")
    assert resolve_region(graph, "a#1#c:100-420") == (
        PathRegion("a#1#c:0-150", 100, 150),
        PathRegion("a#1#c:200-350", 0, 150),
        PathRegion("a#1#c[400]", 0, 20),
    )
    assert [region.path for region in resolve_region(graph, "a#1#c")] == list(graph.path_names[:3])
    assert len(resolve_region(graph, "a#1#c:160-201")) == 1


def test_an_exact_name_goes_before_a_contig():
    graph = named_graph("c", "c:1000-1150")
    assert resolve_region(graph, "c:5-1010") == (PathRegion("c", 5, 150),)
    assert resolve_region(graph, "c:1000-1150") == (PathRegion("c:1000-1150", 0, 150),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("chr7", r"no path or contig is named 'chr7'; the graph has chm13#chr6, .* and 86 more"),
        ("chr7:5-9", r"no path or contig is named 'chr7'"),
        ("chr6:5-9", r"'chr6' could be any of 2 contigs, needs one of chm13#chr6, grch38#chr6"),
        ("grch38#chr6:9-5", r"ends at 5, needs an end after its start"),
        ("grch38#chr6:5-5", r"ends at 5, needs an end after its start"),
        ("grch38#chr6:5-9", r"not in the graph, which has 31,972,046-32,055,647 of that contig"),
        (f"{C4}:83601-83602", r"lies outside its path, which has 83,601 bp"),
        ("grch38#chr6:x-y", r"region is 'grch38#chr6:x-y', needs a path, path:position or"),
        ("", r"region is '', needs a path"),
        (":5-9", r"needs a path"),
    ],
)
def test_what_cannot_be_found_says_what_is_there(text, message):
    with pytest.raises(ParameterError, match=message):
        resolve_region(real_graph("chr6.C4"), text)


def test_a_graph_without_paths_says_so():
    with pytest.raises(ParameterError, match="the graph has none at all"):
        resolve_region(make_graph([1], []), "chr1")


def contig_and_start(name):
    """Return contig and first base of a name, as by hand: the innermost range is within others."""
    start = 0
    name, *brackets = re.split(r"\[(\d+)(?:-\d+)?\]", name)
    if brackets:
        start, rest = sum(int(text) for text in brackets[0::2]), "".join(brackets[1::2])
        name += rest
    contig, colon, span = name.rpartition(":")
    if not colon or "-" not in span:
        return name, start
    return contig, start + int(span.split("-")[0]) - name.startswith("gi|")


@pytest.mark.parametrize("name", REAL_GRAPHS)
def test_contig_coordinates_are_path_positions(name):
    graph = real_graph(name)
    generator = np.random.default_rng(2)
    for path in {0, *generator.integers(0, graph.n_paths, 12).tolist()}:
        contig, first = contig_and_start(graph.path_names[path])
        length = int(graph.path_lengths[path])
        for place in (0, length - 1, *generator.integers(0, length, 3).tolist()):
            region = PathRegion(graph.path_names[path], place, place + 1)
            assert resolve_region(graph, f"{contig}:{first + place}") == (region,)
            assert resolve_region(graph, f"{graph.path_names[path]}:{place:,}") == (region,)
