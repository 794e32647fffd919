"""The state in a link (page, files, region, colours and view), so that a view can be shared.

Panel's own ``location.sync`` silently drops all values if one is invalid. Here each is validated
separately, and problems are reported.
"""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, fields
from difflib import get_close_matches
from typing import Any
from urllib.parse import parse_qs, urlencode

from genoviz.errors import ParameterError
from genoviz.model import PathRegion as Region
from genoviz_app.parts.words import shorten
from genoviz_app.session.split import Split

View = tuple[float, float, float, float]
WHOLE: View = (0.0, 0.0, 0.0, 0.0)
MAX_K, MAX_LOWER = 100_000, 10_000
FARTHEST_BP = 1e15
MIN_BP = 1e-6
MAX_COMPLAINT, MAX_KEY, MAX_DIGITS = 300, 40, 24


@dataclass(frozen=True)
class Address:
    """The validated query string of a URL.

    Attributes
    ----------
    page
        Slug of the page, or "" for the first.
    split
        The page that is docked beside or below the layout, or None.
    file
        Name of a sample or path of a file on the server, or "" for none.
    layout
        Path of the layout of that graph; ``kept:KEY`` for one that a tab computed; or "".
    annotations
        Paths of the annotations of that graph.
    tracks
        Paths of the files that are drawn as tracks.
    looks
        Non-default track styles; see ``genoviz_app.pages.tracks.address``.
    depths
        Sets of paths whose depth is drawn: ``sample:HG002`` or ``path:a|b``.
    region
        The region that pages show, or None. Links have it as ``at=path:start-end``, 1-based with an
        inclusive end as on the pages; ``region=``, 0-based and half-open, is from older links.
    colour
        Colouring of the picture, or "" for the default.
    paths
        The paths, or groups of paths, that the colouring needs.
    group
        Grouping of paths for the colouring: "sample", "haplotype"; or "" for each path.
    shape
        Folding of the layout in the picture, or "" for automatic.
    sequences
        Name of a sample or path of the sequences or of the index of k-mers; "graph" for the paths
        of the graph.
    kmers
        The k-mers to search, as written.
    strand
        Strands to count: "forward" or "canonical"; "" for both.
    k
        Length of the k-mers in spectra, or 0 for the default.
    tab
        View of a page, or "" for the first.
    genome
        Name of a sample or path of the genome that off-targets are searched in.
    guides
        The guides, as they were written.
    pam
        Their PAM: ``-NGG`` at the 3' end, ``TTTV-`` at the 5' end, or ``none``.
    limits
        Mismatches, and DNA and RNA bulges in nt: ``4,1,0``.
    genes
        Name of a sample or path of the genes that annotate hits; "graph" for the annotations of the
        open graph.
    hits
        Filter of the listed hits, if not all; see ``genoviz_app.pages.offtargets.link``.
    genotypes
        Name of a sample or path of the genotypes.
    phenotypes
        Path of the table of their samples' phenotypes.
    trait, covariates
        Names of columns of that table.
    kept
        Thresholds of quality: ``maf:0.05;hwe:1e-06``; see ``genoviz_app.pages.genotypes.link``.
    variant, conditions
        The selected variant, and those that scans are conditional on: ID or ``contig:position``.
    zoom
        Visible range of the genome-wide plot, bp from its left end; or None for all of it.
    window
        Size of the region around the variant: ``50snps``, ``200kb``.
    model
        Association model, if not the default.
    genetic_model, interaction
        What a copy of A1 does there, if not the default; and the covariate that interacts.
    blup
        Prediction settings: ``h2:0.3;stop:1e-08``; see
        ``genoviz_app.pages.genotypes.prediction.request_text``.
    pedigree
        Path of the pedigree to predict with.
    results
        Results to compute at once: "association", "prediction".
    lit
        Highlights; see ``genoviz_app.session.lit_links``.
    view
        Visible part of the picture, ``(x_min, x_max, y_min, y_max)`` in bp; `WHOLE`, which links
        have as ``all``; or None for the region, or everything if there is none.
    story
        Whether to show the views of a story, which follow the ``#``: "1" or "".
    lower
        Height of the panels below the picture, px; 0 for the default.
    panel
        Panel below the picture, "" for the first; see `Dock.slug`.
    complaints
        Problems of the link, one sentence each.
    """

    page: str = ""
    split: Split | None = None
    file: str = ""
    layout: str = ""
    annotations: tuple[str, ...] = ()
    tracks: tuple[str, ...] = ()
    looks: tuple[str, ...] = ()
    depths: tuple[str, ...] = ()
    region: Region | None = None
    colour: str = ""
    group: str = ""
    paths: tuple[str, ...] = ()
    shape: str = ""
    sequences: str = ""
    kmers: str = ""
    strand: str = ""
    k: int = 0
    tab: str = ""
    genome: str = ""
    guides: str = ""
    pam: str = ""
    limits: str = ""
    genes: str = ""
    hits: str = ""
    genotypes: str = ""
    phenotypes: str = ""
    trait: str = ""
    covariates: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    kept: str = ""
    variant: str = ""
    zoom: tuple[float, float] | None = None
    window: str = ""
    model: str = ""
    genetic_model: str = ""
    interaction: str = ""
    blup: str = ""
    pedigree: str = ""
    results: tuple[str, ...] = ()
    lit: tuple[str, ...] = ()
    view: View | None = None
    story: str = ""
    lower: int = 0
    panel: str = ""
    complaints: tuple[str, ...] = ()

    @classmethod
    def parse(cls, query: str, *, pages: tuple[str, ...]) -> Address:
        """Parse a query string such as ``?page=pangenome&file=drb1``."""
        values = parse_qs(query.lstrip("?"))
        complaints = [_unknown_key(name) for name in values if name not in KEYS | FOREIGN_KEYS]
        said: dict[str, Any] = {
            each.name: tuple(values[key]) if each.default == () else values[key][-1]
            for key, each in _FIELDS.items()
            if key in values
        }
        page = said.get("page", "")
        if OLD_REGION in values:
            said.setdefault("region", values[OLD_REGION][-1])
        if page and page not in pages:
            complaints.append(f"The link names page {page!r}; there are {', '.join(pages)}.")
            del said["page"]
        for name, parse in (
            ("region", parse_place if "at" in values else Region.parse),
            ("view", parse_view),
            ("zoom", parse_zoom),
            ("k", lambda text: parse_whole("k", text, 1, MAX_K)),
            ("lower", lambda text: parse_whole("lower", text, 1, MAX_LOWER)),
            ("split", lambda text: Split.parse(text, pages=pages[1:])),
            ("story", lambda _: "1"),
        ):
            if name in said:
                text = said.pop(name)
                try:
                    said[name] = parse(text)
                except ParameterError as error:
                    complaints.append(f"The link is not followed all the way: {error}.")
        return cls(**said, complaints=tuple(shorten(text, MAX_COMPLAINT) for text in complaints))

    def of_page(self, slug: str) -> Address:
        """Return the part that concerns one page, by the page's slug."""
        return Address(**{name: getattr(self, name) for name in OF_PAGES.get(slug, ())})

    @property
    def query(self) -> str:
        """The query string, with its question mark; "" if it is empty."""
        said = {key: _say(getattr(self, each.name), each) for key, each in _FIELDS.items()}
        text = urlencode({k: v for k, v in said.items() if v}, doseq=True, safe="/:#,")
        return f"?{text.replace('#', '%23')}" if text else ""


