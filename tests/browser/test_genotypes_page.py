"""The Genotypes page in a browser."""

from __future__ import annotations

import re

import pytest

from genoviz import simulate_genotypes, write_plink
from tests.browser.test_lit import LitVisit

# The part of the table not covered by columns, and the width of the first column.
COLUMNS = """() => {
  const all = (root) => [...root.querySelectorAll("*")].flatMap(
    (element) => [element, ...(element.shadowRoot ? all(element.shadowRoot) : [])])
  const table = all(document).find(
    (element) => element.matches(".tabulator") && element.offsetParent)
  const width = (element) => element.getBoundingClientRect().width
  const columns = [...table.querySelectorAll(".tabulator-col")].map(width)
  const left = columns.reduce((rest, column) => rest - column, width(table))
  return [Math.abs(left) / width(table), columns[0] / width(table)]
}"""


# Number of drawn samples, and left, top, width and height of the plot.
SCATTER = """() => {
  const plot = Bokeh.documents[0].get_model_by_name("genotype-components")
  const view = Bokeh.index.find_one(plot)
  const {left, top} = view.el.getBoundingClientRect()
  const {x, y, width, height} = view.frame.bbox
  return [plot.renderers[0].data_source.get_length(), left + x, top + y, width, height]
}"""
SCATTER_COLOURS = """() => {
  const plot = Bokeh.documents[0].get_model_by_name("genotype-components")
  return [...plot.renderers[0].glyph.fill_color.transform.palette]
}"""


class GenotypesVisit(LitVisit):
    """The Genotypes page."""

    def is_ready(self):
        return self.button("Try the example").is_enabled()

    def rows(self):
        return self.page.locator(".tabulator-row:visible")

    def says(self, text):
        return self.page.get_by_text(text).first.is_visible()


@pytest.fixture
def sample(shared_tabs, dashboard_url):
    """A tab with the sample open."""

    def open_tab(page):
        visit = GenotypesVisit(page, dashboard_url, "?page=genotypes")
        visit.insist(visit.button("Try the example").click, lambda: visit.says("2,000 variants"))
        visit.until(lambda: visit.rows().count() > 2)
        return visit

    return shared_tabs.get("sample", open_tab)


def right_of(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"]


def test_columns_of_a_table_share_its_width_whatever_it_becomes(sample):
    visit = sample
    share = None

    def is_full():
        left, first = visit.page.evaluate(COLUMNS)
        return left < 0.01 and (share is None or abs(first - share) < 0.01)

    for width, height in ((1366, 768), (1920, 1080), (1366, 768)):
        visit.page.set_viewport_size({"width": width, "height": height})
        visit.until(is_full)
        share = share or visit.page.evaluate(COLUMNS)[1]


# Last, because it shows another part of the page.
def test_the_sample_is_opened_thresholded_and_looked_at(sample):
    visit = sample
    field = visit.page.get_by_label("MAF ≥")
    visit.insist(lambda: field.fill("0.1"), lambda: visit.says("Would pass"))
    visit.insist(visit.button("Apply").click, lambda: "kept=maf:0.1" in visit.page.url)
    visit.until(lambda: visit.says("300 of 300 samples"))
    visit.page.get_by_role("tab", name="Prediction").wait_for()
    visit.show_tab("Samples", 1)
    visit.until(lambda: visit.button("Compute PCA").is_visible())
    visit.until(lambda: visit.page.evaluate(SCATTER)[0] == 300)
    _n, left, top, width, height = visit.page.evaluate(SCATTER)
    colours = visit.page.evaluate(SCATTER_COLOURS)
    assert len(set(colours)) > 1
    assert "#000000" not in colours, "on a ground that is nearly black"

    def draw_around():
        visit.page.mouse.move(left + 5, top + 5)
        visit.page.mouse.down()
        for x, y in ((0.5, 0), (0.5, 1), (0, 1), (0, 0.5)):
            visit.page.mouse.move(left + 5 + x * (width - 10), top + 5 + y * (height - 10))
        visit.page.mouse.up()

    light = visit.page.get_by_role("button", name="Light up: the paths of these samples")
    visit.insist(draw_around, light.is_visible)
    words, colour = visit.light(light, "picked samples")
    assert re.match(r"\d+ picked samples", words)
    assert 0 < int(words.split()[0]) < 300
    visit.until(lambda: visit.count_in_figures(colour) > 30)
    visit.page.set_viewport_size({"width": 1024, "height": 768})
    last = visit.page.locator(".tabulator-col[tabulator-field^='PC']:visible").last
    table = visit.page.locator(".tabulator:visible").filter(has=last)
    visit.until(lambda: right_of(last) <= right_of(table) + 1)
    visit.page.set_viewport_size({"width": 1366, "height": 768})
    assert visit.errors == []
    outside = [url for url in visit.requests if "127.0.0.1" not in url and url.startswith("http")]
    assert outside == []


def test_files_of_one_upload_are_opened_together(tabs, dashboard_url, tmp_path):
    genotypes = simulate_genotypes(30, 50, seed=1)
    write_plink(genotypes, tmp_path / "herd")
    rows = [f"{name},{number}" for number, name in enumerate(genotypes.samples.ids)]
    (tmp_path / "traits.csv").write_text("\n".join(["id,height", *rows]) + "\n")
    visit = GenotypesVisit(tabs.new_page(), dashboard_url, "?page=genotypes")
    visit.show_tab("Upload")
    names = ("traits.csv", "herd.fam", "herd.bim", "herd.bed")
    field = visit.page.locator("input[type=file][multiple]").first
    # That they came is said too briefly to be seen for sure on a busy machine.
    visit.insist(
        lambda: field.set_input_files([tmp_path / name for name in names]),
        lambda: visit.says("50 variants"),
    )
    visit.until(lambda: visit.says("traits.csv"))
    assert visit.errors == []
