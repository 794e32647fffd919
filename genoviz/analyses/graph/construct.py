"""A variation graph of a genome and its phased variants: each haplotype is a path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.phase_sets import PathMarks, PossiblePaths, find_phase_clusters
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model import ByteStrings, PangenomeGraph, Sequences
from genoviz.model.genotypes.phased import PhasedVariants

REFERENCE = "reference"
"""Sample that the paths of the genome itself are named for, unless another is given."""

MAX_STEPS = 1 << 31
MAX_POSSIBLE = 1 << 18
"""Paths of combinations of phase sets."""
_PATHS_AT_ONCE = 64


@dataclass(frozen=True)
class ConstructProgress:
    """How many paths of a graph are made, of how many; the last report has the graph.

    ``possible`` then says which paths are combinations of phase sets, where these are made.
    """

    n_done: int
    n_total: int
    graph: PangenomeGraph | None = None
    possible: PossiblePaths | None = None


def iter_construct_graph(
    genome: Sequences, variants: PhasedVariants, *, reference: str = REFERENCE, window: int = 0
) -> Iterator[ConstructProgress]:
    """Yield the progress of `construct_graph`; the last report has the graph."""
    if reference in variants.samples:
        raise ParameterError(f"a sample is named {reference!r} too; give the genome another name")
    if len(set(genome.names)) < len(genome):
        raise ParameterError("two sequences of the genome have one name, and paths need their own")
    haplotypes = _Haplotypes(variants)
    clusters = find_phase_clusters(variants, genome.lengths, window) if window else []
    used = haplotypes.used.copy()
    for cluster in clusters:
        for copies in cluster.combinations:
            used[np.concatenate(copies)] = True
    cuts = [_Cut(genome, variants, contig, used) for contig in range(len(genome))]
    firsts = np.cumsum([0, *(cut.n_nodes for cut in cuts)])
    owners = list(_owners(variants))
    paths = [(f"{reference}#0#{name}", contig, -1) for contig, name in enumerate(genome.names)]
    paths += [
        (f"{sample}#{copy}#{genome.names[contig]}", contig, number)
        for sample, copy, number, contigs in owners
        for contig in contigs
    ]
    n_steps = sum(len(cuts[contig].of_reference) for _, contig, _ in paths)
    n_possible = sum(len(each.combinations) * len(each.combinations[0]) for each in clusters)
    n_paths = len(paths) + n_possible
    if n_steps > MAX_STEPS:
        raise ParameterError(
            f"{len(paths):,} paths would have some {n_steps:,} steps, and a graph is made with "
            f"{MAX_STEPS:,} at most; choose samples, or cut the file to a region"
        )
    if n_possible > MAX_POSSIBLE:
        raise ParameterError(
            f"alleles whose phase is not known have {n_possible:,} combinations in "
            f"{len(clusters):,} places, and {MAX_POSSIBLE:,} are searched at most; choose samples, "
            "or cut the file to a region"
        )
    steps: list[np.ndarray] = []
    edges, marks = _Edges(), PathMarks(variants, clusters, window)
    for n_done, (_, contig, number) in enumerate(paths):
        edits = haplotypes.edits(number, contig) if number >= 0 else np.empty(0, np.int64)
        nodes = firsts[contig] + cuts[contig].walk(edits)
        steps.append((nodes << 1).astype(np.uint32))
        edges.add(steps[-1])
        marks.add_whole(number, contig, edits)
        if n_done % _PATHS_AT_ONCE == 0:
            yield ConstructProgress(n_done, n_paths)
    names = [name for name, _, _ in paths]
    for number, cluster in enumerate(clusters):
        cut, first = cuts[cluster.contig], firsts[cluster.contig]
        low, high, start, stop = cut.pieces_of(cluster.first, cluster.stop)
        owner = f"{variants.samples[cluster.sample]}#possible"
        where = f"{genome.names[cluster.contig]}:{start}-{stop}"
        for copies in cluster.combinations:
            for edits in copies:
                steps.append(((first + cut.walk(edits, low, high)) << 1).astype(np.uint32))
                edges.add(steps[-1])
                names.append(f"{owner}{marks.add_possible(number, start, edits)}#{where}")
        if number % _PATHS_AT_ONCE == 0:
            yield ConstructProgress(len(names), n_paths)
    lengths, sequences = _spell(cuts)
    graph = PangenomeGraph(
        node_names=ByteStrings.from_integers(1, len(lengths)),
        node_lengths=lengths,
        edges=edges.found(),
        path_names=tuple(names),
        path_offsets=np.append(0, np.cumsum([len(each) for each in steps])).astype(np.int64),
        steps=np.concatenate([np.empty(0, np.uint32), *steps]),
        node_sequences=sequences,
        notes=(*variants.notes, *haplotypes.notes(), *marks.notes()),
        walks=np.ones(len(names), bool),
    )
    yield ConstructProgress(n_paths, n_paths, graph, marks.found() if clusters else None)


@in_one_go(iter_construct_graph)
def construct_graph(last: ConstructProgress) -> PangenomeGraph:
    """Return a graph whose paths are a genome and the haplotypes of its samples.

    The genome is cut where variants begin and end, and each other allele that somebody has is a
    node. So no path has alleles together that no haplotype has. Where edits of one haplotype
    overlap, the one that begins first is kept, and a note counts the others, as ``bcftools
    consensus`` does. Paths are named as PanSN has it: ``reference#0#contig`` for the genome, and
    ``sample#1#contig`` and so on for the copies of each sample.

    Parameters
    ----------
    genome
        The sequences that the variants are edits of.
    variants
        What `genoviz.read_phased_variants` returns for this genome.
    reference
        Sample that the paths of the genome are named for.
    window
        Where so many bases, or fewer, can have alleles of two phase sets of a sample, other
        combinations of them are paths too, ``sample#possible1#contig:start-end`` and so on, of
        that place alone; 0 for none. `iter_construct_graph` tells which paths these are.

    Raises
    ------
    ParameterError
        If a sample has the name of the reference, two sequences of the genome have one name, or
        the paths would have more than 2^31 steps, or more than 2^18 are combinations.

    References
    ----------
    Garrison et al. 2018, https://doi.org/10.1038/nbt.4227
    """
    return last.graph


def _owners(variants: PhasedVariants) -> Iterator[tuple[str, int, int, np.ndarray]]:
    """Yield sample, copy from 1 on, haplotype, and the sequences that it has."""
    for row, sample in enumerate(variants.samples):
        for copy in range(int(variants.n_copies[:, row].max(initial=0))):
            contigs = np.flatnonzero(variants.n_copies[:, row] > copy)
            yield sample, copy + 1, row * variants.ploidy + copy, contigs


class _Haplotypes:
    """The edits of each haplotype that do not overlap; ``used`` tells which anybody has."""

    def __init__(self, variants: PhasedVariants) -> None:
        self._variants = variants
        edits = np.repeat(np.arange(len(variants)), np.diff(variants.carrier_offsets))
        order = np.argsort(variants.carriers, kind="stable")
        self._edits, carriers = edits[order], variants.carriers[order]
        n_haplotypes = len(variants.samples) * variants.ploidy
        self._bounds = np.searchsorted(carriers, np.arange(n_haplotypes + 1))
        kept = self._find_kept(carriers)
        self.n_left_out = len(kept) - int(kept.sum())
        self._bounds = np.append(0, np.cumsum(kept))[self._bounds]
        self._edits = self._edits[kept]
        self.used = np.bincount(self._edits, minlength=len(variants)) > 0

    def _find_kept(self, carriers: np.ndarray) -> np.ndarray:
        """Return which rows of edits, by haplotype and place, overlap none before; bool."""
        variants, edits = self._variants, self._edits
        starts, ends, contigs = (
            variants.starts[edits],
            variants.ends[edits],
            variants.contig_ids[edits],
        )
        kept = np.ones(len(edits), bool)
        is_same = (carriers[1:] == carriers[:-1]) & (contigs[1:] == contigs[:-1])
        empty = starts == ends
        twice = empty[1:] & empty[:-1] & (starts[1:] == starts[:-1])
        if not (is_same & ((starts[1:] < ends[:-1]) | twice)).any():
            return kept
        owner, end, insertion = (-1, -1), 0, -1
        columns = (carriers, contigs, starts, ends)
        for row, (carrier, contig, start, stop) in enumerate(
            zip(*map(np.ndarray.tolist, columns), strict=True)
        ):
            if (carrier, contig) != owner:
                owner, end, insertion = (carrier, contig), 0, -1
            if start < end or (start == stop == insertion):
                kept[row] = False
                continue
            end, insertion = stop, start if start == stop else -1
        return kept

    def edits(self, haplotype: int, contig: int) -> np.ndarray:
        """Return the edits of a haplotype on a sequence, by place; int64."""
        first, stop = self._bounds[haplotype : haplotype + 2]
        edits = self._edits[first:stop]
        low, high = np.searchsorted(self._variants.contig_ids[edits], [contig, contig + 1])
        return edits[low:high]

    def notes(self) -> tuple[str, ...]:
        """Return how many edits overlap others of their haplotype."""
        n = self.n_left_out
        text = "alleles overlap others of their haplotype that begin before them, and are left out"
        return (f"{n:,} {text}.",) if n else ()


class _Cut:
    """A sequence of the genome, cut at the edits that somebody has; nodes count from 0.

    Attributes
    ----------
    n_nodes
        How many pieces of the sequence and other alleles there are.
    of_reference
        int64: nodes of the pieces, in their order.
    """

    def __init__(
        self, genome: Sequences, variants: PhasedVariants, contig: int, used: np.ndarray
    ) -> None:
        low, high = np.searchsorted(variants.contig_ids, [contig, contig + 1])
        edits = low + np.flatnonzero(used[low:high])
        self._low, length = low, int(genome.lengths[contig])
        starts, ends = variants.starts[edits], variants.ends[edits]
        self._cuts = np.unique(np.concatenate([[0, length], starts, ends]))
        self._bases = genome.cut(contig, 0, length)
        self._inserted, self._starts, self._ends = variants.inserted, variants.starts, variants.ends
        sizes = np.diff(variants.inserted.offsets)
        self._alleles = edits[sizes[edits] > 0]
        n_pieces = len(self._cuts) - 1
        # An allele stands before the piece that begins where it does.
        places = np.concatenate([self._cuts[:-1], variants.starts[self._alleles]])
        is_piece = np.arange(len(places)) < n_pieces
        order = np.lexsort((is_piece, places))
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        self.of_reference, of_alleles = ranks[:n_pieces], ranks[n_pieces:]
        self._node_of = np.full(high - low, -1, np.int64)
        self._node_of[self._alleles - low] = of_alleles
        self.n_nodes = len(order)

    def pieces_of(self, start: int, stop: int) -> tuple[int, int, int, int]:
        """Return the first piece of a stretch and that behind the last, and where they begin."""
        low = int(np.searchsorted(self._cuts, start, side="right")) - 1
        high = int(np.searchsorted(self._cuts, stop))
        return low, high, int(self._cuts[low]), int(self._cuts[high])

    def walk(self, edits: np.ndarray, low: int = 0, high: int | None = None) -> np.ndarray:
        """Return the nodes of a haplotype in some pieces, which has edits by place; int64."""
        pieces = self.of_reference[low:high]
        if not len(edits):
            return pieces
        firsts, stops = (
            np.searchsorted(self._cuts, of[edits]) - low for of in (self._starts, self._ends)
        )
        change = np.zeros(len(pieces) + 1, np.int64)
        np.add.at(change, firsts, 1)
        np.add.at(change, stops, -1)
        kept = np.flatnonzero(np.cumsum(change[:-1]) == 0)
        nodes = self._node_of[edits - self._low]
        has_node = nodes >= 0
        before = np.searchsorted(kept, firsts[has_node])
        return np.insert(pieces[kept], before, nodes[has_node])

    def pieces(self) -> list[np.ndarray]:
        """Return the bases of the nodes."""
        found: list[np.ndarray] = [self._bases] * self.n_nodes
        for node, (start, end) in zip(
            self.of_reference.tolist(),
            zip(self._cuts[:-1], self._cuts[1:], strict=True),
            strict=True,
        ):
            found[node] = self._bases[start:end]
        offsets = self._inserted.offsets
        for edit in self._alleles.tolist():
            found[self._node_of[edit - self._low]] = self._inserted.data[
                offsets[edit] : offsets[edit + 1]
            ]
        return found


class _Edges:
    """The steps from node to node, each once."""

    def __init__(self) -> None:
        self._found: list[np.ndarray] = [np.empty(0, np.uint64)]

    def add(self, handles: np.ndarray) -> None:
        """Add those of a path."""
        wide = handles.astype(np.uint64)
        self._found.append(wide[:-1] << np.uint64(32) | wide[1:])
        if len(self._found) > _PATHS_AT_ONCE:
            self._found = [np.unique(np.concatenate(self._found))]

    def found(self) -> np.ndarray:
        """Return all, as a graph has them."""
        keys = np.unique(np.concatenate(self._found))
        return np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], axis=1).astype(
            np.uint32
        )


def _spell(cuts: list[_Cut]) -> tuple[np.ndarray, ByteStrings]:
    """Return the lengths and bases of all nodes."""
    pieces = [piece for cut in cuts for piece in cut.pieces()]
    lengths = np.array([len(piece) for piece in pieces], np.int64)
    data = np.concatenate([np.empty(0, np.uint8), *pieces])
    return lengths, ByteStrings(data, np.append(0, np.cumsum(lengths)).astype(np.int64))
