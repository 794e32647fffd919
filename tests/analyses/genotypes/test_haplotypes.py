"""r^2 of haplotypes, against PLINK 1.9 and a search over all that the phase could be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from genoviz import haplotype_r2
from genoviz.analyses.genotypes.haplotypes import r2_of_counts
from tests.plink import Plink, plink_files, read_real


def r2_by_search(table, n_steps=20_001):
    """Return r^2 at the likeliest share of double heterozygotes, of very many shares."""
    haplotypes = np.zeros((2, 2))
    for i in range(3):
        for j in range(3):
            for a in {0: (0, 0), 1: (0, 1), 2: (1, 1)}[i]:
                for b in {0: (0, 0), 1: (0, 1), 2: (1, 1)}[j]:
                    if (i, j) != (1, 1):  # of these pairs each stands for half a haplotype
                        haplotypes[a, b] += table[i, j] / 2
    n, both = table.sum(), table[1, 1]
    shares = np.linspace(0, 1, n_steps) * both
    one = np.array([[shares, both - shares], [both - shares, shares]])
    f = (haplotypes[:, :, None] + one) / (2 * n)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(haplotypes[:, :, None] > 0, haplotypes[:, :, None] * np.log(f), 0)
        likelihood = logs.sum((0, 1))
        if both:
            likelihood += both * np.log(f[0, 0] * f[1, 1] + f[0, 1] * f[1, 0])
    best = f[:, :, np.nanargmax(likelihood)]
    p, q = best[0].sum(), best[:, 0].sum()
    return (best[0, 0] - p * q) ** 2 / (p * (1 - p) * q * (1 - q)), likelihood


@settings(max_examples=100)
@given(hnp.arrays(np.int64, (3, 3), elements=st.integers(0, 20)))
def test_the_likeliest_haplotypes_are_found(table):
    found = r2_of_counts(table[None])[0]
    of_first, of_second = table.sum(1), table.sum(0)
    varies = [2 * each[0] + each[1] not in (0, 2 * each.sum()) for each in (of_first, of_second)]
    assert np.isfinite(found) == all(varies)
    if all(varies):
        wanted, likelihood = r2_by_search(table)
        gap = np.sort(likelihood)[-1] - likelihood[[0, -1]]
        is_tied = table[1, 1] and (gap < 1e-6).all()  # both phases are as likely
        assert is_tied or found == pytest.approx(wanted, abs=2e-3)


@given(hnp.arrays(np.int64, (3, 3), elements=st.integers(0, 9)), st.sampled_from([0.1, 0.4, 0.9]))
def test_pairs_that_reach_a_minimum_are_as_without_it(table, at_least):
    table = np.array([table, [[5, 0, 0], [0, 9, 0], [0, 0, 5]]])
    every, large = r2_of_counts(table), r2_of_counts(table, at_least=at_least)
    is_large = every >= at_least
    assert large[is_large].tolist() == every[is_large].tolist()
    assert is_large[1]
    assert not (large[~is_large] >= at_least).any()


def test_phase_that_is_known_leaves_no_choice():
    assert r2_of_counts(np.array([[[5, 0, 0], [0, 0, 0], [0, 0, 5]]])).tolist() == [1.0]
    counts = np.array([[[0, 0, 0], [0, 10, 0], [0, 0, 0]]])
    assert r2_of_counts(counts) == pytest.approx(1)
    haploid = np.array([[[4, 1], [1, 4]]])
    assert r2_of_counts(np.zeros((1, 3, 3)), haploid) == pytest.approx(0.36)


@pytest.mark.parametrize("name", ["gcta_test", "1kg_chr21_start", "maize_mdp"])
def test_it_is_plinks(name, tmp_path):
    files, plink = plink_files(name), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    window = ("--ld-window", "20", "--ld-window-kb", "1000000", "--ld-window-r2", "0")
    plink(files, "--r2", "dprime", *window)
    table = plink.table("ld")
    row_of = {name: row for row, name in enumerate(genotypes.variants.ids.tolist())}
    first, second = (
        np.array([row_of[each] for each in table[title].tolist()]) for title in ("SNP_A", "SNP_B")
    )
    assert len(first) > 2000
    found = haplotype_r2(genotypes, first, second)
    wanted = plink.column("ld", "R2")
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-7)


def test_males_have_one_haplotype_of_x_and_nobody_else_one_of_y():
    from dataclasses import replace

    from tests.genotype_sets import genotypes_of

    rng = np.random.default_rng(3)
    first = rng.choice([0, 3], 60)
    codes = np.column_stack([first, np.where(rng.random(60) < 0.8, first, 3 - first)])
    sexes = np.where(np.arange(60) < 40, 1, 2).astype(np.uint8)
    codes[40:50, 0] = 2  # females
    codes[3, 1] = 2  # a male that cannot be
    genotypes = genotypes_of(codes)
    samples = replace(genotypes.samples, sexes=sexes)
    variants = replace(genotypes.variants, contig_ids=np.zeros(2, np.int32))
    males = np.array([k for k in range(40) if k != 3])
    alleles = codes[males] // 3
    haploid = np.array([[((alleles == [a, b]).all(1)).sum() for b in (0, 1)] for a in (0, 1)])
    of = {0: 0, 2: 1, 3: 2}
    females = np.zeros((3, 3), np.int64)
    for a, b in codes[40:]:
        females[of[a], of[b]] += 1
    for contig, diploid in (("X", females), ("Y", np.zeros((3, 3)))):
        part = replace(genotypes, samples=samples, variants=replace(variants, contigs=(contig,)))
        found = haplotype_r2(part, np.array([0]), np.array([1]))
        assert found == pytest.approx(r2_of_counts(diploid[None], haploid[None]))
