"""An index of paths that was written says what it said before."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import (
    count_kmers,
    count_per_path,
    iter_read_pangenome_index,
    locate_on_paths,
    read_fm_index,
    read_pangenome_index,
    write_fm_index,
    write_pangenome_index,
)
from genoviz.analyses.sequences.pangenome_index import build_pangenome_index
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.sequences import gvfm_file
from genoviz.io.sequences.fm_index import read_extra_arrays
from genoviz.io.sequences.gvfm_file import ArrayFile, ArrayWriter
from genoviz.io.sequences.pangenome_index import iter_read_any_index
from tests.graphs import make_spelled_graph

PATHS = [[1, 2, 4], [1, 3, 4], [-4, -2, -1], [], [4, 1, 2, 4, 5, 1]]


@pytest.fixture
def index():
    graph = make_spelled_graph(["ACGTTGCA", "A", "CG", "TTGACCATG", "*4"], PATHS)
    return build_pangenome_index(graph, max_k=10, backend="cpu")


def read_checked(path):
    return list(iter_read_pangenome_index(path))[-1].index


@pytest.mark.parametrize("read", [read_pangenome_index, read_checked])
def test_it_is_read_as_it_was_written(index, tmp_path, read):
    write_pangenome_index(index, tmp_path / "g.gvfm", extra={"lcp": np.arange(3)})
    found = read(tmp_path / "g.gvfm")
    assert (found.max_k, found.graph.path_names) == (10, index.graph.path_names)
    assert list(found.graph.node_names) == list(index.graph.node_names)
    words = ["A", "ACGT", "TGCA", "GCAAT", "CATGNNRT", "TTGACCATGA"]
    for strand in ("forward", "both", "canonical"):
        counts = count_per_path(found, words, strand=strand, backend="cpu")
        assert (counts == count_per_path(index, words, strand=strand, backend="cpu")).all()
        for word in words:
            here, there = (
                locate_on_paths(each, word, strand=strand, backend="cpu") for each in (found, index)
            )
            for name in ("paths", "starts", "strands", "nodes", "node_offsets"):
                assert (getattr(here, name) == getattr(there, name)).all()
    assert read_extra_arrays(tmp_path / "g.gvfm")["lcp"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("mmap", [True, False])
def test_an_index_of_either_kind_is_read_by_what_it_says_it_is(index, tmp_path, mmap):
    write_pangenome_index(index, tmp_path / "paths.gvfm")
    write_fm_index(index.index, tmp_path / "text.gvfm")
    (*_, paths), (*_, text) = (
        iter_read_any_index(tmp_path / name, mmap=mmap) for name in ("paths.gvfm", "text.gvfm")
    )
    for last in (paths, text):
        assert last.n_bytes_done == last.n_bytes_total > 0
    for name, found in (("paths.gvfm", paths.index), ("text.gvfm", text.index)):
        sections = ArrayFile(tmp_path / name).sections
        n_bytes = {name: section.n_bytes for name, section in sections.items()}
        assert found.n_bytes == sum(n_bytes.values()) - n_bytes[gvfm_file.BLOCKS]
    if not mmap:  # what happens to the files does not matter any more
        for name in ("paths.gvfm", "text.gvfm"):
            n_bytes = (tmp_path / name).stat().st_size
            with (tmp_path / name).open("r+b") as file:
                file.write(b"\xee" * n_bytes)
    words = ["A", "ACGT", "CATGNNRT"]
    found = count_per_path(paths.index, words, backend="cpu")
    assert (found == count_per_path(index, words, backend="cpu")).all()
    assert list(paths.index.graph.node_names) == list(index.graph.node_names)
    assert (
        count_kmers(text.index, words, backend="cpu")
        == count_kmers(index.index, words, backend="cpu")
    ).all()


def test_an_index_of_nothing(tmp_path):
    index = build_pangenome_index(make_spelled_graph([], []), backend="cpu")
    write_pangenome_index(index, tmp_path / "g.gvfm")
    found = read_pangenome_index(tmp_path / "g.gvfm")
    assert count_per_path(found, ["ACGT"], backend="cpu").shape == (1, 0)


def test_another_kind_of_index_is_refused(index, tmp_path):
    write_pangenome_index(index, tmp_path / "g.gvfm")
    with pytest.raises(FileFormatError, match="of the paths of a graph', needs an FM-index"):
        read_fm_index(tmp_path / "g.gvfm")
    with pytest.raises(ParameterError, match="'unit_starts' is an array of the index itself"):
        write_pangenome_index(index, tmp_path / "x.gvfm", extra={"unit_starts": np.arange(3)})
    with pytest.raises(ParameterError, match="'block_checksums' is an array of the index itself"):
        write_pangenome_index(index, tmp_path / "x.gvfm", extra={"block_checksums": np.arange(3)})
    assert not (tmp_path / "x.gvfm").exists()


def test_damage_is_found(index, tmp_path, monkeypatch):
    path = tmp_path / "g.gvfm"
    write_pangenome_index(index, path)
    monkeypatch.setattr(gvfm_file, "_CHECKED_AT_ONCE", 0)
    content = path.read_bytes()
    for name, section in ArrayFile(path).sections.items():
        if section.n_bytes:
            altered = bytearray(content)
            altered[section.offset] ^= 1
            path.write_bytes(altered)
            with pytest.raises(FileFormatError, match=f"section '{name}' is not what was written"):
                read_checked(path)
    path.write_bytes(content[:-1])
    with pytest.raises(FileFormatError, match=r"bytes instead of .* \(damaged file\)"):
        read_pangenome_index(path)


def rewrite(folder, changed):
    """Write ``g.gvfm`` as ``x.gvfm`` with other arrays and facts, and with right checksums."""
    file = ArrayFile(folder / "g.gvfm")
    names = [name for name in file.sections if name != gvfm_file.BLOCKS]
    arrays = {name: changed.get(name, file.array(name)) for name in names}
    about = file.about | {name: value for name, value in changed.items() if name not in arrays}
    with (folder / "x.gvfm").open("wb") as out:
        shapes = {name: (array.dtype, array.shape) for name, array in arrays.items()}
        writer = ArrayWriter(out, about, shapes)
        for name, array in arrays.items():
            list(writer.append(name, array))
        writer.finish()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"unit_stand_steps": np.full(9, 99)}, "units of paths do not fit the 15 steps"),
        ({"path_is_turned": np.zeros(2, np.uint8)}, "units of paths do not fit the 15 steps"),
        ({"path_steps": np.zeros(3, np.uint32)}, "path_offsets must rise from 0"),
        ({"node_lengths": np.zeros(3, np.int64)}, "3 node lengths has 5 node names"),
        ({"max_k": 0}, "does not say what it is of"),
        ({"path_names": 3}, "does not say what it is of"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(index, tmp_path, changed, words):
    write_pangenome_index(index, tmp_path / "g.gvfm")
    rewrite(tmp_path, changed)
    with pytest.raises(FileFormatError, match=words):
        read_pangenome_index(tmp_path / "x.gvfm")


@pytest.mark.parametrize(
    "name",
    ["unit_steps", "unit_stand_steps", "unit_stand_offsets", "unit_starts", "unit_shifts",
     "unit_lengths", "node_name_offsets"],
)  # fmt: skip
@pytest.mark.parametrize("broken", ["negative", "falls", "huge", "other kind"])
def test_numbers_that_lead_out_of_the_graph_are_refused(index, tmp_path, name, broken):
    """Files may come from anybody, with right checksums, and compiled code checks no bounds."""
    write_pangenome_index(index, tmp_path / "g.gvfm")
    array = ArrayFile(tmp_path / "g.gvfm").array(name).copy()
    if broken == "negative":
        array[0] = -1
    elif broken == "falls":
        array[len(array) // 2] = 1 << 40
    elif broken == "huge":
        array[-1] = (1 << 63) - 1
    else:
        array = array.astype(np.float64)
    rewrite(tmp_path, {name: array})
    with pytest.raises(FileFormatError, match=r"\(damaged file\); build the index again"):
        read_pangenome_index(tmp_path / "x.gvfm")
