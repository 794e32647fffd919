"""What is exactly on a threshold is kept, and what is just beyond it is not, as in PLINK."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import (
    FilterOptions,
    RelationshipMatrix,
    SampleTable,
    filter_genotypes,
    relatives,
    variant_statistics,
)
from genoviz.io.genotypes.writers import write_plink
from tests.genotype_sets import genotypes_of
from tests.plink import Plink

HOMOZYGOUS_A1, MISSING, MIXED, HOMOZYGOUS_A2 = range(4)


def of_autosomes(codes):
    genotypes = genotypes_of(codes)
    return replace(genotypes, variants=replace(genotypes.variants, contigs=("1", "2")))


def variants_with(code, numbers, others):
    """Return genotypes of 20 samples; at each variant the first few have a code."""
    codes = np.full((20, len(numbers)), others)
    for variant, number in enumerate(numbers):
        codes[:number, variant] = code
    return of_autosomes(codes)


def kept_variants(genotypes, **options):
    return filter_genotypes(genotypes, FilterOptions(**options)).variant_indices.tolist()


# The rarer allele is the second, or the first: 1 - 0.9 is a bit less than 0.1.
@pytest.mark.parametrize("others", [HOMOZYGOUS_A1, HOMOZYGOUS_A2])
@pytest.mark.parametrize("least", range(1, 21))
def test_a_variant_with_exactly_the_least_frequency_is_kept(others, least):
    numbers = np.arange(1, 21)
    genotypes = variants_with(MIXED, numbers, others)
    assert kept_variants(genotypes, min_maf=least / 40) == (numbers[least - 1 :] - 1).tolist()
    found = variant_statistics(genotypes).minor_allele_frequency
    assert found.tolist() == (numbers / 40).tolist()


@pytest.mark.parametrize("others", [HOMOZYGOUS_A1, HOMOZYGOUS_A2])
@pytest.mark.parametrize("threshold", [0.1, 0.075, 0.2, 0.225])
def test_the_least_frequency_is_plinks(tmp_path, others, threshold):
    genotypes = variants_with(MIXED, range(1, 21), others)
    write_plink(genotypes, tmp_path / "files")
    plink = Plink("plink1.9", tmp_path)
    plink(tmp_path / "files", "--maf", str(threshold), "--write-snplist")
    kept = kept_variants(genotypes, min_maf=threshold)
    assert genotypes.variants.ids[kept].tolist() == plink.lines("snplist")


@pytest.mark.parametrize("most", range(1, 20))
def test_a_variant_with_exactly_the_largest_missing_rate_is_kept(most):
    genotypes = variants_with(MISSING, range(20), MIXED)
    assert kept_variants(genotypes, max_variant_missing=most / 20) == list(range(most + 1))


@pytest.mark.parametrize("most", range(1, 20))
def test_a_sample_with_exactly_the_largest_missing_rate_is_kept(most):
    codes = np.full((20, 20), MIXED)
    for sample in range(20):
        codes[sample, :sample] = MISSING
    kept = filter_genotypes(of_autosomes(codes), FilterOptions(max_sample_missing=most / 20))
    assert kept.sample_indices.tolist() == list(range(most + 1))


def test_a_variant_with_exactly_the_least_hardy_weinberg_p_is_kept():
    genotypes = variants_with(MIXED, [0, 8, 12, 16, 20], HOMOZYGOUS_A1)
    p = variant_statistics(genotypes).hwe_p
    for least in p:
        expected = np.flatnonzero(p >= least).tolist()
        assert kept_variants(genotypes, min_hwe_p=least) == expected
        just_above = min(np.nextafter(least, 2), 1)
        expected = np.flatnonzero(p >= just_above).tolist()
        assert kept_variants(genotypes, min_hwe_p=just_above) == expected


def test_a_variant_without_genotypes_is_kept_where_no_frequency_is_asked_for(tmp_path):
    genotypes = variants_with(MISSING, [20, 0], MIXED)
    # PLINK 1.90b6.26 keeps both; with --maf it keeps the first one too, which has no frequency.
    assert kept_variants(genotypes, min_hwe_p=1e-9) == [0, 1]
    assert kept_variants(genotypes, min_maf=0.01) == [1]
    assert filter_genotypes(genotypes, FilterOptions(min_maf=0.01)).sentence.endswith(
        "1 variant has a MAF below 0.01."
    )
    write_plink(genotypes, tmp_path / "files")
    plink = Plink("plink1.9", tmp_path)
    plink(tmp_path / "files", "--hwe", "1e-9", "--write-snplist")
    assert plink.lines("snplist") == ["rs0", "rs1"]


@pytest.mark.parametrize("name", ["max_variant_missing", "max_sample_missing", "min_hwe_p"])
def test_thresholds_reach_from_zero_to_one(name):
    for value in (0, 1):
        assert getattr(FilterOptions(**{name: value}), name) == value
    for value in (-1e-9, 1 + 1e-9, np.nan):
        with pytest.raises(ValueError, match=f"{name} is .*, needs to be 0 to 1"):
            FilterOptions(**{name: value})
    assert FilterOptions(min_maf=0.5).min_maf == 0.5


def test_a_pair_with_exactly_the_least_relationship_is_told():
    values = np.array([[1, 0.125, 0.25], [0.125, 1, 0.5], [0.25, 0.5, 1]])
    matrix = RelationshipMatrix(values, SampleTable.from_ids(["a", "b", "c"]), "vanraden", 9)
    for least, pairs in ((0.125, 3), (0.25, 2), (0.5, 1), (np.nextafter(0.5, 1), 0)):
        assert len(relatives(matrix, at_least=least)) == pairs
    assert relatives(matrix, at_least=0.25).relationship.tolist() == [0.5, 0.25]
