"""Exceptions with messages for users, and the numbers in them.

A message says what was found, what is needed, and where.
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

_LONGEST, _KEPT = 1000, 200


def n_words(n: int, one: str, many: str = "") -> str:
    """Return a count with its noun, and its verb if the noun has one.

    ``many`` is for several of them, if that is not ``one`` with an s.

    Examples
    --------
    >>> n_words(1, "SNP"), n_words(1200, "SNP"), n_words(2, "node has", "nodes have")
    ('1 SNP', '1,200 SNPs', '2 nodes have')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def short_number(value: float) -> str:
    """Return a number as people write it: 850, 12k, 3.4M.

    Examples
    --------
    >>> [short_number(x) for x in (0, 0.25, 850, 12_000, 3_400_000, 2e9)]
    ['0', '0.25', '850', '12k', '3.4M', '2G']
    """
    for factor, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g}{unit}"
    return f"{value:.3g}"


class GenovizError(Exception):
    """Base class of errors that genoviz raises on purpose; the text is meant for the user."""


class FileFormatError(GenovizError):
    """A file violates its format.

    Parameters
    ----------
    path
        The file; only its name is shown (``.`` and ``/``, which have none, are shown as they are).
    found
        What was found and what is needed, as one sentence without a full stop. The middle of one
        that quotes a very long word of the file is left out.
    line
        1-based line number, if the problem is on one line.
    """

    def __init__(self, path: str | PathLike[str], found: str, *, line: int | None = None) -> None:
        self.path = Path(path)
        self.line = line
        name = self.path.name or str(self.path)
        name = name if name.isprintable() else repr(name)  # of one line, whatever it is
        where = name if line is None else f"{name}, line {line}"
        if len(found) > _LONGEST:
            found = f"{found[:_KEPT]} ... {found[-_KEPT:]}"
        super().__init__(f"{where}: {found}")


class ParameterError(GenovizError, ValueError):
    """An argument is out of range, or arguments are inconsistent."""


def check_choice(name: str, value: object, choices: Iterable[object]) -> None:
    """Raise `ParameterError` unless a value is one of the choices.

    Examples
    --------
    >>> check_choice("strands", "-+", ("both", "+", "-"))
    Traceback (most recent call last):
    genoviz.errors.ParameterError: strands is '-+', needs one of both, +, -
    """
    choices = tuple(choices)
    if value not in choices:
        needed = ", ".join(str(choice) for choice in choices)
        raise ParameterError(f"{name} is {value!r}, needs one of {needed}")


def check_minimum(name: str, value: float, minimum: float) -> None:
    """Raise `ParameterError` if a value is below its minimum."""
    if value < minimum:
        raise ParameterError(f"{name} is {value}, needs at least {minimum}")


class BackendError(GenovizError, RuntimeError):
    """The requested backend cannot run on this machine."""


class DownloadError(GenovizError):
    """A public sample could not be downloaded, or differs from the expected file."""


class ClusterError(GenovizError, RuntimeError):
    """Distributed work cannot run: no scheduler, no workers, or unsuitable workers."""
