"""The browser's Back and Forward walk through the regions and pages that were visited."""

from __future__ import annotations

import base64
import io
import re
from html import unescape
from pathlib import Path

import pytest
from PIL import Image

from tests.browser.test_tracks_page import TracksVisit


@pytest.fixture
def tracks(common_tabs, tracks_url):
    """A tab that both tests use."""
    return common_tabs.get("tracks", lambda page: TracksVisit(page, tracks_url))


def test_back_and_forward_walk_through_the_regions(tracks):
    visit = tracks
    visit.rest_at("c1:1,001-3,000", (1001, 3000))
    visit.rest_at("c1:5,001-9,000", (5001, 9000))
    visit.rest_at("c1:20,001-30,000", (20_001, 30_000))
    visit.page.go_back()
    visit.until(lambda: visit.ends == (5001, 9000))
    visit.page.go_back()
    visit.until(lambda: visit.ends == (1001, 3000))
    visit.page.go_forward()
    visit.until(lambda: visit.ends == (5001, 9000))
    visit.page.wait_for_timeout(1500)
    visit.page.go_forward()
    visit.until(lambda: visit.ends == (20_001, 30_000))
    assert visit.errors == []


def test_back_goes_to_the_page_before(tracks):
    visit = tracks
    visit.rest_at("c1:1,001-3,000", (1001, 3000))
    pangenome = visit.page.get_by_role("button", name="Pangenome")
    visit.insist(pangenome.click, visit.button("Run").is_visible)
    visit.until(lambda: "page=" not in visit.page.url)
    visit.page.go_back()
    visit.until(lambda: visit.page.get_by_label("Region or feature").is_visible())
    visit.until(lambda: visit.ends == (1001, 3000))


def test_a_story_of_two_views_is_walked_through_and_saved(tracks):
    visit, page = tracks, tracks.page
    visit.rest_at("c1:1,001-3,000", (1001, 3000))
    bar = page.get_by_role("region", name="Story")
    visit.insist(visit.button("Story").click, bar.is_visible)
    caption, remove = bar.get_by_label("Caption"), bar.get_by_role("button", name="Remove")
    while not bar.get_by_text("No view yet").is_visible():  # of a try before
        remove.click()

    def add(words, number):
        bar.get_by_role("button", name="Add this view").click()
        visit.until(lambda: bar.get_by_text(f"View {number} of {number}").is_visible())
        caption.fill(words)

    add("The first <b>view</b>", 1)
    visit.rest_at("c1:5,001-9,000", (5001, 9000))
    add("The second view", 2)
    visit.insist(bar.get_by_role("button", name="View before").click,
                 lambda: visit.ends == (1001, 3000))  # fmt: skip
    assert caption.input_value() == "The first <b>view</b>"
    visit.insist(bar.get_by_role("button", name="Next view").click,
                 lambda: visit.ends == (5001, 9000))  # fmt: skip
    download = visit.saved(bar.get_by_role("button", name="Save as HTML").click)
    saved = Path(download.path()).read_text()
    assert "<script" not in saved
    assert "The first &lt;b&gt;view&lt;/b&gt;" in saved
    pictures = re.findall('src="data:image/png;base64,([^"]+)"', saved)
    assert len(pictures) == 2
    for picture in pictures:
        with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
            assert image.width > 400
            assert len(image.convert("RGB").getcolors(1 << 22)) > 20
    links = [unescape(link) for link in re.findall('<a href="([^"]+)"', saved)]
    assert ["region=c1%3A" in link or "region=c1:" in link for link in links] == [True, True]
    assert all("story=" not in link for link in links)
    visit.until(lambda: "#story=2." in page.url and "story=1" in page.url)
    bar.get_by_role("button", name="Close").click()
    visit.until(lambda: not bar.is_visible())
    assert visit.errors == []
