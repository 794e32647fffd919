"""The Sets tab: genes or other sets of variants are tested, drawn and listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.genotypes.association.p_values import inflation_factor
from genoviz.errors import GenovizError, ParameterError
from genoviz.model import PathRegion
from genoviz.model.genotypes.chromosomes import letter_names
from genoviz_app.pages.genotypes.association.export import (
    axis_of,
    plots_figure,
    write_bytes,
    write_columns,
)
from genoviz_app.pages.genotypes.association.manhattan_panel import ManhattanPanel
from genoviz_app.pages.genotypes.association.manhattan_points import Track
from genoviz_app.pages.genotypes.association.scan_panel import GROW, QuantilePanel
from genoviz_app.pages.genotypes.association.set_scan import (
    COLUMNS,
    SETS,
    SetRows,
    SetScan,
)
from genoviz_app.pages.genotypes.association.sets_form import SetsForm
from genoviz_app.pages.genotypes.association.snp_card import NOT_ON_GRAPH
from genoviz_app.pages.genotypes.association.snp_facts import (
    inflation_text,
    p_texts,
    place_on_graph,
)
from genoviz_app.pages.genotypes.long_table import LongTable
from genoviz_app.pages.genotypes.state import GenotypeState
from genoviz_app.parts.file_button import ExportMenu, Prepare, Writer, file_stem
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.parts.styles import STACKS, in_narrow_window
from genoviz_app.parts.words import n_words
from genoviz_app.plots.manhattan import STRONG_COLOUR, ManhattanFigure, QuantileFigure
from genoviz_app.session.graph_places import nodes_of
from genoviz_app.session.lit_sets import Highlight, LitSet

MIN_TOP = 4.0
NOTHING = "Choose a trait and genes, or other sets of variants, and press Run."
FILES = {
    "All sets (TSV)": "tsv",
    "Listed sets (TSV)": "listed.tsv",
    "Both plots (PNG)": "png",
    "Both plots (SVG)": "svg",
}
SMALL: dict[str, Any] = {
    "size": "small", "variant": "outlined", "margin": (2, 6, 0, 0),
    "sx": {"fontSize": "12px", "padding": "1px 8px", "whiteSpace": "nowrap"},
}  # fmt: skip


class SetsPanel:
    """A tab of the page.

    Parameters
    ----------
    state
        State of the page.
    show_locus
        Shows the surroundings of the picked variant.

    Attributes
    ----------
    title, panel
        Title and Panel object.
    form, manhattan, quantiles, table, exports
        The parts.
    scan
        The last tests, or None.
    """

    title = "Sets"
    has_figure = False

    def __init__(self, state: GenotypeState, show_locus: Callable[[], None]) -> None:
        self._state, self._show_locus = state, show_locus
        self.is_shown = False
        self.scan: SetScan | None = None
        self._chosen: int | None = None
        self._axes: dict[int, Any] = {}
        session = state.session
        self.form = SetsForm(state, self._on_scan)
        self._nodes = Question(session, "nodes of a set", self._on_nodes)
        figure = ManhattanFigure("sets-manhattan", "p")
        self.manhattan = ManhattanPanel(session, figure, self._pick_drawn, NOTHING)
        self.quantiles = QuantilePanel(session, QuantileFigure("sets-qq"), self.pick)
        self.table = LongTable(session, COLUMNS, placeholder="Name", on_row=self._pick_row)
        self._table_place = pmui.Column(
            **GROW, styles={"flex": "14 1 0", "min-height": "0"},
            stylesheets=in_narrow_window("460px", or_page=True),
        )  # fmt: skip
        # The browser must have the container; otherwise it may lose the table.
        Watched(session, self._make_table, lambda: self.manhattan.is_laid_out, view=self).start()
        self._make_buttons()
        self.panel = self._arrange()
        self.manhattan.wait_for(state, SETS, self.form.task)
        self.form.test.param.watch(self._show, "value")
        state.param.watch(self._forget, ["kept", "opened"])
        state.param.watch(self._say, "table")
        self._show()

    def _make_table(self) -> None:
        self._table_place.append(self.table.panel)  # a table needs a visible container

    def _make_buttons(self) -> None:
        self.locus_button = pmui.Button(
            label="Show locus", **SMALL,
            description="Show locus: the variants around the strongest of the set",
        )  # fmt: skip
        self.tracks_button = pmui.Button(
            label="Show on tracks", **SMALL, description="Go to the set on the Tracks page"
        )
        self.layout_button = pmui.Button(
            label="Show on the layout", **SMALL,
            description="Show on the layout: highlights the set on the open graph",
        )  # fmt: skip
        self.light = light_button(
            self._state.session, self._lit, "the set", **{**SMALL, "icon": None}
        )
        self.locus_button.on_click(lambda _: self._show_locus())
        self.tracks_button.on_click(lambda _: self._show_tracks())
        self.layout_button.on_click(lambda _: self.show_layout())
        self.exports = ExportMenu(
            self._state.session, {label: self._prepare(ending) for label, ending in FILES.items()},
            margin=(2, 8, 0, 6),
        )  # fmt: skip
        self.tools = pmui.Row(
            self.locus_button, self.tracks_button, self.layout_button, self.light,
            margin=0, visible=False,
        )  # fmt: skip
        self.table.bar.extend([pn.layout.HSpacer(), self.tools, self.exports])

    def _arrange(self) -> pmui.Column:
        plots = pmui.Row(
            pmui.Column(self.manhattan.panel, **GROW, styles={"flex": "3 1 0", "min-width": "0"}),
            pmui.Column(self.quantiles.panel, **GROW, styles={"flex": "1 1 0", "min-width": "0"}),
            **GROW,
            styles={"flex": "9 1 0", "min-height": "150px"},
            sx=STACKS,
            stylesheets=in_narrow_window("460px", or_page=True),
        )
        whole = {"min-height": "0", "height": "100%"}
        return pmui.Column(self.form.panel, plots, self._table_place, **GROW, styles=whole)

    def _on_scan(self, scan: SetScan) -> None:
        self.scan, self._chosen = scan, None
        self._show()

    def _forget(self, *_events: Any) -> None:
        self.scan = self._chosen = None
        self._show()

    def _show(self, *_events: Any) -> None:
        """Draw and list the tests."""
        scan, test = self.scan, self.form.test.value
        self._say()
        if scan is None:
            self.manhattan.show(None)
            self.quantiles.show(None, list, "")
            self.table.show(None)
            return
        values, names = scan.values(test), scan.tests.names
        self.manhattan.show(self._track)
        is_tested = np.isfinite(values).any()
        words = inflation_text(inflation_factor(10.0**-values)) if is_tested else ""
        self.quantiles.show(values, lambda rows: [str(name) for name in names[rows]], words)
        self.table.show(SetRows(scan, test))
        self._mark()

    @property
    def _track(self) -> Track:
        scan, test = self.scan, self.form.test.value
        values = scan.values(test)[scan.drawn]
        n_tested = int(np.isfinite(scan.values(test)).sum())
        line = -np.log10(0.05 / n_tested) if n_tested else np.inf
        lines = {line: STRONG_COLOUR} if n_tested else {}
        return Track(
            scan.variants, axis_of(scan.variants, self._axes), values,
            lambda rows: p_texts(values[rows]), f"−log₁₀ p ({test})", lines, line, MIN_TOP,
        )  # fmt: skip

    def _say(self, *_events: Any) -> None:
        self.tools.visible = self._chosen is not None
        self.form.say(self._words())

    def _words(self) -> str:
        scan = self.scan
        if scan is None:
            return NOTHING if self._state.table is not None else "Open a table of phenotypes."
        tests = scan.tests
        n_tested = int((tests.skat_log10_p >= 0).sum())
        words = f"{scan.trait} ({scan.model}): {n_tested:,} of {n_words(len(tests.names), 'set')} "
        words += f"of {scan.title} tested in {n_words(tests.n_samples, 'sample')}. "
        if n_tested:
            words += f"Dashed: p = 0.05 / {n_tested:,}. Columns of tests have −log₁₀ p. "
        if not scan.request.source:
            words += "Links do not include them, because the sets are an upload. "
        return words + " ".join(scan.notes)

    def _pick_drawn(self, place: int) -> None:
        self.pick(int(self.scan.drawn[place]))

    def _pick_row(self, row: int) -> None:
        self.pick(int(SetRows(self.scan, self.form.test.value).order[row]))

    def pick(self, number: int) -> None:
        """Select a set: its strongest variant, and its region on all pages."""
        state, scan = self._state, self.scan
        name = str(scan.tests.names[number])
        rows = scan.sets.rows[name]
        self._chosen = number
        self._mark()
        self._say()
        if not len(rows):
            return
        best = rows[len(rows) // 2]
        if state.scan is not None and np.isfinite(state.scan.minus_log10_p[rows]).any():
            best = rows[np.nanargmax(state.scan.minus_log10_p[rows])]
        state.choose_variant(int(best), self.region)

    @property
    def region(self) -> PathRegion | None:
        """Where the picked set is; None if none is, or if its place is unknown."""
        if self._chosen is None or self.scan.sets.contig_ids[self._chosen] < 0:
            return None
        sets, contigs = self.scan.sets, self.scan.variants.contigs
        contig = letter_names(contigs, self._state.subject.n_autosomes)[
            sets.contig_ids[self._chosen]
        ]
        start = max(int(sets.starts[self._chosen]), 0)
        return PathRegion(contig, start, max(int(sets.ends[self._chosen]), start + 1))

    @property
    def placed(self) -> PathRegion | None:
        """The region on a path of the open graph, or None if no path covers it."""
        graph, region = self._state.session.opened, self.region
        return None if graph is None or region is None else place_on_graph(graph.graph, region)

    def _mark(self) -> None:
        place = np.flatnonzero(self.scan.drawn == self._chosen)
        self.manhattan.choose(int(place[0]) if len(place) else None)

    def _lit(self) -> Highlight:
        """Return the picked set as a highlight."""
        if self.region is None:
            raise ParameterError("no set with a place is picked; click one in the plot or table")
        name = str(self.scan.tests.names[self._chosen])
        return Highlight.of_region(self.region, name, "set")

    def _show_tracks(self) -> None:
        self._state.session.wanted_page = "tracks"

    def show_layout(self) -> None:
        """Highlight the picked set, and go to its nodes in the layout."""
        session, placed = self._state.session, self.placed
        if placed is None:
            words = "Open a graph on the Pangenome page first."
            if session.opened is not None:
                words = f"{NOT_ON_GRAPH[0].upper()}{NOT_ON_GRAPH[1:]}.".replace("variant", "set")
            session.problem = words
            return
        session.highlights.light_up(self._lit())
        self._nodes.ask(nodes_of, session.opened.graph, [placed])

    def _on_nodes(self, nodes: np.ndarray) -> None:
        session = self._state.session
        if len(nodes) and self.placed is not None:
            session.picked = nodes
            session.wanted_page = "pangenome"
            session.highlights.want(LitSet.of_found(self.placed, nodes))

    def _prepare(self, ending: str) -> Prepare:
        def prepare() -> tuple[str, Writer]:
            scan, title = self.scan, self._state.opened.title
            if scan is None:
                raise GenovizError("no sets are tested yet; press Run")
            name = f"{file_stem(f'sets_{scan.trait}_{Path(scan.title).stem}_{title}')}.{ending}"
            columns = scan.tests.columns
            if ending == "tsv":
                rows = np.arange(len(scan.tests.names))
                return name, lambda path: write_columns(path, columns, rows)
            if ending == "listed.tsv":
                listed = self.table.listed
                rows = SetRows(scan, self.form.test.value).order[listed.rows if listed else []]
                return name, lambda path: write_columns(path, columns, rows)
            test, track = self.form.test.value, self._track
            said = f"{test} of sets of {scan.title} with {scan.trait} ({scan.model})"
            caption = f"{n_words(len(scan.tests.names), 'set')}; dashed: 0.05 / number of tests"
            values = scan.values(test)
            return name, write_bytes(
                lambda: plots_figure(track, values, said, caption, f".{ending}")
            )

        return prepare
