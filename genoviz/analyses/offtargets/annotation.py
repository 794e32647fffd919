"""The genes at off-target hits."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from genoviz.analyses.intervals.count import count_overlaps
from genoviz.analyses.intervals.gene_parts import find_gene_parts
from genoviz.analyses.intervals.pairs import nearest_intervals
from genoviz.model import Annotations, Intervals
from genoviz.model.intervals.contig_names import map_contigs
from genoviz.model.offtargets.hits import OffTargetHits


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


def annotate_hits(hits: OffTargetHits, annotations: Annotations) -> HitAnnotations:
    """Return the gene at or near each hit, and whether it is in an exon.

    Parameters
    ----------
    hits
        What `find_offtargets` returns.
    annotations
        What `read_annotations` returns; `find_gene_parts` says what counts as a gene and an exon.
        Contigs may be named 1 for chr1, or MT for chrM; the notes tell.
    """
    sites = hit_intervals(hits)
    parts = find_gene_parts(annotations)
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
        (*annotations.notes, *genes.notes),
    )
