"""Variance components against a dense likelihood that is maximised without derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import (
    correlate,
    fine_map,
    iter_reml,
    reml,
    reml_of_relationships,
)
from genoviz.analyses.genotypes.variances import estimate, lanczos
from genoviz.analyses.genotypes.variances.covariances import DenseCovariance, ProbedCovariance
from genoviz.analyses.genotypes.variances.lanczos import iter_reml_by_lanczos
from genoviz.analyses.genotypes.variances.reml import iter_reml_of
from genoviz.errors import ParameterError
from tests.genotype_sets import draw_genotypes, draw_trait
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of

N, M = 70, 120
GENOTYPES = draw_genotypes(N, M, 1, missing_rate=0.02)
AGE = np.random.default_rng(2).standard_normal(N)
PHENOTYPE = draw_trait(GENOTYPES, 3)[0] + AGE
PHENOTYPE[::10] = np.nan
USED = np.flatnonzero(~np.isnan(PHENOTYPE))
DESIGN = np.column_stack([np.ones(N), AGE])[USED]
SETS = np.where(np.arange(M) % 3 == 0, "third", "rest")


def relationships(columns=slice(None)):
    z, scale = mixed_models.centred(dosages_of(GENOTYPES.packed, N)[:, columns])
    return z @ z.T / scale


def among(matrix):
    return matrix[np.ix_(USED, USED)]


def share_error(variances, information):
    """Return the standard error of the sum of shares, by differences of the sum itself."""
    spread = np.linalg.inv(information)
    slopes = []
    for k in range(len(variances)):
        step = np.zeros(len(variances))
        step[k] = 1e-6
        ends = [1 - (variances + s)[-1] / (variances + s).sum() for s in (step, -step)]
        slopes.append((ends[0] - ends[1]) / 2e-6)
    return np.sqrt(np.array(slopes) @ spread @ slopes)


@pytest.mark.parametrize("sets", [None, SETS], ids=["one", "two"])
def test_reml_is_the_maximum_of_the_dense_likelihood(sets, backend):
    found = reml(
        GENOTYPES, PHENOTYPE, covariates=AGE, variant_sets=sets, tolerance=1e-8, backend=backend
    )
    groups = [slice(None)] if sets is None else [sets == name for name in ("rest", "third")]
    dense = [among(relationships(columns)) for columns in groups]
    variances, information = mixed_models.reml(PHENOTYPE[USED], DESIGN, dense)
    assert found.is_converged
    assert found.names == (("genotypes",) if sets is None else ("rest", "third")) + ("residual",)
    assert found.trace_error == 0
    assert found.heritability == pytest.approx(1 - variances[-1] / variances.sum(), abs=1e-4)
    np.testing.assert_allclose(found.variances, variances, rtol=1e-3)
    errors = np.sqrt(np.diag(np.linalg.inv(information)))
    np.testing.assert_allclose(found.standard_errors, errors, rtol=0.01)
    assert found.heritability_error == pytest.approx(share_error(variances, information), rel=0.01)


def test_the_likelihood_is_the_dense_one_but_for_a_constant():
    snapshots = list(iter_reml(GENOTYPES, PHENOTYPE, covariates=AGE, backend="cpu"))
    known = [each for each in snapshots if not np.isnan(each.heritability)]
    assert {each.iteration for each in snapshots[: -len(known)]} == {0}
    assert known[0].iteration == 0
    assert [each.iteration for each in known] == list(range(len(known)))
    expected = [
        mixed_models.restricted_likelihood(
            each.variances, PHENOTYPE[USED], DESIGN, [among(relationships())]
        )
        for each in known
    ]
    found = [each.log_likelihood for each in known]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=1e-8)
    assert (np.diff(found) > -1e-8).all()


def test_moments_are_those_of_haseman_and_elston():
    snapshot = reml(GENOTYPES, PHENOTYPE, covariates=AGE, backend="cpu")
    m = np.eye(len(USED)) - DESIGN @ np.linalg.pinv(DESIGN)
    k, y = m @ among(relationships()) @ m, m @ PHENOTYPE[USED]
    # The products of all pairs of phenotypes, regressed on what they are expected to be.
    columns = np.column_stack([k.ravel(), m.ravel()])
    moments = np.linalg.lstsq(columns, np.outer(y, y).ravel())[0]
    assert snapshot.moment_heritability == pytest.approx(moments[0] / moments.sum(), abs=1e-9)
    v = moments[0] * k + moments[1] * m
    spread = 2 * np.array([[np.trace(a @ v @ b @ v) for b in (k, m)] for a in (k, m)])
    inverse = np.linalg.inv(columns.T @ columns)
    covariance = inverse @ spread @ inverse
    slopes = np.array([moments[1], -moments[0]]) / moments.sum() ** 2
    assert snapshot.moment_error == pytest.approx(np.sqrt(slopes @ covariance @ slopes), rel=1e-6)


@pytest.mark.parametrize("sets", [None, SETS], ids=["one", "two"])
def test_random_traces_come_near_the_exact_ones(sets, backend):
    options = {"covariates": AGE, "variant_sets": sets, "backend": backend}
    exact = reml(GENOTYPES, PHENOTYPE, **options)
    found = reml(GENOTYPES, PHENOTYPE, traces="random", n_probes=100, seed=5, **options)
    assert found.is_converged
    assert 0 < found.trace_error < 0.15 * exact.heritability_error
    assert abs(found.heritability - exact.heritability) < 4 * found.trace_error
    assert found.heritability_error == pytest.approx(exact.heritability_error, rel=0.05)
    assert found.moment_heritability == pytest.approx(exact.moment_heritability, abs=0.1)
    again = reml(GENOTYPES, PHENOTYPE, traces="random", n_probes=100, seed=5, **options)
    assert again.heritability == found.heritability


def probe_whole_basis(relationships):
    """Return covariances from products and from factors, with exact traces in both."""
    basis = np.linalg.qr(DESIGN)[0]
    probed = ProbedCovariance([relationships.__matmul__], basis, n_probes=2, seed=0)
    whole = DenseCovariance([relationships], basis)
    probed.probes, probed.weight = whole.probes, whole.weight
    return probed, whole


def test_traces_over_a_whole_basis_are_exact():
    """Products, conjugate gradients and Lanczos iterations are right: nothing is random then."""
    probed, whole = probe_whole_basis(among(relationships()))
    options = {"names": ("a",), "tolerance": 1e-8, "max_iterations": 50}
    *_, by_products = iter_reml_of(probed, PHENOTYPE[USED], **options)
    *_, by_factors = iter_reml_of(whole, PHENOTYPE[USED], **options)
    *_, by_lanczos = iter_reml_by_lanczos(probed, PHENOTYPE[USED], **options)
    assert by_lanczos.is_converged
    for found, rtol in ((by_products, 1e-4), (by_lanczos, 1e-5)):
        np.testing.assert_allclose(found.variances, by_factors.variances, rtol=rtol)
        np.testing.assert_allclose(found.standard_errors, by_factors.standard_errors, rtol=rtol)
        assert found.moment_heritability == pytest.approx(by_factors.moment_heritability, rel=rtol)
        assert found.moment_error == pytest.approx(by_factors.moment_error, rel=rtol)


def test_a_given_residual_variance_stays():
    related = among(relationships())
    probed, whole = probe_whole_basis(related)
    options = {"names": ("a",), "tolerance": 1e-9, "max_iterations": 50, "residual": 0.3}
    *_, by_factors = iter_reml_of(whole, PHENOTYPE[USED], **options)
    *_, by_lanczos = iter_reml_by_lanczos(probed, PHENOTYPE[USED], **options)
    p = mixed_models.projection(mixed_models.covariance_of(by_factors.variances, [related]), DESIGN)
    way = related @ p @ PHENOTYPE[USED]
    assert way @ p @ PHENOTYPE[USED] == pytest.approx(np.trace(p @ related), rel=1e-6)
    for found in (by_factors, by_lanczos):
        assert found.variances[1] == 0.3
        assert found.variances[0] == pytest.approx(by_factors.variances[0], rel=1e-5)
        assert found.standard_errors[0] == pytest.approx(np.sqrt(2 / (way @ p @ way)), rel=1e-5)
        assert np.isnan(found.standard_errors[1])


def test_lanczos_iterations_end_where_relationships_have_few_dimensions():
    z = np.random.default_rng(1).standard_normal((len(USED), 3))
    probed, whole = probe_whole_basis(z @ z.T)
    y = z @ [1, -1, 2] + np.random.default_rng(2).standard_normal(len(USED))
    options = {"names": ("a",), "tolerance": 1e-8, "max_iterations": 50}
    *_, found = iter_reml_by_lanczos(probed, y, **options)
    *_, expected = iter_reml_of(whole, y, **options)
    assert found.is_converged
    np.testing.assert_allclose(found.variances, expected.variances, rtol=1e-6)
    np.testing.assert_allclose(found.standard_errors, expected.standard_errors, rtol=1e-6)


def test_too_few_products_are_told(monkeypatch):
    monkeypatch.setattr(lanczos, "MAX_SOLVING", 6)
    found = reml(GENOTYPES, PHENOTYPE, traces="random", n_probes=5, backend="cpu")
    assert not found.is_converged
    assert found.sentence.endswith("not converged")


def test_relationships_from_elsewhere_give_the_same_as_genotypes():
    of_genotypes = reml(GENOTYPES, PHENOTYPE, covariates=AGE, backend="cpu")
    found = reml_of_relationships({"G": relationships()}, PHENOTYPE, covariates=AGE)
    np.testing.assert_allclose(found.variances, of_genotypes.variances, rtol=1e-9)
    assert found.names == ("G", "residual")
    by_products = reml_of_relationships(
        {"G": relationships()}, PHENOTYPE, covariates=AGE, traces="random", n_probes=200
    )
    assert abs(by_products.heritability - found.heritability) < 4 * by_products.trace_error


@pytest.mark.parametrize("sets", [None, SETS], ids=["one", "two"])
def test_repeated_records_have_the_dense_likelihood_of_their_rows(sets):
    rng = np.random.default_rng(6)
    owners = rng.integers(0, N, 110)
    common, _ = draw_trait(GENOTYPES, 4, heritability=0.6)
    values = common[owners] + rng.standard_normal(110) + AGE[owners]
    values[:5] = np.nan
    options = {"covariates": AGE[owners], "variant_sets": sets, "samples": owners}
    found = reml(GENOTYPES, values, tolerance=1e-8, backend="cpu", **options)
    rows = owners[5:]
    groups = [slice(None)] if sets is None else [sets == name for name in ("rest", "third")]
    dense = [relationships(columns)[np.ix_(rows, rows)] for columns in groups]
    dense.append((rows[:, None] == rows).astype(float))
    design = np.column_stack([np.ones(105), AGE[rows]])
    variances, information = mixed_models.reml(values[5:], design, dense)
    assert found.names[-2:] == ("permanent", "residual")
    np.testing.assert_allclose(found.variances, variances, rtol=2e-3)
    total = variances.sum()
    assert found.heritability == pytest.approx(variances[:-2].sum() / total, abs=1e-4)
    assert found.repeatability == pytest.approx(1 - variances[-1] / total, abs=1e-4)
    assert found.repeatability_error == pytest.approx(share_error(variances, information), rel=0.01)
    slopes = np.full(len(variances), -variances[:-2].sum() / total**2)
    slopes[:-2] += 1 / total
    error = np.sqrt(slopes @ np.linalg.inv(information) @ slopes)
    assert found.heritability_error == pytest.approx(error, rel=0.01)
    assert found.n_samples == 105
    if sets is None:
        rough = reml(GENOTYPES, values, traces="random", n_probes=100, backend="cpu", **options)
        assert abs(rough.heritability - found.heritability) < 4 * rough.trace_error
        assert rough.repeatability == pytest.approx(found.repeatability, abs=0.1)
        columns = rng.standard_normal((105, 2))
        matrix, places = relationships(), rows
        products = estimate._spread_products([matrix.__matmul__], places)
        for product, each in zip(products, dense, strict=True):
            np.testing.assert_allclose(product(columns), each @ columns, atol=1e-10)
        both = reml_of_relationships(
            {"G": relationships()}, values, covariates=AGE[owners], samples=owners, tolerance=1e-8
        )
        np.testing.assert_allclose(both.variances, found.variances, rtol=1e-6)


def test_moments_of_repeated_records_tell_what_is_heritable():
    owners = np.repeat(np.arange(N), 2)
    values = PHENOTYPE[owners] + np.random.default_rng(7).standard_normal(2 * N)
    snapshot = reml(GENOTYPES, values, samples=owners, backend="cpu")
    rows = owners[~np.isnan(values)]
    n = len(rows)
    m, y = np.eye(n) - 1 / n, values[~np.isnan(values)]
    same = (rows[:, None] == rows).astype(float)
    parts = [m @ k @ m for k in (relationships()[np.ix_(rows, rows)], same, np.eye(n))]
    columns = np.column_stack([part.ravel() for part in parts])
    moments = np.linalg.lstsq(columns, np.outer(m @ y, m @ y).ravel())[0]
    assert snapshot.moment_heritability == pytest.approx(moments[0] / moments.sum(), abs=1e-8)
    v = sum(a * b for a, b in zip(moments, parts, strict=True))
    spread = 2 * np.array([[np.trace(a @ v @ b @ v) for b in parts] for a in parts])
    inverse = np.linalg.inv(columns.T @ columns)
    slopes = np.array([1 - moments[0] / moments.sum(), *[-moments[0] / moments.sum()] * 2])
    slopes /= moments.sum()
    error = np.sqrt(slopes @ inverse @ spread @ inverse @ slopes)
    assert snapshot.moment_error == pytest.approx(error, rel=1e-6)


def test_noise_has_the_variances_of_the_highest_likelihood():
    """Where moments are negative, a step that is cut off at the bound may lower the likelihood."""
    genotypes, rng = draw_genotypes(50, 100, seed=3), np.random.default_rng(3)
    dosages = genotypes.dosages(slice(None)).astype(float)
    centred = dosages - dosages.mean(0)
    frequencies = dosages.mean(0) / 2
    matrix = centred @ centred.T / (2 * (frequencies * (1 - frequencies)).sum())
    shares, n_at_bound = np.linspace(0, 0.96, 9), 0
    for _ in range(10):
        y = rng.normal(size=50)
        found = reml(genotypes, y, backend="cpu")
        assert found.is_converged

        def likelihood(variances, y=y):
            return mixed_models.restricted_likelihood(variances, y, np.ones((50, 1)), [matrix])

        total = found.variances.sum()
        grid = [
            likelihood(np.array([share, 1 - share]) * total * scale)
            for share in shares
            for scale in (0.8, 0.9, 1, 1.1)
        ]
        assert likelihood(found.variances) >= max(grid) - 1e-3
        n_at_bound += found.heritability < 1e-5
    assert n_at_bound > 2


def test_a_trait_without_heritability_stays_at_the_bound():
    rng = np.random.default_rng(5)
    traits = [rng.standard_normal(N) for _ in range(4)]
    found = [reml(GENOTYPES, trait, backend="cpu") for trait in traits]
    assert all(each.is_converged for each in found)
    at_bound = [each for each in found if each.heritability < 1e-5]
    assert at_bound
    for each in at_bound:
        assert each.is_bounded.tolist() == [True, False]
        assert np.isnan(
            [each.heritability_error, each.share_errors[0], each.standard_errors[0]]
        ).all()
        # As the variance of independent values.
        error = each.variances[1] * np.sqrt(2 / (each.n_samples - 1))
        assert each.standard_errors[1] == pytest.approx(error, rel=0.01)
        assert "h2 0.0000 (standard error not known), by" in each.sentence
        assert each.sentence.endswith("iterations, genotypes at the bound of 0")


def relationships_of(n, m, rng):
    columns = rng.normal(size=(n, m))
    columns -= columns.mean(0)
    return columns, columns @ columns.T / m


@pytest.mark.parametrize("traces", ["exact", "random"])
@pytest.mark.parametrize(("n", "m"), [(60, 5), (200, 20)])
def test_a_trait_that_few_variants_explain_is_at_the_bound(n, m, traces):
    rng = np.random.default_rng(n)
    columns, relationships = relationships_of(n, m, rng)
    effects = rng.normal(size=m)
    found = reml_of_relationships({"a": relationships}, columns @ effects, traces=traces)
    assert (found.is_converged, found.is_bounded.tolist()) == (True, [False, True])
    assert found.heritability == pytest.approx(1, abs=1e-5)
    assert np.isnan(
        [found.heritability_error, found.share_errors[0], found.standard_errors[1]]
    ).all()
    # The effects are known, m draws from a normal distribution.
    rel = 0.01 if traces == "exact" else 0.15
    assert found.variances[0] == pytest.approx(m * (effects**2).mean(), rel=rel)
    assert found.standard_errors[0] == pytest.approx(found.variances[0] * np.sqrt(2 / m), rel=rel)
    assert "h2 1.0000 (standard error not known)" in found.sentence
    assert found.sentence.endswith("iterations, residual at the bound of 0")


def test_a_trait_without_any_trace_of_the_variants_goes_to_the_bound():
    """There is no information on the variance then, and the start was taken for the estimate."""
    rng = np.random.default_rng(1)
    columns, relationships = relationships_of(60, 20, rng)
    y = rng.normal(size=60)
    y -= columns @ np.linalg.lstsq(columns, y)[0]
    found = reml_of_relationships({"a": relationships}, y)
    assert (found.is_converged, found.is_bounded.tolist()) == (True, [True, False])


def test_errors_of_other_components_are_given_the_one_at_its_bound():
    rng = np.random.default_rng(4)
    columns, first = relationships_of(100, 300, rng)
    second = relationships_of(100, 300, rng)[1]
    y = columns @ rng.normal(size=300) / 15 + rng.normal(size=100)
    found = reml_of_relationships({"a": first, "b": second}, y, tolerance=1e-9)
    assert found.is_bounded.tolist() == [False, True, False]
    alone = reml_of_relationships({"a": first}, y, tolerance=1e-9)
    rtol = 1e-3
    np.testing.assert_allclose(found.variances[::2], alone.variances, rtol=rtol)
    np.testing.assert_allclose(found.standard_errors[::2], alone.standard_errors, rtol=rtol)
    assert found.heritability_error == pytest.approx(alone.heritability_error, rel=rtol)
    assert np.isnan([found.standard_errors[1], found.share_errors[1]]).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"traces": "some"}, "traces is 'some', needs one of auto, exact, random"),
        ({"n_probes": 1}, "n_probes is 1, needs at least 2"),
        ({"tolerance": 0}, "tolerance is 0, needs more than 0"),
        ({"max_iterations": 0}, "max_iterations is 0, needs at least 1"),
        ({"samples": np.arange(N)}, "no sample has two records; without these permanent effects"),
        ({"samples": np.arange(N) + 1}, "record 69 is of number 70 of the samples, needs one from"),
        ({"variant_sets": np.full(3, "a")}, r"variant_sets has shape \(3,\), needs \(120,\)"),
        ({"variant_sets": np.full(M, "")}, "no variant of the genotypes is in a set"),
        ({"phenotype": np.full(N, 1.0)}, "the phenotype is 1 in all 70 samples"),
        (
            {"covariates": 2 * PHENOTYPE[:, None] + 1},
            "the covariates explain the phenotype entirel",
        ),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    arguments = {"genotypes": GENOTYPES, "phenotype": PHENOTYPE, "backend": "cpu"}
    with pytest.raises(ParameterError, match=message):
        reml(**{**arguments, **changes})


def test_estimates_of_few_samples_have_a_note():
    few = np.where(np.arange(N) < 40, PHENOTYPE, np.nan)
    assert "36 samples are too few" in reml(GENOTYPES, few, backend="cpu").notes[-1]
    together = correlate(GENOTYPES, few[:, None], backend="cpu")
    assert together.notes == reml(GENOTYPES, few, backend="cpu").notes
    assert "36 samples are too few" in fine_map(GENOTYPES, few, backend="cpu").notes[-1]
    assert reml(GENOTYPES, PHENOTYPE, backend="cpu").notes == ()


def test_relationships_that_do_not_fit_are_refused():
    with pytest.raises(ParameterError, match="there are no relationships"):
        reml_of_relationships({}, PHENOTYPE)
    with pytest.raises(ParameterError, match=r"'b' have shape \(2, 2\), need \(70, 70\)"):
        reml_of_relationships({"a": relationships(), "b": np.eye(2)}, PHENOTYPE)
    holed = relationships()
    holed[USED[1], USED[0]] = holed[USED[0], USED[1]] = np.nan
    with pytest.raises(ParameterError, match="relationships 'a' have values that are not numbers"):
        reml_of_relationships({"a": holed}, PHENOTYPE)
    with pytest.raises(ParameterError, match="covariance of the trait is not positive definite"):
        reml_of_relationships({"a": -100 * relationships()}, PHENOTYPE)


@pytest.mark.parametrize("traces", ["exact", "random"])
def test_variances_that_cannot_be_told_apart_are_refused(traces):
    given = {"a": relationships(), "b": np.diag(np.arange(1.0, N + 1))}
    for name, other, who in (
        ("c", 2 * given["a"], "a, c"),
        ("c", given["a"] + 3 * given["b"], "a, b, c"),
        ("c", np.eye(N), "c, residual"),
    ):
        with pytest.raises(ParameterError, match=f"the variances of {who} cannot be told apart"):
            reml_of_relationships({**given, name: other}, PHENOTYPE, traces=traces, n_probes=8)