OF_PAGES = {
    "pangenome": ("colour", "group", "paths", "shape", "view", "panel"),
    "tracks": ("looks", "depths"),
    "kmers": ("sequences", "kmers", "strand", "k"),
    "offtargets": ("genome", "guides", "pam", "limits", "genes", "hits"),
    "genotypes": (
        *("trait", "covariates", "kept", "variant", "zoom", "window", "model", "genetic_model"),
        *("conditions", "interaction", "blup", "pedigree", "results"),
    ),
}
"""Keys of a single page, which are applied when the page is shown; others apply at once."""
# Keys that may be repeated are named in the singular.
_KEYS = {
    "tracks": "track",
    "looks": "look",
    "depths": "depth",
    "paths": "path",
    "covariates": "covariate",
    "conditions": "condition",
    "results": "result",
    "genetic_model": "genetic-model",
    "region": "at",
}
_FIELDS = {
    _KEYS.get(each.name, each.name): each for each in fields(Address) if each.name != "complaints"
}
OLD_REGION = "region"
KEYS = frozenset({*_FIELDS, OLD_REGION})
FOREIGN_KEYS = frozenset({"theme", "code", "state", "bokeh-session-id"})
"""Keys used by the server itself or by the login."""


def _say(value: Any, field: Field) -> str | tuple[str, ...]:
    """Return the value of a field in a link; a tuple is written item by item."""
    if isinstance(value, Region):
        return f"{value.path}:{value.start + 1}-{value.end}"
    if value == WHOLE:
        return "all"
    if isinstance(value, tuple) and field.default != ():
        return ",".join(f"{number:.12g}" for number in value)
    return value if isinstance(value, tuple | str) else str(value or "")


