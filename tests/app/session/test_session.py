"""A tab opens graphs from samples, paths and uploads; errors are one sentence, files are shared."""

from __future__ import annotations

import gc
import os
import re
import weakref
from pathlib import Path

import numpy as np
import pytest

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.layout_files import write_layout
from genoviz.model import GraphLayout, PangenomeGraph
from genoviz_app.opening.files import FileCache, check_path
from genoviz_app.opening.graph_files import _iter_graph
from genoviz_app.opening.served_files import ServedGraph, group_files
from genoviz_app.server.jobs import JobState, describe_problem
from genoviz_app.session.address import Region
from genoviz_app.session.session import Session
from tests.app.conftest import GFA, poll_until
from tests.conftest import real_data
from tests.oracles.gbz_base import write_gbz_base
from tests.waiting import PATIENCE


def open_and_wait(session, source):
    session.open(source)
    poll_until(session.poll, lambda: session.graphs.opening is None)


def test_a_file_is_opened_by_path(session, graph_file):
    open_and_wait(session, str(graph_file))
    assert session.problem == ""
    assert (session.opened.title, session.opened.source) == ("small.gfa", str(graph_file))
    assert session.opened.graph.path_names == ("ref", "alt")


def test_a_database_of_gbz_base_is_opened(session, tmp_path):
    database = write_gbz_base(real_data("gbz/example-v1.gbz"), tmp_path / "a.gbz.db")
    open_and_wait(session, str(database))
    assert session.problem == ""
    assert session.opened.graph.path_names[0] == "A"


def test_a_sample_is_opened_by_name(session):
    open_and_wait(session, "Simulated")
    assert session.opened.source == "simulated"
    assert session.opened.graph.n_paths == 12


def test_two_tabs_share_one_copy_and_an_edited_file_is_read_anew(session, graph_file):
    other = Session()
    for tab in (session, other):
        open_and_wait(tab, str(graph_file))
    assert session.opened.graph is other.opened.graph
    graph_file.write_text(GFA.replace("ACGT", "ACGTA"))
    open_and_wait(other, str(graph_file))
    assert other.opened.graph is not session.opened.graph
    assert other.opened.graph.total_length == 14


def test_opening_another_graph_forgets_region_and_picked_nodes(session, graph_file):
    open_and_wait(session, str(graph_file))
    session.param.update(region=Region("ref", 0, 4), picked=np.array([1]))
    open_and_wait(session, "simulated")
    assert (session.region, session.picked.tolist()) == (None, [])


def test_a_region_of_a_link_is_shown_once_its_graph_is_open(session, graph_file):
    session.open(str(graph_file), region=Region("alt", 2, 9))
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert session.region == Region("alt", 2, 9)
    session.open(str(graph_file), region=Region("chr1", 2, 9))
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert session.region is None
    assert "no path or contig is named 'chr1'; the graph has ref, alt" in session.problem


def test_a_region_of_a_link_may_be_on_the_contig_of_a_path(session, tmp_path):
    (tmp_path / "part.gfa").write_text("S\ta\tACGTACG\nP\ts#1#chr6:100-107\ta+\t*\n")
    session.open(str(tmp_path / "part.gfa"), region=Region("chr6", 102, 105))
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert session.region == Region("s#1#chr6:100-107", 2, 5)


