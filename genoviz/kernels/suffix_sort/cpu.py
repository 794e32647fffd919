r"""Suffix sorting on all cores; the contract is in this folder's ``__init__``.

Only the *seeds* are sorted by bases, in blocks, and refined where they are tied. A seed is a rising
suffix after a falling one (``cpu_seeds``); in genomes less than a third of all suffixes are seeds.
Two passes over the rows induce the positions of all other suffixes. The forward pass looks at the
suffix one base before that of each row; if it is falling, it goes to the next free row of its first
base. The backward pass goes from the last row to the first and fills the rising suffixes of each
base from the end. For GATTACA and its end ``$``::

    position   0 1 2 3 4 5 6 7
    text       G A T T A C A $
    suffix     \ / \ \ / \ \       / is smaller than the next one (rising), \ is not (falling)
    seeds        *     *           sorted: 4 (ACA$), 1 (ATTACA$)

    row                 0   1   2   3   4   5   6   7
    begins with         $   A   A   A   C   G   T   T
    end and seeds       7   .   4   1   .   .   .   .
    forward pass        7   6   4   1   5   0   3   2     7 places 6, 6 places 5, 4 places 3, ...
    backward pass       7   6   4   1   5   0   3   2     places the rising ones, seeds included

Besides the text and the suffix array, whose memory serves as workspace, this takes 1/4 byte a
symbol and 5 to 7 bytes a seed: about 2 bytes a symbol in genomes, at most 4. The peak with text and
result is 6 to 6.5 bytes a symbol in genomes, at most 8.5; with int64, the result and the seeds take
twice as much. The one exception is a text that is a single short repeat: refining its largest group
takes 40 bytes for each tied seed. If a few different substrings between seeds recur over and over,
the seeds are named and the names are sorted instead (``cpu_names.iter_sort_names``), with at most
16 bytes a seed.
"""

from __future__ import annotations

import numpy as np
from numba import get_num_threads, njit, parallel_chunksize

from genoviz.kernels.instructions import prefetch
from genoviz.kernels.suffix_sort import cpu_blocks, cpu_names, cpu_seeds, cpu_ties
from genoviz.kernels.suffix_sort.cpu_rows import iter_sort_blocks, needed_bytes

__all__ = ["iter_sort_blocks", "iter_sort_suffixes", "needed_bytes"]

CHUNK_WORDS = 1 << 19
MAX_PREFIX = 8  # bases that all seeds of a block have in common
BLOCK_SEEDS = 128  # seeds that a block should have
STEP_SEEDS = 1 << 21  # seeds of a thread between two reports of progress
PIECES_PER_STEP = 16  # of a thread, so that none waits long for the others
STEP_ROWS = 1 << 23  # rows induced between two reports
AHEAD = 32  # rows of which the text is prefetched
MIN_NAMED, MAX_NAMES, MAX_EXCEPTIONS = 1 << 16, 1 << 15, 250
N_SAMPLES, SAMPLE_NAMES = 1024, 8
THREE, HALF, LOW_BITS = np.uint64(3), np.uint64(32), np.uint64(0x5555555555555555)


def iter_sort_suffixes(packed, n_symbols, exceptions, suffix_array):
    """Fill the suffix array; yield progress."""
    if n_symbols == 0:
        return np.empty(0, np.int64)
    n_words = n_symbols // 32 + 1
    marks = np.zeros(n_words + 1, np.uint64)
    near = np.zeros((n_words >> 6) + 1, np.uint64)
    cpu_seeds.mark_exceptions(exceptions, marks, near)
    text = packed, marks, near
    base_counts, prefix_bases, block_ends, named = yield from _part(
        text, n_symbols, exceptions, suffix_array
    )
    if named is None:
        seeds = yield from _sort(text, n_symbols, prefix_bases, block_ends, suffix_array)
    else:
        seeds = yield from cpu_names.iter_sort_named(*named, marks, suffix_array)
        del named
    first_of_base = block_ends[:: 4 ** (prefix_bases - 1)]
    yield from _induce(text, exceptions, base_counts, seeds, first_of_base, suffix_array)
    return np.diff(block_ends)


