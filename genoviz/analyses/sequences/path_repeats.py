"""K-mer spectra and multiplicities over all paths of a graph, from an index of its paths.

The index stores each shared stretch once. A position of its text therefore counts as often as paths
read it, forward or, on paths in reverse orientation, backward. The bases after a unit, which belong
to other units too, do not count.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from genoviz.analyses.sequences.canonical_kmers import iter_canonical_groups
from genoviz.analyses.sequences.kmer_groups import mark_short, scaled, select_groups
from genoviz.analyses.sequences.kmer_repeats import KmerRepeats, make_kmer_repeats
from genoviz.analyses.sequences.kmer_spectrum import DistinctKmers, KmerSpectrum, KmerStrand
from genoviz.analyses.sequences.multiplicity_track import MultiplicitySteps, find_steps
from genoviz.backend import Backend, load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import finish
from genoviz.model.columns import expand_counts
from genoviz.model.sequences.index_text import IndexText
from genoviz.model.sequences.pangenome_index import PangenomeIndex

_BASES_AT_ONCE = 1 << 22
_GROUPS_SHARE = 0.7


@dataclass(frozen=True, eq=False)
class _Multiplicities:
    """Groups of rows with the same k-mer, and the number of times that paths read it.

    ``along`` and ``against``, int64 of shape (n_groups,), count the k-mer as written in the text
    and its reverse complement; ``is_first`` marks one of each canonical pair.
    """

    heads: np.ndarray
    sizes: np.ndarray
    along: np.ndarray
    against: np.ndarray
    has_partner: np.ndarray
    is_first: np.ndarray


class PathRepeats:
    """K-mer statistics of all paths, for any k up to the index's ``max_k``.

    All numbers equal those of the paths spelled out one by one.

    Parameters
    ----------
    pangenome
        The index of paths.
    repeats
        Repeats of the index's text, in which a shared stretch occurs once.
    """

    def __init__(self, pangenome: PangenomeIndex, repeats: KmerRepeats) -> None:
        self.pangenome = pangenome
        self._repeats = repeats

    def check_k(self, k: int, *, name: str = "k") -> None:
        """Raise `ParameterError` if no k-mer of the index has this k; ``name`` names it."""
        max_k = self.pangenome.max_k
        if k > max_k:
            raise ParameterError(
                f"{name} is {k:,}, and the index of paths finds up to {max_k:,}; build it with a "
                "larger max_k (--max-k)"
            )
        self._repeats.check_k(k, name=name)

    def spectrum(self, k: int, strand: KmerStrand = "forward") -> KmerSpectrum:
        """Return the spectrum of k-mers over all paths.

        Raises
        ------
        ParameterError
            If ``k`` exceeds the limit of the index or of all paths, or the strand is unknown.
        """
        return finish(self.iter_spectrum(k, strand))

    def iter_spectrum(
        self, k: int, strand: KmerStrand = "forward"
    ) -> Generator[float, None, KmerSpectrum]:
        """Return the result of `spectrum`; yields the share done, 0 to 1."""
        groups = yield from self._iter_multiplicities(k, strand)
        if strand == "canonical":
            counts = groups.along[groups.is_first]
        else:
            counts = np.concatenate([groups.along, groups.against[~groups.has_partner]])
        found = load_kernel("kmer_count", "cpu").tally_counts(counts[counts > 0])
        return KmerSpectrum(k, strand, *(part.astype(np.int64) for part in found))

    def iter_distinct(self, max_k: int) -> Generator[float, None, DistinctKmers]:
        """Return the distinct and unique k-mers for each k up to ``max_k`` (forward strand)."""
        self.check_k(max_k, name="max_k")
        numbers = []
        for k in range(1, max_k + 1):
            found = yield from scaled(self.iter_spectrum(k), (k - 1) / max_k, k / max_k)
            numbers.append((k, found.n_distinct, found.n_unique, found.n_total))
        return DistinctKmers(*np.array(numbers, np.int64).T)

    def track(self, k: int, strand: KmerStrand = "forward") -> PathTrack:
        """Return the multiplicity over all paths of the k-mer at each base of a path.

        Raises
        ------
        ParameterError
            As `spectrum`.
        """
        return finish(self.iter_track(k, strand))

    def iter_track(
        self, k: int, strand: KmerStrand = "forward"
    ) -> Generator[float, None, PathTrack]:
        """Return the result of `track`; yields the share done, 0 to 1."""
        groups = yield from self._iter_multiplicities(k, strand)
        owners, within = expand_counts(groups.sizes.astype(np.int64))
        rows = groups.heads.astype(np.int64)[owners] + within
        places = self._repeats.suffix_array[rows]
        sides = []
        for of_groups in (groups.along, groups.against):
            values = np.zeros(self.pangenome.index.n_symbols, np.int64)
            values[places] = of_groups[owners]
            joint = np.zeros(len(self._is_base), np.int64)
            joint[self._is_base] = values[self._is_symbol]
            sides.append(joint)
        return PathTrack(self.pangenome, k, strand, *sides)

    def _iter_multiplicities(
        self, k: int, strand: KmerStrand
    ) -> Generator[float, None, _Multiplicities]:
        if strand not in ("forward", "canonical"):
            raise ParameterError(f"strand is {strand!r}, needs one of forward, canonical")
        self.check_k(k)
        index, lcp = self.pangenome.index, self._repeats.lcp
        suffix_array, short = self._repeats.suffix_array, self._mark_short(k)
        if strand == "forward" and not self.pangenome.shared.is_turned.any():
            heads, sizes = select_groups(suffix_array, lcp, short, k, 1, len(lcp))
            partners = np.full(len(heads), -1)
        else:
            steps = iter_canonical_groups(index.text.packed, suffix_array, lcp, short, k)
            found = yield from scaled(steps, 0.0, _GROUPS_SHARE)
            heads, sizes, partners = found.heads, found.sizes, found.partners
        along, against = (
            _sum_groups(reads[suffix_array], heads, sizes) for reads in self._reads_of_symbols
        )
        yield 1.0
        numbers, has_partner = np.arange(len(heads)), partners >= 0
        partners = np.where(has_partner, partners, numbers)
        is_other = partners != numbers
        if strand == "canonical":
            own = along + against
            total = own + np.where(is_other, own[partners], 0)
            return _Multiplicities(
                heads, sizes, total, total, has_partner, ~is_other | (partners > numbers)
            )
        is_same = has_partner & ~is_other
        read = along + np.where(is_other, against[partners], np.where(is_same, against, 0))
        turned = against + np.where(is_other, along[partners], np.where(is_same, along, 0))
        return _Multiplicities(heads, sizes, read, turned, has_partner, has_partner)

    def _mark_short(self, k: int) -> np.ndarray:
        text = self.pangenome.index.text
        return mark_short(text.exceptions, text.n_symbols, k)

    @cached_property
    def _is_symbol(self) -> np.ndarray:
        """Which symbols of the text are bases; bool, shape (n_symbols,)."""
        text = self.pangenome.index.text
        is_base = np.ones(text.n_symbols, bool)
        is_base[text.exceptions] = False
        return is_base

    @cached_property
    def _is_base(self) -> np.ndarray:
        """Which letters of the concatenated stretches are bases; bool."""
        return _mark_bases(self.pangenome.index.text)

    @cached_property
    def _reads_of_symbols(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of path positions read from each symbol, along the text and against it."""
        shared, starts = self.pangenome.shared, self.pangenome.unit_starts
        graph = self.pangenome.graph
        paths = np.searchsorted(graph.path_offsets, shared.stand_steps, side="right") - 1
        n_turned = np.append(0, np.cumsum(shared.is_turned[paths]))[shared.stand_offsets]
        against = np.diff(n_turned)
        along = np.diff(shared.stand_offsets) - against
        sides = []
        for reads in (along, against):
            changes = np.zeros(len(self._is_base) + 1, np.int64)
            changes[starts] += reads
            changes[starts + shared.lengths] -= reads
            of_symbols = np.zeros(len(self._is_symbol), np.int64)
            of_symbols[self._is_symbol] = np.cumsum(changes)[:-1][self._is_base]
            sides.append(of_symbols)
        return sides[0], sides[1]


