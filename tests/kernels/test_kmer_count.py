"""Counted k-mers are those of a dictionary, and merged runs those of both together."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.backend import load_kernel, to_device, to_host
from genoviz.kernels.kmer_count import CODES

TURN = str.maketrans("ACGT", "TGCA")
GOLDEN = 0x9E3779B97F4A7C15


def key_of(kmer):
    return int(kmer.translate(str.maketrans("ACGT", "0123")), 4)


def dictionary(text, k, part=0, n_parts=1):
    """Return how often each canonical k-mer is in a text, by its number."""
    counts = Counter()
    for start in range(len(text) - k + 1):
        kmer = text[start : start + k]
        if set(kmer) <= set("ACGT"):
            key = key_of(min(kmer, kmer[::-1].translate(TURN)))
            if (key * GOLDEN % 2**64 >> 40) % n_parts == part:
                counts[key] += 1
    return counts


def count(backend, text, k, part=0, n_parts=1, room=None):
    kernel = load_kernel("kmer_count", backend)
    room = room or kernel.make_room(len(text) + 5)
    room.letters[: len(text)] = np.frombuffer(text.encode(), np.uint8)
    return kernel.count_kmers(room, len(text), k, part, n_parts)


def as_dictionary(keys, counts):
    keys, counts = to_host(keys), to_host(counts)
    assert (keys.dtype, counts.dtype) == (np.uint64, np.int64)
    assert (keys[1:] > keys[:-1]).all()
    return dict(zip(keys.tolist(), counts.tolist(), strict=True))


def random_text(n, letters="ACGT", seed=0):
    return "".join(np.random.default_rng(seed).choice(list(letters), n))


@pytest.mark.parametrize("k", [1, 2, 3, 16, 21, 31, 32])
@pytest.mark.parametrize("letters", ["ACGT", "ACGTN\n", "AT", "T"])
def test_counts_are_those_of_a_dictionary(backend, k, letters):
    for n in (0, k - 1, k, 255, 256, 257, 6_000):
        text = random_text(n, letters)
        assert as_dictionary(*count(backend, text, k)) == dictionary(text, k)


def test_every_kmer_is_in_one_part(backend):
    text = random_text(5_000, "ACGTN")
    kernel = load_kernel("kmer_count", backend)
    room, whole = kernel.make_room(5_000), count(backend, text, 9)
    for part in range(8):
        wanted = dictionary(text, 9, part, 8)
        assert as_dictionary(*count(backend, text, 9, part, 8, room)) == wanted
        assert as_dictionary(*kernel.keep_part(*whole, part, 8)) == wanted


@pytest.mark.parametrize(("n", "n_other"), [(0, 0), (0, 300), (300, 0), (300, 4_000), (900, 900)])
def test_merged_runs_are_those_of_both(backend, n, n_other):
    kernel = load_kernel("kmer_count", backend)
    one, other = random_text(n), random_text(n_other, seed=1)
    merged = kernel.merge_counts(*count(backend, one, 5), *count(backend, other, 5))
    assert as_dictionary(*merged) == dictionary(one, 5) + dictionary(other, 5)


@given(st.lists(st.sampled_from([1, 2, 3, 4095, 4096, 4097, 2**40]), max_size=30))
def test_tallies_are_those_of_a_dictionary(counts):
    check_tally("cpu", counts)


def check_tally(backend, counts):
    kernel = load_kernel("kmer_count", backend)
    values, numbers = kernel.tally_counts(to_device(np.array(counts, np.int64), backend))
    assert dict(zip(values.tolist(), numbers.tolist(), strict=True)) == Counter(counts)
    assert values.tolist() == sorted(values.tolist())
    assert (values.dtype, numbers.dtype) == (np.int64, np.int64)


def test_a_tally_of_either_backend_is_that_of_a_dictionary(backend):
    check_tally(backend, [])
    check_tally(backend, [1, 4096, 1, 2, 2**40, 1, 4096])


def test_codes_are_those_of_the_bases():
    known = dict(zip("ACGTUacgtu", (0, 1, 2, 3, 3) * 2, strict=True))
    assert list(CODES) == [known.get(chr(letter), 4) for letter in range(256)]
