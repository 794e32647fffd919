"""Sort seeds block by block, as 64-bit words of packed bases and a position.

A group of seeds with equal keys gets the next bases as its key and is sorted again; the suffixes of
a small group are compared instead. Both stop once a group has many common bases and another seed
among them: the rank of that seed then decides (``cpu_ties``). A word holds a key above its seed's
position, so integers are sorted, and seeds with equal bases become neighbours::

    63                                 0
    | the next bases  | text position   |
"""

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import leading_zeros

FEW = 12  # the suffixes of groups of so many seeds are compared
SHORT = 20  # up to so many words are sorted by insertion
MANY, CHECKED = 1 << 12, 64  # groups of many may be repeats; the first distances tell soon
SAMPLED = 16  # words of which most need to have one key before all are looked at
MAX_DIGIT = 11  # bits of a digit of the radix sort
SPARE = 1 << 20  # words of scratch memory of a thread
COMPARED_BASES = 1024  # a comparison of so many bases, and of each doubling, looks for a link
KEYED_BASES = 48  # keys of so many bases, and of each doubling, do too
ONE, TWO, HALF = np.uint64(1), np.uint64(2), np.uint64(32)
ALL = ~np.uint64(0)


# Sorting words ------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _insert_words(words, first, last):
    for i in range(first + 1, last):
        word = words[i]
        k = i
        while k > first and words[k - 1] > word:
            words[k] = words[k - 1]
            k -= 1
        words[k] = word


