"""Sort a group of suffixes: by packed bases, then by the ranks of a difference cover.

Words are as in ``cpu_blocks``: the next bases of a suffix above its text position. A group with
equal keys gets the next bases as its key, down to the depth ``v`` of the cover. From there on:

- Small groups are sorted by comparison: at one distance both suffixes are in the cover and ranked.
- In a repeat, most suffixes are one period before another suffix of the group, so they form
  chains. The suffix after the last one of a chain compares less or greater than the group. If it
  is less, the last suffix is the smallest of its chain, else the greatest, and so on along the
  chain. What remains is the order of the suffixes after the chains.
- Other suffixes fall into classes, each with one distance at which all its suffixes are in the
  cover. The classes are sorted by ranks, and merged by comparison.

There are no ranks (``len(ranks)`` is 0) while the cover itself is sorted. Then the highest bit of a
word says that it is tied with the word before it.
"""

import numpy as np
from numba import njit

from genoviz.kernels.instructions import leading_zeros
from genoviz.kernels.suffix_sort.cpu_blocks import _part_ended, _rekey, sort_words
from genoviz.kernels.suffix_sort.cpu_compare import compare, compare_bases, is_before

FEW = 12
MANY = 64
SAMPLED = 8
ONE = np.uint64(1)
TIED = np.uint64(1 << 63)
POSITION = ~TIED


@njit(nogil=True, cache=True)
def order_suffixes(text, cover, positions):
    """Return the order of suffixes by comparing them; int64, (n,)."""
    n, width = len(positions), 1
    order, other = np.arange(n), np.empty(n, np.int64)
    while width < n:
        for low in range(0, n, 2 * width):
            middle, high = min(low + width, n), min(low + 2 * width, n)
            i, k = low, middle
            for slot in range(low, high):
                takes_first = k == high
                if i < middle and k < high:
                    first, second = positions[order[i]], positions[order[k]]
                    takes_first = compare(text, cover, first, second, 0) < 0
                other[slot] = order[i] if takes_first else order[k]
                i += takes_first
                k += not takes_first
        order, other = other, order
        width *= 2
    return order


@njit(nogil=True, cache=True)
def _sort_few(text, cover, words, first, last, depth, mask):
    """Sort a small group by comparing its suffixes."""
    words[first] &= mask
    for i in range(first + 1, last):
        position = np.int64(words[i] & mask)
        k = i
        order = 1
        while k > first:
            order = compare(text, cover, np.int64(words[k - 1] & POSITION), position, depth)
            if order <= 0:
                break
            words[k] = words[k - 1]
            k -= 1
        words[k] = np.uint64(position) | (TIED if order == 0 else np.uint64(0))


