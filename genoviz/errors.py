"""What goes wrong, in the user's words: what was found, what is needed, and where."""

from __future__ import annotations

from os import PathLike
from pathlib import Path


def n_columns(n: int) -> str:
    """Return how many columns a line has, in words."""
    return f"{n:,} column{'' if n == 1 else 's'}"


class GenovizError(Exception):
    """Any error that genoviz raises on purpose; its text is meant for the user as it is."""


class FileFormatError(GenovizError):
    """A file does not hold what its format asks for.

    Parameters
    ----------
    path
        The file; only its name is shown (``.`` and ``/`` as they are, which have none).
    found
        What was found and what is needed, as one sentence without a full stop.
    line
        1-based line number, when the trouble is on one line.
    """

    def __init__(self, path: str | PathLike[str], found: str, *, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        name = self.path.name or str(self.path)
        where = name if line is None else f"{name}, line {line}"
        super().__init__(f"{where}: {found}")


class ParameterError(GenovizError, ValueError):
    """An argument is out of range, or arguments do not fit each other."""


class BackendError(GenovizError, RuntimeError):
    """The backend that was asked for cannot run on this machine."""


class DownloadError(GenovizError):
    """A public sample could not be fetched, or is not the file that was expected."""


class ClusterError(GenovizError, RuntimeError):
    """What was to run on other machines cannot: no scheduler, no workers, or others than needed."""
