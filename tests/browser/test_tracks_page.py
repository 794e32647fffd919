"""The Tracks page in a browser."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Visit


class TracksVisit(Visit):
    """The Tracks page, and the Pangenome page beside it."""

    def is_ready(self):
        """Whether the last track has arrived, and with it the first view."""
        return "c1:" in self.region and self.page.get_by_text("signal.bedgraph").count() > 0

    @property
    def region(self):
        return self.page.get_by_label("Region or feature").input_value()

    @property
    def ends(self):
        """First and last visible base."""
        return tuple(int(n.replace(",", "")) for n in re.findall(r"[\d,]+", self.region)[-2:])

    def go(self, text):
        field = self.page.get_by_role("combobox", name="Region or feature")
        field.fill(text)
        field.press("Enter")

    def rest_at(self, text, ends):
        """Type a region until it is shown, because the moving view may overwrite the text."""
        # The field has the typed text at once, whether or not the view has gone there.
        place = f"c1:{ends[0]}-{ends[1]}"
        self.insist(lambda: self.go(text), lambda: self.ends == ends and place in self.page.url)

    def middle(self):
        box = self.page.locator("canvas.track-canvas").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + 60


@pytest.fixture
def tracks(common_tabs, tracks_url):
    """A tab used by all tests one after the other."""
    return common_tabs.get("tracks", lambda page: TracksVisit(page, tracks_url, "?page=tracks"))


def test_a_gene_a_region_zoom_drag_and_back(tracks):
    shows_gene = lambda: tracks.ends[0] < 20_001 < 24_000 < tracks.ends[1] < 30_000  # noqa: E731
    tracks.insist(lambda: tracks.go("abc1"), shows_gene)

    def zoom():
        tracks.rest_at("c1:30,001-40,000", (30_001, 40_000))
        tracks.button("Zoom in").click()

    tracks.insist(zoom, lambda: tracks.ends == (32_501, 37_500))

    def turn_the_wheel():
        tracks.page.mouse.move(*tracks.middle())
        tracks.page.mouse.wheel(0, -300)

    tracks.insist(turn_the_wheel, lambda: tracks.ends[1] - tracks.ends[0] < 4800)
    zoomed = tracks.ends

    def drag():
        x, y = tracks.middle()
        tracks.page.mouse.move(x, y)
        tracks.page.mouse.down()
        tracks.page.mouse.move(x - 150, y, steps=6)
        tracks.page.mouse.up()

    tracks.insist(drag, lambda: tracks.ends[0] > zoomed[0])
    tracks.until(lambda: stands_still(tracks))
    dragged = tracks.ends
    tracks.insist(
        tracks.button("Back: to the previous region").click, lambda: tracks.ends != dragged
    )
    assert tracks.errors == []


def stands_still(tracks):
    """Return whether the view does not move."""
    before = tracks.ends
    tracks.page.wait_for_timeout(1000)
    return tracks.ends == before


def test_what_was_not_found_stays_in_the_field_to_be_mended(tracks):
    tracks.rest_at("c1:1-9000", (1, 9000))
    said = tracks.page.get_by_text("there is no contig 'c7'")
    tracks.insist(
        lambda: tracks.go("c7:1-50"), lambda: tracks.region == "c7:1-50" and said.count() > 0
    )
    tracks.page.wait_for_timeout(600)
    assert tracks.region == "c7:1-50"
    # A typed text has these ends too, so it is entered until it is shown as the place that it is.
    tracks.insist(lambda: tracks.go("c1:1001..3000"), lambda: tracks.region == "c1:1,001-3,000")


def test_the_link_opens_the_same_view_again(tracks, tabs):
    tracks.rest_at("c1:1,001-3,000", (1001, 3000))
    again = TracksVisit(tabs.new_page(), tracks.page.url)
    again.until(lambda: again.ends == (1001, 3000))
    again.until(lambda: again.page.get_by_text("reads.bed").count() > 0)


def test_values_under_the_pointer_are_those_of_all_tracks(tracks):
    tracks.rest_at("c1:60,001-60,500", (60_001, 60_500))
    values = tracks.page.locator(".margin .value")

    def point():
        x, y = tracks.middle()
        for step in (1, 0):
            tracks.page.mouse.move(x + step, y)

    tracks.insist(point, lambda: "XYZ2" in values.nth(1).inner_text())
    tracks.until(lambda: values.nth(2).inner_text().startswith("7"))


def test_counts_of_the_view(tracks):
    tracks.rest_at("c1:20,001-24,000", (20_001, 24_000))
    cells = tracks.page.locator(".tabulator-row .tabulator-cell")
    tracks.insist(
        tracks.page.get_by_role("button", name="Count", exact=True).click,
        lambda: "genes.bed" in cells.all_inner_texts(),
    )


def test_pages_are_switched_and_come_back(tracks):
    tracks.rest_at("c1:1,001-3,000", (1001, 3000))
    pangenome, back = (
        tracks.page.get_by_role("button", name=name) for name in ("Pangenome", "Tracks")
    )
    table = tracks.page.get_by_role("table", name="Chromosomes")
    tracks.insist(pangenome.click, table.is_visible)
    tracks.until(lambda: "page=" not in tracks.page.url)
    tracks.insist(back.click, tracks.page.get_by_label("Region or feature").is_visible)
    tracks.until(lambda: tracks.ends == (1001, 3000))
    assert [url for url in tracks.requests if "127.0.0.1" not in url and "://" in url] == []
