"""All exports of Pangenome, Tracks and Quality, from real data: read independently and compared."""

from __future__ import annotations

import gzip
import io
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pyBigWig
import pytest
from PIL import Image
from pypdf import PdfReader

from genoviz import (
    GraphLayout,
    path_stress,
    read_gfa,
    read_layout,
    sampled_path_stress,
)
from genoviz.analyses.reproduce.figures import iter_reproduce
from tests.browser.conftest import Visit
from tests.browser.test_pangenome_page import run_to_the_end
from tests.conftest import real_data
from tests.oracles.gfa import read_gfa_text
from tests.oracles.lay import decode_lay
from tests.oracles.offtargets import reverse_complement

REGION = "chr9", 5_000_000, 5_002_000
FOLDER = "intervals/chr9_4-6Mb"
STATES = f"{FOLDER}/bed_chr9_4000000_6000000_chromstates.bed"
SIGNAL = f"{FOLDER}/bigwig_chr9_4000000_6000000_K562_H3K27ac.bigwig"


class SavesVisit(Visit):
    """A tab that goes from one link to the next."""

    def __init__(self, page, url):
        super().__init__(page)
        self.url = url

    def go(self, query, is_there):
        """Open a link, and wait until an element is visible."""
        self.page.goto(self.url + query)
        self.until(is_there)

    def seen(self, role, name, exact=True):
        """Return the visible element with a role and a name."""
        return self.page.get_by_role(role, name=name, exact=exact).locator("visible=true")

    def choose(self, label, option):
        """Select an option of a field."""
        field = self.seen("combobox", label).first
        menu = self.page.get_by_role("listbox")

        def press():
            if not menu.is_visible():
                field.click()
            menu.get_by_text(option, exact=True).click()

        self.insist(press, lambda: field.inner_text() == option and not menu.is_visible())

    def switch(self, name):
        """Press one of several toggle buttons."""
        button = self.seen("button", name)
        self.insist(button.click, lambda: button.get_attribute("aria-pressed") == "true")

    def press_tab(self, name):
        """Open a tab of the page; file names beside it may contain its name."""
        tab = self.seen("tab", name).last
        self.insist(tab.click, lambda: tab.get_attribute("aria-selected") == "true")

    def content(self, name="Save", number=0):
        """Press a button that saves; return the file's name and content."""
        button = self.page.get_by_role("button", name=re.compile(f"^{name}(:|$)"))
        download = self.saved(button.locator("visible=true").nth(number).click)
        return download.suggested_filename, download.path().read_bytes()

    def rows(self):
        return self.page.locator(".tabulator-row:visible")


@pytest.fixture
def visit(shared_tabs, dashboard_url):
    visit = shared_tabs.get("saves", lambda page: SavesVisit(page, dashboard_url))
    yield visit
    assert visit.errors == []


@pytest.fixture(scope="module")
def c4():
    """The graph of C4, parsed from its file."""
    return read_gfa_text(gzip.decompress(real_data("gfa/chr6.C4.gfa.gz").read_bytes()))


def size_of_picture(content):
    """Return width and height of a PNG that is not blank."""
    with Image.open(io.BytesIO(content)) as image:
        assert len(image.convert("RGB").getcolors(1 << 24)) > 20
        return image.size


def words_of_svg(content):
    """Return the text of an SVG."""
    return " ".join(ElementTree.fromstring(content).itertext())


@pytest.fixture
def c4_visit(visit):
    """The tab with the graph of C4."""
    path = real_data("gfa/chr6.C4.gfa.gz")
    if path.name not in visit.page.url or "page=" in visit.page.url:
        visit.go(f"?file={path}", lambda: visit.n_painted > 0)
    return visit


