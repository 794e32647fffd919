"""axe-core finds no breach of WCAG 2 A or AA in what the dashboard itself writes."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe

# What the widgets of panel-material-ui do and give no way to change: progress bars without a name,
# and tooltips that name an element without a role.
OF_THE_WIDGETS = {"aria-progressbar-name", "aria-prohibited-attr"}


def test_no_rule_of_wcag_is_broken(still_visit):
    still_visit.settle()
    still_visit.page.wait_for_timeout(1500)  # what fades in has a low contrast on its way
    found = Axe().run(still_visit.page, options={"runOnly": ["wcag2a", "wcag2aa"]})
    broken = {breach["id"]: breach["nodes"] for breach in found.response["violations"]}
    assert len(found.response["passes"]) > 5, "axe has looked at the page"
    unknown = {
        rule: [node["html"] for node in broken[rule]] for rule in broken.keys() - OF_THE_WIDGETS
    }
    assert unknown == {}
