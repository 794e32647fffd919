"""Standard input and output as files: what ``-`` stands for, and pipes that nobody reads on."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import typer

DASH = "-"
STANDARD_OUTPUT = Path("/dev/stdout")
_COPY_NAME = "standard input"  # messages name files
_copies: set[Path] = set()
_folders: list[Path] = []
_taken: set[Path] = set()


def is_dash(value: object) -> bool:
    """Return whether a file is given as ``-``."""
    return str(value) == DASH


def is_standard_output(path: Path | None) -> bool:
    """Return whether an output is standard output."""
    return path is not None and Path(path) == STANDARD_OUTPUT


def name_of_output(path: Path) -> str:
    """Return an output as sentences name it."""
    return "standard output" if is_standard_output(path) else str(path)


def take_standard_output(is_taken: bool) -> None:
    """Note whether standard output is a file of this command, with no place for sentences."""
    _taken.clear()
    if is_taken:
        _taken.add(STANDARD_OUTPUT)


def is_standard_output_taken() -> bool:
    """Return whether standard output is a file that the command writes."""
    return bool(_taken)


def refuse_standard_output(option: str, output: Path, why: str) -> None:
    """Refuse ``-`` for what cannot go through a pipe."""
    if is_standard_output(output):
        raise typer.BadParameter(f"{option} - is standard output, but {why}; name a file")


def as_file(path: Path) -> Path:
    """Return the path of what ``-`` or a pipe brings, as a file that is there until the end."""
    if not is_dash(path) and (not path.exists() or path.is_file() or path.is_dir()):
        return path
    if is_dash(path) and sys.stdin is None:
        raise OSError("standard input is closed, needs to be open or a file to read")
    folder = Path(tempfile.mkdtemp(prefix="genoviz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    _folders.append(folder)
    copy = folder / (_COPY_NAME if is_dash(path) else path.name)
    with copy.open("wb") as file:
        if is_dash(path):
            shutil.copyfileobj(sys.stdin.buffer, file)
        else:
            with path.open("rb") as pipe:
                shutil.copyfileobj(pipe, file)
    _copies.add(copy)
    return copy


def remove_copies() -> None:
    """Remove what pipes brought."""
    for folder in _folders:
        shutil.rmtree(folder, ignore_errors=True)


def is_copy(path: Path) -> bool:
    """Return whether a file is what a pipe brought, which no cache needs to keep."""
    return path in _copies


@contextlib.contextmanager
def until_nobody_reads() -> Iterator[None]:
    """Go on in silence where the reader of standard output or error has gone."""
    try:
        yield
    except BrokenPipeError:
        silence_broken_streams()


def silence_broken_streams() -> None:
    """Let what is written from now on to a pipe without a reader go nowhere.

    Else Python complains at its end, when it writes out what it still has.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        except (AttributeError, OSError, ValueError):
            continue
