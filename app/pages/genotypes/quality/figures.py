"""Histograms of the quality of variants and samples, and fields for their thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz_app.pages.genotypes.quality.rows import minus_log10
from genoviz_app.pages.genotypes.quality.thresholds import (
    Thresholds,
    passing_samples,
    passing_variants,
    read_threshold,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.questions import Watched, allow
from genoviz_app.parts.styles import NARROW, NARROW_PAGE, NARROW_WRAPS, WRAPS
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.histograms import Bins, QualityHistogram, bin_values

BY_TWOS = {
    at: {
        "display": "grid",
        "gridTemplateColumns": "1fr 1fr",
        "& > .child-wrapper > *": {"minWidth": "0 !important"},
    }
    for at in (NARROW, NARROW_PAGE)
}
STYLE = ":host { font-size: 12.5px; line-height: 1.4; font-variant-numeric: tabular-nums; }"
FIELDS = {
    "min_maf": ("MAF ≥", 1.0, "Minimum minor allele frequency of variants"),
    "max_variant_missing": (
        "Variant missing ≤ %",
        0.01,
        "Maximum missing rate of variants",
    ),
    "min_hwe_p": (
        "HWE p ≥",
        1.0,
        "Minimum Hardy-Weinberg p value of variants, e.g. 1e-6",
    ),
    "max_sample_missing": (
        "Sample missing ≤ %",
        0.01,
        "Maximum missing rate of samples",
    ),
}
MIN_MISSING, MIN_HWE, MAX_HWE = 5.0, 10.0, 60.0
TABLE_COLUMNS = {
    "maf": "MAF",
    "variant_missing": "Missing %",
    "hwe": "HWE −log₁₀ p",
    "sample_missing": "Missing %",
    "heterozygosity": "Het. %",
}
OF_SAMPLES = ("sample_missing", "heterozygosity")


class ThresholdBar:
    """Four fields in a row, which a button applies.

    Parameters
    ----------
    state
        Shared state of the page.
    on_change
        Called when the draft of thresholds has changed.

    Attributes
    ----------
    draft
        The thresholds in the fields, not yet applied.
    fields, apply_button, all_button, panel
        Panel objects.
    """

    def __init__(self, state: GenotypeState, on_change: Callable[[], None]) -> None:
        self._state, self._on_change = state, on_change
        self._is_following = False
        self.draft = Thresholds()
        self.fields = {name: self._field(name) for name in FIELDS}
        self.apply_button = pmui.Button(
            label="Apply", icon="filter_alt", size="small", variant="contained",
            description="Apply: analyse only samples and variants that pass; clears earlier "
            "results",
            margin=(14, 4, 0, 4),
        )  # fmt: skip
        self.all_button = pmui.IconButton(
            icon="filter_alt_off", size="20px",
            description="Keep all: analyse all samples and variants", margin=(14, 4, 0, 0),
        )  # fmt: skip
        self.apply_button.on_click(lambda _: self.apply())
        self.all_button.on_click(lambda _: self._keep_all())
        self.said = pn.pane.HTML(
            "", stylesheets=[STYLE], sizing_mode="stretch_width", margin=(13, 8, 0, 6)
        )
        self.progress = TaskBar(state.filtering)
        self.panel = pmui.Column(
            pmui.Row(
                *self.fields.values(), self.apply_button, self.all_button, self.said,
                sizing_mode="stretch_width", margin=(0, 4, 2, 8), sx={**WRAPS, **NARROW_WRAPS},
            ),
            self.progress.panel,
            sizing_mode="stretch_width", margin=0,
        )  # fmt: skip
        state.param.watch(self._follow, ["opened", "thresholds", "kept", "quality"])
        self._follow()

    def _field(self, name: str) -> pmui.TextInput:
        label, _, description = FIELDS[name]
        field = pmui.TextInput(
            label=label, description=description, size="small", width=176, margin=(12, 6, 4, 0)
        )
        field.param.watch(lambda event: self._take(name, event.new), "value_input")
        field.param.watch(lambda _: self.apply(), "enter_pressed")
        return field

    def change(self, **changes: float) -> None:
        """Change the draft, e.g. after a line was dragged, and update the fields."""
        self.draft = replace(self.draft, **changes)
        self._write()
        self._on_change()

    def apply(self) -> None:
        """Apply the draft."""
        if any(field.error_state for field in self.fields.values()):
            self._state.session.problem = "A threshold is invalid; see the marked field."
            return
        self._state.keep(self.draft, samples=self._state.only)

    def _keep_all(self) -> None:
        self._state.keep_all()

    def _take(self, name: str, text: str) -> None:
        if self._is_following:
            return
        try:
            value = read_threshold(name, text or "", scale=FIELDS[name][1])
        except ParameterError as error:
            self.fields[name].param.update(error_state=True)
            self.said.object = f"{str(error)[0].upper()}{str(error)[1:]}."
            return
        self.fields[name].error_state = False
        self.draft = replace(self.draft, **{name: value})
        self._say()
        self._on_change()

    def _follow(self, *_events: Any) -> None:
        self.draft = self._state.thresholds
        self._write()
        self._on_change()

    def _write(self) -> None:
        """Write the draft to the fields."""
        self._is_following = True
        with pn.io.hold():
            for name, field in self.fields.items():
                text = f"{getattr(self.draft, name) / FIELDS[name][1]:.4g}"
                field.param.update(value=text, value_input=text, error_state=False)
            self._say()
        self._is_following = False

    def _say(self) -> None:
        """Show how many variants and samples pass the draft."""
        state, quality = self._state, self._state.quality
        is_applied = self.draft == state.thresholds
        no_quality = "the genotypes are still being measured" if quality is None else ""
        allow(
            self.apply_button,
            no_quality or ("these thresholds are already applied" if is_applied else ""),
        )
        is_all = state.kept is None and self.draft == Thresholds()
        allow(self.all_button, "all are kept" if is_all else "")
        if quality is None:
            self.said.object = ""
            return
        n_variants = int(passing_variants(quality.variants, self.draft).sum())
        n_samples = int(passing_samples(quality.samples, self.draft).sum())
        genotypes = state.opened.genotypes
        if is_applied and state.kept is not None:
            kept = state.kept.genotypes
            n_samples, n_variants = kept.n_samples, kept.n_variants
        verb = "Analysed" if is_applied else "Would pass"
        self.said.object = (
            f"{verb}: {n_variants:,} of {n_words(genotypes.n_variants, 'variant')}<br>"
            f"and {n_samples:,} of {n_words(genotypes.n_samples, 'sample')}"
        )


class QualityFigures:
    """Five histograms in a row, whose lines show the draft thresholds.

    Parameters
    ----------
    state
        Shared state of the page.
    on_bar
        Called with whether the bar is of samples, the table column, the bins, and the index of the
        clicked bar.

    Attributes
    ----------
    bar, figures, panel
        The threshold fields, the histograms by name, and the Panel object.
    """

    def __init__(
        self, state: GenotypeState, on_bar: Callable[[bool, str, Bins, int], None]
    ) -> None:
        self._state, self._on_bar = state, on_bar
        self.figures: dict[str, QualityHistogram] = {}
        self._make("maf", "Minor allele\nfrequency", "Variants", True)
        self._make("variant_missing", "Missing, of\nvariant (%)", "Variants", False)
        self._make("hwe", "HWE test,\n−log₁₀ p", "Variants", False)
        self._make("sample_missing", "Missing, of\nsample (%)", "Samples", False)
        self._make("heterozygosity", "Heterozygous\n(%)", "Samples", None)
        self._turn = Turn(self.figures["maf"].plot, self._draw)
        self._lines = Turn(self.figures["maf"].plot, self._place_lines)
        self.bar = ThresholdBar(state, self._lines.ask)
        panes = [
            pn.pane.Bokeh(figure.plot, sizing_mode="stretch_both", margin=0)
            for figure in self.figures.values()
        ]
        self.panel = pmui.Row(*panes, sizing_mode="stretch_both", margin=(4, 4, 0, 4), sx=BY_TWOS)
        state.param.watch(lambda _: self._turn.ask(), "quality")

    def _make(self, name: str, x_label: str, y_label: str, drops_below: bool | None) -> None:
        self.figures[name] = QualityHistogram(
            f"quality-{name}",
            x_label,
            y_label,
            drops_below=drops_below,
            on_threshold=lambda value: self._on_threshold(name, value),
            on_bar=lambda bins, place: self._on_bar(
                name in OF_SAMPLES, TABLE_COLUMNS[name], bins, place
            ),
            watch=partial(Watched, self._state.session),
        )

    @property
    def is_laid_out(self) -> bool:
        """Whether the browser has finished their layout."""
        return self._turn.is_laid_out

    def _draw(self) -> None:
        """Draw the histograms of the open genotypes."""
        quality = self._state.quality
        for name, (values, low, high, unit) in _measures(quality).items():
            self.figures[name].show(bin_values(values, low, high), unit=unit)
        self._place_lines()

    def _place_lines(self) -> None:
        """Move the lines to the thresholds of the fields."""
        if not hasattr(self, "bar") or self._state.quality is None:
            return
        draft = self.bar.draft
        hwe = float(minus_log10(np.array([draft.min_hwe_p]))[0])
        places = {
            "maf": draft.min_maf,
            "variant_missing": 100 * draft.max_variant_missing,
            "hwe": hwe,
            "sample_missing": 100 * draft.max_sample_missing,
        }
        for name, place in places.items():
            self.figures[name].place_line(place)

    def _on_threshold(self, name: str, value: float) -> None:
        """Apply a dragged line to the draft; at the edge of the figure, remove the threshold."""
        end = self.figures[name].end
        nothing = Thresholds()
        if name == "maf":
            changes = {"min_maf": float(f"{value:.3g}")}
        elif name == "hwe":
            changes = {"min_hwe_p": nothing.min_hwe_p if value >= end else 10 ** -round(value, 1)}
        else:
            field = f"max_{name}"
            changes = {field: getattr(nothing, field) if value >= end else round(value, 2) / 100}
        self.bar.change(**changes)


def _measures(quality: Any) -> dict[str, tuple[np.ndarray, float, float, str]]:
    """Return values, axis limits and unit by figure."""
    nothing = np.empty(0)
    if quality is None:
        return dict.fromkeys(TABLE_COLUMNS, (nothing, 0.0, 1.0, ""))
    variants, samples = quality.variants, quality.samples
    missing, of_samples = 100 * variants.missing_rate, 100 * samples.missing_rate
    hwe, heterozygosity = minus_log10(variants.hwe_p), 100 * samples.heterozygosity
    low, high = _ends(heterozygosity)
    return {
        "maf": (variants.minor_allele_frequency, 0.0, 0.5, ""),
        "variant_missing": (missing, 0.0, _top(missing, MIN_MISSING, 100.0), " %"),
        "hwe": (hwe, 0.0, _top(hwe, MIN_HWE, MAX_HWE), ""),
        "sample_missing": (of_samples, 0.0, _top(of_samples, MIN_MISSING, 100.0), " %"),
        "heterozygosity": (heterozygosity, low, high, " %"),
    }


def _top(values: np.ndarray, minimum: float, maximum: float) -> float:
    highest = float(np.max(values[np.isfinite(values)], initial=0.0))
    return min(max(highest, minimum), maximum)


def _ends(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
