"""Comparisons of paths: pairwise similarity, and pangenome growth."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.figures import track_figure_bytes
from genoviz.analyses.figures.axes import DOT_COLOURS, LINE_COLOUR, PrintedPlot, print_plots
from genoviz.analyses.figures.paths import make_similarity_figure
from genoviz.analyses.graph.picture.palettes import DARK
from genoviz.analyses.graph.query.path_groups import GROUPINGS
from genoviz.analyses.graph.query.sharing import PangenomeGrowth
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.layout_view import LayoutView
from genoviz_app.pages.pangenome.paths.choice import GROUP_LABELS
from genoviz_app.pages.pangenome.paths.sharing import (
    WORDS,
    OrderedSimilarity,
    find_difference,
    iter_growth,
    iter_ordered_similarity,
)
from genoviz_app.parts.file_button import ExportMenu, Writer, file_stem
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.opening_bar import TaskBar
from genoviz_app.parts.questions import Question
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.legend import ramp_html
from genoviz_app.plots.path_rows import CORE_COLOUR, EXPECTED_COLOUR, GrowthFigure, RowsFigure
from genoviz_app.server.jobs import KERNELS
from genoviz_app.session.session import Session


class _Compared:
    """Common parts of both comparisons: rows, question with progress bar, message and figure."""

    nothing = "Open a graph to compare its paths."
    no_paths = "The graph has no paths to compare."

    def __init__(self, session: Session, title: str, plot: Any) -> None:
        self._session = session
        self._graph: PangenomeGraph | None = None
        self._says = session.without_graph(self.nothing)
        self._turn = Turn(plot, self._draw)
        self._question = Question(session, title, self._on_found, pool=KERNELS)
        self.by = pmui.Select(
            label="Rows", options=GROUP_LABELS, value="path", width=112, size="small",
            margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.words = pn.pane.HTML(
            "", stylesheets=[WORDS], sizing_mode="stretch_width", min_width=240, margin=(3, 4, 0, 4)
        )
        self.by.param.watch(self._ask, "value")

    def _arrange(self, plot: Any, *controls: Any) -> pmui.Column:
        return pmui.Column(
            pmui.FlexBox(
                self.by, *controls, self.words, sizing_mode="stretch_width", margin=(4, 4, 0, 4)
            ),
            TaskBar(self._question).panel,
            pn.pane.Bokeh(plot, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            margin=0,
        )

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Set another graph, and compare its paths."""
        self._graph = graph if graph is not None and graph.n_paths else None
        no_graph = self._session.without_graph(self.nothing)
        self._says = no_graph if graph is None else self.no_paths
        self._ask()

    def _ask(self, *_events: Any) -> None:
        self._question.drop()
        self._on_found(None)
        if self._graph is not None:
            self._says = "Comparing paths …"
            self._question.ask(*self._asked())

    def _asked(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _on_found(self, found: Any) -> None:
        raise NotImplementedError

    def _draw(self) -> None:
        raise NotImplementedError

    def _stem(self) -> str:
        opened = self._session.opened
        return file_stem("graph" if opened is None else opened.title.split(".")[0])


class Similarity(_Compared):
    """Similarity of all pairs of paths or groups, clustered.

    Attributes
    ----------
    title, panel
        Title and Panel object of the view.
    found
        The similarity in row order, or None.
    """

    title = "Similarity"

    def __init__(self, session: Session, _view: LayoutView) -> None:
        self.found: OrderedSimilarity | None = None
        self._drawn: OrderedSimilarity | None = None
        self._pair: tuple[int, int] | None = None
        self._pointer: tuple[int, int] | None = None
        nothing = session.without_graph(self.nothing)
        self.figure = RowsFigure("path-similarity", nothing, grows=False)
        super().__init__(session, "similarity of paths", self.figure.plot)
        self.figure.on_point = self._on_point
        self.figure.on_click = self._on_click
        self.figure.on_view = self._turn.ask
        files = {"Picture (PNG)": ".png", "Picture (SVG)": ".svg", "All pairs (TSV)": ".tsv"}
        self.exports = ExportMenu(
            session,
            {label: partial(self._prepare, ending) for label, ending in files.items()},
            description="Export: the matrix as a picture, or all pairs as a table",
            margin=(4, 0, 0, 0),
        )
        light = light_button(
            session, self._lit, "nodes found in only one of the clicked pair",
            icon=None, margin=(4, 6, 0, 0),
        )  # fmt: skip
        self.panel = self._arrange(self.figure.plot, light, self.exports)

    def _asked(self) -> tuple[Any, ...]:
        return iter_ordered_similarity, self._graph, self.by.value

    def _on_found(self, found: OrderedSimilarity | None) -> None:
        self.found, self._pair, self._pointer = found, None, None
        self._turn.ask()

    def _draw(self) -> None:
        figure, found = self.figure, self.found
        with pn.io.hold():
            figure.note.show(self._says if found is None else "")
            if found is not self._drawn or found is None:
                names = () if found is None else found.names
                figure.set_rows(names, float(len(names)))
                if found is not None:
                    figure.show_cells(*found.cells(DARK), (0.0, float(len(names))))
            else:
                figure.draw_rows()
            self._drawn = found
            self._say()

    def _say(self) -> None:
        found, pair = self.found, self._pointer or self._pair
        if found is None:
            self.words.object = "<p></p>"
        elif pair is not None:
            self.words.object = f"<p>{found.pair_html(*pair)}</p>"
        else:
            low, high = found.ends
            ends = f"≤ {low:.3g}", f"{high:.3g}"
            ramp = ramp_html(DARK.ramps["density"], "Jaccard by bp", *ends)
            self.words.object = f"<p>{ramp} · click a pair to keep it</p>"

    def _on_point(self, place: tuple[int, float] | None) -> None:
        pointer = None if place is None else (place[0], int(place[1]))
        if pointer != self._pointer:
            self._pointer = pointer
            self._say()

    def _on_click(self, row: int, x: float) -> None:
        self._pair = row, int(x)
        self._say()

    def _lit(self) -> Any:
        if self.found is None or self._pair is None or self._graph is None:
            raise ParameterError("no pair is chosen; click one in the matrix first")
        names = [self.found.names[k] for k in self._pair]
        return partial(find_difference, self._graph, self.by.value, *names)

    def _prepare(self, ending: str) -> tuple[str, Writer]:
        if self.found is None:
            raise ParameterError("the paths have not been compared yet")
        title = f"Similar {GROUPINGS[self.by.value]} of {self._session.opened.title}"
        return f"{self._stem()}.similarity{ending}", partial(write_similarity, self.found, title)


class Growth(_Compared):
    """Growth of the pangenome, and size of its core, by number of paths or groups.

    Attributes
    ----------
    title, panel
        Title and Panel object of the view.
    growth
        The result, or None.
    """

    title = "Growth"

    def __init__(self, session: Session, _view: LayoutView) -> None:
        self.growth: PangenomeGrowth | None = None
        self.figure = GrowthFigure(session.without_graph(self.nothing))
        super().__init__(session, "growth of the pangenome", self.figure.plot)
        self.counted = pmui.Select(
            label="Counted", options={"bp": "bp", "Nodes": "nodes"}, value="bp", width=100,
            size="small", margin=(0, 8, 0, 0),
        )  # fmt: skip
        self.counted.param.watch(self._ask, "value")
        files = {"Picture (PNG)": ".png", "Picture (SVG)": ".svg", "Numbers (TSV)": ".tsv"}
        self.exports = ExportMenu(
            session,
            {label: partial(self._prepare, ending) for label, ending in files.items()},
            has_names=False, description="Export: the curves as a picture or table",
            margin=(4, 0, 0, 0),
        )  # fmt: skip
        self.panel = self._arrange(self.figure.plot, self.counted, self.exports)

    def _asked(self) -> tuple[Any, ...]:
        return iter_growth, self._graph, self.by.value, self.counted.value

    def _on_found(self, growth: PangenomeGrowth | None) -> None:
        self.growth = growth
        self._turn.ask()

    def _draw(self) -> None:
        growth = self.growth
        with pn.io.hold():
            self.figure.show(growth, GROUPINGS[self.by.value], self._says)
            self.words.object = "<p></p>" if growth is None else f"<p>{growth_words(growth)}</p>"

    def _prepare(self, ending: str) -> tuple[str, Writer]:
        if self.growth is None:
            raise ParameterError("growth has not been computed yet")
        plural, title = GROUPINGS[self.by.value], self._session.opened.title
        return f"{self._stem()}.growth{ending}", partial(write_growth, self.growth, plural, title)


def growth_words(growth: PangenomeGrowth) -> str:
    """Summarize a growth curve in a sentence, as HTML."""
    n, unit = len(growth.expected), growth.counted
    total, core, first = growth.expected[-1], growth.core[-1], growth.expected[0]
    share = 100 * core / total if total else 0.0
    return (
        f'<i style="background: {EXPECTED_COLOUR}"></i><b>{total:,.0f} {unit}</b> '
        f"in some of {n:,}, "
        f'<i style="background: {CORE_COLOUR}"></i><b>{core:,.0f}</b> in all ({share:.3g} %); '
        f"one alone has {first:,.0f}"
    )


def write_similarity(found: OrderedSimilarity, title: str, path: Path) -> None:
    """Write all pairs in the format of `genoviz similarity`, or the matrix as a picture."""
    if path.suffix != ".tsv":
        figure = make_similarity_figure(found.names, found.jaccard, ends=found.ends, title=title)
        path.write_bytes(track_figure_bytes(figure, path.suffix))
        return
    similarity, names = found.similarity, found.similarity.names
    columns = ("shared_nodes", "jaccard_nodes", "shared_bp", "jaccard_bp")
    matrices = [getattr(similarity, name) for name in columns]
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(["#a", "b", *columns]) + "\n")
        for i, a in enumerate(names):
            for j, b in enumerate(names):
                file.write("\t".join([a, b, *(f"{each[i, j]:.10g}" for each in matrices)]) + "\n")


