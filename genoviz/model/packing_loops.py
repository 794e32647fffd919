"""Genotypes and bases at 2 bits each: packing, unpacking, and repacking of some samples.

Samples are taken from 32 variants at once. The bytes of eight variants make a 64-bit word. Four
such words are transposed into one column for each of their four samples, so a single look-up gives
a sample's genotypes at all 32 variants. The result is assembled in the reverse way.

Arguments
---------
=============== ============================= =================================================
packed          uint8 (m, (n + 3) // 4)       2 bits a sample, the lowest first (PLINK 1 .bed);
                                              bits beyond the last sample may be anything
samples         int64 (k,)                    numbers below n of the samples to take, any order
taken           uint8 (m, (k + 3) // 4)       zeros, which ``take_samples`` fills; None for a new
                                              array
dosages         int8 (m, n)                   variants by samples, any strides: 2, 1, 0, and
                                              anything else for a missing genotype
=============== ============================= =================================================

``take_samples`` returns uint8 (m, (k + 3) // 4), ``pack_dosages`` uint8 (m, (n + 3) // 4): code 0
for dosage 2, 1 for missing, 2 for dosage 1, 3 for dosage 0; bits beyond the last sample are 0.

``transpose(packed, n_samples)`` returns uint8 (n, (m + 3) // 4): the same codes, one row a sample.

``unpack_bases`` fills uint8 (n,) from a packed text, uint64, the first base in the highest bits.
"""

import numpy as np
from numba import njit, prange

N_LANES = 8
N_WORDS = 4
N_TOGETHER = N_LANES * N_WORDS
BLOCK = 512
TILE = 64
_LOW_BITS = np.uint64(0x0303030303030303)
_BYTE = np.uint64(8)


def take_samples(packed, samples, taken=None):
    """Return the packed genotypes of some samples, in an array of zeros if one is given."""
    if taken is None:
        taken = np.zeros((len(packed), (len(samples) + 3) // 4), np.uint8)
    if taken.size:
        _take_samples(_fixed(packed), (samples & 3) * packed.shape[1] + (samples >> 2), taken)
    return taken


def pack_dosages(dosages):
    """Return dosages packed at 2 bits."""
    packed = np.zeros((len(dosages), (dosages.shape[1] + 3) // 4), np.uint8)
    if packed.size:
        _pack_dosages(dosages, packed)
    return packed


def transpose(packed, n_samples):
    """Return the codes of each sample at all variants, packed at 2 bits."""
    turned = np.zeros((n_samples, (len(packed) + 3) // 4), np.uint8)
    if turned.size:
        _transpose(_fixed(packed), turned)
    return turned


def _fixed(packed):
    """Return a read-only view, as mapped files are: so one version is compiled."""
    packed = packed.view()
    packed.flags.writeable = False
    return packed


@njit(nogil=True, cache=True, parallel=True)
def _take_samples(packed, places, taken):
    n_variants, n_bytes = packed.shape
    for group in prange((n_variants + N_TOGETHER - 1) // N_TOGETHER):
        first = group * N_TOGETHER
        last = min(first + N_TOGETHER, n_variants)
        columns = np.empty((4, n_bytes), np.uint64)
        _spread(packed[first:last], columns)
        _gather(columns.reshape(-1), places, taken[first:last])


@njit(nogil=True, cache=True)
def _spread(rows, columns):
    """Fill the columns of all samples; sample ``i`` has ``columns[i % 4, i // 4]``."""
    n_rows, n_bytes = rows.shape
    words = np.empty((N_WORDS, BLOCK), np.uint64)
    for start in range(0, n_bytes, BLOCK):
        n = min(BLOCK, n_bytes - start)
        words[:] = 0
        for k in range(n_rows):
            row, word = rows[k, start : start + n], words[k // N_LANES]
            up = np.uint64(k % N_LANES) * _BYTE
            for at in range(n):
                word[at] |= np.uint64(row[at]) << up
        for place in range(4):
            _interleave(words, np.uint64(2 * place), columns[place, start : start + n])


@njit(nogil=True, cache=True)
def _gather(columns, places, rows):
    """Fill rows with the samples whose columns are at ``places``."""
    n_rows, n_bytes = rows.shape
    four, word = np.zeros((4, BLOCK), np.uint64), np.empty(BLOCK, np.uint64)
    for start in range(0, n_bytes, BLOCK):
        n = min(BLOCK, n_bytes - start)
        here = places[4 * start : 4 * (start + n)]
        n_whole = len(here) // 4
        for at in range(n_whole):
            for place in range(4):
                four[place, at] = columns[here[4 * at + place]]
        if n_whole < n:
            four[:, n_whole] = 0
        for sample in range(4 * n_whole, len(here)):
            four[sample % 4, n_whole] = columns[here[sample]]
        for k in range(n_rows):
            if k % N_LANES == 0:
                _interleave(four, np.uint64(k // N_LANES * 2), word[:n])
            row, down = rows[k, start : start + n], np.uint64(k % N_LANES) * _BYTE
            for at in range(n):
                row[at] = np.uint8((word[at] >> down) & np.uint64(255))


@njit(nogil=True, cache=True)
def _interleave(four, down, mixed):
    """Take two bits of each byte of four words, and interleave them."""
    for at in range(len(mixed)):
        mixed[at] = (
            ((four[0, at] >> down) & _LOW_BITS)
            | ((four[1, at] >> down) & _LOW_BITS) << np.uint64(2)
            | ((four[2, at] >> down) & _LOW_BITS) << np.uint64(4)
            | ((four[3, at] >> down) & _LOW_BITS) << np.uint64(6)
        )


@njit(nogil=True, cache=True, inline="always")
def _code(dosage):
    if dosage == 2:
        return np.uint8(0)
    if dosage == 1:
        return np.uint8(2)
    return np.uint8(3) if dosage == 0 else np.uint8(1)


@njit(nogil=True, cache=True, parallel=True)
def _pack_dosages(dosages, packed):
    n_variants, n_samples = dosages.shape
    for variant in prange(n_variants):
        row, out = dosages[variant], packed[variant]
        for k in range(n_samples // 4):
            out[k] = (
                _code(row[4 * k])
                | _code(row[4 * k + 1]) << 2
                | _code(row[4 * k + 2]) << 4
                | _code(row[4 * k + 3]) << 6
            )
        for sample in range(n_samples // 4 * 4, n_samples):
            out[sample // 4] |= _code(row[sample]) << 2 * (sample % 4)


@njit(nogil=True, cache=True, parallel=True)
def _transpose(packed, turned):
    n_rows, n_turned = len(packed), len(turned)
    for block in prange((packed.shape[1] + TILE - 1) // TILE):
        last = min((block + 1) * TILE, packed.shape[1])
        for group in range(turned.shape[1]):
            n = min(4, n_rows - 4 * group)
            for at in range(block * TILE, last):
                for sample in range(4 * at, min(4 * at + 4, n_turned)):
                    down, four = 2 * (sample - 4 * at), 0
                    for k in range(n):
                        four |= (packed[4 * group + k, at] >> down & 3) << 2 * k
                    turned[sample, group] = four


@njit(nogil=True, cache=True)
def unpack_bases(packed, start, symbols):
    """Unpack symbols of a text from a position on, 0 to 3 each."""
    for k in range(len(symbols)):
        position = start + k
        symbols[k] = (packed[position >> 5] >> np.uint64(62 - 2 * (position & 31))) & np.uint64(3)
