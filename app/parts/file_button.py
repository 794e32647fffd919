"""Buttons and menus that create a file and download it in the browser."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
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
    ".tsv": re.compile(
        rb"""(?:(?<=[\n\r\t])|(?<=[\n\r\t]")|\A|(?<=\A"))"""
        rb"""(?=[=@]|[+-](?!(?:%b)(?:[\n\r\t"]|\Z)))""" % NUMBER
    ),
}
"""Matches starts of cells that a spreadsheet would evaluate, except strands and numbers."""

Writer = Callable[[Path], Any]
"""Writes a file to a path, or returns a generator that does so."""
Prepare = Callable[[], tuple[str, Writer]]
"""Returns a file name and its writer."""
LOOK: dict[str, Any] = {"size": "small", "variant": "outlined", "color": "default"}

WRITERS = JobPool("genoviz-write", n_threads=2)
"""Writes the files of all tabs, concurrently with questions."""
POLL_SECONDS = 0.05


def file_button(session: Session, label: str, prepare: Prepare, **options: Any) -> pmui.Button:
    """Return a button that creates a file in a background job.

    Parameters
    ----------
    prepare
        Called when the button is pressed; returns the file name and its writer.
    """
    button = pmui.Button(label=label, icon="file_download", **LOOK, **options)

    async def press(_event: Any) -> None:
        await hand_over(session, prepare)

    button.on_click(press)
    return button


class ExportMenu(pmui.MenuButton):
    """A button with a menu of files, created in a background job when chosen.

    Parameters
    ----------
    files
        For each file, a function without arguments (see `file_button`), by its menu label, which
        ends with the file format in parentheses.
    has_names
        Whether tables have names that a spreadsheet could interpret as formulas.
    """

    def __init__(
        self,
        session: Session,
        files: Mapping[str, Prepare],
        *,
        has_names: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(label="Export", icon="file_download", **LOOK, **options)
        self._session, self.files, self._has_names = session, dict(files), has_names
        self.offer(self.files)
        self.on_click(self.choose)

    @property
    def offered(self) -> list[str]:
        """The labels in the menu."""
        return [item["label"] for item in self.items]

    def offer(self, labels: Iterable[str]) -> None:
        """Show only these files."""
        self.items = [{"label": label, "icon": _icon_of(label)} for label in labels]

    async def choose(self, item: dict[str, Any]) -> None:
        """Create a file and download it."""
        prepare = self.files[item["label"]]
        await hand_over(self._session, prepare, has_names=self._has_names)


def _icon_of(label: str) -> str:
    kind = label.rpartition("(")[2].rstrip(")")
    return {"PNG": "image", "SVG": "draw", "PDF": "picture_as_pdf", "HTML": "language"}.get(
        kind, "table_rows"
    )


async def hand_over(session: Session, prepare: Prepare, *, has_names: bool = True) -> None:
    """Create a file and download it in the browser; the session shows errors."""
    try:
        name, write = prepare()
        steps = iter_content(name, write, has_names=has_names)
        job = session.submit(steps, title="write a file", pool=WRITERS)
        content = await result_of(job)
    except GenovizError as error:
        session.problem = f"The file was not made: {describe_problem(error)}"
        return
    if content is not None:
        session.hand_over(name, content)


async def result_of(job: Job, show: Callable[[Any], None] = lambda _: None) -> Any:
    """Return the last snapshot of a job, None if it was cancelled; earlier ones are shown.

    Raises
    ------
    ParameterError
        If it failed; the message gives the reason.
    """
    while not job.has_ended:
        show(job.snapshot)
        await asyncio.sleep(POLL_SECONDS)
    if job.state is JobState.FAILED:
        raise ParameterError(describe_problem(job.error))
    return job.snapshot if job.state is JobState.FINISHED else None


def iter_content(
    name: str, write: Writer, *, max_bytes: int | None = None, has_names: bool = True
) -> Iterator[Any]:
    """Write a file with this name; yields progress, and finally its content.

    Raises
    ------
    ParameterError
        If the file is larger than the limit.
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
        content = path.read_bytes()
        yield plain_cells(name, content) if has_names else content


def write_to_bytes(name: str, write: Writer) -> bytes:
    """Return the content that is written to a file with this name."""
    return last_of(iter_content(name, write))


def plain_cells(name: str, content: bytes) -> bytes:
    r"""Return a table with cells escaped against spreadsheet formulas; other files unchanged.

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
