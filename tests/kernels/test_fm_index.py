"""The kernels of the FM-index against the text, by looking at every row and every place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.sequences.kmer_packing import reverse_complement_words
from genoviz.backend import array_module, load_kernel
from genoviz.kernels.fm_index import LINE_BITS, SUPER_SHIFT
from tests.oracles.kmers import sort_suffixes

LINE_ROWS = 1 << LINE_BITS


def make_read_only(*arrays):
    """Make arrays what those of an index are: other ones are compiled for anew."""
    for array in arrays:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False


class Index:
    """The arrays of an index, made by a backend's kernel from the oracle's suffix array."""

    def __init__(self, backend, symbols, *, super_shift=SUPER_SHIFT, table_k=0, wide=False):
        self.kernel, self.arrays = load_kernel("fm_index", backend), array_module(backend)
        xp = self.arrays
        self.symbols = np.asarray(symbols, np.uint8)
        self.n, self.super_shift = len(self.symbols), super_shift
        self.dtype = np.int64 if wide else np.uint32
        self.suffix_array = np.array(sort_suffixes(self.symbols.tolist()), self.dtype)
        exceptions = np.flatnonzero(self.symbols == 4).astype(np.int64)
        self.packed, self.exceptions = xp.asarray(pack(self.symbols)), xp.asarray(exceptions)
        make_read_only(self.suffix_array, self.packed, self.exceptions)
        n_lines = self.n // LINE_ROWS + 1
        self.lines = aligned(xp, (n_lines, 8))
        self.super_counts = xp.empty((((n_lines - 1) >> super_shift) + 1, 4), np.int64)
        self.exception_ids = xp.empty(len(exceptions), np.int64)
        self.kernel.build_lines(
            self.packed,
            self.n,
            self.exceptions,
            xp.asarray(self.suffix_array),
            super_shift,
            self.lines,
            self.super_counts,
            self.exception_ids,
        )
        make_read_only(self.lines, self.super_counts, self.exception_ids)
        self.start_table = xp.empty((4**table_k, 2), self.dtype)
        self.index = self.lines, self.super_counts, super_shift
        self.kernel.fill_start_table(self.index, self.n, self.start_table)

    def host(self, name):
        array = getattr(self, name)
        return array if self.arrays is np else array.get()

    @property
    def bwt(self):
        return self.symbols[self.suffix_array.astype(np.int64) - 1]

    def find(self, kmers):
        xp = self.arrays
        ranges = xp.empty((len(kmers), 2), self.dtype)
        self.kernel.find_row_ranges(
            self.index,
            self.n,
            self.start_table,
            *map(xp.asarray, pack_kmers(kmers)),
            ranges,
        )
        return ranges if xp is np else ranges.get()

    def count(self, kmers, sample_rate):
        xp = self.arrays
        counts = xp.empty(len(kmers), np.int64)
        self.kernel.count_kmers(
            self.index,
            self.n,
            self.start_table,
            (
                self.packed,
                self.exceptions,
                xp.asarray(np.ascontiguousarray(self.suffix_array[::sample_rate])),
                sample_rate,
            ),
            *map(xp.asarray, pack_kmers(kmers)),
            counts,
        )
        return counts if xp is np else counts.get()

    def extend(self, ranges, symbols):
        ranges = self.arrays.asarray(np.array(ranges, np.int64))
        symbols = self.arrays.asarray(np.array(symbols, np.uint8))
        self.kernel.extend_row_ranges(self.index, ranges, symbols)
        return ranges if self.arrays is np else ranges.get()

    def branch(self, sets, n_taken, ranges):
        """Extend ranges of one k-mer to all its letters."""
        xp = self.arrays
        branches = xp.full((len(ranges), 4, 2), 7, self.dtype)
        self.kernel.extend_branches(
            self.index,
            self.start_table,
            (
                xp.asarray(np.array([9, *sets], np.uint8)),
                *(xp.asarray(np.array([n], np.int64)) for n in (len(sets) + 1, n_taken, len(sets))),
            ),
            xp.zeros(len(ranges), np.int64),
            xp.asarray(np.array(ranges, self.dtype)),
            branches,
        )
        return branches if xp is np else branches.get()

    def locate(self, rows, sample_rate):
        xp = self.arrays
        positions = xp.empty(len(rows), self.dtype)
        self.kernel.locate_rows(
            self.index,
            self.exceptions,
            self.exception_ids,
            xp.asarray(np.ascontiguousarray(self.suffix_array[::sample_rate])),
            sample_rate,
            xp.asarray(np.asarray(rows, self.dtype)),
            positions,
        )
        return positions if xp is np else positions.get()


def pack(symbols):
    padded = np.zeros((len(symbols) // 32 + 2) * 32, np.uint64)
    padded[: len(symbols)] = np.where(symbols == 4, 0, symbols)
    shifts = np.arange(62, -1, -2, dtype=np.uint64)
    return (padded.reshape(-1, 32) << shifts).sum(axis=1, dtype=np.uint64)


def pack_kmers(kmers):
    n_words = -(-max(map(len, kmers)) // 32)
    words = [sum(int(symbol) << 2 * j for j, symbol in enumerate(reversed(kmer))) for kmer in kmers]
    texts = b"".join(word.to_bytes(8 * n_words, "little") for word in words)
    lengths = np.array([len(kmer) for kmer in kmers], np.int32)
    return np.frombuffer(texts, "<u8").reshape(-1, n_words).copy(), lengths


def aligned(xp, shape):
    room = xp.empty(shape[0] * shape[1] + 8, np.uint64)
    address = room.ctypes.data if xp is np else room.data.ptr
    first = -address % 64 // 8
    return room[first : first + shape[0] * shape[1]].reshape(shape)


def random_symbols(generator, n, p_exception=0.02):
    symbols = generator.choice(5, n, p=[*[(1 - p_exception) / 4] * 4, p_exception])
    symbols[-1:] = 4
    return symbols.astype(np.uint8)


def places(symbols, kmer):
    text, kmer = bytes(symbols.tolist()), bytes(kmer)
    return [i for i in range(len(text) - len(kmer) + 1) if text[i : i + len(kmer)] == kmer]


@pytest.mark.parametrize("super_shift", [0, 1, SUPER_SHIFT])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 900])
def test_ranks_are_cumulative_sums_at_every_row(backend, n, super_shift):
    symbols = random_symbols(np.random.default_rng(n), n, 0.05)
    index = Index(backend, symbols, super_shift=super_shift)
    n_exceptions = int((symbols == 4).sum())
    rows = np.arange(n + 1)
    for symbol in range(4):
        before = np.concatenate([[0], np.cumsum(index.bwt == symbol)])
        expected = n_exceptions + int((symbols < symbol).sum()) + before
        # From the first row on, so that a range is empty only where the rank is still 0.
        ranges = np.column_stack([np.zeros_like(rows), rows])
        found = index.extend(ranges, np.full(n + 1, symbol))
        expected_firsts = np.where(before > 0, expected[0], 0)
        np.testing.assert_array_equal(found[:, 0], expected_firsts)
        np.testing.assert_array_equal(found[:, 1], np.where(before > 0, expected, 0))


def test_lines_are_as_the_contract_says(backend):
    symbols = random_symbols(np.random.default_rng(1), 700, 0.05)
    index = Index(backend, symbols, super_shift=1)
    lines, bwt = index.host("lines"), index.bwt
    counts = lines[:, :2].copy().view(np.uint32).reshape(-1, 4)
    planes = [
        np.unpackbits(np.ascontiguousarray(lines[:, i : i + 2]).view(np.uint8), bitorder="little")
        for i in (2, 4, 6)
    ]
    low, high, exception = (plane[:700] for plane in planes)
    np.testing.assert_array_equal(low + 2 * high + 4 * exception, bwt)
    assert [plane[700:].all() for plane in planes] == [False, False, True]
    assert not planes[0][700:].any()
    assert not planes[1][700:].any()
    for line in range(len(lines)):
        since = bwt[(line // 2) * 256 : line * 128]
        assert counts[line].tolist() == [int((since == symbol).sum()) for symbol in range(4)]
    before = index.suffix_array[bwt == 4].astype(np.int64) - 1
    exceptions = index.host("exceptions")
    np.testing.assert_array_equal(exceptions[index.host("exception_ids")], before % 700)


@pytest.mark.parametrize("table_k", [0, 1, 3])
def test_the_table_has_the_rows_of_all_short_kmers(backend, table_k):
    symbols = random_symbols(np.random.default_rng(4), 300, 0.1)
    index = Index(backend, symbols, table_k=table_k)
    table = index.host("start_table")
    for code in range(4**table_k):
        kmer = [code >> 2 * i & 3 for i in reversed(range(table_k))]
        assert table[code, 1] - table[code, 0] == len(places(symbols, kmer)[:300])
        rows = index.suffix_array[table[code, 0] : table[code, 1]]
        assert sorted(rows.tolist()) == places(symbols, kmer)[:300]


@pytest.fixture(scope="module")
def repeats():
    """A text with repeats, k-mers that it has or may have, and their places."""
    generator = np.random.default_rng(7)
    symbols = random_symbols(generator, 1500, 0.004)
    symbols[600:900] = symbols[200:500]
    symbols[1000:1140] = np.tile([0, 1], 70)
    kmers = []
    for k in (*range(1, 9), 21, 31, 32, 33, 63, 64, 65, 97, 140, 1600):
        for _ in range(12):
            start = int(generator.integers(0, max(1500 - k, 1)))
            present = symbols[start : start + k]
            if len(present) == k and (present < 4).all():
                kmers.append(present.tolist())
                changed = present.copy()
                changed[generator.integers(0, k)] ^= 1
                kmers.append(changed.tolist())
            kmers.append(generator.integers(0, 4, k).tolist())
    generator.shuffle(kmers)
    return symbols, kmers, [places(symbols, kmer) for kmer in kmers]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("super_shift", [0, SUPER_SHIFT])
@pytest.mark.parametrize("table_k", [0, 2, 4])
def test_kmers_have_the_rows_of_their_places(backend, table_k, super_shift, wide, repeats):
    symbols, kmers, of_kmers = repeats
    index = Index(backend, symbols, super_shift=super_shift, table_k=table_k, wide=wide)
    ranges, n_expected = index.find(kmers), [len(expected) for expected in of_kmers]
    for expected, (first, last) in zip(of_kmers, ranges.tolist(), strict=True):
        assert last - first == len(expected)
        assert sorted(index.suffix_array[first:last].tolist()) == expected
        assert expected or (first, last) == (0, 0)
    # So many that they are counted as many are: by comparing with the text, where it can be.
    kmers, n_expected = kmers * 9, n_expected * 9
    for sample_rate in (1, 4):
        assert index.count(kmers, sample_rate).tolist() == n_expected
        assert index.count(kmers[:99], sample_rate).tolist() == n_expected[:99]


@pytest.mark.parametrize("p_exception", [0.002, 0.3])
@pytest.mark.parametrize("n", [40, 3000])
def test_no_count_reaches_over_exceptions_or_the_start(backend, n, p_exception):
    # Exceptions are A in the packed text, and so is what a k-mer of A meets there.
    generator = np.random.default_rng(n)
    symbols = random_symbols(generator, n, p_exception)
    as_bases = np.where(symbols == 4, 0, symbols)
    index = Index(backend, symbols, table_k=1)
    kmers = []
    for k in (5, 12, 33, 70):
        for start in generator.integers(0, max(n - k, 1), 30).tolist():
            kmers.append([0] * max(k - n, 0) + as_bases[start : start + k].tolist())
            kmers.append(([0] * k + as_bases[: k // 2].tolist())[-k:])
    expected = [len(places(symbols, kmer)) for kmer in kmers]
    times = 2049 // len(kmers) + 1
    assert index.count(kmers * times, 1).tolist() == expected * times


def test_many_kmers_are_found_as_few_are(backend):
    generator = np.random.default_rng(3)
    symbols = random_symbols(generator, 2000)
    index = Index(backend, symbols, table_k=4)
    kmers = [generator.integers(0, 4, k).tolist() for k in generator.integers(1, 9, 9001)]
    together = index.find(kmers)
    apart = np.concatenate([index.find(kmers[i : i + 500]) for i in range(0, 9001, 500)])
    np.testing.assert_array_equal(together, apart)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("sample_rate", [1, 2, 8, 1 << 12])
@pytest.mark.parametrize("super_shift", [0, SUPER_SHIFT])
def test_rows_are_located(backend, sample_rate, super_shift, wide):
    generator = np.random.default_rng(5)
    symbols = random_symbols(generator, 3000, 0.01)
    symbols[2000:2500] = 0
    index = Index(backend, symbols, super_shift=super_shift, wide=wide)
    rows = np.append(np.arange(3000), generator.integers(0, 3000, 3000))
    np.testing.assert_array_equal(index.locate(rows, sample_rate), index.suffix_array[rows])
    assert index.locate(rows[:0], sample_rate).tolist() == []


@pytest.mark.parametrize("n_chains", [1, 7, 200])
def test_the_text_is_read_back(backend, n_chains):
    generator = np.random.default_rng(n_chains)
    symbols = random_symbols(generator, 1001, 0.03)
    index = Index(backend, symbols, super_shift=1)
    xp = index.arrays
    rank = np.argsort(index.suffix_array)
    starts = np.unique(np.append(generator.integers(0, 1001, n_chains - 1), 0)).astype(np.int64)
    ends = np.append(starts[1:], 1001)
    rows, found = xp.asarray(rank[ends % 1001].astype(np.int64)), xp.empty(1001, np.uint8)
    index.kernel.invert_bwt(
        index.index,
        index.exception_ids,
        rows,
        xp.asarray(starts),
        xp.asarray(ends),
        found,
    )
    np.testing.assert_array_equal(found if xp is np else found.get(), symbols)
    np.testing.assert_array_equal(rows if xp is np else rows.get(), rank[starts])


@given(st.lists(st.integers(0, 3), min_size=1, max_size=100), st.integers(0, 2))
def test_words_are_turned_to_the_other_strand(kmer, n_spare):
    n_words = -(-len(kmer) // 32) + n_spare
    words, expected = (np.zeros((1, n_words), np.uint64) for _ in range(2))
    for j, symbol in enumerate(kmer):
        words[0, j // 32] |= np.uint64(symbol << 2 * (j % 32))
        k = len(kmer) - 1 - j
        expected[0, k // 32] |= np.uint64(3 - symbol << 2 * (k % 32))
    turned = np.empty_like(words)
    reverse_complement_words(words, np.array([len(kmer)], np.int32), turned)
    assert turned.tolist() == expected.tolist()


@pytest.mark.parametrize("n_branches", [1, 200, 5_000])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("table_k", [0, 2, 4])
def test_branches_are_the_kmers_with_each_base_of_a_set(backend, table_k, wide, n_branches):
    generator = np.random.default_rng(table_k)
    symbols = random_symbols(generator, 700, 0.05)
    index = Index(backend, symbols, table_k=table_k, super_shift=1, wide=wide)
    for bases in (5, 8, 15):
        for k in (1, 2, 3, 5, 6):
            # All letters but the first one are of one base.
            start = int(generator.integers(0, 690))
            rest = [symbol % 4 for symbol in symbols[start : start + k - 1].tolist()]
            sets = [bases, *(1 << symbol for symbol in rest)]
            taken = [0, k - 1] if k > 1 else [0]
            for n_taken in taken:
                whole = index.find([rest])[0] if n_taken else [0, index.n]
                found = index.branch(sets, n_taken, np.tile(whole, (n_branches, 1)))
                expected = [
                    index.find([[base, *rest]])[0].tolist() if bases >> base & 1 else [0, 0]
                    for base in range(4)
                ]
                assert (found == expected).all()
                sizes = (found[0, :, 1] - found[0, :, 0]).tolist()
                assert sizes == [
                    len(places(symbols, [base, *rest])) if bases >> base & 1 else 0
                    for base in range(4)
                ]
