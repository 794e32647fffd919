"""Search of a graph by text: nodes, regions and annotations."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import ParameterError, n_words
from genoviz.model import ByteStrings, PangenomeGraph, PathRegion
from genoviz.model.columns import distinct

_LOOKS_LIKE_A_PLACE = re.compile(r":\d[\d,]*(-\d[\d,]*)?$")


@dataclass(frozen=True, eq=False)
class Finding:
    """A search result.

    Attributes
    ----------
    kind
        Kind of the result.
    label
        Text to show for it.
    nodes
        int64, shape (n,): its nodes, ascending and without duplicates.
    region
        Its place on a path; None for nodes.
    """

    kind: Literal["node", "region", "annotation"]
    label: str
    nodes: np.ndarray
    region: PathRegion | None = None


def find(
    graph: PangenomeGraph,
    text: str,
    *,
    annotations: PlacedAnnotations | None = None,
    limit: int = 20,
) -> tuple[Finding, ...]:
    """Return up to ``limit`` possible meanings of a text, the likeliest first; may be empty.

    The text may be the name of a node, or several names separated by commas or spaces. It may be a
    path, a contig or a position, in the syntax of
    :func:`genoviz.analyses.graph.query.regions.resolve_region`; a short name is tried on each
    contig that it may refer to. Or it may be the prefix of an annotation name, in any case. Full
    matches come first, then short names; among equal names the longest annotation comes first.

    Raises
    ------
    ParameterError
        If the text has the form of a position but nothing is found; the message says why.
    """
    text = text.strip()
    if not text:
        return ()
    found = _find_nodes(graph, text)
    complaint = None
    try:
        regions = resolve_region(graph, text)
    except ParameterError as error:
        regions, complaint = _other_meanings(graph, text), error
    for region in regions[:limit]:
        nodes = distinct(find_region_steps(graph, region).nodes)
        found.append(Finding("region", str(region), nodes, region))
    if annotations is not None:
        found += _find_annotations(annotations, text, limit)
    if not found and complaint is not None and _LOOKS_LIKE_A_PLACE.search(text):
        raise complaint
    return tuple(found[:limit])


def _other_meanings(graph: PangenomeGraph, text: str) -> tuple[PathRegion, ...]:
    """Return the regions that a text may mean if several samples have its contig."""
    place = _LOOKS_LIKE_A_PLACE.search(text)
    name, rest = (text, "") if place is None else (text[: place.start()], text[place.start() :])
    regions: list[PathRegion] = []
    for contig in graph.path_directory.meanings(name):
        with suppress(ParameterError):  # a sample may lack a region that another one has
            regions += resolve_region(graph, f"{contig}{rest}")
    return tuple(regions)


def _find_nodes(graph: PangenomeGraph, text: str) -> list[Finding]:
    node = graph.node_names.find(text)
    if node >= 0:
        return [Finding("node", text, np.array([node], np.int64))]
    names = [name for name in re.split(r"[,;\s]+", text) if name]
    nodes = {graph.node_names.find(name) for name in names}
    if len(names) < 2 or -1 in nodes:
        return []
    return [Finding("node", n_words(len(nodes), "node"), np.array(sorted(nodes), np.int64))]


def _find_annotations(placed: PlacedAnnotations, text: str, limit: int) -> list[Finding]:
    annotations = placed.annotations
    is_match = np.zeros(len(annotations), bool)
    is_match[find_prefix(annotations.names, text)] = True
    places = np.flatnonzero(is_match[placed.rows])
    rows = placed.rows[places]
    lengths = placed.ends[places] - placed.starts[places]
    order = np.lexsort((rows, -lengths, annotations.names.lengths[rows]))[:limit]
    return [
        Finding("annotation", _label(placed, place), placed.nodes(place), placed.regions[place])
        for place in places[order].tolist()
    ]


def _label(placed: PlacedAnnotations, place: int) -> str:
    row = int(placed.rows[place])
    kind = placed.annotations.types[row]
    return placed.annotations.names[row] + (f" ({kind})" if kind else "")


def find_prefix(names: ByteStrings, prefix: str) -> np.ndarray:
    """Return the indices of names with this prefix, ignoring ASCII case; int64."""
    wanted = _lower(np.frombuffer(prefix.encode(), np.uint8))
    found = np.flatnonzero(names.lengths >= len(wanted))
    for position, byte in enumerate(wanted):
        found = found[_lower(names.data[names.offsets[found] + position]) == byte]
    return found


def _lower(data: np.ndarray) -> np.ndarray:
    return data + 32 * ((data >= ord("A")) & (data <= ord("Z"))).astype(np.uint8)
