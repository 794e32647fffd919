"""The panels of paths in a browser: rows along the nodes, similarity, growth."""

from __future__ import annotations

import re

from genoviz.io.graph.gfa import read_gfa
from genoviz.samples import get_sample
from tests.browser.conftest import Visit
from tests.browser.test_pangenome_page import is_local

FRAME = """(name) => {
  const plot = Bokeh.documents[0].get_model_by_name(name)
  const view = Bokeh.index.find_one_by_id(plot.id)
  const {left, top} = view.el.getBoundingClientRect(), {bbox} = view.frame
  return [left + bbox.left, top + bbox.top, bbox.width, bbox.height]
}"""
RANGE = """() => {
  const {x_range} = Bokeh.documents[0].get_model_by_name('path-rows')
  return [x_range.start, x_range.end]
}"""
CELLS = """() => {
  const plot = Bokeh.documents[0].get_model_by_name('path-rows')
  const {dw, image} = plot.renderers[0].data_source.data
  return [dw[0] ?? 0, image[0] ? new Set(image[0]).size : 0]
}"""


def test_rows_of_paths_are_pointed_at_zoomed_clicked_and_compared(tabs, dashboard_url):
    graph = read_gfa(get_sample("simulated"))
    page = tabs.new_page()
    visit = Visit(page, dashboard_url, "?file=simulated&panel=paths.nodes")
    visit.until(lambda: page.evaluate(CELLS)[1] > 1)
    visit.until(lambda: page.evaluate(RANGE) == [0, graph.total_length])
    row = 1

    def place():
        """The centre of the row at its current position."""
        left, top, width, height = page.evaluate(FRAME, "path-rows")
        return left + 0.5 * width, top + (row + 0.5) * height / graph.n_paths

    words = page.get_by_text("% visited, depth").or_(page.get_by_text("is not there"))

    def point():
        x, y = place()
        page.mouse.move(x - 3, y)
        page.mouse.move(x, y)

    visit.insist(
        point,
        lambda: words.count() > 0 and graph.path_names[row] in words.first.inner_text(),
    )

    def zoom():
        """Turn the wheel repeatedly, because Bokeh sometimes ignores a single event."""
        for turn in range(5):
            x, y = place()
            page.mouse.move(x + turn, y)
            page.mouse.wheel(0, -200)
            page.wait_for_timeout(100)

    visit.insist(zoom, lambda: page.evaluate(CELLS)[0] < graph.total_length)
    start, end = page.evaluate(RANGE)
    assert 0 <= start < end <= graph.total_length
    assert end - start < graph.total_length

    visit.insist(lambda: page.mouse.click(*place()), lambda: "&at=" in page.url)
    assert "panel=paths.nodes" in page.url
    path = re.search("&at=([^:&]+)", page.url)[1].replace("%23", "#")
    assert path in graph.path_names[row]

    page.get_by_role("button", name="Similarity").click()
    visit.until(lambda: page.get_by_text("Jaccard by bp").is_visible())

    def choose_pair():
        left, top, width, height = page.evaluate(FRAME, "path-similarity")
        page.mouse.click(left + 0.9 * width, top + 0.1 * height)

    visit.insist(choose_pair, lambda: page.get_by_text("bp shared").is_visible())
    light = page.get_by_role("button", name="Light up: nodes found in only one of the clicked pair")
    visit.insist(light.click, lambda: page.get_by_text(" alone").first.is_visible())

    page.get_by_role("button", name="Growth").click()
    visit.until(lambda: page.get_by_text("in some of").is_visible())
    visit.until(lambda: "panel=paths.growth" in page.url)
    assert [error for error in visit.errors if "top_panel" not in error] == []
    assert [url for url in visit.requests if not is_local(url)] == []
