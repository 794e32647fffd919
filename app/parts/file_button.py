"""A button that makes a file and hands it to the browser."""

from __future__ import annotations

import asyncio
import io
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import panel_material_ui as pmui

from genoviz.errors import GenovizError
from genoviz_app.server.jobs import describe_problem
from genoviz_app.session.session import Session

Writer = Callable[[Path], None]

WRITER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="genoviz-write")
"""Writes the files of all tabs."""


class FileButton(pmui.FileDownload):
    """A button that hands over nothing where no file was made, as its callback has said why."""

    def _sync_data(self, fileobj: io.BytesIO | None) -> None:
        if fileobj is not None:
            super()._sync_data(fileobj)


def file_button(
    session: Session, label: str, prepare: Callable[[], tuple[str, Writer]], **options: Any
) -> FileButton:
    """Return a button; a press makes the file in the writers' thread.

    Parameters
    ----------
    prepare
        Called by the press: returns the file's name and what writes it to a path.
    """

    async def make() -> io.BytesIO | None:
        loop = asyncio.get_running_loop()
        try:
            name, write = prepare()
            content = await loop.run_in_executor(WRITER, write_to_bytes, name, write)
        except GenovizError as error:
            session.problem = f"The file was not made: {describe_problem(error)}"
            return None
        button.filename = name
        return io.BytesIO(content)

    button = FileButton(
        callback=make, filename="genoviz", label=label, auto=True, size="small", **options
    )
    # Given to the constructor, these two would bring a warning of Panel's about itself.
    button.param.update(variant="outlined", color="default")
    return button


def write_to_bytes(name: str, write: Writer) -> bytes:
    """Return what is written to a file of that name."""
    with tempfile.TemporaryDirectory(prefix="genoviz-download-") as folder:
        path = Path(folder) / name
        write(path)
        return path.read_bytes()


def file_stem(text: str) -> str:
    """Return a text as part of a file's name."""
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in text)
    return stem.strip("_.")[:80] or "graph"
