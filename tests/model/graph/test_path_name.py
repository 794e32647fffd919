"""Names of paths are read as the tools that write them mean them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import read_gfa
from genoviz.model import PathName
from tests.conftest import real_data
from tests.graphs import make_graph


@pytest.mark.parametrize(
    ("text", "sample", "haplotype", "contig", "start", "end"),
    [
        ("chr6", None, None, "chr6", 0, None),
        ("grch38#chr6:31972046-32055647", "grch38", None, "chr6", 31972046, 32055647),
        ("HG00438#2#JAHBCA010000042.1:5-9", "HG00438", "2", "JAHBCA010000042.1", 5, 9),
        ("CHM13#0#0:0-4920303", "CHM13", "0", "0", 0, 4920303),
        ("chr1[700]", None, None, "chr1", 700, None),
        ("chr1[700-900]", None, None, "chr1", 700, 900),
        ("GRCh38#0#chr1[700-900][5]:2-8", "GRCh38", "0", "chr1", 707, 713),
        (
            "HG00621.1.JAHBCD010000037.1[0-35449780][26254622]#0#0:0-633212",
            "HG00621.1.JAHBCD010000037.1",
            "0",
            "0",
            26254622,
            26887834,
        ),
        (
            "CHM13.0.chr1[16184045-121670597][8705508]#0#0:0-633151",
            "CHM13.0.chr1",
            "0",
            "0",
            24889553,
            25522704,
        ),
        ("a#1#chr6#part:3-4", "a", "1", "chr6#part", 3, 4),
        ("odd:9-2", None, None, "odd:9-2", 0, None),
        ("HLA:01:01", None, None, "HLA:01:01", 0, None),
        (":1-2", None, None, ":1-2", 0, None),
    ],
)
def test_parts(text, sample, haplotype, contig, start, end):
    assert PathName.parse(text) == PathName(text, sample, haplotype, contig, start, end)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("chr6", 0),
        ("x#0#chr6:100-200", 100),
        ("chr6[100]", 100),
        ("a[3-99][20]#0#0:0-50", 23),
        ("odd:9-2", 0),
    ],
)
def test_name_of_a_part_counts_on_from_the_start_of_the_whole(text, start):
    part = PathName.parse(PathName.parse(text).cut(10, 15))
    assert (part.start, part.end) == (start + 10, start + 15)
    assert part.whole == PathName.parse(text).whole


def test_closed_ranges_of_ncbi_start_one_base_earlier():
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"), cache=False)
    assert graph.path_names[0] == "gi|568815592:32578768-32589835"
    assert graph.path_lengths[0] == 11_068
    assert graph.path_starts[0] == 32_578_767


@pytest.mark.parametrize("name", ["chr6.C4", "micb-kir3dl1", "MHC_4", "hprc_RHCE"])
def test_half_open_ranges_of_real_names_end_where_the_path_does(name):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    n_with_end = 0
    for path, parsed in enumerate(graph.parsed_path_names):
        assert graph.path_starts[path] == parsed.start
        if parsed.end is not None:
            n_with_end += 1
            assert parsed.end == parsed.start + graph.path_lengths[path]
    assert n_with_end >= 5


def test_a_range_of_a_walk_is_0_based_whatever_its_length():
    graph = replace(make_graph([3], [[1], [1]]), path_names=("c:8-10", "s#1#c:8-10"))
    assert graph.path_starts.tolist() == [7, 7]
    walks = np.array([False, True])
    assert replace(graph, walks=walks).path_starts.tolist() == [7, 8]
