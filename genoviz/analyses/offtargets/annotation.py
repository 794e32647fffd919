"""Annotation of off-target hits with genes and exons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from genoviz.analyses.intervals.count import count_overlaps
from genoviz.analyses.intervals.coverage import coverage_fraction
from genoviz.analyses.intervals.pairs import nearest_intervals
from genoviz.model import Annotations, ByteStrings, Intervals
from genoviz.model.columns import expand_counts
from genoviz.model.intervals.annotations import is_gene_type
from genoviz.model.intervals.intervals import map_contigs
from genoviz.model.offtargets.hits import OffTargetHits


@dataclass(frozen=True, eq=False)
class GeneParts:
    """Genes with names, all exons on the same contigs, and notes.

    Attributes
    ----------
    genes, exons
        The genes and exons.
    rows
        int64, shape (n_genes,): the annotation that each gene is, or its first exon.
    exon_rows
        int64, ascending: the annotations of GFF and GTF that are exons.
    exon_genes
        int64, shape (n_exons,): the gene of each exon, -1 if the annotations do not tell.
    """

    genes: Intervals
    exons: Intervals
    rows: np.ndarray
    exon_rows: np.ndarray
    exon_genes: np.ndarray
    notes: tuple[str, ...] = ()


def find_gene_parts(annotations: Annotations) -> GeneParts:
    """Return the genes and exons of annotations.

    In GFF and GTF, genes are the rows whose type ends with ``gene``; without these, transcripts
    (``mRNA``); without these, the span of exons with one name on a contig. Exons are rows of type
    ``exon``, and of type ``CDS`` where these are not within exons: in NCBI's annotations of
    bacteria, only genes of RNAs have ``exon``. Exons belong to the gene that `Annotations.genes`
    tells, if any, and a gene without any is one exon. In BED, each row is a gene, and its blocks,
    or the whole row, are exons.
    """
    types = np.asarray(annotations.types.codes)
    of_bed = _rows_of(annotations, types, lambda name: name == "")
    exons, coding = (
        _rows_of(annotations, types, lambda name, kind=kind: name == kind)
        for kind in ("exon", "CDS")
    )
    genes = _rows_of(annotations, types, is_gene_type)
    if len(genes) == 0:
        genes = _rows_of(annotations, types, lambda name: name in ("transcript", "mRNA"))
    rows = np.concatenate([genes, of_bed])
    columns = _columns(annotations, rows)
    contigs = annotations.contigs.names
    if len(exons) == 0:
        exons = coding
    elif len(coding):
        pair = (_intervals(contigs, _columns(annotations, some), None) for some in (coding, exons))
        alone = coverage_fraction(*pair, backend="cpu").fractions < 1
        of_coding = annotations.genes[coding]
        alone |= (of_coding >= 0) & ~np.isin(of_coding, annotations.genes[exons])
        exons = np.sort(np.concatenate([exons, coding[alone]]))
    if len(genes) == 0 and len(exons):
        spans, firsts = _span_by_name(annotations, exons)
        columns = [np.concatenate(pair) for pair in zip(spans, columns, strict=True)]
        rows = np.concatenate([firsts, of_bed])
    names = annotations.names.take(rows)
    loose = exons[~are_of_genes(annotations, exons, genes)]
    pair = (_intervals(contigs, _columns(annotations, some), None) for some in (genes, loose))
    has_exons = are_of_genes(annotations, genes, exons) | (count_overlaps(*pair, backend="cpu") > 0)
    alone = np.flatnonzero(~has_exons)
    blocks = (
        _columns(annotations, np.concatenate([exons, genes[alone]])),
        blocks_of_rows(annotations, of_bed),
    )
    parts = [np.concatenate(pair) for pair in zip(*blocks, strict=True)]
    n_blocks = np.diff(annotations.block_offsets)[of_bed]
    of_blocks = len(rows) - len(of_bed) + np.arange(len(of_bed))
    of_blocks = np.concatenate([np.repeat(of_blocks, n_blocks), of_blocks[n_blocks == 0]])
    of_exons = _genes_of(annotations, exons, rows[: len(rows) - len(of_bed)])
    owners = [of_exons, alone, of_blocks]
    return GeneParts(
        _intervals(contigs, columns, names),
        _intervals(contigs, parts, None),
        rows,
        exons,
        np.concatenate(owners),
        tuple(annotations.notes),
    )


def are_of_genes(annotations: Annotations, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return which rows are of the same gene as any of the others."""
    genes = annotations.genes
    return (genes[rows] >= 0) & np.isin(genes[rows], genes[others])


def _genes_of(annotations: Annotations, exons: np.ndarray, genes: np.ndarray) -> np.ndarray:
    """Return the place among ``genes`` of the gene of each exon, or -1.

    A gene may be on a contig several times; then it is the last that begins before the exon.
    """
    rows = np.concatenate([genes, exons])
    places = np.concatenate([np.arange(len(genes)), np.full(len(exons), -1)])
    codes, contigs = annotations.genes[rows], annotations.contigs.codes[rows]
    order = np.lexsort((places < 0, annotations.starts[rows], contigs, codes))
    is_gene = places[order] >= 0
    last = np.maximum.accumulate(np.where(is_gene, np.arange(len(rows)), -1))
    before = order[np.maximum(last, 0)]
    is_same = (last >= 0) & (codes[order] >= 0)
    is_same &= (codes[before] == codes[order]) & (contigs[before] == contigs[order])
    found = np.empty(len(rows), np.int64)
    found[order] = np.where(is_same, places[before], -1)
    return found[len(genes) :]


