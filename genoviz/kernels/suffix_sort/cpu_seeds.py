"""Seeds: the suffixes that are sorted by bases; found, bucketed, and refined where tied.

A suffix is rising if it is smaller than the suffix one base later, and falling otherwise (type S
and L of SA-IS). A seed is a rising suffix after a falling one; the order of all others is induced
from the seeds (``cpu``). At most every second suffix is a seed, in genomes less than a third.

Seeds that are still tied after the sort in blocks (``cpu_blocks``) are refined by prefix doubling.
The members of a group have bases in common up to another seed, at a distance called the group's
link, so the ranks of the seeds there sort them. Members that stay tied also share the bases up to
the link of that rank's group, and the sum is their new link: common bases double each round::

    two members   |-- common --|rank 7        the seeds at the link are already ordered:
    of a group    |-- common --|rank 9        the first is smaller

    or            |-- common --|rank 7        still tied there, in a group with more common
                  |-- common --|rank 7        bases, up to its own link:
                               |-- common --|
                  |---------- common -------| so these are common too

A tandem repeat would tie its own seeds for one round per doubling of its length. There, the seeds
of a group are one period apart and form chains. A chain ends with a seed whose successor, one
period further on, is in another group. If that group is smaller, the last seed is the smallest of
its chain, else the largest, and so on along the chain. So the number of periods left and the rank
after the chain sort all seeds in one round.

If a text has few different substrings between seeds, each substring gets a name, and the names form
a shorter text whose suffixes have the order of the seeds (``iter_sort_names``).
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from genoviz.kernels.instructions import count_ones, leading_zeros, prefetch

LOW_BITS = np.uint64(0x5555555555555555)
LOW_HALF = np.uint64(0xFFFFFFFF)
ONE, TWO, HALF = np.uint64(1), np.uint64(2), np.uint64(32)
COUNTS = 8  # columns of what `find_seeds` counts
FEW = 16  # up to so many pairs are sorted by insertion
MANY = 64  # groups of so many seeds may be tandem repeats
GROUPS, FETCHED = 64, 192  # groups, and their seeds, whose ranks are prefetched together
DIGIT_BITS = 11
DIGIT = (1 << DIGIT_BITS) - 1
ALL_HEADS = np.uint64(0x0101010101010101)  # eight times HEAD
HEAD, TIED, NEW_HEAD = 1, 0, 2
SLOT_BITS = 16  # of the hash table of names
MANY_NAMES, SEEDS_PER_NAME = 1024, 16  # with more names, and fewer seeds each, naming is slower
FACTOR, HASH_SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(64 - SLOT_BITS)
STEP_NAMES = 1 << 23  # names induced between two chances to cancel


@njit(nogil=True, cache=True)
def mark_exceptions(exceptions, marks, near):
    """Set the bits of exceptions.

    A word of ``marks`` is for 32 symbols, the first one in the highest bit of each half: exceptions
    in the upper half, symbols before a seed in the lower half. A bit of ``near`` is set if its word
    or the next one has an exception.
    """
    for i in range(len(exceptions)):
        position = exceptions[i]
        word = position >> 5
        marks[word] |= ONE << np.uint64(63 - (position & 31))
        near[word >> 6] |= ONE << np.uint64(word & 63)
        word = max(word - 1, 0)
        near[word >> 6] |= ONE << np.uint64(word & 63)


@njit(nogil=True, cache=True)
def _spread(half):
    """Return 32 bits, each with a zero bit before it."""
    half = (half | half << np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    half = (half | half << np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    half = (half | half << np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    half = (half | half << TWO) & np.uint64(0x3333333333333333)
    return (half | half << ONE) & LOW_BITS


@njit(nogil=True, cache=True)
def _gather(word):
    """Compact every second bit of a word, those of ``LOW_BITS``."""
    word &= LOW_BITS
    word = (word | word >> ONE) & np.uint64(0x3333333333333333)
    word = (word | word >> TWO) & np.uint64(0x0F0F0F0F0F0F0F0F)
    word = (word | word >> np.uint64(4)) & np.uint64(0x00FF00FF00FF00FF)
    word = (word | word >> np.uint64(8)) & np.uint64(0x0000FFFF0000FFFF)
    return (word | word >> np.uint64(16)) & LOW_HALF


@njit(nogil=True, cache=True)
def _less_and_equal(packed, marks, word):
    """Return which of 32 symbols are less than the next one, and which are equal to it.

    Neither is set at an exception.
    """
    here = packed[word]
    following = here << TWO | packed[word + 1] >> np.uint64(62)
    differs = here ^ following
    high, low = differs >> ONE & LOW_BITS, differs & LOW_BITS
    less = (following >> ONE & high) | (following & low & ~high)
    equal = ~(high | low) & LOW_BITS
    if marks[word] >> HALF:
        kept = ~_spread(marks[word] >> HALF)
        less &= kept
        equal &= kept
    return less, equal


@njit(nogil=True, cache=True)
def _is_rising(packed, marks, word):
    """Return whether the first symbol of a word begins a rising suffix."""
    while word < len(marks) - 1:
        less, equal = _less_and_equal(packed, marks, word)
        unequal = ~equal & LOW_BITS
        if unequal:
            first = ONE << (np.uint64(63) - leading_zeros(unequal))
            return less & first != 0
        word += 1
    return False


@njit(nogil=True, cache=True, parallel=True)
def find_seeds(packed, marks, edges, first_chunk, last_chunk, counts):
    """Mark the symbols before seeds in chunks of words.

    Each row of ``counts`` gets the chunk's rising suffixes of each base, and its number of C, G, T
    and seeds.
    """
    for chunk in prange(first_chunk, last_chunk):
        rising_after = _is_rising(packed, marks, edges[chunk + 1])
        row = np.zeros(COUNTS, np.uint64)
        for word in range(edges[chunk + 1] - 1, edges[chunk] - 1, -1):
            less, equal = _less_and_equal(packed, marks, word)
            # The carry of this sum runs from a symbol to the one before it while they are equal.
            carries = (less | equal) * np.uint64(3)
            generators = less * np.uint64(3)
            total = carries + generators + np.uint64(rising_after)
            next_rises = (total ^ carries ^ generators) & LOW_BITS
            rising = less | (equal & next_rises)
            before_seeds = _gather(next_rises & ~rising) & ~(marks[word] >> HALF)
            marks[word] |= before_seeds
            rising_after = rising >> np.uint64(62) != 0
            high, low = packed[word] >> ONE & LOW_BITS, packed[word] & LOW_BITS
            row[0] += count_ones(rising & ~(high | low))
            row[1] += count_ones(rising & low & ~high)
            row[2] += count_ones(rising & high & ~low)
            row[3] += count_ones(rising & high & low)
            row[4] += count_ones(low & ~high)
            row[5] += count_ones(high & ~low)
            row[6] += count_ones(high & low)
            row[7] += count_ones(before_seeds)
        for k in range(COUNTS):
            counts[chunk, k] = row[k]


@njit(nogil=True, cache=True)
def _padded_window(packed, marks, position):
    """Return 32 symbols from a position on, with A after an exception."""
    word, offset = position >> 5, position & 31
    shift = np.uint64(2 * offset)
    window = packed[word] << shift | packed[word + 1] >> ONE >> (np.uint64(63) - shift)
    exceptions = (marks[word] >> HALF << HALF) | marks[word + 1] >> HALF
    exceptions = exceptions << np.uint64(offset) >> HALF
    if exceptions:
        distance = leading_zeros(exceptions << HALF)
        window &= ~(~np.uint64(0) >> (TWO * distance))
    return window


@njit(nogil=True, cache=True, parallel=True)
def count_seeds(packed, marks, edges, first_chunk, last_chunk, prefix_bases, tallies):
    """Count the seeds of each chunk by their prefix."""
    shift = np.uint64(64 - 2 * prefix_bases)
    for chunk in prange(first_chunk, last_chunk):
        tally = tallies[chunk]
        for word in range(edges[chunk], edges[chunk + 1]):
            bits = marks[word] << HALF
            while bits:
                offset = leading_zeros(bits)
                bits ^= np.uint64(1 << 63) >> offset
                position = (word << 5) + np.int64(offset) + 1
                window = _padded_window(packed, marks, position)
                tally[np.int64(window >> shift)] += 1


@njit(nogil=True, cache=True, parallel=True)
def part_seeds(
    packed, marks, edges, first_chunk, last_chunk, prefix_bases, position_bits, slots, words
):
    """Put each seed in its block, as the bases after the prefix and the position.

    ``slots`` holds the next slot of each chunk in each block.
    """
    shift = np.uint64(64 - 2 * prefix_bases)
    key_shift = np.uint64((position_bits + 1) // 2 * 2)
    for chunk in prange(first_chunk, last_chunk):
        slot = slots[chunk]
        for word in range(edges[chunk], edges[chunk + 1]):
            bits = marks[word] << HALF
            while bits:
                offset = leading_zeros(bits)
                bits ^= np.uint64(1 << 63) >> offset
                position = (word << 5) + np.int64(offset) + 1
                window = _padded_window(packed, marks, position)
                block = np.int64(window >> shift)
                key = window << (np.uint64(64) - shift) >> key_shift << key_shift
                words[slot[block]] = key | np.uint64(position)
                slot[block] += 1


@njit(nogil=True, cache=True)
def move_to_heads(is_head, edges):
    """Move the edges of chunks to the next group heads."""
    for i in range(1, len(edges) - 1):
        edges[i] = max(edges[i], edges[i - 1])
        while edges[i] < edges[-1] and is_head[edges[i]] == TIED:
            edges[i] += 1


@njit(nogil=True, cache=True, parallel=True)
def rank_seeds(seeds, is_head, edges, ranks):
    """Store the first slot of each seed's group, at half the seed's position."""
    for chunk in prange(len(edges) - 1):
        head = edges[chunk]
        for slot in range(edges[chunk], edges[chunk + 1]):
            if is_head[slot]:
                head = slot
            ranks[seeds[slot] >> 1] = head


@njit(nogil=True, cache=True)
def _next_tied(is_head, slot, end):
    """Return the first slot from one on that belongs to the group before it, or ``end``."""
    eight = is_head.view(np.uint64)
    while slot < end and is_head[slot] == HEAD:
        slot += 1
        while slot & 7 == 0 and slot + 8 <= end and eight[slot >> 3] == ALL_HEADS:
            slot += 8
    return slot


@njit(nogil=True, cache=True)
def _sort_pairs(keys, positions, n):
    """Sort positions by keys >= 0."""
    if n > FEW:
        _sort_many(keys, positions, n)
        return
    for i in range(1, n):
        key, position = keys[i], positions[i]
        k = i
        while k > 0 and keys[k - 1] > key:
            keys[k] = keys[k - 1]
            positions[k] = positions[k - 1]
            k -= 1
        keys[k] = key
        positions[k] = position


@njit(nogil=True, cache=True)
def _turn_descending(keys, positions, n):
    """Reverse a descending sequence, and return whether the keys are now in order."""
    ascends = descends = True
    i = 1
    while i < n and (ascends or descends):
        ascends &= keys[i] >= keys[i - 1]
        descends &= keys[i] < keys[i - 1]
        i += 1
    if descends and not ascends:
        for i in range(n // 2):
            k = n - 1 - i
            keys[i], keys[k] = keys[k], keys[i]
            positions[i], positions[k] = positions[k], positions[i]
    return ascends or descends


@njit(nogil=True, cache=True)
def _sort_many(keys, positions, n):
    """LSD radix sort by 11 bits a pass; passes in which all keys are equal are skipped."""
    if _turn_descending(keys, positions, n):
        return
    differs = np.int64(0)
    for i in range(1, n):
        differs |= keys[i] ^ keys[0]
    sorted_keys, sorted_positions = np.empty(n, np.int64), np.empty(n, np.int64)
    for shift in range(0, 63, DIGIT_BITS):
        if differs >> shift & DIGIT == 0:
            continue
        ends = np.zeros(DIGIT + 2, np.int64)
        for i in range(n):
            ends[(keys[i] >> shift & DIGIT) + 1] += 1
        for digit in range(DIGIT):
            ends[digit + 1] += ends[digit]
        for i in range(n):
            digit = keys[i] >> shift & DIGIT
            sorted_keys[ends[digit]] = keys[i]
            sorted_positions[ends[digit]] = positions[i]
            ends[digit] += 1
        for i in range(n):
            keys[i], positions[i] = sorted_keys[i], sorted_positions[i]


@njit(nogil=True, cache=True)
def _find_groups(seeds, is_head, slot, end, ranks, links, firsts, lasts):
    """Find the next groups, and load the ranks at their members' links.

    Return the number of groups, and the slot after them.
    """
    n, fetched = 0, 0
    while n < len(firsts) and fetched < FETCHED:
        tied = _next_tied(is_head, slot, end)
        if tied == end:
            slot = end
            break
        slot = tied + 1
        while slot < end and is_head[slot] == TIED:
            slot += 1
        firsts[n], lasts[n] = tied - 1, slot
        link = np.int64(links[(tied - 1) >> 1])
        for i in range(tied - 1, min(slot, tied + FETCHED)):
            prefetch(ranks, (np.int64(seeds[i]) + link) >> 1)
        fetched += slot - tied + 1
        n += 1
    for i in range(n):
        first = firsts[i]
        target = (np.int64(seeds[first]) + np.int64(links[first >> 1])) >> 1
        prefetch(links, np.int64(ranks[target]) >> 1)
    return n, slot


@njit(nogil=True, cache=True)
def _find_period(seeds, first, n, link, ranks, finds_gaps):
    """Return a distance at which most seeds of a group have another seed of it, or 0.

    That is the distance of neighbours if it is at most the link, or else the link.
    """
    if finds_gaps and _is_periodic(seeds, first, n, link):
        period = link
        for i in range(first + 1, first + n):
            period = min(period, abs(np.int64(seeds[i]) - np.int64(seeds[i - 1])))
        return period
    n_same = 0
    for i in range(first, first + n):
        n_same += ranks[(np.int64(seeds[i]) + link) >> 1] == first
    return link if 4 * n_same >= 3 * n else np.int64(0)


@njit(nogil=True, cache=True)
def _is_periodic(seeds, first, n, link):
    """Return whether most seeds of a group are equally far apart, at most as far as its link."""
    n_same, before = 0, np.int64(0)
    for i in range(first + 1, first + n):
        distance = abs(np.int64(seeds[i]) - np.int64(seeds[i - 1]))
        n_same += distance == before and distance <= link
        before = distance
    return 4 * n_same >= 3 * n


@njit(nogil=True, cache=True)
def _sort_chains(seeds, is_head, first, n, ranks, links, next_links, period):
    """Sort a group by the periods left of each seed's chain, and by the rank after the chain.

    Return False if the numbers do not fit in one key.
    """
    positions, repeats, keys = np.empty(n, np.int64), np.zeros(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        positions[i] = keys[i] = seeds[first + i]
    _sort_pairs(keys, positions, n)
    k, maximum = n - 1, np.int64(1)
    for i in range(n - 1, -1, -1):
        while positions[k] > positions[i] + period:
            k -= 1
        if k > i and positions[k] == positions[i] + period:
            repeats[i], keys[i] = repeats[k] + 1, keys[k]
            maximum = max(maximum, repeats[i] + 1)
        else:
            keys[i] = ranks[(positions[i] + period) >> 1]
    n_ranks = np.int64(len(seeds))
    if maximum > (np.int64(1) << 61) // n_ranks:
        return False
    for i in range(n):
        row = repeats[i] if keys[i] < first else 2 * maximum - repeats[i]
        keys[i] += row * n_ranks
    _sort_pairs(keys, positions, n)
    head = 0
    for i in range(n):
        seeds[first + i] = positions[i]
        if keys[i] != keys[head]:
            head = i
            is_head[first + i] = NEW_HEAD
        if i == head + 1:
            row, rank = keys[head] // n_ranks, keys[head] % n_ranks
            left = row if row < maximum else 2 * maximum - row
            next_links[(first + head) >> 1] = (left + 1) * period + np.int64(links[rank >> 1])
    return True


@njit(nogil=True, cache=True)
def _sort_group(seeds, is_head, first, n, ranks, links, next_links, keys, positions, finds_gaps):
    link = np.int64(links[first >> 1])
    if n >= MANY:
        period = _find_period(seeds, first, n, link, ranks, finds_gaps)
        if period and _sort_chains(seeds, is_head, first, n, ranks, links, next_links, period):
            return
    for i in range(n):
        position = np.int64(seeds[first + i])
        positions[i] = position
        keys[i] = ranks[(position + link) >> 1]
    _sort_pairs(keys, positions, n)
    head = 0
    for i in range(n):
        seeds[first + i] = positions[i]
        if keys[i] != keys[head]:
            head = i
            is_head[first + i] = NEW_HEAD
        if i == head + 1:
            next_links[(first + head) >> 1] = link + np.int64(links[keys[head] >> 1])


@njit(nogil=True, cache=True, parallel=True)
def sort_groups(seeds, is_head, edges, ranks, links, next_links, finds_gaps):
    """Sort each group by the ranks at its members' links, and mark where it splits.

    ``finds_gaps`` says whether seeds at equal distances are an equal number of bases apart.
    """
    for chunk in prange(len(edges) - 1):
        firsts, lasts = np.empty(GROUPS, np.int64), np.empty(GROUPS, np.int64)
        keys, positions = np.empty(64, np.int64), np.empty(64, np.int64)
        slot, end = edges[chunk], edges[chunk + 1]
        while slot < end:
            n_groups, slot = _find_groups(seeds, is_head, slot, end, ranks, links, firsts, lasts)
            for group in range(n_groups):
                first = firsts[group]
                n = lasts[group] - first
                if n > len(keys):
                    keys, positions = np.empty(n, np.int64), np.empty(n, np.int64)
                _sort_group(
                    seeds,
                    is_head,
                    first,
                    n,
                    ranks,
                    links,
                    next_links,
                    keys,
                    positions,
                    finds_gaps,
                )


@njit(nogil=True, cache=True, parallel=True)
def split_groups(seeds, is_head, edges, ranks, tied):
    """Rank the parts of each chunk's groups, and store the number of tied seeds."""
    for chunk in prange(len(edges) - 1):
        slot, end, n_tied = edges[chunk], edges[chunk + 1], 0
        while True:
            slot = _next_tied(is_head, slot, end)
            if slot == end:
                break
            head, n = slot - 1, 1
            while slot < end and is_head[slot] != HEAD:
                if is_head[slot] == NEW_HEAD:
                    is_head[slot] = HEAD
                    n_tied += n if n > 1 else 0
                    head, n = slot, 0
                if head != slot or n == 0:
                    ranks[seeds[slot] >> 1] = head
                n += 1
                slot += 1
            n_tied += n if n > 1 else 0
        tied[chunk] = n_tied


