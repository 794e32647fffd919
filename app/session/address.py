"""What a link carries: page, files, region, colours and view, so that a view can be sent on.

Panel's own ``location.sync`` drops all values silently when one is wrong; here each is checked
on its own, and what is wrong is said.
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
MAX_K, MAX_LOWER = 100_000, 10_000
FARTHEST_BP = 1e15
MIN_BP = 1e-6
MAX_COMPLAINT, MAX_KEY = 300, 40


@dataclass(frozen=True)
class Address:
    """The part of a URL after the question mark, checked.

    Attributes
    ----------
    page
        Slug of the page, or "" for the first.
    split
        The page that is docked beside or below the layout, or None.
    file
        Name of a sample or path of a file on the server, or "" for none.
    layout
        Path of the layout of that graph, or "".
    annotations
        Paths of the annotations of that graph.
    tracks
        Paths of the files that are drawn as tracks.
    looks
        How tracks are drawn, where that is not the usual way; see
        ``genoviz_app.pages.tracks.address``.
    depths
        Sets of paths whose depth is drawn: ``sample:HG002`` or ``path:a|b``.
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
    sequences
        Name of a sample or path of the sequences or of the index of k-mers; "graph" for the paths
        of the graph.
    kmers
        The k-mers that are looked for, as they were written.
    strand
        Which strands count: "forward" or "canonical"; "" for both.
    k
        Length of the k-mers that spectra are about, or 0 for the default.
    tab
        Which view of a page is shown, or "" for the first.
    genome
        Name of a sample or path of the genome that off-targets are searched in.
    guides
        The guides, as they were written.
    pam
        Their PAM: ``-NGG`` at the 3' end, ``TTTV-`` at the 5' end, or ``none``.
    limits
        Mismatches, and DNA and RNA bulges in nt: ``4,1,0``.
    genes
        Name of a sample or path of the genes that are named at hits; "graph" for the annotations
        of the open graph.
    hits
        Which hits are listed, where that is not all; see ``genoviz_app.pages.offtargets.link``.
    genotypes
        Name of a sample or path of the genotypes.
    phenotypes
        Path of the table of their samples' phenotypes.
    trait, covariates
        Names of columns of that table.
    kept
        Thresholds of quality: ``maf:0.05;hwe:1e-06``; see ``genoviz_app.pages.genotypes.link``.
    variant
        ID of the variant that is looked at, or ``contig:position``, 1-based.
    zoom
        Which part of the plot along the genome is shown, ``(start, end)`` in bp from its left end,
        contigs side by side; or None for all of it.
    window
        How much around it is shown: ``50snps``, ``200kb``; see
        ``genoviz_app.pages.genotypes.link``.
    model
        Of association, where it is not the usual one.
    blup
        How to predict: ``h2:0.3;stop:1e-08``; see
        ``genoviz_app.pages.genotypes.prediction.request_text``.
    pedigree
        Path of the pedigree to predict with.
    results
        What is computed at once: "association", "prediction".
    lit
        What is lit up; see ``genoviz_app.session.lit_sets.write_lit``.
    view
        What the picture shows, ``(x_min, x_max, y_min, y_max)`` in bp, or None for everything.
    story
        Whether the views of a story are shown, which are behind the ``#``: "1" or "".
    lower
        How high the panels under the picture are, px; 0 for as high as usual.
    panel
        Which panel under the picture is shown, "" for the first; see `Dock.slug`.
    complaints
        What was wrong with the link, one sentence each.
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
    kept: str = ""
    variant: str = ""
    zoom: tuple[float, float] | None = None
    window: str = ""
    model: str = ""
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
        """Return what a query string such as ``?page=pangenome&file=drb1`` asks for."""
        values = parse_qs(query.lstrip("?"))
        complaints = [_unknown_key(name) for name in values if name not in KEYS | FOREIGN_KEYS]
        said: dict[str, Any] = {
            each.name: tuple(values[key]) if each.default == () else values[key][-1]
            for key, each in _FIELDS.items()
            if key in values
        }
        page = said.get("page", "")
        if page and page not in pages:
            complaints.append(f"The link names page {page!r}; there are {', '.join(pages)}.")
            del said["page"]
        for name, parse in (
            ("region", Region.parse),
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
        """Return what it says for one page alone, by the page's name in links."""
        return Address(**{name: getattr(self, name) for name in OF_PAGES.get(slug, ())})

    @property
    def query(self) -> str:
        """The query string, with its question mark; "" when there is nothing to say."""
        said = {key: _say(getattr(self, each.name), each) for key, each in _FIELDS.items()}
        text = urlencode({k: v for k, v in said.items() if v}, doseq=True, safe="/:#,")
        return f"?{text.replace('#', '%23')}" if text else ""


OF_PAGES = {
    "pangenome": ("colour", "group", "paths", "shape", "view", "panel"),
    "tracks": ("looks", "depths"),
    "kmers": ("sequences", "kmers", "strand", "k"),
    "offtargets": ("genome", "guides", "pam", "limits", "genes", "hits"),
    "genotypes": (
        *("trait", "covariates", "kept", "variant", "zoom", "window", "model", "blup"),
        *("pedigree", "results"),
    ),
}
"""What of a link is for one page, and waits until that is shown; the rest is for what is seen."""
# What a link says several times, once for each, has its name in the singular there.
_SINGULAR = {
    "tracks": "track",
    "looks": "look",
    "depths": "depth",
    "paths": "path",
    "covariates": "covariate",
    "results": "result",
}
_FIELDS = {
    _SINGULAR.get(each.name, each.name): each
    for each in fields(Address)
    if each.name != "complaints"
}
KEYS = frozenset(_FIELDS)
FOREIGN_KEYS = frozenset({"theme", "code", "state", "bokeh-session-id"})
"""What the server itself understands, or those who let people in."""


def _say(value: Any, field: Field) -> str | tuple[str, ...]:
    """Return what a link says of a field; a tuple is said item by item."""
    if isinstance(value, tuple) and field.default != ():
        return ",".join(f"{number:.12g}" for number in value)
    return value if isinstance(value, tuple | str) else str(value or "")


def _unknown_key(name: str) -> str:
    """Return that a link says something that nothing here understands."""
    likely = get_close_matches(name, KEYS, n=1)
    advice = f"{likely[0]!r} may be meant" if likely else "take it out of the link"
    return f"The link has {shorten(repr(name), MAX_KEY)}, which no page knows; {advice}."


def parse_view(text: str) -> View:
    """Return the view that ``x_min,x_max,y_min,y_max`` names, in bp.

    Raises
    ------
    ParameterError
        If these are not four numbers of a rectangle, or ones that no picture can show.

    Examples
    --------
    >>> parse_view("0,1e6,-5,250.5")
    (0.0, 1000000.0, -5.0, 250.5)
    """
    try:
        x_min, x_max, y_min, y_max = (float(part) for part in text.split(","))
    except ValueError:
        x_min = x_max = y_min = y_max = math.nan
    is_near = all(abs(value) <= FARTHEST_BP for value in (x_min, x_max, y_min, y_max))
    if not (is_near and min(x_max - x_min, y_max - y_min) >= MIN_BP):
        raise ParameterError(f"view is {text!r}, needs x_min,x_max,y_min,y_max in bp")
    return x_min, x_max, y_min, y_max


def parse_zoom(text: str) -> tuple[float, float]:
    """Return the stretch that ``start,end`` names.

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


def parse_whole(name: str, text: str, least: int, most: int) -> int:
    """Return the number that a text has for a name.

    Raises
    ------
    ParameterError
        If it is not a whole number from ``least`` to ``most``.
    """
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise ParameterError(f"{name} is {text!r}, needs a number from {least:,} to {most:,}")
    return int(text)
