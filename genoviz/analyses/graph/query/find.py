"""What people mean by a text: a node, a region or an annotation."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz.analyses.graph.query.path_positions import find_region_steps
from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.errors import ParameterError
from genoviz.model import ByteStrings, PangenomeGraph, PathRegion

_LOOKS_LIKE_A_PLACE = re.compile(r":\d[\d,]*(-\d[\d,]*)?$")


@dataclass(frozen=True, eq=False)
class Finding:
    """Something of a graph that has a name.

    Attributes
    ----------
    kind
        What it is.
    label
        What to call it.
    nodes
        int64, shape (n,): its nodes, ascending and once each.
    region
        Where it is on a path; None for nodes.
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
    """Return what a text may mean, the likeliest first, at most ``limit``; nothing may be there.

    It may be the name of a node, or several names with commas or spaces between; a path, a contig
    or a place on one, as :func:`genoviz.analyses.graph.query.regions.resolve_region` reads it, on
    each contig that a short name may stand for; or how the name of an annotation begins, whatever
    its case: whole names come first, then short ones, and of one name the longest stretch.

    Raises
    ------
    ParameterError
        If the text reads as a place, and nothing is found; says what is wrong with it.
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
        nodes = np.unique(find_region_steps(graph, region).nodes)
        found.append(Finding("region", str(region), nodes, region))
    if annotations is not None:
        found += _find_annotations(annotations, text, limit)
    if not found and complaint is not None and _LOOKS_LIKE_A_PLACE.search(text):
        raise complaint
    return tuple(found[:limit])


def _other_meanings(graph: PangenomeGraph, text: str) -> tuple[PathRegion, ...]:
    """Return the regions that a text may mean whose contig several samples have."""
    place = _LOOKS_LIKE_A_PLACE.search(text)
    name, rest = (text, "") if place is None else (text[: place.start()], text[place.start() :])
    regions: list[PathRegion] = []
    for contig in graph.path_directory.meanings(name):
        with suppress(ParameterError):  # what one of them has, another may not
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
    return [Finding("node", f"{len(nodes):,} nodes", np.array(sorted(nodes), np.int64))]


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
    """Return the indices of the names that begin with a text, in any case of a-z; int64."""
    wanted = _lower(np.frombuffer(prefix.encode(), np.uint8))
    found = np.flatnonzero(names.lengths >= len(wanted))
    for position, byte in enumerate(wanted):
        found = found[_lower(names.data[names.offsets[found] + position]) == byte]
    return found


def _lower(data: np.ndarray) -> np.ndarray:
    return data + 32 * ((data >= ord("A")) & (data <= ord("Z"))).astype(np.uint8)
