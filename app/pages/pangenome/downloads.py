"""Downloads: the layout as .lay and TSV, the view as PNG, SVG, PDF and HTML."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import panel_material_ui as pmui

from genoviz.analyses.figures import (
    FIGURE_ENDINGS,
    FigureLabel,
    FigureMark,
    FigureOptions,
    figure_bytes,
    make_figure,
)
from genoviz.analyses.figures.files import MAX_LINES
from genoviz.analyses.graph.picture.colours import N_MARK_COLOURS
from genoviz.analyses.graph.picture.palettes import DARK, LIGHT, Theme, parse_colour
from genoviz.errors import ParameterError
from genoviz.io.graph.layout_files import write_layout
from genoviz_app.opening.served_files import GRAPH_ENDING
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.parts.file_button import ExportMenu, Writer
from genoviz_app.parts.questions import allow
from genoviz_app.parts.words import n_words
from genoviz_app.session.layout_run import LayoutRun
from genoviz_app.session.session import Session

MAX_DOWNLOAD_NODES = 5_000_000
SIZES = {
    "1,200 pixels wide, for the screen": (1200, 96.0),
    "2,400 pixels wide, for slides": (2400, 192.0),
    "4,000 pixels wide, for print": (4000, 300.0),
    "8,000 pixels wide, for a poster": (8000, 600.0),
}
DARK_GROUND, LIGHT_GROUND, NO_GROUND = "dark", "light", "none"
GROUNDS = {"Dark": DARK_GROUND, "White": LIGHT_GROUND, "White, transparent": NO_GROUND}
FIGURES = {f"The present view ({ending[1:].upper()})": ending for ending in FIGURE_ENDINGS}
LAYOUTS = {"The layout, odgi's .lay (LAY)": ".lay", "The layout, as odgi's table (TSV)": ".tsv"}


class Downloads:
    """A menu of downloads, with options for pictures.

    Parameters
    ----------
    get_name
        Returns a short name of the open graph, for file names.
    """

    def __init__(
        self,
        session: Session,
        run: LayoutRun,
        picture: LivePicture,
        *,
        get_name: Callable[[], str],
    ) -> None:
        self._run, self._picture, self._get_name = run, picture, get_name
        wide = {"size": "small", "sizing_mode": "stretch_width", "margin": (0, 0, 10, 0)}
        self.size = pmui.Select(
            label="Size of pictures", options=SIZES, value=(2400, 192.0), **wide
        )
        self.ground = pmui.Select(label="Ground", options=GROUNDS, value=DARK_GROUND, **wide)
        makers = dict.fromkeys(FIGURES.values(), self._figure)
        makers |= dict.fromkeys(LAYOUTS.values(), self._layout)
        self.exports = ExportMenu(
            session,
            {label: partial(self._prepare, ending, makers[ending])
             for label, ending in (FIGURES | LAYOUTS).items()},
            has_names=False, description="Export: pictures, and the layout",
            sizing_mode="stretch_width", margin=(0, 0, 8, 0),
        )  # fmt: skip
        self.panel = pmui.Column(
            self.size, self.ground, self.exports,
            sizing_mode="stretch_width", margin=(8, 0, 0, 0),
        )  # fmt: skip
        self.offer()

    def offer(self) -> None:
        """Enable downloads only if there is something to save."""
        allow(self.exports, "there is no layout yet" if self._run.snapshot is None else "")

    def _prepare(self, ending: str, make: Callable[[str], bytes]) -> tuple[str, Writer]:
        name = f"{_file_stem(self._get_name())}{ending}"
        return name, lambda path: path.write_bytes(make(ending))

    def _layout(self, ending: str) -> bytes:
        layout = self._run.layout
        if layout is None:
            raise ParameterError("there is no layout yet")
        if layout.n_nodes > MAX_DOWNLOAD_NODES:
            raise ParameterError(
                f"a layout of {n_words(layout.n_nodes, 'node')} is too large for a browser; "
                "`genoviz layout` writes it on the server"
            )
        with tempfile.TemporaryDirectory(prefix="genoviz-download-") as folder:
            path = Path(folder) / f"layout{ending}"
            write_layout(layout, path)
            return path.read_bytes()

    def _figure(self, ending: str) -> bytes:
        graph, picture = self._run.graph, self._picture
        drawing, view, colouring = picture.current()
        (width, dpi), ground = self.size.value, self.ground.value
        theme = DARK if ground == DARK_GROUND else LIGHT
        figure = make_figure(
            graph,
            drawing,
            colouring.on(theme),
            FigureOptions(
                width=width,
                dpi=dpi,
                is_transparent=ground == NO_GROUND,
                max_lines=MAX_LINES[ending],
            ),
            view=view,
            fold=picture.fold,
            marks=[
                FigureMark(mark.nodes, _seen_on(theme, mark.colour), mark.label)
                for mark in picture.notes.marks[-N_MARK_COLOURS:]
            ],
            labels=[FigureLabel(label.node, label.text) for label in picture.notes.labels],
        )
        return figure_bytes(figure, ending)


def _seen_on(theme: Theme, colour: str) -> str:
    """Return a colour, or the ink colour if it is too similar to the background."""
    pairs = zip(parse_colour(colour), parse_colour(theme.ground), strict=True)
    return theme.ink if sum(abs(a - b) for a, b in pairs) < 60 else colour


def _file_stem(name: str) -> str:
    name = GRAPH_ENDING.sub("", Path(name).name)
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name).strip("_") or "layout"
