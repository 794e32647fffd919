"""FASTA says what the paths say, and lists of nodes are read as they were written."""

from __future__ import annotations

import dataclasses
import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import read_gfa
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.analyses.graph.query.sequences import (
    iter_node_records,
    iter_region_records,
    region_sequence,
)
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.node_list import read_node_list, write_node_list
from genoviz.io.sequences.fasta import write_fasta
from genoviz.model import ByteStrings, PathRegion
from genoviz.model.sequences.bases import reverse_complement
from tests.conftest import real_data
from tests.graphs import make_graph
from tests.oracles.paths import path_sequence


def read_fasta(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as file:
        blocks = file.read().split(">")[1:]
    return [(block.split("\n")[0], "".join(block.split("\n")[1:])) for block in blocks]


def as_array(text):
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize("name", ["DRB1-3123", "chr6.C4", "micb-kir3dl1"])
def test_sequences_of_real_regions(name, tmp_path):
    graph = read_gfa(real_data(f"gfa/{name}.gfa.gz"), cache=False)
    generator = np.random.default_rng(6)
    regions, expected = [], []
    for path in generator.integers(0, graph.n_paths, 8).tolist():
        length = int(graph.path_lengths[path])
        start, end = sorted(generator.choice(length + 1, 2, replace=False).tolist())
        regions.append(PathRegion(graph.path_names[path], start, end))
        expected.append(path_sequence(graph, path)[start:end])
    write_fasta(iter_region_records(graph, regions), tmp_path / "a.fa.gz")
    read = read_fasta(tmp_path / "a.fa.gz")
    assert [sequence for _, sequence in read] == expected
    assert [resolve_region(graph, header) for header, _ in read] == [(r,) for r in regions]


def test_sequences_of_nodes(tmp_path):
    graph = read_gfa(real_data("gfa/DRB1-3123.gfa.gz"), cache=False)
    write_fasta(iter_node_records(graph, [30, 7, 7]), tmp_path / "a.fa")
    names = [graph.node_names[node] for node in (7, 30)]
    assert read_fasta(tmp_path / "a.fa") == [
        (name, graph.node_sequences[node]) for name, node in zip(names, (7, 30), strict=True)
    ]


def test_complement_of_every_code_is_that_of_its_bases():
    codes = {
        "A": "A",
        "C": "C",
        "G": "G",
        "T": "T",
        "R": "AG",
        "Y": "CT",
        "S": "CG",
        "W": "AT",
        "K": "GT",
        "M": "AC",
        "B": "CGT",
        "D": "AGT",
        "H": "ACT",
        "V": "ACG",
        "N": "ACGT",
    }
    pair = dict(zip("ACGT", "TGCA", strict=True))
    for code, bases in codes.items():
        complement = "".join(sorted(pair[base] for base in bases))
        (expected,) = (other for other, meant in codes.items() if meant == complement)
        assert reverse_complement(as_array(code)).tobytes().decode() == expected
        assert reverse_complement(as_array(code.lower())).tobytes().decode() == expected.lower()
    assert reverse_complement(as_array("AU-n")).tobytes() == b"n-AT"


@given(st.text("ACGTRYSWKMBDHVNacgtn", max_size=50))
def test_two_complements_are_the_sequence(text):
    assert reverse_complement(reverse_complement(as_array(text))).tobytes() == text.encode()


@pytest.mark.parametrize("width", [0, 1, 7, 60, 10**7])
@pytest.mark.parametrize("length", [0, 1, 59, 60, 61, 120, 3_000_001])
def test_lines_have_one_width(tmp_path, width, length):
    if width == 1 and length > 1000:
        length = 5000
    text = ("ACGTN" * (length // 5 + 1))[:length]
    path = tmp_path / "a.fa"
    write_fasta([("s 1", as_array(text)), ("t", as_array("A"))], path, line_width=width)
    lines = path.read_text().split("\n")
    assert read_fasta(path) == [("s 1", text), ("t", "A")]
    widths = [len(line) for line in lines[1 : lines.index(">t")]]
    step = width or max(length, 1)
    assert widths == [step] * (length // step) + [length % step] * (length % step > 0)


def test_many_small_records_are_packed_together(tmp_path):
    records = [(f"s{k}", as_array("ACGT")) for k in range(20_000)]
    write_fasta(records, tmp_path / "a.fa.gz")
    assert (tmp_path / "a.fa.gz").stat().st_size < 90_000
    assert read_fasta(tmp_path / "a.fa.gz") == [(name, "ACGT") for name, _ in records]


def test_node_lists(tmp_path):
    graph = dataclasses.replace(
        make_graph([1] * 3, []), node_names=ByteStrings.from_texts(["s1", "chr 2", "é"])
    )
    for name in ("a.txt", "a.txt.gz"):
        write_node_list(graph, [2, 0, 1], tmp_path / name)
        assert read_node_list(graph, tmp_path / name).tolist() == [2, 0, 1]
    (tmp_path / "b.txt").write_text("# nodes\n\ns1\t99\r\nchr 2\n")
    assert read_node_list(graph, tmp_path / "b.txt").tolist() == [0, 1]
    (tmp_path / "c.txt").write_text("s1\ns9\n")
    with pytest.raises(FileFormatError, match=r"c.txt, line 2: the graph has no node 's9'"):
        read_node_list(graph, tmp_path / "c.txt")


def sequenced_graph():
    sequences = ByteStrings.from_texts(["ACG", "", "TT"])
    return dataclasses.replace(make_graph([3, 2, 2], [[1, -3], [2]]), node_sequences=sequences)


def test_a_region_without_length_has_no_bases():
    assert len(region_sequence(sequenced_graph(), PathRegion("path0", 2, 2))) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda graph: region_sequence(graph, PathRegion("path1", 0, 2)),
            r"node '2' has no sequence in the graph \('\*'\), needs one",
        ),
        (lambda graph: list(iter_node_records(graph, [0, 1])), "node '2' has no sequence"),
        (
            lambda graph: list(
                iter_node_records(dataclasses.replace(graph, node_sequences=None), [0])
            ),
            "the graph was opened without its sequences",
        ),
    ],
)
def test_sequences_that_are_not_there_are_named(call, message):
    with pytest.raises(ParameterError, match=message):
        call(sequenced_graph())


def test_what_cannot_be_written_leaves_no_file(tmp_path):
    with pytest.raises(ParameterError, match=r"a sequence is named 'a\\nb', needs a name on one"):
        write_fasta([("s", as_array("A")), ("a\nb", as_array("A"))], tmp_path / "a.fa")
    with pytest.raises(ParameterError, match="line_width is -1, needs at least 0"):
        write_fasta([], tmp_path / "a.fa", line_width=-1)
    assert list(tmp_path.iterdir()) == []
