from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import (
    ParameterError,
    drop_genotypes,
    inbreeding,
    relationship_inverse,
    simulate_genotypes,
    simulate_pedigree,
    single_step,
)
from genoviz.analyses.genotypes.prediction import pedigree_inverse, preconditioners
from genoviz.analyses.genotypes.prediction.pedigree_inverse import GenotypedInverse
from genoviz.backend import load_kernel
from genoviz.model.genotypes.pedigree import Pedigree
from tests.oracles.pedigree import group_shares, metafounder_relationships, relationships


@st.composite
def pedigrees(draw):
    n = draw(st.integers(1, 14))
    parents = [
        [draw(st.integers(-1, i - 1)) for i in range(n)],
        [draw(st.integers(-1, i - 1)) for i in range(n)],
    ]
    sires, dams = np.array(parents, np.int64)
    return Pedigree(np.arange(n).astype(np.str_), sires, dams)


@settings(max_examples=40)
@given(pedigrees())
def test_inbreeding_and_inverse_equal_the_tabular_method(pedigree):
    table = relationships(pedigree.sires, pedigree.dams)
    np.testing.assert_allclose(inbreeding(pedigree), np.diag(table) - 1, atol=1e-14)
    inverse = relationship_inverse(pedigree).toarray()
    np.testing.assert_allclose(inverse @ table, np.eye(len(pedigree)), atol=1e-9)


@settings(max_examples=40)
@given(pedigrees(), st.data())
def test_inverse_with_groups_equals_that_of_equations_with_q(pedigree, data):
    """[I -Q]' A^-1 [I -Q], with A of the animals alone."""
    parents = [
        np.array([p if p >= 0 else data.draw(st.integers(-3, -1)) for p in column.tolist()])
        for column in (pedigree.sires, pedigree.dams)
    ]
    grouped = Pedigree(pedigree.ids, *parents, groups=np.array(["-1", "-2"]))
    shares = group_shares(*parents, 2)
    np.testing.assert_allclose(pedigree_inverse.group_shares(grouped), shares)
    np.testing.assert_array_equal(inbreeding(grouped), inbreeding(pedigree))
    whole = np.hstack([np.eye(len(pedigree)), -shares])
    expected = whole.T @ np.linalg.inv(relationships(*parents)) @ whole
    np.testing.assert_allclose(relationship_inverse(grouped).toarray(), expected, atol=1e-9)


def metafounders(rng, n_groups):
    """Relationships of metafounders, some of which are negative; diagonals are up to 1."""
    half = rng.normal(size=(n_groups, n_groups + 1))
    gamma = half @ half.T
    sizes = np.sqrt(np.diag(gamma) / rng.uniform(0.1, 1, n_groups))
    return gamma / sizes[:, None] / sizes


