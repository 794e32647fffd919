"""Association and prediction on the Genotypes page in a browser."""

from __future__ import annotations

import io
import re

import numpy as np
import pandas as pd
import pytest

from genoviz import (
    associate,
    linkage,
    read_genotypes,
    simulate_genotypes,
    simulate_trait,
    write_plink,
)
from tests.browser.conftest import Visit
from tests.browser.test_accessibility import breaches_at_rest
from tests.genotype_sets import genotypes_of

# The linkage triangle: number of variants, left, top, width and height.
TRIANGLE = """() => {
  const plot = Bokeh.documents[0].get_model_by_name("linkage-triangle")
  const view = Bokeh.index.find_one(plot)
  const {left, top} = view.el.getBoundingClientRect()
  const {x_scale, y_scale} = view.frame
  const [x, y] = [x_scale.compute(0), y_scale.compute(0)]
  const n = plot.renderers[1].data_source.get_length()
  return [n, left + x, top + y, x_scale.compute(1) - x, y_scale.compute(-0.5) - y]
}"""
TO_TRIANGLE = """() => {
  const {el} = Bokeh.index.find_one(Bokeh.documents[0].get_model_by_name("linkage-triangle"))
  el.scrollIntoView({block: "center"})
  return el.getBoundingClientRect().width
}"""

# Whether figures are visible, within the window and wide enough.
FIGURES_FIT = """() => {
  const found = []
  const walk = (root) => {
    for (const part of root.querySelectorAll("*")) {
      if (part.matches(".bk-Figure")) found.push(part.getBoundingClientRect())
      if (part.shadowRoot) walk(part.shadowRoot)
    }
  }
  walk(document)
  const seen = found.filter(({width, height}) => width > 0 && height > 0)
  return seen.length > 0 && seen.every(({left, right, width}) =>
    left >= 0 && right <= window.innerWidth && width >= 120)
}"""


class GenotypesVisit(Visit):
    """A tab of the Genotypes page."""

    def is_ready(self):
        return self.says("Bonferroni")

    def says(self, text):
        return self.page.get_by_text(text).locator("visible=true").count() > 0

    def press(self, name):
        button = self.page.locator("button", has_text=re.compile(f"{name}$"))
        button.locator("visible=true").first.click()

    def press_until(self, name, text):
        """Press a button until the page shows a text."""
        self.insist(lambda: self.press(name), lambda: self.says(text))

    def download(self, name):
        return self.exported(name).path().read_text()

    @property
    def rows(self):
        return self.page.locator(".tabulator-row:visible")


@pytest.fixture(scope="module")
def query(tmp_path_factory):
    """A link to simulated genotypes and their phenotypes."""
    folder = tmp_path_factory.mktemp("genotypes")
    genotypes = simulate_genotypes(120, 400, n_contigs=3, seed=2)
    trait = simulate_trait(genotypes, heritability=0.8, n_causal=3, seed=3)
    write_plink(genotypes, folder / "herd")
    is_high = trait.phenotype > np.quantile(trait.phenotype, 0.8)
    rows = [f"{name},{value},{'yes' if high else 'no'}" for name, value, high in
            zip(genotypes.samples.ids, trait.phenotype, is_high, strict=True)]  # fmt: skip
    (folder / "herd.pheno.csv").write_text("\n".join(["id,milk,high", *rows]) + "\n")
    return f"?page=genotypes&genotypes={folder / 'herd.bed'}"


