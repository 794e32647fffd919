"""The first click in a new tab shows complete content immediately."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visit
from tests.browser.test_accessibility import breaches_at_rest

# Text in the main area, including shadow roots.
WORDS = """() => {
  const words = []
  const walk = (root) => {
    for (const part of root.children) {
      if (part.shadowRoot) walk(part.shadowRoot)
      walk(part)
      const {x, width, height} = part.getBoundingClientRect()
      if (width === 0 || height === 0 || x < 300) continue
      const own = [...part.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
      words.push(...own.map((node) => node.textContent.trim()))
    }
  }
  walk(document.body)
  return words.filter((each) => each).join(" ")
}"""
# Click on the name of a page while the server is blocked; return what the browser shows.
PRESSED = """async (button) => {
  const held = [], {send} = WebSocket.prototype
  window.sendHeld = () => {
    WebSocket.prototype.send = send
    for (const [socket, message] of held) socket.send(message)
  }
  WebSocket.prototype.send = function (message) { held.push([this, message]) }
  button.click()
  for (let i = 0; i < 3; i += 1) await new Promise(requestAnimationFrame)
  return [button.getAttribute("aria-pressed"),
    document.querySelector(".page-is-coming")?.textContent ?? ""]
}"""
PAGES = {
    "Tracks": "Region or feature",
    "K-mers": "No genome is open",
    "Off-targets": "Choose a genome",
    "Genotypes": "No genotypes are open",
    "Quality": "There is no layout to measure yet",
}
HELP = {
    "Tracks": "zoom to a stretch",
    "K-mers": "counted as you type",
    "Off-targets": "without their PAM",
    "Genotypes": "drag the thresholds",
    "Quality": "path stress",
}


@pytest.fixture
def fresh(shared_tabs, dashboard_url):
    """A tab without any clicks."""
    return shared_tabs.get("fresh", lambda page: Visit(page, dashboard_url))


def test_the_first_click_on_a_site_shows_its_alleles(fresh):
    page = fresh.page
    fresh.show_tab("Variation")
    rows = page.locator(".tabulator-row")
    find = page.get_by_role("button", name="Find sites")

    def press():
        if find.count() > 0:  # else they are being found
            find.click()

    fresh.insist(press, lambda: rows.count() > 5)
    tables = page.locator(".tabulator")
    told = page.get_by_text("Click an allele to point it out")
    fresh.insist(rows.first.click, told.is_visible)
    fresh.until(lambda: tables.nth(1).locator(".tabulator-row").count() >= 2)


def test_each_tab_under_the_picture_has_its_words(fresh):
    before = ""
    for name in ("Inspect", "Paths", "Annotations", "Statistics", "Cut & keep", "Path"):
        fresh.show_tab(name)
        fresh.until(lambda before=before: fresh.page.evaluate(WORDS) not in ("", before))
        before = fresh.page.evaluate(WORDS)
        if name in ("Paths", "Statistics", "Cut & keep"):  # a table, a scroll area, and fields
            assert breaches_at_rest(fresh) == {}


def test_who_has_lost_all_nodes_is_led_back(fresh):
    back = fresh.page.get_by_role("button", name="No node is in sight here")
    assert not back.is_visible()
    fresh.show_whole()  # else arrow keys would reach other nodes

    def go_far():
        for _ in range(4):
            fresh.canvas.press("Shift+ArrowRight")

    fresh.insist(go_far, back.is_visible)
    far = fresh.width
    back.hover()
    fresh.page.mouse.wheel(0, -300)
    fresh.until(lambda: fresh.width < far)
    fresh.insist(back.click, lambda: not back.is_visible())
    fresh.until(lambda: fresh.view == fresh.whole)


def test_the_panels_under_the_picture_are_dragged_higher_and_reset(fresh):
    page = fresh.page
    grip = page.get_by_role("separator", name="Height of these panels")

    def height():
        return int(grip.get_attribute("aria-valuenow"))

    usual, picture = height(), fresh.canvas.bounding_box()["height"]
    box = grip.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - 60, steps=3)
    page.mouse.up()
    assert height() == pytest.approx(usual + 60, abs=6)
    dragged = height()
    fresh.insist(lambda: grip.press("ArrowUp"), lambda: f"lower={height()}" in page.url)
    assert height() > dragged
    fresh.until(lambda: fresh.canvas.bounding_box()["height"] < picture - 60)
    grip.dblclick()
    fresh.until(lambda: height() == usual and "lower=" not in page.url)
    assert page.evaluate("localStorage.getItem('genoviz-lower')") is None


def stays_in_sight(visit):
    """Check that what is said of a page to come follows the window when it is made narrower."""
    page = visit.page
    usual, narrow = page.viewport_size, 1000
    right_of = "(part) => part.getBoundingClientRect().right"
    coming = page.locator(".page-is-coming")
    assert coming.evaluate(right_of) > narrow
    page.set_viewport_size({**usual, "width": narrow})
    visit.until(lambda: coming.evaluate(right_of) <= narrow)
    page.set_viewport_size(usual)


def test_a_press_on_a_page_is_answered_before_the_server_hears_of_it(fresh):
    page = fresh.page
    for title, words in PAGES.items():
        button = page.get_by_role("button", name=title, exact=True)
        shown = button.evaluate(PRESSED)
        assert shown == ["true", f"Making the page of {title} …"]
        if title == "Tracks":
            stays_in_sight(fresh)
        page.evaluate("sendHeld()")
        fresh.until(lambda: page.locator(".page-is-coming").count() == 0)
        fresh.until(lambda words=words: words in page.evaluate(WORDS))
        assert not fresh.canvas.is_visible()
        explained = page.get_by_role("dialog", name=f"Help: {title}")
        fresh.insist(lambda: page.keyboard.press("?"), explained.is_visible)
        assert HELP[title] in explained.inner_text()
        page.keyboard.press("?")
        fresh.until(lambda explained=explained: explained.count() == 0)
    button = page.get_by_role("button", name="Pangenome", exact=True)
    assert button.evaluate(PRESSED) == ["true", ""], "it is there already"
    page.evaluate("sendHeld()")
    fresh.until(fresh.canvas.is_visible)
    assert fresh.errors == []
