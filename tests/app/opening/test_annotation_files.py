"""Annotations are opened beside a graph, several files together, and shared between tabs."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.io.intervals.annotations import read_annotations
from genoviz.model.intervals.annotations import join_annotations
from tests.app.conftest import poll_until

BED = "ref\t0\t4\tfirst\t0\t+\nref\t4\t6\tsecond\nelsewhere\t0\t9\tthird\n"
GFF = "##gff-version 3\nalt\tme\tgene\t5\t10\t.\t-\t.\tName=fourth\n"


@pytest.fixture
def files(tmp_path):
    """A BED and a GFF3 file."""
    (tmp_path / "a.bed").write_text(BED)
    (tmp_path / "b.gff3").write_text(GFF)
    return tmp_path / "a.bed", tmp_path / "b.gff3"


def open_and_wait(session, source):
    session.open(str(source))
    poll_until(session.poll, lambda: session.graphs.opening is None)


def names(session):
    placed = session.annotation_files.placed
    return [placed.annotations.names[row] for row in placed.rows.tolist()]


def test_files_are_opened_together_and_closed_one_by_one(session, graph_file, files):
    open_and_wait(session, graph_file)
    assert session.annotation_files.placed is None
    open_and_wait(session, files[0])
    assert names(session) == ["first", "second"]
    assert "elsewhere" in " ".join(session.annotation_files.placed.notes)
    open_and_wait(session, files[1])
    opened = session.annotation_files
    assert [file.title for file in opened.files] == ["a.bed", "b.gff3"]
    assert names(session) == ["first", "second", "fourth"]
    assert opened.sources == tuple(map(str, files))
    assert [str(region) for region in session.annotation_files.placed.regions] == [
        "ref:0-4",
        "ref:4-6",
        "alt:4-10",
    ]
    open_and_wait(session, files[0])
    assert len(session.annotation_files.files) == 2, "a file that is open is read anew"
    session.graphs.close_annotations(session.annotation_files.files[1])
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert names(session) == ["fourth"]
    session.graphs.close_annotations(session.annotation_files.files[0])
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert session.annotation_files.placed is None


def test_annotations_need_a_graph_and_another_graph_leaves_them_behind(session, graph_file, files):
    open_and_wait(session, files[0])
    assert "open the graph first" in session.problem
    open_and_wait(session, graph_file)
    open_and_wait(session, files[0])
    assert len(session.annotation_files.placed) == 2
    open_and_wait(session, "simulated")
    assert (session.annotation_files.placed, session.annotation_files.files) == (None, ())


def test_an_upload_is_opened_and_a_bad_row_is_one_sentence(session, graph_file):
    open_and_wait(session, graph_file)
    session.open_upload("genes.bed", BED.encode())
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert names(session) == ["first", "second"]
    session.open_upload("bad.bed", b"ref\t0\t4\nref\tten\t20\n")
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert session.problem.startswith("bad.bed, line 2: ")
    assert names(session) == ["first", "second"]


def test_joined_rows_are_those_of_the_parts(files):
    parts = [read_annotations(path) for path in (*files, files[0])]
    joined = join_annotations(parts)
    assert len(joined) == 7
    for name in ("contigs", "types", "names"):
        assert list(getattr(joined, name)) == [text for p in parts for text in getattr(p, name)]
    for name in ("starts", "ends", "strands", "scores", "colours"):
        expected = np.concatenate([getattr(part, name) for part in parts])
        np.testing.assert_array_equal(getattr(joined, name), expected)
    assert len(set(joined.contigs.names)) == len(joined.contigs.names)


def test_blocks_stay_with_their_rows(tmp_path):
    path = tmp_path / "c.bed"
    path.write_text("ref\t0\t9\tx\t0\t+\t0\t9\t0\t2\t2,3\t0,6\n")
    part = read_annotations(path)
    joined = join_annotations([part, part])
    assert joined.blocks_of(1).tolist() == [[0, 2], [6, 9]]