def test_the_layout_and_its_pictures(c4_visit, c4):
    visit, path = c4_visit, real_data("gfa/chr6.C4.gfa.gz")
    run_to_the_end(visit)
    export = visit.button("Export")
    if not export.is_visible():
        visit.insist(visit.button("Save").click, export.is_visible)
    files = {
        name: visit.exported(f"({name})") for name in ("LAY", "TSV", "PNG", "SVG", "PDF", "HTML")
    }
    names = {name: file.suggested_filename for name, file in files.items()}
    assert names == {name: f"chr6_C4.{name.lower()}" for name in names}
    content = {name: file.path().read_bytes() for name, file in files.items()}
    points = np.array(decode_lay(content["LAY"]))
    table = np.loadtxt(io.BytesIO(content["TSV"]), skiprows=1)
    assert table.shape == (2 * len(c4.names), 4)
    assert table[:, 0].tolist() == list(range(len(table)))
    # The table has about six digits.
    np.testing.assert_allclose(points, table[:, 1:3], atol=0.02)
    layout = GraphLayout(points.reshape(-1, 2, 2))
    stress = sampled_path_stress(read_gfa(path), layout, seed=1)
    assert stress.mean == pytest.approx(visit.stress, rel=0.05)
    assert size_of_picture(content["PNG"])[0] == 2400
    with Image.open(io.BytesIO(content["PNG"])) as image:
        assert image.info["dpi"] == pytest.approx((192, 192), abs=0.1)
    (printed,) = PdfReader(files["PDF"].path()).pages
    for words in (words_of_svg(content["SVG"]), printed.extract_text()):
        assert "kbp" in words, "the scale"
    complaints, alone = [], visit.page.context.new_page()
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    alone.set_content(content["HTML"].decode())
    assert alone.locator("svg, canvas, img").count() > 0
    assert "kbp" in alone.content()
    alone.close()
    assert complaints == []


def records_of(fasta):
    """Return FASTA sequences by the first word of their headers."""
    parts = fasta.decode().removeprefix(">").split("\n>")
    return {part.split()[0]: "".join(part.split("\n")[1:]) for part in parts}


def spell(c4, steps):
    """Return the sequence of a walk over nodes of a graph."""
    bases = dict(zip(c4.names, c4.sequences, strict=True))
    return "".join(
        reverse_complement(bases[name]) if is_reverse else bases[name] for name, is_reverse in steps
    )


def test_parts_of_the_graph(c4_visit, c4):
    visit = c4_visit
    node = c4.names[500]
    field = visit.page.get_by_role("combobox", name="Find a node")
    fasta = visit.button("FASTA")

    def find():
        field.fill(node)
        field.press("Enter")

    visit.press_tab("Inspect")
    visit.insist(find, fasta.is_visible)
    _name, content = visit.content("FASTA")
    assert list(records_of(content).values()) == [c4.sequences[500]]

    visit.press_tab("Cut & keep")
    visit.choose("Keep", "The picked nodes")
    around = visit.page.get_by_role("textbox", name="Around (bp)")
    told = visit.page.get_by_text(re.compile(r"^\d+ nodes"))
    visit.insist(lambda: (around.fill("200"), around.press("Enter")), told.is_visible)
    kinds = "Graph, GFA", "Bases of the nodes, FASTA", "Names of the nodes, text"
    saved = {}
    for kind in (*kinds, "Graph, GFA in gzip", "Bases of the paths' pieces, FASTA"):
        if kind != kinds[0]:
            visit.choose("As", kind)
        saved[kind] = visit.content("Download")[1]
    part = read_gfa_text(saved[kinds[0]])
    assert node in part.names
    assert 1 < len(part.names) < len(c4.names)
    own = dict(zip(c4.names, c4.sequences, strict=True))
    assert {name: own[name] for name in part.names} == dict(
        zip(part.names, part.sequences, strict=True)
    )
    among = [edge for edge in c4.edges if {end[0] for end in edge} <= set(part.names)]
    assert sorted(part.edges) == sorted(among)
    assert read_gfa_text(gzip.decompress(saved["Graph, GFA in gzip"])) == part
    assert records_of(saved[kinds[1]]) == {name: own[name] for name in part.names}
    assert saved[kinds[2]].decode().split() == part.names
    whole = [spell(c4, steps) for _, steps in c4.paths]
    pieces = records_of(saved["Bases of the paths' pieces, FASTA"])
    assert list(pieces.values()) == [spell(part, steps) for _, steps in part.paths]
    assert all(any(piece in bases for bases in whole) for piece in pieces.values())


