"""Construction of a variation graph from a genome and its phased variants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.graph.phase_sets import (
    PathMarks,
    PhaseCluster,
    PossiblePaths,
    find_phase_clusters,
)
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model import ByteStrings, PangenomeGraph, Sequences
from genoviz.model.columns import distinct
from genoviz.model.genotypes.phased import PhasedVariants

REFERENCE = "reference"
"""Default sample name for the paths of the genome itself."""

MAX_STEPS = 1 << 31
MAX_POSSIBLE = 1 << 18
"""Largest number of paths that combine phase sets."""
_PATHS_AT_ONCE = 64


@dataclass(frozen=True)
class ConstructProgress:
    """Number of finished paths and their total; the last report has the graph.

    In the last report, ``possible`` says which paths are combinations of phase sets, if any.
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
    paths = _whole_paths(genome, variants, reference)
    n_paths = len(paths) + _count_possible(paths, cuts, clusters)
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


def _whole_paths(
    genome: Sequences, variants: PhasedVariants, reference: str
) -> list[tuple[str, int, int]]:
    """Return name, contig and haplotype of each path; the haplotype is -1 for the genome's own."""
    paths = [(f"{reference}#0#{name}", contig, -1) for contig, name in enumerate(genome.names)]
    paths += [
        (f"{sample}#{copy}#{genome.names[contig]}", contig, number)
        for sample, copy, number, contigs in _owners(variants)
        for contig in contigs
    ]
    return paths


def _count_possible(
    paths: list[tuple[str, int, int]], cuts: list[_Cut], clusters: list[PhaseCluster]
) -> int:
    """Return the number of paths that combine phase sets; refuse a graph that is too large."""
    n_steps = sum(len(cuts[contig].of_reference) for _, contig, _ in paths)
    if n_steps > MAX_STEPS:
        raise ParameterError(
            f"{len(paths):,} paths would have some {n_steps:,} steps, and a graph is made with "
            f"{MAX_STEPS:,} at most; choose samples, or cut the file to a region"
        )
    n_possible = sum(len(each.combinations) * len(each.combinations[0]) for each in clusters)
    if n_possible > MAX_POSSIBLE:
        raise ParameterError(
            f"alleles whose phase is not known have {n_possible:,} combinations in "
            f"{len(clusters):,} places, and {MAX_POSSIBLE:,} are searched at most; choose samples, "
            "or cut the file to a region"
        )
    return n_possible


@in_one_go(iter_construct_graph)
def construct_graph(last: ConstructProgress) -> PangenomeGraph:
    """Build a graph whose paths are a genome and the haplotypes of its samples.

    The genome is cut where variants begin and end. Each alternative allele that a sample carries
    is a node. No path therefore combines alleles that no haplotype combines. Where edits of one
    haplotype overlap, the first one is kept, as in ``bcftools consensus``, and a note counts the
    others. Paths have PanSN names: ``reference#0#contig`` for the genome, and ``sample#1#contig``
    and so on for the copies of each sample.

    Parameters
    ----------
    genome
        The sequences that the variants refer to.
    variants
        Result of `genoviz.read_phased_variants` for this genome.
    reference
        Sample name for the paths of the genome.
    window
        Also add paths for other combinations of phase sets where a sample has alleles of two phase
        sets within this many bases; 0 for none. These paths cover that region only and are named
        ``sample#possible1#contig:start-end`` and so on. `iter_construct_graph` lists them.

    Raises
    ------
    ParameterError
        If a sample has the name of the reference, two sequences of the genome have the same name,
        the paths would have more than 2^31 steps, or more than 2^18 paths would be combinations.

    References
    ----------
    Garrison et al. 2018, https://doi.org/10.1038/nbt.4227
    """
    return last.graph


def _owners(variants: PhasedVariants) -> Iterator[tuple[str, int, int, np.ndarray]]:
    """Yield sample, copy (from 1), haplotype, and the sequences that the haplotype has."""
    for row, sample in enumerate(variants.samples):
        for copy in range(int(variants.n_copies[:, row].max(initial=0))):
            contigs = np.flatnonzero(variants.n_copies[:, row] > copy)
            yield sample, copy + 1, row * variants.ploidy + copy, contigs


class _Haplotypes:
    """The edits of each haplotype without overlaps; ``used`` marks the edits that any has."""

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
        """Return which edits, by haplotype and position, overlap no earlier one; bool."""
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
        """Return the edits of a haplotype on a sequence, by position; int64."""
        first, stop = self._bounds[haplotype : haplotype + 2]
        edits = self._edits[first:stop]
        low, high = np.searchsorted(self._variants.contig_ids[edits], [contig, contig + 1])
        return edits[low:high]

    def notes(self) -> tuple[str, ...]:
        """Return how many edits were dropped because they overlap others of their haplotype."""
        n = self.n_left_out
        text = "alleles overlap others of their haplotype that begin before them, and are left out"
        return (f"{n:,} {text}.",) if n else ()


class _Cut:
    """A sequence of the genome, cut at the edits in use; nodes count from 0.

    Attributes
    ----------
    n_nodes
        Number of reference pieces and alternative alleles.
    of_reference
        int64: nodes of the reference pieces, in order.
    """

    def __init__(
        self, genome: Sequences, variants: PhasedVariants, contig: int, used: np.ndarray
    ) -> None:
        low, high = np.searchsorted(variants.contig_ids, [contig, contig + 1])
        edits = low + np.flatnonzero(used[low:high])
        self._low, length = low, int(genome.lengths[contig])
        starts, ends = variants.starts[edits], variants.ends[edits]
        self._cuts = distinct(np.concatenate([[0, length], starts, ends]))
        self._bases = genome.cut(contig, 0, length)
        self._inserted, self._starts, self._ends = variants.inserted, variants.starts, variants.ends
        sizes = np.diff(variants.inserted.offsets)
        self._alleles = edits[sizes[edits] > 0]
        n_pieces = len(self._cuts) - 1
        # An allele is sorted before the piece that begins at the same position.
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
        """Return the first piece of a range, the piece after the last, and their starts."""
        low = int(np.searchsorted(self._cuts, start, side="right")) - 1
        high = int(np.searchsorted(self._cuts, stop))
        return low, high, int(self._cuts[low]), int(self._cuts[high])

    def walk(self, edits: np.ndarray, low: int = 0, high: int | None = None) -> np.ndarray:
        """Return the nodes that a haplotype with these edits visits in some pieces; int64."""
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
    """Distinct edges between consecutive steps."""

    def __init__(self) -> None:
        self._found: list[np.ndarray] = [np.empty(0, np.uint64)]

    def add(self, handles: np.ndarray) -> None:
        """Add the edges of a path."""
        wide = handles.astype(np.uint64)
        self._found.append(wide[:-1] << np.uint64(32) | wide[1:])
        if len(self._found) > _PATHS_AT_ONCE:
            self._found = [distinct(np.concatenate(self._found))]

    def found(self) -> np.ndarray:
        """Return all edges in the form that a graph stores."""
        keys = distinct(np.concatenate(self._found))
        return np.stack([keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)], axis=1).astype(
            np.uint32
        )


def _spell(cuts: list[_Cut]) -> tuple[np.ndarray, ByteStrings]:
    """Return the lengths and bases of all nodes."""
    pieces = [piece for cut in cuts for piece in cut.pieces()]
    lengths = np.array([len(piece) for piece in pieces], np.int64)
    data = np.concatenate([np.empty(0, np.uint8), *pieces])
    return lengths, ByteStrings(data, np.append(0, np.cumsum(lengths)).astype(np.int64))
