"""Which covariates say something new, against ranks of matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from genoviz import ParameterError
from genoviz.analyses.genotypes.covariates import (
    check_unexplained,
    covariate_columns,
    describe_left_out,
    independent_columns,
)

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
