"""A stretch of a path."""

from __future__ import annotations

import re
from dataclasses import dataclass

from genoviz.errors import ParameterError

_REGION = re.compile(r"^(?P<path>.+):(?P<start>[\d,]+)-(?P<end>[\d,]+)$")


@dataclass(frozen=True)
class PathRegion:
    """A stretch of a path; 0-based, half-open, in bp from the path's own first base."""

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
        """Return the region that ``path:start-end`` names; commas in numbers are allowed.

        Examples
        --------
        >>> PathRegion.parse("HG002#1#chr6:1,000-2,500")
        PathRegion(path='HG002#1#chr6', start=1000, end=2500)
        """
        match = _REGION.match(text.strip())
        if match is None:
            raise ParameterError(f"region is {text!r}, needs path:start-end")
        start, end = (int(match[name].replace(",", "") or 0) for name in ("start", "end"))
        if end <= start:
            raise ParameterError(f"region {text!r} ends at {end}, needs an end after its start")
        return cls(match["path"], start, end)
