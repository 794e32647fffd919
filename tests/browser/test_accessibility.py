"""axe-core finds no breach of WCAG 2 A or AA in what the dashboard itself writes."""

from __future__ import annotations

import contextlib

from axe_playwright_python.sync_playwright import Axe

# What the widgets of panel-material-ui do and give no way to change: progress bars without a name,
# and tooltips that name an element without a role.
OF_THE_WIDGETS = {"aria-progressbar-name", "aria-prohibited-attr"}


def breaches(page):
    """Return what breaks each rule, but for what is of the widgets."""
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    assert len(found.response["passes"]) > 5, "axe has looked at the page"
    return {
        breach["id"]: [node["html"] for node in breach["nodes"]]
        for breach in found.response["violations"]
        if breach["id"] not in OF_THE_WIDGETS
    }


def test_no_rule_of_wcag_is_broken(still_visit):
    still_visit.settle()
    # What fades in has a low contrast on its way.
    found = {}

    def is_clean():
        nonlocal found
        found = breaches(still_visit.page)
        return found == {}

    with contextlib.suppress(AssertionError):
        still_visit.until(is_clean, 60)
    assert found == {}
