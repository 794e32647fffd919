"""The fields of the thresholds, how much passes them, and the buttons that apply them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import ParameterError
from genoviz_app.pages.genotypes.quality.thresholds import (
    Thresholds,
    passing_samples,
    passing_variants,
    read_threshold,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.pages.genotypes.task_bar import TaskBar

STYLE = ":host { font-size: 12.5px; line-height: 1.4; font-variant-numeric: tabular-nums; }"
FIELDS = {
    "min_maf": ("MAF ≥", 1.0, "Variants of which the rarer allele is as frequent are kept"),
    "max_variant_missing": (
        "Variant missing ≤ %",
        0.01,
        "Variants with a genotype in enough samples are kept",
    ),
    "min_hwe_p": (
        "HWE p ≥",
        1.0,
        "Variants near Hardy-Weinberg proportions are kept; such as 1e-6",
    ),
    "max_sample_missing": (
        "Sample missing ≤ %",
        0.01,
        "Samples with a genotype at enough variants are kept",
    ),
}


class ThresholdBar:
    """Four fields in a row; what they say is applied by a button.

    Parameters
    ----------
    state
        What the page shares.
    on_change
        Called when a draft of thresholds has changed.

    Attributes
    ----------
    draft
        What the fields say.
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
            description="Apply: analyse only what passes; results of other sets are forgotten",
            margin=(14, 4, 0, 4),
        )  # fmt: skip
        self.all_button = pmui.IconButton(
            icon="filter_alt_off", description="Keep all samples and variants", size="20px",
            margin=(14, 4, 0, 0),
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
                sizing_mode="stretch_width", margin=(0, 4, 2, 8),
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
        """Change the draft, as by a dragged line, and write it to the fields."""
        self.draft = replace(self.draft, **changes)
        self._write()
        self._on_change()

    def apply(self) -> None:
        """Have the draft applied."""
        if any(field.error_state for field in self.fields.values()):
            self._state.session.problem = "A threshold is not understood; see the marked field."
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
        """Say how much passes the draft."""
        state, quality = self._state, self._state.quality
        is_applied = self.draft == state.thresholds
        self.apply_button.disabled = is_applied or quality is None
        self.all_button.disabled = state.kept is None and self.draft == Thresholds()
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
            f"{verb}: {n_variants:,} of {genotypes.n_variants:,} variants<br>"
            f"and {n_samples:,} of {genotypes.n_samples:,} samples"
        )
