"""Folders and lists of graphs that a server offers, each graph with its layout."""

from __future__ import annotations

import gc
import re
import shutil
import sys
import weakref
from pathlib import Path

import pytest

from genoviz.analyses.graph.layout.stress_results import PathStress
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.collection import gbz_file
from genoviz.collection.layouts import layout_collection
from genoviz.collection.members import GraphMember, read_collection
from genoviz.collection.reading import read_member
from genoviz.collection.records import LayoutPlan, read_record
from genoviz.errors import FileFormatError
from genoviz.io.files import file_source
from genoviz.io.graph import cache
from genoviz.io.graph.gbz_parts import count_gbz
from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening import served_collections
from genoviz_app.opening.apart import READERS
from genoviz_app.opening.graph_files import GRAPHS
from genoviz_app.opening.memory import graph_bytes
from genoviz_app.opening.overviews import genome_of, iter_genome_overview
from genoviz_app.opening.served_collections import InCollection, expand_collections
from genoviz_app.opening.served_files import ServedGraph, group_files
from genoviz_app.parts import sample_select
from genoviz_app.server.lab_file import read_lab
from genoviz_app.server.serving import offer_files
from genoviz_app.server.settings import SETTINGS
from genoviz_app.session import layout_run
from genoviz_app.session.address import Address
from genoviz_app.session.finding import Openings, suggest
from genoviz_app.session.layout_run import say_terms
from tests.app.conftest import poll_until
from tests.graphs import write_genome
from tests.waiting import wait_until

NAMES = ("chr2", "chr10")


