"""The Genotypes page as a person uses it, in a browser."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visit, served


class GenotypesVisit(Visit):
    """The Genotypes page."""

    def __init__(self, page, url, query):
        self.page, self.errors, self.requests = page, [], []
        page.on("console", self._note)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.goto(url + query, timeout=60_000)

    def rows(self):
        return self.page.locator(".tabulator-row:visible")

    def says(self, text):
        return self.page.get_by_text(text).first.is_visible()


@pytest.fixture(scope="module")
def page_url():
    with served("-m", "genoviz", "serve", "--no-browser", "--port", "0") as (url, _):
        yield url


def test_the_sample_is_opened_thresholded_and_looked_at(tabs, page_url):
    visit = GenotypesVisit(tabs.new_page(), page_url, "?page=genotypes")
    visit.until(lambda: visit.button("Open sample").is_enabled(), 60)
    visit.button("Open sample").click()
    visit.until(lambda: visit.says("2,000 variants"), 90)
    visit.until(lambda: visit.rows().count() > 2)
    visit.page.get_by_label("MAF ≥").fill("0.1")
    visit.until(lambda: visit.says("Would pass"))
    visit.button("Apply").click()
    visit.until(lambda: "kept=maf:0.1" in visit.page.url, 60)
    visit.until(lambda: visit.says("300 of 300 samples"))
    visit.page.get_by_role("tab", name="Prediction").wait_for()
    visit.page.get_by_role("tab", name="Samples").nth(1).click()
    visit.until(lambda: visit.button("Compute PCA").is_visible(), 60)
    assert visit.errors == []
    outside = [url for url in visit.requests if "127.0.0.1" not in url and url.startswith("http")]
    assert outside == []