def _unknown_key(name: str) -> str:
    """Return the complaint about an unknown key."""
    likely = get_close_matches(name, KEYS, n=1)
    advice = f"{likely[0]!r} may be meant" if likely else "take it out of the link"
    return f"The link has {shorten(repr(name), MAX_KEY)}, which no page knows; {advice}."


def parse_place(text: str) -> Region:
    """Return the region of ``path:start-end`` or ``path:position``, 1-based, inclusive.

    Raises
    ------
    ParameterError
        If it is not a region.

    Examples
    --------
    >>> parse_place("chr7:1,000-2,000"), parse_place("chr7:5")
    (PathRegion(path='chr7', start=999, end=2000), PathRegion(path='chr7', start=4, end=5))
    """
    name, _, span = text.strip().rpartition(":")
    first, _, last = span.partition("-")
    digits = first.replace(",", "")
    if not name or not (digits.isascii() and digits.isdigit()):
        raise ParameterError(f"at is {text!r}, needs path:start-end")
    if int(digits[:MAX_DIGITS]) == 0:
        raise ParameterError(f"at is {text!r}, and the first base is 1")
    half_open = f"{name}:{int(digits[:MAX_DIGITS]) - 1}-{last or first}"
    try:
        return Region.parse(half_open)
    except ParameterError as error:
        raise ParameterError(str(error).replace(half_open, text)) from None


def parse_view(text: str) -> View:
    """Return the view of ``x_min,x_max,y_min,y_max``, in bp, or of ``all``.

    Raises
    ------
    ParameterError
        If these are not four numbers of a rectangle, or no picture can show it.

    Examples
    --------
    >>> parse_view("0,1e6,-5,250.5")
    (0.0, 1000000.0, -5.0, 250.5)
    """
    if text == "all":
        return WHOLE
    try:
        x_min, x_max, y_min, y_max = (float(part) for part in text.split(","))
    except ValueError:
        x_min = x_max = y_min = y_max = math.nan
    is_near = all(abs(value) <= FARTHEST_BP for value in (x_min, x_max, y_min, y_max))
    if not (is_near and min(x_max - x_min, y_max - y_min) >= MIN_BP):
        raise ParameterError(f"view is {text!r}, needs x_min,x_max,y_min,y_max in bp")
    return x_min, x_max, y_min, y_max


def parse_zoom(text: str) -> tuple[float, float]:
    """Return the range ``start,end``.

    Raises
    ------
    ParameterError
        If these are not two numbers, the first below the second.

    Examples
    --------
    >>> parse_zoom("-10.5,1e6")
    (-10.5, 1000000.0)
    """
    try:
        start, end = (float(part) for part in text.split(","))
    except ValueError:
        start = end = math.nan
    if not -math.inf < start < end < math.inf:
        raise ParameterError(f"zoom is {text!r}, needs start,end in bp")
    return start, end


def parse_whole(name: str, text: str, minimum: int, maximum: int) -> int:
    """Parse an integer that belongs to a name.

    Raises
    ------
    ParameterError
        If it is not a whole number from ``minimum`` to ``maximum``.
    """
    if not text.isascii() or not text.isdigit() or not minimum <= int(text) <= maximum:
        raise ParameterError(f"{name} is {text!r}, needs a number from {minimum:,} to {maximum:,}")
    return int(text)
