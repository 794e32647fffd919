"""The K-mers page in a browser."""

from __future__ import annotations

import random

import pytest

from tests.browser.conftest import Visit

NUMBERS = random.Random(11)
CHR1 = "".join(NUMBERS.choice("ACGT") for _ in range(30_000)) + "GATTACAGATTACA" * 40
CHR2 = "".join(NUMBERS.choice("acgt") for _ in range(9_000))


def count(kmer):
    """Count hits on both strands by checking each position."""
    turned = kmer[::-1].translate(str.maketrans("ACGT", "TGCA"))
    return sum(
        text.startswith(part, place)
        for text in (CHR1, CHR2.upper())
        for part in {kmer, turned}
        for place in range(len(text))
    )


class KmersVisit(Visit):
    """The K-mers page."""

    def is_ready(self):
        return self.page.get_by_role("tab", name="Hits").is_visible()

    @property
    def field(self):
        return self.page.get_by_label("K-mers", exact=True).last

    @property
    def said(self):
        """The displayed number of hits."""
        return self.page.locator(".hits span").first.inner_text()

    def rows(self):
        return self.page.locator(".tabulator-row:visible")

    def write(self, text, condition):
        """Replace the k-mers until the page has received them."""
        self.insist(lambda: self.field.fill(text), condition)


@pytest.fixture(scope="module")
def genome_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("kmers") / "genome.fa"
    path.write_text(f">chr1\n{CHR1}\n>chr2\n{CHR2}\n")
    return path


@pytest.fixture
def kmers(shared_tabs, dashboard_url, genome_file):
    """A tab opened by a link, used by both tests."""
    asked = "kmers=ACGTAC&strand=forward&k=9&tab=spectrum"
    query = f"?page=kmers&sequences={genome_file}&{asked}"
    return shared_tabs.get("kmers", lambda page: KmersVisit(page, dashboard_url, query))


def test_a_link_brings_back_sequences_k_mers_and_view(kmers):
    kmers.until(lambda: "hit" in kmers.said)
    kmers.until(lambda: kmers.field.input_value() == "ACGTAC")
    selected = kmers.page.get_by_role("tab", name="Spectrum")
    kmers.until(lambda: selected.get_attribute("aria-selected") == "true")
    kmers.until(lambda: kmers.page.get_by_text("distinct k-mers").is_visible())
    kmers.until(lambda: "k=9" in kmers.page.url and "strand=forward" in kmers.page.url)
    assert kmers.errors == []


# Last, because the other test checks the link's content.
def test_k_mers_are_counted_as_one_types_found_and_drawn(kmers, dashboard_url):
    kmers.until(lambda: kmers.button("Example").is_enabled())
    kmers.show_tab("Hits")
    both = kmers.page.get_by_role("button", name="Both", exact=True).locator("visible=true")
    kmers.insist(both.click, lambda: "strand=" not in kmers.page.url)
    for kmer in ("GATTAC", "GATTACA"):

        def type_it(kmer=kmer):
            kmers.field.fill(kmer[:-1])
            kmers.field.press("End")
            kmers.field.press_sequentially(kmer[-1])

        said = f"{count(kmer):,} hits"
        kmers.insist(type_it, lambda said=said: kmers.said == said)
    kmers.until(lambda: kmers.rows().count() > 5)
    kmers.write("GATTACA\nACGTACG", lambda: kmers.page.get_by_text("2 rows").is_visible())
    kmers.page.set_viewport_size({"width": 390, "height": 844})
    tables = kmers.page.locator(".tabulator:visible")

    def is_stacked():
        first, second = (tables.nth(number).bounding_box() for number in range(2))
        is_below = second["y"] >= first["y"] + first["height"]
        return is_below and max(first["width"], second["width"]) <= 390 and second["height"] > 100

    kmers.until(is_stacked)
    kmers.page.set_viewport_size({"width": 1366, "height": 768})
    kmers.write("GATTACA", lambda: kmers.said == f"{count('GATTACA'):,} hits")
    kmers.until(lambda: kmers.rows().count() > 5)
    kmers.insist(kmers.rows().nth(2).click, lambda: "at=chr1:" in kmers.page.url)
    kmers.until(lambda: "kmers=GATTACA" in kmers.page.url)
    kmers.write("GATTACX", kmers.page.get_by_text("position 7").is_visible)
    kmers.write("GATTACA", lambda: not kmers.page.get_by_text("position 7").is_visible())
    kmers.show_tab("Along the genome")
    kmers.until(lambda: kmers.page.get_by_text("in bins of").is_visible())
    kmers.until(lambda: kmers.page.get_by_text("highest", exact=False).first.is_visible())
    kmers.show_tab("Spectrum")
    kmers.until(lambda: kmers.page.get_by_text("distinct k-mers").is_visible())

    def click_first_bar():
        figure = kmers.page.locator(".bk-Figure:visible").first.bounding_box()
        kmers.page.mouse.click(figure["x"] + 100, figure["y"] + figure["height"] * 0.7)

    kmers.insist(click_first_bar, kmers.page.get_by_text("that occur 1 times").is_visible)
    kmers.show_tab("How it works")
    kmers.until(lambda: kmers.page.locator("svg path.head").count() > 0)
    begins = kmers.page.get_by_text("suffixes begin with")
    kmers.insist(kmers.button("Search the next base").click, begins.is_visible)
    kmers.show_tab("Build")
    kmers.until(lambda: kmers.page.get_by_text("still tied after each round").is_visible())
    assert kmers.errors == []
    own = dashboard_url.split("//")[1].split("/")[0]
    assert all(own in url or url.startswith(("data:", "blob:")) for url in kmers.requests)
