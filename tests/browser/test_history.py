"""The browser's Back and Forward walk through the regions and pages that were visited."""

from __future__ import annotations

import pytest

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
