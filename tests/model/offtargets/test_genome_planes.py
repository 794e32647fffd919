"""Planes of genomes against their letters."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.model.sequences.sequences import Sequences


@given(
    lengths=st.lists(st.integers(0, 300), max_size=12),
    length=st.integers(1, 255),
    first=st.integers(0, 20),
)
def test_valid_starts_are_those_of_windows_within_a_contig(lengths, length, first):
    planes = make_genome_planes(
        Sequences.from_records((f"c{i}", "A" * n) for i, n in enumerate(lengths))
    )
    expected = np.zeros(64 * planes.n_words, bool)
    for start, n in zip(planes.offsets.tolist(), lengths, strict=False):
        for place in range(n - length + 1):
            expected[start + place] = True
    valid = planes.valid_starts(length)
    assert valid.dtype == np.uint64
    bits = valid[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    np.testing.assert_array_equal(bits.ravel() == 1, expected)
    first = min(first, planes.n_words)
    for stop in range(first, planes.n_words + 1):
        np.testing.assert_array_equal(planes.valid_starts(length, first, stop), valid[first:stop])


@given(st.integers(0, 3), st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_planes_keep_every_letter(n_chunks, seed):
    generator = np.random.default_rng(seed)
    n = n_chunks * (1 << 18) + int(generator.integers(0, 1000))
    letters = generator.choice(np.frombuffer(b"ACGTN", np.uint8), n)
    for place in generator.integers(0, max(n, 1), 5 if n else 0).tolist():
        letters[place] = generator.choice(np.frombuffer(b"RYSWKMBDHV", np.uint8))
    planes = make_genome_planes(Sequences.from_records([("c", letters)]))
    np.testing.assert_array_equal(planes.cut(0, n), letters)
    is_base = np.isin(letters, np.frombuffer(b"ACGT", np.uint8))
    assert sum(int(word).bit_count() for word in planes.other) == n - is_base.sum()
    assert not (planes.other & (planes.low | planes.high)).any()
