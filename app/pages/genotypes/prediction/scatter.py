"""Predicted against observed values: of all data, or of hidden folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.genotypes.association.form import WORDS
from genoviz_app.pages.genotypes.prediction.check import PredictionCheck
from genoviz_app.pages.genotypes.prediction.form import PredictionForm
from genoviz_app.pages.genotypes.prediction.numbers import Agreement, scatter_dots
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.prediction import PredictionFigure

FITTED, CHECKED = "All data", "Cross-validation"
TOGGLE: dict[str, Any] = {
    "label": "", "size": "small", "margin": (4, 8, 0, 8),
    "sx": {"& .MuiToggleButton-root": {"padding": "2px 8px", "fontSize": "12px",
                                   "whiteSpace": "nowrap"}},
}  # fmt: skip


class PredictionScatter:
    """A figure, and a choice of what it shows.

    Attributes
    ----------
    figure, source, said, panel
        The figure, what it shows, how well both agree, and the Panel object.
    person
        Who is marked, or None.
    """

    def __init__(self, state: GenotypeState, form: PredictionForm, check: PredictionCheck) -> None:
        self._state, self._form, self._check = state, form, check
        self._dots: np.ndarray = np.empty(0, np.int64)
        self.person: int | None = None
        self.figure = PredictionFigure()
        self._turn = Turn(self.figure.plot, self._draw_scatter)
        self.source = pmui.RadioButtonGroup(
            options=[FITTED, CHECKED], value=FITTED, disabled=True,
            description="Samples that the model has seen, or predictions of hidden folds", **TOGGLE,
        )  # fmt: skip
        self.said = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", margin=(8, 8, 0, 0)
        )
        self.panel = pmui.Column(
            pmui.Row(self.source, self.said, sizing_mode="stretch_width", margin=0),
            pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            margin=0,
            styles={"flex": "1.2 1 0", "min-width": "0", "min-height": "0"},
        )
        self.source.param.watch(lambda _: self._turn.ask(), "value")
        check.said.param.watch(self._follow_check, "object")
        state.param.watch(lambda _: self._turn.ask(), "blup")

    def mark(self, person: int | None) -> None:
        """Mark one of those that are predicted; None marks none."""
        self.person = person
        self._mark_person()

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray, str] | None:
        """Predicted and observed values of the scatter plot, and what the prediction is."""
        snapshot, run = self._state.blup, self._form.run
        if self.source.value == CHECKED and self._check.result is not None:
            result = self._check.result
            return result.predicted, result.observed, "Predicted, from the other folds"
        if snapshot is None or run is None or len(snapshot.breeding_values) != len(run.ids):
            return None
        return snapshot.breeding_values, run.phenotype, "Breeding value"

    def _follow_check(self, *_events: Any) -> None:
        has_result = self._check.result is not None
        with pn.io.hold():
            value = CHECKED if has_result else FITTED
            if self.source.disabled == has_result:
                self.source.param.update(disabled=not has_result, value=value)
        self._turn.ask()

    def _draw_scatter(self) -> None:
        pairs = self.pairs
        with pn.io.hold():
            if pairs is None:
                self._dots = np.empty(0, np.int64)
                self.figure.show({"x": [], "y": [], "name": []}, {"x": [], "y": []}, ("", ""))
                self.figure.choose(None)
                self.said.object = ""
                return
            predicted, observed, label = pairs
            ids = self._ids(len(predicted))
            dots, self._dots = scatter_dots(predicted, observed, ids)
            agreement = Agreement.of(predicted, observed)
            ends = (
                (min([*dots["x"], 0.0]), max([*dots["x"], 0.0])) if agreement.has_line else (0, 1)
            )
            design = self._check.design if self.source.value == CHECKED else self._form.run.design
            self.figure.show(dots, agreement.line(*ends), (label, design.trait))
            self._mark_person()
            self.said.object = f"<p>{self._agreement_words(agreement, len(self._dots))}</p>"

    def _ids(self, n: int) -> np.ndarray:
        run, subject = self._form.run, self._state.subject
        if run is not None and len(run.ids) == n and self.source.value == FITTED:
            return run.ids
        return subject.samples.ids

    def _agreement_words(self, agreement: Agreement, n_dots: int) -> str:
        seen = " in sample" if self.source.value == FITTED else ""
        words = f"r = {agreement.correlation:.3f}{seen}, slope {agreement.slope:.2f}, "
        drawn = f" ({n_dots:,} drawn)" if n_dots < agreement.n else ""
        return f"{words}n = {agreement.n:,}{drawn}"

    def _mark_person(self) -> None:
        person, pairs = self.person, self.pairs
        if person is None or pairs is None or person >= len(pairs[0]):
            self.figure.choose(None)
        elif np.isfinite(pairs[1][person]):
            self.figure.choose(float(pairs[0][person]), float(pairs[1][person]))
        else:
            self.figure.choose(None)
