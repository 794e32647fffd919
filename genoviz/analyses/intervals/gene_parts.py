"""Genes and exons of annotations, whatever kind of file these are from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from genoviz.model import Annotations, ByteStrings, Intervals


@dataclass(frozen=True, eq=False)
class GeneParts:
    """Genes with their names, and the exons of all of them; both on the same contigs."""

    genes: Intervals
    exons: Intervals


def find_gene_parts(annotations: Annotations) -> GeneParts:
    """Return what of annotations are genes, and what are exons.

    Of GFF and GTF, genes are the rows whose type ends with ``gene``, else transcripts (``mRNA``),
    else what the exons of one name span on a contig; exons are the rows ``exon``, else ``CDS``,
    else whole genes. Each row of BED is a gene, its blocks are exons, or all of it without blocks.
    """
    types = np.asarray(annotations.types.codes)
    of_bed = _rows_of(annotations, types, lambda name: name == "")
    exons = _rows_of(annotations, types, lambda name: name == "exon")
    if len(exons) == 0:
        exons = _rows_of(annotations, types, lambda name: name == "CDS")
    genes = _rows_of(annotations, types, lambda name: name.lower().endswith("gene"))
    if len(genes) == 0:
        genes = _rows_of(annotations, types, lambda name: name in ("transcript", "mRNA"))
    has_genes = len(genes) > 0
    columns = _columns(annotations, np.concatenate([genes, of_bed]))
    names = annotations.names.take(np.concatenate([genes, of_bed]))
    if not has_genes and len(exons):
        spans, rows = _span_by_name(annotations, exons)
        columns = [np.concatenate(pair) for pair in zip(spans, columns, strict=True)]
        names = annotations.names.take(np.concatenate([rows, of_bed]))
    whole = exons if len(exons) else genes
    blocks = _columns(annotations, whole), _blocks(annotations, of_bed)
    parts = [np.concatenate(pair) for pair in zip(*blocks, strict=True)]
    contigs = annotations.contigs.names
    return GeneParts(_intervals(contigs, columns, names), _intervals(contigs, parts, None))


def _rows_of(
    annotations: Annotations, types: np.ndarray, is_wanted: Callable[[str], bool]
) -> np.ndarray:
    wanted = np.array([is_wanted(name) for name in annotations.types.names], bool)
    return np.flatnonzero(wanted[types]) if len(wanted) else np.empty(0, np.int64)


def _columns(annotations: Annotations, rows: np.ndarray) -> list[np.ndarray]:
    return [annotations.contigs.codes[rows], annotations.starts[rows], annotations.ends[rows]]


def _blocks(annotations: Annotations, rows: np.ndarray) -> list[np.ndarray]:
    """Return contigs, starts and ends of the blocks of rows, or of the row where it has none."""
    offsets = annotations.block_offsets
    counts = offsets[rows + 1] - offsets[rows]
    whole = _columns(annotations, rows[counts == 0])
    owners = np.repeat(rows, counts)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    blocks = annotations.blocks[offsets[owners] + within]
    parts = [annotations.contigs.codes[owners], blocks[:, 0], blocks[:, 1]]
    return [np.concatenate(pair) for pair in zip(parts, whole, strict=True)]


def _span_by_name(
    annotations: Annotations, exons: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return contigs, starts and ends of what exons of one name span, and a row of each."""
    contigs, starts, ends = _columns(annotations, exons)
    texts = [*annotations.names.take(exons)]
    numbers: dict[tuple[int, str], int] = {}
    # Exons without a name belong to no other.
    keys = [
        (contig, text) if text else (-1 - row, "")
        for row, (contig, text) in enumerate(zip(contigs.tolist(), texts, strict=True))
    ]
    groups = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
    _, firsts = np.unique(groups, return_index=True)
    low, high = starts[firsts].copy(), ends[firsts].copy()
    np.minimum.at(low, groups, starts)
    np.maximum.at(high, groups, ends)
    return [contigs[firsts], low, high], exons[firsts]


def _intervals(
    contigs: tuple[str, ...], columns: list[np.ndarray], names: ByteStrings | None
) -> Intervals:
    ids, starts, ends = columns
    return Intervals(
        contigs, ids.astype(np.int32), starts.astype(np.int64), ends.astype(np.int64), names=names
    )
