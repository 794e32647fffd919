"""The Tracks page as a person uses it, in a browser."""

from __future__ import annotations

import contextlib
import random
import re

import pytest

from tests.browser.conftest import Visit, served


class TracksVisit(Visit):
    """The Tracks page, and the Pangenome page beside it."""

    def __init__(self, page, url, query=""):
        self.page, self.errors, self.requests = page, [], []
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url + query)
        self.until(lambda: "c1:" in self.region)

    @property
    def region(self):
        return self.page.get_by_label("Region or feature").input_value()

    @property
    def ends(self):
        """First and last base that are shown."""
        return tuple(int(n.replace(",", "")) for n in re.findall(r"[\d,]+", self.region)[-2:])

    def go(self, text):
        field = self.page.get_by_role("combobox", name="Region or feature")
        field.fill(text)
        field.press("Enter")

    def go_to(self, text, ends):
        """Type a region until it is shown: what the view writes meanwhile takes its place."""
        for _ in range(3):
            self.go(text)
            with contextlib.suppress(AssertionError):
                self.until(lambda: self.ends == ends, seconds=15)
                return
        assert self.ends == ends

    def middle(self):
        box = self.page.locator("canvas.track-canvas").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + 60


@pytest.fixture(scope="module")
def tracks_url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tracks")
    numbers = random.Random(3)
    starts = sorted(numbers.randrange(0, 100_000) for _ in range(3000))
    reads = "".join(f"c1\t{s}\t{s + 100}\tr\t0\t{numbers.choice('+-')}\n" for s in starts)
    (folder / "reads.bed").write_text(reads)
    (folder / "genes.bed").write_text(
        "c1\t20000\t24000\tABC1\t0\t+\nc1\t60000\t61000\tXYZ2\t0\t-\n"
    )
    (folder / "signal.bedgraph").write_text("c1\t0\t50000\t2.5\nc1\t50000\t100100\t7\n")
    files = [str(folder / name) for name in ("reads.bed", "genes.bed", "signal.bedgraph")]
    with served("-m", "genoviz", "serve", *files, "--no-browser", "--port", "0") as (url, _):
        yield url


@pytest.fixture
def tracks(tabs, tracks_url):
    return TracksVisit(tabs.new_page(), tracks_url)


def test_a_gene_a_region_zoom_drag_and_back(tracks):
    tracks.until(lambda: tracks.page.get_by_text("signal.bedgraph").count() > 0)
    tracks.go("abc1")
    tracks.until(lambda: tracks.ends[0] < 20_001 < 24_000 < tracks.ends[1])
    tracks.go("c1:30,001-40,000")
    tracks.until(lambda: tracks.ends == (30_001, 40_000))
    tracks.page.wait_for_timeout(1200)
    tracks.button("Zoom in").click()
    tracks.until(lambda: tracks.ends == (32_501, 37_500))
    tracks.page.mouse.move(*tracks.middle())
    tracks.page.mouse.wheel(0, -300)
    tracks.until(lambda: tracks.ends[1] - tracks.ends[0] < 4800)
    before = tracks.ends
    x, y = tracks.middle()
    tracks.page.mouse.move(x, y)
    tracks.page.mouse.down()
    tracks.page.mouse.move(x - 150, y, steps=6)
    tracks.page.mouse.up()
    tracks.until(lambda: tracks.ends[0] > before[0])
    tracks.page.wait_for_timeout(1200)
    tracks.button("Back to").click()
    tracks.until(lambda: tracks.ends != before)
    assert tracks.errors == []


def test_the_link_opens_the_same_view_again(tracks, tabs):
    tracks.go_to("c1:1,001-3,000", (1001, 3000))
    tracks.until(lambda: "region=c1:1000-3000" in tracks.page.url)
    again = TracksVisit(tabs.new_page(), tracks.page.url)
    again.until(lambda: again.ends == (1001, 3000))
    assert again.page.get_by_text("reads.bed").count() > 0


def test_values_under_the_pointer_are_those_of_all_tracks(tracks):
    tracks.go_to("c1:60,001-60,500", (60_001, 60_500))
    tracks.page.wait_for_timeout(500)
    tracks.page.mouse.move(*tracks.middle())
    values = tracks.page.locator(".margin .value")
    tracks.until(lambda: "XYZ2" in values.nth(1).inner_text())
    assert values.nth(2).inner_text().startswith("7")


def test_counts_of_the_view(tracks):
    tracks.go_to("c1:20,001-24,000", (20_001, 24_000))
    tracks.page.get_by_role("button", name="Count", exact=True).click()
    cells = tracks.page.locator(".tabulator-row .tabulator-cell")
    tracks.until(lambda: "genes.bed" in cells.all_inner_texts())


def test_pages_are_switched_and_come_back(tracks):
    tracks.go_to("c1:1,001-3,000", (1001, 3000))
    tracks.until(lambda: tracks.ends == (1001, 3000))
    tracks.page.get_by_role("button", name="Pangenome").click()
    tracks.until(lambda: tracks.button("Run").is_visible())
    tracks.until(lambda: "page=" not in tracks.page.url)
    tracks.page.get_by_role("button", name="Tracks").click()
    tracks.until(lambda: tracks.page.get_by_label("Region or feature").is_visible())
    assert tracks.ends == (1001, 3000)
    assert [url for url in tracks.requests if "127.0.0.1" not in url and "://" in url] == []