@njit(nogil=True, cache=True)
def _part_most(words, first, last, spare, low_bit):
    """If most words share one key, move them between the others, and keep their order.

    Return their range, which is empty if there is no such key.
    """
    n, n_same = last - first, 0
    key = words[(first + last) >> 1] >> low_bit
    for i in range(SAMPLED):
        n_same += words[first + n * i // SAMPLED] >> low_bit == key
    if 4 * n_same < 3 * SAMPLED:
        return first, first
    n_less, n_greater = np.int64(0), np.int64(0)
    for i in range(first, last):
        n_less += words[i] >> low_bit < key
        n_greater += words[i] >> low_bit > key
    if n_less + n_greater > len(spare):
        return first, first
    less, greater, slot = np.int64(0), n_less, first
    for i in range(first, last):
        word = words[i]
        if word >> low_bit == key:
            words[slot] = word
            slot += 1
        elif word >> low_bit < key:
            spare[less] = word
            less += 1
        else:
            spare[greater] = word
            greater += 1
    if n_less:
        for i in range(slot - 1, first - 1, -1):
            words[i + n_less] = words[i]
    for i in range(n_less):
        words[first + i] = spare[i]
    for i in range(n_greater):
        words[last - n_greater + i] = spare[n_less + i]
    return first + n_less, last - n_greater


@njit(nogil=True, cache=True)
def sort_words(words, first, last, spare, low_bit):
    """Sort words by their bits from ``low_bit`` on.

    The lower bits may or may not affect the order. ``spare`` has the length ``SPARE``, or the
    number of words if that is less.
    """
    n = last - first
    if n <= SHORT:
        _insert_words(words, first, last)
        return
    differs = np.uint64(0)
    for i in range(first + 1, last):
        differs |= words[i] ^ words[first]
    high = np.int64(64) - np.int64(leading_zeros(differs))
    if high <= low_bit:
        return
    if n >= MANY:
        low, above = _part_most(words, first, last, spare, np.uint64(low_bit))
        if low < above:
            sort_words(words, first, low, spare, low_bit)
            sort_words(words, above, last, spare, low_bit)
            return
    if n > len(spare):
        bit = ONE << np.uint64(high - 1)
        left, right = first, last
        while left < right:
            if words[left] & bit:
                right -= 1
                words[left], words[right] = words[right], words[left]
            else:
                left += 1
        sort_words(words, first, left, spare, low_bit)
        sort_words(words, left, last, spare, low_bit)
        return
    n_bits = min(high - low_bit, MAX_DIGIT, np.int64(63) - np.int64(leading_zeros(np.uint64(n))))
    shift = np.uint64(high - n_bits)
    mask = (ONE << np.uint64(n_bits)) - ONE
    ends = np.zeros((np.int64(1) << n_bits) + 1, np.int32)
    for i in range(first, last):
        ends[np.int64(words[i] >> shift & mask) + 1] += 1
    largest = np.int64(0)
    for digit in range(1, len(ends)):
        largest = max(largest, np.int64(ends[digit]))
        ends[digit] += ends[digit - 1]
    for i in range(first, last):
        digit = np.int64(words[i] >> shift & mask)
        spare[ends[digit]] = words[i]
        ends[digit] += 1
    if largest > SHORT:
        for i in range(n):
            words[first + i] = spare[i]
        start = np.int64(0)
        for digit in range(len(ends) - 1):
            end = np.int64(ends[digit])
            sort_words(words, first + start, first + end, spare, low_bit)
            start = end
        return
    words[first] = spare[0]
    for i in range(1, n):
        word = spare[i]
        k = first + i
        while k > first and words[k - 1] > word:
            words[k] = words[k - 1]
            k -= 1
        words[k] = word


# Comparing suffixes -------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _window(packed, position):
    """Return 32 symbols from a position on."""
    word = position >> 5
    shift = np.uint64(2 * (position & 31))
    return packed[word] << shift | packed[word + 1] >> ONE >> (np.uint64(63) - shift)


@njit(nogil=True, cache=True)
def _is_near(near, position):
    word = position >> 5
    return (near[word >> 6] >> np.uint64(word & 63) & ONE) != 0


@njit(nogil=True, cache=True)
def _distance(marks, position):
    """Return the distance to the next exception, or 32 if it is farther."""
    word = position >> 5
    exceptions = (marks[word] >> HALF << HALF) | marks[word + 1] >> HALF
    exceptions = exceptions << np.uint64(position & 31) >> HALF << HALF
    return min(np.int64(leading_zeros(exceptions)), np.int64(32))


@njit(nogil=True, cache=True)
def _pad(window, distance):
    """Return a window with A for all from an exception on."""
    if distance >= 32:
        return window
    return window & ~(ALL >> np.uint64(2 * distance))


@njit(nogil=True, cache=True)
def _last_mark(marks, first, last):
    """Return the last seed in ``[first + 1, last]``, or -1."""
    at = last - 1
    bits = marks[at >> 5] & (ALL >> HALF) & (ALL << np.uint64(31 - (at & 31)))
    word = at >> 5
    while bits == 0:
        word -= 1
        if word < first >> 5:
            return np.int64(-1)
        bits = marks[word] & (ALL >> HALF)
    lowest = np.int64(63) - np.int64(leading_zeros(bits & (~bits + ONE)))
    seed = (word << 5) + 31 - lowest + 1
    return seed if seed > first else np.int64(-1)


@njit(nogil=True, cache=True)
def find_link(packed, marks, position, depth):
    """Return the distance to the last seed that the first ``depth`` bases prove, or 0.

    The rank of that seed decides between suffixes that have these bases in common.
    """
    last = position + depth - 1
    seed = _last_mark(marks, position, last)
    if seed < 0:
        return np.int64(0)
    # A seed is proved when a base before the end differs from its first one.
    at = seed
    while at < last:
        n = min(last - at, 31)
        window = _window(packed, at)
        if (window ^ window << TWO) >> np.uint64(64 - 2 * n):
            return seed - position
        at += n
    seed = _last_mark(marks, position, seed - 1) if seed - 1 > position else np.int64(-1)
    return max(seed - position, 0)


@njit(nogil=True, cache=True)
def _compare(packed, marks, near, first, second, depth):
    """Return -1, 0 or 1: one suffix is less than, tied with or greater than another.

    They have ``depth`` bases in common.
    """
    checked = COMPARED_BASES
    while True:
        one, other = _window(packed, first + depth), _window(packed, second + depth)
        if _is_near(near, first + depth) or _is_near(near, second + depth):
            distance = _distance(marks, first + depth)
            other_distance = _distance(marks, second + depth)
            one, other = _pad(one, distance), _pad(other, other_distance)
            if one == other:
                if distance != other_distance:
                    return -1 if distance < other_distance else 1
                if distance < 32:
                    return -1 if first > second else 1
        if one != other:
            return -1 if one < other else 1
        depth += 32
        if depth >= checked:
            if find_link(packed, marks, first, depth) > 0:
                return 0
            checked = 2 * depth


@njit(nogil=True, cache=True)
def _common_depth(packed, marks, position, depth):
    """Return the number of common bases after which `_compare` declares a tie."""
    checked = COMPARED_BASES
    while True:
        depth += 32
        if depth >= checked:
            if find_link(packed, marks, position, depth) > 0:
                return depth
            checked = 2 * depth


# Blocks -------------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def _part_ended(marks, near, words, first, last, start, width, mask, spare):
    """Move seeds with an exception in their keys to the front, in order; return their number.

    The others keep their order, unless there are too many of the former.
    """
    n = 0
    for i in range(first, last):
        position = np.int64(words[i] & mask) + start
        n += _is_near(near, position) and _distance(marks, position) < width
    if n == 0:
        return n
    if n <= len(spare):
        slot, n_kept = last - 1, 0
        for i in range(last - 1, first - 1, -1):
            position = np.int64(words[i] & mask) + start
            if _is_near(near, position) and _distance(marks, position) < width:
                spare[n_kept] = words[i]
                n_kept += 1
            else:
                words[slot] = words[i]
                slot -= 1
        for i in range(n):
            words[first + i] = spare[i]
    else:
        n = 0
        for i in range(first, last):
            position = np.int64(words[i] & mask) + start
            if _is_near(near, position) and _distance(marks, position) < width:
                words[i], words[first + n] = words[first + n], words[i]
                n += 1
    n_bits = np.int64(64) - np.int64(leading_zeros(mask))
    for i in range(first, first + n):
        position = words[i] & mask
        distance = np.uint64(_distance(marks, np.int64(position) + start))
        words[i] = distance << np.uint64(n_bits) | (mask - position)
    sort_words(words, first, first + n, spare, np.int64(0))
    for i in range(first, first + n):
        words[i] = mask - (words[i] & mask)
    return n


@njit(nogil=True, cache=True)
def _sort_few(packed, marks, near, words, first, last, depth, mask, seeds, is_head):
    """Sort a small group by comparing its suffixes."""
    seeds[first] = words[first] & mask
    is_head[first] = 1
    for i in range(first + 1, last):
        position = np.int64(words[i] & mask)
        k = i
        order = np.int64(1)
        while k > first:
            order = _compare(packed, marks, near, np.int64(seeds[k - 1]), position, depth)
            if order <= 0:
                break
            seeds[k] = seeds[k - 1]
            is_head[k] = is_head[k - 1]
            k -= 1
        seeds[k] = position
        if k == first:
            is_head[k] = 1
            is_head[k + 1] = 1
        else:
            is_head[k] = order != 0


@njit(nogil=True, cache=True)
def _rekey(packed, marks, near, words, first, last, depth, key_shift, mask):
    """Set the key of each seed of a group to the bases after its first ``depth`` ones."""
    for i in range(first, last):
        position = np.int64(words[i] & mask)
        window = _window(packed, position + depth)
        if _is_near(near, position + depth):
            window = _pad(window, _distance(marks, position + depth))
        words[i] = window >> key_shift << key_shift | np.uint64(position)


@njit(nogil=True, cache=True)
def _is_checked(depth, key_bases):
    """Return whether the keys at a depth are the first past a doubling of ``KEYED_BASES``."""
    doubled = np.int64(KEYED_BASES)
    while doubled <= depth - key_bases:
        doubled *= 2
    return doubled <= depth


@njit(nogil=True, cache=True)
def _is_repeat(words, first, last, depth, mask):
    """Return whether a group is a repeat: most of its seeds are the same distance apart.

    More keys would not separate them; ``cpu_ties`` sorts them by the remaining length of the
    repeat.
    """
    if last - first < MANY:
        return False
    n_same, before = 0, np.int64(0)
    for i in range(first + 1, last):
        distance = abs(np.int64(words[i] & mask) - np.int64(words[i - 1] & mask))
        n_same += distance == before and 2 * distance <= depth
        before = distance
        if i == first + CHECKED and 2 * n_same < CHECKED:
            return False
    return 4 * n_same >= 3 * (last - first)


@njit(nogil=True, cache=True)
def _keep_tied(packed, marks, words, first, last, depth, mask, seeds, is_head, links):
    for i in range(first, last):
        seeds[i] = words[i] & mask
        is_head[i] = i == first
    links[first >> 1] = find_link(packed, marks, np.int64(words[first] & mask), depth)


@njit(nogil=True, cache=True)
def _sort_block(
    packed, marks, near, words, first, last, depth, position_bits, spare, seeds, is_head, links
):
    """Sort the seeds of a block; keys hold their first ``depth`` bases without the block's prefix.

    Return the number of tied seeds.
    """
    mask = (ONE << np.uint64(position_bits)) - ONE
    key_bases = (64 - position_bits) // 2
    low_bit = np.int64(64 - 2 * key_bases)
    key_shift = np.uint64(low_bit)
    sort_words(words, first, last, spare, low_bit)
    # A stack of nested groups: where each ends, and which bases its keys hold.
    ends, starts, depths = np.empty(8, np.int64), np.empty(8, np.int64), np.empty(8, np.int64)
    ends[0], starts[0], depths[0] = last, 0, depth
    top, at, n_tied = 0, first, 0
    while at < last:
        while ends[top] == at:
            top -= 1
        start, depth, end = starts[top], depths[top], ends[top]
        after = at + 1
        while after < end and (words[after] ^ words[at]) >> key_shift == 0:
            after += 1
        if after - at > 1:
            n_ended = _part_ended(marks, near, words, at, after, start, depth - start, mask, spare)
            for i in range(at, at + n_ended):
                seeds[i] = words[i] & mask
                is_head[i] = 1
            at += n_ended
        n = after - at
        if n <= 1:
            if n == 1:
                seeds[at] = words[at] & mask
                is_head[at] = 1
            at = after
        elif n <= FEW:
            _sort_few(packed, marks, near, words, at, after, depth, mask, seeds, is_head)
            i = at
            while i < after:
                k = i + 1
                while k < after and not is_head[k]:
                    k += 1
                if k - i > 1:
                    position = np.int64(seeds[i])
                    common = _common_depth(packed, marks, position, depth)
                    links[i >> 1] = find_link(packed, marks, position, common)
                    n_tied += k - i
                i = k
            at = after
        elif (
            _is_checked(depth, key_bases) or _is_repeat(words, at, after, depth, mask)
        ) and find_link(packed, marks, np.int64(words[at] & mask), depth):
            _keep_tied(packed, marks, words, at, after, depth, mask, seeds, is_head, links)
            n_tied += n
            at = after
        else:
            _rekey(packed, marks, near, words, at, after, depth, key_shift, mask)
            sort_words(words, at, after, spare, low_bit)
            if after < end:
                top += 1
                if top == len(ends):
                    ends = np.append(ends, np.empty_like(ends))
                    starts = np.append(starts, np.empty_like(starts))
                    depths = np.append(depths, np.empty_like(depths))
            ends[top], starts[top], depths[top] = after, depth, depth + key_bases
    return n_tied


@njit(nogil=True, cache=True, parallel=True)
def sort_blocks(
    packed,
    marks,
    near,
    words,
    block_ends,
    pieces,
    depth,
    position_bits,
    seeds,
    is_head,
    links,
    tied,
):
    """Sort the blocks of each piece, and store its number of tied seeds.

    Piece ``i`` has the blocks from ``pieces[i]`` to ``pieces[i + 1]``.
    """
    for piece in prange(len(pieces) - 1):
        longest = np.int64(0)
        for block in range(pieces[piece], pieces[piece + 1]):
            longest = max(longest, block_ends[block + 1] - block_ends[block])
        spare = np.empty(min(longest, SPARE), np.uint64)
        n_tied = 0
        for block in range(pieces[piece], pieces[piece + 1]):
            n_tied += _sort_block(
                packed,
                marks,
                near,
                words,
                block_ends[block],
                block_ends[block + 1],
                depth,
                position_bits,
                spare,
                seeds,
                is_head,
                links,
            )
        tied[piece] = n_tied


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
