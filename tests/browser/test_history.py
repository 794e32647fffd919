"""Back and Forward in the browser visit the previous regions and pages."""

from __future__ import annotations

import base64
import io
import re
from html import unescape
from pathlib import Path
from urllib.request import urlopen

import pytest
from PIL import Image

from tests.browser.test_accessibility import breaches_at_rest
from tests.browser.test_tracks_page import TracksVisit
from tests.waiting import PATIENCE


@pytest.fixture
def tracks(common_tabs, tracks_url):
    """A tab used by both tests."""
    return common_tabs.get("tracks", lambda page: TracksVisit(page, tracks_url, "?page=tracks"))


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
    visit.insist(pangenome.click, visit.page.get_by_role("table", name="Chromosomes").is_visible)
    visit.until(lambda: "page=" not in visit.page.url)
    visit.page.go_back()
    visit.until(lambda: visit.page.get_by_label("Region or feature").is_visible())
    visit.until(lambda: visit.ends == (1001, 3000))


def file_bytes(url):
    """Return the server's estimate of the memory of open files."""
    with urlopen(f"{url}metrics", timeout=PATIENCE) as answer:
        found = re.search(r"^genoviz_file_bytes (\S+)", answer.read().decode(), re.M)
    return float(found[1])


def test_chromosomes_are_seen_found_opened_and_left(tracks, tracks_url):
    visit, page = tracks, tracks.page
    table = page.get_by_role("table", name="Chromosomes")
    pangenome = page.get_by_role("button", name="Pangenome")
    visit.insist(pangenome.click, table.is_visible)
    pictures = table.get_by_role("img", name=re.compile("^Layout of c"))
    visit.until(lambda: pictures.count() == 3)
    assert breaches_at_rest(visit) == {}
    rows = table.locator("tbody tr:visible")
    assert [row.split()[0] for row in rows.all_inner_texts()] == ["c1", "c2", "c10"]
    search = page.get_by_label("Find a chromosome by its name")
    for text, names in {"C10": ["c10"], "1": ["c1", "c10"], "": ["c1", "c2", "c10"]}.items():
        search.fill(text)
        assert [row.split()[0] for row in rows.all_inner_texts()] == names
    before = file_bytes(tracks_url)
    # A gene of a track leads to its position, on another contig.
    field = page.get_by_role("combobox", name="Find a node")
    opens = page.get_by_role("button", name="Open c1 (chromosome)")

    def find():
        field.fill("ABC1")
        field.press("Enter")

    visit.insist(find, opens.is_visible)
    assert breaches_at_rest(visit) == {}
    visit.insist(opens.click, visit.canvas.is_visible)
    visit.until(lambda: "c1.gfa" in page.url and "&at=" in page.url)
    visit.until(lambda: visit.n_painted > 0)
    with_first = file_bytes(tracks_url)
    assert with_first > before
    visit.insist(visit.button("All chromosomes").click, table.is_visible)
    visit.until(lambda: "c1.gfa" not in page.url)
    second = table.get_by_role("button", name="c2", exact=True)
    visit.insist(second.click, visit.canvas.is_visible)
    visit.until(lambda: "c2.gfa" in page.url)
    # The memory of the first one, which is not smaller, was freed.
    visit.until(lambda: before < file_bytes(tracks_url) <= with_first)
    page.go_back()
    visit.until(table.is_visible)
    visit.insist(
        page.get_by_role("button", name="Tracks", exact=True).click,
        page.get_by_label("Region or feature").is_visible,
    )
    assert visit.errors == []


def test_a_story_of_two_views_is_walked_through_and_saved(tracks):
    visit, page = tracks, tracks.page
    visit.rest_at("c1:1,001-3,000", (1001, 3000))
    bar = page.get_by_role("region", name="Story")
    visit.insist(visit.button("Story").click, bar.is_visible)
    caption, remove = bar.get_by_label("Caption"), bar.get_by_role("button", name="Remove")
    while not bar.get_by_text("No view yet").is_visible():  # from a previous try
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
    assert ["at=c1%3A" in link or "at=c1:" in link for link in links] == [True, True]
    assert all("story=" not in link for link in links)
    visit.until(lambda: "#story=2." in page.url and "story=1" in page.url)
    bar.get_by_role("button", name="Close").click()
    visit.until(lambda: not bar.is_visible())
    assert visit.errors == []
