"""The Prediction tab: table of breeding values, solver, and accuracy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.association.export import axis_of, write_bytes
from genoviz_app.pages.genotypes.association.manhattan_panel import ManhattanPanel
from genoviz_app.pages.genotypes.association.manhattan_points import GenomeAxis, Track
from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.prediction.blup_steps import BlupRun
from genoviz_app.pages.genotypes.prediction.check import PredictionCheck
from genoviz_app.pages.genotypes.prediction.form import PredictionForm
from genoviz_app.pages.genotypes.prediction.numbers import of_trait, rank_high
from genoviz_app.pages.genotypes.prediction.scatter import (
    TOGGLE,
    PredictionScatter,
    prediction_figure,
    write_effects,
    write_values,
)
from genoviz_app.pages.genotypes.state import PREDICTION, GenotypeState
from genoviz_app.parts.column_widths import IDENTIFIER
from genoviz_app.parts.file_button import ExportMenu, Prepare, Writer, file_stem
from genoviz_app.parts.remote_table import Column
from genoviz_app.parts.styles import STACKS, WRAPS, in_narrow_window
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.manhattan import ZERO_COLOUR, ManhattanFigure
from genoviz_app.plots.prediction import ResidualFigure

RANK = Column("Rank", is_number=True, share=56)
SAMPLE, SNPS = Column("Sample", share=110, min_width=IDENTIFIER), "SNPs"
VALUES = ("Value", "Trait")
TABLE_WIDTH = 264
"""Width in which the columns of one trait are whole, px."""
ABSOLUTE, SIGNED = "Absolute", "Signed"
FORM_WIDTH = 232
GROW: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}
FILES = {
    "Breeding values (TSV)": "values.tsv",
    "Effects of variants (TSV)": "effects.tsv",
    "Effects and scatter (PNG)": "png",
    "Effects and scatter (SVG)": "svg",
}


def columns_of(numbers: dict[str, np.ndarray]) -> tuple[Column, ...]:
    """Return the columns of a table; breeding values of several traits are in adjacent columns."""
    columns = [
        Column(title, is_number=True, share=80, format=format_of(values))
        for title, values in numbers.items()
    ]
    return (RANK, SAMPLE, *columns, Column(SNPS, share=50))


def format_of(values: np.ndarray) -> str:
    """Return a number format with four decimals, or fewer for large values.

    Examples
    --------
    >>> format_of(np.array([0.2, np.nan])), format_of(np.array([-1381.5, 12.0]))
    ('0.0000', '0.0')
    """
    largest = np.abs(values[np.isfinite(values)]).max(initial=1.0)
    return f"0.{'0' * max(4 - int(np.log10(max(largest, 1.0))), 1)}"


def titles_of(traits: tuple[str, ...]) -> tuple[str, ...]:
    """Return unique column titles of traits, escaped for HTML."""
    taken = {RANK.title, SAMPLE.title, SNPS, "index"}
    return tuple(escape(f"{name} value" if name in taken else name) for name in traits)


@dataclass(frozen=True, eq=False)
class BreedingRows:
    """Individuals with breeding values; row 0 has the highest.

    Attributes
    ----------
    ids
        str, shape (n,).
    numbers
        float64, shape (n,), by column title: breeding values of all traits, or of one trait with
        its phenotype, which may be NaN.
    ranked
        The column that determines the ranks.
    is_genotyped
        bool, shape (n,).
    """

    ids: np.ndarray
    numbers: dict[str, np.ndarray]
    ranked: str
    is_genotyped: np.ndarray
    noun = "sample"

    @classmethod
    def of(cls, run: BlupRun, values: np.ndarray, shown: int) -> BreedingRows:
        """Create the rows of a prediction, ranked by one of its traits."""
        if len(run.traits) == 1:
            numbers = dict(zip(VALUES, (values, run.phenotype), strict=True))
        else:
            numbers = dict(zip(titles_of(run.traits), values.T, strict=True))
        return cls(run.ids, numbers, list(numbers)[shown], run.is_genotyped)

    @cached_property
    def order(self) -> np.ndarray:
        """int64: the individual of each row."""
        return np.argsort(self.ranks, kind="stable")

    @cached_property
    def ranks(self) -> np.ndarray:
        """int64, ranks from 1."""
        return rank_high(self.numbers[self.ranked])

    @property
    def hidden(self) -> tuple[str, ...]:
        """Columns to hide."""
        return (SNPS,) if self.is_genotyped.all() else ()

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, text: str) -> np.ndarray:
        """Return a mask of the rows whose ID contains a text, bool."""
        names = np.char.lower(self.ids[self.order].astype(str))
        return np.char.find(names, text.strip().lower()) >= 0

    def key(self, column: str) -> np.ndarray:
        """Return the sort key of a column."""
        keys = {RANK.title: self.ranks, SAMPLE.title: self.ids, SNPS: self.is_genotyped}
        return (keys | self.numbers)[column][self.order]

    def frame(self, rows: np.ndarray) -> pd.DataFrame:
        """Return some rows."""
        chosen = self.order[rows]
        return pd.DataFrame(
            {
                RANK.title: self.ranks[chosen],
                SAMPLE.title: self.ids[chosen],
                **{title: values[chosen] for title, values in self.numbers.items()},
                SNPS: np.where(self.is_genotyped[chosen], "yes", "no"),
            }
        )


class PredictionPanel:
    """A tab of the page.

    Attributes
    ----------
    title, panel
        Title and Panel object.
    form, check, residuals, scatter, effects, table
        The parts.
    """

    title = "Prediction"
    has_figure = False

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.is_shown = False
        self._axes: dict[int, tuple[VariantTable, GenomeAxis]] = {}
        self.form = PredictionForm(state)
        self.check = PredictionCheck(state, self.form.model, self.form.complain)
        self.residuals = ResidualFigure()
        self.scatter = PredictionScatter(state, self.form, self.check)
        self._turn = Turn(self.residuals.plot, self._draw_residuals)
        figure = ManhattanFigure("prediction-effects", "Effect")
        self.effects = ManhattanPanel(
            state.session, figure, state.choose_variant,
            "Press Run to see the effects of all variants.",
        )  # fmt: skip
        self._columns = columns_of(dict.fromkeys(VALUES, np.empty(0)))
        self.table = self._make_table()
        self._rows: BreedingRows | None = None
        self._tabled: Any = None
        self.sign = pmui.RadioButtonGroup(
            options=[ABSOLUTE, SIGNED], value=ABSOLUTE,
            description="Absolute effects, or effects per copy of A1", **TOGGLE,
        )  # fmt: skip
        self._table_place = pmui.Column(
            **GROW, min_width=TABLE_WIDTH, styles={"flex": "4 1 0", "min-height": "0"}
        )
        self.panel = self._arrange()
        self.effects.wait_for(state, PREDICTION, self.form.task)
        self.sign.param.watch(lambda _: self._show_effects(), "value")
        self.scatter.trait.param.watch(self._follow_trait, "value")
        state.param.watch(self._follow, "blup")
        state.param.watch(lambda event: self.effects.choose(event.new), "variant")
        self.effects.choose(state.variant)

    def _make_table(self) -> LongTable:
        table = LongTable(
            self._state.session, self._columns, placeholder="Find", on_row=self._pick_row
        )
        table.search.param.update(width=104, margin=(2, 4, 2, 0))
        return table

    def _arrange(self) -> pmui.Row:
        scrolls = {"overflow-y": "auto", "overflow-x": "hidden", "min-height": "0"}
        # Run stays in sight however many fields a method has.
        self.form.panel.styles = {**scrolls, "flex": "0 1 auto"}
        self.form.bar.styles = {**scrolls, "flex": "0 0 auto", "max-height": "30%"}
        form = pmui.Column(
            self.form.panel, self.form.bar, self.check.panel,
            width=FORM_WIDTH, sizing_mode="stretch_height", margin=(0, 8, 8, 12),
            styles={"overflow-y": "auto", "overflow-x": "hidden", "min-height": "0"},
            stylesheets=in_narrow_window("auto"),
        )  # fmt: skip
        half = {"flex": "1 1 0", "min-width": "0", "min-height": "0"}
        above = pmui.Row(
            pmui.Column(self._pane(self.residuals), **GROW, styles=half),
            self.scatter.panel,
            **GROW,
            styles=half,
            sx=STACKS,
        )  # fmt: skip
        self.exports = ExportMenu(
            self._state.session,
            {label: self._prepare(ending) for label, ending in FILES.items()},
            margin=(4, 6, 0, 0),
        )
        bar = pmui.Row(
            self.sign, pn.layout.HSpacer(), self.exports,
            sizing_mode="stretch_width", margin=0, sx=WRAPS,
        )  # fmt: skip
        below = pmui.Row(
            pmui.Column(bar, self.effects.panel, **GROW, styles={**half, "flex": "6 1 0"}),
            self._table_place,
            **GROW,
            styles=half,
            sx=STACKS,
        )
        right = pmui.Column(above, below, **GROW, styles={**half, "height": "100%"})
        whole = {"min-height": "0", "height": "100%"}
        return pmui.Row(form, right, **GROW, styles=whole, sx=STACKS)

    def _pane(self, figure: Any) -> pn.pane.Bokeh:
        return pn.pane.Bokeh(figure.plot, sizing_mode="stretch_both", margin=0)

    def poll(self) -> None:
        """Update the tab; called some twenty times per second."""
        if not self.is_shown:
            return
        if not len(self._table_place) and self._turn.is_laid_out:
            self._table_place.append(self.table.panel)  # a table needs a visible container
        self._show_table()

    def _follow(self, *_events: Any) -> None:
        self._turn.ask()
        self._show_effects()

    def _follow_trait(self, *_events: Any) -> None:
        self._tabled = None
        self._show_effects()

    def _draw_residuals(self) -> None:
        snapshot, run = self._state.blup, self.form.run
        tolerance = self.form.tolerance.value if run is None else run.request.tolerance
        residuals = np.empty(0) if snapshot is None else snapshot.residuals
        self.residuals.show(residuals, tolerance)

    def _show_effects(self) -> None:
        snapshot, subject = self._state.blup, self._state.subject
        if snapshot is None or subject is None or len(snapshot.effects) != subject.n_variants:
            self.effects.show(None)
            return
        effects = of_trait(snapshot.effects, self.scatter.shown)
        is_signed = self.sign.value == SIGNED
        self.effects.show(
            Track(
                subject.variants,
                axis_of(subject.variants, self._axes),
                effects if is_signed else np.abs(effects),
                lambda rows: [f"{value:.4g}" for value in effects[rows].tolist()],
                "Effect per copy of A1" if is_signed else "Size of effect",
                {0.0: ZERO_COLOUR} if is_signed else {},
            )
        )

    def _show_table(self) -> None:
        """List breeding values, but not after every iteration."""
        snapshot, run = self._state.blup, self.form.run
        if snapshot is self._tabled or (snapshot is not None and self.form.task.is_open):
            return
        self._tabled = snapshot
        self.scatter.mark(None)
        has_values = run is not None and snapshot is not None
        if not has_values or len(snapshot.breeding_values) != len(run.ids):
            self._rows = None
        else:
            values, shown = snapshot.breeding_values, self.scatter.shown
            self._rows = BreedingRows.of(run, values, shown)
            columns = columns_of(self._rows.numbers)
            if columns != self._columns:
                self._columns = columns
                self.table = self._make_table()
                self._table_place.objects = [self.table.panel] if len(self._table_place) else []
        self.table.show(self._rows)

    def _pick_row(self, row: int) -> None:
        if self._rows is not None:
            self.scatter.mark(int(self._rows.order[row]))

    def _prepare(self, ending: str) -> Prepare:
        def prepare() -> tuple[str, Writer]:
            snapshot, run, track = self._state.blup, self.form.run, self.effects.track
            if snapshot is None or run is None or track is None:
                raise GenovizError("no prediction yet; choose a trait and press Run")
            traits = "_".join(run.traits)
            stem = file_stem(f"{run.request.method}_{traits}_{self._state.opened.title}")
            name = f"{stem}.{ending}"
            if ending == "values.tsv":
                shown = self.scatter.shown
                return name, lambda path: write_values(path, run, snapshot, shown)
            if ending == "effects.tsv":
                return name, lambda path: write_effects(path, track.variants, run, snapshot)
            shown = self.scatter.shown
            values = of_trait(snapshot.breeding_values, shown)
            return name, write_bytes(
                lambda: prediction_figure(run, values, track, f".{ending}", shown)
            )

        return prepare
