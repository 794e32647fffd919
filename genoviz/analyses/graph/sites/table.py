"""Variation sites as TSV or BED text, in coordinates of the reference's contig."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from genoviz.analyses.graph.sites.kinds import SiteKind
from genoviz.analyses.graph.sites.results import VariationSites
from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph

COLUMNS = (
    "contig",
    "start",
    "end",
    "id",
    "kind",
    "level",
    "parent",
    "n_alleles",
    "n_paths",
    "n_traversals",
    "reference_length",
    "min_length",
    "max_length",
    "n_nodes",
    "reference_visits",
    "allele_lengths",
    "allele_counts",
    "allele_walks",
)
BLOCK_SITES = 20_000


def site_id(graph: PangenomeGraph, sites: VariationSites, index: int) -> str:
    """Return the ID of a site from its boundary nodes, e.g. ``>12>15``, ``<`` for reverse."""
    ends = (int(sites.sources[index]), int(sites.sinks[index]))
    return "".join(f"{'><'[handle & 1]}{graph.node_names[handle >> 1]}" for handle in ends)


def iter_site_lines(
    graph: PangenomeGraph,
    sites: VariationSites,
    *,
    form: str = "tsv",
    chosen: np.ndarray | None = None,
) -> Iterator[str]:
    """Yield the table of sites, many lines at a time; each line ends with a newline.

    Start and end count from the first base of the contig, 0-based half-open. If the reference
    path's name has a range (``name:start-end``), its start is added, and the contig is the name
    without the range.

    Parameters
    ----------
    graph, sites
        The graph, and its sites.
    form
        ``tsv``: a header and all columns of `COLUMNS`; lengths, numbers of
        traversals and numbers of walks of the alleles are separated by commas, the reference
        allele's first. ``bed``: BED6 whose name is
        the kind, and whose score is the number of alleles, at most 1000.
    chosen
        Indices of the sites to list; by default all.

    Raises
    ------
    ParameterError
        If the form is unknown.
    """
    if form not in ("tsv", "bed"):
        raise ParameterError(f"the form of a table of sites is {form!r}, needs 'tsv' or 'bed'")
    if form == "tsv":
        yield "\t".join(COLUMNS) + "\n"
    chosen = np.arange(len(sites)) if chosen is None else np.asarray(chosen, np.int64)
    for first in range(0, len(chosen), BLOCK_SITES):
        block = chosen[first : first + BLOCK_SITES]
        rows = _bed_rows(graph, sites, block) if form == "bed" else _tsv_rows(graph, sites, block)
        yield "".join("\t".join(map(str, row)) + "\n" for row in rows)


def iter_gap_lines(graph: PangenomeGraph, sites: VariationSites) -> Iterator[str]:
    """Yield a BED line for each stretch where the graph branches outside all sites."""
    name = graph.placed_name(sites.reference)
    gaps = zip(sites.gap_starts.tolist(), sites.gap_ends.tolist(), strict=True)
    for start, end in gaps:
        yield f"{name.whole}\t{start + name.start}\t{end + name.start}\n"


def _places(graph: PangenomeGraph, sites: VariationSites, block: np.ndarray) -> tuple:
    name = graph.placed_name(sites.reference)
    starts, ends = sites.starts[block] + name.start, sites.ends[block] + name.start
    return [name.whole] * len(block), starts.tolist(), ends.tolist()


def _kinds(sites: VariationSites, block: np.ndarray) -> list[str]:
    labels = [kind.label for kind in SiteKind]
    return [labels[kind] for kind in sites.kinds[block].tolist()]


def _bed_rows(graph: PangenomeGraph, sites: VariationSites, block: np.ndarray) -> Iterator[tuple]:
    scores = np.minimum(sites.n_alleles[block], 1000).tolist()
    return zip(
        *_places(graph, sites, block),
        _kinds(sites, block),
        scores,
        ["."] * len(block),
        strict=True,
    )


def _tsv_rows(graph: PangenomeGraph, sites: VariationSites, block: np.ndarray) -> Iterator[tuple]:
    ids = [site_id(graph, sites, index) for index in block.tolist()]
    parents = [
        "." if parent < 0 else site_id(graph, sites, parent)
        for parent in sites.parents[block].tolist()
    ]
    numbers = (
        sites.n_alleles,
        sites.n_paths,
        sites.n_traversals,
        sites.reference_lengths,
        sites.min_lengths,
        sites.max_lengths,
        sites.n_nodes,
        sites.n_reference_visits,
    )
    return zip(
        *_places(graph, sites, block),
        ids,
        _kinds(sites, block),
        sites.levels[block].tolist(),
        parents,
        *(values[block].tolist() for values in numbers),
        _lists(sites.allele_lengths, sites.allele_offsets, block),
        _lists(sites.allele_counts, sites.allele_offsets, block),
        _lists(sites.allele_n_walks, sites.allele_offsets, block),
        strict=True,
    )


def _lists(values: np.ndarray, offsets: np.ndarray, block: np.ndarray) -> list[str]:
    """Return the comma-separated values of each site of a block."""
    ends = np.concatenate([[0], np.cumsum(offsets[block + 1] - offsets[block])])
    rows = np.arange(ends[-1]) + np.repeat(offsets[block] - ends[:-1], np.diff(ends))
    texts = list(map(str, values[rows].tolist()))
    return [",".join(texts[first:stop]) for first, stop in pairwise(ends.tolist())]
