from __future__ import annotations

import numpy as np
import pytest

from genoviz import (
    drop_genotypes,
    iter_simulate_genotypes,
    simulate_genotypes,
    simulate_pedigree,
    simulate_trait,
)
from genoviz.analyses.simulation import genotypes as module
from genoviz.errors import ParameterError


def dosages(genotypes):
    found = genotypes.dosages(slice(None)).astype(float)
    found[found < 0] = np.nan
    return found


def r2_at(genotypes, distance):
    found = dosages(genotypes)
    r = [np.corrcoef(pair)[0, 1] for pair in zip(found.T, found.T[distance:], strict=False)]
    return np.square(r).mean(), np.mean(r)


def test_genotypes_have_the_frequencies_and_the_table_that_was_asked_for():
    genotypes = simulate_genotypes(2_001, 60, n_contigs=3, seed=1)
    assert (genotypes.n_samples, genotypes.n_variants) == (2_001, 60)
    frequencies = dosages(genotypes).mean(axis=0) / 2
    assert 0.005 < frequencies.min() < 0.1
    assert 0.4 < frequencies.max() < 0.55
    # Genotypes are in Hardy-Weinberg equilibrium.
    is_heterozygous = (dosages(genotypes) == 1).mean(axis=0)
    np.testing.assert_allclose(is_heterozygous, 2 * frequencies * (1 - frequencies), atol=0.05)
    variants = genotypes.variants
    assert variants.contigs == ("1", "2", "3")
    assert np.bincount(variants.contig_ids).tolist() == [20, 20, 20]
    assert variants.is_sorted
    assert (variants.allele1 != variants.allele2).all()
    assert len(set(variants.ids.tolist())) == 60
    assert np.bincount(genotypes.samples.sexes, minlength=3).tolist()[0] == 0
    assert 850 < (genotypes.samples.sexes == 1).sum() < 1_150


def test_linkage_falls_with_the_distance_and_ends_with_the_contig():
    linked = simulate_genotypes(1_500, 200, linkage=0.95, seed=2)
    near, signed = r2_at(linked, 1)
    assert near > 0.15
    assert abs(signed) < 0.15
    assert near > 2 * r2_at(linked, 10)[0] > 4 * r2_at(linked, 60)[0]
    assert r2_at(simulate_genotypes(1_500, 100, linkage=0, seed=2), 1)[0] < 0.005
    assert r2_at(simulate_genotypes(1_500, 100, n_contigs=100, seed=2), 1)[0] < 0.005


def test_many_variants_of_a_contig_are_dense_and_linked_as_few_are():
    """At 50 kb, those of a genome on one contig would be beyond the positions of a .bim file."""
    many = simulate_genotypes(300, 60_000, seed=2)
    assert 0.9 * module.CONTIG_BASES < many.variants.positions[-1] < 1.1 * module.CONTIG_BASES
    few = simulate_genotypes(300, 2_000, seed=2)
    assert few.variants.positions[-1] == pytest.approx(2_000 * 50_000, rel=0.1)
    for apart in (1, 10):
        assert r2_at(many, apart)[0] == pytest.approx(r2_at(few, apart)[0], rel=0.2)


def test_populations_differ_by_fst():
    genotypes = simulate_genotypes(900, 400, n_populations=3, fst=0.2, seed=3)
    families = genotypes.samples.family_ids
    assert [*dict.fromkeys(families.tolist())] == ["pop1", "pop2", "pop3"]
    found = dosages(genotypes) / 2
    by_population = np.array([found[families == f"pop{k}"].mean(axis=0) for k in (1, 2, 3)])
    means = by_population.mean(axis=0)
    assert by_population.var(axis=0, ddof=1).sum() / (means * (1 - means)).sum() == pytest.approx(
        0.2, abs=0.04
    )


def test_missing_genotypes_are_as_many_as_asked_for():
    genotypes = simulate_genotypes(1_003, 50, missing_rate=0.07, seed=4)
    assert np.isnan(dosages(genotypes)).mean() == pytest.approx(0.07, abs=0.005)


def test_blocks_and_seeds(monkeypatch):
    whole = simulate_genotypes(4_099, 20, seed=5, missing_rate=0.01, n_populations=2)
    monkeypatch.setattr(module, "_BLOCK_GENOTYPES", 4_099 * 3)
    steps = [*iter_simulate_genotypes(4_099, 20, seed=5, missing_rate=0.01, n_populations=2)]
    assert len(steps) == 8
    assert [step.result is None for step in steps] == [True] * 7 + [False]
    assert (steps[-1].result.packed == whole.packed).all()
    assert (simulate_genotypes(4_099, 20, seed=6).packed != whole.packed).any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_samples": 0}, "n_samples is 0, needs at least 1"),
        ({"n_contigs": 11}, "n_contigs is 11, more than the 10 variants"),
        ({"n_populations": 9}, "n_populations is 9, more than 8 samples"),
        ({"linkage": 1.5}, "linkage is 1.5, needs a number from 0 to 1"),
        ({"missing_rate": -1}, "missing_rate is -1, needs a number from 0 to 1"),
        ({"n_populations": 2, "fst": 0}, "fst is 0, needs more than 0 and less than 1"),
    ],
)
def test_bad_sizes_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        simulate_genotypes(**{"n_samples": 8, "n_variants": 10, **options})


