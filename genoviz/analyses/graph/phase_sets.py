"""Places where alleles of several phase sets of a sample are close enough to be combined.

Within a phase set (PS of the VCF specification), it is known which copy of a sample has an allele.
Between sets it is not. An unphased genotype is a set of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise, permutations, product
from math import factorial

import numpy as np

from genoviz.model.columns import distinct
from genoviz.model.genotypes.phased import PhasedVariants

MAX_COMBINATIONS = 128
"""Maximum combinations at one place of a sample; corresponds to eight sets with two copies."""


@dataclass(frozen=True, eq=False)
class PhaseCluster:
    """Close variants of at least two phase sets of a sample.

    Attributes
    ----------
    sample, contig
        Indices of sample and contig.
    start, end
        The range of the genome that the variants change, bp. No edit of the sample crosses its
        ends, nor ``first`` and ``stop``.
    first, stop
        That range, extended so that it contains every window that touches it.
    combinations
        Edits of each copy for each combination of the sets except the written one: first the
        copies of the first combination, then those of the second, and so on. Overlapping edits are
        dropped.
    is_complete
        Whether these are all combinations.
    """

    sample: int
    contig: int
    start: int
    end: int
    first: int
    stop: int
    combinations: tuple[tuple[np.ndarray, ...], ...]
    is_complete: bool

    @property
    def n_needed(self) -> int:
        """Combinations that must have a site for it to be certain; one more if no site is.

        With more than two copies, combinations that are not searched may have it on fewer copies.
        """
        is_open = not self.is_complete and len(self.combinations[0]) > 2
        return 1 + len(self.combinations) + is_open


@dataclass(frozen=True, eq=False)
class PossiblePaths:
    """Which paths of a graph are whole haplotypes and which are combinations of phase sets.

    Attributes
    ----------
    samples
        Names of the samples.
    window
        Maximum number of bases considered together.
    cluster_samples
        int64, shape (n_clusters,): sample of each place with several phase sets.
    n_combinations
        int64, shape (n_clusters,): combinations that must have a site for it to be certain: those
        with a path, including the written one, or one more if no site is certain.
    combinations
        int64, shape (n_paths,): 0 for whole paths; 1, 2, ... for the combinations of a cluster.
    offsets, clusters, starts, ends
        Clusters along paths: path ``i`` has those from ``offsets[i]`` to ``offsets[i + 1]``, with
        their ranges on the path, bp; int64.
    """

    samples: tuple[str, ...]
    window: int
    cluster_samples: np.ndarray
    n_combinations: np.ndarray
    combinations: np.ndarray
    offsets: np.ndarray
    clusters: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


def find_phase_clusters(
    variants: PhasedVariants, lengths: np.ndarray, window: int
) -> list[PhaseCluster]:
    """Return the places where a window can contain alleles of two phase sets of a sample.

    Parameters
    ----------
    variants
        Variants with phase sets; without phase sets the result is empty.
    lengths
        int64: length of each sequence of the genome, bp.
    window
        Maximum number of bases considered together.
    """
    if variants.phase_sets is None:
        return []
    edits = np.repeat(np.arange(len(variants)), np.diff(variants.carrier_offsets))
    samples, copies = np.divmod(variants.carriers, variants.ploidy)
    order = np.lexsort((edits, samples))
    samples, columns = samples[order], (edits[order], copies[order], variants.phase_sets[order])
    found: list[PhaseCluster] = []
    bounds = np.searchsorted(samples, np.arange(len(variants.samples) + 1))
    for sample, (low, high) in enumerate(pairwise(bounds.tolist())):
        mine = tuple(column[low:high] for column in columns)
        if not len(mine[2]) or (mine[2] == mine[2][0]).all():
            continue
        contig_ids = variants.contig_ids[mine[0]]
        for contig in distinct(contig_ids).tolist():
            of_contig = contig_ids == contig
            edits_of_sample = _SampleEdits(
                variants, sample, contig, *(column[of_contig] for column in mine)
            )
            found += edits_of_sample.clusters(int(lengths[contig]), window)
    return found


class _SampleEdits:
    """The edits of a sample on one sequence, in disjoint blocks."""

    def __init__(
        self,
        variants: PhasedVariants,
        sample: int,
        contig: int,
        edits: np.ndarray,
        copies: np.ndarray,
        sets: np.ndarray,
    ) -> None:
        self._sample, self._contig, self._variants = sample, contig, variants
        self._n_copies = n_copies = int(variants.n_copies[contig, sample])
        self._edits, firsts = np.unique(edits, return_index=True)
        self._sets = sets[firsts]
        bounds = np.append(firsts, len(edits)).tolist()
        self._copies = [copies[a:b].tolist() for a, b in pairwise(bounds)]
        self._is_het = np.diff(bounds) < n_copies
        starts, ends = variants.starts[self._edits], variants.ends[self._edits]
        lost = np.maximum(ends - starts - np.diff(variants.inserted.offsets)[self._edits], 0)
        reach = np.maximum.accumulate(ends)
        self._bounds = np.concatenate(
            [[0], 1 + np.flatnonzero(starts[1:] > reach[:-1]), [len(starts)]]
        )
        self._starts, self._ends = starts[self._bounds[:-1]], reach[self._bounds[1:] - 1]
        # Maximum number of bases that any copy loses in a block.
        self._lost = np.add.reduceat(lost, self._bounds[:-1])

    def clusters(self, length: int, window: int) -> Iterator[PhaseCluster]:
        """Yield the places where windows contain alleles of at least two sets."""
        margin = window + 2
        blocks = np.flatnonzero(np.add.reduceat(self._is_het, self._bounds[:-1]) > 0)
        if self._n_copies < 2 or not len(blocks):
            return
        before = np.cumsum(self._lost)
        between = before[blocks[1:] - 1] - before[blocks[:-1]]
        gaps = np.maximum(self._starts[blocks[1:]] - self._ends[blocks[:-1]] - between, 0)
        ends = np.concatenate([[0], 1 + np.flatnonzero(gaps > margin), [len(blocks)]])
        n_het = np.append(0, np.cumsum(self._is_het))[self._bounds]
        for first, stop in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True):
            mine = blocks[first:stop]
            if n_het[mine[-1] + 1] - n_het[mine[0]] < 2:
                continue
            colours = self._colour(mine, np.append(0, np.cumsum(gaps[first : stop - 1])), margin)
            if len(colours) > 1:
                yield self._combine(int(mine[0]), int(mine[-1]), colours, length, margin)

    def _colour(self, blocks: np.ndarray, places: np.ndarray, margin: int) -> dict[int, int]:
        """Return a colour for each set such that sets sharing a window have different ones."""
        sets = []
        for block in blocks.tolist():
            of_block = slice(self._bounds[block], self._bounds[block + 1])
            sets.append(dict.fromkeys(self._sets[of_block][self._is_het[of_block]].tolist()))
        near: dict[int, set[int]] = {each: set() for of_block in sets for each in of_block}
        first = 0
        for number, of_block in enumerate(sets):
            while places[number] - places[first] > margin:
                first += 1
            for other in sets[first : number + 1]:
                for each in of_block:
                    near[each].update(other)
                for each in other:
                    near[each].update(of_block)
        colours: dict[int, int] = {}
        for each, others in near.items():
            taken = {colours[other] for other in others if other in colours}
            colours[each] = next(k for k in range(len(taken) + 1) if k not in taken)
        return colours

    def _combine(
        self, block: int, last: int, colours: dict[int, int], length: int, margin: int
    ) -> PhaseCluster:
        start, end = int(self._starts[block]), int(self._ends[last])
        first, low = start - margin, block - 1
        while low >= 0 and self._ends[low] >= first:
            first = min(first - self._lost[low], self._starts[low] - 1)
            low -= 1
        stop, high = end + margin, last + 1
        while high < len(self._starts) and self._starts[high] <= stop:
            stop = max(stop + self._lost[high], self._ends[high] + 1)
            high += 1
        rows = range(self._bounds[low + 1], self._bounds[high])
        orders, is_complete = _permute(max(colours.values()) + 1, self._n_copies)
        combinations = []
        for order in orders[1:]:
            copies: list[list[int]] = [[] for _ in range(self._n_copies)]
            for row in rows:
                colour = colours.get(int(self._sets[row])) if self._is_het[row] else None
                for copy in self._copies[row]:
                    copies[copy if colour is None else order[colour][copy]].append(row)
            combinations.append(tuple(self._drop_overlaps(each) for each in copies))
        bounds = max(int(first), 0), min(int(stop), length)
        return PhaseCluster(
            self._sample, self._contig, start, end, *bounds, tuple(combinations), is_complete
        )

    def _drop_overlaps(self, rows: list[int]) -> np.ndarray:
        """Return edits without those that start within an earlier one, as for haplotypes."""
        kept, edits = [], self._edits[rows]
        end, insertion = 0, -1
        starts, ends = self._variants.starts[edits].tolist(), self._variants.ends[edits].tolist()
        for edit, start, stop in zip(edits.tolist(), starts, ends, strict=True):
            if start < end or (start == stop == insertion):
                continue
            end, insertion = stop, start if start == stop else -1
            kept.append(edit)
        return np.array(kept, np.int64)


def _permute(n_colours: int, n_copies: int) -> tuple[list[tuple[tuple[int, ...], ...]], bool]:
    """Return the assignments of colours to copies, and whether they are complete.

    The first is the written one. If there are too many, a subset is used in which any two colours
    differ at least once, so that a site that needs alleles of both is not reported as certain.
    """
    same = tuple(range(n_copies))
    orders = [*islice(permutations(same), MAX_COMBINATIONS + 1)]
    ways = product([same], *[orders] * (n_colours - 1))
    if factorial(n_copies) ** min(n_colours - 1, MAX_COMBINATIONS) <= MAX_COMBINATIONS:
        return list(ways), True
    turned = (*same[1:], 0)
    found = dict.fromkeys([(same,) * n_colours])
    for bit in range(n_colours.bit_length()):
        found[tuple(turned if colour >> bit & 1 else same for colour in range(n_colours))] = None
    max_ways = max(MAX_COMBINATIONS, len(found))
    found |= dict.fromkeys(islice(ways, max_ways))
    return list(found)[:max_ways], False


class PathMarks:
    """Collects the content of `PossiblePaths`, path by path."""

    def __init__(self, variants: PhasedVariants, clusters: list[PhaseCluster], window: int) -> None:
        self._variants, self._clusters, self._window = variants, clusters, window
        self._deltas = np.diff(variants.inserted.offsets) - (variants.ends - variants.starts)
        self._numbers: dict[tuple[int, int], list[int]] = {}
        for number, each in enumerate(clusters):
            self._numbers.setdefault((each.sample, each.contig), []).append(number)
        self._found: list[tuple[int, int, int]] = []
        self._offsets, self._combinations = [0], []
        self._last, self._n_made = -1, 0

    def add_whole(self, haplotype: int, contig: int, edits: np.ndarray) -> None:
        """Record the clusters along a haplotype, -1 for the genome itself."""
        sample = haplotype // self._variants.ploidy if haplotype >= 0 else -1
        numbers = self._numbers.get((sample, contig), [])
        if numbers:
            before = np.append(0, np.cumsum(self._deltas[edits]))
            starts = np.array([self._clusters[number].start for number in numbers])
            ends = np.array([self._clusters[number].end for number in numbers])
            places = self._variants.starts[edits]
            starts += before[np.searchsorted(places, starts)]
            ends += before[np.searchsorted(places, ends, side="right")]
            self._found += zip(numbers, starts.tolist(), ends.tolist(), strict=True)
        self._end_path(0)

    def add_possible(self, number: int, first: int, edits: np.ndarray) -> int:
        """Record the next combination of a cluster; returns its number, from 1 on."""
        cluster = self._clusters[number]
        deltas, places = self._deltas[edits], self._variants.starts[edits]
        start = cluster.start - first + deltas[places < cluster.start].sum()
        end = cluster.end - first + deltas[places <= cluster.end].sum()
        n_copies = len(cluster.combinations[0])
        self._n_made = self._n_made + 1 if number == self._last else 1
        self._last = number
        self._found.append((number, int(start), int(end)))
        self._end_path((self._n_made - 1) // n_copies + 1)
        return self._n_made

    def _end_path(self, combination: int) -> None:
        self._combinations.append(combination)
        self._offsets.append(len(self._found))

    def found(self) -> PossiblePaths:
        """Return the recorded content."""
        columns = np.array(self._found, np.int64).reshape(-1, 3)
        return PossiblePaths(
            self._variants.samples,
            self._window,
            np.array([each.sample for each in self._clusters], np.int64),
            np.array([each.n_needed for each in self._clusters], np.int64),
            np.array(self._combinations, np.int64),
            np.array(self._offsets, np.int64),
            *(columns[:, k].copy() for k in range(3)),
        )

    def notes(self) -> tuple[str, ...]:
        """Return notes on the number of clusters, and on those with incomplete combinations."""
        if not self._clusters:
            return ()
        n_left = sum(not each.is_complete for each in self._clusters)
        notes = [
            f"{len(self._clusters):,} times alleles of a sample are within {self._window} bases "
            "and not phased with each other (another phase set, or unphased): all combinations "
            "are searched, and a site that not all of them have is a possible one."
        ]
        if n_left:
            notes.append(
                f"{n_left:,} of these times there are more than {MAX_COMBINATIONS} combinations, "
                "of which so many are searched: possible sites may be missing."
            )
        return tuple(notes)