# Few names ----------------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def name_seeds(packed, marks, n_symbols, exceptions, first, stop, state, table, names, known):
    """Name the bases from each seed up to the first one of the next seed, at most 32.

    ``names`` (uint16, one for each seed in text order) holds indices into the columns of ``known``,
    whose rows are: window, length, seeds before an exception, seeds of the name, and the name that
    came next the last time. Bases after the length are T. A seed before an exception has no next
    seed: its bases end at the exception, with A after the length, and it has a name of its own.

    Reads words from ``first`` to ``stop``. ``state`` holds the number of names, of named seeds, the
    last seed, its next exception and the last name; ``table`` is a hash table from windows to
    names. Return False if there are too many names, or a name is longer.
    """
    windows, lengths, ended, counts, followers = known
    n_names, n, before, next_exception, last = state
    for word in range(first, stop):
        is_end = word == len(marks) - 1
        bits = np.uint64(0) if is_end else marks[word] << HALF
        while bits or (is_end and before >= 0):
            position = n_symbols
            if bits:
                offset = leading_zeros(bits)
                bits ^= np.uint64(1 << 63) >> offset
                position = (word << 5) + np.int64(offset) + 1
            if before >= 0:
                while exceptions[next_exception] < before:
                    next_exception += 1
                end = exceptions[next_exception]
                has_ended = end < position
                length = end - before if has_ended else position - before + 1
                if length > 32:
                    return False
                at, shift = before >> 5, np.uint64(2 * (before & 31))
                window = packed[at] << shift | packed[at + 1] >> ONE >> (np.uint64(63) - shift)
                rest = ~np.uint64(0) >> ONE >> np.uint64(2 * length - 1)
                window = window & ~rest if has_ended else window | rest
                name = followers[last]
                is_known = windows[name] == np.int64(window) and lengths[name] == length
                if has_ended or not is_known or ended[name] >= 0:
                    name = np.int64(-1)
                    slot = np.int64((window ^ window >> np.uint64(29)) * FACTOR >> HASH_SHIFT)
                    while not has_ended and table[slot] >= 0 and name < 0:
                        other = table[slot]
                        if windows[other] == np.int64(window) and lengths[other] == length:
                            name = other
                        slot = (slot + 1) & (len(table) - 1)
                    if name < 0:
                        is_many = n_names > MANY_NAMES and SEEDS_PER_NAME * n_names > n
                        if is_many or n_names == known.shape[1]:
                            return False
                        name = n_names
                        windows[name], lengths[name] = np.int64(window), length
                        ended[name] = before if has_ended else -1
                        if not has_ended:
                            table[slot] = name
                        n_names += 1
                    followers[last] = name
                last = name
                names[n] = name
                counts[name] += 1
                n += 1
            before = position if position < n_symbols else np.int64(-1)
    state[0], state[1], state[2], state[3], state[4] = n_names, n, before, next_exception, last
    return True


