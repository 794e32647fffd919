"""Files to take away: the layout as .lay and TSV, the picture as PNG and SVG."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import panel_material_ui as pmui

from app.pages.pangenome.layout_run import LayoutRun
from app.pages.pangenome.live_picture import LivePicture
from app.plots.picture_file import png_bytes, svg_bytes
from genoviz.errors import GenovizError, ParameterError
from genoviz.io.layout_files import write_layout

MAX_DOWNLOAD_NODES = 5_000_000
PNG_SCALE = 2

WRITER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="genoviz-write")
"""Writes the files of all tabs."""


class Downloads:
    """A button for each kind of file.

    Parameters
    ----------
    get_name
        Returns a short name of the open graph, for the names of files.
    complain
        Gets one sentence when a file cannot be made.
    """

    def __init__(
        self,
        run: LayoutRun,
        picture: LivePicture,
        *,
        get_name: Callable[[], str],
        complain: Callable[[str], None],
    ) -> None:
        self._run, self._picture = run, picture
        self._get_name, self._complain = get_name, complain
        self.buttons = {
            suffix: self._button(label, suffix, make)
            for label, suffix, make in (
                ("Layout as .lay (odgi)", "lay", self._layout),
                ("Layout as TSV (odgi)", "tsv", self._layout),
                ("View as PNG, twice as large", "png", self._png),
                ("View as SVG, to edit", "svg", self._svg),
            )
        }
        self.panel = pmui.Column(
            *self.buttons.values(), sizing_mode="stretch_width", margin=(4, 0, 0, 0)
        )
        self.poll()

    def poll(self) -> None:
        """Offer files only when there is something to save."""
        is_disabled = self._run.snapshot is None
        for button in self.buttons.values():
            if button.disabled != is_disabled:
                button.disabled = is_disabled

    def _button(self, label: str, suffix: str, make: Callable[[str], bytes]) -> pmui.FileDownload:
        async def prepare() -> io.BytesIO | None:
            button.filename = f"{_file_stem(self._get_name())}.{suffix}"
            loop = asyncio.get_running_loop()
            try:
                content = await loop.run_in_executor(WRITER, partial(make, suffix))
            except GenovizError as error:
                self._complain(f"The file was not made: {error}.")
                return None
            return io.BytesIO(content)

        button = pmui.FileDownload(
            callback=prepare,
            filename=f"layout.{suffix}",
            label=label,
            auto=True,
            size="small",
            sizing_mode="stretch_width",
            margin=(0, 0, 8, 0),
        )
        # Given to the constructor, these two would bring a warning of Panel's about itself.
        button.param.update(variant="outlined", color="default")
        return button

    def _layout(self, suffix: str) -> bytes:
        layout = self._run.layout
        if layout is None:
            raise ParameterError("there is no layout yet")
        if layout.n_nodes > MAX_DOWNLOAD_NODES:
            raise ParameterError(
                f"a layout of {layout.n_nodes:,} nodes is too large for a browser; "
                "`genoviz layout` writes it on the server"
            )
        with tempfile.TemporaryDirectory(prefix="genoviz-download-") as folder:
            path = Path(folder) / f"layout.{suffix}"
            write_layout(layout, path)
            return path.read_bytes()

    def _png(self, _suffix: str) -> bytes:
        drawing, view, colouring = self._picture.current()
        options = colouring.options
        picture = drawing.draw(
            replace(view, width=view.width * PNG_SCALE, height=view.height * PNG_SCALE),
            **options,
            line_width=PNG_SCALE,
            pixel_budget=None,
        )
        return png_bytes(picture.indices, colouring.palette, title=self._get_name())

    def _svg(self, _suffix: str) -> bytes:
        _drawing, view, colouring = self._picture.current()
        layout, shown = self._run.layout, self._picture.shown
        levels = shown.picture.levels
        if colouring.node_values is None:
            colours = np.full(layout.n_nodes, len(levels) // 2, np.uint8)
        else:
            colours = np.searchsorted(levels[1:], colouring.node_values, side="right") + 1
            colours[np.isnan(colouring.node_values)] = 1
        return svg_bytes(
            layout.coordinates,
            colours.astype(np.uint8),
            view,
            palette=colouring.palette,
            legend=shown.legend,
            title=self._get_name(),
        )


def _file_stem(name: str) -> str:
    name = Path(name).name.removesuffix(".gz").removesuffix(".gfa")
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name).strip("_") or "layout"
