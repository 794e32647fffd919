"""The genes at off-target hits; genes and exons of annotations, whatever file these are from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from genoviz.analyses.intervals.count import count_overlaps
from genoviz.analyses.intervals.pairs import nearest_intervals
from genoviz.model import Annotations, ByteStrings, Intervals
from genoviz.model.columns import expand_counts
from genoviz.model.intervals.intervals import map_contigs
from genoviz.model.offtargets.hits import OffTargetHits


@dataclass(frozen=True, eq=False)
class GeneParts:
    """Genes with their names, the exons of all of them, both on the same contigs, and notes."""

    genes: Intervals
    exons: Intervals
    notes: tuple[str, ...] = ()


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
    genes, exons = _intervals(contigs, columns, names), _intervals(contigs, parts, None)
    return GeneParts(genes, exons, tuple(annotations.notes))


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
    places, within = expand_counts(counts)
    owners = rows[places]
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


@dataclass(frozen=True, eq=False)
class Gene:
    """A gene on a contig.

    Attributes
    ----------
    name, contig, start, end
        Positions are 0-based half-open, bp.
    strand
        1, -1, or 0 where it is not known, which counts as 1.
    exons
        int64, shape (n, 2): where exons begin and end within the gene, ascending and apart; all of
        the gene where none are known.
    """

    name: str
    contig: str
    start: int
    end: int
    strand: int
    exons: np.ndarray

    @property
    def label(self) -> str:
        """Where it is."""
        return f"{self.contig}:{self.start}-{self.end}"

    def is_exonic(self, position: int) -> bool:
        """Return whether a base is in an exon."""
        return bool(((self.exons[:, 0] <= position) & (position < self.exons[:, 1])).any())

    def position_of(self, cut: int) -> float:
        """Return the share of the bases of exons that are before a cut, 5' to 3' of the gene."""
        before = np.clip(cut - self.exons[:, 0], 0, self.exons[:, 1] - self.exons[:, 0]).sum()
        share = float(before / (self.exons[:, 1] - self.exons[:, 0]).sum())
        return 1 - share if self.strand < 0 else share


def find_genes_named(
    annotations: Annotations, name: str, contigs: tuple[str, ...]
) -> tuple[list[Gene], tuple[str, ...]]:
    """Return the genes of a name on some contigs, and notes on contigs named otherwise.

    Case counts only where several names differ by it alone.
    """
    parts = find_gene_parts(annotations)
    genes, exons = (map_contigs(part, contigs) for part in (parts.genes, parts.exons))
    texts = [*genes.names]
    rows = [row for row, text in enumerate(texts) if text == name]
    if not rows:
        rows = [row for row, text in enumerate(texts) if text.lower() == name.lower()]
    found = []
    for row in rows:
        number, start, end = (
            int(column[row]) for column in (genes.contig_ids, genes.starts, genes.ends)
        )
        if not 0 <= number < len(genes.contigs) or genes.contigs[number] not in contigs:
            continue
        contig = genes.contigs[number]
        is_within = (exons.starts < end) & (exons.ends > start)
        is_within &= np.array([text == contig for text in exons.contigs], bool)[exons.contig_ids]
        spans = np.stack([exons.starts, exons.ends], axis=1)[is_within].clip(start, end)
        is_same = (annotations.starts == start) & (annotations.ends == end)
        strands = annotations.strands[is_same]
        strand = int(strands[0]) if len(strands) else 0
        found.append(Gene(texts[row], contig, start, end, strand, _join(spans, start, end)))
    return found, tuple(genes.notes)


def _join(spans: np.ndarray, start: int, end: int) -> np.ndarray:
    """Return spans that overlap or touch as one each; one of all without any."""
    joined: list[list[int]] = []
    for first, last in sorted(spans.tolist()):
        if joined and first <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], last)
        else:
            joined.append([first, last])
    return np.array(joined or [[start, end]], np.int64)


class SiteClass(IntEnum):
    """Where a hit lies: over a base of an exon, else within a gene, else in no gene."""

    EXON = 0
    INTRON = 1
    INTERGENIC = 2

    @property
    def label(self) -> str:
        """The word in tables."""
        return self.name.lower()


@dataclass(frozen=True, eq=False)
class HitAnnotations:
    """The gene of each hit.

    Attributes
    ----------
    genes
        All genes, with their names, on contigs as the genome names them.
    gene_ids
        int64, shape (n_hits,): the gene that a hit overlaps (of several the first by start), else
        the nearest; -1 where its contig has none.
    distances
        int64, shape (n_hits,), bp: 0 in a gene, 1 beside it, and so on; -1 without a gene.
    classes
        uint8, shape (n_hits,): values of `SiteClass`.
    n_genes
        int64, shape (n_hits,): how many genes a hit overlaps.
    notes
        Contigs that were renamed or are unknown, one sentence each.
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
        """Return the names of the genes of hits; "" without a gene, or where it has no name."""
        ids = self.gene_ids[rows]
        names = np.full(len(ids), "", object)
        names[ids >= 0] = [*self.genes.names.take(ids[ids >= 0])]
        return names.tolist()

    def class_labels(self, rows: np.ndarray | slice = slice(None)) -> list[str]:
        """Return ``exon``, ``intron`` or ``intergenic`` for hits."""
        labels = np.array([kind.label for kind in SiteClass], object)
        return labels[self.classes[rows]].tolist()


def hit_intervals(hits: OffTargetHits) -> Intervals:
    """Return the sites of hits, PAM included, as intervals in the order of the hits.

    Contigs of one name are taken for one.
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
        What `find_offtargets` returns.
    annotations
        What `read_annotations` returns, or, where hits come part by part, what `find_gene_parts`
        makes of that; it says what counts as a gene and an exon. Contigs may be named 1 for chr1,
        or MT for chrM; the notes tell.
    """
    sites = hit_intervals(hits)
    parts = annotations if isinstance(annotations, GeneParts) else find_gene_parts(annotations)
    genes, exons = (map_contigs(part, sites.contigs) for part in (parts.genes, parts.exons))
    nearest = nearest_intervals(sites, genes)
    in_exon = count_overlaps(sites, exons, backend="cpu") > 0
    n_genes = count_overlaps(sites, genes, backend="cpu").astype(np.int64)
    classes = np.full(len(hits), SiteClass.INTERGENIC, np.uint8)
    classes[n_genes > 0] = SiteClass.INTRON
    classes[in_exon] = SiteClass.EXON
    return HitAnnotations(
        genes,
        nearest.subjects,
        nearest.distances,
        classes,
        n_genes,
        (*parts.notes, *genes.notes),
    )
