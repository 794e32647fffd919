"""Colours, the list of paths and saved pages in a browser."""

from __future__ import annotations

import re

import numpy as np
import pytest

from genoviz.analyses.figures import FigureOptions, figure_bytes, make_figure
from genoviz.analyses.graph.picture.colouring import ColourChoice, make_colouring
from genoviz.analyses.graph.picture.drawing import LayoutDrawing
from tests.browser.conftest import wait_in
from tests.graphs import make_graph


def test_selected_paths_are_coloured_and_drawn_alone(visit):
    visit.until(lambda: visit.n_painted > 0)
    page = visit.page
    visit.show_tab("Paths")
    boxes = page.locator(".tabulator-row input[type=checkbox]")
    visit.until(lambda: boxes.count() > 2)
    for row in range(2):
        said = page.get_by_text(f"12 paths, {row + 1} selected")
        visit.insist(boxes.nth(row).click, said.is_visible)
    legend = page.locator(".legend")
    visit.insist(
        page.get_by_role("button", name="Give each path its own colour").click,
        lambda: "Only on one of 2 paths" in legend.inner_text(),
    )
    visit.settle()
    before = visit.picture()
    visit.insist(
        page.get_by_role("button", name="Hide all others").click,
        page.get_by_text("12 paths, 2 selected, 10 hidden").is_visible,
    )
    visit.until(lambda: visit.picture() != before)
    visit.insist(
        page.get_by_role("button", name="Show all nodes").click,
        page.get_by_text("12 paths, 2 selected", exact=True).is_visible,
    )
    assert visit.errors == []


def test_a_table_of_values_colours_the_picture(visit, tmp_path):
    visit.until(lambda: visit.n_painted > 0)
    table = tmp_path / "values.csv"
    table.write_text("node,coverage\n" + "".join(f"{n},{n}\n" for n in range(1, 200)))
    page = visit.page
    field = page.locator("input[type=file][accept*='.csv']")
    legend = page.locator(".legend")

    def choose():
        page.get_by_label("Colour by").click()
        page.get_by_text("Own table").click()

    visit.insist(choose, lambda: field.count() == 1)
    visit.insist(lambda: field.set_input_files(table), lambda: "coverage" in legend.inner_text())
    assert visit.errors == []


@pytest.fixture
def saved_page(tmp_path):
    """Save a figure of three nodes as HTML."""
    graph = make_graph([10, 20, 30], [[1, 2, 3]])
    coordinates = np.array([[[0, 0], [40, 0]], [[45, 10], [60, 10]], [[65, 0], [100, 0]]], float)
    figure = make_figure(
        graph,
        LayoutDrawing(coordinates, backend="cpu"),
        make_colouring(graph, ColourChoice("length")),
        FigureOptions(width=800, dpi=96, title="Three nodes"),
    )
    path = tmp_path / "figure.html"
    path.write_bytes(figure_bytes(figure, ".html"))
    return path


def test_a_saved_page_zooms_and_names_nodes_without_a_server(tabs, saved_page):
    page = tabs.new_page()
    asked, errors = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(saved_page.as_uri())
    box = page.locator("canvas").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tip, bar = page.locator("#tip"), page.locator("#bar span")

    def tip_at(y):
        page.mouse.move(middle[0], middle[1] + float(y))
        page.wait_for_timeout(20)
        return tip.inner_text() if tip.is_visible() else ""

    # Node 2 is 10 bp above the centre of the other two; hovering there shows its name.
    def first_tip():
        return next(filter(None, (tip_at(y) for y in np.arange(-120, 120, 4))), "")

    wait_in(page, lambda: first_tip() == "2\n20 bp")
    wait_in(page, lambda: re.fullmatch(r"[\d.]+ bp", bar.inner_text()))
    before = bar.inner_text()
    for _ in range(4):
        page.get_by_role("button", name="Zoom in").click()
    wait_in(page, lambda: float(bar.inner_text().split()[0]) < float(before.split()[0]))
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert errors == []


# MUI class names of positioned elements, each with whether its shadow root has rules for it.
STYLES = """() => {
  const found = []
  const look = (root) => {
    const rules = [...root.querySelectorAll("style")].flatMap((style) => [...style.sheet.cssRules])
    const texts = rules.map((rule) => rule.cssText).join(" ")
    for (const each of root.querySelectorAll("*")) {
      for (const name of each.classList) {
        if (name.startsWith("css-of-")) found.push([name, texts.includes("." + name)])
      }
      if (each.shadowRoot) look(each.shadowRoot)
    }
  }
  look(document)
  return found
}"""


def test_a_style_that_is_made_once_stands_wherever_it_is_used(visit):
    visit.until(lambda: visit.n_painted > 0)
    found = visit.page.evaluate(STYLES)
    names = [name for name, _ in found]
    assert len(set(names)) > 30
    assert len(names) > 2 * len(set(names))
    n_missing = sum(not has_rules for _, has_rules in found)
    assert n_missing < len(found) / 10, [name for name, has_rules in found if not has_rules]
    assert visit.errors == []
