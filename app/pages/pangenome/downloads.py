"""Files to download: the layout as .lay and TSV, the view as PNG, SVG, PDF and HTML."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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
from genoviz.errors import GenovizError, ParameterError
from genoviz.io.graph.layout_files import write_layout
from genoviz_app.pages.pangenome.layout.run import LayoutRun
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.parts.file_button import WRITERS, FileButton, result_of
from genoviz_app.server.jobs import Job, describe_problem

MAX_DOWNLOAD_NODES = 5_000_000
SIZES = {
    "1,200 pixels wide, for the screen": (1200, 96.0),
    "2,400 pixels wide, for slides": (2400, 192.0),
    "4,000 pixels wide, for print": (4000, 300.0),
    "8,000 pixels wide, for a poster": (8000, 600.0),
}
DARK_GROUND, LIGHT_GROUND, NO_GROUND = "dark", "light", "none"
GROUNDS = {"Dark": DARK_GROUND, "White": LIGHT_GROUND, "White, transparent": NO_GROUND}
LABELS = {".png": "PNG", ".svg": "SVG", ".pdf": "PDF", ".html": "HTML"}


class Downloads:
    """A button for each kind of file, and how pictures look.

    Parameters
    ----------
    get_name
        Returns a short name of the open graph, for the names of files.
    complain
        Gets one sentence when a file cannot be made.
    submit
        Runs the generator that makes a file, whose title is given too.
    """

    def __init__(
        self,
        run: LayoutRun,
        picture: LivePicture,
        *,
        get_name: Callable[[], str],
        complain: Callable[[str], None],
        submit: Callable[..., Job] = WRITERS.submit,
    ) -> None:
        self._run, self._picture = run, picture
        self._get_name, self._complain, self._submit = get_name, complain, submit
        self._is_disabled: bool | None = None
        wide = {"size": "small", "sizing_mode": "stretch_width", "margin": (0, 0, 10, 0)}
        self.size = pmui.Select(
            label="Size of pictures", options=SIZES, value=(2400, 192.0), **wide
        )
        self.ground = pmui.Select(label="Ground", options=GROUNDS, value=DARK_GROUND, **wide)
        self.buttons = {
            ending: self._button(LABELS[ending], ending, self._figure) for ending in FIGURE_ENDINGS
        }
        self.buttons |= {
            ending: self._button(label, ending, self._layout)
            for label, ending in ((".lay (odgi)", ".lay"), (".tsv (odgi)", ".tsv"))
        }
        self.panel = pmui.Column(
            self.size,
            self.ground,
            _caption("The present view"),
            *self._rows(FIGURE_ENDINGS),
            _caption("The layout"),
            *self._rows((".lay", ".tsv")),
            sizing_mode="stretch_width",
            margin=(8, 0, 0, 0),
        )
        self.offer()

    def offer(self) -> None:
        """Offer files only when there is something to save."""
        is_disabled = self._run.snapshot is None
        if is_disabled is not self._is_disabled:
            self._is_disabled = is_disabled
            for button in self.buttons.values():
                button.disabled = is_disabled

    def _rows(self, endings: tuple[str, ...]) -> list[pmui.Row]:
        pairs = [endings[first : first + 2] for first in range(0, len(endings), 2)]
        return [
            pmui.Row(
                *(self.buttons[ending] for ending in pair), sizing_mode="stretch_width", margin=0
            )
            for pair in pairs
        ]

    def _button(self, label: str, ending: str, make: Callable[[str], bytes]) -> FileButton:
        async def prepare() -> io.BytesIO | None:
            button.filename = f"{_file_stem(self._get_name())}{ending}"
            try:
                content = await result_of(self._submit(steps(), title="write a file"))
            except GenovizError as error:
                self._complain(f"The file was not made: {describe_problem(error)}")
                return None
            return None if content is None else io.BytesIO(content)

        def steps() -> Iterator[Any]:
            yield make(ending)

        button = FileButton(
            callback=prepare,
            filename=f"layout{ending}",
            label=label,
            auto=True,
            size="small",
            sizing_mode="stretch_width",
            margin=(0, 4, 8, 0),
        )
        # Given to the constructor, these two would bring a warning of Panel's about itself.
        button.param.update(variant="outlined", color="default")
        return button

    def _layout(self, ending: str) -> bytes:
        layout = self._run.layout
        if layout is None:
            raise ParameterError("there is no layout yet")
        if layout.n_nodes > MAX_DOWNLOAD_NODES:
            raise ParameterError(
                f"a layout of {layout.n_nodes:,} nodes is too large for a browser; "
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
    """Return a colour, or ink for one that is about that of the ground."""
    pairs = zip(parse_colour(colour), parse_colour(theme.ground), strict=True)
    return theme.ink if sum(abs(a - b) for a, b in pairs) < 60 else colour


def _caption(text: str) -> pmui.Typography:
    return pmui.Typography(text, variant="caption", margin=(2, 0, 4, 0))


def _file_stem(name: str) -> str:
    name = Path(name).name.removesuffix(".gz").removesuffix(".gfa").removesuffix(".gbz")
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name).strip("_") or "layout"