def _part(text, n_symbols, exceptions, suffix_array):
    """Find the seeds, and scatter them into blocks in the memory of the suffix array.

    Return the number of rising and of all suffixes of each base, (2, 4); the bases of a block's
    prefix; the ends of blocks; and the result of `_name`, with which the seeds are in no blocks.
    """
    packed, marks, _ = text
    n_threads = get_num_threads()
    n_chunks = -(-len(marks) // CHUNK_WORDS)
    n_chunks = -(-n_chunks // n_threads) * n_threads
    edges = np.linspace(0, len(marks) - 1, n_chunks + 1).astype(np.int64)
    counts = np.zeros((n_chunks, cpu_seeds.COUNTS), np.uint64)
    groups = [(first, first + n_threads) for first in range(0, n_chunks, n_threads)]
    n_steps = 3 * len(groups)
    for step, group in enumerate(groups):
        cpu_seeds.find_seeds(packed, marks, edges, *group, counts)
        yield "partition", step + 1, n_steps, n_symbols
    totals = counts.sum(axis=0).astype(np.int64)
    n_seeds = int(totals[7])
    base_counts = np.stack([totals[:4], np.array([0, *totals[4:7]])])
    step = "partition", len(groups), n_steps, n_symbols
    named = yield from _name(text, n_symbols, exceptions, n_seeds, step)
    if named is not None:
        return base_counts, 1, named[2], named[:2]
    prefix_bases = max(1, min(MAX_PREFIX, (n_seeds // BLOCK_SEEDS).bit_length() // 2))
    tallies = np.zeros((n_chunks, 4**prefix_bases), np.int64)
    for step, group in enumerate(groups, len(groups)):
        cpu_seeds.count_seeds(packed, marks, edges, *group, prefix_bases, tallies)
        yield "partition", step + 1, n_steps, n_symbols
    block_ends = np.concatenate([[0], np.cumsum(tallies.sum(axis=0))])
    slots = np.cumsum(tallies, axis=0) - tallies + block_ends[:-1]
    del tallies
    words = _as_words(suffix_array)
    position_bits = max((n_symbols - 1).bit_length(), 1)
    for step, group in enumerate(groups, 2 * len(groups)):
        cpu_seeds.part_seeds(
            packed, marks, edges, *group, prefix_bases, position_bits, slots, words
        )
        yield "partition", step + 1, n_steps, n_symbols
    return base_counts, prefix_bases, block_ends, None


def _name(text, n_symbols, exceptions, n_seeds, step):
    """Return the seeds' names, the number of names, and the seeds before each base; or None.

    None if there are many names, or a few in long runs: blocks are faster then.
    """
    if not MIN_NAMED <= n_seeds < 2**31 or len(exceptions) > MAX_EXCEPTIONS:
        return None
    packed, marks, _ = text
    names, known = np.empty(n_seeds, np.uint16), np.zeros((5, MAX_NAMES), np.int64)
    state, table = np.array([0, 0, -1, 0, 0]), np.full(1 << cpu_names.SLOT_BITS, -1)
    for first in range(0, len(marks), CHUNK_WORDS):
        words = first, min(first + CHUNK_WORDS, len(marks))
        if not cpu_names.name_seeds(
            packed, marks, n_symbols, exceptions, *words, state, table, names, known
        ):
            return None
        yield step
    n = int(state[0])
    windows, lengths, ended, counts = known[0].view(np.uint64), *known[1:4]
    starts = np.linspace(0, n_seeds - SAMPLE_NAMES, N_SAMPLES).astype(np.int64)
    samples = np.lib.stride_tricks.sliding_window_view(names, SAMPLE_NAMES)[starts]
    if len({sample.tobytes() for sample in samples}) * 8 > 7 * N_SAMPLES:
        return None

    # If one name is a prefix of another: a name that ends at an exception is smaller; of two such,
    # the shorter, then the later one. Otherwise the longer is smaller: where the shorter ends with
    # a seed, which is rising, the longer one is falling.
    def key(name):
        if ended[name] >= 0:
            return int(windows[name]), 0, int(lengths[name]), -int(ended[name])
        return int(windows[name]), 1, -int(lengths[name]), 0

    by_order = sorted(range(n), key=key)
    in_order = np.empty(n, np.uint16)
    in_order[by_order] = np.arange(n)
    bases = (windows[:n] >> np.uint64(62)).astype(np.int64)
    tallies = np.bincount(bases, counts[:n], minlength=4).astype(np.int64)
    cpu_names.rename(names, in_order)
    return names, n, np.concatenate([[0], np.cumsum(tallies)])


def _as_words(suffix_array):
    n_bytes = len(suffix_array) * suffix_array.itemsize // 8 * 8
    return suffix_array.view(np.uint8)[:n_bytes].view(np.uint64)


def _sort(text, n_symbols, prefix_bases, block_ends, suffix_array):
    """Return the sorted positions of the seeds."""
    words = _as_words(suffix_array)
    n_seeds = int(block_ends[-1])
    position_bits = max((n_symbols - 1).bit_length(), 1)
    depth = min(prefix_bases + (64 - position_bits) // 2, 32)
    seeds = np.empty(n_seeds, suffix_array.dtype)
    is_head = np.ones(-(-(n_seeds + 1) // 8) * 8, np.uint8)
    links = np.empty(n_seeds // 2 + 1, suffix_array.dtype)
    step_seeds = STEP_SEEDS * get_num_threads()
    n_steps = max(1, -(-n_seeds // step_seeds))
    targets = np.linspace(0, n_seeds, n_steps * PIECES_PER_STEP * get_num_threads() + 1)
    pieces = np.searchsorted(block_ends, targets.astype(np.int64), side="left")
    pieces[0], pieces[-1] = 0, len(block_ends) - 1
    n_tied = 0
    for of_step in np.array_split(np.arange(len(pieces) - 1), n_steps):
        bounds = pieces[of_step[0] : of_step[-1] + 2]
        tied = np.zeros(len(of_step), np.int64)
        with parallel_chunksize(1):
            cpu_blocks.sort_blocks(
                *text, words, block_ends, bounds, depth, position_bits, seeds, is_head, links, tied
            )
        n_tied += int(tied.sum())
        yield "blocks", int(block_ends[bounds[-1]]), n_seeds, n_tied
    if n_tied:
        yield from _refine(seeds, is_head, links, n_tied, suffix_array)
    return seeds


def _refine(seeds, is_head, links, n_tied, suffix_array):
    """Sort the tied seeds, one round at a time."""
    n_seeds, half = len(seeds), len(suffix_array) // 2
    ranks, next_links = suffix_array[:half], suffix_array[half : half + len(links)]
    n_chunks = PIECES_PER_STEP * get_num_threads() if n_seeds > STEP_SEEDS else get_num_threads()
    edges = np.linspace(0, n_seeds, n_chunks + 1).astype(np.int64)
    cpu_ties.move_to_heads(is_head, edges)
    cpu_ties.rank_seeds(seeds, is_head, edges, ranks)
    tied = np.zeros(n_chunks, np.int64)
    n_all = n_tied
    while n_tied:
        cpu_ties.sort_groups(seeds, is_head, edges, ranks, links, next_links, True)
        links, next_links = next_links, links
        cpu_ties.split_groups(seeds, is_head, edges, ranks, tied)
        n_tied = int(tied.sum())
        yield "ties", n_all - n_tied, n_all, n_tied


def _induce(text, exceptions, base_counts, seeds, first_of_base, rows):
    """Fill the suffix array from the order of the seeds."""
    packed, _, _ = text
    n = len(rows)
    rising, totals = base_counts
    totals[0] = n - len(exceptions) - totals[1:].sum()
    ends = len(exceptions) + np.cumsum(totals)
    heads = ends - totals
    first_rising = ends - rising
    tails = ends.copy()
    firsts = heads.copy()
    n_done = 0
    _place_before_exceptions(packed, exceptions, rows, heads)
    for base in range(4):
        row = int(firsts[base])
        while row < heads[base]:
            row = _place_before_falling(*text, base, row, STEP_ROWS, rows, heads)
            yield "induction", row // 2, n, 0
        first, last = int(first_of_base[base]), int(first_of_base[base + 1])
        for start in range(first, last, STEP_ROWS):
            stop = min(start + STEP_ROWS, last)
            _place_before_seeds(packed, seeds, start, stop, rows, heads)
            yield "induction", row // 2, n, 0
    for base in range(3, -1, -1):
        row = int(ends[base])
        # No base is less than A, so falling suffixes of A place none.
        for is_rising in (True, False) if base else (True,):
            lowest = int(first_rising[base] if is_rising else firsts[base])
            while row > lowest:
                row = _place_before_all(*text, base, is_rising, row, lowest, STEP_ROWS, rows, tails)
                n_done = n - row // 2
                yield "induction", n_done, n, 0


@njit(nogil=True, cache=True)
def _base(packed, position):
    return np.int64(packed[position >> 5] >> np.uint64(62 - 2 * (position & 31)) & THREE)


@njit(nogil=True, cache=True)
def _is_exception(marks, near, position):
    word = position >> 5
    if not near[word >> 6] >> np.uint64(word & 63) & np.uint64(1):
        return False
    return (marks[word] >> np.uint64(63 - (position & 31)) & np.uint64(1)) != 0


@njit(nogil=True, cache=True)
def _place_before_exceptions(packed, exceptions, rows, heads):
    """Fill the rows of exceptions, and place the suffixes one base before them."""
    n = len(exceptions)
    for i in range(n):
        position = exceptions[n - 1 - i]
        rows[i] = position
        before = position - 1
        if before >= 0 and (i + 1 == n or exceptions[n - 2 - i] != before):
            base = _base(packed, before)
            rows[heads[base]] = before
            heads[base] += 1


@njit(nogil=True, cache=True)
def _place_before_falling(packed, marks, near, base, first, n_rows, rows, heads):
    """Place the falling suffixes one base before the falling ones of ``base``, from a row on.

    Return the next row; it is ``heads[base]`` when this base is done.
    """
    row = first
    run = np.uint64(base) * LOW_BITS
    while row < heads[base] and row < first + n_rows:
        prefetch(packed, (np.int64(rows[min(row + AHEAD, len(rows) - 1)]) - 1) >> 5)
        position = np.int64(rows[row])
        row += 1
        if position == 0:
            continue
        before = position - 1
        if row == heads[base] and row + 32 <= len(rows):
            # Only this suffix is left: a run of its base is placed a word at a time.
            word = before >> 5
            while before & 31 == 31 and packed[word] == run and not marks[word] >> HALF:
                for i in range(32):
                    rows[row + i] = before - i
                before -= 32
                word -= 1
                row += 32
                if before < 0 or row + 32 > len(rows) or row >= first + n_rows:
                    break
            heads[base] = row
            position = before + 1
            if before < 0:
                continue
        other = _base(packed, before)
        is_placed = other >= base
        if base == 0 and other == 0 and _is_exception(marks, near, before):
            is_placed = False
        target = heads[other] if is_placed else row - 1
        rows[target] = before if is_placed else position
        heads[other] += is_placed
    return row


@njit(nogil=True, cache=True)
def _place_before_seeds(packed, seeds, first, last, rows, heads):
    """Place the suffixes one base before seeds; all of them are falling."""
    for i in range(first, last):
        prefetch(packed, (np.int64(seeds[min(i + AHEAD, len(seeds) - 1)]) - 1) >> 5)
        before = np.int64(seeds[i]) - 1
        base = _base(packed, before)
        rows[heads[base]] = before
        heads[base] += 1


@njit(nogil=True, cache=True)
def _place_before_all(packed, marks, near, base, is_rising, last, first, n_rows, rows, tails):
    """Place the rising suffixes one base before those of ``base``, from a row down.

    ``first`` is the first row of the falling suffixes of this base; the rising ones go down to
    ``tails[base]``. Return the row after the next one.
    """
    row = last
    lowest = max(first, last - n_rows)
    highest = base if is_rising else base - 1
    while row > lowest and (not is_rising or row > tails[base]):
        row -= 1
        prefetch(packed, (np.int64(rows[max(row - AHEAD, 0)]) - 1) >> 5)
        position = np.int64(rows[row])
        if position == 0:
            continue
        before = position - 1
        other = _base(packed, before)
        is_placed = other <= highest
        if other == 0 and is_placed and _is_exception(marks, near, before):
            is_placed = False
        target = tails[other] - 1 if is_placed else row
        rows[target] = before if is_placed else position
        tails[other] -= is_placed
    return row


# Compiled with genoviz/kernels/instructions.py: f472b1a8f9207066
