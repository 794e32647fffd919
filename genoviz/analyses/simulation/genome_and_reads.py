"""Simulated data: a genome that is hard to search, genes, and spliced reads.

Like real genomes, it has repeats, gaps and soft masking.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model import Intervals
from genoviz.model.sequences.bases import reverse_complement

CONTIG_LENGTHS = {"chr1": 260_000, "chr2": 140_000}
READ_LENGTH = 100
_BACKGROUND = 0.08
Block = tuple[int, int]
CONTIG_SHARES = {"chr1": 0.6, "chr2": 0.32, "chr3": 0.08}
MIN_BASES = 20_000
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_LOWER = 0x20
# Probabilities of the next base after A, C, G and T; CG is rare, as in vertebrates.
_NEXT_BASE = np.array(
    [
        [0.33, 0.17, 0.24, 0.26],
        [0.35, 0.25, 0.05, 0.35],
        [0.29, 0.21, 0.25, 0.25],
        [0.22, 0.20, 0.25, 0.33],
    ]
)
_FAMILY_LENGTHS = (300, 450, 1_100, 2_400)
_SHARE_OF_REPEATS = 0.30
_MONOMER = 171
Record = tuple[str, np.ndarray]


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
        Relative number of reads per base.
    """

    name: str
    contig: str
    strand: str
    exons: tuple[Block, ...]
    expression: float

    @property
    def length(self) -> int:
        """Total length of the exons."""
        return sum(end - start for start, end in self.exons)


@dataclass(frozen=True)
class Read:
    """An aligned read; its blocks ascend and do not touch."""

    contig: str
    strand: str
    blocks: tuple[Block, ...]


def simulate_genes(seed: int = 0) -> tuple[Gene, ...]:
    """Return genes of two to nine exons on two contigs, sorted; reproducible by seed."""
    random = Random(seed)
    genes = []
    for contig, length in CONTIG_LENGTHS.items():
        at = _between(random, 2_000, 6_000)
        while True:
            exons = []
            for _ in range(_between(random, 2, 10)):
                size = _between(random, 60, 320)
                exons.append((at, at + size))
                # Most introns are short, and a few are very long.
                at += size + _between(random, 80, 400) + int(4_000 * random.random() ** 4)
            strand = "+-"[_between(random, 0, 2)]
            expression = 10 ** (2 * random.random())
            if exons[-1][1] > length - 2_000:
                break
            genes.append(Gene(f"gene{len(genes) + 1}", contig, strand, tuple(exons), expression))
            at += _between(random, 1_000, 9_000)
    return tuple(genes)


