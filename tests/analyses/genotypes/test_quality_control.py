"""Quality control and tuning of genotypes: dense matrices, loops, and published results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import (
    GenomicRules,
    MixedModel,
    ModelEffect,
    Pedigree,
    QualityRules,
    RandomEffects,
    SingleStep,
    control_quality,
    prepare_single_step,
    solve_mixed_model,
)
from genoviz.analyses.genotypes.prediction import preparation
from genoviz.errors import ParameterError
from tests.genotype_sets import genotypes_of_dosages
from tests.oracles import genomic_rules as oracle
from tests.oracles.pedigree import relationships as relate

PUBLISHED_PEDIGREE = {
    1: (7, 5), 3: (12, 11), 4: (14, 13), 5: (3, 2), 6: (12, 15), 7: (3, 13), 8: (7, 4), 9: (7, 5),
    10: (6, 9),
}  # fmt: skip
# G^-1 - A22^-1 of the animals that are left: all but the second of `PUBLISHED`.
PUBLISHED_DIFFERENCE = """
-0.335 -0.161 -0.421 -0.091  0.405  -0.329   0.265   0.265
-0.161 10.624 -0.101  0.614  0.005 -11.035  -0.144  -0.144
-0.421 -0.101  0.212 -0.018  0.537  -0.154  -0.342  -0.342
-0.091  0.614 -0.018  0.773 -2.964   1.684   0.291   0.291
 0.405  0.005  0.537 -2.964  0.064  -0.796   1.421   1.421
-0.329 -11.035 -0.154 1.684 -0.796  11.503  -0.587  -0.587
 0.265 -0.144 -0.342  0.291  1.421  -0.587  20.186 -20.738
 0.265 -0.144 -0.342  0.291  1.421  -0.587 -20.738  20.186
"""


def dense(structure, related):
    """G of the animals that are left, by the numbers of a prepared structure."""
    dosages = structure.genotypes.dosages(slice(None)).astype(float)
    p = structure.frequencies
    centred = np.where(dosages < 0, 0, dosages - 2 * p)
    genomic = centred @ centred.T / (2 * p @ (1 - p))
    weights = structure.genomic_weight, structure.polygenic_weight
    return structure.constant + weights[0] * genomic + weights[1] * related


def published():
    """The example's structure, with the parents and the place of each number."""
    rows = [line.split() for line in oracle.PUBLISHED.split("\n") if line]
    digits = np.array([list(row[1]) for row in rows], float)
    animals = np.array([int(row[0]) for row in rows])
    numbers = np.array([13, 11, 2, 14, 12, 15, 3, 4, 5, 6, 7, 8, 9, 1, 10])  # parents first
    place = {int(number): k for k, number in enumerate([*numbers, 0])} | {0: -1}
    parents = [[place[p] for p in PUBLISHED_PEDIGREE.get(k, (0, 0))] for k in numbers.tolist()]
    parents = np.array(parents)
    pedigree = Pedigree(numbers.astype(str), *parents.T)
    genotypes = genotypes_of_dosages(np.where(digits == 5, np.nan, digits), animals.astype(str))
    # As its text says, the limit of the correlation is too high for so few animals.
    rules = GenomicRules(replace(QualityRules(), min_call_rate=0.8), min_correlation=0.1)
    return SingleStep(pedigree, genotypes, rules=rules), parents, place, animals


def test_the_published_example():
    structure, parents, place, animals = published()
    found = prepare_single_step(structure)
    assert {why: len(ids) for why, ids in found.removed_variants.items()} == {"only one allele": 20}
    assert found.removed_samples["a call rate below 0.9"].tolist() == ["15"]
    left = [place[k] for k in np.delete(animals, 1).tolist()]
    among = relate(*parents.T)[np.ix_(left, left)]
    made = np.linalg.inv(dense(found.structure, among)) - np.linalg.inv(among)
    difference = np.array(PUBLISHED_DIFFERENCE.split(), float).reshape(8, 8)
    assert made == pytest.approx(difference, abs=6e-4)
    assert "is removed for a call rate below 0.9" in " ".join(found.notes)


