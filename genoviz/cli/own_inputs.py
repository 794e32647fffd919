"""No command writes over a file that it reads."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from genoviz.cli.checked_values import OUTPUTS
from genoviz.io.files.protected_inputs import protect_inputs, refuse_input

# What is read beside a file of the same stem, and by a prefix.
_COMPANIONS = (".bed", ".bim", ".fam", ".pgen", ".pvar", ".psam")


def keep_own_inputs(command: Any) -> None:
    """Let a command, or all of a group, refuse to write over what they read."""
    for inner in getattr(command, "commands", {}).values():
        keep_own_inputs(inner)
    if command.callback is not None and not hasattr(command, "commands"):
        command.callback = _guarded(command.callback)


def _guarded(callback: Callable) -> Callable:
    @functools.wraps(callback)
    def call(**values: Any) -> Any:
        read = [
            path
            for name, value in values.items()
            if name not in OUTPUTS
            for path in _iter_files(value)
        ]
        with protect_inputs(read):
            # Before anything is computed; names made from these are looked at when they are opened.
            for name in OUTPUTS:
                if isinstance(values.get(name), Path):
                    refuse_input(values[name])
            return callback(**values)

    return call


def _iter_files(value: Any) -> Iterator[Path]:
    """Yield the files that a value may name."""
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _iter_files(inner)
    elif isinstance(value, str | Path) and str(value):
        path = Path(value)
        yield path
        for ending in _COMPANIONS:
            yield path.with_name(path.name + ending) if path.name else path
            yield path.with_suffix(ending) if path.suffix in _COMPANIONS else path
