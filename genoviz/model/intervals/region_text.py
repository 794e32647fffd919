"""Parsing of regions on contigs: contig, contig:position, contig:start-end."""

from __future__ import annotations

from collections.abc import Container, Iterable

from genoviz.errors import ParameterError
from genoviz.model.graph.path_region import MAX_POSITION, PathRegion, split_region
from genoviz.model.intervals.intervals import aliases

WHOLE = MAX_POSITION
"""End of a region that covers its whole contig."""


def parse_region(text: str, contigs: Iterable[str]) -> PathRegion:
    """Parse a region; 0-based half-open; ``contig:position`` is a single base.

    A contig that is not in ``contigs`` is matched by its alternative names, as in `map_contigs`:
    1 for chr1, MT for chrM. Without a match it is unchanged.

    Raises
    ------
    ParameterError
        If the text is empty, or the region ends before it starts or exceeds any contig.

    Examples
    --------
    >>> parse_region("1:1,000-2,500", ["chr1", "HLA:9"])
    PathRegion(path='chr1', start=1000, end=2500)
    >>> parse_region("1", ["chr1"]).path, parse_region("1", ["chr1"]).start
    ('chr1', 0)
    >>> parse_region("chr1:7", ["chr1"]).end, parse_region("HLA:9", ["HLA:9"]).path
    (8, 'HLA:9')
    """
    text = text.strip()
    known = frozenset(contigs)
    name = _own_name(text, known)
    found = None if name in known else split_region(text)
    if found is None:
        if not text:
            raise ParameterError(
                "region is empty, needs CONTIG, CONTIG:POSITION or CONTIG:START-END"
            )
        return PathRegion(name, 0, WHOLE)
    contig, start, end = found
    return PathRegion(_own_name(contig, known), start, start + 1 if end is None else end)


def _own_name(name: str, known: Container[str]) -> str:
    """Return the known contig for a name; unchanged if it is known or ambiguous."""
    found = [other for other in aliases(name) if other in known]
    return found[0] if name not in known and len(found) == 1 else name
