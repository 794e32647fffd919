"""axe-core finds no breach of WCAG 2 A or AA in what the dashboard itself writes."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe

# What the widgets of panel-material-ui do and give no way to change: progress bars without a name,
# and tooltips that name an element without a role.
OF_THE_WIDGETS = {"aria-progressbar-name", "aria-prohibited-attr"}


def test_no_rule_of_wcag_is_broken(still_visit):
    found = Axe().run(still_visit.page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    broken = {breach["id"]: breach["nodes"] for breach in found.response["violations"]}
    assert len(found.response["passes"]) > 5, "axe has looked at the page"
    assert set(broken) <= OF_THE_WIDGETS, broken
