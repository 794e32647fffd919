"""How hits differ from their guides, against their alignments read letter by letter."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from genoviz import Sequences, find_offtargets
from genoviz.analyses.offtargets.differences import (
    KINDS,
    classify_pams,
    count_mismatch_kinds,
    count_seed_mismatches,
)
from genoviz.analyses.offtargets.finding import guide_with_pam
from genoviz.errors import ParameterError

NUMBERS = random.Random(11)


def letters(n, alphabet="ACGT"):
    return "".join(NUMBERS.choice(alphabet) for _ in range(n))


GENOME = Sequences.from_records(
    [
        ("a", letters(4_000)),
        ("b", letters(900, "ACGTN")),
        ("c", letters(3_000, "ACGTACGTACGTACGTR")),
    ]
)


def search(pam, is_first):
    pairs = [guide_with_pam(letters(9), pam, is_pam_first=is_first) for _ in range(3)]
    guides, pattern = [guide for guide, _ in pairs], pairs[0][1]
    return find_offtargets(
        guides, GENOME, pattern, max_mismatches=3, dna_bulge=2, rna_bulge=1, placements="all"
    )


@pytest.mark.parametrize(("pam", "is_first"), [("NRG", False), ("TTV", True), ("NGG", False)])
def test_differences_are_those_of_the_alignments(pam, is_first):
    hits = search(pam, is_first)
    seeds, pams, kinds = (
        count_seed_mismatches(hits, length=5), classify_pams(hits), count_mismatch_kinds(hits)
    )  # fmt: skip
    assert {1, 2} <= {*hits.bulge_types.tolist()}
    expected: Counter = Counter()
    for row, alignment in enumerate(hits.alignments()):
        pairs = list(zip(alignment.guide, alignment.site, strict=True))
        site_pam = alignment.site[: len(pam)] if is_first else alignment.site[-len(pam) :]
        inside = pairs[len(pam) :] if is_first else pairs[: -len(pam)]
        inside = [(guide, site) for guide, site in inside if guide != "-"]
        assert len(inside) == 9
        seed = inside[:5] if is_first else inside[-5:]
        assert seeds[row] == sum(site.islower() for _, site in seed)
        name = "".join(
            found if wanted in "RV" else wanted for wanted, found in zip(pam, site_pam, strict=True)
        )
        assert pams.names[pams.ids[row]] == name
        for place, (guide, site) in enumerate(inside):
            if site.islower():
                expected[f"{guide}>{site.upper()}", place] += 1
    plain = {key: n for key, n in expected.items() if key[0] in KINDS}
    found = {(KINDS[kind], place): int(kinds.counts[kind, place])
             for kind, place in zip(*kinds.counts.nonzero(), strict=True)}  # fmt: skip
    assert found == plain
    assert kinds.n_others == expected.total() - sum(plain.values()) > 0
    assert pams.count().sum() == len(hits) == kinds.n_hits


def test_a_pam_without_choice_is_one_class_and_no_hits_are_none():
    hits = search("NGG", False)
    assert classify_pams(hits).names == ("NGG",)
    none = hits.take(np.empty(0, np.int64))
    assert classify_pams(none).count().sum() == 0
    assert count_seed_mismatches(none).shape == (0,)
    assert count_mismatch_kinds(none).counts.shape == (12, 9)
    with pytest.raises(ParameterError, match="seed has 0 letters"):
        count_seed_mismatches(hits, length=0)


def test_the_last_pams_of_very_many_are_one_class():
    hits = find_offtargets(["NNNNNNNNN"], GENOME, "NNNNNVVVV", max_mismatches=0)
    pams = classify_pams(hits)
    assert (len(pams.names), pams.names[-1]) == (201, "other")
    assert pams.count().sum() == len(hits)
    assert (np.diff(pams.count()[:-1]) <= 0).all()
