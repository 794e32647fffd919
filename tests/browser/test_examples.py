"""The example of each page's empty state leads to a useful view."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

from genoviz import get_sample, read_gfa
from tests.browser.conftest import Visit

# The content shown by the example of each page, and its link. The example of k-mers is tested with
# the keyboard.
SEEN = {
    "Tracks": ("0 to 16, depth of blocks", "at=chr1:5001-24000"),
    "Off-targets": ("73 hits of 3 guides", "guides=one_exact"),
    "Quality": ("The median pair has", "file=simulated"),
}
MAX_TABS = 120
# Name or text of the focused element, including shadow roots.
FOCUSED = """() => {
  let one = document.activeElement
  while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement
  const label = one.labels?.[0]?.textContent ?? ""
  const name = one.getAttribute("aria-label") || label || one.textContent
  return `${one.getAttribute("role") ?? one.tagName} ${name.trim()}`
}"""


class EmptyVisit(Visit):
    """A tab with genotypes only, so that its other pages are empty."""

    def __init__(self, page, url, slug):
        super().__init__(page, url, f"?page={slug}&genotypes=genotypes")

    @property
    def example(self):
        return self.button("Try the example").locator("visible=true")

    def is_ready(self):
        return self.example.count() == 1

    def tab_to(self, words, key="Tab"):
        """Press a key until the focused element has a name, without the mouse."""
        for _ in range(MAX_TABS):
            if re.search(words, self.page.evaluate(FOCUSED)):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"{key} does not come to {words!r}")

    def try_it(self, words):
        """Press the button until the example is shown and the button has disappeared."""
        seen = self.page.get_by_text(words).locator("visible=true")

        def press():
            if self.example.count() > 0:  # else the example is being opened
                self.example.click()

        self.insist(press, lambda: seen.count() > 0)
        self.until(lambda: self.example.count() == 0)
        assert self.errors == []


@pytest.fixture
def empty(shared_tabs, dashboard_url):
    """A tab in which only genotypes are open."""
    return shared_tabs.get("empty", lambda page: EmptyVisit(page, dashboard_url, "tracks"))


@pytest.fixture
def without_graph(shared_tabs, dashboard_url):
    """A tab with neither sequences nor a graph."""
    return shared_tabs.get("other", lambda page: EmptyVisit(page, dashboard_url, "offtargets"))


def try_example(visit, title):
    words, link = SEEN[title]
    page_button = visit.page.get_by_role("button", name=title, exact=True)
    visit.insist(page_button.click, visit.is_ready)
    visit.try_it(words)
    visit.until(lambda: link in visit.page.url)


# First, because the focus must be at the start of the page.
def test_an_example_is_searched_and_a_hit_shown_with_the_keyboard_alone(empty):
    visit, page, keys, tab_to = empty, empty.page, empty.page.keyboard, empty.tab_to
    tab_to("^BUTTON Pangenome$")
    tab_to("^BUTTON K-mers$", "ArrowRight")
    keys.press("Enter")
    visit.until(lambda: "page=kmers" in page.url and visit.is_ready())
    tab_to("Try the example")
    keys.press("Enter")
    hits = page.locator(".hits span").first
    visit.until(lambda: hits.inner_text() == "19 hits")
    visit.until(lambda: "kmers=GATTACA" in page.url and visit.example.count() == 0)
    tab_to("^TEXTAREA K-mers")
    keys.press("Control+A")
    keys.type("GATTACAG")
    visit.until(lambda: "kmers=GATTACAG" in page.url)
    visit.until(lambda: hits.inner_text() == "5 hits")
    rows = page.locator(".tabulator-row:visible")
    visit.until(lambda: rows.count() == 5)
    tab_to("^grid ")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    contig, start = rows.nth(1).locator(".tabulator-cell:visible").all_inner_texts()[:2]
    keys.press("Enter")
    start = int(start.replace(",", "")) - 1
    visit.until(lambda: f"at={contig}:{start + 1}-{start + 8}" in page.url)
    # The focus continues, and wraps to the names of the pages.
    tab_to("^BUTTON Toggle theme$")
    assert visit.errors == []


@pytest.mark.parametrize("title", ["Tracks", "Quality"])
def test_the_example_leads_to_something_to_look_at(empty, title):
    try_example(empty, title)


# In another tab, because guides would be from the open genome.
def test_the_example_of_guides_is_searched(without_graph):
    try_example(without_graph, "Off-targets")


def test_the_example_of_the_first_page_is_laid_out_and_the_drawer_closes(without_graph):
    visit = without_graph
    page_button = visit.page.get_by_role("button", name="Pangenome", exact=True)
    visit.insist(page_button.click, visit.is_ready)
    visit.try_it("3,500")
    visit.until(lambda: visit.number("State") == "Finished")
    visit.until(lambda: visit.stress < 1)
    samples = visit.page.get_by_role("tab", name="Samples").locator("visible=true")
    assert samples.count() == 1
    visit.page.set_viewport_size({"width": 820, "height": 768})
    visit.until(lambda: samples.count() == 0)  # the drawer would cover the content


def test_a_graph_is_opened_laid_out_sorted_and_saved_with_the_keyboard_alone(
    without_graph, tmp_path
):
    visit, page, tab_to = without_graph, without_graph.page, without_graph.tab_to
    keys = page.keyboard
    page.set_viewport_size({"width": 1366, "height": 768})
    path = tmp_path / "keys.gfa"
    shutil.copy(get_sample("simulated"), path)
    graph = read_gfa(path)

    def go_to_the_layout():
        tab_to("^BUTTON Pangenome$")
        keys.press("Enter")

    visit.insist(go_to_the_layout, visit.canvas.is_visible)
    tab_to("^BUTTON (Open|Close) drawer$")
    if page.get_by_label("Open drawer").is_visible():
        keys.press("Enter")
    tab_to("^tab (Samples|Server|Upload)$")
    tab_to("^tab Server$", "ArrowRight")
    keys.press("Enter")
    tab_to("^INPUT Path on the server")
    keys.type(str(path))
    keys.press("Enter")
    visit.until(lambda: path.name in page.url)
    tab_to("^BUTTON Run")
    visit.until(visit.button("Run: run the layout").is_visible)
    keys.press("Enter")
    visit.until(lambda: visit.number("State") == "Finished")

    tab_to("^combobox Find a node")
    keys.type("REFA#0#chr1:5,001-9,000")
    keys.press("Enter")
    visit.until(lambda: "at=REFA%230%23chr1:5001-9000" in page.url)
    tab_to("^img Pangenome graph")
    visit.until(lambda: visit.n_painted > 0)
    left, width = visit.view[0], visit.width
    keys.press("ArrowRight")
    visit.until(lambda: visit.view[0] > left)
    keys.press("-")
    visit.until(lambda: visit.width > width)
    keys.press("+")
    visit.until(lambda: visit.width == pytest.approx(width))

    tab_to("^tab Path$")
    tab_to("^tab Paths$", "ArrowRight")
    keys.press("Enter")
    rows = page.locator(".tabulator-row:visible")
    visit.until(lambda: rows.count() > 3)
    tab_to("^grid ")
    keys.press("ArrowUp")
    marked = page.locator("#row-of-keys")
    while "Length" not in marked.inner_text():
        keys.press("ArrowRight")
    assert marked.evaluate("one => getComputedStyle(one).outlineStyle") == "solid"
    keys.press("Enter")
    shortest = graph.path_names[int(np.argmin(graph.path_lengths))]
    visit.until(lambda: shortest in rows.first.inner_text())
    keys.press("ArrowDown")
    keys.press("Space")
    visit.until(page.get_by_role("button", name="Hide: hide").is_visible)
    tab_to("^BUTTON Close drawer$")  # the table is left with one key, not one for each cell

    tab_to("^BUTTON Save$")
    keys.press("Enter")
    tab_to("^BUTTON Export")
    keys.press("Enter")
    tab_to("^menuitem .*TSV", "ArrowDown")
    download = visit.saved(lambda: keys.press("Enter"))
    assert download.suggested_filename == "keys.tsv"
    assert len(download.path().read_text().splitlines()) == 1 + 2 * graph.n_nodes
    assert visit.errors == []
