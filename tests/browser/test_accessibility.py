"""axe-core finds no violation of WCAG 2 A or AA in the dashboard."""

from __future__ import annotations

import contextlib
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Visit

FADE = 500  # ms
# Omit passing elements and the sources of styles and media, which take longer than axe's rules.
ASKED = {"resultTypes": ["violations"], "selectors": False, "preload": False}
STANDARDS = ["wcag2a", "wcag2aa"]
CONTRAST = "color-contrast"
RUN = """async ([parts, options]) => {
  const context = parts.length ? {include: parts} : document
  const {passes, incomplete, violations} = await axe.run(context, options)
  const found = violations.map(({id, nodes}) => [id, nodes.map((node) => node.html)])
  return [passes.length + incomplete.length, found]
}"""


def breaches(page, *parts):
    """Return the violations of each rule.

    Contrasts take axe six times as long as all other rules together. If only parts of the page are
    new, theirs are measured.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    asked = {**ASKED, "runOnly": STANDARDS}
    if parts:
        asked["rules"] = {CONTRAST: {"enabled": False}}
    n_applied, found = page.evaluate(RUN, [[], asked])
    assert n_applied > 5, "axe has looked at the page"
    if parts:
        asked = {**ASKED, "runOnly": {"type": "rule", "values": [CONTRAST]}}
        shown = [part.element_handle() for part in parts]
        n_applied, of_parts = page.evaluate(RUN, [shown, asked])
        assert n_applied > 0 or of_parts, "axe has looked at the parts"
        found += of_parts
    return dict(found)


def breaches_at_rest(visit, *parts):
    """Return the violations of each rule after transitions, during which contrast is low.

    Parts are locators of what is new since the whole page was examined.
    """
    found = {"axe": ["has not looked at the page"]}

    def is_clean():
        nonlocal found
        found = breaches(visit.page, *parts)
        return found == {}

    # Each check costs the browser seconds, so start when most transitions have ended.
    visit.page.wait_for_timeout(FADE)
    with contextlib.suppress(AssertionError):
        visit.until(is_clean, 60)
    return found


# Note in each frame how many parts with the colour of cards have another one than at first.
WATCH_CARDS = """() => {
  const cards = []
  const walk = (root) => {
    for (const part of root.querySelectorAll("*")) {
      if (part.matches(".MuiPaper-root") && part.checkVisibility()) cards.push(part)
      if (part.shadowRoot) walk(part.shadowRoot)
    }
  }
  walk(document)
  const colourOf = (card) => getComputedStyle(card).backgroundColor
  const usual = colourOf(cards.find((card) => card.matches(".MuiPaper-outlined")))
  const alike = cards.filter((card) => colourOf(card) === usual)
  window.changed = []
  const look = () => {
    const n = alike.filter((card) => colourOf(card) !== usual).length
    window.changed.push(n / alike.length)
    requestAnimationFrame(look)
  }
  look()
  return alike.length
}"""


@pytest.fixture
def own_visit(shared_tabs, dashboard_url):
    """A tab whose size, theme and first steps are changed by tests."""
    return shared_tabs.get("own_visit", lambda page: Visit(page, dashboard_url))


def test_a_button_that_cannot_be_pressed_says_why_to_the_keyboard_and_the_mouse(own_visit):
    visit, page = own_visit, own_visit.page
    why_not = page.get_by_role("tooltip", name="Pause: no layout is running")
    visit.button("Run").focus()
    visit.insist(lambda: page.keyboard.press("Tab"), why_not.is_visible)
    page.keyboard.press("Enter")
    assert visit.number("State") == "Ready to run"
    page.mouse.move(5, 5)
    visit.insist(visit.canvas.focus, why_not.is_hidden)
    visit.insist(lambda: visit.button("Pause").hover(force=True), why_not.is_visible)
    visit.button("Pause").click(force=True)
    assert visit.number("State") == "Ready to run"
    page.mouse.move(5, 5)


def test_the_window_is_as_its_person_has_it(own_visit):
    visit, page = own_visit, own_visit.page
    light, dark = page.locator(".mui-light > .header"), page.locator(".mui-dark > .header")
    page.evaluate("localStorage.removeItem('genoviz-theme')")
    page.emulate_media(color_scheme="light")
    visit.until(light.is_visible)
    assert breaches_at_rest(visit) == {}
    assert page.evaluate(WATCH_CARDS) > 1
    visit.insist(page.get_by_label("Toggle theme").click, dark.is_visible)
    visit.until(lambda: page.evaluate("changed.at(-1)") == 1)
    mixed = [share for share in page.evaluate("changed") if 0 < share < 1]
    assert len(mixed) <= 2, "all cards change at once"
    field = page.get_by_role("combobox", name="Colour by")
    chosen = page.get_by_role("option", selected=True)
    visit.insist(field.click, chosen.is_visible)
    assert chosen.inner_text() == field.inner_text()
    assert breaches_at_rest(visit) == {}
    visit.insist(lambda: page.keyboard.press("Escape"), chosen.is_hidden)
    page.add_init_script("localStorage.removeItem('genoviz-steps')")
    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    visit.until(visit.is_ready)
    assert dark.is_visible(), "what was chosen is remembered"
    visit.settle()
    opener = page.get_by_label("Open drawer")
    assert opener.is_visible(), "a narrow window begins with what is behind the drawer"
    for part in (visit.canvas, visit.button("Run"), page.get_by_label("Toggle theme")):
        box = part.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    assert visit.canvas.bounding_box()["height"] > 200
    assert breaches_at_rest(visit) == {}
    steps = page.get_by_label("First steps")
    page.set_viewport_size({"width": 1024, "height": 768})
    chart = page.locator(".beside-picture .bk-Figure")
    # Text of one line, and room for the chart's curve below; regression test, both were truncated.
    visit.until(lambda: steps.bounding_box()["height"] < 45)
    visit.until(lambda: chart.bounding_box()["height"] > 100)
    named = page.get_by_role("img", name=re.compile("^Path stress.* by Iteration"))
    assert named.get_attribute("tabindex") == "-1", "it has no keys"
    box = chart.bounding_box()
    assert box["y"] + box["height"] <= page.locator(".dock-grip").first.bounding_box()["y"]
    for title, is_there in (("Tracks", False), ("Pangenome", True)):
        name = page.get_by_role("button", name=title, exact=True)
        visit.insist(name.click, lambda is_there=is_there: steps.is_visible() == is_there)
    visit.insist(page.get_by_role("button", name="Got it").click, steps.is_hidden)
    assert page.evaluate("localStorage.getItem('genoviz-steps')") == "closed"
    dock = page.get_by_role("button", name=re.compile("^Keep the layout in sight.* below"))
    below, legend = page.get_by_role("tab", name="Inspect"), page.locator(".legend:visible")
    visit.insist(dock.click, lambda: below.bounding_box()["y"] < 450)

    def legend_is_whole():
        box = legend.first.bounding_box()
        return 20 < box["height"] and box["y"] + box["height"] <= below.bounding_box()["y"]

    visit.until(legend_is_whole)
    page.set_viewport_size({"width": 1024, "height": 600})
    visit.insist(opener.click, page.get_by_label("Close drawer").is_visible)
    beside = page.get_by_role("button", name=re.compile("^Keep the layout in sight.* beside"))
    visit.insist(beside.click, opener.is_visible)  # the drawer hides beside two pages
    page.set_viewport_size({"width": 1366, "height": 768})
    visit.insist(opener.click, page.get_by_label("Close drawer").is_visible)
    page.set_viewport_size({"width": 1024, "height": 768})
    visit.until(opener.is_visible)  # also if the window is made narrower
    visit.until(lambda: visit.canvas.bounding_box()["height"] > 120)