def test_sites_of_variation(c4_visit, c4):
    visit = c4_visit
    visit.press_tab("Variation")
    visit.insist(visit.button("Find sites").click, lambda: visit.rows().count() > 5)
    _name, content = visit.content("Save: all sites.*")
    sites = pd.read_csv(io.BytesIO(content), sep="\t", dtype=str)
    (contig,) = set(sites["contig"])
    lengths = dict(zip(c4.names, c4.lengths, strict=True))
    # On the reference, a site begins at the end of its first node, and ends at the start of its
    # last. The path's name has its start on the contig.
    path = next(name for name, _ in c4.paths if name.startswith(f"{contig}:"))
    begin = int(re.search(r":(\d+)-", path)[1])
    steps = [f"{'<' if is_reverse else '>'}{name}" for name, is_reverse in dict(c4.paths)[path]]
    ends = begin + np.cumsum([lengths[step[1:]] for step in steps])
    ends_of, starts_of = {}, {}
    for step, end in zip(steps, ends.tolist(), strict=True):
        ends_of.setdefault(step, set()).add(end)
        starts_of.setdefault(step, set()).add(end - lengths[step[1:]])
    assert len(sites) > 100
    for site in sites.itertuples():
        first, last = re.findall("[<>][^<>]+", site.id)
        assert int(site.start) in ends_of[first]
        assert int(site.end) in starts_of[last]
        assert int(site.reference_length) == int(site.end) - int(site.start)
        assert site.kind != "SNP" or site.allele_lengths.split(",") == ["1"] * int(site.n_alleles)


