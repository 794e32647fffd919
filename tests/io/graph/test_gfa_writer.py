"""write_gfa: the same graph comes back, and files appear whole or not at all."""

from __future__ import annotations

import gzip
from dataclasses import replace

import numpy as np
import pytest

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph import gfa_writer
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.model import ByteStrings, PangenomeGraph
from tests.conftest import real_data
from tests.io.graph.test_gfa import as_oracle
from tests.oracles.gfa import read_gfa_text


def make_graph(names=("1", "b"), lengths=(4, 7), sequences=("ACGT", ""), paths=("x", "y")):
    n_steps = 3 * bool(paths)
    return PangenomeGraph(
        ByteStrings.from_texts(names),
        np.array(lengths, np.int64),
        np.array([[0, 2], [3, 1]], np.uint32),
        paths,
        np.array([0] * len(paths) + [n_steps], np.int64),
        np.array([0, 3, 2][:n_steps], np.uint32),
        None if sequences is None else ByteStrings.from_texts(sequences),
    )


def test_the_text_is_gfa_1(tmp_path):
    write_gfa(make_graph(), tmp_path / "graph.gfa")
    assert (tmp_path / "graph.gfa").read_bytes() == (
        b"H\tVN:Z:1.0\nS\t1\tACGT\nS\tb\t*\tLN:i:7\nL\t1\t+\tb\t+\t0M\nL\tb\t-\t1\t-\t0M\n"
        b"P\tx\t*\t*\nP\ty\t1+,b-,b+\t*\n"
    )


def test_walks_and_tags_are_written_as_they_were_read(tmp_path):
    text = (
        b"H\tVN:Z:1.1\nS\t1\tACGT\tSN:Z:chr1\tSO:i:0\tSR:i:0\nS\tb\t*\tLN:i:7\txx:Z:a b\n"
        b"L\t1\t+\tb\t-\t0M\tSR:i:0\tL1:i:4\nL\tb\t-\t1\t+\t0M\nL\t1\t+\t1\t+\t0M\tSR:i:1\n"
        b"P\tx\t1+,b-\t*\nW\ta#b\t0\tchr#6\t5\t16\t>1<b\nW\ts\t12\tc:9-3\t*\t*\t<b\n"
        b"W\ts\t1\td\t0\t0\t*\nP\ts#1#c:3-4\t*\t*\n"
    )
    (tmp_path / "graph.gfa").write_bytes(text)
    write_gfa(read_gfa(tmp_path / "graph.gfa", cache=False), tmp_path / "again.gfa")
    assert (tmp_path / "again.gfa").read_bytes() == text


def test_a_walk_of_another_name_is_written_as_a_path(tmp_path):
    graph = replace(make_graph(paths=("x#y#z", "a#1#c")), walks=np.array([True, True]))
    write_gfa(graph, tmp_path / "graph.gfa")
    assert (
        (tmp_path / "graph.gfa")
        .read_bytes()
        .endswith(b"P\tx#y#z\t*\t*\nW\ta\t1\tc\t*\t*\t>1<b>b\n")
    )


def test_a_tag_with_a_line_end_is_refused(tmp_path):
    for what in ("node", "link"):
        tags = {f"{what}_tags": ByteStrings.from_texts(["", "a:Z:b\nS"])}
        with pytest.raises(ParameterError, match=f"a {what} has a tag with a line end"):
            write_gfa(replace(make_graph(), **tags), tmp_path / "graph.gfa")


