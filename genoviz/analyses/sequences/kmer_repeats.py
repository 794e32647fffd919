"""Statistics of k-mers for any k, from the longest common prefixes (LCP) of a text."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.sequences.canonical_kmers import (
    MAX_SORTED_K,
    CanonicalGroups,
    iter_canonical_groups,
    iter_count_canonical,
)
from genoviz.analyses.sequences.kmer_groups import (
    clear_short,
    find_first_positions,
    iter_repeated_sizes,
    iter_scatter_sizes,
    iter_scatter_totals,
    mark_short,
    scaled,
    select_groups,
)
from genoviz.analyses.sequences.kmer_list import ORDERS, KmerList, KmerOrder, list_kmers, split_page
from genoviz.analyses.sequences.kmer_spectrum import (
    STRANDS,
    DistinctKmers,
    KmerSpectrum,
    KmerStrand,
    count_places,
    iter_distinct,
)
from genoviz.analyses.sequences.multiplicity_track import MultiplicityBins, MultiplicityTrack
from genoviz.analyses.sequences.suffix_array import common_prefixes
from genoviz.backend import Backend, load_kernel
from genoviz.errors import ParameterError, check_choice, n_words
from genoviz.generators import finish, last_of
from genoviz.model.sequences.index_text import IndexText

if TYPE_CHECKING:
    from genoviz.model.sequences.fm_index import FMIndex

DEFAULT_MAX_K = 1_000
# Share of a track's time that finding the groups takes.
_GROUPS_SHARE = 0.8


@dataclass(frozen=True, eq=False)
class RepeatsProgress:
    """Progress of `iter_kmer_repeats`; ``repeats`` is None until the last."""

    stage: str
    repeats: KmerRepeats | None = None


class KmerRepeats:
    """Repeats of a text: spectra, unique k-mers and multiplicities for any k, without queries.

    Rows of the suffix array with the same k-mer are adjacent, and the LCP of two neighbours tells
    for every k whether their k-mers agree. The latest result is cached.

    Parameters
    ----------
    text
        The indexed text.
    suffix_array
        uint32 or int64, shape (n_symbols,).
    lcp
        uint32, shape (n_symbols,): result of `common_prefixes`.

    Raises
    ------
    ParameterError
        If the arrays do not match the text.

    Examples
    --------
    >>> from genoviz.analyses.sequences.index_text import make_index_text
    >>> from genoviz.analyses.sequences.suffix_array import suffix_array
    >>> from genoviz.model.sequences.sequences import Sequences
    >>> text = make_index_text(Sequences.from_records([("a", "GATTACA"), ("b", "TTAG")]))
    >>> order = suffix_array(text, backend="cpu")
    >>> repeats = KmerRepeats(text, order, common_prefixes(text, order, backend="cpu"))
    >>> spectrum = repeats.spectrum(3)
    >>> spectrum.multiplicities.tolist(), spectrum.n_kmers.tolist()
    ([1, 2], [5, 1])
    >>> repeats.multiplicity(3, "a", 0, 7).tolist()
    [1, 1, 2, 1, 1, 0, 0]
    """

    def __init__(self, text: IndexText, suffix_array: np.ndarray, lcp: np.ndarray) -> None:
        for name, array in (("suffix array", suffix_array), ("common prefixes", lcp)):
            if array.shape != (text.n_symbols,):
                raise ParameterError(
                    f"the {name} are {array.shape}, need ({text.n_symbols},) as the text"
                )
        self.text = text
        # Read-only arrays, so that Numba compiles one signature.
        self.suffix_array, self.lcp = _frozen(suffix_array), _frozen(lcp)
        # Cache of the latest results. Reads and writes are single steps, so threads may share it.
        self._groups: tuple[int, CanonicalGroups] | None = None
        self._track: MultiplicityTrack | None = None
        self._spectrum: KmerSpectrum | None = None

    @cached_property
    def longest_repeat(self) -> int:
        """Length of the longest repeat on the forward strand, in bases."""
        return int(self.lcp.max(initial=0))

    @property
    def longest_stretch(self) -> int:
        """Length of the longest run of A C G T, in bases; the largest possible k."""
        return int(self._segment_lengths.max(initial=0))

    def check_k(self, k: int, *, name: str = "k") -> None:
        """Raise `ParameterError` if no k-mer of the text has this k; ``name`` names it."""
        longest = self.longest_stretch
        if k < 1 and longest:
            raise ParameterError(f"{name} is {k:,}, needs to be 1 or more")
        if not 1 <= k <= longest:
            raise ParameterError(
                f"{name} is {k:,}, and the longest stretch of A C G T has "
                f"{n_words(longest, 'base')}; needs "
                f"{f'1 to {longest:,}' if longest else 'a text with bases'}"
            )

    def _check(self, k: int, strand: str) -> None:
        self.check_k(k)
        check_choice("strand", strand, STRANDS)

    @cached_property
    def _segment_lengths(self) -> np.ndarray:
        return np.diff(self.text.exceptions, prepend=-1) - 1

    def spectrum(self, k: int, strand: KmerStrand = "forward") -> KmerSpectrum:
        """Return the number of distinct k-mers at each multiplicity, without a cap.

        ``"canonical"`` sorts k-mers of up to 32 bases. For longer ones it searches each reverse
        complement, which is slower.

        Raises
        ------
        ParameterError
            If ``k`` is not from 1 to `longest_stretch`, or the strand unknown.
        """
        return finish(self.iter_spectrum(k, strand))

    def iter_spectrum(
        self, k: int, strand: KmerStrand = "forward"
    ) -> Generator[float, None, KmerSpectrum]:
        """Return the result of `spectrum`; yields the share done, 0 to 1."""
        self._check(k, strand)
        kept = self._spectrum
        if kept is not None and (kept.k, kept.strand) == (k, strand):
            return kept
        n_places = int(count_places(self._segment_lengths, np.array([k]))[0])
        if strand == "forward":
            sizes, counts = yield from iter_repeated_sizes(self.lcp, k)
            n_unique = n_places - int((sizes * counts).sum())
            found = np.append(1, sizes), np.append(n_unique, counts)
            found = tuple(part[found[1] > 0] for part in found)
        elif k <= MAX_SORTED_K and not self._has_groups(k):
            short = mark_short(self.text.exceptions, self.text.n_symbols, k)
            packed, n_symbols = self.text.packed, self.text.n_symbols
            found = yield from iter_count_canonical(packed, n_symbols, short, n_places, k)
        else:
            groups = yield from self._iter_canonical_groups(k)
            found = load_kernel("kmer_count", "cpu").tally_counts(groups.totals[groups.is_first])
        self._spectrum = spectrum = KmerSpectrum(
            k, strand, *(part.astype(np.int64) for part in found)
        )
        return spectrum

    def distinct(self, max_k: int | None = None) -> DistinctKmers:
        """Return the numbers of distinct and unique k-mers for each k (forward strand).

        Parameters
        ----------
        max_k
            The largest k, 1 to `longest_stretch`; at most 1,000 if None.

        Raises
        ------
        ParameterError
            If ``max_k`` is out of range.
        """
        return finish(self.iter_distinct(max_k))

    def iter_distinct(self, max_k: int | None = None) -> Generator[float, None, DistinctKmers]:
        """Return the result of `distinct`; yields the share done, 0 to 1."""
        if max_k is None:
            max_k = min(DEFAULT_MAX_K, max(self.longest_stretch, 1))
        else:
            self.check_k(max_k, name="max_k")
        return (yield from iter_distinct(self.lcp, self._segment_lengths, max_k))

    def track(self, k: int, strand: KmerStrand = "forward") -> MultiplicityTrack:
        """Return the multiplicity of the k-mer that starts at each base.

        Raises
        ------
        ParameterError
            If ``k`` is not from 1 to `longest_stretch`, or the strand unknown.
        """
        return finish(self.iter_track(k, strand))

    def iter_track(
        self, k: int, strand: KmerStrand = "forward"
    ) -> Generator[float, None, MultiplicityTrack]:
        """Return the result of `track`; yields the share done, 0 to 1."""
        self._check(k, strand)
        kept = self._track
        if kept is not None and (kept.k, kept.strand) == (k, strand):
            return kept
        n = self.text.n_symbols
        values = np.zeros(n, np.int32 if n < 2**31 else np.int64)
        if strand == "canonical":
            groups = yield from scaled(self._iter_canonical_groups(k), 0.0, _GROUPS_SHARE)
            scattering = iter_scatter_totals(
                self.suffix_array, groups.heads, groups.sizes, groups.totals, values
            )
            yield from scaled(scattering, _GROUPS_SHARE, 1.0)
        else:
            yield from iter_scatter_sizes(self.suffix_array, self.lcp, k, values)
            clear_short(self.text.exceptions, k, values)
        self._track = track = MultiplicityTrack(self.text, k, strand, values)
        return track

    def multiplicity(
        self, k: int, contig: str | int, start: int, stop: int, strand: KmerStrand = "forward"
    ) -> np.ndarray:
        """Return the multiplicity of the k-mer that starts at each base of a region; int32.

        It is 0 where the k-mer would contain a letter other than A C G T or pass the contig's end.

        Raises
        ------
        ParameterError
            If ``k`` is not from 1 to `longest_stretch`, or there is no such stretch.
        """
        return self.track(k, strand).cut(contig, start, stop)

    def bins(
        self, k: int, contig: str | int, edges: np.ndarray, strand: KmerStrand = "forward"
    ) -> MultiplicityBins:
        """Return mean and highest multiplicity in bins of a contig, as `MultiplicityTrack.bins`."""
        return self.track(k, strand).bins(contig, edges)

    def kmers_with(
        self,
        k: int,
        low: int,
        high: int | None = None,
        *,
        strand: KmerStrand = "forward",
        order: KmerOrder = "count",
        limit: int = 100,
        offset: int = 0,
    ) -> KmerList:
        """Return a page of the k-mers with ``low`` to ``high`` occurrences.

        Parameters
        ----------
        k, low, high
            Both limits are inclusive; None is no upper limit.
        strand
            As in `spectrum`.
        order
            ``"count"``: the most frequent first, then alphabetical; or ``"kmer"``. If only the
            second strand of a canonical k-mer occurs in the text, that strand determines the order.
        limit, offset
            Number of k-mers on the page, and number before it.

        Raises
        ------
        ParameterError
            If ``k`` is not from 1 to `longest_stretch`, the strand unknown, or a number negative.
        """
        spectrum = self.spectrum(k, strand)
        if limit < 0 or offset < 0 or order not in ORDERS:
            raise ParameterError(
                f"limit is {limit}, offset {offset} and order {order!r}; needs 0 or more, and "
                "'count' or 'kmer'"
            )
        high = self.text.n_symbols * 2 if high is None else high
        n_all = spectrum.count_between(low, high)
        pages = [(low, high, offset, offset + limit)]
        if order == "count":
            pages = split_page(spectrum, low, high, offset, offset + limit)
        parts = [self._select(k, strand, *page) for page in pages]
        counts, positions = (np.concatenate([part[i] for part in parts]) for i in range(2))
        if order == "count":
            ranks = np.argsort(-counts, kind="stable")
            counts, positions = counts[ranks], positions[ranks]
        return list_kmers(self.text, k, strand, n_all, offset, counts, positions)

    def _iter_canonical_groups(self, k: int) -> Generator[float, None, CanonicalGroups]:
        kept = self._groups
        if kept is None or kept[0] != k:
            self._groups = kept = None  # they are large
            short = mark_short(self.text.exceptions, self.text.n_symbols, k)
            groups = yield from iter_canonical_groups(
                self.text.packed, self.suffix_array, self.lcp, short, k
            )
            self._groups = kept = (k, groups)
        return kept[1]

    def _has_groups(self, k: int) -> bool:
        kept = self._groups
        return kept is not None and kept[0] == k

    def _select(
        self, k: int, strand: KmerStrand, low: int, high: int, first: int, stop: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return counts of k-mers and first text positions, in alphabetical order."""
        if strand == "forward":
            short = np.zeros(0, np.uint64)
            if low <= 1:
                short = mark_short(self.text.exceptions, self.text.n_symbols, k)
            heads, sizes = select_groups(
                self.suffix_array, self.lcp, short, k, low, high, first, stop
            )
            positions = find_first_positions(self.suffix_array, heads, sizes)
            return sizes.astype(np.int64), positions
        groups = finish(self._iter_canonical_groups(k))
        totals = groups.totals
        is_wanted = groups.is_first & (totals >= low) & (totals <= high)
        chosen = np.flatnonzero(is_wanted)[first:stop]
        partners = groups.partners[chosen].astype(np.int64)
        partners[partners < 0] = chosen[partners < 0]
        here, there = (
            find_first_positions(self.suffix_array, groups.heads[which], groups.sizes[which])
            for which in (chosen, partners)
        )
        return totals[chosen], np.minimum(here, there)


def iter_kmer_repeats(index: FMIndex, *, backend: Backend = "auto") -> Iterator[RepeatsProgress]:
    """Compute the LCP array of an index's text, and yield the progress.

    ``backend`` says where to compare neighbours of the suffix array, which takes most of the time.
    Queries of the result run on the CPU.

    Raises
    ------
    ParameterError
        If the index stores only a sample of the suffix array.
    """
    order = _full_suffix_array(index)
    yield RepeatsProgress("Comparing neighbours in the suffix array")
    lcp = common_prefixes(index.text, order, backend=backend)
    yield RepeatsProgress("Done", KmerRepeats(index.text, order, lcp))


def make_kmer_repeats(index: FMIndex, *, backend: Backend = "auto") -> KmerRepeats:
    """Return the k-mer statistics of an index's text; see `iter_kmer_repeats`."""
    return last_of(iter_kmer_repeats(index, backend=backend)).repeats


def _full_suffix_array(index: FMIndex) -> np.ndarray:
    if index.suffix_array is None:
        raise ParameterError(
            f"the index keeps every {index.sample_rate}. row of the suffix array, and needs all "
            "for repeats; build it with sample_rate=1"
        )
    return index.suffix_array


def _frozen(array: np.ndarray) -> np.ndarray:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