@njit(nogil=True, cache=True)
def rename(names, new_names):
    """Replace each name by its new one."""
    for i in range(len(names)):
        names[i] = new_names[names[i]]


@njit(nogil=True, cache=True)
def list_seeds(marks, rows, order, seeds):
    """Store the positions of the seeds in the given order; ``rows`` has room for all of them."""
    n = 0
    for word in range(len(marks)):
        bits = marks[word] << HALF
        while bits:
            offset = leading_zeros(bits)
            bits ^= np.uint64(1 << 63) >> offset
            rows[n] = (word << 5) + np.int64(offset) + 1
            n += 1
    for i in range(n):
        seeds[i] = rows[order[i]]


def iter_sort_named(names, n_names, marks, suffix_array):
    """Return the positions of the seeds in the order of their names; yield progress.

    The memory of the suffix array is workspace: the order is at its end, positions at its start.
    """
    n_seeds = len(names)
    order = suffix_array.view(np.int32)[-n_seeds:]
    for _ in iter_sort_names(names, n_names, order):
        yield "blocks", 0, n_seeds, 0
    seeds = np.empty(n_seeds, suffix_array.dtype)
    list_seeds(marks, suffix_array, order, seeds)
    yield "blocks", n_seeds, n_seeds, 0
    return seeds


