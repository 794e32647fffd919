"""The cache of parsed graphs: used when it is whole and the file is the same, and only then."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genoviz.generators import finish
from genoviz.io.files import array_cache, file_source
from genoviz.io.graph.cache import GROUP
from genoviz.io.graph.gfa import iter_read_gfa, read_gfa

OPENED = "Opening the saved graph"
PARSED = "Reading paths"
SAVED = "Saving the graph for next time"
TEXT = (
    b"S\ta\tACGT\tSN:Z:c\nS\tb\tGG\nL\ta\t+\tb\t-\t0M\nP\tx\ta+,b-,a+\t*\nJ\ta\t+\tb\t+\t*\n"
    b"W\ts\t0\tc\t*\t*\t>a\n"
)


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    path = tmp_path / "graph.gfa"
    path.write_bytes(TEXT)
    return path


def stages(path, **options) -> set[str]:
    reports = list(iter_read_gfa(path, **options))
    return {report.stage for report in reports}


def entry(path):
    (folder,) = (path.parent / "cache" / "graphs").iterdir()
    return folder


def contents(graph) -> tuple:
    sequences = graph.node_sequences
    return (
        list(graph.node_names),
        graph.node_lengths.tolist(),
        graph.edges.tolist(),
        graph.path_names,
        graph.path_offsets.tolist(),
        graph.steps.tolist(),
        None if sequences is None else list(sequences),
        graph.notes,
        None if graph.node_tags is None else list(graph.node_tags),
        None if graph.link_tags is None else list(graph.link_tags),
        None if graph.walks is None else graph.walks.tolist(),
    )


@pytest.fixture
def was_parsed(source):
    """Tell whether reading the source parses it, and gives the right graph in any case."""
    truth = contents(read_gfa(source, cache=False))

    def check() -> bool:
        reports = list(iter_read_gfa(source))
        assert contents(reports[-1].graph) == truth
        return PARSED in {report.stage for report in reports}

    return check


def test_the_second_opening_is_the_same_graph_without_parsing(source, was_parsed):
    assert [was_parsed(), was_parsed(), was_parsed()] == [True, False, False]
    graph = read_gfa(source)
    assert isinstance(graph.steps.base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        graph.steps[0] = 1


def test_a_graph_without_paths_edges_and_sequences_is_kept(source):
    source.write_bytes(b"S\t1\t*\tLN:i:3\n")
    first = contents(read_gfa(source))
    assert OPENED in stages(source)
    assert contents(read_gfa(source)) == first


def test_sequences_are_added_to_the_cache_when_they_are_asked_for(source):
    assert PARSED in stages(source, sequences=False)
    assert PARSED not in stages(source, sequences=False)
    assert PARSED in stages(source, sequences=True)
    assert PARSED not in stages(source, sequences=True)
    assert PARSED not in stages(source, sequences=False)
    assert read_gfa(source, sequences=False).node_sequences is None


def test_sequences_are_not_read_unless_they_are_asked_for(source):
    read_gfa(source)
    files = list(entry(source).glob("sequence_*"))
    assert files
    for file in files:
        file.unlink()
    assert PARSED not in stages(source, sequences=False)
    assert PARSED in stages(source)


@pytest.mark.parametrize("keep_time", [False, True])
def test_a_changed_file_is_parsed_again(source, keep_time):
    read_gfa(source)
    status = source.stat()
    source.write_bytes(TEXT.replace(b"b-,a+", b"b+,a-"))
    if keep_time:
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert PARSED in stages(source)
    assert read_gfa(source).steps.tolist() == [0, 2, 1, 0]


def test_a_file_of_another_time_is_parsed_again(source, was_parsed):
    """Size and sampled bytes of a large file can be those of before."""
    was_parsed()
    status = source.stat()
    for step in (1, -1):
        os.utime(source, ns=(status.st_atime_ns, status.st_mtime_ns + step))
        assert was_parsed(), "a nanosecond makes another file"
    assert not was_parsed()


def test_a_file_that_changes_while_it_is_read_is_not_kept(source):
    for report in iter_read_gfa(source):
        if report.stage == PARSED:
            source.write_bytes(TEXT + b"# more\n")
    assert not (source.parent / "cache" / "graphs").exists()


@pytest.mark.parametrize("damage", ["shorter", "longer", "other", "gone", "empty"])
def test_a_damaged_array_is_not_trusted(source, was_parsed, damage):
    was_parsed()
    for name in sorted(file.name for file in entry(source).iterdir()):
        file = entry(source) / name
        content = bytearray(file.read_bytes())
        if damage == "gone":
            file.unlink()
        else:
            content[-1] ^= 1
            damaged = {
                "shorter": content[: len(content) // 2],
                "longer": bytes(9) + content,
                "other": content,
                "empty": b"",
            }
            file.write_bytes(damaged[damage])
        assert was_parsed(), name
        shutil.rmtree(entry(source), ignore_errors=True)
        assert was_parsed()
        assert not was_parsed()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_flipped_byte_of_the_cache_changes_the_graph(source, was_parsed, data):
    was_parsed()
    file = data.draw(st.sampled_from(sorted(entry(source).iterdir())))
    content = bytearray(file.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)
    was_parsed()


def test_an_entry_of_another_version_or_another_file_is_not_used(source, was_parsed):
    was_parsed()
    manifest = json.loads((entry(source) / "manifest.json").read_text())
    for change in ({"version": 999}, {"format": "other"}, {"source": {}}, {"arrays": {}}):
        altered = {**manifest, **change}
        altered["checksum"] = array_cache.checksum_of_manifest(altered)
        (entry(source) / "manifest.json").write_text(json.dumps(altered))
        assert was_parsed(), change
        assert not was_parsed()
    (entry(source) / "manifest.json").write_text("[]")
    assert was_parsed()


def test_a_cache_folder_that_cannot_be_used_is_no_error(source, monkeypatch):
    blocked = source.parent / "blocked"
    blocked.write_text("a file where the folder should be")
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(blocked))
    assert PARSED in stages(source)
    assert PARSED in stages(source)


def test_stopping_half_way_leaves_nothing_half_written(source):
    reports = iter_read_gfa(source)
    while next(reports).stage != SAVED:
        pass
    reports.close()
    assert list((source.parent / "cache" / "graphs").iterdir()) == []


def test_the_entries_unused_longest_go_first(source, monkeypatch):
    monkeypatch.setattr(array_cache, "MAX_ENTRIES", 2)
    for age, name in enumerate(("c", "b", "a")):
        path = source.with_name(f"{name}.gfa")
        path.write_bytes(TEXT)
        read_gfa(path)
        manifest = file_source.entry_folder(GROUP, path) / "manifest.json"
        os.utime(manifest, (1000 - age, 1000 - age))
    read_gfa(source)
    folders = (source.parent / "cache" / "graphs").iterdir()
    assert sorted(folder.name[:5] for folder in folders) == ["c.gfa", "graph"]


def test_a_folder_of_entries_is_listed_only_when_it_may_be_full(source, monkeypatch):
    monkeypatch.setattr(array_cache, "MAX_ENTRIES", 40)
    listed, list_others = [], array_cache._list_others

    def list_noted(kept):
        listed.append(kept.name)
        return list_others(kept)

    monkeypatch.setattr(array_cache, "_list_others", list_noted)
    folder = source.parent / "cache" / "made"
    entry = array_cache.Entry({}, {"numbers": np.arange(3)})
    for n in range(100):
        assert finish(array_cache.store_entry(folder / f"{n}", entry))
        os.utime(folder / f"{n}" / "manifest.json", (n, n))
        held = sorted(int(each.name) for each in folder.iterdir())
        assert len(held) <= 40
        assert held == list(range(n + 1 - len(held), n + 1))  # those used last
    assert listed[:2] == ["0", "40"]
    assert 38 <= len(held) <= 40
    assert len(listed) == 1 + 60 // 3


@pytest.mark.parametrize(("free", "kept"), [(10**9, ["a.gfa", "b.gfa", "graph"]), (0, ["graph"])])
def test_entries_may_take_half_of_what_the_disk_has_left(source, monkeypatch, free, kept):
    monkeypatch.setattr(array_cache, "MAX_CACHE_BYTES", 1)
    for name in ("a", "b"):
        path = source.with_name(f"{name}.gfa")
        path.write_bytes(TEXT)
        read_gfa(path)
    really = array_cache.shutil.disk_usage(source.parent)
    asked = iter([really])  # whether there is room for the new one

    def disk_usage(_path):
        return next(asked, really._replace(free=free))

    monkeypatch.setattr(array_cache.shutil, "disk_usage", disk_usage)
    read_gfa(source)
    folders = (source.parent / "cache" / "graphs").iterdir()
    assert sorted(folder.name[:5] for folder in folders) == kept


def test_small_files_are_not_worth_a_cache(source, monkeypatch):
    monkeypatch.setattr(file_source, "MIN_BYTES", len(TEXT) + 1)
    read_gfa(source)
    assert not (source.parent / "cache").exists()
