"""Which covariates say something new, against ranks of matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genoviz import (
    ParameterError,
    associate,
    associate_sets,
    correlate,
    cross_validate,
    gblup,
    mixed_associate,
    reml,
    snp_blup,
)
from genoviz.analyses.genotypes.covariates import (
    check_unexplained,
    covariate_columns,
    describe_left_out,
    deviations,
    independent_columns,
)
from tests.genotype_sets import draw_genotypes

SMALL = st.integers(-3, 3).map(float)


@given(
    st.tuples(st.integers(1, 7), st.integers(0, 6)).flatmap(
        lambda s: arrays(float, s, elements=SMALL)
    )
)
def test_a_column_is_kept_where_it_raises_the_rank(columns):
    kept, basis = independent_columns(columns)
    design = np.column_stack([np.ones(len(columns)), columns])
    ranks = [np.linalg.matrix_rank(design[:, : k + 1]) for k in range(design.shape[1])]
    assert kept == [k for k in range(columns.shape[1]) if ranks[k + 1] > ranks[k]]
    assert basis.shape == (len(columns), len(kept) + 1)
    np.testing.assert_allclose(basis.T @ basis, np.eye(len(kept) + 1), atol=1e-12)
    np.testing.assert_allclose(basis @ (basis.T @ design), design, atol=1e-9)


def test_columns_of_any_scale_that_others_determine_are_found():
    first = np.random.default_rng(3).normal(size=20)
    matrix = np.column_stack([1e9 * first + 1e6, np.ones(20), 3e-9 * first - 2, first**2 * 1e-12])
    assert independent_columns(matrix)[0] == [0, 3]


def test_large_means_take_no_digits():
    rng = np.random.default_rng(4)
    spread = np.round(rng.normal(size=(50, 2)) * 64) / 64
    exact = spread - spread.mean(0)
    found = deviations(spread + np.array([1e12, -3e13]))
    np.testing.assert_allclose(found, exact, atol=1e-14)
    np.testing.assert_array_equal(found[:, 0], deviations(spread[:, 0] + 1e12))
    far = np.append(1e20, spread[:, 0])  # only the first is far from the others
    assert abs(deviations(far).mean()) < 1e4
    np.testing.assert_array_equal(deviations(np.full((1000, 1), 0.1)), 0)
    kept, basis = independent_columns(spread + np.array([1e12, 0]))
    assert kept == [0, 1]
    apart = independent_columns(spread)[1]
    np.testing.assert_allclose(basis @ basis.T, apart @ apart.T, atol=1e-14)
    # What others determine up to rounding is no column of its own.
    assert independent_columns(np.column_stack([spread[:, 0], spread[:, 0] / 3 + 1e12]))[0] == [0]


def test_what_is_left_out_is_said():
    names = ["one", "b", "c", "d", "e", "f"]
    assert describe_left_out([]) == ()
    assert describe_left_out(names[1:2])[0].startswith(
        "Covariate b is left out: it is constant, or"
    )
    assert "Covariates one, b, c, d and 2 more are left out: each is" in describe_left_out(names)[0]


def test_categories_are_indicators_but_for_the_first():
    values = np.array(["z", "x", "", "y", "x"])
    found = covariate_columns("farm", values)
    assert list(found) == ["farm=y", "farm=z"]
    np.testing.assert_array_equal(found["farm=z"], [1, 0, np.nan, 0, 0])
    with pytest.raises(ParameterError, match="farm has 3 categories; a covariate can have 2"):
        covariate_columns("farm", values, max_categories=2)
    numbers = np.array([1.0, np.nan])
    assert covariate_columns("age", numbers)["age"] is numbers
    one = covariate_columns("farm", np.array(["x", "", "x"]))["farm"]
    np.testing.assert_array_equal(one, [1, np.nan, 1])
    assert np.isnan(covariate_columns("farm", np.array(["", ""]))["farm"]).all()


@pytest.mark.parametrize("level", [0.0, 1e9])
def test_a_phenotype_is_explained_up_to_rounding(level):
    generator = np.random.default_rng(5)
    age = generator.normal(size=40) + 50
    _, basis = independent_columns(age[:, None])
    noise = generator.normal(size=40)
    check_unexplained(level + age + noise, basis, "fat")
    check_unexplained(level + 1e-5 * noise + 1e-6 * age, basis, "fat")
    check_unexplained(level + noise, basis[:, :1], "fat")
    with pytest.raises(ParameterError, match="covariates explain fat entirely; leave some out"):
        check_unexplained(level + 3 * age, basis, "fat")


GENOTYPES = draw_genotypes(90, 60, seed=2, missing_rate=0.03)
GENOTYPES = replace(GENOTYPES, variants=replace(
    GENOTYPES.variants, contigs=("1", "2"), contig_ids=np.repeat([0, 1], 30).astype(np.int32)
))  # fmt: skip
SETS = {"a": np.arange(20)}
ANALYSES = {
    "linear": lambda *data, **more: associate(*data, model="linear", **more),
    "dominance": lambda *data, **more: associate(
        *data, model="linear", genetic_model="genotypic", **more
    ),
    "mixed": lambda *data, **more: mixed_associate(*data, tests="exact", **more),
    "calibrated": lambda *data, **more: mixed_associate(*data, tests="calibrated", **more),
    "sets": lambda *data, **more: associate_sets(*data, SETS, model="linear", max_maf=0.5, **more),
    "REML": reml,
    "REML with random traces": lambda *data, **more: reml(*data, traces="random", **more),
    "covariances": lambda genotypes, y, **more: correlate(
        genotypes, np.column_stack([y, 2 * y[::-1]]), **more
    ),
    "GBLUP": gblup,
    "SNP-BLUP": snp_blup,
    "cross-validation": cross_validate,
}
RESULTS = (
    *("beta", "standard_error", "statistic", "skat_log10_p", "variances", "standard_errors"),
    *("genetic", "breeding_values", "effects", "accuracy"),
)


@pytest.mark.parametrize("name", ANALYSES)
def test_large_means_change_no_analysis(name):
    """The numbers are multiples of 1/64, which the sums with 1e12 hold exactly."""
    analyse, rng = ANALYSES[name], np.random.default_rng(5)
    more = {} if name == "sets" else {"backend": "cpu"}
    y, age = np.round(rng.normal(size=(2, 90)) * 64) / 64
    y = np.round((y + 0.5 * GENOTYPES.dosages(slice(0, 30)).sum(1)) * 64) / 64
    y[4] = np.nan
    found = analyse(GENOTYPES, y + 1e12, covariates=age[:, None] - 1e12, **more)
    expected = analyse(GENOTYPES, y, covariates=age[:, None], **more)
    names = [each for each in RESULTS if getattr(expected, each, None) is not None]
    assert names
    for each in names:
        ours, theirs = getattr(found, each), getattr(expected, each)
        # Predictions of values of 1e12 have an error of 1e-4.
        rtol = 1e-3 if name == "cross-validation" else 1e-5
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-7)
