"""Highlights are visible: as text in the list, and in colour on the layout and the tracks."""

from __future__ import annotations

import json
import re
from contextlib import closing, contextmanager

import pytest

from genoviz.io.graph.gfa import read_gfa
from genoviz.samples import get_sample
from tests.browser.conftest import CHROMIUM, FLAGS, Visit
from tests.waiting import PATIENCE

N_SAMPLES = 12
# Number of pixels of a colour in the picture.
COUNT = """(canvas, [red, green, blue]) => {
  const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height)
  let n = 0
  for (let i = 0; i < data.length; i += 4) {
    n += Math.abs(data[i] - red) + Math.abs(data[i + 1] - green) + Math.abs(data[i + 2] - blue) < 9
  }
  return n
}"""
FIELD = re.compile("^Find a node")


class LitVisit(Visit):
    """A tab with the bundled graph, a gene on its first path, and a SNP in it."""

    def find(self, text, condition):
        field = self.page.get_by_role("combobox", name=FIELD)

        def enter():
            field.fill(text)
            field.press("Enter")

        self.insist(enter, condition)

    def light(self, button, title):
        """Press the highlight button until the list has a title; return its text and colour."""
        item = self.page.get_by_role("list", name="Lit up").get_by_role("listitem")
        item = item.filter(has_text=title)
        self.insist(button.click, item.is_visible)
        return item.inner_text(), rgb(item.get_attribute("data-colour"))

    def light_region(self, place):
        """Go to a region of the tracks, and highlight it."""
        field = self.page.get_by_label("Region or feature")
        self.show_page("Tracks", field.is_visible)

        def enter():
            field.fill(place)
            field.press("Enter")

        self.insist(enter, lambda: place.replace(",", "").split("#")[-1] in self.page.url)
        button = self.page.get_by_role("button", name="Light up: the clicked feature, otherwise")
        return self.light(button, place)

    def go(self, title, condition):
        """Click on a title in the list."""
        start = re.compile(f"^{re.escape(title)}: .* Show its place")
        name = self.page.get_by_role("button", name=start)
        self.insist(name.click, condition)

    def show_page(self, name, condition):
        button = self.page.get_by_role("button", name=name, exact=True)
        self.insist(button.click, condition)

    def count(self, colour):
        return self.page.locator("canvas.graph-canvas").evaluate(COUNT, colour)

    def count_in_figures(self, colour):
        figures = self.page.locator(".bk-Canvas > canvas")
        return figures.evaluate_all(
            f"(all, colour) => all.filter((one) => one.width && one.checkVisibility())"
            f".reduce((n, one) => n + ({COUNT})(one, colour), 0)", colour
        )  # fmt: skip

    @property
    def listed(self):
        """Words, colour, and whether it is hidden, of each highlight."""
        items = self.page.get_by_role("list", name="Lit up").locator("li[data-colour]")
        return items.evaluate_all(
            "items => items.map((one) =>"
            " [one.innerText, one.dataset.colour, one.classList.contains('hidden')])"
        )

    @property
    def named(self):
        """The highlights shown by the tracks."""
        lanes = self.page.locator("canvas[data-lit]")
        return dict(json.loads(lanes.get_attribute("data-lit")))


def rgb(colour):
    """Return red, green and blue of ``#rrggbb``."""
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


@contextmanager
def fresh_visit(browsers, url):
    """Open a link in a new browser, as another person would."""
    browser = browsers.launch(executable_path=CHROMIUM, args=FLAGS)
    with closing(browser):
        page = browser.new_page(viewport={"width": 1366, "height": 768}, color_scheme="dark")
        page.set_default_timeout(1000 * PATIENCE)
        yield LitVisit(page, url)


@pytest.fixture(scope="module")
def sample():
    """Name, bases and files of the first path."""
    graph = read_gfa(get_sample("simulated"))
    handles = graph.path_steps(0)[:60].tolist()
    assert not any(handle & 1 for handle in handles)
    return graph.path_names[0], "".join(graph.node_sequences[handle >> 1] for handle in handles)


@pytest.fixture
def visit(shared_tabs, dashboard_url, sample, tmp_path_factory):
    """A tab used by all tests of this file."""

    def open_tab(page):
        name, _bases = sample
        folder = tmp_path_factory.mktemp("lit")
        (folder / "genes.bed").write_text(f"{name}\t1000\t2500\tGENE1\n")
        head = "\t".join(f"s{i}" for i in range(N_SAMPLES))
        lines = [
            f"{name}\t{place + 1}\trs{place}\tA\tC\t.\t.\t.\tGT\t"
            + "\t".join(("0/0", "0/1", "1/1")[(i + place) % 3] for i in range(N_SAMPLES))
            for place in (40, 700, 4000)
        ]
        (folder / "snps.vcf").write_text(
            "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\t"
            + head + "\n" + "\n".join(lines) + "\n"
        )  # fmt: skip
        query = f"?file=simulated&annotations={folder / 'genes.bed'}"
        return LitVisit(page, dashboard_url, f"{query}&genotypes={folder / 'snps.vcf'}")

    return shared_tabs.get("lit", open_tab)


