"""Plan a search by planes: the rows of mismatches needed, and which rows make up each guide."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.kernels.offtarget import ANY

GROUP = 21
"""Letters summed together; the rows of a guide fill whole groups."""

MAX_GROUPS, GUIDES_AT_ONCE, THREADS_PER_BLOCK, WARP = 5, 32, 64, 32
"""For GPU kernels: the groups they are compiled for; guides and threads of a block; a warp."""

_PLAIN = (1, 2, 4, 8)


@dataclass(frozen=True, eq=False)
class RowPlan:
    """The rows of a search.

    Parameters
    ----------
    masks
        uint8, shape (n_masks,): the distinct letters without ``ANY``; a slot is an index into them.
    row_keys
        int64, shape (n_rows,): ``slot * length + place`` of each row that the guides need.
    guide_rows
        uint64, shape (n_guides, GROUP * n_groups): the rows of each guide's letters, padded with
        ``n_rows``, which stands for a row of zeros.
    pattern_keys
        int64, shape (n_letters,): ``slot * length + place`` of the letters of the pattern.
    """

    masks: np.ndarray
    row_keys: np.ndarray
    guide_rows: np.ndarray
    pattern_keys: np.ndarray

    @property
    def n_groups(self) -> int:
        """Groups of letters of the longest guide."""
        return self.guide_rows.shape[1] // GROUP

    def rows(self, row_words: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return masks, keys, the offset of each guide letter's row, and the groups of letters.

        A row has ``row_words`` words; offsets are uint64, shape (n_guides * n_letters,).
        """
        letters = self.guide_rows.ravel() * np.uint64(row_words)
        return self.masks, self.row_keys, letters, self.n_groups


def plan_rows(pattern: np.ndarray, guides: np.ndarray) -> RowPlan:
    """Return the rows for masks of a pattern (length,) and of guides (n_guides, length)."""
    length = len(pattern)
    # Tables, not sorts: this is done for each piece of a genome, often for 100,000 guides.
    is_used = np.bincount(guides.ravel(), minlength=ANY + 1).astype(bool)
    is_used[pattern] = True
    masks = np.flatnonzero(is_used[:ANY]).astype(np.uint8)
    slot_of = np.full(ANY + 1, len(masks), np.int64)
    slot_of[masks] = np.arange(len(masks))
    keys = slot_of[guides] * length + np.arange(length)
    first_any = len(masks) * length
    is_key = np.zeros(first_any + length, bool)
    is_key[keys] = True
    row_keys = np.flatnonzero(is_key[:first_any])
    row_of = np.full(len(is_key), len(row_keys), np.uint16)
    row_of[row_keys] = np.arange(len(row_keys))
    n_letters = int((guides != ANY).sum(axis=1).max(initial=1))
    n_places = -(-max(n_letters, 1) // GROUP) * GROUP
    guide_rows = np.full((len(guides), n_places), len(row_keys), np.uint64)
    # The row of zeros has the highest number, so rows that count sort first.
    guide_rows[:, : min(length, n_places)] = np.sort(row_of[keys], axis=1)[:, :n_places]
    places = np.flatnonzero(pattern != ANY)
    return RowPlan(masks, row_keys, guide_rows, slot_of[pattern[places]] * length + places)


def pattern_letters(pattern: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return masks and places (int64) of the letters of a pattern, without ``ANY``."""
    places = np.flatnonzero(pattern != ANY)
    return pattern[places], places


def find_span(guides: np.ndarray) -> slice:
    """Return the places from the first to the last letter that counts in any guide."""
    places = np.flatnonzero((guides != ANY).any(axis=0))
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 1)


def pack_masks(masks: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return words (n_masks, n_words) of 16 masks each: plain letters, and excluded bases.

    A plain letter matches if its bit meets the base's bit; an excluded base must not be met. The
    third array is the number of plain letters, int64.
    """
    n_words = -(-masks.shape[1] // 16)
    padded = np.full((len(masks), n_words * 16), ANY, np.uint8)
    padded[:, : masks.shape[1]] = masks
    is_plain = np.isin(padded, _PLAIN)
    shifts = np.arange(16, dtype=np.uint64) * np.uint64(4)

    def pack(nibbles: np.ndarray) -> np.ndarray:
        words = nibbles.astype(np.uint64).reshape(len(masks), n_words, 16) << shifts
        return np.bitwise_or.reduce(words, axis=2)

    plain = pack(np.where(is_plain, padded, 0))
    return plain, pack(np.where(is_plain, 0, ANY & ~padded)), is_plain.sum(axis=1)


def shared_bytes_of(plan: RowPlan, n_threads: int, n_more: int) -> int:
    """Return the shared memory of a block in bytes: 8 for each row and thread, and the guides.

    Parameters
    ----------
    n_threads, n_more
        Threads of the block, and the padding of a row.
    """
    letters = GUIDES_AT_ONCE * (plan.n_groups * GROUP + 4) * 4 + 16
    return (len(plan.row_keys) + 1) * (n_threads + n_more) * 8 + letters


def threads_within(limit: int, plan: RowPlan, n_more: int) -> int:
    """Return the maximum threads of a block, in whole warps, whose rows fit; 0 if no warp fits.

    Parameters
    ----------
    limit
        Shared memory of a block in bytes: at most 99 KiB on a GeForce RTX 30 or 40, 163 on an A100,
        227 on an H100.
    """
    if plan.n_groups > MAX_GROUPS:
        return 0
    n_threads = THREADS_PER_BLOCK
    while n_threads >= WARP and shared_bytes_of(plan, n_threads, n_more) > limit:
        n_threads -= WARP
    return max(n_threads, 0)
