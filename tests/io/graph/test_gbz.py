"""GBZ files read, and written: against the GFA of the same graph, and against what was written."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.gbz import read_gbz
from genoviz.io.graph.gbz_graph import _take_bases
from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.io.graph.packed_letters import PackedLetters
from genoviz.io.graph.reader import read_graph
from genoviz.io.graph.simple_sds import ElementReader, sds_bytes, sds_element
from genoviz.model import ByteStrings, PangenomeGraph
from tests.conftest import real_data
from tests.oracles.gbwt import read_sequences


def as_names(graph):
    """Return nodes with bases, links, and paths, all by name, whatever the order of nodes."""
    names = list(graph.node_names)

    def named(handle):
        return names[handle >> 1], handle & 1

    links = {
        min((named(a), named(b)), (named(b ^ 1), named(a ^ 1))) for a, b in graph.edges.tolist()
    }
    paths = {
        name: [named(step) for step in graph.path_steps(path).tolist()]
        for path, name in enumerate(graph.path_names)
    }
    is_walk = np.zeros(graph.n_paths, np.bool_) if graph.walks is None else graph.walks
    walks = {name for name, walk in zip(graph.path_names, is_walk, strict=True) if walk}
    return dict(zip(names, graph.node_sequences, strict=True)), links, paths, walks


def graph_of(paths, names=None, walks=None, node_names=None):
    """Return a graph of paths of signed 1-based nodes, with random bases and their links."""
    n_nodes = max(abs(node) for path in paths for node in path)
    generator = np.random.default_rng(n_nodes)
    lengths = generator.integers(1, 9, n_nodes)
    bases = generator.choice(np.frombuffer(b"ACGTN", np.uint8), int(lengths.sum()))
    handles = [[(abs(node) - 1) << 1 | (node < 0) for node in path] for path in paths]
    links = {pair for path in handles for pair in pairwise(path)}
    links = sorted({min((a, b), (b ^ 1, a ^ 1)) for a, b in links})
    return PangenomeGraph(
        node_names=node_names or ByteStrings.from_integers(1, n_nodes),
        node_lengths=lengths.astype(np.int64),
        edges=np.array(links, np.uint32).reshape(-1, 2),
        path_names=tuple(names or (f"path{path}" for path in range(len(paths)))),
        path_offsets=np.cumsum([0, *map(len, paths)]).astype(np.int64),
        steps=np.array([handle for path in handles for handle in path], np.uint32),
        node_sequences=ByteStrings(bases, np.append(0, np.cumsum(lengths)).astype(np.int64)),
        walks=walks,
    )


def random_paths(seed, n_nodes=30, n_paths=6):
    """Return paths that go on, jump back, turn round, and share much with others."""
    generator = np.random.default_rng(seed)
    paths = [list(range(1, n_nodes + 1))]
    for _ in range(n_paths):
        path = list(paths[generator.integers(len(paths))])
        a, b = sorted(generator.integers(0, len(path), 2).tolist())
        kind = generator.integers(4)
        piece = path[a:b]
        if kind == 0:
            path[a:b] = [-node for node in reversed(piece)]
        elif kind == 1:
            path[a:b] = piece * 3
        elif kind == 2:
            del path[a + 1 : b]
        paths.append(path)
    return paths


PAIRS = [
    ("example.gbz", "example.gfa", True),
    ("example-v1.gbz", "example.gfa", True),
    ("translation.gbz", "translation.gfa", True),
    ("micb-kir3dl1.gbz", "micb-kir3dl1.gfa.gz", False),
]


@pytest.mark.parametrize(("name", "gfa", "segments"), PAIRS)
def test_real_files_are_the_graphs_of_their_gfa(name, gfa, segments):
    path, gfa = real_data(f"gbz/{name}"), real_data(f"gbz/{gfa}")
    if name in ("example.gbz", "translation.gbz"):
        pytest.importorskip("zstandard", reason="zstandard is not installed")
    nodes, links, paths, walks = as_names(read_gbz(path, segments=segments, cache=False))
    expected = as_names(read_gfa(gfa, cache=False))
    assert (links, paths, walks) == expected[1:]
    used = {node for path in paths.values() for node, _ in path}
    assert nodes == {node: bases for node, bases in expected[0].items() if node in used}


def test_nodes_that_were_cut_are_joined_to_the_segments_of_the_file():
    path = real_data("gbz/micb-kir3dl1.gbz")
    cut, whole = (read_gbz(path, segments=flag, cache=False) for flag in (False, True))
    assert (cut.n_nodes, whole.n_nodes, cut.total_length) == (2891, 2889, whole.total_length)
    assert (cut.n_edges, whole.n_edges) == (3932, 3930)
    assert whole.node_names[0] == "61717541"
    assert whole.notes == ("Reference samples of the file: CHM13, GRCh38.",)
    assert whole.path_names == cut.path_names
    assert whole.path_lengths.tolist() == cut.path_lengths.tolist()
    spelled = [
        b"".join(graph.node_sequences[step >> 1].encode() for step in graph.path_steps(0).tolist())
        for graph in (cut, whole)
    ]
    assert spelled[0] == spelled[1]


@pytest.mark.parametrize("seed", range(12))
def test_what_is_written_is_read(seed, backend, tmp_path):
    graph = graph_of(random_paths(seed, n_paths=3 * seed))
    write_gbz(graph, tmp_path / "a.gbz")
    found = read_gbz(tmp_path / "a.gbz", backend=backend)
    assert as_names(found) == as_names(graph)
    assert found.path_names == graph.path_names
    assert isinstance(found.steps, np.ndarray)
    bare = read_gbz(tmp_path / "a.gbz", sequences=False)
    assert bare.node_sequences is None
    assert bare.steps.tolist() == graph.steps.tolist()
    assert bare.node_lengths.tolist() == graph.node_lengths.tolist()


@pytest.mark.parametrize("names", [[7, 9, 40], [12, 3, 5], ["s1", "x", "10"], [1, 10**12, 10**15]])
def test_nodes_of_any_name_keep_it(names, tmp_path):
    named = ByteStrings.from_texts(map(str, names))
    graph = graph_of([[1, 2, 3], [1, -2, 3], [3]], node_names=named)
    write_gbz(graph, tmp_path / "a.gbz")
    assert as_names(read_gbz(tmp_path / "a.gbz")) == as_names(graph)


def test_walks_and_paths_keep_their_names(tmp_path):
    names = ["chr1", "S#1#ctg:10-24", "S#2#ctg:0-14", "a#b"]
    graph = graph_of([[1, 2], [1, 2], [2, 1], [1]], names, np.array([False, True, True, False]))
    lengths = graph.path_lengths.tolist()
    graph = graph_of(
        [[1, 2], [1, 2], [2, 1], [1]],
        ["chr1", f"S#1#ctg:10-{10 + lengths[1]}", f"S#2#ctg:0-{lengths[2]}", "a#b"],
        np.array([False, True, True, False]),
    )
    write_gbz(graph, tmp_path / "a.gbz")
    assert as_names(read_gbz(tmp_path / "a.gbz")) == as_names(graph)


def test_a_node_with_more_links_than_a_byte_counts(tmp_path):
    paths = [[1, k, 1, k + 1] for k in range(2, 400)] + [[1, 2]] * 700
    graph = graph_of(paths)
    write_gbz(graph, tmp_path / "a.gbz")
    assert as_names(read_gbz(tmp_path / "a.gbz")) == as_names(graph)


def test_records_are_those_of_the_format(tmp_path):
    """A path is a chain of visits in the records that any reader of the format follows."""
    graph = graph_of(random_paths(5, n_paths=9))
    write_gbz(graph, tmp_path / "a.gbz")
    reader = ElementReader(tmp_path / "a.gbz", np.fromfile(tmp_path / "a.gbz", np.uint8))
    reader.elements(2)
    reader.strings("")
    _, n_sequences, _, offset, _, _ = (reader.element() for _ in range(6))
    reader.strings("")
    starts, n_bytes = reader.integer_set("")
    data = reader.byte_vector().tobytes()
    sequences = read_sequences(data, [*starts.tolist(), n_bytes], offset)
    assert n_sequences == len(sequences) == 2 * graph.n_paths
    expected = [
        [step + 2 for step in graph.path_steps(path).tolist()] for path in range(graph.n_paths)
    ]
    assert sequences[::2] == expected
    assert sequences[1::2] == [[node ^ 1 for node in reversed(path)] for path in expected]


def zstandard_bwt(content, has_length):
    """Return a file of version 1 as one of version 3 by the notes of its makers."""
    zstandard = pytest.importorskip("zstandard", reason="zstandard is not installed")
    reader = ElementReader("a.gbz", np.frombuffer(content, np.uint8))
    reader.elements(2)
    reader.strings("")
    at = 8 * reader.at
    reader.elements(6)
    reader.strings("")
    reader.integer_set("")
    first = 8 * reader.at
    data = reader.byte_vector().tobytes()
    packed = b"".join(sds_bytes(zstandard.compress(data)))
    packed = sds_element(len(data)) * has_length + packed
    new = bytearray(content[:first] + packed + content[8 * reader.at :])
    new[4], new[at + 4] = 3, 6
    return bytes(new)


@pytest.mark.parametrize("has_length", [False, True])
def test_a_gbwt_in_zstandard_is_read(has_length, tmp_path):
    graph = graph_of(random_paths(3))
    write_gbz(graph, tmp_path / "a.gbz")
    content = zstandard_bwt((tmp_path / "a.gbz").read_bytes(), has_length)
    (tmp_path / "b.gbz").write_bytes(content)
    assert as_names(read_gbz(tmp_path / "b.gbz")) == as_names(graph)
    (tmp_path / "b.gbz").write_bytes(content.replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\xfe"))
    with pytest.raises(FileFormatError, match=r"b\.gbz: the GBWT (is|cannot)"):
        read_gbz(tmp_path / "b.gbz")


# Damaged files --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    path = tmp_path_factory.mktemp("gbz") / "small.gbz"
    names = [f"S{k}#1#ctg:{100 * k}-{200 * k}" for k in range(6)]
    graph = graph_of(random_paths(8, n_nodes=12, n_paths=5), names, np.ones(6, np.bool_))
    write_gbz(graph, path)
    return path


def test_a_damaged_file_is_refused_or_is_the_same_graph(small, tmp_path):
    """Names are said once, so that another letter there is another name, and nothing else."""
    content, path = small.read_bytes(), tmp_path / "damaged.gbz"
    *expected, _, _ = as_names(read_gbz(small))
    steps = read_gbz(small).steps.tolist()
    generator = np.random.default_rng(1)
    outcomes, said = {"refused": 0, "same": 0}, []
    tracemalloc.start()
    for k in range(1000):
        damaged = bytearray(content)
        if k % 4 == 0:
            del damaged[int(generator.integers(len(content))) :]
        else:
            for at in generator.integers(0, len(content), 1 + k % 3):
                damaged[at] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        try:
            found = read_graph(path)
        except FileFormatError as error:
            said.append(str(error))
            outcomes["refused"] += 1
        else:
            *nodes_and_links, _, _ = as_names(found)
            assert nodes_and_links == expected
            assert found.steps.tolist() == steps
            outcomes["same"] += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert min(outcomes.values()) > 10
    assert peak < 64 << 20
    assert [text for text in said if not text.startswith("damaged.gbz") or "\n" in text] == []


@pytest.mark.parametrize("bit", [0, 3, 4])
def test_a_gbwt_with_other_flags_is_refused(bit, small, tmp_path):
    content = bytearray(small.read_bytes())
    reader = ElementReader(small, np.frombuffer(bytes(content), np.uint8))
    reader.elements(2)
    reader.strings("")
    content[8 * (reader.at + 5)] ^= 1 << bit
    (tmp_path / "a.gbz").write_bytes(content)
    with pytest.raises(FileFormatError, match=r"GBWT that is not bidirectional"):
        read_gbz(tmp_path / "a.gbz")


def test_paths_that_are_not_their_reverse_are_refused(small, tmp_path):
    """Two visits that go on crosswise leave all counts as they are."""
    content = small.read_bytes()
    reader = ElementReader(small, np.frombuffer(content, np.uint8))
    reader.elements(2)
    reader.strings("")
    reader.elements(6)
    reader.strings("")
    starts, n_bytes = reader.integer_set("")
    first = 8 * reader.at + 8
    n_refused = 0
    for start, stop in zip(starts.tolist()[1:], [*starts.tolist()[2:], n_bytes], strict=True):
        body = content[first + start : first + stop]
        if body[:1] == b"\2" and len(body) > 7 and body[-1] != body[-2]:
            swapped = bytearray(content)
            swapped[first + stop - 2], swapped[first + stop - 1] = body[-1], body[-2]
            (tmp_path / "a.gbz").write_bytes(swapped)
            with pytest.raises(FileFormatError, match=r"GBWT"):
                read_gbz(tmp_path / "a.gbz")
            n_refused += 1
    assert n_refused > 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.gbz.db", b"SQLite format 3\0" + bytes(84), r"a\.gbz\.db: cannot be read as a database"),
        (
            "a.gbz.db",
            b"hello\tworld\n",
            r"a\.gbz\.db: begins neither as a database of GBZ-base \(SQLite\), whose name it has",
        ),
        (
            "a.gbz",
            b"hello",
            r"a\.gbz: begins neither as a GBZ, whose name it has, nor as GFA; needs one of the",
        ),
        ("A.GBZ", b"", r"A\.GBZ: the file is empty, needs a GBZ$"),
        (
            "a.gbz.db",
            b"",
            r"a\.gbz\.db: the file is empty, needs a database of GBZ-base",
        ),
        ("a.gfa", b"", r"a\.gfa: the file is empty, needs at least one line$"),
        ("a.gbwt", bytes.fromhex("376b376b05000000"), r"a\.gbwt: is a GBWT without sequences"),
        ("a.gfaz", b"\1\2\3\4", r"a\.gfaz: is GFAz; decompress it to GFA"),
        ("a.vg", b"\1\2\3\4", r"a\.vg: is vg's own format; convert it with vg convert -f"),
        ("a.gbz", b"GBZ \x09\0\0\0" + bytes(8), r"a\.gbz: is GBZ version 9, needs one from 1 to 3"),
        ("a.gbz", b"GBZ \x01\0\0\0", r"a\.gbz: ends after 8 bytes"),
        ("a.gbz", b"GBZ \x01\0\0", r"a\.gbz: has 7 bytes, needs a multiple of 8"),
    ],
)
def test_what_is_not_read_is_named(name, content, message, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        read_graph(tmp_path / name)


def test_graphs_that_no_gbz_holds_are_refused(tmp_path):
    graph = graph_of([[1, 3]])
    with pytest.raises(ParameterError, match="node '2' is on no path; a GBZ has nodes of paths"):
        write_gbz(graph, tmp_path / "a.gbz")
    bare = tmp_path / "a.gfa"
    bare.write_text("S\t1\t*\tLN:i:4\nP\tp\t1+\t*\n")
    with pytest.raises(ParameterError, match="without sequences cannot be written as GBZ"):
        write_gbz(read_gfa(bare), tmp_path / "a.gbz")


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("s#1#c:2-6", "s#1#c:2-7"), "two paths would be named 's#1#c:2-7' in a GBZ"),
        (("p", "s#4294967295#c"), "walk 's#4294967295#c' cannot be written as GBZ, needs"),
        (("p", "s#1#c:5000000000-5000000004"), "cannot be written as GBZ, needs a haplotype and a"),
        (("p", "_gbwt_ref#0#c"), "needs .* another sample than _gbwt_ref"),
    ],
)
def test_names_of_walks_that_no_gbz_holds_are_refused(names, words, tmp_path):
    walks = np.array([names[0] != "p", True])
    with pytest.raises(ParameterError, match=words):
        write_gbz(graph_of([[1], [1]], names, walks), tmp_path / "a.gbz")
    assert not list(tmp_path.iterdir())


def test_links_that_no_gbz_holds_are_counted(tmp_path):
    links = np.array([(0, 2), (3, 1), (1, 1), (4, 0), (1, 5)], np.uint32)  # two of them twice
    graph = replace(graph_of([[1, 2, 3]]), edges=links)
    assert write_gbz(graph, tmp_path / "a.gbz") == 2
    assert write_gbz(read_gbz(tmp_path / "a.gbz"), tmp_path / "b.gbz") == 0


def test_a_gbz_and_its_gfa_are_each_other(small, tmp_path):
    graph = read_graph(small)
    write_gfa(graph, tmp_path / "a.gfa")
    assert as_names(read_graph(tmp_path / "a.gfa")) == as_names(graph)
    write_gbz(read_graph(tmp_path / "a.gfa"), tmp_path / "b.gbz")
    assert (tmp_path / "b.gbz").read_bytes() == small.read_bytes()


def test_segments_take_their_own_bases_alone():
    """Stored nodes between segments may be of none."""
    data, offsets = np.frombuffer(b"ACGTACGTAC", np.uint8), np.array([0, 2, 3, 6, 8, 10])
    first, last = np.array([0, 3]), np.array([1, 4])
    lengths = offsets[last + 1] - offsets[first]
    assert list(_take_bases(data, offsets, first, last, lengths)) == ["ACG", "GTAC"]
    first, last = np.array([0, 2, 3]), np.array([1, 2, 4])
    lengths = offsets[last + 1] - offsets[first]
    assert list(_take_bases(data, offsets, first, last, lengths)) == ["ACG", "TAC", "GTAC"]
    first, last = np.array([0, 1, 2, 4]), np.array([0, 1, 2, 4])
    lengths = offsets[last + 1] - offsets[first]
    assert list(_take_bases(data, offsets, first, last, lengths)) == ["AC", "G", "TAC", "AC"]


@pytest.mark.parametrize("width", range(1, 9))
def test_packed_letters_are_those_of_their_bits(width):
    numbers = np.random.default_rng(width)
    alphabet = numbers.permutation(256)[: 1 << width].astype(np.uint8)
    words = numbers.integers(0, 1 << 64, 40, dtype=np.uint64)
    n = 40 * 64 // width
    bits = np.unpackbits(words.view(np.uint8), count=n * width, bitorder="little")
    packed = bits.reshape(n, width) @ (1 << np.arange(width))
    damage = FileFormatError("a.gbz", "is damaged")
    letters = PackedLetters(words, width, alphabet, n, damage)
    for first in range(80):
        for stop in (first, first + 1, first + 67, n):
            assert np.array_equal(letters[first:stop], alphabet[packed[first:stop]])
    known = replace(letters, alphabet=alphabet[: packed.max()])  # without the highest one
    first = int(packed.argmax())
    assert len(known[:first]) == first
    with pytest.raises(FileFormatError, match="is damaged"):
        known[first : first + 1]