def _rows_of(
    annotations: Annotations, types: np.ndarray, is_wanted: Callable[[str], bool]
) -> np.ndarray:
    wanted = np.array([is_wanted(name) for name in annotations.types.names], bool)
    return np.flatnonzero(wanted[types]) if len(wanted) else np.empty(0, np.int64)


def _columns(annotations: Annotations, rows: np.ndarray) -> list[np.ndarray]:
    return [annotations.contigs.codes[rows], annotations.starts[rows], annotations.ends[rows]]


def blocks_of_rows(annotations: Annotations, rows: np.ndarray) -> list[np.ndarray]:
    """Return contigs, starts and ends of the blocks of rows; a row without blocks is one block."""
    offsets = annotations.block_offsets
    counts = offsets[rows + 1] - offsets[rows]
    whole = _columns(annotations, rows[counts == 0])
    places, within = expand_counts(counts)
    owners = rows[places]
    blocks = annotations.blocks[offsets[owners] + within]
    parts = [annotations.contigs.codes[owners], blocks[:, 0], blocks[:, 1]]
    return [np.concatenate(pair) for pair in zip(parts, whole, strict=True)]


def _span_by_name(
    annotations: Annotations, exons: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the spans of exons with the same name, and a row of each."""
    contigs, starts, ends = _columns(annotations, exons)
    texts = [*annotations.names.take(exons)]
    numbers: dict[tuple[int, str], int] = {}
    # Each exon without a name stands alone.
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


class SiteClass(IntEnum):
    """Location of a hit: overlapping an exon, within a gene otherwise, or intergenic."""

    EXON = 0
    INTRON = 1
    INTERGENIC = 2

    @property
    def label(self) -> str:
        """The word shown in tables."""
        return self.name.lower()


@dataclass(frozen=True, eq=False)
class HitAnnotations:
    """The gene at or near each hit.

    Attributes
    ----------
    genes
        All genes with their names, on contigs named as in the genome.
    gene_ids
        int64, shape (n_hits,): the gene that a hit overlaps (that of its first exon there by start,
        or else the first gene by start), else the nearest; -1 if its contig has none.
    distances
        int64, shape (n_hits,), bp: 0 within a gene, 1 if adjacent, and so on; -1 without a gene.
    classes
        uint8, shape (n_hits,): values of `SiteClass`.
    n_genes
        int64, shape (n_hits,): number of genes that a hit overlaps.
    notes
        Renamed or unknown contigs, one sentence each.
    """

    genes: Intervals
    gene_ids: np.ndarray
    distances: np.ndarray
    classes: np.ndarray
    n_genes: np.ndarray
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.gene_ids)

    def gene_names(self, rows: np.ndarray | slice = slice(None)) -> list[str]:
        """Return the gene names of hits; "" if there is no gene or it has no name."""
        ids = self.gene_ids[rows]
        names = np.full(len(ids), "", object)
        names[ids >= 0] = [*self.genes.names.take(ids[ids >= 0])]
        return names.tolist()

    def class_labels(self, rows: np.ndarray | slice = slice(None)) -> list[str]:
        """Return ``exon``, ``intron`` or ``intergenic`` for hits."""
        labels = np.array([kind.label for kind in SiteClass], object)
        return labels[self.classes[rows]].tolist()


def hit_intervals(hits: OffTargetHits) -> Intervals:
    """Return the sites of hits, PAM included, as intervals in the same order.

    Contigs with the same name are merged.
    """
    ranks: dict[str, int] = {}
    rank_of = np.array([ranks.setdefault(name, len(ranks)) for name in hits.planes.names], np.int32)
    ids = rank_of[hits.contig_ids] if len(hits) else np.empty(0, np.int32)
    return Intervals(
        tuple(ranks), ids, hits.starts, hits.starts + hits.lengths, strands=hits.strands
    )


def annotate_hits(hits: OffTargetHits, annotations: Annotations | GeneParts) -> HitAnnotations:
    """Return the gene at or near each hit, and whether it is in an exon.

    Parameters
    ----------
    hits
        Result of `find_offtargets`.
    annotations
        Result of `read_annotations`. If hits come in parts, pass the result of `find_gene_parts`
        instead; see there what counts as a gene or an exon. Contig names may differ, such as 1 for
        chr1 or MT for chrM; the notes report this.
    """
    sites = hit_intervals(hits)
    parts = annotations if isinstance(annotations, GeneParts) else find_gene_parts(annotations)
    genes, exons = (map_contigs(part, sites.contigs) for part in (parts.genes, parts.exons))
    nearest = nearest_intervals(sites, genes)
    in_exon = count_overlaps(sites, exons, backend="cpu") > 0
    n_genes = count_overlaps(sites, genes, backend="cpu").astype(np.int64)
    gene_ids = nearest.subjects.copy()
    shared = np.flatnonzero(in_exon & (n_genes > 1))
    owners = parts.exon_genes[nearest_intervals(sites.select(shared), exons).subjects]
    shared, owners = shared[owners >= 0], owners[owners >= 0]
    is_there = genes.starts[owners] < sites.ends[shared]
    is_there &= genes.ends[owners] > sites.starts[shared]
    gene_ids[shared[is_there]] = owners[is_there]
    classes = np.full(len(hits), SiteClass.INTERGENIC, np.uint8)
    classes[n_genes > 0] = SiteClass.INTRON
    classes[in_exon] = SiteClass.EXON
    return HitAnnotations(
        genes,
        gene_ids,
        nearest.distances,
        classes,
        n_genes,
        (*parts.notes, *genes.notes),
    )
