"""The Off-targets page in a browser."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from tests.browser.conftest import Visit
from tests.browser.test_accessibility import breaches_at_rest
from tests.oracles.offtargets import find_sites

NUMBERS = random.Random(7)
SPACER = "GACCTGTCGCTGACGCATTC"
MANY = "CAATTTGCTCCACACACGTG", "CGACTCTTATTAGGGTTCGA"
# Set a text of thousands of lines, which takes Chromium seconds to type.
SET = """(field, text) => {
  const {set} = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value")
  set.call(field, text)
  field.dispatchEvent(new Event("input", {bubbles: true}))
}"""


def letters(n):
    return "".join(NUMBERS.choice("ACGT") for _ in range(n))


CHR1 = letters(30_000) + SPACER + "TGG" + letters(8_000)
CHR2 = letters(9_000) + SPACER[:4] + "A" + SPACER[5:] + "AGG" + letters(300)


class OffTargetsVisit(Visit):
    """The Off-targets page."""

    def is_ready(self):
        return self.search.is_enabled()

    @property
    def search(self):
        """The search button; another button uses the open graph."""
        return self.page.get_by_role("button", name=re.compile("^Search: "))

    def rows(self, table):
        return self.page.locator(".tabulator").nth(table).locator(".tabulator-row:visible")

    def says(self, text):
        return self.page.get_by_text(text).first.is_visible()


@pytest.fixture(scope="module")
def genome_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("offtargets") / "genome.fa"
    path.write_text(f">chr1\n{CHR1}\n>chr2\n{CHR2}\n")
    return path


@pytest.fixture
def visit(shared_tabs, dashboard_url, genome_file):
    """A tab in which tests search one after the other."""
    query = f"?page=offtargets&genome={genome_file}"
    return shared_tabs.get("search", lambda page: OffTargetsVisit(page, dashboard_url, query))


def test_guides_are_searched_listed_and_looked_at(visit):
    field = visit.page.get_by_label("Guides", exact=True).last

    def search(guides):
        field.fill(guides)
        visit.search.click()

    visit.insist(lambda: search("ACGT!"), lambda: visit.says("'!' at position 5"))
    two = f"one {SPACER}\n{letters(20)}"
    visit.insist(lambda: search(two), lambda: visit.rows(0).count() == 2)
    visit.insist(visit.rows(0).first.click, lambda: "hits=guide:1" in visit.page.url)
    visit.until(lambda: visit.rows(1).count() >= 2)
    shown = "at=chr1:30001-30023"
    visit.insist(visit.rows(1).first.click, lambda: shown in visit.page.url)
    visit.until(lambda: visit.says("30,001-30,023, +"))
    visit.until(lambda: visit.says("after base 30,017"))
    assert breaches_at_rest(visit) == {}
    theme = visit.page.get_by_label("Toggle theme")
    visit.insist(theme.click, visit.page.locator(".mui-light > .header").is_visible)
    try:
        assert breaches_at_rest(visit) == {}
    finally:
        visit.insist(theme.click, visit.page.locator(".mui-dark > .header").is_visible)
    assert visit.errors == []


@pytest.mark.parametrize("keys", ["Control+Enter", "Meta+Enter"])
def test_enter_with_another_key_searches(visit, keys):
    field = visit.page.get_by_label("Guides", exact=True).last
    visit.until(visit.search.is_enabled)
    name = f"with_{keys[:4]}"
    second = f"{name} {letters(20)}"

    def search():
        field.fill(f"one {SPACER}")
        field.press("Enter")
        field.press_sequentially(second)
        field.press(keys)

    def is_found():
        return visit.rows(0).count() == 2 and name in visit.rows(0).nth(1).inner_text()

    visit.insist(search, is_found)
    assert len(field.input_value().splitlines()) == 2
    assert visit.errors == []


@pytest.fixture
def many(shared_tabs, dashboard_url, genome_file):
    """A tab with all counts of two guides that have many hits."""
    guides = ";".join(map("+".join, zip(("one", "two"), MANY, strict=True)))
    query = f"?page=offtargets&genome={genome_file}&guides={guides}&limits=10,2,2&pam=-NRG"
    return shared_tabs.get("many", lambda page: OffTargetsVisit(page, dashboard_url, query))


def test_specificity_is_in_view_beside_many_counts(many):
    visit = many
    visit.until(lambda: visit.rows(0).count() == 2)

    def right_of(locator):
        box = locator.bounding_box()
        return box["x"] + box["width"]

    for title in ("Specificity", "Worst CFD", "Hits"):
        cell = visit.rows(0).first.locator(f".tabulator-cell[tabulator-field='{title}']")
        table = visit.page.locator(".tabulator").first
        visit.until(lambda cell=cell, table=table: right_of(cell) <= right_of(table))
    assert visit.errors == []


def test_counts_are_never_cut_off(many):
    visit = many
    cells = visit.rows(0).first.locator(".tabulator-cell:visible")
    widths = "cells => cells.map(cell => [cell.innerText, cell.clientWidth - cell.scrollWidth])"

    def has_room():
        shown = cells.evaluate_all(widths)
        has_long_counts = len(shown) >= 14 and max(len(text) for text, _ in shown[5:]) >= 3
        return has_long_counts and all(spare >= 0 for _, spare in shown[2:])

    visit.until(has_room)
    assert visit.errors == []


def test_both_figures_have_room_beside_the_guides(many):
    visit = many
    visit.until(lambda: visit.rows(0).count() == 2)
    visit.page.set_viewport_size({"width": 1024, "height": 768})
    figures = visit.page.locator(".bk-Figure:visible")

    def have_room():
        places, kinds = (figures.nth(number).bounding_box() for number in range(2))
        are_wide = min(places["width"], kinds["width"]) > 180
        return are_wide and places["height"] > 140 and kinds["height"] > 100

    visit.until(have_room)
    visit.page.set_viewport_size({"width": 1366, "height": 768})
    assert visit.errors == []


# Last, because the others check the initial order.
def test_a_link_lists_the_hits_again_and_in_their_order(many, tabs, dashboard_url, genome_file):
    visit = many
    visit.until(lambda: visit.rows(1).count() > 3)
    header = visit.page.locator(".tabulator-col[tabulator-field='Start']").last
    visit.insist(header.click, lambda: "sort" in visit.page.url)
    query = f"?page=offtargets&genome={genome_file}&guides=one+{SPACER}&limits=8,0,0"
    hits = "hits=mismatches:1-8;sort:-Start"
    again = OffTargetsVisit(tabs.new_page(), dashboard_url, f"{query}&{hits}")
    chromosomes = {"chr1": CHR1, "chr2": CHR2}
    wanted = {
        (list(chromosomes)[contig], str(start), strand)
        for _, contig, start, strand, n_mismatches in find_sites(
            list(chromosomes.values()), "N" * 20 + "NGG", [SPACER + "NNN"], [8]
        )
        if n_mismatches
    }
    again.until(lambda: again.says(f"{len(wanted)} of {len(wanted) + 1} hits"))

    def texts(column):
        cells = again.page.locator(f".tabulator-cell[tabulator-field='{column}']:visible")
        return cells.all_inner_texts()

    def is_sorted():
        starts = [int(text.replace(",", "")) for text in texts("Start")]
        order = list(zip(texts("Contig"), starts, strict=True))
        is_falling = starts != sorted(starts) and order == sorted(order, reverse=True)
        return len(order) > 3 and is_falling

    again.until(is_sorted)
    arrow = again.page.locator(".tabulator-col[tabulator-field='Start'][aria-sort='descending']")
    again.until(lambda: arrow.count() == 1)
    saved = again.exported("(BED)").path().read_text()
    assert "chr2\t9000\t9023\tone\t" in saved
    rows = [line.split("\t") for line in saved.splitlines()]
    assert {(row[0], row[1], row[5]) for row in rows} == wanted
    assert visit.errors == again.errors == []
    outside = [url for url in again.requests if "127.0.0.1" not in url and url.startswith("http")]
    assert outside == []


@pytest.fixture(scope="module")
def long_search(tmp_path_factory):
    """A genome of 30 Mb, and guides whose search takes more than a minute."""
    random = np.random.default_rng(2)
    letters_of = np.frombuffer(b"ACGT", np.uint8)
    path = tmp_path_factory.mktemp("long") / "genome.fa"
    path.write_bytes(b">chr1\n" + random.choice(letters_of, 30_000_000).tobytes() + b"\n")
    return path, "\n".join(row.tobytes().decode() for row in random.choice(letters_of, (2000, 20)))


def test_hits_arrive_while_it_searches_and_stay_when_it_is_stopped(
    tabs, dashboard_url, long_search
):
    path, guides = long_search
    visit = OffTargetsVisit(tabs.new_page(), dashboard_url, f"?page=offtargets&genome={path}")
    field = visit.page.get_by_label("Guides", exact=True).last
    for name in ("DNA bulge", "RNA bulge"):
        visit.page.get_by_label(name).last.click()
        visit.page.get_by_role("option", name="2", exact=True).click()
    field.evaluate(SET, guides)
    visit.until(lambda: field.input_value() == guides)
    visit.insist(visit.search.click, lambda: visit.says("% searched"))
    visit.until(lambda: visit.says("hits so far") and visit.rows(1).count() > 3)
    assert visit.says("30 Mb, and grows.")
    cancel = visit.page.get_by_role("button", name="Cancel")
    visit.insist(cancel.click, lambda: visit.says("Stopped: hits of the first"))
    visit.until(lambda: visit.says("of 30 Mb. "))
    visit.until(lambda: visit.page.get_by_text(re.compile("hits of the first")).count() >= 2)
    assert visit.rows(1).count() > 3
    visit.until(visit.search.is_enabled)
    assert visit.errors == []
