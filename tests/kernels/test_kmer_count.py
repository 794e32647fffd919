"""Counted k-mers are those of a dictionary, and merged runs those of both together."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.backend import load_kernel, to_device, to_host
from genoviz.kernels.kmer_count import CODES

GOLDEN = 0x9E3779B97F4A7C15


def dictionary(text, k, part=0, n_parts=1):
    """Return how often each canonical k-mer is in a text, by its number."""
    counts, others = Counter(), set(text) - set("ACGT")
    digits = text.translate(str.maketrans("ACGT", "0123"))
    turned = text[::-1].translate(str.maketrans("ACGT", "3210"))
    for start in range(len(text) - k + 1):
        kmer = digits[start : start + k]
        if others.isdisjoint(kmer):
            end = len(text) - start
            key = int(min(kmer, turned[end - k : end]), 4)
            if n_parts == 1 or (key * GOLDEN % 2**64 >> 40) % n_parts == part:
                counts[key] += 1
    return counts


def collect(backend, texts, k, part=0, n_parts=1, max_keys=10_000):
    """Return the room that has the k-mers of texts, and the number of parts reached."""
    kernel = load_kernel("kmer_count", backend)
    room = kernel.make_room(max(map(len, texts)) + 5, k, max_keys)
    for text in texts:
        room.letters[: len(text)] = np.frombuffer(text.encode(), np.uint8)
        n_parts = kernel.collect_kmers(room, len(text), part, n_parts)
    return room, kernel.count_collected(room, part, n_parts)


def count(backend, texts, k, **options):
    room, _ = collect(backend, texts, k, **options)
    return load_kernel("kmer_count", backend).sort_counts(room)


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
        assert as_dictionary(*count(backend, [text], k)) == dictionary(text, k)


@pytest.mark.parametrize("max_keys", [3_000, 40_000])
@pytest.mark.parametrize(("n", "n_other"), [(0, 0), (0, 300), (300, 0), (300, 4_000), (900, 900)])
def test_texts_are_counted_together(backend, n, n_other, max_keys):
    one, other = random_text(n), random_text(n_other, seed=1)
    wanted = dictionary(one, 5) + dictionary(other, 5) + dictionary(one, 5)
    texts = [one, other, one]
    assert as_dictionary(*count(backend, texts, 5, max_keys=max_keys)) == wanted
    room, n_parts = collect(backend, texts, 5, max_keys=max_keys)
    kernel = load_kernel("kmer_count", backend)
    assert sorted(to_host(kernel.list_counts(room)).tolist()) == sorted(wanted.values())
    assert n_parts == 1


def test_tables_grow(backend):
    texts = [random_text(90_000, seed=seed) for seed in range(4)]
    wanted = sum((dictionary(text, 12) for text in texts), Counter())
    assert as_dictionary(*count(backend, texts, 12, max_keys=10**6)) == wanted


@pytest.mark.parametrize("k", [27, 30, 32])
@pytest.mark.parametrize("n_parts", [1, 2])
def test_a_count_may_have_any_size(backend, k, n_parts):
    """Hash tables on the CPU have few bits for a count if k is large."""
    kernel, often = load_kernel("kmer_count", backend), "A" * 3_000 + "N" + "AC" * 900
    texts = [often, random_text(4_000), random_text(20_000, seed=1), often, random_text(4_000)]
    for options in ({"part": 0, "n_parts": n_parts}, {"part": n_parts - 1, "n_parts": n_parts}):
        wanted = sum((dictionary(text, k, **options) for text in texts), Counter())
        rooms = [collect(backend, texts, k, max_keys=50_000)[0] for _ in range(2)]
        for room in rooms:
            kernel.keep_part(room, *options.values())
        assert as_dictionary(*kernel.sort_counts(rooms[0])) == wanted
        assert sorted(to_host(kernel.list_counts(rooms[1])).tolist()) == sorted(wanted.values())


def test_every_kmer_is_in_one_part(backend):
    text, kernel = random_text(5_000, "ACGTN"), load_kernel("kmer_count", backend)
    for part in range(8):
        wanted = dictionary(text, 9, part, 8)
        assert as_dictionary(*count(backend, [text], 9, part=part, n_parts=8)) == wanted
        room, _ = collect(backend, [text], 9)
        kernel.keep_part(room, part, 8)
        assert as_dictionary(*kernel.sort_counts(room)) == wanted


@pytest.mark.parametrize("max_keys", [3, 100, 4_000])
def test_more_kmers_than_fit_are_those_of_a_part(backend, max_keys):
    texts = [random_text(2_000, seed=seed) for seed in range(3)]
    room, n_parts = collect(backend, texts, 15, max_keys=max_keys)
    wanted = sum((dictionary(text, 15, 0, n_parts) for text in texts), Counter())
    found = as_dictionary(*load_kernel("kmer_count", backend).sort_counts(room))
    assert found == wanted
    assert len(found) <= max_keys
    assert n_parts > 1


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
