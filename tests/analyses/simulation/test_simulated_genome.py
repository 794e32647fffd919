from __future__ import annotations

import gzip

import numpy as np
import pytest

from genoviz import get_sample
from genoviz.analyses.simulation.genome_and_reads import simulate_genome
from genoviz.errors import ParameterError


def longest_shared(text, other, k):
    """Return how many ``k``-mers of one text the other has."""
    there = {other[i : i + k] for i in range(len(other) - k + 1)}
    return sum(text[i : i + k] in there for i in range(len(text) - k + 1))


def test_genome_has_what_makes_searching_hard():
    records = dict(simulate_genome(60_000, seed=3))
    assert [*records] == ["chr1", "chr2", "chr3"]
    assert sum(map(len, records.values())) == 60_000
    letters = np.concatenate([*records.values()])
    is_masked = letters >= ord("a")
    assert 0.2 < is_masked.mean() < 0.6
    assert set(np.unique(letters & ~np.uint8(32)).tobytes()) <= set(b"ACGTNRYKMSW")
    assert (records["chr1"] == ord("N")).sum() > 400

    first, second = (records[name].tobytes().upper().decode() for name in ("chr1", "chr2"))
    turned = second[::-1].translate(str.maketrans("ACGT", "TGCA"))
    assert longest_shared(first, turned, 200) > 50
    assert len({first[i : i + 300] for i in range(len(first) - 299)}) < len(first) - 299 - 100


def test_same_seed_gives_the_same_genome():
    first, second, other = (simulate_genome(20_000, seed=seed) for seed in (1, 1, 2))
    assert [bases.tobytes() for _, bases in first] == [bases.tobytes() for _, bases in second]
    assert first[0][1].tobytes() != other[0][1].tobytes()


def test_too_small_a_genome_is_refused():
    with pytest.raises(ParameterError, match="n_bases is 5, needs at least 20,000"):
        simulate_genome(5)


def test_sample_is_such_a_genome():
    text = gzip.decompress(get_sample("genome").read_bytes())
    names = [line for line in text.splitlines() if line.startswith(b">")]
    assert names == [b">chr1", b">chr2", b">chr3"]
