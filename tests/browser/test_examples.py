"""The example of each page's empty state leads to something worth looking at."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visit

# What is seen when the example of a page has come, and what is in its link.
SEEN = {
    "Tracks": ("0 to 16, depth of features", "region=chr1:5000-24000"),
    "Off-targets": ("73 hits of 3 guides", "guides=one_exact"),
    "K-mers": ("19 hits", "kmers=GATTACA"),
    "Quality": ("The median pair has", "file=simulated"),
}


class EmptyVisit(Visit):
    """A tab with genotypes alone, so that its other pages are empty."""

    def __init__(self, page, url, slug):
        super().__init__(page, url, f"?page={slug}&genotypes=genotypes")

    @property
    def example(self):
        return self.button("Try the example").locator("visible=true")

    def is_ready(self):
        return self.example.count() == 1

    def try_it(self, words):
        """Press the button until its words are seen; it is gone then."""
        seen = self.page.get_by_text(words).locator("visible=true")

        def press():
            if self.example.count() > 0:  # else it was heard, and what it opens is on its way
                self.example.click()

        self.insist(press, lambda: seen.count() > 0)
        self.until(lambda: self.example.count() == 0)
        assert self.errors == []


@pytest.mark.parametrize("title", SEEN)
def test_the_example_leads_to_something_to_look_at(shared_tabs, dashboard_url, title):
    visit = shared_tabs.get("empty", lambda page: EmptyVisit(page, dashboard_url, "tracks"))
    words, link = SEEN[title]
    page_button = visit.page.get_by_role("button", name=title, exact=True)
    visit.insist(page_button.click, visit.is_ready)
    visit.try_it(words)
    visit.until(lambda: link in visit.page.url)


def test_the_example_of_the_first_page_is_laid_out_and_the_drawer_closes(tabs, dashboard_url):
    visit = EmptyVisit(tabs.new_page(), dashboard_url, "pangenome")
    visit.try_it("3,500")
    visit.until(lambda: visit.number("State") == "Finished")
    visit.until(lambda: visit.stress < 1)
    samples = visit.page.get_by_role("tab", name="Samples").locator("visible=true")
    assert samples.count() == 1
    visit.page.set_viewport_size({"width": 820, "height": 768})
    visit.until(lambda: samples.count() == 0)  # the drawer would cover what it belongs to