def iter_sort_names(names, n_names, order):
    """Fill ``order`` with the sorted suffixes of names (int32), by induction and recursion.

    After Nong, Zhang, Chan 2011 (SA-IS). The end is smaller than any name. Yields at intervals.
    """
    if len(names) > 1 and _is_run(names):
        _order_run(names, order)
        return
    rising, starts, n_lowest = _type_names(names, n_names)
    yield
    lowest = np.empty(n_lowest, np.int32)
    if n_lowest:
        _find_lowest(rising, lowest)
        yield from _induce_names(names, rising, starts, lowest, order)
        reduced = np.empty(n_lowest, np.int32)
        n_reduced = _name_lowest(names, rising, order, lowest, reduced)
        yield
        inner = order[:n_lowest]
        if n_reduced == n_lowest:
            inner[reduced] = np.arange(n_lowest, dtype=np.int32)
        else:
            yield from iter_sort_names(reduced, n_reduced, inner)
        del reduced
        lowest = lowest[inner]
        yield
    yield from _induce_names(names, rising, starts, lowest, order)


@njit(nogil=True, cache=True)
def _is_run(names):
    """Return whether all names but the last one are equal."""
    for i in range(1, len(names) - 1):
        if names[i] != names[0]:
            return False
    return True


@njit(nogil=True, cache=True)
def _order_run(names, order):
    """Fill the order of a run of one name, followed by any name or the end."""
    n = len(names)
    if names[n - 1] <= names[0]:
        for i in range(n):
            order[i] = n - 1 - i
    else:
        for i in range(n):
            order[i] = i


