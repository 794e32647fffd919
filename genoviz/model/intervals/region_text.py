"""Regions of contigs as people write them: contig, contig:position, contig:start-end."""

from __future__ import annotations

from collections.abc import Container, Iterable

from genoviz.errors import ParameterError
from genoviz.model.graph.path_region import MAX_POSITION, PathRegion, split_region
from genoviz.model.intervals.intervals import aliases

WHOLE = MAX_POSITION
"""The end of a region that has all of its contig."""


def parse_region(text: str, contigs: Iterable[str]) -> PathRegion:
    """Return the region of a text; 0-based half-open, and one base of ``contig:position``.

    A contig that is not among ``contigs`` is taken for the one that it is another name of, as by
    `map_contigs`: 1 for chr1, MT for chrM. One that is none of them keeps its name.

    Raises
    ------
    ParameterError
        If the text is empty, or the region ends before it begins or is beyond any contig.

    Examples
    --------
    >>> parse_region("1:1,000-2,500", ["chr1", "HLA:9"])
    PathRegion(path='chr1', start=1000, end=2500)
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
    """Return the contig that a name stands for; itself where it is one, or several would do."""
    found = [other for other in aliases(name) if other in known]
    return found[0] if name not in known and len(found) == 1 else name