def write_growth(growth: PangenomeGrowth, plural: str, title: str, path: Path) -> None:
    """Write the values in the format of `genoviz growth`, or the curves as a picture."""
    columns = ("expected", "core", "median", "low", "high")
    values = [getattr(growth, name) for name in columns]
    x = np.arange(1, len(growth.expected) + 1)
    if path.suffix == ".tsv":
        rows = zip(*(each.tolist() for each in values), strict=True)
        lines = ["\t".join(["#n_groups", *columns])]
        lines += [
            "\t".join([str(n), *("." if each != each else f"{each:.12g}" for each in row)])
            for n, row in enumerate(rows, 1)
        ]
        path.write_text("\n".join([*lines, ""]), encoding="utf-8")
        return
    expected, core, _, low, high = values
    top = 1.06 * float(np.nanmax([expected[-1], np.nanmax(high), 1.0]))
    plot = PrintedPlot(
        np.empty(0), np.empty(0), np.empty(0, np.uint8), (1.0, float(max(len(x), 2))), (0.0, top),
        (f"Number of {plural}", growth.counted),
        curves=(np.stack([x, expected]), np.stack([x, core])),
        curve_colours=(DOT_COLOURS[0], LINE_COLOUR), band=(x, low, high),
    )  # fmt: skip
    caption = (
        f"Blue: what some of so many {plural} have, orange: what all have, means over all choices; "
        f"grey: 5 to 95 % of {n_words(growth.n_orders, 'order')}."
    )
    figure = print_plots([plot], f"Growth of {title}", caption, width=760, height=420)
    path.write_bytes(track_figure_bytes(figure, path.suffix))