@njit(nogil=True, cache=True)
def _type_names(names, n_names):
    """Return which suffixes are rising, the first falling and rising row of each name, and a count.

    The count is the number of rising suffixes after falling ones.
    """
    n = len(names)
    rising = np.zeros(n, np.bool_)
    counts = np.zeros((2, n_names + 1), np.int64)
    counts[0, names[n - 1]] += 1
    n_lowest, rises, following = 0, False, names[n - 1]
    for i in range(n - 2, -1, -1):
        name = names[i]
        rises_before = rises if name == following else name < following
        n_lowest += rises and not rises_before
        rises, following = rises_before, name
        rising[i] = rises
        counts[np.int64(rises), name] += 1
    starts = np.zeros((2, n_names + 1), np.int64)
    total = 0
    for name in range(n_names + 1):
        starts[0, name] = total
        starts[1, name] = total + counts[0, name]
        total += counts[0, name] + counts[1, name]
    return rising, starts, n_lowest


@njit(nogil=True, cache=True)
def _find_lowest(rising, lowest):
    """Store the rising suffixes after falling ones."""
    n = 0
    for i in range(1, len(rising)):
        if rising[i] and not rising[i - 1]:
            lowest[n] = i
            n += 1


def _induce_names(names, rising, starts, lowest, order):
    """Induce the order of all suffixes from that of the rising ones after falling ones."""
    n = len(names)
    order[:] = -1
    _place_lowest(names, starts[1].copy(), lowest, order)
    slots = starts[0].copy()
    for first in range(0, n, STEP_NAMES):
        _induce_falling(names, rising, slots, first, min(first + STEP_NAMES, n), order)
        yield
    slots = starts[0].copy()
    for stop in range(n, 0, -STEP_NAMES):
        _induce_rising(names, rising, slots, max(stop - STEP_NAMES, 0), stop, order)
        yield