def test_a_bad_file_is_one_sentence_and_what_was_open_stays(session, graph_file, tmp_path):
    open_and_wait(session, str(graph_file))
    bad = tmp_path / "bad.gfa"
    bad.write_text("S\ts1\tACGT\nL\ts1\t+\ts9\t+\t0M\n")
    open_and_wait(session, str(bad))
    assert session.problem.startswith("bad.gfa, line 2: ")
    assert session.problem.endswith(".")
    assert "\n" not in session.problem
    assert session.opened.title == "small.gfa"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "no file is named"),
        ("/nowhere/at/all.gfa", "does not exist on the server"),
        ("/", "is a folder"),
        ("a\0b.gfa", "cannot be a path"),
        ("a\0b.bed", "cannot be a path"),
        ("x" * 5000, "cannot be a path|does not exist"),
        ("x" * 10_000_000, r"^'x{200}\.\.\.' cannot be a path"),
    ],
)
def test_a_path_that_cannot_be_opened_is_said_so(session, source, words):
    open_and_wait(session, source)
    assert session.opened is None
    assert len(session.problem) < 6000
    with pytest.raises(ParameterError, match=words):
        check_path(source)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.gbz.db", b"SQLite format 3\0" + bytes(84), "cannot be read as a database of GBZ-base"),
        ("a.gfaz", b"\1\2\3\4", "decompress it to GFA with gfaz"),
        ("a.og", b"\1\2\3\4", "convert it with odgi view -g"),
    ],
)
def test_of_a_graph_that_is_not_read_it_is_said_what_to_do(session, tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    open_and_wait(session, str(tmp_path / name))
    assert session.opened is None
    assert words in session.problem


def test_a_pipe_is_no_file_and_nobody_waits_for_it(session, tmp_path):
    pipe = tmp_path / "pipe.bed"
    os.mkfifo(pipe)
    open_and_wait(session, str(pipe))
    assert session.problem == f"{pipe} is a pipe or a device; a file is needed."


def test_beyond_the_allowed_folders_nothing_is_opened(tmp_path, graph_file):
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(ParameterError, match=r"is not below .*inside, where this server may read"):
        check_path(str(graph_file), (inside,))
    with pytest.raises(ParameterError, match="is not below"):
        check_path(str(inside / ".." / "small.gfa"), (inside,))
    link = inside / "link.gfa"
    link.symlink_to(graph_file)
    with pytest.raises(ParameterError, match="is not below"):
        check_path(str(link), (inside,))
    assert check_path(str(graph_file), (tmp_path,)) == graph_file


def test_an_upload_is_opened_and_removed_with_the_tab(session):
    session.open_upload("../mine.gfa", GFA.encode())
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert (session.opened.title, session.opened.source) == ("mine.gfa", "")
    folder = session.upload_path("")
    assert [path.name for path in folder.iterdir()] == ["mine.gfa"]
    kept = weakref.ref(session.opened.graph)
    session.close()
    assert not folder.exists()
    session.opened = None

    def is_gone():
        gc.collect()
        return kept() is None

    poll_until(lambda: None, is_gone)


def test_an_upload_of_another_kind_is_refused(session):
    session.open_upload("reads.fastq", b"@r1")
    assert session.wanted_page == ""
    assert session.problem == (
        "reads.fastq was not opened: its name needs to end in .gfa, .gbz, .lay, .tsv, .bed, .gff3, "
        ".gtf, .fa or .vcf (also with .gz), .2bit, .gvfm, .bam, .bw or that of another kind of "
        "file that a page shows."
    )
    session.open_upload("traits.csv", b"sample,height\n")
    assert session.problem == (
        "traits.csv was not opened: a table of traits is opened on the Genotypes page, and one "
        "of values of nodes with Colour by: Own table on the Pangenome page."
    )


def test_a_table_is_not_read_as_a_graph(session, tmp_path):
    (tmp_path / "traits.CSV").write_text("sample,height\nA,1\n")
    session.complain("An earlier problem of the link.")
    with session.following():
        session.open(str(tmp_path / "traits.CSV"))
    assert not session.graphs.is_opening
    first, second = session.problem.splitlines()
    assert first == "An earlier problem of the link."
    assert second.startswith("traits.CSV was not opened: a table of traits is opened on the Geno")
    (tmp_path / "graph.txt").write_text(GFA)
    open_and_wait(session, str(tmp_path / "graph.txt"))
    assert (session.problem, session.opened.graph.path_names) == ("", ("ref", "alt"))


@pytest.mark.parametrize("ending", ["bim", "fam", "pvar", "sample"])
def test_a_part_of_genotypes_is_opened_as_genotypes(session, tmp_path, ending):
    (tmp_path / f"herd.{ending}").write_text("x\n")
    session.open(str(tmp_path / f"herd.{ending}"))
    assert session.wanted_page == "genotypes"
    poll_until(session.poll, lambda: not session.opens_files)
    assert re.search("[Nn]o such file", session.problem)
    session.open_upload(f"flock.{ending}", b"x\n")
    poll_until(session.poll, lambda: session.genotypes.awaited != "")
    assert f"flock.{ending} is here" in session.genotypes.awaited


def test_a_layout_opens_with_its_graph_and_belongs_to_it(graph_file, tmp_path, graph):
    layout = GraphLayout(np.arange(16.0).reshape(4, 2, 2))
    path = tmp_path / "small.lay"
    write_layout(layout, path)
    session = Session(files=(ServedGraph(graph_file, (path,)),))
    open_and_wait(session, str(graph_file))
    poll_until(session.poll, lambda: session.layout is not None)
    assert session.layout.source == str(path)
    np.testing.assert_allclose(session.layout.layout.coordinates, layout.coordinates)
    other = tmp_path / "other.gfa"
    other.write_text(GFA)
    open_and_wait(session, str(other))
    assert session.layout is None
    session.close()


def test_what_belongs_to_a_graph_that_cannot_be_opened_is_not_put_on_another(
    session, graph_file, tmp_path
):
    open_and_wait(session, str(graph_file))
    bad, genes = tmp_path / "bad.gfa", tmp_path / "genes.bed"
    bad.write_text("S\n")
    genes.write_text("ref\t1\t4\tgene\n")
    layout = tmp_path / "bad.lay"
    write_layout(GraphLayout(np.zeros((5, 2, 2))), layout)
    session.open(str(bad), companions=(str(layout), str(genes)))
    poll_until(session.poll, lambda: not session.graphs.is_opening)
    assert session.problem.startswith("bad.gfa, line 1: ")
    assert "5 nodes" not in session.problem
    assert session.opened.title == "small.gfa"
    assert session.annotation_files.placed is None


def test_all_that_is_wrong_with_what_belongs_to_a_graph_is_said(session, graph_file, tmp_path):
    layout, genes = tmp_path / "five.lay", tmp_path / "bad.bed"
    write_layout(GraphLayout(np.zeros((5, 2, 2))), layout)
    genes.write_text("ref\tx\t4\tgene\n")
    session.open(str(graph_file), companions=(str(layout), str(genes)))
    poll_until(session.poll, lambda: not session.graphs.is_opening)
    assert "lays out 5 nodes, but the graph has 4" in session.problem
    assert "bad.bed, line 1: " in session.problem


def test_annotations_of_several_files_are_one_and_each_can_be_taken_away(
    session, graph_file, tmp_path
):
    genes, repeats = tmp_path / "genes.bed", tmp_path / "repeats.bed"
    genes.write_text("ref\t1\t5\tG1\nalt\t0\t3\tG2\n")
    repeats.write_text("ref\t2\t4\tR1\nchr9\t0\t3\tR2\n")
    open_and_wait(session, str(graph_file))
    assert session.annotation_files.placed is None
    open_and_wait(session, str(genes))
    open_and_wait(session, str(repeats))
    open_and_wait(session, str(repeats))
    files = session.annotation_files.files
    assert [file.title for file in files] == ["genes.bed", "repeats.bed"]
    placed = session.annotation_files.placed
    assert [placed.annotations.names[row] for row in placed.rows] == ["G1", "G2", "R1"]
    assert any("chr9" in note for note in placed.notes)
    session.graphs.close_annotations(files[0])
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert session.annotation_files.sources == (str(repeats),)
    assert len(session.annotation_files.placed) == 1


def test_a_layout_without_its_graph_or_of_another_is_one_sentence(session, graph_file, tmp_path):
    path = tmp_path / "five.lay"
    write_layout(GraphLayout(np.zeros((5, 2, 2))), path)
    open_and_wait(session, str(path))
    assert session.problem == "five.lay holds the layout of a graph; open the graph first."
    open_and_wait(session, str(graph_file))
    session.open_upload("mine.lay", path.read_bytes())
    poll_until(session.poll, lambda: session.graphs.opening is None)
    assert "lays out 5 nodes, but the graph has 4" in session.problem
    assert session.opened.title == "small.gfa"


def test_files_of_a_server_belong_to_the_graph_before_them():
    names = ("a.gfa", "a.lay", "a.bed.gz", "b.gfa.gz", "b.gtf")
    grouped = group_files([Path(name) for name in names])
    assert [(served.path.name, len(served.companions)) for served in grouped] == [
        ("a.gfa", 2),
        ("b.gfa.gz", 1),
    ]
    with pytest.raises(
        ParameterError, match=r"x\.lay holds the layout of a graph, and none comes before it"
    ):
        group_files([Path("x.lay")])


def test_closing_a_tab_cancels_its_jobs():
    session = Session()
    job = session.submit(iter(int, 1), title="for ever")
    assert session.is_busy
    session.close()
    assert job.wait(PATIENCE)
    assert job.state is JobState.CANCELLED
    assert not session.is_busy


def test_a_file_that_two_tabs_open_at_once_is_read_once(graph_file):
    cache = FileCache(_iter_graph, 4)
    first, second = cache.iter_read(graph_file), cache.iter_read(graph_file)
    assert next(first) is not None
    assert next(second) is None, "the second waits while the first reads"
    graphs = [step for step in first if isinstance(step, PangenomeGraph)]
    assert [step for step in second if isinstance(step, PangenomeGraph)] == graphs


def test_when_the_reading_tab_closes_the_waiting_one_reads(graph_file):
    cache = FileCache(_iter_graph, 4)
    first, second = cache.iter_read(graph_file), cache.iter_read(graph_file)
    next(first)
    assert next(second) is None
    first.close()
    assert any(isinstance(step, PangenomeGraph) for step in second)


def test_only_the_last_graphs_are_kept(tmp_path):
    cache = FileCache(_iter_graph, 2)
    for name in "abc":
        path = tmp_path / f"{name}.gfa"
        path.write_text(GFA)
        list(cache.iter_read(path))
    assert [Path(key[0]).name for key in cache._kept] == ["b.gfa", "c.gfa"]
    assert len(cache._contents) == 2


def test_problems_are_sentences_for_people():
    assert describe_problem(FileFormatError("a.gfa", "is empty")) == "a.gfa: is empty."
    assert describe_problem(MemoryError()) == "There is not enough memory on the server for this."
    text = describe_problem(ZeroDivisionError("x"))
    assert "ZeroDivisionError" in text
    assert "log" in text


def test_samples_open_where_only_some_folders_may_be_read(tmp_path):
    session = Session(folders=(tmp_path,))
    session.open("exons")
    assert session.wanted_page == "tracks", "nothing of it is on the page of layouts"
    session.tracks.open("reads")
    poll_until(session.poll, lambda: not session.tracks.is_opening)
    assert session.problem == ""
    assert [file.title for file in session.tracks.files] == ["exons.bed.gz", "reads.bed.gz"]
    assert session.tracks.sources == ("exons", "reads")
    session.close()


def test_each_complaint_is_said_once(session):
    for sentence in ("One.", "Two.", "", "One."):
        session.complain(sentence)
    assert session.problem == "One.\nTwo."
