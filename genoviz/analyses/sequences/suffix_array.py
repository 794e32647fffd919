"""Suffix array of a text, and its LCP array."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.errors import ParameterError
from genoviz.kernels.suffix_sort import row_dtype
from genoviz.model.sequences.index_text import IndexText


@dataclass(frozen=True)
class SuffixSortProgress:
    """Progress of sorting a text.

    Parameters
    ----------
    stage
        One of ``genoviz.kernels.suffix_sort.STAGES``.
    n_done, n_total
        Progress within this stage.
    tied_fractions
        After sorting the blocks and after each refinement round: share of the sorted suffixes that
        are still tied with others.
    block_sizes
        In the last report, int64, shape (n_blocks,): number of suffixes sorted in each block; None
        before.
    suffix_array
        In the last report, uint32 (int64 from 2^32 - 1 symbols on), shape (n_symbols,), read-only;
        None before.
    """

    stage: str
    n_done: int
    n_total: int
    tied_fractions: tuple[float, ...] = ()
    block_sizes: np.ndarray | None = None
    suffix_array: np.ndarray | None = None


def iter_suffix_array(
    text: IndexText, *, backend: Backend = "auto"
) -> Iterator[SuffixSortProgress]:
    """Sort all suffixes of a text, and yield the progress after each step.

    Exceptions are smaller than A, and among exceptions the one later in the text is smaller. All
    suffixes therefore differ, and every backend gives the same array.

    Parameters
    ----------
    text
        Result of `make_index_text`.
    backend
        ``"cpu"``, ``"cuda"`` or ``"auto"``.

    Yields
    ------
    SuffixSortProgress
        The last report has the suffix array.

    References
    ----------
    See ``genoviz.kernels.suffix_sort``.
    """
    kernel, arrays = load_kernel("suffix_sort", backend), array_module(backend)
    n = text.n_symbols
    suffix_array = np.empty(n, row_dtype(n))
    fractions: dict[tuple[str, int], float] = {}
    n_sorted, block_sizes = 0, None

    def steps() -> Iterator[tuple[str, int, int, int]]:
        nonlocal block_sizes
        block_sizes = yield from kernel.iter_sort_suffixes(
            arrays.asarray(text.packed), n, arrays.asarray(text.exceptions), suffix_array
        )

    for stage, n_done, n_total, n_tied in steps():
        if stage == "blocks":
            n_sorted = n_total
            fractions[stage, 0] = n_tied / max(n_total, 1)
        elif stage == "ties":
            fractions[stage, n_done] = n_tied / max(n_sorted or n, 1)
        yield SuffixSortProgress(stage, n_done, n_total, tuple(fractions.values()))
    suffix_array.flags.writeable = False
    tied = tuple(fractions.values())
    yield SuffixSortProgress("induction", n, n, tied, block_sizes, suffix_array)


def suffix_array(text: IndexText, *, backend: Backend = "auto") -> np.ndarray:
    """Return the start of each suffix of a text, in lexicographic order.

    uint32 (int64 from 2^32 - 1 symbols on), shape (n_symbols,), read-only. See `iter_suffix_array`
    for the order and the arguments.

    Examples
    --------
    >>> from genoviz.analyses.sequences.index_text import make_index_text
    >>> from genoviz.model.sequences.sequences import Sequences
    >>> text = make_index_text(Sequences.from_records([("a", "GATTA")]))
    >>> suffix_array(text, backend="cpu").tolist()
    [5, 4, 1, 0, 3, 2]
    """
    for progress in iter_suffix_array(text, backend=backend):
        sorted_suffixes = progress.suffix_array
    return sorted_suffixes


def common_prefixes(
    text: IndexText, suffix_array: np.ndarray, *, backend: Backend = "auto"
) -> np.ndarray:
    """Return the LCP array: common prefix length of each row with the previous; uint32, (n,).

    Row 0 has 0. Exceptions match nothing, so common prefixes do not cross contig ends.

    Raises
    ------
    ParameterError
        If suffix array and text differ in length.

    Examples
    --------
    >>> from genoviz.analyses.sequences.index_text import make_index_text
    >>> from genoviz.model.sequences.sequences import Sequences
    >>> text = make_index_text(Sequences.from_records([("a", "GATTA")]))
    >>> common_prefixes(text, suffix_array(text, backend="cpu"), backend="cpu").tolist()
    [0, 0, 1, 0, 0, 1]
    """
    if suffix_array.shape != (text.n_symbols,):
        raise ParameterError(
            f"the suffix array is {suffix_array.shape}, needs ({text.n_symbols},) as the text"
        )
    kernel, arrays = load_kernel("common_prefix", backend), array_module(backend)
    lengths = kernel.longest_common_prefixes(
        arrays.asarray(text.packed),
        text.n_symbols,
        arrays.asarray(text.exceptions),
        suffix_array,
    )
    return to_host(lengths)