def test_a_trait_is_scanned_and_predicted(tabs, dashboard_url, query):
    visit = GenotypesVisit(tabs.new_page(), dashboard_url, f"{query}&tab=association")
    visit.until(lambda: visit.says("milk has 120 values, and cases and controls are two"))
    visit.press_until("Run", "400 variants tested in 120 samples")
    visit.until(lambda: visit.says("β per copy of A1"))
    visit.insist(lambda: visit.press("Top variants"), lambda: visit.rows.count() > 1)
    name = visit.rows.nth(1).locator(".tabulator-cell:visible").first.inner_text()
    visit.insist(visit.rows.nth(1).click, lambda: "&at=" in visit.page.url)
    card = visit.page.locator("h4:visible", has_text=re.compile(rf"^{re.escape(name)}\b"))
    visit.until(lambda: card.count() == 1)
    assert breaches_at_rest(visit) == {}
    words = f"linear regression, conditional on {name}: 399 variants tested"
    visit.insist(lambda: visit.press("Condition on it"), lambda: visit.says(words))
    visit.until(lambda: f"&condition={name}" in visit.page.url)
    chip = visit.page.get_by_role("button", name=f"Remove {name} from the conditions")
    told = visit.page.get_by_text(words).locator("visible=true").first
    assert breaches_at_rest(visit, chip, told) == {}
    visit.insist(chip.click, lambda: visit.says("linear regression: 400 variants tested"))
    visit.until(lambda: chip.count() == 0)

    def boxes_are_whole():
        head, figures = card.bounding_box(), visit.page.locator(".bk-Figure:visible")
        places = [figure.bounding_box() for figure in figures.all()]
        below = [at for at in places if at["x"] > head["x"] - 40 and at["y"] > head["y"]]
        return any(at["height"] >= 120 and at["y"] + at["height"] <= 768 for at in below)

    def facts_end_above_buttons():
        facts = visit.page.locator("dl.numbers:visible").last.bounding_box()
        button = visit.button("Show on the layout").bounding_box()
        return facts["x"] > 600 and facts["y"] + facts["height"] <= button["y"]

    visit.page.set_viewport_size({"width": 1024, "height": 768})
    visit.until(boxes_are_whole)
    visit.until(facts_end_above_buttons)
    visit.page.set_viewport_size({"width": 1366, "height": 768})
    assert len(visit.download("All results (TSV)").splitlines()) == 401

    visit.show_tab("Prediction")
    visit.until(lambda: visit.says("Heritability"))
    visit.press_until("Run", "converged")
    visit.press_until("Cross-validate", "Accuracy 0.")
    assert visit.download("Breeding values (TSV)").startswith("rank\tfamily\tsample\t")

    visit.page.set_viewport_size({"width": 390, "height": 844})
    for tab in ("Association", "Prediction", "Samples", "Quality"):  # with stacked figures
        visit.show_tab(tab)
        visit.until(lambda: visit.page.evaluate(FIGURES_FIT))
    visit.page.set_viewport_size({"width": 1366, "height": 768})

    visit.show_tab("Association")
    for label, option in (("Trait", "high"), ("Model", "Firth")):
        field = visit.page.get_by_role("combobox", name=label).locator("visible=true").first
        menu = visit.page.locator(".MuiMenu-list:visible")

        def open_menu(field=field, menu=menu):
            if not menu.is_visible():
                field.click()

        def press(open_menu=open_menu, menu=menu, option=option):
            open_menu()
            menu.get_by_text(option, exact=True).click()

        visit.insist(open_menu, menu.is_visible)
        assert breaches_at_rest(visit, menu) == {}

        visit.insist(press, lambda field=field, option=option: field.inner_text() == option)
        visit.until(lambda menu=menu: menu.count() == 0)  # else it could be taken for the next one
    field = visit.page.get_by_role("combobox", name="Covariates").locator("visible=true")
    listed = visit.page.get_by_role("listbox", name="Covariates")
    visit.insist(field.click, lambda: listed.count() == 1)
    searched = visit.page.get_by_role("combobox", name="Search: Covariates")
    searched.fill("hig")
    options = visit.page.get_by_role("option")
    visit.until(lambda: options.all_inner_texts() == ["high"])
    assert breaches_at_rest(visit) == {}
    focused = "(option) => option.getRootNode().activeElement === option"
    visit.insist(lambda: searched.press("ArrowDown"), lambda: options.evaluate(focused))
    searched.press("Escape")
    visit.until(lambda: listed.count() == 0)
    words = "Firth's logistic regression: 400 variants tested in 120 samples"
    visit.insist(lambda: visit.press("Run"), lambda: visit.says(words))
    visit.until(lambda: visit.says("Odds ratio"))
    visit.until(lambda: "model=firth" in visit.page.url)
    saved = pd.read_csv(io.StringIO(visit.download("All results (TSV)")), sep="\t")
    bed = query.partition("genotypes=")[2]
    is_high = pd.read_csv(bed.replace(".bed", ".pheno.csv"))["high"] == "yes"
    found = associate(read_genotypes(bed), is_high.to_numpy(float), model="firth")
    np.testing.assert_allclose(saved["P"], found.p)
    visit.insist(lambda: visit.press("Show on tracks"), lambda: "page=tracks" in visit.page.url)
    assert visit.errors == []


def test_the_triangle_says_why_two_variants_have_no_linkage(tabs, dashboard_url, tmp_path):
    codes = np.random.default_rng(1).integers(0, 4, (50, 8), np.uint8)
    codes[:, 2] = 3
    write_plink(genotypes_of(codes), tmp_path / "few")
    link = f"?page=genotypes&genotypes={tmp_path / 'few.bed'}&tab=association&variant=rs1"
    visit = GenotypesVisit(tabs.new_page(), dashboard_url, link)
    visit.until(lambda: visit.page.evaluate(TRIANGLE)[0] == 4)

    def said_at(x, y):
        _, left, top, width, height = visit.page.evaluate(TRIANGLE)
        for step in (0, 1):
            visit.page.mouse.move(left + x * width + step, top + y * height)
        visit.page.wait_for_timeout(200)
        return visit.page.locator(".bk-tooltip-row-value:visible").all_inner_texts()

    r2 = linkage(read_genotypes(tmp_path / "few.bed"), slice(0, 4))
    first, second, third = "rs0 · 1:1", "rs1 · 1:11", "rs2 · 1:21"
    visit.until(lambda: said_at(0.25, 0.25) == [first, second, f"{r2[0, 1]:.2f}"])
    words = "none, because one of the variants is monomorphic"
    visit.until(lambda: said_at(0.5, 0.25) == [second, third, words])
    visit.until(lambda: said_at(0.02, 0.95) == [])
    visit.until(lambda: said_at(0.25, 0.25) == [first, second, f"{r2[0, 1]:.2f}"])
    visit.page.set_viewport_size({"width": 390, "height": 844})
    visit.until(lambda: visit.page.evaluate(TO_TRIANGLE) > 100)
    visit.until(lambda: said_at(0.5, 0.25) == [second, third, words])
    box = visit.page.locator(".bk-Tooltip:visible").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert visit.errors == []
