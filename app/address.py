"""What a link carries: page, file and region, so that a view can be sent to a colleague.

Panel's own ``location.sync`` drops all values silently when one is wrong; here each is checked
on its own, and what is wrong is said.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

from genoviz.errors import ParameterError

_REGION = re.compile(r"^(?P<path>.+):(?P<start>[\d,]+)-(?P<end>[\d,]+)$")


@dataclass(frozen=True)
class Region:
    """A stretch of a path; 0-based, half-open, bp."""

    path: str
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.path}:{self.start}-{self.end}"

    @classmethod
    def parse(cls, text: str) -> Region:
        """Return the region that ``path:start-end`` names; commas in numbers are allowed.

        Examples
        --------
        >>> Region.parse("HG002#1#chr6:1,000-2,500")
        Region(path='HG002#1#chr6', start=1000, end=2500)
        """
        match = _REGION.match(text.strip())
        if match is None:
            raise ParameterError(f"region is {text!r}, needs path:start-end")
        start, end = (int(match[name].replace(",", "") or 0) for name in ("start", "end"))
        if end <= start:
            raise ParameterError(f"region {text!r} ends at {end}, needs an end after its start")
        return cls(match["path"], start, end)


@dataclass(frozen=True)
class Address:
    """The part of a URL after the question mark, checked.

    Attributes
    ----------
    page
        Slug of the page, or "" for the first.
    file
        Name of a sample or path of a file on the server, or "" for none.
    region
        The region that pages show, or None.
    complaints
        What was wrong with the link, one sentence each.
    """

    page: str = ""
    file: str = ""
    region: Region | None = None
    complaints: tuple[str, ...] = ()

    @classmethod
    def parse(cls, query: str, *, pages: tuple[str, ...]) -> Address:
        """Return what a query string such as ``?page=pangenome&file=drb1`` asks for."""
        values = {name: items[-1] for name, items in parse_qs(query.lstrip("?")).items()}
        complaints = []
        page = values.get("page", "")
        if page and page not in pages:
            complaints.append(f"The link names page {page!r}; there are {', '.join(pages)}.")
            page = ""
        region = None
        if "region" in values:
            try:
                region = Region.parse(values["region"])
            except ParameterError as error:
                complaints.append(f"The link is not followed all the way: {error}.")
        return cls(page, values.get("file", ""), region, tuple(complaints))

    @property
    def query(self) -> str:
        """The query string, with its question mark; "" when there is nothing to say."""
        items = {"page": self.page, "file": self.file, "region": str(self.region or "")}
        text = urlencode({name: value for name, value in items.items() if value}, safe="/:#")
        return f"?{text.replace('#', '%23')}" if text else ""
