"""Path stress on all cores; the contract is in this folder's ``__init__``."""

import numpy as np
from numba import njit, prange

from genoviz.kernels.path_records import CLOSING, find_path, position
from genoviz.kernels.path_stress import SAMPLES_PER_CHUNK
from genoviz.kernels.splitmix import GOLDEN, fraction, mix

_ONE = np.uint64(1)


@njit(nogil=True, cache=True, inline="always")
def _term(points, records, a, b, end_a, end_b):
    """Return the term of two steps and ends, or a negative number if their distance is 0."""
    d = abs(np.float64(position(records, a + end_a) - position(records, b + end_b)))
    if d == 0.0:
        return -1.0
    i = np.int64(records[a, 0]) ^ end_a
    j = np.int64(records[b, 0]) ^ end_b
    dx = points[i, 0] - points[j, 0]
    dy = points[i, 1] - points[j, 1]
    error = (np.sqrt(dx * dx + dy * dy) - d) / d
    return error * error


@njit(nogil=True, cache=True)
def _row(points, records, s, first, last, longest):
    total, n_terms, n_skipped = 0.0, 0, 0
    if first == last:
        term = _term(points, records, s, s, 0, 1)
        return (0.0, 0, 1) if term < 0.0 else (term, 1, 0)
    for t in range(s + 1, min(last, s + longest) + 1):
        for ends in range(4):
            term = _term(points, records, s, t, ends & 1, ends >> 1)
            if term < 0.0:
                n_skipped += 1
            else:
                total += term
                n_terms += 1
    return total, n_terms, n_skipped


@njit(nogil=True, cache=True, parallel=True)
def sum_all_pairs(points, records, path_starts, block_paths, first, stop, longest):
    """Return for each row the sum, the number of terms and the number of skipped terms."""
    n_rows = stop - first
    totals = np.zeros(n_rows)
    counts = np.zeros((n_rows, 2), np.int64)
    for row in prange(n_rows):
        s = first + row
        if records[s, 0] != CLOSING:
            path = find_path(s, path_starts, block_paths)
            total, n_terms, n_skipped = _row(
                points, records, s, path_starts[path], path_starts[path + 1] - 2, longest
            )
            totals[row] = total
            counts[row, 0] = n_terms
            counts[row, 1] = n_skipped
    return totals, counts


@njit(nogil=True, cache=True)
def _draw(points, records, path_starts, paths, shares, shortest, longest, key, sample):
    bits = mix(key + np.uint64(2 * sample + 1) * GOLDEN)
    unit = fraction(bits)
    low, high = 0, len(shares) - 1
    while low < high:
        middle = (low + high) >> 1
        if shares[middle] > unit:
            high = middle
        else:
            low = middle + 1
    first = path_starts[paths[low]]
    n_steps = path_starts[paths[low] + 1] - 1 - first
    if n_steps == 1:
        return _term(points, records, first, first, 0, 1)
    n_jumps = min(longest, n_steps - 1) - shortest + 1
    while True:
        bits = mix(bits + GOLDEN)
        jump = shortest + np.int64(fraction(bits) * n_jumps)
        bits = mix(bits + GOLDEN)
        place = np.int64(fraction(bits) * (n_steps - shortest))
        if place + jump < n_steps:
            break
    s = first + place
    return _term(
        points, records, s, s + jump, np.int64(bits & _ONE), np.int64((bits >> _ONE) & _ONE)
    )


@njit(nogil=True, cache=True, parallel=True)
def sum_samples(
    points,
    records,
    path_starts,
    paths,
    shares,
    shortest,
    longest,
    first_sample,
    n_samples,
    key,
    values,
):
    """Return the sum, sum of squares and number of the terms of each chunk of samples."""
    n_chunks = (n_samples + SAMPLES_PER_CHUNK - 1) // SAMPLES_PER_CHUNK
    sums = np.zeros((n_chunks, 2))
    counts = np.zeros(n_chunks, np.int64)
    for chunk in prange(n_chunks):
        total, total_squares, n_terms = 0.0, 0.0, 0
        for sample in range(
            chunk * SAMPLES_PER_CHUNK, min((chunk + 1) * SAMPLES_PER_CHUNK, n_samples)
        ):
            term = _draw(
                points,
                records,
                path_starts,
                paths,
                shares,
                shortest,
                longest,
                key,
                first_sample + sample,
            )
            if term >= 0.0:
                total += term
                total_squares += term * term
                n_terms += 1
            if sample < len(values):
                values[sample] = term if term >= 0.0 else np.nan
        sums[chunk, 0] = total
        sums[chunk, 1] = total_squares
        counts[chunk] = n_terms
    return sums, counts


# Compiled with genoviz/kernels/path_records.py, genoviz/kernels/splitmix.py: 3efd01727ca476ec
