"""A region of a path, and its text notation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from genoviz.errors import ParameterError

MAX_POSITION = 2**62
"""Longer than any contig, and sums of two still fit into 64 bits."""

_REGION = re.compile(r"^(?P<name>.+):(?P<start>\d[\d,]{0,23})(?:-(?P<end>\d[\d,]{0,23}))?$")


def split_region(text: str) -> tuple[str, int, int | None] | None:
    """Parse ``name:start-end``, with optional commas in numbers; None if it is not a region.

    The end of ``name:position`` is None.

    Raises
    ------
    ParameterError
        If the region ends before it begins, is empty, or is beyond `MAX_POSITION`.

    Examples
    --------
    >>> split_region("HG002#1#chr6:1,000-2,500"), split_region("chr6:7"), split_region("chr6")
    (('HG002#1#chr6', 1000, 2500), ('chr6', 7, None), None)
    """
    match = _REGION.match(text)
    if match is None:
        return None
    start, end = (
        int(match[part].replace(",", "")) if match[part] else None for part in ("start", "end")
    )
    furthest = max(start, end or 0)
    if furthest > MAX_POSITION:
        raise ParameterError(
            f"region {text!r} has position {furthest:,}, needs {MAX_POSITION:,} at most"
        )
    if end is not None and end <= start:
        raise ParameterError(f"region {text!r} ends at {end:,}, needs an end after its start")
    return match["name"], start, end


@dataclass(frozen=True)
class PathRegion:
    """A region of a path; 0-based, half-open, in bp from the path's own first base."""

    path: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.path}:{self.start}-{self.end}"

    @property
    def length(self) -> int:
        """Length in bp."""
        return self.end - self.start

    @classmethod
    def parse(cls, text: str) -> PathRegion:
        """Parse a region ``path:start-end``; commas in numbers are allowed.

        Examples
        --------
        >>> PathRegion.parse("HG002#1#chr6:1,000-2,500")
        PathRegion(path='HG002#1#chr6', start=1000, end=2500)
        """
        found = split_region(text.strip())
        if found is None or found[2] is None:
            raise ParameterError(f"region is {text!r}, needs path:start-end")
        return cls(*found)