def make_path_repeats(pangenome: PangenomeIndex, *, backend: Backend = "auto") -> PathRepeats:
    """Return the k-mer statistics of all paths of an index.

    ``backend`` says where to compute common prefixes.

    Raises
    ------
    ParameterError
        If the index stores only a sample of the suffix array.
    """
    return PathRepeats(pangenome, make_kmer_repeats(pangenome.index, backend=backend))


@dataclass(frozen=True, eq=False, repr=False)
class PathTrack:
    """Multiplicity over all paths of the k-mer at each base of a path.

    Attributes
    ----------
    pangenome
        The index.
    k, strand
        As in `KmerSpectrum`.
    along, against
        int64: for each letter of the concatenated stretches, the counts of the k-mer that starts
        there and of its reverse complement; 0 where no k-mer starts.
    """

    pangenome: PangenomeIndex
    k: int
    strand: KmerStrand
    along: np.ndarray
    against: np.ndarray

    @property
    def names(self) -> tuple[str, ...]:
        """The paths."""
        return self.pangenome.graph.path_names

    def find(self, name: str) -> int:
        """Return the index of a path by name; raises ParameterError if there is none."""
        return self.pangenome.graph.find_path(name)

    def cut(self, path: int) -> np.ndarray:
        """Return the multiplicity at each base of a path; int64, shape (path_length,).

        It is 0 where the k-mer would contain a letter other than A C G T or pass the path's end.
        """
        graph, shared = self.pangenome.graph, self.pangenome.shared
        values = np.zeros(int(graph.path_lengths[path]), np.int64)
        order, steps, owners = self._visits
        visits = order[slice(*np.searchsorted(steps, graph.path_offsets[path : path + 2]))]
        lengths = np.cumsum(shared.lengths[owners[visits]])
        cuts = np.searchsorted(lengths, np.arange(0, lengths[-1:].sum(), _BASES_AT_ONCE))
        for part in np.split(visits, cuts[1:] + 1):
            self._fill(path, shared.stand_steps[part], owners[part], values)
        return values

    def iter_steps(self, path: int | None = None) -> Iterator[MultiplicitySteps]:
        """Yield the multiplicities of a path, or of each, as steps."""
        for number in range(len(self.names)) if path is None else [path]:
            if self.pangenome.graph.path_lengths[number]:
                yield find_steps(number, 0, self.cut(number))

    @cached_property
    def _visits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Occurrences of units in step order, their steps, and the unit of each occurrence."""
        shared = self.pangenome.shared
        order = np.argsort(shared.stand_steps, kind="stable")
        owners = np.repeat(np.arange(shared.n_units), np.diff(shared.stand_offsets))
        return order, shared.stand_steps[order], owners

    def _fill(self, path: int, steps: np.ndarray, units: np.ndarray, values: np.ndarray) -> None:
        graph, shared = self.pangenome.graph, self.pangenome.shared
        rows, within = expand_counts(shared.lengths[units])
        inside = shared.shifts[units][rows] + within
        joint = self.pangenome.unit_starts[units][rows] + within
        starts = graph.position_index.positions_of(steps)
        if not shared.is_turned[path]:
            values[starts[rows] + inside] = self.along[joint]
            return
        lengths = graph.node_lengths[graph.steps[steps] >> 1]
        places = (starts + lengths)[rows] - inside - self.k
        is_kmer = self.against[joint] > 0
        values[places[is_kmer]] = self.against[joint[is_kmer]]


def _sum_groups(reads: np.ndarray, heads: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    sums = np.append(0, np.cumsum(reads))
    firsts = heads.astype(np.int64)
    return sums[firsts + sizes.astype(np.int64)] - sums[firsts]


def _mark_bases(text: IndexText) -> np.ndarray:
    shifts = np.append(0, np.cumsum(text.run_lengths - 1))[:-1]
    changes = np.zeros(text.total_length + 1, np.int64)
    has_letters = text.run_lengths > 0
    starts = (text.exceptions + shifts)[has_letters]
    changes[starts] += 1
    changes[starts + text.run_lengths[has_letters]] -= 1
    return np.cumsum(changes)[:-1] == 0