@settings(max_examples=40)
@given(pedigrees(), st.data())
def test_metafounders_equal_the_tabular_method(pedigree, data):
    n, n_groups = len(pedigree), data.draw(st.integers(1, 3))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    gamma = metafounders(rng, n_groups)
    parents = [
        np.where(column >= 0, column, rng.integers(-1 - n_groups, 0, n))
        for column in (pedigree.sires, pedigree.dams)
    ]
    groups = np.arange(n_groups).astype(np.str_)
    found = Pedigree(pedigree.ids, *parents, groups=groups, gamma=gamma)
    table = metafounder_relationships(*parents, gamma)
    np.testing.assert_allclose(inbreeding(found), np.diag(table)[n_groups:] - 1, atol=1e-13)
    order = np.roll(np.arange(n_groups + n), -n_groups)  # groups are last there
    inverse = relationship_inverse(found).toarray()
    np.testing.assert_allclose(inverse @ table[np.ix_(order, order)], np.eye(len(order)), atol=1e-8)
    genotyped = rng.permutation(n)[: (n + 1) // 2]
    among = table[np.ix_(n_groups + genotyped, n_groups + genotyped)]
    for options in ({}, {"max_inverted": 0}, {"max_inverted": 0, "max_neighbours": 0}):
        product = GenotypedInverse(found, genotyped, **options).multiply(among)
        np.testing.assert_allclose(product, np.eye(len(genotyped)), atol=1e-8)


def test_a_metafounder_of_no_relationship_is_an_unrelated_base():
    """And one of gamma is that base with all relationships shrunk towards it (Legarra et al.)."""
    pedigree = simulate_pedigree(12, 3, seed=5)
    related = pedigree.with_gamma(1e-12)
    assert related.groups.tolist() == ["-1"]
    np.testing.assert_allclose(inbreeding(related), inbreeding(pedigree), atol=1e-11)
    inverse = relationship_inverse(related).toarray()[:-1, :-1]
    np.testing.assert_allclose(inverse, relationship_inverse(pedigree).toarray(), atol=1e-9)
    table = relationships(pedigree.sires, pedigree.dams)
    whole = np.linalg.inv(relationship_inverse(pedigree.with_gamma(0.4)).toarray())
    np.testing.assert_allclose(whole[:-1, :-1], (1 - 0.4 / 2) * table + 0.4, atol=1e-9)
    np.testing.assert_allclose(inbreeding(pedigree.with_gamma(0.4)), np.diag(whole)[:-1] - 1)


@pytest.mark.parametrize(
    ("gamma", "sentence"),
    [
        (
            np.eye(2),
            r"gamma is float64 of shape \(2, 2\), needs float64 of \(1, 1\) for 1 group of",
        ),
        (0.0, "gamma is not positive definite"),
        (np.nan, "gamma is not symmetric"),
        (2.0, "gamma has 2 on its diagonal, needs less than 2"),
    ],
)
def test_what_is_no_gamma(gamma, sentence):
    with pytest.raises(ParameterError, match=sentence):
        simulate_pedigree(3, 1).with_gamma(gamma)


def test_text_book_pedigree():
    """Henderson 1976's example: 3 and 4 are of 1 by 2 and by nobody, 5 of 4 by 3, 6 of 5 by 2."""
    pedigree = Pedigree.from_parents(
        ["1", "2", "3", "4", "5", "6"],
        ["0", "0", "1", "1", "4", "5"],
        ["0", "0", "2", "0", "3", "2"],
    )
    np.testing.assert_allclose(inbreeding(pedigree), [0, 0, 0, 0, 1 / 8, 1 / 8])
    inverse = relationship_inverse(pedigree).toarray()
    np.testing.assert_allclose(
        inverse[:2, :4], [[1.8333, 0.5, -1, -0.6667], [0.5, 2.0333, -1, 0]], atol=1e-4
    )
    assert inverse[5, 5] == pytest.approx(2.1333, abs=1e-4)


def test_nobody_and_deep_inbreeding():
    nobody = Pedigree(np.array([], np.str_), np.empty(0, np.int64), np.empty(0, np.int64))
    assert inbreeding(nobody).shape == (0,)
    assert relationship_inverse(nobody).shape == (0, 0)
    selfed = Pedigree(np.arange(30).astype(np.str_), *[np.arange(30) - 1] * 2)
    np.testing.assert_allclose(inbreeding(selfed), 1 - 0.5 ** np.arange(30.0))


def test_an_inner_solution_that_is_not_reached_is_refused(monkeypatch):
    monkeypatch.setattr(preconditioners, "_INNER_ITERATIONS", 1)
    pedigree = simulate_pedigree(40, 3, seed=2)
    genotyped = np.arange(len(pedigree) - 20, len(pedigree))
    inverse = GenotypedInverse(pedigree, genotyped, max_inverted=0, max_dense=0, max_neighbours=1)
    with pytest.raises(ParameterError, match="genotypes are not solved after 1 iteration;"):
        inverse.multiply(np.ones(20))


@pytest.mark.parametrize(
    "options",
    [
        {},
        *(
            {"max_inverted": 0, "max_dense": dense, "max_neighbours": neighbours}
            for dense in (0, 1_000)
            for neighbours in (-1, 2, 5, 40)
        ),
    ],
)
def test_inverse_among_genotyped_equals_the_dense_one(options):
    pedigree = simulate_pedigree(20, 4, seed=1)
    rng = np.random.default_rng(0)
    genotyped = rng.permutation(len(pedigree))[:45]
    among = relationships(pedigree.sires, pedigree.dams)[np.ix_(genotyped, genotyped)]
    values = rng.standard_normal((45, 3))
    inverse = GenotypedInverse(pedigree, genotyped, **options)
    np.testing.assert_allclose(inverse.multiply(values), np.linalg.solve(among, values), atol=1e-11)
    np.testing.assert_allclose(inverse.multiply(values[:, 0]), inverse.multiply(values)[:, 0])
    assert (inverse.diagonal >= np.diag(np.linalg.inv(among)) - 1e-12).all()


@settings(max_examples=40)
@given(pedigrees(), st.data())
def test_any_animals_may_be_genotyped(pedigree, data):
    numbers = st.integers(0, len(pedigree) - 1)
    genotyped = np.array(data.draw(st.lists(numbers, min_size=1, unique=True)))
    options = {name: data.draw(st.sampled_from([0, 100])) for name in ("max_inverted", "max_dense")}
    options["max_neighbours"] = data.draw(st.integers(-1, 5))
    among = relationships(pedigree.sires, pedigree.dams)[np.ix_(genotyped, genotyped)]
    product = GenotypedInverse(pedigree, genotyped, **options).multiply(among)
    np.testing.assert_allclose(product, np.eye(len(genotyped)), atol=1e-8)


def test_all_may_be_genotyped():
    pedigree = simulate_pedigree(10, 2, seed=2)
    values = np.arange(30.0)
    product = GenotypedInverse(pedigree, np.arange(30)).multiply(values)
    np.testing.assert_allclose(product, relationship_inverse(pedigree) @ values, atol=1e-12)


@pytest.mark.parametrize("generations", [5, 10, 25])
def test_lines_that_are_selfed_for_long_keep_their_digits(generations):
    """Between generations a and b of a selfed line lies the sum of the variances on the way."""
    animals = np.arange(generations)
    pedigree = Pedigree(animals.astype(np.str_), *[animals - 1] * 2)
    genotyped = animals[::4]
    # Values of a line are a walk, of which the inverse covariance is known: differences over steps.
    variances = np.diff(2 - 0.5**genotyped, prepend=0.0)
    walk = np.eye(len(genotyped)) - np.eye(len(genotyped), k=-1)
    expected = walk.T @ np.diag(1 / variances) @ walk
    found = GenotypedInverse(pedigree, genotyped).multiply(np.eye(len(genotyped)))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_inbreeding_of_a_pedigree_is_computed_once(monkeypatch):
    kernel = load_kernel("pedigree_inbreeding", "cpu")
    compute, lengths = kernel.inbreeding, []

    def counted(sires, *others):
        lengths.append(len(sires))
        compute(sires, *others)

    monkeypatch.setattr(kernel, "inbreeding", counted)
    first, second = (simulate_pedigree(12, 3, seed=seed) for seed in (1, 2))
    founder = Pedigree(first.ids[:1], first.sires[:1], first.dams[:1])
    n_founders = int(((first.sires < 0) & (first.dams < 0)).sum())
    genotypes = drop_genotypes(first, simulate_genotypes(n_founders, 40, seed=1), seed=1)
    trait = np.random.default_rng(1).normal(size=len(first))
    single_step(genotypes, first, trait, polygenic_weight=0.2, heritability=0.3)
    assert lengths == [len(first)]
    for pedigree in (first, second, founder, second):
        table = relationships(pedigree.sires, pedigree.dams)
        np.testing.assert_allclose(inbreeding(pedigree), np.diag(table) - 1, atol=1e-14)
    assert lengths == [len(first), len(second), 1]
    with pytest.raises(ValueError, match="read-only"):
        inbreeding(second)[0] = 1