def test_a_low_correlation_with_the_pedigree_is_told_and_one_too_low_refused():
    """The published example needs another limit than that of BLUPF90, 0.3."""
    structure, *_ = published()
    found = prepare_single_step(structure)
    assert found.correlation == pytest.approx(0.2023514, abs=1e-6)
    assert found.notes[-1] == (
        "G and A22 have a correlation of 0.202 in the 23 pairs of 8 genotyped animals that are "
        "related by at least 0.02, which is low: genotypes or pedigree may be wrong."
    )
    with pytest.raises(ParameterError, match=r"of 0\.202 .*, needs 0\.3 \(thrStopCorAG\)"):
        prepare_single_step(replace(structure, rules=replace(structure.rules, min_correlation=0.3)))
    for changed in ({"min_correlation": None}, {"min_relationship": 2.0}):
        unchecked = replace(structure, rules=replace(structure.rules, **changed))
        assert prepare_single_step(unchecked).correlation is None


def test_the_correlation_is_that_of_a_sample_if_there_are_many(monkeypatch):
    parents, dosages, numbers, genotyped = herd(0)
    data = parents, dosages[genotyped], numbers, genotyped
    rules = GenomicRules(None, low_correlation=2.0)
    monkeypatch.setattr(preparation, "MAX_CORRELATED", 30)
    found = prepare_single_step(made_of(*data, rules))
    chosen = np.random.default_rng(0).choice(48, 30, replace=False)
    related = relate(*parents.T)[np.ix_(genotyped, genotyped)]
    expected = oracle.correlation(dosages[genotyped], np.arange(160), chosen, related, rules)
    assert found.correlation == pytest.approx(expected, abs=1e-6)
    assert "pairs of 30 of 48 genotyped animals that" in found.notes[-1]