@njit(nogil=True, cache=True)
def _place_lowest(names, slots, lowest, order):
    for position in lowest:
        order[slots[names[position]]] = position
        slots[names[position]] += 1


@njit(nogil=True, cache=True)
def _induce_falling(names, rising, slots, first, stop, order):
    """Place the falling suffixes one name before some rows; before the first row comes the end."""
    n = len(names)
    if first == 0:
        order[slots[names[n - 1]]] = n - 1
        slots[names[n - 1]] += 1
    for i in range(first, stop):
        before = np.int64(order[i]) - 1
        if before >= 0 and not rising[before]:
            order[slots[names[before]]] = before
            slots[names[before]] += 1


@njit(nogil=True, cache=True)
def _induce_rising(names, rising, slots, first, stop, order):
    """Place the rising suffixes one name before some rows, from the last row down."""
    for i in range(stop - 1, first - 1, -1):
        before = np.int64(order[i]) - 1
        if before >= 0 and rising[before]:
            name = np.int64(names[before]) + 1
            slots[name] -= 1
            order[slots[name]] = before


@njit(nogil=True, cache=True)
def _name_lowest(names, rising, order, lowest, reduced):
    """Name the substrings from each of the lowest suffixes to the next; return the number of names.

    The order holds the lowest suffixes at its beginning; the names are stored after them.
    """
    n, n_lowest = len(names), len(lowest)
    n_sorted = 0
    for i in range(n):
        position = np.int64(order[i])
        if position > 0 and rising[position] and not rising[position - 1]:
            order[n_sorted] = position
            n_sorted += 1
    of_half = order[n - (n + 1) // 2 :]
    before, name = np.int64(-1), np.int64(-1)
    for i in range(n_lowest):
        position = np.int64(order[i])
        is_same, k = before >= 0, 0
        while is_same:
            first, second = position + k, before + k
            if first == n or second == n or names[first] != names[second]:
                is_same = False
            elif k and rising[first] and not rising[first - 1]:
                is_same = rising[second] and not rising[second - 1]
                break
            elif k and rising[second] and not rising[second - 1]:
                is_same = False
            k += 1
        name += not is_same
        of_half[position >> 1] = name
        before = position
    for i in range(n_lowest):
        reduced[i] = of_half[lowest[i] >> 1]
    return name + 1


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