@pytest.mark.parametrize("suffix", ["gfa", "gfa.gz"])
@pytest.mark.parametrize("sequences", [False, True])
@pytest.mark.parametrize(
    "name", ["hprc_RHCE.gfa", "micb-kir3dl1.gfa", "hprc_chrY.noseq.gfa", "MT.rgfa"]
)
def test_real_graphs_come_back(tmp_path, name, sequences, suffix):
    graph = read_gfa(real_data(f"gfa/{name}.gz"), sequences=sequences, cache=False)
    assert (graph.link_tags is not None) == (name == "MT.rgfa")
    path = tmp_path / f"graph.{suffix}"
    write_gfa(graph, path)
    back = read_gfa(path, sequences=sequences, cache=False)
    assert back.path_names == graph.path_names
    for array in ("node_lengths", "edges", "path_offsets", "steps"):
        np.testing.assert_array_equal(getattr(back, array), getattr(graph, array))
    np.testing.assert_array_equal(back.node_names.data, graph.node_names.data)
    for strings in ("node_tags", "link_tags", "walks"):
        assert (getattr(back, strings) is None) == (getattr(graph, strings) is None)
    for strings in ("node_tags", "link_tags"):
        assert list(getattr(back, strings) or ()) == list(getattr(graph, strings) or ())
    if graph.walks is not None:
        np.testing.assert_array_equal(back.walks, graph.walks)
    if sequences:
        np.testing.assert_array_equal(back.node_sequences.data, graph.node_sequences.data)


def test_gzip_is_the_same_text_and_the_same_bytes_each_time(tmp_path):
    graph = make_graph(sequences=None, paths=())
    for name in ("graph.gfa", "a.gz", "b.gz"):
        write_gfa(graph, tmp_path / name)
    content = (tmp_path / "a.gz").read_bytes()
    assert content == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress(content) == (tmp_path / "graph.gfa").read_bytes()


def test_the_longest_length_and_many_paths_without_steps_are_written(tmp_path):
    graph = make_graph(lengths=(10**12, 1), sequences=None, paths=tuple("abcdefgh"))
    write_gfa(graph, tmp_path / "graph.gfa")
    text = (tmp_path / "graph.gfa").read_bytes()
    assert as_oracle(read_gfa(tmp_path / "graph.gfa", cache=False)).paths == (
        read_gfa_text(text).paths
    )
    assert b"LN:i:1000000000000\n" in text


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"names": ("a\tb", "c")}, r"node name 'a\\tb' has a control character"),
        ({"names": ("a", "b-,c")}, "node name 'b-,c' has a sign before a comma"),
        ({"names": ("a", "")}, "node has an empty name"),
        ({"names": ("a", "a")}, "two nodes are named 'a'"),
        ({"paths": ("p\n",)}, r"path name 'p\\n' has a control character"),
        ({"paths": ("",)}, "path has an empty name"),
        ({"paths": ("p", "q", "p")}, "two paths are named 'p'"),
        ({"lengths": (4, 0)}, "node 'b' has no bases, needs one"),
        ({"lengths": (5, 7)}, "node '1' has a sequence of 4 bases, needs 5"),
    ],
)
def test_what_gfa_cannot_hold_is_refused(tmp_path, changes, words):
    with pytest.raises(ParameterError, match=words):
        write_gfa(make_graph(**changes), tmp_path / "graph.gfa")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_one_sentence_and_leaves_nothing(tmp_path):
    with pytest.raises(FileFormatError, match=r"graph\.gfa: cannot be written: No such file"):
        write_gfa(make_graph(), tmp_path / "absent" / "graph.gfa")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileFormatError, match="folder: cannot be written: Is a directory"):
        write_gfa(make_graph(), tmp_path / "folder")
    assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("suffix", ["gfa", "gfa.gz"])
def test_progress_rises_to_all_segments_links_and_steps(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(gfa_writer, "_BYTES_PER_CHUNK", 8)
    monkeypatch.setattr(gfa_writer, "_STEPS_PER_CHUNK", 1)
    reports = list(gfa_writer.iter_write_gfa(make_graph(), tmp_path / f"graph.{suffix}"))
    n_done = [report.n_done for report in reports]
    assert n_done == sorted(n_done)
    assert (n_done[-1], {report.n_total for report in reports}) == (7, {7})
