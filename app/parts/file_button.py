"""A button that makes a file and hands it to the browser."""

from __future__ import annotations

import asyncio
import io
import re
import tempfile
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import panel_material_ui as pmui

from genoviz.errors import GenovizError, ParameterError
from genoviz.generators import last_of
from genoviz_app.server.jobs import Job, JobPool, JobState, describe_problem
from genoviz_app.session.session import Session

NUMBER = rb"[\d.]*(?:[eE][+-]?\d+)?|inf|nan"
FORMULA = {
    ".csv": re.compile(rb"""(?:(?<=[\n\r,"])|\A)(?=[=@]|[+-](?!(?:%b)(?:[\n\r,"]|\Z)))""" % NUMBER),
    ".tsv": re.compile(rb"(?:(?<=[\n\r\t])|\A)(?=[=@]|[+-](?!(?:%b)(?:[\n\r\t]|\Z)))" % NUMBER),
}
"""Where a cell begins that a spreadsheet would compute; strands and numbers are none."""

Writer = Callable[[Path], Any]
"""Writes a file to a path, or returns a generator that does."""

WRITERS = JobPool("genoviz-write", n_threads=2)
"""Writes the files of all tabs, while their questions are answered."""
POLL_SECONDS = 0.05


class FileButton(pmui.FileDownload):
    """A button that hands over nothing where no file was made, as its callback has said why."""

    def _sync_data(self, fileobj: io.BytesIO | None) -> None:
        if fileobj is not None:
            super()._sync_data(fileobj)


def file_button(
    session: Session, label: str, prepare: Callable[[], tuple[str, Writer]], **options: Any
) -> FileButton:
    """Return a button; a press makes the file beside the page.

    Parameters
    ----------
    prepare
        Called by the press: returns the file's name and what writes it to a path.
    """

    async def make() -> io.BytesIO | None:
        try:
            name, write = prepare()
            job = session.submit(iter_content(name, write), title="write a file", pool=WRITERS)
            content = await result_of(job)
        except GenovizError as error:
            session.problem = f"The file was not made: {describe_problem(error)}"
            return None
        if content is None:
            return None
        button.filename = name
        return io.BytesIO(content)

    button = FileButton(
        callback=make, filename="genoviz", label=label, auto=True, size="small", **options
    )
    # Given to the constructor, these two would bring a warning of Panel's about itself.
    button.param.update(variant="outlined", color="default")
    return button


async def result_of(job: Job, show: Callable[[Any], None] = lambda _: None) -> Any:
    """Return the last snapshot of a job, None if it was cancelled; those before are shown.

    Raises
    ------
    ParameterError
        If it failed; the error says why in a sentence.
    """
    while not job.has_ended:
        show(job.snapshot)
        await asyncio.sleep(POLL_SECONDS)
    if job.state is JobState.FAILED:
        raise ParameterError(describe_problem(job.error))
    return job.snapshot if job.state is JobState.FINISHED else None


def iter_content(name: str, write: Writer, *, max_bytes: int | None = None) -> Iterator[Any]:
    """Write a file of that name, and yield its steps, and what was written as the last.

    Raises
    ------
    ParameterError
        If it has more bytes than that.
    """
    with tempfile.TemporaryDirectory(prefix="genoviz-download-") as folder:
        path = Path(folder) / name
        steps = write(path)
        if isinstance(steps, Generator):
            yield from steps
        n_bytes = path.stat().st_size
        if max_bytes is not None and n_bytes > max_bytes:
            raise ParameterError(
                f"{name} has {n_bytes / 1e6:,.0f} MB, a download has at most "
                f"{max_bytes / 1e6:,.0f} MB; save the view, or longer bins"
            )
        yield plain_cells(name, path.read_bytes())


def write_to_bytes(name: str, write: Writer) -> bytes:
    """Return what is written to a file of that name."""
    return last_of(iter_content(name, write))


def plain_cells(name: str, content: bytes) -> bytes:
    r"""Return a table whose cells no spreadsheet takes for formulas; other files as they are.

    Examples
    --------
    >>> plain_cells("a.csv", b"name,strand,score\n=cmd(),+,-1.5\n")
    b"name,strand,score\n'=cmd(),+,-1.5\n"
    """
    formula = FORMULA.get(Path(name).suffix.lower())
    return content if formula is None else formula.sub(b"'", content)


def file_stem(text: str) -> str:
    """Return a text as part of a file's name."""
    stem = "".join(c if c.isalnum() or c in "-_." else "_" for c in text)
    return stem.strip("_.")[:80] or "graph"
