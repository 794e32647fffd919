"""A page runs only its own scripts and those of the server, and none injected by a name."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import numpy as np

from genoviz.analyses.graph.picture.legend import RampLegend
from genoviz_app.pages.pangenome.picture.graph_canvas import canvas_script
from genoviz_app.plots.legend import legend_html
from tests.app.pages.test_hostile_names import hostile, write_all
from tests.browser.conftest import Visit

TRAP = """
window.ran = []
window.hit = () => window.ran.push("hit")
window.alert = window.hit
document.addEventListener("securitypolicyviolation", (event) => window.ran.push(event.blockedURI))
"""
# All elements and text, including shadow roots.
FOUND = """() => {
  const evil = [], words = []
  const walk = (root) => {
    for (const part of root.querySelectorAll("*")) {
      const names = part.getAttributeNames().filter((name) => /^on/.test(name))
      if (part.matches("img[src=x], iframe") || names.length) evil.push(part.outerHTML)
      if (part.shadowRoot) walk(part.shadowRoot)
    }
    words.push(root.textContent)
    for (const field of root.querySelectorAll("input")) words.push(field.value)
  }
  walk(document.body)
  return JSON.stringify([window.ran, evil, words.join(" ")])
}"""
INJECTED = """() => new Promise((done) => {
  window.ran = []
  window.addEventListener("securitypolicyviolation", (event) => {
    window.ran.push(event.effectiveDirective)
    if (window.ran.length === 4) done(window.ran.sort())
  })
  const place = document.createElement("div")
  document.body.append(place)
  place.innerHTML = '<img src="data:," onerror="window.ran.push(1)">'
  for (const [key, value] of [["textContent", "window.ran.push(2)"],
    ["src", "data:text/javascript,window.ran.push(3)"], ["src", "https://evil.example/x.js"]]) {
    const script = document.createElement("script")
    script[key] = value
    place.append(script)
  }
})"""
# The picture of a saved notebook with a manipulated legend.
WIDGET = """async ([script, legend]) => {
  const url = URL.createObjectURL(new Blob([script], { type: "text/javascript" }))
  const { default: widget } = await import(url)
  const state = {
    state: "empty", height: 300, _numbers: "", _fraction: 0, _legend: legend, _legend_style: "",
    _modes: [], colour_by: "", _shapes: [], shape: "", _summary: "", _hint: "",
  }
  const nothing = () => {}
  const model = {
    get: (name) => state[name], set: nothing, on: nothing, off: nothing, send: nothing,
    save_changes: nothing,
  }
  const el = document.createElement("div")
  document.body.append(el)
  widget.render({ model, el })
  await new Promise((done) => setTimeout(done, 500))
  return el.querySelector(".genoviz-layout").shadowRoot.querySelector(".below").innerHTML
}"""
# Like Panel's notifications.
TOLD = """(message) => {
  const models = [...Bokeh.documents.flatMap((page) => [...page._all_models.values()])]
  const area = models.find((model) => model.class_name === "NotificationArea")
  const notification = {
    message, duration: 0, notification_type: "error", _destroyed: false, _uuid: "told",
  }
  area.document.event_manager.trigger(
    {event_name: "esm_event", model: area, data: {type: "enqueue", notification}})
}"""


# The other test violates the policy in the same tab.
def test_the_pages_own_scripts_are_let_run(still_visit, dashboard_url):
    visit = still_visit
    visit.until(lambda: visit.n_painted > 0)
    assert [text for text in visit.errors if "Content Security Policy" in text] == []
    assert {url.split("/")[2] for url in visit.requests if url.startswith("http")} == {
        dashboard_url.split("/")[2]
    }
    bundles = [url for url in visit.requests if "panel-material-ui.bundle.js" in url]
    assert len(bundles) == 1, "and is not fetched a second time, as text"


def test_no_script_comes_into_a_page_by_a_name(still_visit):
    blocked = still_visit.page.evaluate(INJECTED)
    assert blocked == ["script-src-attr", "script-src-elem", "script-src-elem", "script-src-elem"]


def test_the_legend_of_a_saved_notebook_runs_nothing(tabs):
    page = tabs.new_page()
    page.add_init_script(TRAP)
    page.goto("about:blank")
    palette = [f"#{level:02x}0000" for level in range(256)]
    ramp = legend_html(RampLegend("Depth <b>", np.linspace(0, 10, 256), 10), palette)
    shown = page.evaluate(WIDGET, [canvas_script(is_widget=True), ramp])
    assert "Depth &lt;b&gt;" in shown
    assert "<linearGradient" in shown
    assert "<line " in shown
    evil = (
        '<img src="x" onerror="hit()"><svg onload="hit()"><a href="javascript:hit()"></a>'
        '<animate onbegin="hit()"></animate></svg><div><iframe srcdoc="<script>top.hit()</script>">'
        '</iframe><span class="legend-item" onclick="hit()">Depth</span></div>'
    )
    shown = page.evaluate(WIDGET, [canvas_script(is_widget=True), evil])
    assert shown == '<svg></svg><div><span class="legend-item">Depth</span></div>'
    assert page.evaluate("window.ran") == []


def test_no_hostile_name_runs_in_a_browser(tabs, dashboard_url, tmp_path):
    page = tabs.new_page()
    page.add_init_script(TRAP)
    visit = Visit(page, dashboard_url, "?" + urlencode(write_all(tmp_path), doseq=True))
    visit.settle()
    words = ""

    def look():
        nonlocal words
        ran, evil, said = json.loads(page.evaluate(FOUND))
        assert (ran, evil) == ([], [])
        words = said

    def shows(name):
        def is_shown():
            look()
            return name in words

        return is_shown

    place = visit.node_place()
    visit.insist(lambda: page.mouse.click(*place), shows("Node node"))
    look()
    assert any(hostile("node", n) in words for n in range(5))
    visit.show_tab("Paths")
    cell = page.locator(".tabulator-cell[tabulator-field=name]").filter(visible=True).first
    visit.insist(cell.hover, lambda: cell.get_attribute("title") is not None)
    page.wait_for_timeout(1000)  # a table's own tooltip is HTML and appears late
    assert page.locator(".tabulator-tooltip").count() == 0
    look()
    for title, name in (
        ("Tracks", hostile("contig", 0)),
        ("K-mers", "<img src=x onerror=hit()>.fa"),
        ("Off-targets", "<img src=x onerror=hit()>"),
        ("Genotypes", "<img src=x onerror=hit()>"),
    ):
        page.get_by_role("button", name=title, exact=True).click()
        visit.until(shows(name))
        box = page.locator("main").bounding_box()
        for share in (0.3, 0.5, 0.7):  # tooltips under the mouse
            page.mouse.move(box["x"] + share * box["width"], box["y"] + share * box["height"])
        look()
    page.evaluate(TOLD, f"More than 1 MB were uploaded in the tabs of {hostile('group', 0)}.")
    visit.until(shows(hostile("group", 0)))
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=hit()>')")
    _, evil, _ = json.loads(page.evaluate(FOUND))
    assert evil, "else the trap would see nothing"
    visit.until(lambda: json.loads(page.evaluate(FOUND))[0])