def simulate_reads(genes: tuple[Gene, ...], n_reads: int, seed: int = 0) -> tuple[Read, ...]:
    """Return reads of transcripts, and a few from random positions, by contig and start."""
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
    """Yield the blocks on the contig of a read that begins at a base of the transcript.

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
    """Return the exons of genes, named GENE.1, GENE.2, ... along the contig."""
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
    """Return an integer in [low, high), from ``random()``, which is stable across versions."""
    return low + int((high - low) * random.random())


def simulate_genome(n_bases: int = 200_000, *, seed: int = 0) -> list[Record]:
    """Return names and bases (uint8) of three contigs, reproducible by seed.

    About 30 % of the bases are copies of four families of interspersed repeats, on both strands and
    up to 15 % diverged from their consensus. There are an array of a 171 bp monomer,
    microsatellites, a segment of ``chr1`` with a slightly diverged inverted copy on ``chr2``, and a
    segment with an exact copy. Repeats are in lower case. ``chr1`` has a gap of N, and a few bases
    are ambiguous.

    Raises
    ------
    ParameterError
        If ``n_bases`` is less than 20,000.
    """
    if n_bases < MIN_BASES:
        raise ParameterError(f"n_bases is {n_bases:,}, needs at least {MIN_BASES:,}")
    rng = np.random.default_rng(seed)
    lengths = [round(n_bases * share) for share in CONTIG_SHARES.values()]
    contigs = [_make_background(rng, length) for length in lengths]
    _add_families(rng, contigs)
    _add_tandem_repeats(rng, contigs)
    _add_duplications(rng, contigs)
    _add_unknown(rng, contigs[0])
    return list(zip(CONTIG_SHARES, contigs, strict=True))


def _make_background(rng: np.random.Generator, n: int) -> np.ndarray:
    cumulative = np.cumsum(_NEXT_BASE, axis=1)
    # The next base for each possible previous base; the loop below follows the actual one.
    choices = (rng.random(n)[:, None, None] > cumulative[None]).sum(axis=2).clip(max=3)
    codes, code = np.empty(n, np.int64), 0
    for i, choice in enumerate(choices.tolist()):
        code = choice[code]
        codes[i] = code
    return _LETTERS[codes]


def _mutate(rng: np.random.Generator, bases: np.ndarray, divergence: float) -> np.ndarray:
    """Return a copy with substitutions, and a tenth as many deletions."""
    mutated = bases.copy()
    is_other = rng.random(len(bases)) < divergence
    mutated[is_other] = rng.choice(_LETTERS, int(is_other.sum()))
    return mutated[rng.random(len(bases)) >= divergence / 10]


def _place(rng: np.random.Generator, contigs: list[np.ndarray], bases: np.ndarray) -> None:
    """Write bases in lower case at a random position of a contig with room for them."""
    room = np.array([max(len(contig) - len(bases), 0) for contig in contigs])
    contig = contigs[rng.choice(len(contigs), p=room / room.sum())]
    start = rng.integers(0, len(contig) - len(bases))
    contig[start : start + len(bases)] = bases | _LOWER


def _add_families(rng: np.random.Generator, contigs: list[np.ndarray]) -> None:
    n_bases = sum(map(len, contigs))
    for length in _FAMILY_LENGTHS:
        consensus = _make_background(rng, length)
        n_left = n_bases * _SHARE_OF_REPEATS / len(_FAMILY_LENGTHS)
        while n_left > 0:
            copy = _mutate(rng, consensus, rng.choice([0.005, 0.02, 0.06, 0.15]))
            # Copies of retrotransposons are often truncated at the start, but rarely at the end.
            copy = copy[rng.choice([0, rng.integers(0, len(copy) * 3 // 4)]) :]
            _place(rng, contigs, copy if rng.random() < 0.5 else reverse_complement(copy))
            n_left -= len(copy)


def _add_tandem_repeats(rng: np.random.Generator, contigs: list[np.ndarray]) -> None:
    n_bases = sum(map(len, contigs))
    monomer = _make_background(rng, _MONOMER)
    n_copies = max(4, n_bases // 40 // _MONOMER)
    array = np.concatenate([_mutate(rng, monomer, 0.02) for _ in range(n_copies)])
    start = len(contigs[1]) // 2
    contigs[1][start : start + len(array)] = array | _LOWER
    for unit in (b"A", b"CA", b"AAT", b"GATA", b"TTAGGG"):
        for _ in range(max(1, n_bases // 50_000)):
            n_units = int(rng.integers(15, 60)) // len(unit) + 3
            _place(rng, contigs, np.frombuffer(unit * n_units, np.uint8))


def _add_duplications(rng: np.random.Generator, contigs: list[np.ndarray]) -> None:
    first, second = contigs[:2]
    n = len(first) // 20
    copy = reverse_complement(_mutate(rng, first[n : 2 * n], 0.002))
    second[n // 2 : n // 2 + len(copy)] = copy
    exact = n // 3
    first[-2 * exact : -exact] = first[4 * n : 4 * n + exact]


def _add_unknown(rng: np.random.Generator, contig: np.ndarray) -> None:
    n = len(contig)
    contig[n // 3 : n // 3 + n // 80] = ord("N")
    contig[rng.integers(0, n, 6)] = np.frombuffer(b"RYKMSW", np.uint8)
