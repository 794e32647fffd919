"""KING-robust kinship, against PLINK 2 and counts of dense columns."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings

import genoviz.analyses.genotypes.kinship as kinship_module
from genoviz import ParameterError, king_kinship, simulate_genotypes, unrelated_samples
from genoviz.analyses.genotypes.kinship import KinshipPairs
from genoviz.analyses.genotypes.selection import select_samples
from tests.genotype_sets import CODES, genotypes_of
from tests.oracles.genotypes import dosages_of
from tests.plink import Plink, numbers, plink_files, read_real, write_table


def kinship_by_hand(dosages):
    """Return what the pairs of rows share, one pair after the other."""
    rows = []
    for i, j in combinations(range(len(dosages)), 2):
        both = np.isfinite(dosages[i]) & np.isfinite(dosages[j])
        x, y = dosages[i, both], dosages[j, both]
        het = int(((x == 1) & (y == 1)).sum())
        opposite = int((np.abs(x - y) == 2).sum())
        fewer, more = sorted([int((x == 1).sum()), int((y == 1).sum())])
        value = np.nan
        if fewer:
            value = (het - 2 * opposite) / (2 * fewer) + 0.5 - (fewer + more) / (4 * fewer)
        rows.append((i, j, int(both.sum()), het, opposite, value))
    return np.array(rows, float).reshape(-1, 6)


def columns_of(pairs):
    return np.column_stack(
        [pairs.first, pairs.second, pairs.n_variants, pairs.n_both_heterozygous, pairs.n_opposite,
         pairs.kinship]
    )  # fmt: skip


@settings(max_examples=40)
@given(CODES)
def test_pairs_are_those_by_hand(codes):
    genotypes = genotypes_of(codes)
    found = columns_of(king_kinship(genotypes, contigs="all"))
    wanted = kinship_by_hand(dosages_of(genotypes.packed, len(codes)))
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


def test_blocks_of_variants_and_tiles_of_samples_make_no_difference(monkeypatch):
    genotypes = simulate_genotypes(70, 300, missing_rate=0.1, seed=4)
    wanted = kinship_by_hand(dosages_of(genotypes.packed, 70))
    monkeypatch.setattr(kinship_module, "_BLOCK_VARIANTS", 64)
    monkeypatch.setattr(kinship_module, "_TILE_WORDS", 1)
    monkeypatch.setattr(kinship_module, "_WORDS_OF_STEP", 1)
    np.testing.assert_allclose(columns_of(king_kinship(genotypes)), wanted, rtol=1e-14)
    close = king_kinship(genotypes, at_least=0.02)
    np.testing.assert_allclose(columns_of(close), wanted[wanted[:, 5] >= 0.02], rtol=1e-14)
    assert 0 < len(close) < len(wanted)


@pytest.mark.parametrize("name", ["mice_bglr", "toydata.5chrom"])
def test_pairs_are_those_of_plink(name, tmp_path):
    files, plink = plink_files(name), Plink("plink2", tmp_path)
    genotypes = read_real(files)
    genotypes = select_samples(genotypes, np.arange(0, genotypes.n_samples, 3))
    who = (genotypes.samples.family_ids, genotypes.samples.ids)
    kept = str(write_table(tmp_path / "keep.txt", who, {}))
    plink(files, "--make-king-table", "cols=id,nsnp,hethet,ibs0,kinship", "--keep", kept)
    table = plink.table("kin0")
    number = {name: row for row, name in enumerate(genotypes.samples.ids.tolist())}
    ends = np.array([[number[name] for name in table[title]] for title in ("IID1", "IID2")])
    order = np.lexsort((ends.min(0), ends.max(0)))
    found = king_kinship(genotypes)
    own = np.lexsort((found.first, found.second))
    np.testing.assert_array_equal(np.sort(ends, 0)[:, order], [found.first[own], found.second[own]])
    shares = [found.n_both_heterozygous, found.n_opposite] / np.maximum(found.n_variants, 1)
    np.testing.assert_array_equal(found.n_variants[own], numbers(table["NSNP"])[order])
    for title, values in (("HETHET", shares[0]), ("IBS0", shares[1]), ("KINSHIP", found.kinship)):
        np.testing.assert_allclose(values[own], numbers(table[title])[order], atol=1e-6)


def pairs_of(ends, kinship):
    first, second = np.array(ends, np.int64).reshape(-1, 2).T
    none = np.zeros(len(first), np.int64)
    return KinshipPairs(first, second, none, none, none, np.array(kinship, float))


def test_of_unrelated_samples_no_two_are_related_and_nobody_more_fits():
    star = pairs_of([[0, 1], [0, 2], [0, 3], [4, 5]], [0.3, 0.3, 0.2, 0.1])
    assert unrelated_samples(star, 7, at_least=0.2).tolist() == [1, 2, 3, 4, 5, 6]
    assert unrelated_samples(star, 7, at_least=0.1).tolist() == [1, 2, 3, 4, 6]
    rng = np.random.default_rng(0)
    for _ in range(20):
        ends = [pair for pair in combinations(range(12), 2) if rng.random() < 0.2]
        found = {*unrelated_samples(pairs_of(ends, np.ones(len(ends))), 12, at_least=1).tolist()}
        assert not any({*pair} <= found for pair in ends)
        for sample in {*range(12)} - found:
            assert any(sample in pair and ({*pair} - {sample}) <= found for pair in ends)
    with pytest.raises(ParameterError, match="a pair has sample 5, needs to be below 5"):
        unrelated_samples(star, 5, at_least=0.2)


def test_a_path_of_relatives_leaves_every_other_one():
    ends = [[k, k + 1] for k in range(8)]
    assert len(unrelated_samples(pairs_of(ends, np.ones(8)), 9, at_least=0.5)) == 5
