"""Targets of guide design: a gene or region of a contig or path, or a separate sequence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.query.regions import resolve_region
from genoviz.analyses.offtargets.annotation import (
    GeneParts,
    are_of_genes,
    blocks_of_rows,
    find_gene_parts,
)
from genoviz.analyses.offtargets.path_hits import PathPlanes, annotations_on_paths
from genoviz.analyses.offtargets.reference import find_reference_paths
from genoviz.errors import ParameterError, n_words
from genoviz.model import Annotations
from genoviz.model.graph.path_region import split_region
from genoviz.model.intervals.intervals import map_contigs
from genoviz.model.offtargets.genome_planes import GenomePlanes


@dataclass(frozen=True, eq=False)
class Gene:
    """A gene on a contig.

    Attributes
    ----------
    name, contig, start, end
        Positions are 0-based half-open, bp.
    strand
        1, -1, or 0 if unknown, which is treated as 1.
    exons
        int64, shape (n, 2): exon bounds within the gene, ascending and disjoint; the whole gene if
        unknown.
    """

    name: str
    contig: str
    start: int
    end: int
    strand: int
    exons: np.ndarray

    @property
    def label(self) -> str:
        """The location as text."""
        return f"{self.contig}:{self.start}-{self.end}"

    def is_exonic(self, position: int) -> bool:
        """Return whether a base is in an exon."""
        return bool(((self.exons[:, 0] <= position) & (position < self.exons[:, 1])).any())

    def position_of(self, cut: int) -> float:
        """Return the share of exonic bases before a cut, 5' to 3' along the gene."""
        before = np.clip(cut - self.exons[:, 0], 0, self.exons[:, 1] - self.exons[:, 0]).sum()
        share = float(before / (self.exons[:, 1] - self.exons[:, 0]).sum())
        return 1 - share if self.strand < 0 else share


def find_genes_named(
    annotations: Annotations, name: str, contigs: tuple[str, ...]
) -> tuple[list[Gene], tuple[str, ...]]:
    """Return the genes of a name on some contigs, and notes on renamed contigs.

    Case is ignored unless several names differ only in case.
    """
    parts = find_gene_parts(annotations)
    genes = map_contigs(parts.genes, contigs)
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
        owner = int(parts.rows[row])
        spans = _exons_of(annotations, parts, owner, start, end).clip(start, end)
        strand = int(annotations.strands[owner])
        exons = _join(spans, start, end)
        found.append(Gene(texts[row], genes.contigs[number], start, end, strand, exons))
    return found, tuple(genes.notes)


def _exons_of(
    annotations: Annotations, parts: GeneParts, gene: int, start: int, end: int
) -> np.ndarray:
    """Return the bounds of the exons of a gene from start to end; int64, shape (n, 2).

    Where the annotations do not tell the genes of exons, those on the other strand are of another
    gene. So are those of other names, if some have the name of the gene.
    """
    rows = np.array([gene])
    if annotations.types[gene]:
        strand, codes, exons = annotations.strands[gene], annotations.contigs.codes, parts.exon_rows
        rows = exons[codes[exons] == codes[gene]]
        rows = rows[(annotations.starts[rows] < end) & (annotations.ends[rows] > start)]
        is_own = are_of_genes(annotations, rows, np.array([gene]))
        if is_own.any():
            rows = rows[is_own]
        else:
            rows = rows[annotations.strands[rows] * strand >= 0]
            rows = rows[~are_of_genes(annotations, rows, parts.rows)]
            names, name = annotations.names, annotations.names[gene]
            is_named = np.array([names[row] == name for row in rows], bool)
            rows = rows[is_named] if is_named.any() else rows
    _, starts, ends = blocks_of_rows(annotations, rows)
    return np.stack([starts, ends], axis=1)


def _join(spans: np.ndarray, start: int, end: int) -> np.ndarray:
    """Merge spans that overlap or touch; without spans, return the whole range."""
    joined: list[list[int]] = []
    for first, last in sorted(spans.tolist()):
        if joined and first <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], last)
        else:
            joined.append([first, last])
    return np.array(joined or [[start, end]], np.int64)


@dataclass(frozen=True, eq=False)
class Target:
    """The target: part of a contig, which may be a gene, or a separate sequence.

    Attributes
    ----------
    contig
        The contig or path.
    letters
        uint8, shape (n,): the whole contig, in upper case.
    start, end
        The target range, bp, 0-based half-open.
    gene
        The gene, if the target is one.
    is_foreign
        Whether the sequence is not part of the genome.
    """

    contig: str
    letters: np.ndarray
    start: int
    end: int
    gene: Gene | None = None
    is_foreign: bool = False


def reference_of(target: Target, planes: PathPlanes, reference: str | None) -> str:
    """Return the path of a target; the reference for a sequence that is on no path."""
    if not target.is_foreign:
        return target.contig
    return reference or planes.usual_reference or planes.names[0]


def letters_of(planes: GenomePlanes | PathPlanes, contig: str) -> np.ndarray:
    """Return the letters of a contig; uint8."""
    number = list(planes.names).index(contig)
    first, last = planes.offsets[number : number + 2].tolist()
    return planes.cut(first, last)


def find_region_target(
    text: str, planes: GenomePlanes | PathPlanes, reference: str | None = None
) -> Target | None:
    """Return the region that a text names, or None if the text is not a region.

    If several paths of a graph have it, those of the reference are used.

    Parameters
    ----------
    text
        ``CONTIG:START-END``, 0-based half-open; ``CONTIG:POSITION``, a base; or a contig.
    planes
        The genome, or the paths of a graph.
    reference
        A path or sample of a graph; the default reference if None.

    Raises
    ------
    ParameterError
        If there is no such contig, or the region exceeds it or, on a graph, each of its paths.
    """
    place = None if text in planes.names else split_region(text)
    if place is None and text not in planes.names:
        return None
    if isinstance(planes, PathPlanes):
        return _find_on_paths(text, place, planes, reference)
    name, start, end = (text, 0, None) if place is None else place
    if name not in planes.names:
        raise ParameterError(f"no contig is named {name!r}; {_some(planes)}")
    letters = letters_of(planes, name)
    if place is None:
        return Target(name, letters, 0, len(letters))
    last = start + 1 if end is None else end
    if last > len(letters):
        raise ParameterError(f"{name} ends at {len(letters):,}, needs to reach {last:,}")
    return Target(name, letters, start, last)


def _find_on_paths(
    text: str,
    place: tuple[str, int, int | None] | None,
    planes: PathPlanes,
    reference: str | None,
) -> Target:
    """Return a region on the first path that has all of it, one of the reference if possible."""
    preferred = _preferred_paths(planes, reference)
    found = sorted(resolve_region(planes.graph, text), key=lambda part: part.path not in preferred)
    if place is not None:
        _, start, end = place
        length = 1 if end is None else end - start
        whole = [part for part in found if part.length == length]
        if not whole:
            parts = ", ".join(f"{part.path}:{part.start}-{part.end}" for part in found[:4])
            raise ParameterError(
                f"{text} is not on one path as a whole, but in part: {parts}; name one of these"
            )
        found = whole
    part = found[0]
    return Target(part.path, letters_of(planes, part.path), part.start, part.end)


def _some(planes: GenomePlanes | PathPlanes) -> str:
    names = list(planes.names)
    return f"there are {len(names):,}, such as {', '.join(names[:3])}" if names else "there is none"


def _preferred_paths(planes: PathPlanes, reference: str | None) -> set[str]:
    chosen = reference or planes.usual_reference
    if not chosen:
        return set()
    return {planes.names[row] for row in find_reference_paths(planes.graph, chosen).tolist()}


def find_gene_target(
    name: str,
    planes: GenomePlanes | PathPlanes,
    annotations: Annotations,
    reference: str | None = None,
) -> tuple[Target | None, tuple[str, ...]]:
    """Return the gene with a name (None if no searched contig has it), and notes.

    Parameters
    ----------
    planes, reference
        As for `find_region_target`.
    annotations
        The annotations with genes.
    """
    preferred: set[str] = set()
    if isinstance(planes, PathPlanes):
        annotations, _ = annotations_on_paths(planes, annotations)
        preferred = _preferred_paths(planes, reference)
    found, notes = find_genes_named(annotations, name, tuple(planes.names))
    if not found:
        return None, notes
    gene = min(found, key=lambda gene: gene.contig not in preferred)
    if len(found) > 1:
        notes += (
            f"{n_words(len(found), 'gene is', 'genes are')} named {name}; taken is {gene.label}",
        )
    return Target(gene.contig, letters_of(planes, gene.contig), gene.start, gene.end, gene), notes