def herd(seed, n=60, m=160):
    """Animals of three generations in random order, most genotyped, some wrongly or poorly."""
    generator = np.random.default_rng(seed)
    parents = np.full((n, 2), -1)
    for k in range(20, n):
        first = 20 * (k // 20 - 1)
        parents[k] = first + generator.choice(20, 2, replace=False)
    parents[[44, 45, 58, 59]] = [[20, 21], [20, 21], [44, 45], [58, 22]]  # 58 is inbred
    p = generator.uniform(0.02, 0.98, m)
    p[:5] = 0
    alleles = (generator.random((n, 2, m)) < p).astype(float)
    for k in range(20, n):
        for side in (0, 1):
            choice = generator.integers(0, 2, m)
            alleles[k, side] = alleles[parents[k, side], choice, np.arange(m)]
    dosages = alleles.sum(axis=1)
    # Three are progeny of others, five markers are noise, and calls are missing.
    wrong = generator.choice(np.arange(46, 58), 3, replace=False)
    dosages[wrong] = (generator.random((3, 2, m)) < p).sum(axis=1)
    dosages[:, 5:10] = generator.permuted(dosages[:, 5:10], axis=0)
    is_poor = (generator.random((n, 1)) < 0.1) | (generator.random(m) < 0.1)
    dosages[generator.random((n, m)) < np.where(is_poor, 0.15, 0.02)] = np.nan
    numbers = generator.permutation(n)
    genotyped = np.sort(generator.choice(n, n - 12, replace=False))
    return parents, dosages, numbers, genotyped


def made_of(parents, dosages, numbers, genotyped, rules):
    """A structure whose levels are the numbers of the animals."""
    pedigree = Pedigree(numbers.astype(str), *parents.T)
    genotypes = genotypes_of_dosages(dosages, numbers[genotyped].astype(str))
    return SingleStep(pedigree, genotypes, levels=numbers, rules=rules)


def expected(parents, dosages, numbers, genotyped, rules):
    """What is kept and used, and G, by the slow way."""
    rows = np.full(len(parents) + 1, -1)
    rows[genotyped] = np.arange(len(genotyped))
    kept, used = oracle.control(
        dosages, rows[parents[genotyped]], numbers[genotyped], rules.quality
    )
    related = relate(*parents.T)[np.ix_(genotyped, genotyped)]
    return kept, used, related, oracle.tuned(dosages, kept, used, related, rules)


QUALITY = QualityRules(min_pairs=20, max_conflicts=0.03, max_variant_conflicts=0.08)
RULES = {
    "as BLUPF90": GenomicRules(),
    "few pairs": GenomicRules(QUALITY),
    "stricter": GenomicRules(
        replace(QUALITY, min_maf=0.1, max_hwe_difference=0.1, min_call_rate=0.95), (0.8, 0.3)
    ),
    "constant": GenomicRules(
        replace(QUALITY, min_maf=0.0, min_call_rate=0.5, parentage="report"), targets="unrelated"
    ),
    "line": GenomicRules(
        replace(QUALITY, min_maf=0.0, removes_constant=False, parentage="ignore"),
        targets=None,
        line=(0.1, 0.9),
    ),
    "scaled": GenomicRules(QUALITY, scales=(1.2, 0.7)),
    "without A": GenomicRules(QUALITY, scales=(0.9, 0.0)),
}


@pytest.mark.parametrize("name", RULES)
def test_what_is_removed_and_how_g_is_tuned(name):
    rules = RULES[name]
    sizes = []
    for seed in range(3):
        parents, dosages, numbers, genotyped = herd(seed)
        data = parents, dosages[genotyped], numbers, genotyped
        structure = made_of(*data, rules)
        kept, used, related, matrix = expected(*data, rules)
        found = prepare_single_step(structure)
        made = found.structure
        assert made.genotypes.variants.ids.tolist() == [f"m{k}" for k in kept]
        assert made.genotypes.samples.ids.tolist() == numbers[genotyped][used].astype(str).tolist()
        matrix = matrix / rules.scales[0]
        assert dense(made, related[np.ix_(used, used)]) == pytest.approx(matrix, abs=1e-10)
        gone = np.concatenate([np.zeros(0, np.str_), *found.removed_variants.values()])
        assert sorted(gone) == sorted({f"m{k}" for k in range(160)} - {f"m{k}" for k in kept})
        assert sum(map(len, found.removed_samples.values())) == len(genotyped) - len(used)
        of_pairs = oracle.correlation(dosages[genotyped], kept, used, related, rules)
        assert found.correlation == pytest.approx(of_pairs, abs=1e-6)
        sizes.append((len(kept), len(used)))
    assert len(set(sizes)) > 1
    assert min(sizes)[0] < 160


@pytest.mark.parametrize("form", ["ssSNPBLUP", "ssGTABLUP"])
@pytest.mark.parametrize(
    ("name", "has_inbreeding"),
    [
        ("as BLUPF90", False), ("as BLUPF90", True), ("constant", False), ("scaled", False),
        ("without A", False),
    ],
)  # fmt: skip
def test_a_model_is_solved_with_the_tuned_matrix(form, name, has_inbreeding):
    """As by dense equations with the inverse of H, which has an inbred parent."""
    rules = RULES[name]
    parents, dosages, numbers, genotyped = herd(1)
    data = parents, dosages[genotyped], numbers, genotyped
    structure = replace(made_of(*data, rules), form=form, has_inbreeding=has_inbreeding)
    structure = replace(structure, has_ancestry=name != "without A")
    _, used, related, matrix = expected(*data, rules)
    among, n = related[np.ix_(used, used)], len(numbers)
    inverse = np.linalg.inv(relate(*parents.T))
    if not has_inbreeding:
        inverse = np.zeros((n, n))
        for k, pair in enumerate(parents):
            row = np.zeros(n)
            row[pair[pair >= 0]] = -0.5
            row[k] = 1
            inverse += np.outer(row, row) / (0.5 + (pair < 0).sum() / 4)
    there = genotyped[used]
    inverse *= structure.has_ancestry
    tau, omega = rules.scales
    inverse[np.ix_(there, there)] += tau * np.linalg.inv(matrix) - omega * np.linalg.inv(among)
    generator = np.random.default_rng(3)
    animals = np.arange(n) if structure.has_ancestry else there
    own, y = generator.choice(animals, 80), generator.normal(size=(80, 2))
    genetic, residual = np.array([[0.7, 0.2], [0.2, 0.5]]), np.array([[2.0, 0.3], [0.3, 1.0]])
    design = np.column_stack([np.ones(80), own[:, None] == np.arange(n)])
    weighted = np.kron(design.T, np.linalg.inv(residual))  # traits within levels
    left = weighted @ np.kron(design, np.eye(2))
    left[2:, 2:] += np.kron(inverse, np.linalg.inv(genetic))
    has = left.any(axis=1)
    inverse = np.full(left.shape, np.nan)
    inverse[np.ix_(has, has)] = np.linalg.inv(left[np.ix_(has, has)])
    solution = np.nan_to_num(inverse) @ weighted @ y.ravel()
    effects = (
        ModelEffect(np.zeros((80, 2), np.int64), 1),
        ModelEffect(np.column_stack([numbers[own], numbers[own]]), n),
    )
    random = RandomEffects((1,), genetic, structure)
    model = MixedModel(y, effects, (random,), residual)
    found = solve_mixed_model(model, standard_errors=True, tolerance=1e-24)
    assert found.is_converged
    order = np.append(0, 1 + numbers)
    told = [each.reshape(-1, 2)[order] for each in (found.values, found.standard_errors)]
    assert told[0].ravel() == pytest.approx(solution, abs=1e-7)
    assert told[1].ravel() == pytest.approx(np.sqrt(np.diag(inverse)), abs=1e-7, nan_ok=True)


def family(conflicting, n_progeny=2):
    """A line of animals 0, 1, 2, ..., each the sire of the next, with conflicts at some links."""
    n = n_progeny + 1
    generator = np.random.default_rng(5)
    dosages = np.ones((n, 40))
    dosages[:, 20:] = generator.choice([1.0, 2.0], (n, 20))
    for k in conflicting:
        dosages[k : k + 2, 4 * k : 4 * k + 4] = [[0], [2]]
    return dosages


def test_a_pair_counts_no_more_when_its_parent_is_removed():
    """Of 0 - 1 - 2 - 3 with conflicts of all, 1 goes, and then 3."""
    genotypes = genotypes_of_dosages(family([0, 1, 2], 3), list("abcd"))
    pedigree = Pedigree(np.array(list("abcd")), np.array([-1, 0, 1, 2]), np.full(4, -1))
    found = control_quality(genotypes, pedigree, QualityRules(min_maf=0.0))
    assert found.is_used.tolist() == [True, False, True, False]
    with pytest.raises(ParameterError, match="animal b has conflicts with a parent and with prog"):
        control_quality(
            genotypes, pedigree, QualityRules(min_maf=0.0), order=np.array([3, 2, 1, 0])
        )
    rules = QualityRules(min_maf=0.0, parentage="report")
    found = control_quality(genotypes, pedigree, rules)
    assert found.is_used.all()
    assert "3 pairs of parent and progeny have conflicts at more than 1 %" in found.notes[-1]


def test_a_parent_of_many_conflicts_is_named():
    dosages = np.ones((4, 30))
    dosages[0, :5], dosages[1:3, :5], dosages[3, 6] = 0, 2, 2
    genotypes = genotypes_of_dosages(dosages, list("abcd"))
    pedigree = Pedigree(np.array(list("abcd")), np.array([-1, 0, 0, 0]), np.full(4, -1))
    found = control_quality(genotypes, pedigree, QualityRules(min_maf=0.0))
    assert found.is_used.tolist() == [True, False, False, True]
    assert (
        "1 animal has conflicts with more than one of their progeny, such as a" in found.notes[-1]
    )


@pytest.mark.parametrize(
    ("dosages", "rules", "sentence"),
    [
        (
            np.ones((3, 4)),
            GenomicRules(QualityRules(min_maf=0.6)),
            "leaves 3 animals and 0 markers",
        ),
        (np.full((3, 4), np.nan), GenomicRules(None), "no variant differs"),
        (np.ones((1, 4)), GenomicRules(None), "one animal is genotyped"),
        (np.eye(3), GenomicRules(None, targets=None, line=(-9.0, 1.0)), "needs more than"),
    ],
)
def test_what_cannot_be_tuned_is_said(dosages, rules, sentence):
    ids = np.arange(len(dosages)).astype(str)
    nobody = np.full(len(ids), -1)
    structure = SingleStep(
        Pedigree(ids, nobody, nobody), genotypes_of_dosages(dosages, ids), rules=rules
    )
    levels = np.arange(len(ids))[:, None]
    random = RandomEffects((0,), np.eye(1), structure)
    model = MixedModel(
        np.ones((len(ids), 1)), (ModelEffect(levels, len(ids)),), (random,), np.eye(1)
    )
    with pytest.raises(ParameterError, match=sentence):
        solve_mixed_model(model)


def test_equations_that_are_not_positive_definite_have_no_standard_errors():
    parents, dosages, numbers, genotyped = herd(2)
    rules = GenomicRules(None, scales=(0.5, 1.5))
    structure = made_of(parents, dosages[genotyped], numbers, genotyped, rules)
    random = RandomEffects((0,), np.eye(1), structure)
    effect = ModelEffect(np.arange(60)[:, None], 60)
    model = MixedModel(np.ones((60, 1)), (effect,), (random,), np.eye(1))
    with pytest.raises(ParameterError, match="are not positive definite, so solutions have no"):
        solve_mixed_model(model, standard_errors=True, max_iterations=2)
