"""Simulated genes and reads of their transcripts, spliced: an example of intervals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from genoviz.model import Intervals

CONTIG_LENGTHS = {"chr1": 260_000, "chr2": 140_000}
READ_LENGTH = 100
_BACKGROUND = 0.08

Block = tuple[int, int]


@dataclass(frozen=True)
class Gene:
    """A gene with one transcript.

    Attributes
    ----------
    name, contig, strand
        ``strand`` is ``"+"`` or ``"-"``.
    exons
        Starts and ends on the contig, ascending, bp.
    expression
        Reads of it, relative to other genes and per base.
    """

    name: str
    contig: str
    strand: str
    exons: tuple[Block, ...]
    expression: float

    @property
    def length(self) -> int:
        """Bases of all exons."""
        return sum(end - start for start, end in self.exons)


@dataclass(frozen=True)
class Read:
    """A read, as it is aligned; its blocks ascend and do not touch."""

    contig: str
    strand: str
    blocks: tuple[Block, ...]


def simulate_genes(seed: int = 0) -> tuple[Gene, ...]:
    """Return genes of two to nine exons along two contigs, sorted; the same for each seed."""
    random = Random(seed)
    genes = []
    for contig, length in CONTIG_LENGTHS.items():
        at = _between(random, 2_000, 6_000)
        while True:
            exons = []
            for _ in range(_between(random, 2, 10)):
                size = _between(random, 60, 320)
                exons.append((at, at + size))
                # Most introns are short, a few are very long.
                at += size + _between(random, 80, 400) + int(4_000 * random.random() ** 4)
            strand = "+-"[_between(random, 0, 2)]
            expression = 10 ** (2 * random.random())
            if exons[-1][1] > length - 2_000:
                break
            genes.append(Gene(f"gene{len(genes) + 1}", contig, strand, tuple(exons), expression))
            at += _between(random, 1_000, 9_000)
    return tuple(genes)


def simulate_reads(genes: tuple[Gene, ...], n_reads: int, seed: int = 0) -> tuple[Read, ...]:
    """Return reads of the genes' transcripts and a few of anywhere, sorted by contig and start."""
    random = Random(seed)
    weights = np.cumsum([gene.expression * gene.length for gene in genes])
    reads = []
    for _ in range(n_reads):
        strand = "+-"[_between(random, 0, 2)]
        if random.random() < _BACKGROUND:
            contig = [*CONTIG_LENGTHS][_between(random, 0, len(CONTIG_LENGTHS))]
            start = _between(random, 0, CONTIG_LENGTHS[contig] - READ_LENGTH)
            reads.append(Read(contig, strand, ((start, start + READ_LENGTH),)))
            continue
        gene = genes[int(np.searchsorted(weights, random.random() * weights[-1], "right"))]
        start = _between(random, 0, max(gene.length - READ_LENGTH, 0) + 1)
        reads.append(Read(gene.contig, strand, tuple(cut_transcript(gene, start))))
    ranks = {contig: rank for rank, contig in enumerate(CONTIG_LENGTHS)}
    return tuple(sorted(reads, key=lambda read: (ranks[read.contig], read.blocks, read.strand)))


def cut_transcript(gene: Gene, start: int) -> Iterator[Block]:
    """Yield where a read lies on the contig that begins at a base of the transcript.

    Examples
    --------
    >>> gene = Gene("gene1", "chr1", "+", ((0, 50), (200, 300)), 1.0)
    >>> list(cut_transcript(gene, 10))
    [(10, 50), (200, 260)]
    """
    stop, before = start + READ_LENGTH, 0
    for exon_start, exon_end in gene.exons:
        after = before + exon_end - exon_start
        if start < after and stop > before:
            first = exon_start + max(start - before, 0)
            yield first, min(exon_end, exon_start + stop - before)
        before = after


def exons_of(genes: tuple[Gene, ...]) -> Intervals:
    """Return the exons of genes, named GENE.1, GENE.2 along the contig."""
    rows = [
        (gene.contig, start, end, gene.strand, f"{gene.name}.{k}")
        for gene in genes
        for k, (start, end) in enumerate(gene.exons, 1)
    ]
    contigs, starts, ends, strands, names = zip(*rows, strict=True)
    return Intervals.from_columns(
        contigs, np.array(starts), np.array(ends), strands=strands, names=names
    )


def _between(random: Random, low: int, high: int) -> int:
    """Return an integer from low to below high; only ``random()`` is the same in all versions."""
    return low + int((high - low) * random.random())
