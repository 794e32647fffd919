"""Predicted against observed values, from all data or hidden folds; and exports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.figures.axes import PrintedPlot, print_plots
from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot
from genoviz.analyses.genotypes.prediction.multi_trait import MultiTraitSnapshot
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.association.export import printed_track
from genoviz_app.pages.genotypes.association.form import WORDS
from genoviz_app.pages.genotypes.association.manhattan_points import Track
from genoviz_app.pages.genotypes.prediction.blup_steps import BlupRun
from genoviz_app.pages.genotypes.prediction.check import PredictionCheck
from genoviz_app.pages.genotypes.prediction.form import PredictionForm
from genoviz_app.pages.genotypes.prediction.numbers import (
    Agreement,
    of_trait,
    rank_high,
    scatter_dots,
)
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.styles import WORDS_BELOW
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.prediction import PredictionFigure, padded_ends

FITTED, CHECKED = "All data", "Cross-validation"
TOGGLE: dict[str, Any] = {
    "label": "", "size": "small", "margin": (4, 8, 0, 8),
    "sx": {"& .MuiToggleButton-root": {"padding": "2px 8px", "fontSize": "12px",
                                   "whiteSpace": "nowrap"}},
}  # fmt: skip


def write_values(
    path: Path, run: BlupRun, snapshot: BlupSnapshot | MultiTraitSnapshot, shown: int = 0
) -> None:
    """Write breeding values as a tab-separated table, highest first, followed by the groups.

    With several traits, each has its own columns, and one of them determines the order.
    """
    values = of_trait(snapshot.breeding_values, shown)
    order = np.argsort(-values, kind="stable")
    frame = pd.DataFrame(
        {
            "rank": rank_high(values)[order],
            "family": run.family_ids[order],
            "sample": run.ids[order],
            **{
                f"{name}{end}": column[order]
                for k, end in enumerate(_endings(run))
                for name, column in (
                    ("breeding_value", of_trait(snapshot.breeding_values, k)),
                    ("phenotype", run.phenotypes[:, k]),
                )
            },
            "genotyped": run.is_genotyped[order].astype(int),
            "converged": "yes" if snapshot.is_converged else "no",
        }
    )
    if run.groups:
        of_groups = {
            "sample": list(run.groups),
            **{
                f"breeding_value{end}": of_trait(snapshot.group_effects, k)
                for k, end in enumerate(_endings(run))
            },
            "genotyped": 0,
            "converged": frame["converged"].iloc[0],
            "is_group": 1,
        }
        frame = pd.concat([frame.assign(is_group=0), pd.DataFrame(of_groups)])
        frame["rank"] = frame["rank"].astype("Int64")  # groups have none
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.8g")


def _endings(run: BlupRun) -> list[str]:
    """Return the column title suffixes of the traits."""
    return [""] if len(run.traits) == 1 else [f"_{name}" for name in run.traits]


def write_effects(
    path: Path,
    variants: VariantTable,
    run: BlupRun,
    snapshot: BlupSnapshot | MultiTraitSnapshot,
) -> None:
    """Write variant effects on each trait as a tab-separated table with 1-based positions."""
    frame = pd.DataFrame(
        {
            "contig": np.array(variants.contigs, object)[variants.contig_ids],
            "position": variants.positions + 1,
            "id": variants.ids,
            "effect_allele": variants.allele1,
            "other_allele": variants.allele2,
            **{
                f"effect{end}": of_trait(snapshot.effects, k) for k, end in enumerate(_endings(run))
            },
            "converged": "yes" if snapshot.is_converged else "no",
        }
    )
    frame.to_csv(path, sep="\t", index=False, na_rep="NA", float_format="%.8g")


def prediction_figure(
    run: BlupRun, predicted: np.ndarray, track: Track, ending: str, shown: int = 0
) -> bytes:
    """Return scatter and effect plots of a trait as a file of type ``".png"`` or ``".svg"``."""
    observed, trait = run.phenotypes[:, shown], run.traits[shown]
    agreement = Agreement.of(predicted, observed)
    dots, _ = scatter_dots(predicted, observed, run.ids)
    ends = padded_ends(dots["x"]), padded_ends(dots["y"])
    line = agreement.line(*ends[0])
    scatter = PrintedPlot(
        dots["x"], dots["y"], np.zeros(len(dots["x"]), np.uint8), *ends,
        ("Predicted", trait),
        curves=[np.array([line["x"], line["y"]])] if agreement.has_line else [], share=0.45,
    )  # fmt: skip
    title = f"{run.request.method} of {trait}"
    assumed = f"{run.request.assumed}; ".capitalize() * bool(run.request.assumed)
    caption = (
        f"{assumed}{n_words(agreement.n, 'sample')}; correlation "
        f"{agreement.correlation:.3f}; effects are of one copy of A1."
    )
    return track_figure_bytes(print_plots([printed_track(track), scatter], title, caption), ending)


class PredictionScatter:
    """A scatter plot and menus of its data.

    Attributes
    ----------
    figure, source, trait, said, panel
        The figure, its data source and trait, the agreement as text, and the Panel object.
    person
        Index of the marked individual, or None.
    """

    def __init__(self, state: GenotypeState, form: PredictionForm, check: PredictionCheck) -> None:
        self._state, self._form, self._check = state, form, check
        self._dots: np.ndarray = np.empty(0, np.int64)
        self.person: int | None = None
        self.figure = PredictionFigure()
        self._turn = Turn(self.figure.plot, self._draw_scatter)
        self.source = pmui.RadioButtonGroup(
            options=[FITTED, CHECKED], value=FITTED, disabled=True,
            description="Training samples, or predictions of held-out folds", **TOGGLE,
        )  # fmt: skip
        self.trait = pmui.Select(
            label="", options={}, size="small", width=200, margin=(4, 4, 0, 8), visible=False,
            description="The trait that figures show, and that ranks are of",
        )  # fmt: skip
        self.said = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", margin=(8, 8, 0, 0)
        )
        self.panel = pmui.Column(
            self.trait,
            pmui.Row(self.source, self.said, sizing_mode="stretch_width", margin=0, sx=WORDS_BELOW),
            pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            margin=0,
            styles={"flex": "1.2 1 0", "min-width": "0", "min-height": "0"},
        )
        self.source.param.watch(lambda _: self._turn.ask(), "value")
        self.trait.param.watch(lambda _: self._turn.ask(), "value")
        check.said.param.watch(self._follow_check, "object")
        state.param.watch(self._follow_blup, "blup")

    def mark(self, person: int | None) -> None:
        """Mark an individual with a prediction; None removes the mark."""
        self.person = person
        self._mark_person()

    @property
    def shown(self) -> int:
        """Index of the shown trait."""
        return self.trait.value or 0

    @property
    def pairs(self) -> tuple[np.ndarray, np.ndarray, str] | None:
        """Predicted and observed values of the scatter plot, and a label of the prediction."""
        snapshot, run = self._state.blup, self._form.run
        if self.source.value == CHECKED and self._check.result is not None:
            result = self._check.result
            return result.predicted, result.observed, "Predicted, from the other folds"
        if snapshot is None or run is None or len(snapshot.breeding_values) != len(run.ids):
            return None
        shown = self.shown
        values = of_trait(snapshot.breeding_values, shown)
        return values, run.phenotypes[:, shown], "Breeding value"

    def _follow_blup(self, *_events: Any) -> None:
        run = self._form.run
        if run is not None and self._state.blup is not None:
            options = {name: k for k, name in enumerate(run.traits)}
            if options != self.trait.options:
                self.trait.param.update(options=options, value=0, visible=len(options) > 1)
        self._turn.ask()

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
            is_checked = self.source.value == CHECKED
            trait = self._check.design.trait if is_checked else self._form.run.traits[self.shown]
            self.figure.show(dots, agreement.line(*ends), (label, trait))
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