@njit(nogil=True, cache=True)
def _part_equal(text, cover, words, room, first, last, depth, mask):
    """Three-way partition by a pivot that most of a group equals; keep the equal ones in order.

    Return the number of smaller and of equal suffixes; ``(0, 0)`` if less than half of a sample
    equals the pivot. The group has ``depth`` bases in common, the equal ones ``v``.
    """
    n, n_equal = last - first, 0
    pivot = np.int64(words[(first + last) >> 1] & mask)
    for i in range(SAMPLED):
        position = np.int64(words[first + n * i // SAMPLED] & mask)
        if position == pivot or compare_bases(text, position, pivot, depth, cover.bits) == 0:
            n_equal += 1
    if 2 * n_equal < SAMPLED:
        return 0, 0
    n_less, n_equal, n_greater = 0, 0, 0
    for i in range(first, last):
        position = np.int64(words[i] & mask)
        order = np.int64(0)
        if position != pivot:
            order = compare_bases(text, position, pivot, depth, cover.bits)
        if order == 0:
            words[first + n_equal] = position
            n_equal += 1
        elif order < 0:
            room[first + n_less] = position
            n_less += 1
        else:
            n_greater += 1
            room[last - n_greater] = position
    if n_less:
        for i in range(n_equal - 1, -1, -1):
            words[first + n_less + i] = words[first + i]
    for i in range(n_less):
        words[first + i] = room[first + i]
    for i in range(last - n_greater, last):
        words[i] = room[i]
    return n_less, n_equal


@njit(nogil=True, cache=True)
def sort_block(text, cover, words, room, first, last, depth, position_bits, spare):
    """Sort a block; keys hold the first ``depth`` bases of its suffixes without the block's prefix.

    Leaves the positions. ``room`` holds as many positions; ``spare`` is as for ``sort_words``.
    """
    mask = (ONE << np.uint64(position_bits)) - ONE
    key_bases = (64 - position_bits) // 2
    low_bit = np.int64(64 - 2 * key_bases)
    key_shift = np.uint64(low_bit)
    limit = np.int64(1) << cover.bits
    sort_words(words, first, last, spare, low_bit)
    # A stack of nested groups: where each ends, where to go on then, and which bases its keys
    # hold.
    groups = np.empty((8, 4), np.int64)
    groups[0] = last, last, 0, depth
    top, at = 0, first
    while at < last:
        end, _, start, depth = groups[top]
        after = at + 1
        while after < end and (words[after] ^ words[at]) >> key_shift == 0:
            after += 1
        if after - at > 1:
            at += _part_ended(
                text.marks, text.near, words, at, after, start, depth - start, mask, spare
            )
        n, n_less, n_equal = after - at, 0, 0
        if n > FEW and depth >= limit:
            n_equal = n
        elif n >= MANY:
            n_less, n_equal = _part_equal(text, cover, words, room, at, after, depth, mask)
        low, high = at + n_less, at + n_less + n_equal
        if n <= 1:
            words[at] = words[at] & mask if n == 1 else words[at]
        elif n <= FEW:
            _sort_few(text, cover, words, at, after, depth, mask)
        elif n_equal:
            _sort_deep(text, cover, words, room, low, high, mask, spare)
        if n <= FEW:
            at = after
        else:
            if top + 2 >= len(groups):
                groups = np.concatenate((groups, np.empty_like(groups)))
            for part, part_end, go_on in ((high, after, after), (at, low, high)):
                if part < part_end:
                    _rekey(
                        text.packed, text.marks, text.near, words, part, part_end, depth,
                        key_shift, mask,
                    )  # fmt: skip
                    sort_words(words, part, part_end, spare, low_bit)
                    top += 1
                    groups[top] = part_end, go_on, depth, depth + key_bases
            if n_equal and low == at:
                at = high
        while top >= 0 and groups[top, 0] == at:
            at = groups[top, 1]
            top -= 1


# Groups beyond the depth of the cover -------------------------------------------------------------


@njit(nogil=True, cache=True)
def _sort_deep(text, cover, words, room, first, last, mask, spare):
    """Sort a group whose common prefix is as long as the cover needs."""
    for i in range(first, last):
        words[i] &= mask
    if len(cover.ranks) == 0:
        for i in range(first + 1, last):
            words[i] |= TIED
        return
    is_ascending = True
    for i in range(first + 1, last):
        is_ascending &= words[i] > words[i - 1]
    if not is_ascending:
        sort_words(words, first, last, spare, np.int64(0))
    n, period, n_same = last - first, np.int64(1) << cover.bits, 0
    for i in range(first + 1, last):
        gap = np.int64(words[i] - words[i - 1])
        n_same = n_same + (gap == period) if gap >= period else 1
        period = min(period, gap)
    if n >= MANY and 8 * n_same >= 7 * n:
        _sort_chains(text, cover, words, room, first, last, period)
    else:
        _sort_classes(cover, words, room, first, last, spare)


@njit(nogil=True, cache=True)
def _sort_chains(text, cover, words, room, first, last, period):
    """Sort a repeat by the suffixes after its chains, and by the remaining length of the repeat."""
    n_chains = 1
    for i in range(first + 1, last):
        n_chains += np.int64(words[i] - words[i - 1]) != period
    ends, lengths = np.empty(n_chains, np.int64), np.empty(n_chains, np.int64)
    chain, length = 0, np.int64(0)
    for i in range(first, last):
        length += 1
        if i + 1 == last or np.int64(words[i + 1] - words[i]) != period:
            ends[chain], lengths[chain] = words[i], length
            chain += 1
            length = 0
    for chain in range(n_chains):
        ends[chain] += period
    order = order_suffixes(text, cover, ends)
    spare = np.empty_like(order)
    member, n_small = np.int64(words[first]), 0
    for i in range(n_chains):
        n_small += compare(text, cover, ends[i], member, 0) < 0
    slot = first
    n_left, repeats = n_small, np.int64(0)
    while n_left > 0:
        n_kept = 0
        for i in range(n_left):
            chain = order[i]
            room[slot] = ends[chain] - (repeats + 1) * period
            slot += 1
            spare[n_kept] = chain
            n_kept += lengths[chain] > repeats + 1
        if n_kept < n_left:
            for i in range(n_kept):
                order[i] = spare[i]
        n_left = n_kept
        repeats += 1
    slot = last
    n_left, repeats = n_chains - n_small, np.int64(0)
    while n_left > 0:
        n_kept = 0
        for i in range(n_chains - 1, n_chains - 1 - n_left, -1):
            chain = order[i]
            slot -= 1
            room[slot] = ends[chain] - (repeats + 1) * period
            spare[n_kept] = chain
            n_kept += lengths[chain] > repeats + 1
        if n_kept < n_left:
            for i in range(n_kept):
                order[n_chains - 1 - i] = spare[i]
        n_left = n_kept
        repeats += 1
    for i in range(first, last):
        words[i] = room[i]


@njit(nogil=True, cache=True)
def _sort_classes(cover, words, room, first, last, spare):
    """Sort a group in classes of equal distance to the cover, and merge them."""
    mask = (np.int64(1) << cover.bits) - 1
    size = len(cover.residues)
    n_classes = cover.classes.max() + 1
    bounds = np.zeros(n_classes + 1, np.int64)
    for i in range(first, last):
        room[i] = words[i]
        bounds[cover.classes[np.int64(words[i]) & mask] + 1] += 1
    bounds[0] = first
    for i in range(n_classes):
        bounds[i + 1] += bounds[i]
    index_bits = np.int64(64) - np.int64(leading_zeros(np.uint64(last - first)))
    slots = bounds[:-1].copy()
    for i in range(first, last):
        position = np.int64(room[i])
        number = cover.classes[position & mask]
        at = position + cover.offsets[position & mask]
        rank = np.uint64(cover.ranks[(at >> cover.bits) * size + cover.places[at & mask]])
        words[slots[number]] = rank << np.uint64(index_bits) | np.uint64(i - first)
        slots[number] += 1
    for i in range(n_classes):
        sort_words(words, bounds[i], bounds[i + 1], spare, index_bits)
    low_bits = (ONE << np.uint64(index_bits)) - ONE
    for i in range(first, last):
        words[i] = room[first + np.int64(words[i] & low_bits)]
    n_runs = n_classes
    while n_runs > 1:
        for run in range(0, n_runs, 2):
            low, middle = bounds[run], bounds[min(run + 1, n_runs)]
            high = bounds[min(run + 2, n_runs)]
            i, k = low, middle
            for slot in range(low, high):
                takes_first = k == high or (
                    i < middle and is_before(cover, np.int64(words[i]), np.int64(words[k]))
                )
                room[slot] = words[i] if takes_first else words[k]
                i += takes_first
                k += not takes_first
            bounds[run >> 1] = low
        n_runs = (n_runs + 1) >> 1
        bounds[n_runs] = last
        for i in range(first, last):
            words[i] = room[i]


# Compiled with instructions.py, cpu_blocks.py, cpu_compare.py: ad0460fbca99b718
