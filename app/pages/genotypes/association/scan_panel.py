"""The Association tab: a scan, its two plots, and the neighbourhood of a variant."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import Tap

from genoviz.analyses.genotypes.association.p_values import Quantiles, scan_quantiles
from genoviz.errors import GenovizError
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.pages.genotypes.association.choices import (
    coding_words,
    condition_names,
    condition_words,
    model_words,
)
from genoviz_app.pages.genotypes.association.export import (
    GENOME_WIDE,
    SUGGESTIVE,
    AssociationTable,
    axis_of,
    scan_figure,
    write_bytes,
    write_scan,
)
from genoviz_app.pages.genotypes.association.form import AssociationForm
from genoviz_app.pages.genotypes.association.linkage_panel import LinkagePanel
from genoviz_app.pages.genotypes.association.manhattan_panel import ManhattanPanel
from genoviz_app.pages.genotypes.association.manhattan_points import GenomeAxis, Track, names_of
from genoviz_app.pages.genotypes.association.snp_card import SnpCard
from genoviz_app.pages.genotypes.association.snp_facts import inflation_text, p_texts
from genoviz_app.pages.genotypes.state import ASSOCIATION, GenotypeState
from genoviz_app.parts.file_button import ExportMenu, Prepare, Writer, file_stem
from genoviz_app.parts.questions import Question
from genoviz_app.parts.styles import NARROW_WRAPS, STACKS, in_narrow_window
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.manhattan import STRONG_COLOUR, ZERO_COLOUR, ManhattanFigure, QuantileFigure
from genoviz_app.session.session import Session

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.association.scan import AssociationScan

NEAR = 0.05
"""Maximum distance of a click from a dot, as a fraction of the axes."""
REGION, TABLE = "Region", "Top variants"
BONFERRONI_COLOUR = "#8fe3b0"
MIN_TOP = 8.0
FILES = {
    "Around the variant (PNG)": "region.png",
    "Around the variant (SVG)": "region.svg",
    "Listed variants (TSV)": "listed.tsv",
    "All results (TSV)": "tsv",
    "Both plots above (PNG)": "png",
    "Both plots above (SVG)": "svg",
}
GROW: dict[str, Any] = {"sizing_mode": "stretch_both", "margin": 0}


class QuantilePanel:
    """A Q-Q plot.

    Parameters
    ----------
    session
        Runs the jobs that sort p-values.
    figure
        The figure to draw in.
    pick
        Called with the test of a clicked dot.

    Attributes
    ----------
    figure, quantiles, panel
        The figure, its data, and the Panel object.
    """

    def __init__(
        self, session: Session, figure: QuantileFigure, pick: Callable[[int], None]
    ) -> None:
        self._pick, self.figure = pick, figure
        self.quantiles: Quantiles | None = None
        self._name: Callable[[np.ndarray], list[str]] = list
        self._words = ""
        self._turn = Turn(self.figure.plot, self._draw)
        self._asked = Question(session, "quantiles of a scan", self._on_quantiles)
        self.figure.plot.on_event(Tap, self._on_tap)
        self.panel = pn.pane.Bokeh(self.figure.plot, sizing_mode="stretch_both", margin=0)

    def show(
        self, values: np.ndarray | None, name: Callable[[np.ndarray], list[str]], words: str
    ) -> None:
        """Draw -log10 p of tests, which ``name`` names; None draws nothing."""
        self._asked.drop()
        self._name, self._words = name, words
        if values is None:
            self._on_quantiles(None)
        else:
            self._asked.ask(scan_quantiles, values)

    def _on_quantiles(self, quantiles: Quantiles | None) -> None:
        self.quantiles = quantiles
        self._turn.ask()

    def _draw(self) -> None:
        found = self.quantiles
        if found is None:
            self.figure.show({"x": [], "y": [], "name": [], "text": []},
                             {"x": [], "low": [], "high": []}, "")  # fmt: skip
            return
        dots = {
            "x": found.expected,
            "y": found.observed,
            "name": self._name(found.tests),
            "text": p_texts(found.observed),
        }
        band = {"x": found.expected, "low": found.low, "high": found.high}
        self.figure.show(dots, band, self._words)

    def _on_tap(self, event: Any) -> None:
        found = self.quantiles
        if found is None or event.x is None or not len(found.tests):
            return
        plot = self.figure.plot
        across = (found.expected - event.x) / plot.x_range.end
        up = (found.observed - event.y) / plot.y_range.end
        distances = across**2 + up**2
        best = int(distances.argmin())
        if distances[best] <= NEAR**2:
            self._pick(int(found.tests[best]))


class AssociationPanel:
    """A tab of the page.

    Attributes
    ----------
    title, panel
        Title and Panel object.
    form, manhattan, quantiles, table, region, card
        The parts.
    exports
        The export menu.
    """

    title = "Association"
    has_figure = False

    def __init__(self, state: GenotypeState) -> None:
        self._state = state
        self.is_shown = False
        self._ranked: AssociationScan | None = None
        self._axes: dict[int, tuple[VariantTable, GenomeAxis]] = {}
        figure = ManhattanFigure("association-manhattan", "p")
        self.manhattan = ManhattanPanel(
            state.session, figure, state.choose_variant,
            "Choose a trait and press Run to see −log₁₀ p of all variants.",
        )  # fmt: skip
        self.quantiles = QuantilePanel(
            state.session, QuantileFigure("association-qq"), state.choose_variant
        )
        self.region = LinkagePanel(state)
        self.table = AssociationTable(state)
        self.card = SnpCard(state, lambda variant: self.form.condition_on(variant))
        self.bonferroni = pmui.Switch(
            label="Bonferroni", value=False, size="small", margin=(12, 8, 0, 8),
            description="Line at 0.05 divided by the number of tests (Bonferroni)",
        )  # fmt: skip
        self.form = AssociationForm(state, self.bonferroni)
        self.view = pmui.RadioButtonGroup(
            label="", options=[REGION, TABLE], value=REGION, size="small", margin=(4, 8, 0, 8),
            description="The region around the picked variant, or the strongest associations",
            sx={"& .MuiToggleButton-root": {"padding": "2px 9px", "fontSize": "12px",
                                            "whiteSpace": "nowrap"}},
        )  # fmt: skip
        self._region_place = pmui.Column(self.region.panel, **GROW, styles={"min-height": "0"})
        self._table_place = pmui.Column(**GROW, visible=False)
        self.exports = ExportMenu(
            state.session, {label: self._prepare(ending) for label, ending in FILES.items()},
            margin=(4, 8, 0, 0),
        )  # fmt: skip
        self._offer_files()
        self.panel = self._arrange()
        self.manhattan.wait_for(state, ASSOCIATION, self.form.task, self.form.components)
        self.bonferroni.param.watch(lambda _: self._show_scan(), "value")
        self.view.param.watch(self._show_view, "value")
        state.param.watch(self._follow, ["scan", "partial", "kept", "opened"])
        state.param.watch(self._pick_strongest, "scan")
        state.param.watch(lambda event: self.manhattan.choose(event.new), "variant")
        self._follow()

    def _arrange(self) -> pmui.Column:
        bar = pmui.Row(
            self.view, self.region.window, pn.layout.HSpacer(), self.exports,
            sizing_mode="stretch_width", margin=0, sx=NARROW_WRAPS,
        )  # fmt: skip
        plots = pmui.Row(
            *(
                pmui.Column(
                    part.panel, **GROW, styles={"flex": f"{share} 1 0", "min-width": "0"},
                    stylesheets=in_narrow_window("280px", or_page=True),
                )
                for part, share in ((self.manhattan, 3), (self.quantiles, 1))
            ),
            **GROW,
            styles={"flex": "9 1 0", "min-height": "150px"},
            sx=STACKS,
            stylesheets=in_narrow_window("560px", or_page=True),
        )  # fmt: skip
        lower = pmui.Column(
            bar, self._region_place, self._table_place,
            **GROW, styles={"flex": "1 1 0", "min-width": "0", "min-height": "0"},
            stylesheets=in_narrow_window("460px", or_page=True),
        )  # fmt: skip
        below = pmui.Row(
            lower, self.card.panel, **GROW, styles={"flex": "14 1 0", "min-height": "0"},
            sx=STACKS, stylesheets=in_narrow_window("820px", or_page=True),
        )  # fmt: skip
        whole = {"min-height": "0", "height": "100%"}
        return pmui.Column(self.form.panel, plots, below, **GROW, styles=whole)

    @property
    def track(self) -> Track | None:
        """The data of the Manhattan plot."""
        return self.manhattan.track

    def _follow(self, *_events: Any) -> None:
        self._show_scan()
        self.manhattan.choose(self._state.variant)

    def _pick_strongest(self, event: Any) -> None:
        """Select the variant with the smallest p-value unless one is selected."""
        scan = event.new
        if scan is not None and self._state.variant is None and np.isfinite(scan.beta).any():
            self._state.variant = int(np.nanargmax(scan.minus_log10_p))

    def _show_scan(self) -> None:
        scan, subject = self._state.shown_scan, self._state.subject
        if scan is None or subject is None or len(scan.p) != subject.n_variants:
            self.manhattan.show(None)
            self.quantiles.show(None, list, "")
            self._ranked = None
            return
        self.manhattan.show(self._track_of(scan))
        if scan is not self._ranked:
            self._ranked, variants = scan, subject.variants
            words = inflation_text(scan.lambda_gc)
            self.quantiles.show(scan.minus_log10_p, partial(names_of, variants), words)

    def _track_of(self, scan: AssociationScan) -> Track:
        variants = self._state.subject.variants
        lines = {GENOME_WIDE: STRONG_COLOUR, SUGGESTIVE: ZERO_COLOUR}
        n_tested = int(np.isfinite(scan.minus_log10_p).sum())
        if self.bonferroni.value and n_tested:
            lines[-np.log10(0.05 / n_tested)] = BONFERRONI_COLOUR
        values = np.where(np.isfinite(scan.minus_log10_p), scan.minus_log10_p, np.nan)
        words = self._special_words(scan)
        said = f" ({words})" if words else ""
        return Track(
            variants,
            axis_of(variants, self._axes),
            values,
            lambda rows: [f"{text}{said}" for text in p_texts(values[rows])],
            "−log₁₀ p",
            lines,
            GENOME_WIDE,
            MIN_TOP,
        )

    def _special_words(self, scan: AssociationScan) -> str:
        """Return genetic model, interaction and conditions of a scan as text; "" for none."""
        state = self._state
        conditions = state.conditions if state.partial is scan else state.scan_conditions
        words = condition_words(condition_names(state, conditions))
        return ", ".join(filter(None, (coding_words(scan.coding), words)))

    def _show_view(self, *_events: Any) -> None:
        is_table = self.view.value == TABLE
        with pn.io.hold():
            self._region_place.visible, self._table_place.visible = not is_table, is_table
            self.region.window.visible = not is_table
            self._offer_files()
            if is_table and not len(self._table_place):
                self._table_place.append(self.table.panel)  # a table needs a visible container

    def _offer_files(self) -> None:
        """Offer exports of the results that are shown, and those that are always available."""
        hidden = "region" if self.view.value == TABLE else "listed"
        self.exports.offer(name for name, ending in FILES.items() if not ending.startswith(hidden))

    def _prepare(self, ending: str) -> Prepare:
        def prepare() -> tuple[str, Writer]:
            state, scan = self._state, self._state.scan
            design = self.form.design
            trait = design.trait if design is not None else "trait"
            words = "" if scan is None else self._special_words(scan)
            if ending.startswith("region"):
                what = f"{trait}, {words}" if words else trait
                variant, make = self.region.figure(what, f".{ending.split('.')[1]}")
                return f"{file_stem(f'{variant}_{state.opened.title}')}.{ending}", write_bytes(make)
            if scan is None or self.track is None:
                raise GenovizError("no scan yet; choose a trait and press Run")
            stem = "_".join(filter(None, ("association", trait, words, state.opened.title)))
            name, track = f"{file_stem(stem)}.{ending}", self._track_of(scan)
            if ending.endswith("tsv"):
                rows = self.table.listed if ending == "listed.tsv" else None
                return name, lambda path: write_scan(path, track.variants, scan, rows)
            models = ", ".join(filter(None, (model_words(scan), words)))
            title = f"Association with {trait} ({models})"
            return name, write_bytes(lambda: scan_figure(track, scan, title, f".{ending}"))

        return prepare
