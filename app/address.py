"""What a link carries: page, file and region, so that a view can be sent to a colleague.

Panel's own ``location.sync`` drops all values silently when one is wrong; here each is checked
on its own, and what is wrong is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

from genoviz.errors import ParameterError
from genoviz.model import PathRegion

Region = PathRegion


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
    region: PathRegion | None = None
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
                region = PathRegion.parse(values["region"])
            except ParameterError as error:
                complaints.append(f"The link is not followed all the way: {error}.")
        return cls(page, values.get("file", ""), region, tuple(complaints))

    @property
    def query(self) -> str:
        """The query string, with its question mark; "" when there is nothing to say."""
        items = {"page": self.page, "file": self.file, "region": str(self.region or "")}
        text = urlencode({name: value for name, value in items.items() if value}, safe="/:#")
        return f"?{text.replace('#', '%23')}" if text else ""