def test_trait_has_the_heritability_exactly():
    genotypes = simulate_genotypes(300, 100, missing_rate=0.05, seed=6)
    trait = simulate_trait(genotypes, heritability=0.3, n_causal=10, seed=1, backend="cpu")
    assert np.flatnonzero(trait.effects).tolist() == trait.causal.tolist()
    assert trait.phenotype.var() == pytest.approx(1)
    assert trait.breeding_values.var() == pytest.approx(0.3)
    noise = trait.phenotype - trait.breeding_values
    assert noise @ trait.breeding_values == pytest.approx(0, abs=1e-9)
    found = dosages(genotypes)
    found -= np.nanmean(found, axis=0)
    values = np.nan_to_num(found) @ trait.effects
    np.testing.assert_allclose(trait.breeding_values, values - values.mean(), atol=1e-12)


@pytest.mark.parametrize("heritability", [0, 1])
def test_trait_may_be_all_noise_or_none(heritability):
    genotypes = simulate_genotypes(50, 20, seed=6)
    trait = simulate_trait(genotypes, heritability=heritability, n_causal=20, backend="cpu")
    assert trait.phenotype.var() == pytest.approx(1)
    assert trait.breeding_values.var() == pytest.approx(heritability)


def test_bad_traits_are_refused():
    genotypes = simulate_genotypes(50, 20, seed=6)
    with pytest.raises(ParameterError, match="n_causal is 21, needs 1 to 20"):
        simulate_trait(genotypes, n_causal=21)
    with pytest.raises(ParameterError, match=r"heritability is 1\.2, needs a number from 0 to 1"):
        simulate_trait(genotypes, heritability=1.2)
    one = simulate_genotypes(1, 20)
    with pytest.raises(ParameterError, match="the 5 causal variants are the same in all samples"):
        simulate_trait(one, n_causal=5)


def test_progeny_have_one_allele_of_each_parent():
    pedigree = simulate_pedigree(20, 3, n_progeny=30, seed=1)
    assert len(pedigree) == 110
    founders = simulate_genotypes(20, 200, n_contigs=2, seed=7)
    genotypes = drop_genotypes(pedigree, founders, seed=1)
    found = dosages(genotypes)
    np.testing.assert_array_equal(found[:20], dosages(founders))
    for animal in range(20, 110):
        sire, dam = found[pedigree.sires[animal]], found[pedigree.dams[animal]]
        least, most = (sire == 2) * 1 + (dam == 2), (sire > 0) * 1 + (dam > 0)
        assert ((least <= found[animal]) & (found[animal] <= most)).all()
    samples = genotypes.samples
    assert samples.ids[20] == "g1.1"
    assert samples.father_ids[20] == pedigree.ids[pedigree.sires[20]]
    assert samples.mother_ids[0] == "0"
    assert set(samples.sexes[pedigree.dams[20:]]) == {2}
    again = drop_genotypes(pedigree, founders, seed=1)
    assert (again.packed == genotypes.packed).all()


def test_linked_variants_are_passed_on_together():
    """A heterozygous sire passes on the same haplotype at neighbours, and any at contigs' ends."""
    pedigree = simulate_pedigree(2, 1, n_progeny=400, sire_share=0.5, seed=2)
    founders = simulate_genotypes(2, 400, n_contigs=2, seed=8)
    founders.packed[:, 0] = 0b0000
    founders.packed[:, 0] |= 2 << 2 * int(pedigree.sires[2])
    passed_on = dosages(drop_genotypes(pedigree, founders, seed=3))[2:] - 1
    r = np.corrcoef(passed_on.T)
    distances = np.diff(founders.variants.centimorgans)[:199]
    expected = np.exp(-2 * distances / 100)
    np.testing.assert_allclose(np.abs(np.diag(r, 1)[:199]), expected, atol=0.05)
    assert abs(r[199, 200]) < 0.2


def test_what_does_not_fit_a_pedigree_is_refused():
    pedigree = simulate_pedigree(4, 1)
    with pytest.raises(ParameterError, match="genotypes of 3 founders, and 4 animals"):
        drop_genotypes(pedigree, simulate_genotypes(3, 10))
    with pytest.raises(ParameterError, match="a pedigree of 1 founders and 2 generations of 5"):
        simulate_pedigree(1, 2, n_progeny=5)
    with pytest.raises(ParameterError, match="sire_share is 1, needs more than 0"):
        simulate_pedigree(4, 1, sire_share=1)
