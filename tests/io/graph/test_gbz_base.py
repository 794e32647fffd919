"""Databases of GBZ-base: whole and in parts, against the GBZ that they were made of."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing

import numpy as np
import pytest

from genoviz.analyses.graph.query.extract import extract_nodes, find_region_nodes
from genoviz.analyses.graph.query.position_lift import locate_path_positions
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.gbz import read_gbz
from genoviz.io.graph.gbz_base import GbzBase, read_gbz_base
from genoviz.io.graph.gbz_base_part import PartReader, Reach
from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.reader import read_graph
from tests.conftest import real_data
from tests.io.graph.test_gbz import as_names, graph_of, random_paths
from tests.oracles.gbz_base import VERSION, write_gbz_base

MICB = "GRCh38#0#chr6:31,500,000-31,501,000"


@pytest.fixture(scope="module")
def micb():
    return read_gbz(real_data("gbz/micb-kir3dl1.gbz"), segments=False, cache=False)


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    path = tmp_path_factory.mktemp("database") / "micb-kir3dl1.gbz.db"
    return write_gbz_base(real_data("gbz/micb-kir3dl1.gbz"), path)


@pytest.fixture
def small(tmp_path):
    """A database of paths that turn and jump, with N among the bases; and its graph."""
    write_gbz(graph_of(random_paths(3, n_paths=12)), tmp_path / "a.gbz")
    write_gbz_base(tmp_path / "a.gbz", tmp_path / "a.gbz.db", interval=20)
    return tmp_path / "a.gbz.db", read_gbz(tmp_path / "a.gbz")


def change(path, *commands):
    with closing(sqlite3.connect(path)) as connection, connection:
        for command in commands:
            connection.execute(command)


def either_way(paths):
    """Return how often each walk is there, whichever way it is read."""
    mirrors = {
        name: [(node, side ^ 1) for node, side in walk[::-1]] for name, walk in paths.items()
    }
    return Counter(min(tuple(walk), tuple(mirrors[name])) for name, walk in paths.items())


def cut_out(database, regions, reach, nodes=()):
    """Return what `genoviz extract` writes of a database that it does not read whole."""
    with GbzBase(database) as base:
        reader = PartReader(base)
        found = [part for text in regions for part in resolve_region(reader.indexed, text)]
        part, found = reader.read(found, nodes, reach)
    options = {"detour_bp": reach.detour_bp, "context_steps": reach.steps, "context_bp": reach.bp}
    given = [part.node_names.find(node) for node in nodes]
    picked = np.union1d(find_region_nodes(part, found, **options), given).astype(np.int64)
    return extract_nodes(part, picked)


@pytest.mark.parametrize("name", ["example", "example-v1", "translation", "micb-kir3dl1"])
def test_a_database_is_the_graph_of_its_gbz(name, tmp_path, backend):
    gbz = real_data(f"gbz/{name}.gbz")
    if name in ("example", "translation"):
        pytest.importorskip("zstandard", reason="zstandard is not installed")
    database = write_gbz_base(gbz, tmp_path / "a.gbz.db")
    expected = read_gbz(gbz, segments=False, cache=False)
    found = read_gbz_base(database, cache=False, backend=backend)
    assert as_names(found) == as_names(expected)
    assert found.path_names == expected.path_names
    assert found.notes == expected.notes
    assert (found.edges == expected.edges).all()
    bare = read_gbz_base(database, cache=False, sequences=False)
    assert bare.node_sequences is None
    assert (bare.steps == expected.steps).all()
    assert (bare.node_lengths == expected.node_lengths).all()


@pytest.mark.parametrize("seed", range(6))
def test_any_paths_come_back(seed, tmp_path, monkeypatch):
    monkeypatch.setattr("genoviz.io.graph.gbz_base._ROWS", 8)
    graph = graph_of(random_paths(seed, n_paths=4 * seed))
    write_gbz(graph, tmp_path / "a.gbz")
    found = read_graph(write_gbz_base(tmp_path / "a.gbz", tmp_path / "a.gbz.db"))
    assert as_names(found) == as_names(graph)
    assert found.path_names == graph.path_names


@pytest.mark.parametrize(
    "reach",
    [Reach(), Reach(detour_bp=100), Reach(bp=100), Reach(steps=2), Reach(200, 1, 50)],
    ids=str,
)
@pytest.mark.parametrize(
    "region", [MICB, "GRCh38#0#chr19:54817000-54818000", "CHM13#0#chr6:31352000-31352500"]
)
def test_a_part_is_that_of_the_whole_graph(micb, database, region, reach):
    part = cut_out(database, [region], reach)
    options = {"detour_bp": reach.detour_bp, "context_steps": reach.steps, "context_bp": reach.bp}
    whole = extract_nodes(micb, find_region_nodes(micb, region, **options))
    found, expected = as_names(part), as_names(whole)
    assert found[:2] == expected[:2]
    assert either_way(found[2]) == either_way(expected[2])
    named = {name: walk for name, walk in found[2].items() if not name.startswith("unknown_")}
    assert named.items() <= expected[2].items()
    assert any(name.startswith(region.split(":")[0]) for name in named)


def test_a_part_is_what_the_makers_tool_cuts_out(database):
    # gbz-base query --sample GRCh38 --contig chr6 --interval 31500000..31501000 --context 0, as
    # published in test/data/oracle of GMOD/gbz-base-js: its walk is chr6:31499826-31501040.
    part = cut_out(database, [MICB], Reach())
    assert part.path_names[0] == "GRCh38#0#chr6:31499826-31501040"
    assert part.path_lengths[0] == part.total_length == 1214
    assert part.n_nodes == 31


def test_parts_of_paths_that_turn_and_jump(small):
    database, graph = small
    for path, name in enumerate(graph.path_names):
        for start in range(0, int(graph.path_lengths[path]), 7):
            region = f"{name}:{start}-{start + 9}"
            found = as_names(cut_out(database, [region], Reach()))
            expected = as_names(extract_nodes(graph, find_region_nodes(graph, region)))
            assert found[:2] == expected[:2]
            assert either_way(found[2]) == either_way(expected[2])


def test_a_part_that_is_all_has_all_names(small):
    database, graph = small
    found = cut_out(database, [graph.path_names[0]], Reach(steps=1000))
    assert found.path_names == graph.path_names
    assert as_names(found) == as_names(graph)


def test_nodes_are_found_by_name(micb, database):
    nodes = [micb.node_names[100], micb.node_names[1500]]
    part = cut_out(database, [], Reach(), nodes)
    expected = as_names(extract_nodes(micb, [100, 1500]))
    assert as_names(part)[:2] == expected[:2]
    assert either_way(as_names(part)[2]) == either_way(expected[2])
    with GbzBase(database) as base, pytest.raises(ParameterError, match="no node '7000'"):
        PartReader(base).read([], ["7000"])


def test_positions_are_those_of_the_whole_graph(micb, database):
    with GbzBase(database) as base:
        reader = PartReader(base)
        for path, name in enumerate(reader.indexed.path_names):
            whole = micb.find_path(name)
            length = int(micb.path_lengths[whole])
            assert reader.indexed.path_lengths[path] == length
            for position in (0, 1, 999, 1000, length // 2, length - 1):
                query = f"{name}:{position}"
                found = locate_path_positions(reader.place(path, position), [query])
                assert found == locate_path_positions(micb, [query])


def test_no_more_is_read_than_a_part_needs(database):
    with GbzBase(database) as base:
        reader = PartReader(base)
        read = reader.read(resolve_region(reader.indexed, MICB))[0]
        assert len(reader._nodes) < base.count("nodes") // 4
    assert read.notes[0] == "Read 31 of 2,891 nodes of the database."
    assert "named unknown_1 and so on" in read.notes[1]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "UPDATE Tags SET value = 'GBZ-base version 5' WHERE key = 'version'",
            "'GBZ-base version 5'",
        ),
        (
            "UPDATE Tags SET value = 'GAF-base version 3' WHERE key = 'version'",
            "'GAF-base version 3'",
        ),
        ("DROP TABLE Tags", "no such table: Tags"),
        ("DROP TABLE Nodes", "no such table: Nodes"),
        ("UPDATE Tags SET value = 'x' WHERE key = 'nodes'", "no number of nodes"),
        ("UPDATE Tags SET value = '7' WHERE key = 'paths'", "has 13 paths, and counts 7"),
        ("DELETE FROM Nodes WHERE handle = 7", "a damaged row in its table of nodes"),
        ("DELETE FROM Nodes WHERE handle < 4", "needs two for each of 30 nodes"),
        ("UPDATE Nodes SET handle = 900000000 WHERE handle = 60", "in one orientation alone"),
        ("UPDATE Nodes SET sequence = x'ff' WHERE handle = 6", "a damaged sequence"),
        ("UPDATE Nodes SET sequence = x'' WHERE handle = 6", "a node without a sequence"),
        ("UPDATE Nodes SET sequence = x'01' WHERE handle = 6", "two strands are not each other's"),
        ("UPDATE Nodes SET bwt = x'' WHERE handle = 6", "other than|not the same in both"),
        ("UPDATE Nodes SET edges = x'ff' WHERE handle = 6", "damaged record"),
        ("UPDATE Paths SET fw_node = 1000 WHERE handle = 2", "begins at a node that is not there"),
        ("UPDATE Paths SET fw_offset = 999 WHERE handle = 2", "begins beyond the visits"),
        ("UPDATE Paths SET fw_offset = fw_offset + 1 WHERE handle = 2", "is damaged: "),
        ("UPDATE Paths SET contig = 'path0' WHERE handle = 2", "two paths of one name"),
    ],
)
def test_a_damaged_database_is_refused_in_a_sentence(small, command, message):
    path, _ = small
    change(path, command)
    with pytest.raises(FileFormatError, match=message) as caught:
        read_graph(path, cache=False)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_are_refused_or_change_names_alone(small, seed):
    path, graph = small
    content, generator = path.read_bytes(), np.random.default_rng(seed)
    n_refused = 0
    for place in generator.integers(0, len(content), 60).tolist():
        flipped = bytearray(content)
        flipped[place] ^= int(generator.integers(1, 256))
        path.write_bytes(flipped)
        try:
            found = read_gbz_base(path, cache=False)
        except FileFormatError:
            n_refused += 1
            continue
        assert (found.steps == graph.steps).all()
        assert (found.edges == graph.edges).all()
        assert list(found.node_sequences) == list(graph.node_sequences)
        if found.path_names != graph.path_names:
            changed = sum(a != b for a, b in zip(found.path_names, graph.path_names, strict=True))
            assert changed <= 1
    assert n_refused > 0


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_flipped_bytes_are_refused_or_the_same(small, seed):
    path, graph = small
    content, generator = path.read_bytes(), np.random.default_rng(seed)
    region = f"{graph.path_names[0]}:20-60"
    expected = as_names(cut_out(path, [region], Reach()))
    for place in generator.integers(0, len(content), 60).tolist():
        flipped = bytearray(content)
        flipped[place] ^= int(generator.integers(1, 256))
        path.write_bytes(flipped)
        try:
            found = cut_out(path, [region], Reach())
        except (FileFormatError, ParameterError):
            continue
        if graph.path_names[0] in {name.split(":")[0] for name in found.path_names}:
            assert as_names(found)[0].keys() == expected[0].keys()


def test_the_version_of_the_first_tool_is_read_too(tmp_path, small):
    path, graph = small
    change(
        path,
        "ALTER TABLE Nodes DROP COLUMN next",
        f"UPDATE Tags SET value = '0.2.0' WHERE value = '{VERSION}'",
    )
    assert as_names(read_graph(path, cache=False)) == as_names(graph)
