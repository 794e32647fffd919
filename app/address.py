"""What a link carries: page, files, region, colours and view, so that a view can be sent on.

Panel's own ``location.sync`` drops all values silently when one is wrong; here each is checked
on its own, and what is wrong is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlencode

from genoviz.errors import ParameterError
from genoviz.model import PathRegion as Region

View = tuple[float, float, float, float]


@dataclass(frozen=True)
class Address:
    """The part of a URL after the question mark, checked.

    Attributes
    ----------
    page
        Slug of the page, or "" for the first.
    file
        Name of a sample or path of a file on the server, or "" for none.
    layout
        Path of the layout of that graph, or "".
    annotations
        Paths of the annotations of that graph.
    tracks
        Paths of the files that are drawn as tracks.
    region
        The region that pages show, or None.
    colour
        What the picture is coloured by, or "" for the default.
    paths
        The paths, or groups of paths, that the colours need.
    group
        What makes a group of paths for the colours: "sample", "haplotype"; or "" for each path.
    shape
        How the layout lies in the picture, or "" for what suits it.
    view
        What the picture shows, ``(x_min, x_max, y_min, y_max)`` in bp, or None for everything.
    complaints
        What was wrong with the link, one sentence each.
    """

    page: str = ""
    file: str = ""
    layout: str = ""
    annotations: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    region: Region | None = None
    colour: str = ""
    paths: tuple[str, ...] = ()
    group: str = ""
    shape: str = ""
    view: View | None = None
    complaints: tuple[str, ...] = ()

    @classmethod
    def parse(cls, query: str, *, pages: tuple[str, ...]) -> Address:
        """Return what a query string such as ``?page=pangenome&file=drb1`` asks for."""
        values = parse_qs(query.lstrip("?"))
        last = {name: items[-1] for name, items in values.items()}
        complaints = []
        page = last.get("page", "")
        if page and page not in pages:
            complaints.append(f"The link names page {page!r}; there are {', '.join(pages)}.")
            page = ""
        checked: dict[str, Any] = {"region": None, "view": None}
        for name, parse in (("region", Region.parse), ("view", parse_view)):
            try:
                checked[name] = parse(last[name]) if name in last else None
            except ParameterError as error:
                complaints.append(f"The link is not followed all the way: {error}.")
        return cls(
            page=page,
            file=last.get("file", ""),
            layout=last.get("layout", ""),
            annotations=tuple(values.get("annotations", ())),
            tracks=tuple(values.get("track", ())),
            colour=last.get("colour", ""),
            paths=tuple(values.get("path", ())),
            group=last.get("group", ""),
            shape=last.get("shape", ""),
            complaints=tuple(complaints),
            **checked,
        )

    @property
    def query(self) -> str:
        """The query string, with its question mark; "" when there is nothing to say."""
        items = {
            "page": self.page,
            "file": self.file,
            "layout": self.layout,
            "annotations": self.annotations,
            "track": self.tracks,
            "region": str(self.region or ""),
            "colour": self.colour,
            "group": self.group,
            "path": self.paths,
            "shape": self.shape,
            "view": ",".join(f"{value:.12g}" for value in self.view or ()),
        }
        said = {name: value for name, value in items.items() if value}
        text = urlencode(said, doseq=True, safe="/:#,")
        return f"?{text.replace('#', '%23')}" if text else ""


def parse_view(text: str) -> View:
    """Return the view that ``x_min,x_max,y_min,y_max`` names, in bp.

    Raises
    ------
    ParameterError
        If these are not four numbers of a rectangle.

    Examples
    --------
    >>> parse_view("0,1e6,-5,250.5")
    (0.0, 1000000.0, -5.0, 250.5)
    """
    try:
        x_min, x_max, y_min, y_max = (float(part) for part in text.split(","))
    except ValueError:
        x_min = x_max = y_min = y_max = math.nan
    if not (
        math.isfinite(x_min) and x_min < x_max < math.inf and -math.inf < y_min < y_max < math.inf
    ):
        raise ParameterError(f"view is {text!r}, needs x_min,x_max,y_min,y_max in bp")
    return x_min, x_max, y_min, y_max
