"""Sort order of hits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.model.columns import iter_row_slices
from genoviz_app.pages.offtargets.hits.bulge_kinds import kind_of
from genoviz_app.pages.offtargets.search.genes import HitGenes
from genoviz_app.pages.offtargets.search.running import SearchResult

UNKNOWN = 1_000
DIFFERENCES, START, STRAND = "Differences", "Start", "±"
PRESENT, REFERENCE = "Has it", "In reference"
SEED, GENE, CLASS = "Seed", "Gene", "In"


@dataclass(frozen=True)
class HitOrder:
    """Sort order of hits: a column, and whether it descends."""

    column: str = DIFFERENCES
    is_descending: bool = False


def sort_rows(
    result: SearchResult, rows: np.ndarray, order: HitOrder, genes: HitGenes | None = None
) -> np.ndarray:
    """Sort rows by a column; ties are sorted by position."""
    hits = result.hits
    if order.column == START and not order.is_descending:
        keys = hits.positions[rows]
    elif order.column in (GENE, CLASS):
        keys = _gene_key(rows, order.column, genes)
    else:
        keys = _key(result, rows, order.column)
    if keys is None:
        return rows
    if keys.dtype == np.uint8:
        return _sort_by_level(rows, keys, order.is_descending)
    if order.is_descending:
        if keys.dtype.kind == "f":
            np.negative(keys, out=keys)
        else:
            keys = -keys.astype(np.int64)
    found = np.argsort(keys, kind="stable")
    for part in iter_row_slices(len(found)):
        found[part] = rows[found[part]]
    return found


def _sort_by_level(rows: np.ndarray, keys: np.ndarray, is_descending: bool) -> np.ndarray:
    """Sort rows by keys of few values, stably, with no memory but that of the result."""
    counts = sum(np.bincount(keys[part], minlength=256) for part in iter_row_slices(len(keys)))
    found, first = np.empty_like(rows), 0
    levels = np.flatnonzero(counts)
    for level in (levels[::-1] if is_descending else levels).tolist():
        for part in iter_row_slices(len(keys)):
            some = rows[part][keys[part] == level]
            found[first : first + len(some)] = some
            first += len(some)
    return found


def _key(result: SearchResult, rows: np.ndarray, column: str) -> np.ndarray | None:
    hits = result.hits
    if column == "Guide":
        return hits.guide_ids[rows]
    if column in ("Contig", START):
        return hits.positions[rows]
    if column == STRAND:
        return -hits.strands[rows].astype(np.int64)
    if column == "Mismatches":
        return hits.mismatches[rows]
    if column == "Bulge":
        return kind_of(result, rows).astype(np.uint8)
    if column == "CFD" and result.cfd is not None:
        return np.nan_to_num(result.cfd[rows], copy=False, nan=-1.0)
    if column == SEED:
        return result.seeds[rows]
    if column == DIFFERENCES:
        return hits.mismatches[rows] + hits.bulge_sizes[rows]
    return _graph_key(result, rows, column)


def _gene_key(rows: np.ndarray, column: str, genes: HitGenes | None) -> np.ndarray | None:
    """Return classes, or ranks of gene names, where "" is last."""
    if genes is None:
        return None
    if column == CLASS:
        return genes.classes[rows]
    ids = genes.annotation.gene_ids[rows]
    used, places = np.unique(ids, return_inverse=True)
    names = [genes.annotation.genes.names[gene] if gene >= 0 else "" for gene in used.tolist()]
    order = sorted(range(len(names)), key=lambda k: (not names[k], names[k].lower()))
    ranks = np.empty(len(names), np.int64)
    ranks[order] = np.arange(len(names))
    return ranks[places]


def _graph_key(result: SearchResult, rows: np.ndarray, column: str) -> np.ndarray | None:
    sites = result.sites
    if sites is None:
        return None
    if column == PRESENT:
        return sites.n_with[rows]
    if column == REFERENCE and sites.reference is not None:
        mismatches = sites.reference.sites.mismatches[rows].astype(np.int64)
        keys = np.where(mismatches < 0, UNKNOWN, mismatches)
        return np.where(sites.reference.sites.is_present[rows], -1, keys)
    return None