def test_a_gene_is_lit_on_the_layout_and_in_the_tracks(visit):
    card = visit.page.get_by_role("status").filter(has_text="GENE1")
    visit.find("gene1", card.is_visible)
    button = card.get_by_role("button", name="Light up")
    words, colour = visit.light(button, "GENE1")
    assert re.search(r"1 gene on [\d,]+ nodes, \d+ haplotypes", words)
    visit.until(lambda: visit.count(colour) > 30)
    visit.page.get_by_role("button", name="Hide GENE1").click()
    visit.until(lambda: visit.count(colour) == 0)
    visit.page.get_by_role("button", name="Show GENE1").click()
    visit.until(lambda: visit.count(colour) > 30)
    visit.show_page("Tracks", lambda: "GENE1" in visit.named)
    assert visit.errors == []


def test_a_kmer_is_lit_wherever_it_is(visit, sample):
    kmer = sample[1][200:221]
    hits = visit.page.get_by_text(re.compile(r"^(all [\d,]+ hits|1 hit)$"))
    visit.find(kmer, hits.is_visible)
    button = visit.page.get_by_role("button", name="Light up: all these hits")
    words, colour = visit.light(button, kmer)
    assert re.search(r"hits? on [\d,]+ nodes?, \d+ haplotypes?", words)
    visit.show_tab("Along the genome")
    visit.until(lambda: visit.count_in_figures(colour) > 30)
    visit.show_tab("Hits")
    visit.go(kmer, lambda: visit.button("Run").is_visible())
    visit.until(lambda: visit.count(colour) > 30)
    assert visit.errors == []


def test_a_guide_is_lit_with_all_its_places(visit, sample):
    bases = sample[1]
    at = next(i for i in range(100, 2000) if bases[i + 21 : i + 23] == "GG")
    guide = bases[at : at + 20]
    choice = visit.page.get_by_role("button", name=f"{guide} (guide)")
    visit.find(guide, choice.is_visible)
    button = visit.page.get_by_role("button", name="Light up: all listed hits")
    visit.insist(choice.click, button.is_visible)
    visit.until(button.is_enabled)
    words, colour = visit.light(button, guide)
    assert re.search(r"places? on [\d,]+ nodes?, \d+ haplotypes?", words)
    visit.until(lambda: visit.count_in_figures(colour) > 2)
    visit.go(f"g1 {guide}", lambda: visit.button("Run").is_visible())
    visit.until(lambda: visit.count(colour) > 30)
    assert visit.errors == []


def test_a_snp_is_lit_at_its_base(visit):
    show = visit.page.get_by_role("button", name="Show on the layout")
    visit.find("rs700", show.is_visible)
    words, colour = visit.light(show, "rs700")
    assert "1 variant on 1 node" in words
    visit.until(visit.canvas.is_visible)
    visit.until(lambda: visit.count(colour) > 10)
    visit.show_tab("Inspect")
    visit.until(visit.button("FASTA").is_visible)  # its node is selected
    visit.show_page("Tracks", lambda: visit.named["rs700"] == 1)
    visit.page.get_by_role("button", name="Remove rs700").click()
    visit.until(lambda: "rs700" not in visit.named)
    assert visit.errors == []


def test_an_interval_is_lit_in_the_tracks_and_on_the_layout(visit, sample):
    place = f"{sample[0]}:2,001-4,000"
    words, colour = visit.light_region(place)
    assert re.search(r"1 interval on [\d,]+ nodes, \d+ haplotypes", words)
    visit.until(lambda: visit.named[place] == 1)
    visit.show_page("Pangenome", lambda: visit.button("Run").is_visible())
    visit.go(place, lambda: visit.count(colour) > 10)
    visit.page.get_by_role("button", name=f"Remove {place}").click()
    visit.until(lambda: visit.count(colour) == 0)
    assert visit.errors == []