def test_what_paths_share(c4_visit, c4):
    visit = c4_visit
    lengths = dict(zip(c4.names, c4.lengths, strict=True))
    nodes = {path: {name for name, _ in steps} for path, steps in c4.paths}

    def bp(names):
        return sum(lengths[name] for name in names)

    def saved(label, menu):
        return visit.exported(label, f"Export: the {menu}").path().read_bytes()

    visit.press_tab("Paths")
    visit.switch("Nodes")
    visit.until(visit.seen("combobox", "Order of rows").is_visible)
    table = saved("Presence of all nodes (TSV)", "visible part")
    presence = pd.read_csv(io.BytesIO(table), sep="\t", dtype=str)
    assert presence["#node"].tolist() == c4.names
    assert presence["length"].astype(int).tolist() == c4.lengths
    for path, own in nodes.items():
        assert set(presence["#node"][presence[path] == "1"]) == own
    table = saved("Visible part, by bins (TSV)", "visible part")
    cells = pd.read_csv(io.BytesIO(table), sep="\t", dtype={"first_node": str, "last_node": str})
    assert set(cells["#path"]) == set(nodes)
    firsts = dict(zip(c4.names, np.cumsum([0, *c4.lengths]).tolist(), strict=False))
    for path, steps in c4.paths[:3]:
        visits = np.zeros((2, sum(c4.lengths)))
        for name, is_reverse in steps:
            visits[int(is_reverse), firsts[name] : firsts[name] + lengths[name]] += 1
        own = cells[cells["#path"] == path]
        depths = visits.sum(axis=0)
        for cell in own[:: len(own) // 50].itertuples():
            here = slice(cell.start, cell.end)
            assert (
                firsts[cell.first_node]
                <= cell.start
                < firsts[cell.first_node] + lengths[cell.first_node]
            )
            assert (
                firsts[cell.last_node]
                < cell.end
                <= firsts[cell.last_node] + lengths[cell.last_node]
            )
            assert cell.present == pytest.approx((depths[here] > 0).mean(), rel=1e-5)
            assert cell.depth == pytest.approx(depths[here].mean(), rel=1e-5)
            assert cell.reverse == pytest.approx(visits[1, here].sum() / depths[here].sum())
        is_shown = np.zeros(len(depths), bool)
        for start, end in zip(own["start"], own["end"], strict=True):
            is_shown[start:end] = True
        assert not depths[~is_shown].any()
    assert size_of_picture(saved("Picture (PNG)", "visible part"))[0] > 1000
    words = words_of_svg(saved("Picture (SVG)", "visible part"))
    assert c4.paths[0][0].split(":")[0][:12] in words

    visit.switch("Similarity")
    light = visit.seen("button", re.compile("^Light up: nodes found in only one"))
    visit.until(light.is_visible)
    visit.until(visit.page.get_by_text("Jaccard by bp").is_visible)
    pairs = pd.read_csv(io.BytesIO(saved("All pairs (TSV)", "matrix")), sep="\t")
    assert len(pairs) == len(nodes) ** 2
    for pair in pairs[::97].itertuples(index=False):
        both, either = nodes[pair[0]] & nodes[pair[1]], nodes[pair[0]] | nodes[pair[1]]
        assert pair[2:] == pytest.approx(
            (len(both), len(both) / len(either), bp(both), bp(both) / bp(either))
        )
    assert size_of_picture(saved("Picture (PNG)", "matrix"))[0] > 500
    assert c4.paths[0][0].split(":")[0][:12] in words_of_svg(saved("Picture (SVG)", "matrix"))

    visit.switch("Growth")
    visit.until(visit.page.get_by_text("in some of").is_visible)
    table = saved("Numbers (TSV)", "curves")
    growth = pd.read_csv(io.BytesIO(table), sep="\t", na_values=".")
    n_paths = len(nodes)
    assert growth["#n_groups"].tolist() == list(range(1, n_paths + 1))
    alone = np.mean([bp(own) for own in nodes.values()])
    assert growth["expected"][0] == growth["core"][0] == pytest.approx(alone)
    assert growth["expected"][n_paths - 1] == bp(set.union(*nodes.values()))
    assert growth["core"][n_paths - 1] == bp(set.intersection(*nodes.values()))
    words = words_of_svg(saved("Picture (SVG)", "curves"))
    assert "Growth of" in words
    assert size_of_picture(saved("Picture (PNG)", "curves"))[0] > 500


def test_tracks(visit, tmp_path):
    contig, start, end = REGION
    states, signal = real_data(STATES), real_data(SIGNAL)
    place = f"region={contig}:{start}-{end}"
    shown = visit.page.get_by_label("Region or feature")
    query = f"?page=tracks&track={states}&track={signal}&{place}"
    visit.go(query, lambda: shown.input_value() == f"{contig}:{start + 1:,}-{end:,}")
    visit.until(lambda: visit.page.get_by_text("H3K27ac.bigwig").count() > 0)
    stem = f"{contig}_{start + 1}-{end}"
    names = "PNG", "SVG", "PDF", "HTML"
    files = {}
    for name in names:
        visit.switch(name)
        title, files[name] = visit.content()
        assert title == f"{stem}.{name.lower()}"
    assert size_of_picture(files["PNG"])[0] > 1000
    (printed,) = PdfReader(io.BytesIO(files["PDF"])).pages
    for words in (words_of_svg(files["SVG"]), printed.extract_text(), files["HTML"].decode()):
        assert "3K27ac.bigwig" in words
        assert f"{start + 1:,}" in words

    rows = [line.split("\t") for line in states.read_text().splitlines()]
    wanted = [row for row in rows if int(row[1]) < end and int(row[2]) > start]
    visit.choose("Save", "Features of a track")
    features = visit.content()[1].decode().splitlines()
    assert [line.split("\t")[:4] for line in features] == [row[:4] for row in wanted]

    visit.choose("Save", "Values of a track")
    visit.choose("Track", signal.name)
    with pyBigWig.open(str(signal)) as file:
        values = np.nan_to_num(np.array(file.values(contig, start, end)))
        length_of_contig = file.chroms(contig)
    steps = np.zeros(end - start)
    for line in visit.content()[1].decode().splitlines():
        name, first, last, value = line.split("\t")
        assert name == contig
        steps[int(first) - start : int(last) - start] = float(value)
    np.testing.assert_allclose(steps, values, rtol=1e-6)
    visit.switch("bigWig")
    written = tmp_path / "written.bw"
    written.write_bytes(visit.content()[1])
    with pyBigWig.open(str(written)) as file:
        assert file.chroms() == {contig: length_of_contig}
        np.testing.assert_allclose(
            np.nan_to_num(file.values(contig, start, end)), values, rtol=1e-6
        )

    visit.choose("Save", "Bins of all tracks")
    length = visit.page.get_by_role("textbox", name="Bin width")
    length.fill("100")
    length.press("Enter")
    bins = pd.read_csv(io.BytesIO(visit.content()[1]), sep="\t")
    for column, of_bin in (("mean", np.mean), ("min", np.min), ("max", np.max)):
        own = bins[f"{signal.name}: {column}"]
        np.testing.assert_allclose(own, of_bin(values.reshape(-1, 100), axis=1), rtol=1e-5)

    visit.insist(visit.seen("button", "Count").click, lambda: visit.rows().count() == 2)
    counted = pd.read_csv(io.BytesIO(visit.content("TSV", -1)[1]), sep="\t")
    with pyBigWig.open(str(signal)) as file:
        n_steps = len(file.intervals(contig, start, end))
    assert counted["intervals"].tolist() == [len(wanted), n_steps]
    assert counted["covered_bases"].tolist() == [end - start] * 2
    assert counted["mean"].tolist() == pytest.approx([1, values.mean()], abs=1e-6)


def stress_of_near_steps(graph, steps, points, reach=8):
    """Return the mean term of steps up to ``reach`` apart on a path, and its torn joints."""
    number = {name: node for node, name in enumerate(graph.names)}
    nodes = np.array([number[name] for name, _ in steps])
    is_reverse = np.array([is_reverse for _, is_reverse in steps], int)
    lengths = np.array(graph.lengths)[nodes]
    ends = np.cumsum(lengths)
    positions = np.stack([ends - lengths, ends], axis=1)
    places = np.stack([points[nodes, is_reverse], points[nodes, 1 - is_reverse]], axis=1)
    terms = []
    for further in range(1, reach + 1):
        for one, other in ((0, 0), (0, 1), (1, 0), (1, 1)):
            along = positions[further:, other] - positions[:-further, one]
            apart = np.hypot(*(places[further:, other] - places[:-further, one]).T)
            terms.append((apart[along > 0] / along[along > 0] - 1) ** 2)
    gaps = np.hypot(*(places[1:, 0] - places[:-1, 1]).T)
    is_torn = (gaps > 10) & (gaps > 5 * (lengths[1:] + lengths[:-1]))
    return np.concatenate(terms).mean(), is_torn.sum()


def test_the_quality_of_a_layout_and_a_figure_of_a_paper(visit):
    graph, layout = real_data("gfa/DRB1-3123.gfa.gz"), real_data("layouts/DRB1-3123.odgi.lay")
    query = f"?page=quality&file={graph}&layout={layout}"
    visit.go(query, visit.page.get_by_text("The median pair has").is_visible)
    exact = visit.page.get_by_text(re.compile("^Exact: "))
    visit.insist(visit.button("Exact").click, exact.is_visible)
    own = path_stress(read_gfa(graph), read_layout(layout), weighting="steps").mean
    assert float(exact.inner_text().split()[1].rstrip(",")) == pytest.approx(own, rel=1e-3)
    said = visit.page.get_by_text(re.compile("^Sampled: ")).inner_text()
    numbers = re.findall(r"\d[\d.e-]*\d", said)
    mean, low, high = (float(numbers[place]) for place in (0, 2, 3))  # index 1 is the 95 % interval
    assert low < mean < high
    assert own == pytest.approx(mean, abs=2 * (high - low))

    worst = pd.read_csv(io.BytesIO(visit.content("TSV")[1]), sep="\t")
    assert len(worst) > 100
    assert worst.filter(regex="(?i)stress").iloc[:, 0].is_monotonic_decreasing
    visit.press_tab("Paths")
    visit.until(lambda: visit.rows().count() > 5)
    ranking = pd.read_csv(io.BytesIO(visit.content("TSV")[1]), sep="\t")
    text = read_gfa_text(gzip.decompress(graph.read_bytes()))
    points = np.array(decode_lay(layout.read_bytes())).reshape(-1, 2, 2)
    found = ranking.set_index("Path")
    assert found["Stress"].is_monotonic_decreasing
    assert len(found) == len(text.paths)
    for path, steps in text.paths:
        stress, n_torn = stress_of_near_steps(text, steps, points)
        assert found.loc[path, "Steps"] == len(steps)
        assert found.loc[path, "Stress"] == pytest.approx(stress, rel=1e-6)
        assert found.loc[path, "Torn joints"] == n_torn

    visit.press_tab("From the papers")
    name = "How batches of array updates cost quality"
    picture = visit.page.get_by_role("img", name=name)
    visit.choose("Graph", "Simulated")  # the open graph takes a minute
    visit.insist(visit.button("Draw").click, picture.is_visible)
    files = {
        kind: visit.exported(f"({kind})").path().read_bytes() for kind in ("TSV", "SVG", "PNG")
    }
    measured = list(iter_reproduce("layout-batches", small=True))[-1].result
    # Sequential updates depend on the number of threads; all others are deterministic.
    rows = [line.split("\t") for line in files["TSV"].decode().splitlines()]
    wanted = [line.split("\t") for line in measured.lines]
    assert [row[:3] for row in rows[1:]] == [row[:3] for row in wanted]
    batches = [(row, other) for row, other in zip(rows[1:], wanted, strict=True) if row[1]]
    assert len(batches) > 4
    assert all(row == other for row, other in batches)
    assert size_of_picture(files["PNG"])[0] > 500
    words = words_of_svg(files["SVG"])
    for series in {row[0] for row, _ in batches[1:]}:
        assert series in words
