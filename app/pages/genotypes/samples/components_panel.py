"""Scatter plot of two principal components, with coloured and selectable samples."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.graph.picture.palettes import DARK, Palette
from genoviz.errors import ParameterError
from genoviz_app.pages.genotypes.association.choices import iter_components
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.styles import LEGEND, WRAPS
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.legend import Legend, NamedLegend, RampLegend, legend_html
from genoviz_app.plots.palettes import POSITION, ramp_palette
from genoviz_app.plots.samples import ScatterFigure
from genoviz_app.session.lit_sets import LitSet

MAX_GROUPS = 20
NO_GROUP, OTHERS = "no value", "others"
FEW_NUMBERS = 6
ONE_COLOUR = ""
MAX_POINTS = 300_000
QUICK = 30_000_000
"""Number of genotypes up to which components are computed automatically."""
FIELD: dict[str, Any] = {"size": "small", "margin": (10, 6, 4, 0)}
STYLE = ":host { font-size: 12.5px; line-height: 1.35; font-variant-numeric: tabular-nums; }"


@dataclass(frozen=True, eq=False)
class SampleColours:
    """Colours of samples.

    Attributes
    ----------
    values
        float32, shape (n_samples,): value of each sample on the colour scale, NaN for none.
    palette, ends
        Colours, and the values of the first and the last one.
    says
        str, shape (n_samples,): tooltip text of each sample.
    legend, legend_palette
        Legend of the colours.
    """

    values: np.ndarray
    palette: tuple[str, ...]
    ends: tuple[float, float]
    says: np.ndarray
    legend: Legend | None
    legend_palette: Palette = ()


def colour_by(name: str, values: np.ndarray | None, n_samples: int) -> SampleColours:
    """Return the colours of samples by a column; without one, all are the same."""
    if values is None:
        one = np.zeros(n_samples, np.float32)
        return SampleColours(one, (DARK.colour(1),), (0.0, 1.0), np.full(n_samples, ""), None)
    if values.dtype.kind != "f":
        return _by_group(name, values)
    finite = values[np.isfinite(values)]
    different = np.unique(finite[:1_000_000])
    if len(different) <= FEW_NUMBERS:
        texts = np.where(np.isfinite(values), [f"{value:g}" for value in values.tolist()], "")
        return _by_group(name, texts)
    return _by_number(name, values, finite)


def _by_group(name: str, values: np.ndarray) -> SampleColours:
    """Return a colour for each of the largest groups, in alphabetical order."""
    names, groups, counts = np.unique(values, return_inverse=True, return_counts=True)
    is_named = names != ""
    largest = np.argsort(np.where(is_named, -counts, 1), kind="stable")
    shown = np.sort(largest[: min(MAX_GROUPS, int(is_named.sum()))])
    place = np.full(len(names), len(shown), np.float32)
    place[shown] = np.arange(len(shown))
    place[~is_named] = np.nan
    has_others = int(is_named.sum()) > len(shown)
    palette = [DARK.colour(index) for index in range(len(shown))]
    items = [(palette[at], f"{names[row]} ({counts[row]:,})") for at, row in enumerate(shown)]
    if has_others:
        palette.append(DARK.faint)
        items.append((DARK.faint, OTHERS))
    ends = (-0.5, len(palette) - 0.5)
    says = np.char.add(f"{name}: ", np.where(values == "", NO_GROUP, values))
    return SampleColours(
        place[groups], tuple(palette) or (DARK.faint,), ends, says, NamedLegend(name, tuple(items))
    )


def _by_number(name: str, values: np.ndarray, finite: np.ndarray) -> SampleColours:
    """Return colours from the 1st to the 99th percentile, so that outliers do not dominate."""
    low, high = (float(value) for value in np.quantile(finite, (0.01, 0.99)))
    if not high > low:
        low, high = float(finite.min()), float(finite.max())
    palette = ramp_palette(POSITION)
    says = np.array([f"{name}: {value:.5g}" for value in values.tolist()])
    legend = RampLegend(name, np.linspace(low, high, len(palette) - 1), high)
    return SampleColours(values.astype(np.float32), palette[1:], (low, high), says, legend, palette)


def lit_samples(sets: Iterable[LitSet], ids: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Return the highlighted samples, int64, and their colours."""
    rows, colours = [np.empty(0, np.int64)], []
    for lit in sets:
        rows.append(np.flatnonzero(lit.among(ids)))
        colours += [lit.colour] * len(rows[-1])
    return np.concatenate(rows), colours


