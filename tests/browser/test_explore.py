"""The panels below the picture in a browser: annotations, a path, selected nodes."""

from __future__ import annotations

import re

import pytest

from genoviz.io.graph.gfa import read_gfa
from genoviz.samples import get_sample
from tests.browser.conftest import Visit
from tests.browser.test_pangenome_page import is_local


@pytest.fixture
def exploring(shared_tabs, dashboard_url, tmp_path_factory):
    """A tab with the bundled sample and two genes on its first path, in full view."""

    def open_tab(page):
        path = read_gfa(get_sample("simulated")).path_names[0]
        bed = tmp_path_factory.mktemp("explore") / "genes.bed"
        bed.write_text(f"{path}\t1000\t2500\tGENE1\n{path}\t4000\t4800\tGENE2\n")
        return Visit(page, dashboard_url, f"?file=simulated&annotations={bed}")

    visit = shared_tabs.get("exploring", open_tab)
    visit.show_whole()
    yield visit
    # Bokeh may measure a plot of a new tab once before its layout.
    assert [error for error in visit.errors if "top_panel" not in error] == []
    assert [url for url in visit.requests if not is_local(url)] == []


NAMES = """() => {
  const track = Bokeh.documents[0].get_model_by_name('path-track')
  return track.renderers.flatMap((r) => [...(r.data_source.data.name ?? [])])
}"""
DRAG_TOOL = """
  Bokeh.documents[0].get_model_by_name('path-track').toolbar.gestures.pan.active?.type
"""


def track_ranges(visit):
    return visit.page.evaluate(
        """() => {
          const {x_range} = Bokeh.documents[0].get_model_by_name('path-track')
          return [x_range.start, x_range.end]
        }"""
    )


def track_box(visit):
    """The path figure's bounding box on the page: left, top, width, height."""
    return visit.page.evaluate(
        """() => {
          const track = Bokeh.documents[0].get_model_by_name('path-track')
          const view = Bokeh.index.find_one_by_id(track.id)
          const {left, top} = view.el.getBoundingClientRect(), {bbox} = view.frame
          return [left + bbox.left, top + bbox.top, bbox.width, bbox.height]
        }"""
    )


def has_its_place(visit):
    """Return whether the figure does not move."""
    before = track_box(visit)
    visit.page.wait_for_timeout(500)
    return track_box(visit) == before and before[2] > 0


def region_in_link(visit):
    return "".join(re.findall("[?&]at=[^&]*", visit.page.url))


# First, because no region is selected yet.
def test_a_stretch_drawn_on_the_path_is_the_region_and_the_wheel_zooms(exploring):
    visit = exploring
    visit.until(lambda: track_ranges(visit)[1] > 1)
    visit.until(lambda: has_its_place(visit))
    visit.insist(
        visit.page.get_by_role("button", name="Select", exact=True).click,
        lambda: visit.page.evaluate(DRAG_TOOL) == "BoxSelectTool",
    )

    def draw_box():
        left, top, width, height = track_box(visit)
        visit.page.mouse.move(left + 0.25 * width, top + 0.3 * height)
        visit.page.mouse.down()
        visit.page.mouse.move(left + 0.4 * width, top + 0.3 * height, steps=4)
        visit.page.mouse.move(left + 0.5 * width, top + 0.3 * height, steps=4)
        visit.page.mouse.up()

    visit.insist(draw_box, lambda: "&at=" in visit.page.url)
    start, end = map(int, re.search(r":(\d+)-(\d+)", visit.page.url).groups())
    length = track_ranges(visit)[1]
    assert abs(start - 0.25 * length) < 0.02 * length
    assert abs(end - 0.5 * length) < 0.02 * length
    before = track_ranges(visit)
    left, top, width, height = track_box(visit)
    visit.page.mouse.move(left + 0.4 * width, top + 0.3 * height)
    visit.page.mouse.wheel(0, -300)
    visit.until(lambda: track_ranges(visit)[1] - track_ranges(visit)[0] < 0.9 * before[1])


def test_a_gene_in_the_list_is_zoomed_to_and_is_the_region_of_the_path(exploring):
    visit = exploring
    whole = visit.width
    assert "4001-4800" not in visit.page.url
    visit.show_tab("Annotations")
    gene = visit.page.locator(".tabulator-row", has_text="GENE2")
    visit.until(lambda: gene.count() == 1)
    visit.insist(gene.click, lambda: "4001-4800" in visit.page.url)
    visit.until(lambda: visit.width < 0.9 * whole)
    visit.show_tab("Path")
    visit.until(lambda: "4,001 to 4,800 (800 bp)" in visit.page.locator(".readout").inner_text())
    visit.until(lambda: "GENE2" in str(visit.page.evaluate(NAMES)))


def test_a_clicked_node_is_inspected_and_its_visit_leads_to_the_path(exploring):
    visit = exploring
    before = region_in_link(visit)
    named = visit.page.get_by_text(re.compile(r"^Node \S+$"))

    def inspect():
        visit.page.mouse.click(*visit.node_place())
        visit.show_tab("Inspect")

    visit.insist(inspect, lambda: named.count() == 1)
    rows = visit.page.locator(".tabulator-row:visible")
    visit.until(lambda: rows.count() > 0)
    visit.insist(rows.first.click, lambda: region_in_link(visit) not in ("", before))