def test_all_that_is_lit_is_there_again_in_a_fresh_browser(visit, sample, browsers):
    kmer, place = "GATTACA", f"{sample[0]}:2,001-4,000"
    all_hits = re.compile(r"^all \d\d+ hits$")
    visit.find(kmer, visit.page.get_by_text(all_hits).is_visible)
    words, _ = visit.light(visit.page.get_by_role("button", name="Light up: all these hits"), kmer)
    visit.until(lambda: "lit=" in visit.page.url and kmer in visit.page.url)
    link_to_hits = visit.page.url
    assert int(re.search(r"(\d+) hits", words)[1]) > 40
    assert "too many" not in words
    show = visit.page.get_by_role("button", name="Show on the layout")
    visit.find("rs700", show.is_visible)
    _, violet = visit.light(show, "rs700")
    visit.light_region(place)
    visit.page.get_by_role("button", name=f"Hide {place}").click()
    visit.until(lambda: place not in visit.named)
    tracks = visit.named
    visit.show_page("Pangenome", lambda: visit.button("Run").is_visible())
    visit.button("Fit to view").click()
    visit.until(lambda: visit.count(violet) > 10)
    visit.settle()
    before = visit.listed
    visit.until(lambda: visit.page.url.count("lit=") == len(before))
    with fresh_visit(browsers, visit.page.url) as again:
        again.until(lambda: again.listed == before)
        again.until(lambda: again.count(violet) > 10)
        again.settle()
        for words, colour, _ in before:
            n_pixels = again.count(rgb(colour))
            assert n_pixels > 0 if visit.count(rgb(colour)) > 30 else n_pixels < 60, words
        again.show_page("Tracks", lambda: again.named == tracks)
        again.page.goto(link_to_hits)
        again.until(again.page.get_by_text(all_hits).is_visible)
    assert visit.errors + again.errors == []


def test_a_page_is_docked_beside_a_running_layout_and_comes_back_with_its_link(visit, tabs):
    page = visit.page
    tracks = page.locator("canvas.track-canvas")
    card = page.get_by_role("status").filter(has_text="GENE1")
    visit.find("gene1", card.is_visible)
    words, _colour = visit.light(card.get_by_role("button", name="Light up"), "GENE1")
    visit.show_page("Pangenome", lambda: visit.button("Run").is_visible())
    dock = page.get_by_role("button", name=re.compile("^Keep the layout in sight.* beside"))
    visit.insist(dock.click, lambda: tracks.is_visible() and visit.canvas.is_visible())
    field = page.get_by_label("Region or feature")

    def enter():
        field.fill("REFA#0#chr1:50,001-60,000")
        field.press("Enter")

    visit.insist(enter, lambda: "chr1:50001-60000" in page.url)
    visit.until(lambda: visit.view[0] > 0 and visit.width < 120_000)  # of some 210,000
    visit.settle()  # the gene was already visible, and the region moves the view during a drag
    x, y = visit.place()

    def drag():
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x - 120, y, steps=4)
        page.mouse.up()

    visit.insist(drag, lambda: "REFA" in page.url and "chr1:50001-60000" not in page.url)
    divider = page.get_by_role("separator", name=re.compile("^Size of the page"))
    divider.press("ArrowLeft")
    visit.until(lambda: "split=tracks,beside,47" in page.url)
    visit.run_for_long()
    n_painted = visit.n_painted
    visit.until(lambda: visit.n_painted > n_painted + 2)
    assert tracks.is_visible()
    visit.stop()  # it would slow down the tab to be opened
    again = LitVisit(tabs.new_page(), page.url)
    again.until(lambda: again.page.locator("canvas.track-canvas").is_visible())
    assert again.canvas.is_visible()
    lit = again.page.get_by_role("list", name="Lit up").get_by_role("listitem")
    again.until(lambda: words in lit.all_inner_texts())
    page.bring_to_front()
    close = page.get_by_role("button", name="Close: the layout alone again")
    visit.insist(close.click, lambda: not tracks.is_visible())
    visit.until(lambda: "split=" not in page.url)
    assert visit.errors + again.errors == []


def test_a_gene_is_chosen_by_its_name_on_the_layout(visit):
    page = visit.page
    visit.show_page("Pangenome", visit.canvas.is_visible)
    if visit.number("State") == "Ready to run":  # without a layout there are no names
        visit.run_for_long()
        visit.stop()

    def place():
        labels = json.loads(visit.noted("clickable") or "[]")
        left, top, right, bottom = next(one["box"] for one in labels if one["text"] == "GENE1")
        box = visit.canvas.bounding_box()
        return box["x"] + (left + right) / 2, box["y"] + (top + bottom) / 2

    visit.insist(visit.button("Fit to view").click, place)
    visit.settle()
    view = visit.view
    visit.insist(
        lambda: page.mouse.move(*place()), lambda: visit.noted("hover").startswith("GENE1\n")
    )
    assert visit.canvas.evaluate("canvas => canvas.style.cursor") == "pointer"
    row = page.locator(".tabulator-row.tabulator-selected", has_text="GENE1")
    visit.insist(lambda: page.mouse.click(*place()), row.is_visible)
    visit.until(lambda: "chr1:1001-2500" in page.url)
    assert visit.view == view
    assert visit.errors == []
