"""Complete workflows: a link in a new browser, Cancel, a lasso selection on other pages."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from genoviz import read_gfa, simulate_genotypes, write_plink
from tests.browser.conftest import CHROMIUM, FLAGS, Visit
from tests.browser.test_genotypes_page import SCATTER
from tests.browser.test_lit import LitVisit
from tests.conftest import real_data
from tests.waiting import PATIENCE

GENE = "C4A_HERV-K"
N_BASES = 40_000_000


@pytest.fixture
def c4(shared_tabs, dashboard_url):
    """A tab with the graph of C4 and its genes."""
    graph, genes = real_data("gfa/chr6.C4.gfa.gz"), real_data("gfa/chr6.C4.bed")
    query = f"?file={graph}&annotations={genes}"
    return shared_tabs.get("c4", lambda page: LitVisit(page, dashboard_url, query))


def lit_words(visit):
    items = visit.page.get_by_role("list", name="Lit up").get_by_role("listitem")
    return items.all_inner_texts()


def test_a_link_shows_the_same_in_a_fresh_browser(c4, browsers):
    visit, page = c4, c4.page
    card = page.get_by_role("status").filter(has_text=GENE)
    visit.find(GENE, card.is_visible)
    _words, colour = visit.light(card.get_by_role("button", name="Light up"), GENE)
    tracks = page.locator("canvas.track-canvas")
    dock = page.get_by_role("button", name=re.compile("^Keep the layout in sight.* beside"))
    visit.insist(dock.click, lambda: tracks.is_visible() and visit.canvas.is_visible())
    visit.settle()
    page.mouse.move(*visit.place())
    before = visit.width
    page.mouse.wheel(0, -200)
    visit.until(lambda: visit.width < before)
    visit.settle()
    visit.until(lambda: "split=tracks,beside" in page.url and "lit=" in page.url)
    region = page.get_by_label("Region or feature")
    visit.until(lambda: linked_place(page.url) == (pytest.approx(visit.view), region.input_value()))
    browser = browsers.launch(executable_path=CHROMIUM, args=FLAGS)
    try:
        other = browser.new_page(viewport=page.viewport_size, color_scheme="dark")
        other.set_default_timeout(1000 * PATIENCE)
        assert other.context.cookies() == []
        again = LitVisit(other, page.url)
        again.until(lambda: other.locator("canvas.track-canvas").is_visible())
        again.until(lambda: lit_words(again) == lit_words(visit))
        again.until(lambda: places(again) == pytest.approx(places(visit), rel=0.02, abs=20))
        again.until(lambda: again.count(colour) > 10)
        shown = other.get_by_label("Region or feature")
        again.until(lambda: shown.input_value() == region.input_value())
        assert again.errors == visit.errors == []
    finally:
        browser.close()


def places(visit):
    """Return a view's left, right and centre; its height depends on the first steps."""
    left, right, low, high = visit.view
    return left, right, (low + high) / 2


def linked_place(url):
    """Return view and region of a link, which get there after they are shown."""
    parts = parse_qs(urlsplit(url).query)
    path, _, region = parts["at"][0].rpartition(":")
    start, end = map(int, region.split("-"))
    view = [float(number) for number in parts["view"][0].split(",")]  # an error if it is "all"
    return view, f"{path}:{start:,}-{end:,}"


@pytest.fixture
def large(shared_tabs, dashboard_url):
    """A tab for starting slow actions."""

    def open_tab(page):
        class KmersVisit(Visit):
            def is_ready(self):
                return self.page.get_by_role("tab", name="Hits").is_visible()

        visit = KmersVisit(page, dashboard_url, "?page=kmers&sequences=genome")
        visit.url = dashboard_url
        return visit

    return shared_tabs.get("large", open_tab)


