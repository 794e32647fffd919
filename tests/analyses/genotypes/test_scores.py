"""Scores by weights of alleles, against PLINK 2 and dense products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import ParameterError, score, simulate_genotypes
from tests.oracles.genotypes import dosages_of
from tests.plink import Plink, numbers, plink_files, read_real


@pytest.fixture(scope="module")
def genotypes():
    made = simulate_genotypes(60, 40, missing_rate=0.1, seed=6)
    a1 = np.resize(["A", "A", "C", "G"], 40)
    a2 = np.resize(["C", "T", "G", "T"], 40)
    return replace(made, variants=replace(made.variants, allele1=a1, allele2=a2))


def dense(genotypes):
    dosages = dosages_of(genotypes.packed, genotypes.n_samples)
    return np.where(np.isnan(dosages), np.nanmean(dosages, 0), dosages)


def test_alleles_are_found_as_either_of_a_variant(genotypes):
    ids = genotypes.variants.ids
    rows = np.random.default_rng(1).permutation(40)[:30]
    is_a2 = rows % 3 == 0
    alleles = np.where(is_a2, genotypes.variants.allele2[rows], genotypes.variants.allele1[rows])
    weights = np.random.default_rng(2).normal(size=(30, 2))
    found = score(genotypes, ids[rows], alleles, weights)
    counted = np.where(is_a2, 2 - dense(genotypes)[:, rows], dense(genotypes)[:, rows])
    np.testing.assert_allclose(found.sums, counted @ weights, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.averages, counted @ weights / 60, rtol=1e-12, atol=1e-12)
    dosages = dosages_of(genotypes.packed, 60)[:, rows]
    named = np.where(is_a2, 2 - dosages, dosages)
    np.testing.assert_array_equal(found.dosage_sums, np.nansum(named, 1))
    np.testing.assert_array_equal(found.n_alleles, 2 * np.isfinite(dosages).sum(1))
    one = score(genotypes, ids[rows], alleles, weights[:, 0])
    np.testing.assert_allclose(one.sums[:, 0], found.sums[:, 0], rtol=1e-12, atol=1e-12)


def test_rows_that_do_not_count_are_told(genotypes):
    ids = [*genotypes.variants.ids[:5], "stranger"]
    # A/C: G is the complement of C; A/T: as it stands; C/G; G/T; A/C again.
    found = score(genotypes, ids, ["G", "T", "CC", "G", "A", "A"], np.ones(6))
    assert found.n_variants == 3
    assert found.notes == (
        "Rows that name no variant, and do not count: 1 of 6.",
        "Rows that name an allele that their variant lacks, and do not count: 2 of 6.",
        "Rows of these that would fit on the other strand: 1 of 6.",
        "Rows that count at variants of A and T or C and G, of unknown strand: 1 of 6.",
    )
    wanted = dense(genotypes)[:, [1, 3, 4]] * [-1, 1, 1] + [2, 0, 0]
    np.testing.assert_allclose(found.sums[:, 0], wanted.sum(1))


def test_variants_that_nobody_has_do_not_count(genotypes):
    packed = genotypes.packed.copy()
    packed[[1, 3]] = 0b01_01_01_01
    made, ids = replace(genotypes, packed=packed), genotypes.variants.ids[:5]
    found = score(made, ids, genotypes.variants.allele2[:5], np.arange(1.0, 6.0))
    rest = score(genotypes, ids[[0, 2, 4]], genotypes.variants.allele2[[0, 2, 4]], [1.0, 3.0, 5.0])
    np.testing.assert_array_equal(found.sums, rest.sums)
    assert found.n_variants == 3
    assert found.notes[0] == "Rows of variants without any genotype, which do not count: 2 of 5."


def test_variants_of_x_count_when_asked(genotypes):
    contigs = replace(genotypes.variants, contigs=("X",))
    of_x = replace(genotypes, variants=contigs)
    ids, a1 = genotypes.variants.ids, genotypes.variants.allele1
    with pytest.raises(ParameterError, match="all 40 variants are of X"):
        score(of_x, ids, a1, np.ones(40))
    found = score(of_x, ids, a1, np.ones(40), contigs="all")
    np.testing.assert_array_equal(found.sums, score(genotypes, ids, a1, np.ones(40)).sums)


def test_what_cannot_be_scored_is_told(genotypes):
    ids, a1 = genotypes.variants.ids, genotypes.variants.allele1
    twice = replace(genotypes.variants, ids=np.where(np.arange(40) == 3, ids[4], ids))
    for made, names, alleles, weights, words in (
        (genotypes, ids[:2], a1[:2], np.ones(3), "2 IDs, 2 alleles and weights of shape"),
        (genotypes, ids[:2], a1[:2], np.array([1, np.nan]), f"a weight of '{ids[1]}' is not a"),
        (genotypes, ids[[0, 0]], a1[[0, 0]], np.ones(2), f"'{ids[0]}' is there twice"),
        (
            genotypes,
            ["x", "y"],
            a1[:2],
            np.ones(2),
            "none of 2 rows counts. Rows that name no variant, and do not count: 2 of 2$",
        ),
        (replace(genotypes, variants=twice), ids[4:5], a1[4:5], np.ones(1), "ID of several"),
    ):
        with pytest.raises(ParameterError, match=words):
            score(made, names, alleles, weights)


@pytest.mark.parametrize("name", ["gcta_test", "mice_bglr"])
def test_scores_are_those_of_plink(name, tmp_path):
    files, plink = plink_files(name), Plink("plink2", tmp_path)
    genotypes = read_real(files)
    variants, rng = genotypes.variants, np.random.default_rng(3)
    m = genotypes.n_variants
    alleles = np.where(rng.random(m) < 0.5, variants.allele1, variants.allele2)
    weights = np.round(rng.normal(size=(m, 2)), 4)
    rows = zip(variants.ids, alleles, *weights.T, strict=True)
    table = tmp_path / "weights"
    table.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    columns = "cols=nallele,dosagesum,scoreavgs,scoresums"
    plink(files, "--score", str(table), "1", "2", columns, "--score-col-nums", "3-4",
          "--nonfounders")  # fmt: skip
    found = score(genotypes, variants.ids, alleles, weights, contigs="all")
    told = plink.table("sscore")
    np.testing.assert_array_equal(found.n_alleles, numbers(told["ALLELE_CT"]))
    np.testing.assert_allclose(found.dosage_sums, numbers(told["NAMED_ALLELE_DOSAGE_SUM"]),
                               rtol=1e-5)  # fmt: skip
    for k in range(2):
        for title, values in (("SUM", found.sums), ("AVG", found.averages)):
            wanted = numbers(told[f"SCORE{k + 1}_{title}"])
            scale = np.abs(wanted).max()
            np.testing.assert_allclose(values[:, k], wanted, rtol=1e-5, atol=1e-5 * scale)
