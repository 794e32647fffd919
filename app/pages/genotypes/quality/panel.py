"""The Quality tab: histograms with thresholds, and tables of variants and samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.quality.figures import QualityFigures
from genoviz_app.pages.genotypes.quality.rows import (
    SAMPLE_COLUMNS,
    VARIANT_COLUMNS,
    SampleRows,
    VariantRows,
    sample_measures,
    variant_measures,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.styles import in_narrow_window
from genoviz_app.plots.histograms import Bins

VARIANTS, SAMPLES = "Variants", "Samples"
PATIENCE = 3


class QualityPanel:
    """A tab of the page.

    Attributes
    ----------
    rows
        All variants and all samples as table rows; None until they are measured.
    figures, variants, samples, which, chip, panel
        The histograms, the two tables, the selector of the table, the histogram bar that filters
        it, and the Panel object.
    """

    title = "Quality"
    has_figure = False

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.is_shown = False
        self.rows: tuple[VariantRows, SampleRows] | tuple[None, None] = (None, None)
        self._waited = 0
        self._bar: tuple[bool, str, Bins, int] | None = None
        self.figures = QualityFigures(state, self._on_bar)
        self.variants = LongTable(
            state.session, VARIANT_COLUMNS, placeholder="ID, or chr:start-end",
            on_row=self._on_variant,
        )  # fmt: skip
        self.samples = LongTable(
            state.session, SAMPLE_COLUMNS, placeholder="Sample", on_row=self._on_sample
        )
        self._tables = {VARIANTS: self.variants, SAMPLES: self.samples}
        self.which = pmui.RadioButtonGroup(
            label="", options=[VARIANTS, SAMPLES], value=VARIANTS, size="small",
            description="Table of variants or of samples", margin=(4, 10, 0, 0),
            sx={"& .MuiToggleButton-root": {"padding": "1px 9px", "fontSize": "12px"}},
        )  # fmt: skip
        self.chip = pmui.Chip(
            label="", icon="close", size="small", visible=False, margin=(6, 8, 0, 0),
            description="List all again",
        )  # fmt: skip
        self.chip.on_click(lambda _: self._on_bar(*self._bar) if self._bar else None)
        self.which.param.watch(lambda _: self._show_which(), "value")
        self._progress = TaskBar(state.measuring)
        bar = pmui.Row(
            self.which, self.variants.bar, self.samples.bar, self.chip,
            sizing_mode="stretch_width", margin=(0, 8),
        )  # fmt: skip
        self._places = {
            name: pmui.Column(sizing_mode="stretch_both", margin=0, styles={"min-height": "0"})
            for name in self._tables
        }
        self.panel = pmui.Column(
            pmui.Column(
                self.figures.panel, sizing_mode="stretch_both", margin=0,
                styles={"flex": "0 0 36%", "min-height": "170px", "max-height": "340px"},
                stylesheets=in_narrow_window("450px", or_page=True),  # three rows of figures
            ),
            self.figures.bar.panel, self._progress.panel, bar, *self._places.values(),
            sizing_mode="stretch_both", margin=0,
        )  # fmt: skip
        self._show_which()
        state.param.watch(self._follow, ["quality", "kept"])
        self._follow()

    def poll(self) -> None:
        """Update the tab."""
        if self.is_shown:
            self._state.want_quality()
            self._make_table()

    def _follow(self, *_events: Any) -> None:
        self._bar = None
        self._list()

    def _list(self) -> None:
        """List the variants and samples of the selected bar, or all."""
        state, quality = self._state, self._state.quality
        if quality is None:
            self.rows = (None, None)
            self.variants.show(None)
            self.samples.show(None)
            self.chip.visible = False
            return
        genotypes = state.opened.genotypes
        kept_variants = _mask(genotypes.n_variants, state.kept and state.kept.variant_indices)
        kept_samples = _mask(genotypes.n_samples, state.kept and state.kept.sample_indices)
        of_variants = of_samples = None
        if self._bar is not None:
            is_samples, column, bins, place = self._bar
            measures = sample_measures if is_samples else variant_measures
            values = measures(quality.samples if is_samples else quality.variants)[column]
            is_in = bins.holds(place, values)
            of_samples, of_variants = (is_in, None) if is_samples else (None, is_in)
            self.chip.label = f"{column}: {bins.say(place)}"
        self.chip.visible = self._bar is not None
        self.rows = (
            VariantRows(genotypes.variants, quality.variants, kept_variants),
            SampleRows(genotypes.samples, quality.samples, kept_samples),
        )
        self.variants.show(self.rows[0], of_variants)
        self.samples.show(self.rows[1], of_samples)

    def _on_bar(self, *bar: Any) -> None:
        """Filter a table by a histogram bar; a second click on the bar removes the filter."""
        self._bar = None if bar == self._bar else bar
        if self._bar is not None:
            self.which.value = SAMPLES if bar[0] else VARIANTS
        self._list()

    def _make_table(self) -> None:
        """Create the selected table in the browser once its container and rows exist."""
        table, place = self._tables[self.which.value], self._places[self.which.value]
        self._waited = self._waited + 1 if self.figures.is_laid_out else 0
        if self._waited > PATIENCE:
            table.make(place)

    def _show_which(self) -> None:
        """Show one of the tables."""
        self._waited = 0
        with pn.io.hold():
            for name, table in self._tables.items():
                table.bar.visible = self._places[name].visible = name == self.which.value

    def _on_variant(self, row: int) -> None:
        kept = self._state.kept
        self._state.choose_variant(_place_in(kept and kept.variant_indices, row))

    def _on_sample(self, row: int) -> None:
        kept = self._state.kept
        place = _place_in(kept and kept.sample_indices, row)
        if place is not None:
            self._state.chosen = np.array([place], np.int64)


def _mask(n: int, indices: np.ndarray | None) -> np.ndarray:
    if indices is None:
        return np.ones(n, bool)
    mask = np.zeros(n, bool)
    mask[indices] = True
    return mask


def _place_in(indices: np.ndarray | None, row: int) -> int | None:
    """Return the index of a row among the kept ones, or None if it is filtered out."""
    if indices is None:
        return row
    found = np.flatnonzero(indices == row)
    return int(found[0]) if len(found) else None