def test_a_large_file_is_left_before_it_is_open(large, tmp_path):
    visit, page = large, large.page
    path = tmp_path / "large.fa"
    bases = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(1).integers(0, 4, N_BASES)]
    path.write_bytes(b">large\n" + bases.tobytes() + b"\n")
    visit.show_tab("Server")
    field = page.get_by_label("Sequences on the server")
    cancel = page.get_by_role("button", name="Cancel").locator("visible=true")

    def open_and_leave_it():
        path.touch()  # if it was opened before Cancel was pressed, read it again
        field.fill(str(path))
        field.press("Enter")
        cancel.click()

    said = page.get_by_text("Cancelled; what was open stays open.")
    visit.insist(open_and_leave_it, said.is_visible)
    kmers = page.get_by_label("K-mers", exact=True).last
    hits = page.get_by_text(re.compile("19 hits"))
    visit.insist(lambda: kmers.fill("GATTACA"), hits.first.is_visible)
    assert "sequences=genome" in page.url
    assert visit.errors == []


def test_a_long_search_is_left(large):
    visit, page = large, large.page
    genome = real_data("genomes/ecoli_k12_mg1655.fna.gz")
    numbers = np.random.default_rng(2).integers(0, 4, (60, 20))
    guides = ["".join("ACGT"[n] for n in row) for row in numbers]
    query = f"?page=offtargets&genome={genome}&guides={guides[0]}&limits=8,2,2"
    page.goto(large.url + query)
    found = page.get_by_text(re.compile("hits? of 1 guide, found in")).locator("visible=true")
    visit.until(lambda: found.count() == 1)
    first = found.inner_text()
    cancel = page.get_by_role("button", name="Cancel").locator("visible=true")
    field = page.get_by_label("Guides", exact=True).last

    def search(wanted):
        field.fill("\n".join(wanted))
        field.press("Control+Enter")

    visit.insist(lambda: search(guides), lambda: cancel.count() == 1)
    said = page.get_by_text("The search was cancelled; the list shows the previous search.")
    visit.insist(cancel.click, said.is_visible)
    search(guides[:1])
    visit.until(lambda: found.count() == 1)
    assert found.inner_text().split(",")[0] == first.split(",")[0]
    assert visit.errors == []


class SamplesVisit(LitVisit):
    """The samples of genotypes."""

    def is_ready(self):
        return self.page.evaluate(SCATTER)[0] > 0


def test_a_lasso_of_samples_is_lit_on_the_layout(tabs, dashboard_url, tmp_path):
    graph = read_gfa(real_data("gfa/chr6.C4.gfa.gz"))
    names = sorted({path.split("#")[0] for path in graph.path_names})
    write_plink(simulate_genotypes(len(names), 300, seed=5), tmp_path / "people")
    fam = tmp_path / "people.fam"
    fam.write_text("".join(f"{name} {name} 0 0 0 -9\n" for name in names))
    files = f"file={real_data('gfa/chr6.C4.gfa.gz')}&genotypes={tmp_path / 'people.bed'}"
    link = f"?page=genotypes&tab=samples&{files}"
    visit = SamplesVisit(tabs.new_page(), dashboard_url, link)
    page, mouse = visit.page, visit.page.mouse
    n = len(names)

    def draw_around_the_left_half():
        n_drawn, left, top, width, height = page.evaluate(SCATTER)
        assert n_drawn == n
        mouse.move(left + 2, top + 2)
        mouse.down()
        for x, y in ((0.5, 0), (0.5, 1), (0, 1), (0, 0.5)):
            mouse.move(left + 2 + x * (width - 4), top + 2 + y * (height - 4))
        mouse.up()

    light = page.get_by_role("button", name="Light up: the paths of these samples")
    visit.insist(draw_around_the_left_half, light.is_visible)
    # Bokeh's lasso reports each move of a drag that began after the picture had moved.
    visit.errors[:] = [error for error in visit.errors if error != "Assertion failed"]
    words, colour = visit.light(light, "picked samples")
    n_picked, n_nodes, n_haplotypes = (
        int(number.replace(",", ""))
        for number in re.search(
            r"([\d,]+) picked samples.* ([\d,]+) nodes, ([\d,]+) haplotypes", words, re.S
        ).groups()
    )
    assert 0 < n_picked < n
    assert n_haplotypes >= n_picked
    assert 0 < n_nodes <= graph.n_nodes
    visit.show_page("Pangenome", visit.canvas.is_visible)
    visit.until(lambda: visit.count(colour) > 30)
    assert visit.errors == []