class ComponentsPanel:
    """A scatter plot with its fields.

    Attributes
    ----------
    colour
        Name of the column for the colours; empty for none.
    figure, x, y, by, run_button, said, panel
        The figure, the fields, the accuracy of the components, and the Panel object.
    """

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self._wanted: Any = None
        self.task = state.new_question("principal components", self._on_components)
        self.figure = ScatterFigure(self._select)
        self._turn = Turn(self.figure.plot, self._draw)
        self._marks = Turn(self.figure.plot, self._mark)
        self.x = pmui.Select(label="x", options={"PC1": 0}, value=0, width=80, **FIELD)
        self.y = pmui.Select(label="y", options={"PC2": 1}, value=1, width=80, **FIELD)
        self.by = pmui.Select(
            label="Colour", options={"none": ONE_COLOUR}, value=ONE_COLOUR, min_width=120,
            max_width=250, sizing_mode="stretch_width", **FIELD,
        )  # fmt: skip
        self.run_button = pmui.Button(
            label="Compute PCA", icon="scatter_plot", size="small", variant="contained",
            description="Compute PCA: principal components of the standardised genotypes",
            margin=(12, 8, 0, 0),
        )  # fmt: skip
        self.run_button.on_click(lambda _: self.run())
        self.progress = TaskBar(self.task)
        self.legend = pn.pane.HTML("", stylesheets=[LEGEND], sizing_mode="stretch_width", margin=0)
        self.said = pn.pane.HTML(
            "", stylesheets=[STYLE], sizing_mode="stretch_width", margin=(0, 8, 2, 8)
        )
        for field in (self.x, self.y):
            field.param.watch(lambda _: self._turn.ask(), "value")
        self.by.param.watch(lambda _: self._turn.ask(), "value")
        self.panel = pmui.Column(
            pmui.Row(
                self.run_button, self.x, self.y, self.by, sizing_mode="stretch_width",
                margin=(0, 0, 0, 8), sx=WRAPS,
            ),
            self.progress.panel,
            pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=(0, 4, 0, 4)),
            self.legend,
            self.said,
            sizing_mode="stretch_both", margin=0, styles={"min-height": "0"},
        )  # fmt: skip
        state.param.watch(self._offer, ["table", "opened"])
        state.param.watch(lambda _: self._follow(), "components")
        state.param.watch(lambda _: self._marks.ask(), "chosen")
        state.session.highlights.param.watch(lambda _: self._marks.ask(), "sets")
        self._offer()

    @property
    def is_laid_out(self) -> bool:
        """Whether the browser has finished the layout of the scatter plot."""
        return self._turn.is_laid_out

    def want(self) -> None:
        """Compute the components of the subject unless that is done or takes long."""
        subject = self._state.subject
        if subject is None or subject is self._wanted:
            return
        self._wanted = subject
        if subject.n_samples * subject.n_variants <= QUICK and self._state.components is None:
            self.run()

    def run(self) -> None:
        """Compute the components of the subject."""
        subject = self._state.subject
        if subject is None:
            return
        try:
            steps = iter_components(subject)
        except ParameterError as error:
            self._state.session.problem = f"{error}."
            return
        self.task.ask(lambda: steps)

    def _on_components(self, components: Any) -> None:
        self._state.components = components

    def _follow(self) -> None:
        components = self._state.components
        self.said.object = "" if components is None else f"{components.sentence}."
        if components is not None:
            names = {f"PC{number + 1}": number for number in range(components.scores.shape[1])}
            for field, usual in ((self.x, 0), (self.y, 1)):
                value = field.value if field.value in names.values() else usual
                field.param.update(options=names, value=value)
        self.run_button.variant = "contained" if components is None else "outlined"
        self._turn.ask()

    def _offer(self, *_events: Any) -> None:
        """Offer the columns of the table as colours; the first with few groups comes first."""
        table = self._state.table
        names = () if table is None else table.names
        options = {"none": ONE_COLOUR, **{name: name for name in names}}
        value = self.by.value if self.by.value in options.values() else ONE_COLOUR
        if value == ONE_COLOUR and table is not None:
            value = next(iter(table.category_names), ONE_COLOUR)
        self.by.param.update(options=options, value=value)

    def _draw(self) -> None:
        """Draw all samples, coloured."""
        components = self._state.components
        with pn.io.hold():
            self.legend.object = ""
            if components is None or len(components.scores) > MAX_POINTS:
                nothing, nobody = np.empty(0), np.empty(0, np.str_)
                self.figure.show(
                    nothing, nothing, nothing, labels=("PC1", "PC2"), names=(nobody, nobody),
                    palette=("#000000",), ends=(0.0, 1.0),
                )  # fmt: skip
                if components is not None:
                    self._refuse(len(components.scores))
                return
            self._draw_scores(components)

    def _refuse(self, n: int) -> None:
        self._state.session.problem = (
            f"{n_words(n, 'point is', 'points are')} more than a browser draws; keep "
            f"{MAX_POINTS:,} samples or fewer."
        )

    def _draw_scores(self, components: Any) -> None:
        ids, name = self._state.subject.samples.ids, self.by.value
        colours = colour_by(name, self._state.column(name), len(ids))
        pair = [self.x.value, self.y.value]
        labels = [
            f"PC{number + 1} ({share:.3g} % of variance)"
            for number, share in zip(pair, (100 * components.explained[pair]).tolist(), strict=True)
        ]
        self.figure.show(
            components.scores[:, pair[0]],
            components.scores[:, pair[1]],
            colours.values,
            labels=(labels[0], labels[1]),
            names=(ids, colours.says),
            palette=colours.palette,
            ends=colours.ends,
        )
        self._mark()
        if colours.legend is not None:
            html = legend_html(colours.legend, colours.legend_palette)
            self.legend.object = f'<div class="strip">{html}</div>'

    def _mark(self) -> None:
        """Mark the selected and the highlighted samples."""
        state, components = self._state, self._state.components
        self.figure.mark(state.chosen)
        sets = state.session.highlights.shown
        points = {"x": [], "y": [], "colour": []}
        if components is not None and len(components.scores) <= MAX_POINTS:
            rows, points["colour"] = lit_samples(sets, state.subject.samples.ids)
            for name, field in (("x", self.x), ("y", self.y)):
                points[name] = components.scores[rows, field.value]
        self.figure.lit.data = points

    def _select(self, chosen: np.ndarray) -> None:
        """Select samples, ignoring obsolete points from a browser that is behind."""
        components = self._state.components
        n = 0 if components is None else len(components.scores)
        self._state.chosen = chosen[chosen < n]
