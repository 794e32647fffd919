"""Places on contigs as people write them: 1-based, both ends included, with commas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from genoviz.errors import ParameterError
from genoviz.model import PathRegion
from genoviz.model.intervals.contig_names import aliases

SMALLEST_VIEW = 20
FEATURE_MARGIN = 0.15
_STRETCH = re.compile(r"^(\d[\d,]*)(?:\s*(?:-|\.\.|to)\s*(\d[\d,]*))?$")

FindFeature = Callable[[str], PathRegion | None]


def write_place(region: PathRegion) -> str:
    """Return a region as browsers write it.

    Examples
    --------
    >>> write_place(PathRegion("chr7", 27_099_999, 27_300_000))
    'chr7:27,100,000-27,300,000'
    """
    return f"{region.path}:{region.start + 1:,}-{region.end:,}"


def describe_extent(region: PathRegion | None, bin_bp: int) -> str:
    """Return how much is shown and what a bin means, as HTML; empty without a region.

    Examples
    --------
    >>> describe_extent(PathRegion("chr7", 0, 9000), 20)
    '<p><span>9,000 bp</span><span>20 bp bins</span></p>'
    """
    if region is None:
        return ""
    said = f"{bin_bp:,} bp bins" if bin_bp > 1 else "exact"
    return f"<p><span>{region.length:,} bp</span><span>{said}</span></p>"


def parse_place(
    text: str, *, contigs: Mapping[str, int], shown: str, find: FindFeature
) -> PathRegion:
    """Return the region that a person asks for.

    Parameters
    ----------
    text
        ``chr7:27,100,000-27,300,000``, a contig, a stretch or one base of the shown contig, or
        the name of a feature.
    contigs
        Length of each contig by its name.
    shown
        The contig that is shown.
    find
        Returns where the feature of a name lies, or None.

    Raises
    ------
    ParameterError
        If there is no such place.

    Examples
    --------
    >>> parse_place("7:11-30", contigs={"chr7": 100}, shown="", find=lambda name: None)
    PathRegion(path='chr7', start=10, end=30)
    """
    text = text.strip()
    contig = known_contig(text, contigs)
    if contig is not None:
        return PathRegion(contig, 0, contigs[contig])
    name, colon, stretch = text.rpartition(":")
    match = _STRETCH.match(stretch.strip())
    contig = known_contig(name.strip(), contigs) if colon else shown
    if match is not None and contig in contigs:
        return _stretch_of(text, contig, contigs[contig], match)
    found = find(text)
    if found is not None:
        return found
    if match is not None and colon:
        raise ParameterError(f"there is no contig {name!r} in the open files")
    raise ParameterError(
        f"{text!r} is no place here; needs contig:start-end (the first base is 1), a contig, "
        "or the name of a feature"
    )


def known_contig(name: str, contigs: Mapping[str, int]) -> str | None:
    """Return a contig by its name or by another way to write it, or None."""
    if name in contigs:
        return name
    return next((other for other in aliases(name) if other in contigs), None) if name else None


def _stretch_of(text: str, contig: str, length: int, match: re.Match) -> PathRegion:
    first = int(match[1].replace(",", ""))
    last = int(match[2].replace(",", "")) if match[2] else first
    if not 1 <= first <= last:
        raise ParameterError(
            f"{text!r} goes from base {first:,} to {last:,}, needs 1 <= start <= end"
        )
    if first > length:
        raise ParameterError(f"{text!r} begins beyond the end of {contig}, at {length:,} bp")
    return PathRegion(contig, first - 1, min(last, length))


def with_margin(region: PathRegion, length: int) -> PathRegion:
    """Return a region with some room on both sides, to see a feature whole."""
    margin = max(int(region.length * FEATURE_MARGIN), SMALLEST_VIEW // 2)
    return PathRegion(region.path, max(region.start - margin, 0), min(region.end + margin, length))
