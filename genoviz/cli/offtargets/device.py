"""Devices as cas-offinder's second argument names them: ``C``, ``G``, ``A``, ``G0,2``, ``G0:2``."""

from __future__ import annotations

import re
from dataclasses import dataclass

import typer

from genoviz.backend import cuda_is_available

_PART = r"[0-9]{1,4}(?::[0-9]{1,4}){0,2}"
_DEVICE = re.compile(rf"([CGA])({_PART}(?:,{_PART})*)?")


@dataclass(frozen=True)
class Device:
    """Where to search.

    Parameters
    ----------
    backend
        As of `find_offtargets`.
    devices
        Numbers of GPUs, or None.
    """

    backend: str
    devices: tuple[int, ...] | None = None


def parse_device(text: str) -> Device:
    """Return what a device argument means.

    A list has numbers, and ranges (``0:4`` is 0 to 3, ``0:4:2`` is 0 and 2). Without one all GPUs
    are used; processors are always all used. ``A`` is GPUs where there are some.

    Examples
    --------
    >>> parse_device("C0").backend, parse_device("G0,2:4").devices
    ('cpu', (0, 2, 3))
    """
    found = _DEVICE.fullmatch(text)
    numbers = _numbers(found[2]) if found and found[2] else ()
    if not found or (found[2] and not numbers):
        raise typer.BadParameter(
            f"DEVICE is {text!r}, needs C (processors), G (GPUs) or A (what there is), with a list "
            "of numbers or without, such as G0,2 or G0:2"
        )
    if found[1] == "C" or (found[1] == "A" and not cuda_is_available()):
        return Device("cpu")
    if not numbers and cuda_is_available():
        import cupy

        numbers = tuple(range(cupy.cuda.runtime.getDeviceCount()))
    return Device("cuda", numbers or None)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a list, each once."""
    numbers: dict[int, None] = {}
    for part in text.split(","):
        bounds = [int(bound) for bound in part.split(":")]
        if len(bounds) == 3 and bounds[2] == 0:
            return ()
        numbers |= dict.fromkeys(range(*bounds) if len(bounds) > 1 else bounds)
    return tuple(numbers)
