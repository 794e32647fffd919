"""The histograms of quality, of variants and of samples, and their thresholds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.genotypes.quality.rows import minus_log10
from genoviz_app.pages.genotypes.quality.threshold_bar import ThresholdBar
from genoviz_app.pages.genotypes.quality.thresholds import Thresholds
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.quality_histogram import Bins, QualityHistogram, bin_values

LEAST_MISSING, LEAST_HWE, MOST_HWE = 5.0, 10.0, 60.0
TABLE_COLUMNS = {
    "maf": "MAF",
    "variant_missing": "Missing %",
    "hwe": "HWE −log₁₀ p",
    "sample_missing": "Missing %",
    "heterozygosity": "Het. %",
}
OF_SAMPLES = ("sample_missing", "heterozygosity")


class QualityFigures:
    """Five histograms in a row; their lines are the thresholds of the bar.

    Parameters
    ----------
    state
        What the page shares.
    on_bar
        Called with whether it is of samples, the column of the table, the bins, and the place of
        the one whose bar is clicked.

    Attributes
    ----------
    bar, figures, panel
        The fields of the thresholds, the histograms by name, and the Panel object.
    """

    def __init__(
        self, state: GenotypeState, on_bar: Callable[[bool, str, Bins, int], None]
    ) -> None:
        self._state, self._on_bar = state, on_bar
        self.figures: dict[str, QualityHistogram] = {}
        self._make("maf", "Minor allele frequency", "Variants", True)
        self._make("variant_missing", "Missing, of variant (%)", "Variants", False)
        self._make("hwe", "HWE test, −log₁₀ p", "Variants", False)
        self._make("sample_missing", "Missing, of sample (%)", "Samples", False)
        self._make("heterozygosity", "Heterozygous (%)", "Samples", None)
        self._turn = Turn(self.figures["maf"].plot, self._draw)
        self._lines = Turn(self.figures["maf"].plot, self._place_lines)
        self.bar = ThresholdBar(state, self._lines.ask)
        panes = [
            pn.pane.Bokeh(figure.plot, sizing_mode="stretch_both", margin=0)
            for figure in self.figures.values()
        ]
        self.panel = pmui.Row(*panes, sizing_mode="stretch_both", margin=(4, 4, 0, 4))
        state.param.watch(lambda _: self._turn.ask(), "quality")

    def _make(self, name: str, x_label: str, y_label: str, drops_below: bool | None) -> None:
        self.figures[name] = QualityHistogram(
            f"quality-{name}",
            x_label,
            y_label,
            drops_below=drops_below,
            on_threshold=lambda value: self._take_threshold(name, value),
            on_bar=lambda bins, place: self._on_bar(
                name in OF_SAMPLES, TABLE_COLUMNS[name], bins, place
            ),
        )

    @property
    def is_laid_out(self) -> bool:
        """Whether the browser has them at their place."""
        return self._turn.is_laid_out

    def poll(self) -> None:
        """Take lines that were dragged; called some twenty times a second."""
        for figure in self.figures.values():
            figure.poll()

    def _draw(self) -> None:
        """Draw the histograms of what is open."""
        quality = self._state.quality
        for name, (values, low, high, unit) in _measures(quality).items():
            self.figures[name].show(bin_values(values, low, high), unit=unit)
        self._place_lines()

    def _place_lines(self) -> None:
        """Put the lines where the thresholds of the fields are."""
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

    def _take_threshold(self, name: str, value: float) -> None:
        """Take a dragged line; at the end of the figure it lets everything pass."""
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
    """Return values, the ends of the axis, and the unit, by figure."""
    nothing = np.empty(0)
    if quality is None:
        return dict.fromkeys(TABLE_COLUMNS, (nothing, 0.0, 1.0, ""))
    variants, samples = quality.variants, quality.samples
    missing, of_samples = 100 * variants.missing_rate, 100 * samples.missing_rate
    hwe, heterozygosity = minus_log10(variants.hwe_p), 100 * samples.heterozygosity
    low, high = _ends(heterozygosity)
    return {
        "maf": (variants.minor_allele_frequency, 0.0, 0.5, ""),
        "variant_missing": (missing, 0.0, _top(missing, LEAST_MISSING, 100.0), " %"),
        "hwe": (hwe, 0.0, _top(hwe, LEAST_HWE, MOST_HWE), ""),
        "sample_missing": (of_samples, 0.0, _top(of_samples, LEAST_MISSING, 100.0), " %"),
        "heterozygosity": (heterozygosity, low, high, " %"),
    }


def _top(values: np.ndarray, least: float, most: float) -> float:
    highest = float(np.max(values[np.isfinite(values)], initial=0.0))
    return min(max(highest, least), most)


def _ends(values: np.ndarray) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