@pytest.fixture(autouse=True)
def genome(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(sample_select, "LOOK_SECONDS", 0.1)  # how often a tab looks for layouts
    monkeypatch.chdir(tmp_path)
    Path("genome").mkdir()
    for name in NAMES:
        write_gfa(simulate_pangenome(20, 3, contig=name), f"genome/{name}.gfa")
    return Path("genome")


def lay_out(source, folder, stress_samples=0):
    plan = LayoutPlan(options={"n_rounds": 2}, stress_samples=stress_samples)
    return layout_collection(read_collection(source), folder, plan, backend="cpu")


def offered(*names):
    return group_files(*expand_collections(map(Path, names)))


def test_a_folder_stands_for_its_graphs_each_with_its_layout(genome):
    lay_out(genome, "layouts")
    chr2, chr10 = offered("x.gfa", "genome", "layouts", "y.gfa")[1:3]
    for name, graph in zip(NAMES, (chr2, chr10), strict=True):
        layout = Path(f"layouts/{name}.lay")
        member = InCollection(name, layout.resolve(), Path("genome").resolve())
        assert graph == ServedGraph(Path(f"genome/{name}.gfa"), (layout,), member)
    assert [graph.path.name for graph in offered("x.gfa", "genome", "layouts", "y.gfa")] == [
        "x.gfa", "chr2.gfa", "chr10.gfa", "y.gfa",
    ]  # fmt: skip
    names = [graph.name for graph in offered("x.gfa", "genome", "layouts", "y.gfa")]
    assert names == ["", "chr2", "chr10", ""]


def test_layouts_may_be_beside_the_graphs_or_not_be_there(genome):
    assert [graph.companions for graph in offered("genome")] == [(), ()]
    lay_out(genome, "genome")
    assert [graph.companions for graph in offered("genome")] == [
        (Path("genome/chr2.lay"),),
        (Path("genome/chr10.lay"),),
    ]


def test_a_layout_of_another_file_is_left_out(genome):
    lay_out(genome, "layouts")
    write_gfa(simulate_pangenome(20, 3, seed=1, contig="chr2"), "genome/chr2.gfa")
    assert [len(graph.companions) for graph in offered("genome", "layouts")] == [0, 1]


def test_a_list_names_files(genome):
    Path("list.toml").write_text('[graphs]\nten = "genome/chr10.gfa"\n')
    lay_out("list.toml", "layouts")
    (graph,) = offered("list.toml", "layouts")
    assert graph.path.samefile("genome/chr10.gfa")
    assert [path.name for path in graph.companions] == ["ten.lay"]
    assert graph.name == "ten"


def test_a_folder_without_graphs_is_refused(genome):
    Path("bare").mkdir()
    Path("bare/notes.txt").touch()
    with pytest.raises(FileFormatError, match="bare: has no graph, needs files that end in"):
        offered("genome", "bare")


def test_annotations_after_a_collection_are_of_all_its_graphs(genome):
    lay_out("genome", "layouts")
    found = offered("x.gfa", "genome", "layouts", "genes.bed", "y.gfa", "more.bed")
    assert [[path.name for path in graph.companions] for graph in found] == [
        [], ["chr2.lay", "genes.bed"], ["chr10.lay", "genes.bed"], ["more.bed"],
    ]  # fmt: skip


def test_a_lab_offers_a_collection(genome, monkeypatch):
    for name in ("files", "tracks", "sequences", "genotypes", "folders", "groups", "offered"):
        monkeypatch.setattr(SETTINGS, name, getattr(SETTINGS, name))
    lay_out("genome", "layouts")
    Path("layouts/chr10.lay").unlink()
    Path("genes.bed").write_text("chr2\t1\t9\tABC1\n")
    Path("lab.toml").write_text('[files]\noffer = ["genome", "layouts", "genes.bed"]\n')
    offer_files(read_lab(Path("lab.toml")))
    assert [graph.name for graph in SETTINGS.files] == list(NAMES)
    assert [path.name for path in SETTINGS.files[0].companions] == ["chr2.lay", "genes.bed"]
    assert [path.name for path in SETTINGS.tracks] == ["genes.bed"]
    assert Path("layouts/chr10.lay").resolve() in SETTINGS.offered, "it may be made later"


@pytest.fixture
def dashboard(genome, monkeypatch):
    """A tab of a server with three chromosomes, of which the last is not laid out."""
    write_gfa(simulate_pangenome(40, 3, contig="chrX"), "genome/chrX.gfa")
    lay_out("genome", "layouts", stress_samples=100)
    Path("layouts/chrX.lay").unlink()
    record = Path("layouts/chr10.json")  # of a sample too small for an interval
    record.write_text(re.sub(r'("stress_(low|high)": )[^,]*', r"\1null", record.read_text()))
    files = group_files(*expand_collections([genome.absolute(), Path("layouts").absolute()]))
    monkeypatch.setattr(SETTINGS, "files", files)
    tab = Dashboard()
    tab.open_first()
    yield tab
    tab.close()


def test_a_tab_of_a_genome_begins_with_all_chromosomes(dashboard):
    table = dashboard.page.chromosomes
    poll_until(dashboard.poll, lambda: table._is_known)
    assert table.visible
    assert not dashboard.page.view.panel.visible
    assert not table.leave_button.visible
    assert dashboard.session.opened is None
    assert table.title == "3 chromosomes"
    assert [row["name"] for row in table.rows] == ["chr2", "chr10", "chrX"]
    for row in table.rows:
        graph = read_gfa(f"genome/{row['name']}.gfa")
        length = graph.path_lengths[0]
        assert row["nodes"][0] == f"{graph.n_nodes:,}"
        assert row["paths"][0] == str(graph.n_paths)
        assert row["length"][1] == f"{length:,} bp"
        depth = (graph.node_depths * graph.node_lengths).sum() / graph.total_length
        assert row["depth"][0] == f"{depth:,.1f}"
    assert [row["picture"].partition(",")[0] for row in table.rows] == [
        "data:image/png;base64", "data:image/png;base64", "",
    ]  # fmt: skip
    assert max(row["share"] for row in table.rows) == 1
    measured = read_record(GraphMember("chr2", Path("genome/chr2.gfa")), Path("layouts/chr2.lay"))
    assert float(table.rows[0]["stress"][0]) == pytest.approx(measured.stress, rel=0.005)
    assert "95 %" in table.rows[0]["stress"][1]
    assert table.rows[1]["stress"][1] == "sampled"
    assert table.rows[2]["stress"][0] == "–"
    assert table.rows[2]["missing"] == "not laid out yet"
    words, command = table.note
    assert words.startswith("Not laid out yet: 1 chromosome.")
    assert table.length_head[0] == "Length, REFA"
    assert command == "genoviz layout --all genome --output layouts"
    lay_out("genome", "layouts")  # while the server runs
    poll_until(dashboard.poll, lambda: table.rows[2]["picture"] and table._is_known)
    assert table.note == ["", ""]
    table._handle_msg({"act": "open", "name": "chrX"})
    poll_until(dashboard.poll, lambda: dashboard.session.layout is not None)
    assert dashboard.session.layout.title == "chrX.lay"


@pytest.fixture(params=["gbz", "toml"])
def parts(request, tmp_path, monkeypatch):
    """Return a file that stands for chromosomes of one file, two of which are laid out."""
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    monkeypatch.setattr(gbz_file, "MIN_VISITS", 1)
    monkeypatch.setattr(served_collections, "MIN_STEPS", 1)
    monkeypatch.setattr(served_collections, "SECONDS_BETWEEN_WORDS", 0)
    write_genome(tmp_path / "all.gbz", 2, 7, is_mixed=False)
    source = Path("all.gbz")
    if request.param == "toml":
        source = Path("list.toml")
        rows = [f'chr{k} = {{file = "all.gfa", part = "chr{k}"}}\n' for k in (1, 2, 3)]
        source.write_text(f"[graphs]\n{''.join(rows)}")
    lay_out(source, "layouts", stress_samples=100)
    Path("layouts/chr3.lay").unlink()
    return source


def test_chromosomes_of_one_file_are_served_like_files(parts, monkeypatch):
    said = []
    if parts.suffix == ".gbz":
        monkeypatch.setenv("GENOVIZ_CACHE_DIR", "other")
    expanded = expand_collections([parts, Path("layouts")], said.append)
    assert (said == []) == (parts.suffix == ".toml")
    assert all(re.fullmatch(r"all\.gbz: [a-z ]+, \d+ %", words) for words in said)
    files = group_files(*expanded)
    file = "all.gbz" if parts.suffix == ".gbz" else "all.gfa"
    assert [graph.name for graph in files] == ["chr1", "chr2", "chr3"]
    assert [graph.title for graph in files] == [f"chr{k} of {file}" for k in (1, 2, 3)]
    assert [graph.layout and graph.layout.name for graph in files] == ["chr1.lay", "chr2.lay", None]
    monkeypatch.setattr(SETTINGS, "files", files)
    tab = Dashboard()
    tab.open_first()
    try:
        session, table = tab.session, tab.page.chromosomes
        poll_until(tab.poll, lambda: table._is_known)
        assert session.opened is None
        graphs = {k: read_member(read_collection("all.gbz")[f"chr{k}"]) for k in (1, 2, 3)}
        shown = [(row["nodes"][0], row["paths"][0]) for row in table.rows]
        assert shown == [(str(each.n_nodes), str(each.n_paths)) for each in graphs.values()]
        assert table.rows[2]["missing"] == "not laid out yet"
        assert [bool(row["picture"]) for row in table.rows] == [True, True, False]
        assert table.rows[0]["stress"][0] != "–"
        assert table.note[1] == f"genoviz layout --all {parts} --output layouts"
        table._handle_msg({"act": "open", "name": "chr2"})
        poll_until(tab.poll, lambda: session.layout is not None)
        assert session.opened.title == f"chr2 of {file}"
        assert session.opened.graph.path_names == graphs[2].path_names
        assert session.opened.graph.steps.tolist() == graphs[2].steps.tolist()
        link = Address.parse(tab._link(), pages=("pangenome",))
        assert Path(link.file) == Path(file).resolve() / "chr2"
        table.leave_button.clicks += 1
        poll_until(tab.poll, lambda: session.opened is None)
        tab.links.revisit(link.query)
        poll_until(tab.poll, lambda: session.layout is not None)
        assert session.opened.title == f"chr2 of {file}"
        lay_out(parts, "layouts")  # while the server runs
        table.leave_button.clicks += 1
        poll_until(tab.poll, lambda: all(row["picture"] for row in table.rows))
        session.open(f"{file}/chr9")
        poll_until(tab.poll, lambda: session.problem)
        assert "no chromosome or component is named 'chr9'; there are" in session.problem
    finally:
        tab.close()


def test_a_chromosome_is_claimed_by_its_own_size(parts):
    graph = read_member(read_collection("all.gbz")["chr2"])
    (chr2,) = (each for each in offered(str(parts)) if each.name == "chr2")
    if parts.suffix == ".toml":  # all of the file is read first
        assert graph_bytes(chr2.path) == graph_bytes(Path("all.gfa"))
        return
    assert graph_bytes(chr2.path) == 100 * graph.n_nodes + 5 * graph.n_steps
    cached = cache._folder(file_source.Source.of(Path("all.gbz")), "chr2")
    shutil.rmtree(cached)  # as when others need the place; nodes of the whole file are read again
    whole, size = graph_bytes(Path("all.gbz")), Path("all.gbz").stat().st_size
    n_steps = count_gbz(Path("all.gbz"))[1]
    rest = whole - 5 * n_steps - 4 * size
    assert graph_bytes(chr2.path) == rest + 5 * graph.n_steps + 2 * size < whole
    assert graph_bytes(Path("all.gbz/chr9")) == whole
    shutil.rmtree(cache._folder(file_source.Source.of(Path("all.gbz")), cache.LIST))
    assert graph_bytes(chr2.path) == rest + 5 * (n_steps // 8) + 2 * size, "not listed yet"


def test_a_small_or_damaged_or_single_chromosome_is_opened_as_a_file(parts, monkeypatch):
    assert len(offered("all.gbz")) == 3
    write_gbz(read_member(read_collection("all.gbz")["chr2"]), "one.gbz")
    content = Path("all.gbz").read_bytes()
    Path("cut.gbz").write_bytes(content[: len(content) // 2])
    for name in ("one.gbz", "cut.gbz", "all.gfa"):
        (graph,) = offered(name)
        assert (graph.path, graph.name) == (Path(name), "")
    monkeypatch.setattr(served_collections, "MIN_STEPS", count_gbz(Path("all.gbz"))[1] + 1)
    (graph,) = offered("all.gbz")
    assert (graph.path, graph.name) == (Path("all.gbz"), "")


@pytest.mark.skipif(sys.platform != "linux", reason="only there memory is limited")
def test_chromosomes_that_do_not_fit_into_memory_do_not_end_the_server(tmp_path, monkeypatch):
    monkeypatch.setattr(served_collections, "MIN_STEPS", 1)
    monkeypatch.setattr(served_collections, "server_memory", lambda: 60)
    READERS.start()
    path, said = tmp_path / "large.gbz", []
    write_gbz(simulate_pangenome(50_000, 12, sequences=True), path)
    assert expand_collections([path], said.append) == ((path,), {})
    words = r"large\.gbz: needs more memory than .* server, 6e-08 GB; it is opened as a whole"
    assert re.fullmatch(words, said[-1])


def found_by(dashboard, text):
    """Return what the header's field shows of a text."""
    finder = dashboard.finder
    n_answers = finder._n_answers
    finder.find(text)
    poll_until(dashboard.poll, lambda: finder._n_answers > n_answers)
    return finder.found


def test_the_header_finds_in_all_chromosomes(dashboard):
    session, finder = dashboard.session, dashboard.finder
    Path("genes.bed").write_text("chr10\t3\t20\tABC1\n")
    session.tracks.open("genes.bed")
    table = dashboard.page.chromosomes
    poll_until(dashboard.poll, lambda: table._is_known and session.tracks.files)
    names = dict(suggest(Openings.of(session), "chr1"))
    assert names["chr10"] == "chromosome"
    assert names["REFA#0#chr10"] == "path of chr10"
    # A gene of a track is on a chromosome that is not open; so a person is asked.
    shown = found_by(dashboard, "abc1")
    assert (shown["kind"], shown["can_light"]) == ("not open", False)
    assert shown["choices"] == ["Open chr10 (chromosome)", "ABC1 (feature)"]
    finder._handle_msg({"act": "choose", "row": 1})
    poll_until(dashboard.poll, lambda: session.region is not None)
    assert Path(session.opened.source).name == "chr10.gfa"
    assert session.layout is not None
    assert str(session.region) == "REFA#0#chr10:3-20"
    # A place of another chromosome closes nothing before it is asked for.
    shown = found_by(dashboard, "chrX:5-9")
    assert shown["choices"] == ["Open chrX (chromosome)"]
    assert Path(session.opened.source).name == "chr10.gfa"
    finder._handle_msg({"act": "choose", "row": 1})
    poll_until(dashboard.poll, lambda: str(session.region) == "REFA#0#chrX:4-9")
    # Where nothing is open, what means one chromosome opens it.
    session.graphs.close()
    finder.find("REFA#0#chr2")
    poll_until(dashboard.poll, lambda: session.opened is not None)
    assert Path(session.opened.source).name == "chr2.gfa"
    session.graphs.close()
    finder.find("chr77")
    poll_until(dashboard.poll, lambda: session.problem)
    assert "Nothing that is open is called 'chr77'" in session.problem


def test_the_stress_of_a_chromosome_is_that_of_its_record(dashboard, monkeypatch):
    """It is sampled only where the record lacks it."""
    sampled = []

    def sample(graph, *_, **__):
        sampled.append(graph.path_names[0])
        return PathStress(0.5, 0.4, 0.6, 0.1, 9, 0, False)

    monkeypatch.setattr(layout_run, "sampled_path_stress", sample)
    session, table = dashboard.session, dashboard.page.chromosomes
    run = session.runs.run
    poll_until(dashboard.poll, lambda: table._is_known)
    for name in NAMES:
        table._handle_msg({"act": "open", "name": name})
        poll_until(dashboard.poll, lambda: session.layout is not None)
        poll_until(dashboard.poll, lambda: getattr(run.snapshot, "stress", None) is not None)
        stress = run.progress.stress
        if name == "chr2":
            record = read_record(
                GraphMember(name, Path("genome/chr2.gfa")), Path("layouts/chr2.lay")
            )
            assert (stress.mean, stress.ci_low, stress.ci_high) == (
                record.stress, record.stress_low, record.stress_high,
            )  # fmt: skip
            assert "record of the layout" in say_terms(stress)
            assert sampled == []
        else:
            assert stress.mean == 0.5
            assert say_terms(stress).startswith("Mean of 9 sampled terms")
        session.graphs.close()
    assert sampled == ["REFA#0#chr10"]


def test_a_chromosome_is_kept_until_the_next_and_then_its_memory_is_free(dashboard):
    session, table = dashboard.session, dashboard.page.chromosomes
    poll_until(dashboard.poll, lambda: table.rows)
    table._handle_msg({"act": "open", "name": "chr11"})
    assert not session.graphs.is_opening, "there is none of that name"
    table._handle_msg({"act": "open", "name": "chr10"})
    assert table.busy == "chr10"
    poll_until(dashboard.poll, lambda: session.layout is not None)
    poll_until(dashboard.poll, lambda: not table.visible)
    assert dashboard.page.view.panel.visible
    assert table.busy == ""
    link = Address.parse(dashboard._link(), pages=("pangenome",))
    assert Path(link.file).name == "chr10.gfa"
    assert Path(link.layout).name == "chr10.lay"
    for slug in ("tracks", "kmers", "quality", "pangenome"):  # they hold what they show
        dashboard.deck.show(slug)
        dashboard.poll()
    graph, layout = weakref.ref(session.opened.graph), weakref.ref(session.layout.layout)
    table.leave_button.clicks += 1
    poll_until(dashboard.poll, lambda: table.visible)
    assert session.opened is None
    assert dashboard._link() == ""

    def is_free():
        dashboard.poll()
        gc.collect()
        return graph() is None

    dashboard.links.revisit(link.query)
    poll_until(dashboard.poll, lambda: session.layout is not None)
    assert session.opened.graph is graph(), "opened again at once"
    assert session.layout.layout is layout()
    dashboard.links.revisit("")
    assert session.opened is None
    table._handle_msg({"act": "open", "name": "chr2"})
    poll_until(dashboard.poll, lambda: session.layout is not None)
    wait_until(is_free)
    graph = session.opened.graph
    assert graph in GRAPHS._kept.values()
    dashboard.close()
    assert graph not in GRAPHS._kept.values()


def test_a_graph_that_cannot_be_read_leaves_the_others(genome):
    Path("genome/chr2.gfa").write_text("S\tonly\n")
    *_, last = iter_genome_overview(genome_of(offered("genome")))
    two, ten = last.chromosomes
    assert "chr2.gfa, line 1" in two.problem
    assert ten.facts.n_paths == 3
