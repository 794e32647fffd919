"""Covariances of traits against a dense likelihood that SciPy maximises by differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from genoviz import (
    correlate,
    correlate_of_relationships,
    iter_correlate,
    relationship_matrix,
    reml,
    simulate_genotypes,
)
from genoviz.cli.main import main
from genoviz.errors import ParameterError
from tests.genotype_sets import draw_genotypes
from tests.oracles import mixed_models
from tests.oracles.genotypes import dosages_of

N, M = 60, 150
GENOTYPES = draw_genotypes(N, M, 1)
Z, SCALE = mixed_models.centred(dosages_of(GENOTYPES.packed, N))
KINSHIP = Z @ Z.T / SCALE
GENETIC, RESIDUAL = np.array([[0.6, 0.2], [0.2, 0.5]]), np.array([[0.4, -0.1], [-0.1, 0.5]])


def simulate(seed, n_traits=2):
    """Values of two traits, in units of their own, and an age that both depend on."""
    generator = np.random.default_rng(seed)
    half = np.linalg.cholesky(GENETIC[:n_traits, :n_traits])
    effects = generator.normal(size=(M, n_traits)) @ half.T / np.sqrt(SCALE)
    noise = generator.multivariate_normal(np.zeros(2), RESIDUAL, N)[:, :n_traits]
    age = generator.normal(size=N)
    return (Z @ effects + noise + age[:, None]) * [3.0, 0.2][:n_traits] + 5, age


def dense(covariances, values, age):
    """V, the design and the values of all that were measured, by the definition."""
    n_traits = values.shape[1]
    seen = ~np.isnan(values).ravel()
    genetic, residual = covariances
    v = np.kron(KINSHIP, genetic) + np.kron(np.eye(N), residual)
    design = np.kron(np.column_stack([np.ones(N), age]), np.eye(n_traits))
    return v[np.ix_(seen, seen)], design[seen], values.ravel()[seen]


def likelihood(covariances, values, age):
    v, design, y = dense(covariances, values, age)
    half = np.linalg.cholesky(v)  # which takes a tenth of the time of an inverse and a projection
    x, z = np.hsplit(np.linalg.solve(half, np.column_stack([design, y])), [-1])
    rest = z - x @ np.linalg.lstsq(x, z, rcond=None)[0]
    inner = np.linalg.slogdet(x.T @ x)[1]
    return -(2 * np.log(np.diag(half)).sum() + inner + (rest**2).sum()) / 2


def factors(parameters, n_traits):
    """Covariances of the numbers in two Cholesky factors."""
    lower = np.zeros((2, n_traits, n_traits))
    lower[:, *np.tril_indices(n_traits)] = parameters.reshape(2, -1)
    return lower @ lower.transpose(0, 2, 1)


@pytest.mark.parametrize(
    ("seed", "is_bounded"), [(5, False), (1, True), (22, True)], ids=["inside", "rg 1", "rg -1"]
)
@pytest.mark.parametrize("is_whole", [True, False], ids=["whole", "some missing"])
def test_it_is_the_maximum_of_the_dense_likelihood(is_whole, seed, is_bounded, backend):
    values, age = simulate(seed)
    if not is_whole:
        values[::7, 0] = values[2::9, 1] = values[5, :] = np.nan
    found = correlate(GENOTYPES, values, covariates=age, tolerance=1e-9, backend=backend)
    assert found.is_converged
    assert found.is_bounded == is_bounded
    scales = np.nanstd(values, axis=0)
    units = scales[:, None] * scales
    scaled = values / scales
    started = np.concatenate([np.linalg.cholesky(each)[np.tril_indices(2)] for each in
                              (found.genetic / units, found.residual / units)])  # fmt: skip
    best = minimize(
        lambda parameters: -likelihood(factors(parameters, 2), scaled, age),
        started + 0.02,
        method="BFGS",  # a twentieth of the likelihoods that Nelder-Mead asks for
        options={"gtol": 1e-4},
    )
    assert np.abs(best.jac).max() < 1e-2
    genetic, residual = factors(best.x, 2) * units
    assert found.genetic / units == pytest.approx(genetic / units, abs=2e-3)
    assert found.residual / units == pytest.approx(residual / units, abs=2e-3)
    assert found.correlations[0, 1] == pytest.approx(
        genetic[0, 1] / np.sqrt(genetic[0, 0] * genetic[1, 1]), abs=2e-3
    )
    own = likelihood((found.genetic, found.residual), values, age)
    assert own >= likelihood((genetic, residual), values, age) - 1e-4


def test_standard_errors_are_those_of_the_average_information():
    values, age = simulate(4)
    values[::7, 0] = np.nan
    found = correlate(GENOTYPES, values, covariates=age, tolerance=1e-9, backend="cpu")
    covariances = np.array([found.genetic, found.residual])
    v, design, y = dense(covariances, values, age)
    p = mixed_models.projection(v, design)
    seen = ~np.isnan(values).ravel()
    ways, places = [], []
    for component, matrix in enumerate((KINSHIP, np.eye(N))):
        for pair in ((0, 0), (0, 1), (1, 1)):
            mask = np.zeros((2, 2))
            mask[pair] = mask[pair[::-1]] = 1
            ways.append(np.kron(matrix, mask)[np.ix_(seen, seen)] @ p @ y)
            places.append((component, *pair))
    spread = np.linalg.inv(np.array([[a @ p @ b / 2 for b in ways] for a in ways]))
    for place, error in zip(places, np.sqrt(np.diag(spread)), strict=True):
        told = (found.genetic_errors, found.residual_errors)[place[0]][place[1:]]
        assert told == pytest.approx(error, rel=1e-5)

    def by_differences(of):
        slopes = []
        for component, t, u in places:
            ends = []
            for sign in (1, -1):
                moved = covariances.copy()
                step = 1e-5 * np.sqrt(covariances[component, t, t] * covariances[component, u, u])
                moved[component, t, u] += sign * step
                moved[component, u, t] = moved[component, t, u]
                ends.append(of(moved))
            slopes.append((ends[0] - ends[1]) / (2 * step))
        return np.sqrt(np.array(slopes) @ spread @ slopes)

    def correlation(moved):
        return moved[0, 0, 1] / np.sqrt(moved[0, 0, 0] * moved[0, 1, 1])

    def heritability(moved):
        return moved[0, 1, 1] / (moved[0, 1, 1] + moved[1, 1, 1])

    assert found.correlation_errors[0, 1] == pytest.approx(by_differences(correlation), rel=1e-4)
    assert found.heritability_errors[1] == pytest.approx(by_differences(heritability), rel=1e-4)


def test_both_ways_to_the_likelihood_are_the_same():
    """One sample without one value, whose weight is small, changes the way and little else."""
    values, age = simulate(4)
    whole = correlate_of_relationships(KINSHIP, values, covariates=age, tolerance=1e-9)
    apart = np.zeros((N + 1, N + 1))
    apart[:N, :N] = KINSHIP
    more, ages = np.vstack([values, [np.nan, 5.0]]), np.append(age, 0.0)
    indicator = np.append(np.zeros(N), 1.0)  # which takes the new value out
    part = correlate_of_relationships(
        apart, more, covariates=np.column_stack([ages, indicator]), tolerance=1e-9
    )
    assert part.genetic == pytest.approx(whole.genetic, rel=1e-5)
    assert part.correlation_errors == pytest.approx(whole.correlation_errors, rel=1e-5)
    assert part.n_samples.tolist() == [N, N + 1]


def test_one_trait_has_the_variances_of_reml():
    values, age = simulate(5, n_traits=1)
    one = reml(GENOTYPES, values[:, 0], covariates=age, tolerance=1e-9, backend="cpu")
    found = correlate(GENOTYPES, values, covariates=age, tolerance=1e-9, backend="cpu")
    assert [found.genetic[0, 0], found.residual[0, 0]] == pytest.approx(one.variances, rel=1e-5)
    assert found.heritability_errors[0] == pytest.approx(one.heritability_error, rel=1e-4)


def test_a_trait_and_its_double_are_at_the_bound():
    values, _ = simulate(6, n_traits=1)
    doubled = np.column_stack(
        [values, 2 * values + np.random.default_rng(1).normal(0, 1e-4, (N, 1))]
    )
    found = correlate(GENOTYPES, doubled, backend="cpu")
    assert found.is_bounded
    assert found.correlations[0, 1] == pytest.approx(1.0, abs=1e-3)
    assert "at the bound" in found.sentence


def test_correlations_of_many_samples_are_found_again():
    generator = np.random.default_rng(7)
    genotypes = simulate_genotypes(700, 1500, seed=8)
    z, scale = mixed_models.centred(dosages_of(genotypes.packed, 700))
    effects = generator.multivariate_normal(np.zeros(2), GENETIC, 1500) / np.sqrt(scale)
    values = z @ effects + generator.multivariate_normal(np.zeros(2), RESIDUAL, 700)
    *_, found = iter_correlate(genotypes, values, backend="cpu")
    expected = 0.2 / np.sqrt(0.6 * 0.5)
    assert abs(found.correlations[0, 1] - expected) < 4 * found.correlation_errors[0, 1]
    assert 0 < found.correlation_errors[0, 1] < 0.3
    for t in (0, 1):
        true = GENETIC[t, t] / (GENETIC[t, t] + RESIDUAL[t, t])
        assert abs(found.heritabilities[t] - true) < 4 * found.heritability_errors[t]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"phenotypes": np.ones(N)}, r"phenotypes have shape \(60,\), need"),
        ({"phenotypes": np.ones((N, 7))}, "1 to 6 traits"),
        ({"phenotypes": np.ones((N, 2))}, "a trait has one value only"),
        ({"phenotypes": np.full((N, 2), np.nan)}, "samples"),
        ({"phenotypes": np.where(np.arange(N)[:, None] < [N, 2], 1.0, np.nan)}, "trait 2 has 2"),
        ({"covariates": simulate(1)[0][:, 1]}, "the covariates explain trait 2 entirely"),
        ({"tolerance": 0.0}, "tolerance is 0.0, needs more than 0"),
        ({"max_iterations": 0}, "max_iterations is 0, needs at least 1"),
        ({"relationships": KINSHIP[:3]}, "relationships have shape"),
        ({"relationships": KINSHIP * np.nan}, "relationships have values that are not numbers"),
    ],
)
def test_what_cannot_be(change, sentence):
    options = {"relationships": KINSHIP, "phenotypes": simulate(1)[0]} | change
    with pytest.raises(ParameterError, match=sentence):
        correlate_of_relationships(
            options.pop("relationships"), options.pop("phenotypes"), **options
        )


@pytest.mark.parametrize("is_whole", [True, False])
def test_variances_that_cannot_be_told_apart_are_refused(is_whole):
    values = simulate(1)[0]
    values[:5, 1] = values[:5, 1] if is_whole else np.nan
    who = "all traits" if is_whole else "trait 1"
    for given in (2 * np.eye(N), 3 * np.eye(N) + np.ones((N, N))):  # the mean takes up the ones
        with pytest.raises(ParameterError, match=f"genetic effects, residuals of {who} cannot be"):
            correlate_of_relationships(given, values)


def test_traits_of_different_samples_need_relatives_among_them():
    is_first = np.arange(N)[:, None] % 2 == [0, 1]
    values = np.where(is_first, simulate(3)[0], np.nan)
    found = correlate_of_relationships(KINSHIP, values)
    assert found.correlation_errors[0, 1] > 0
    assert found.residual[0, 1] == 0
    apart = KINSHIP * (is_first[:, :1] == is_first[:, 0])
    with pytest.raises(ParameterError, match="covariance of traits 1 and 2 needs related samples"):
        correlate_of_relationships(apart, values)


def test_the_command_has_a_row_for_each_pair(tmp_path, capfd):
    from genoviz import write_plink

    values, age = simulate(4)
    write_plink(GENOTYPES, tmp_path / "herd")
    rows = [
        f"{sample},{a:.6f},{b:.6f},{c:.6f}"
        for sample, (a, b), c in zip(GENOTYPES.samples.ids.tolist(), values, age, strict=True)
    ]
    (tmp_path / "milk.csv").write_text("\n".join(["IID,fat,protein,age", *rows]) + "\n")
    command = ["geno", "reml", str(tmp_path / "herd.bed"), "--pheno", str(tmp_path / "milk.csv")]
    command += ["--trait", "fat", "--with", "protein", "--covariate", "age"]
    with pytest.raises(SystemExit, match="0"):
        main(command)
    out, err = capfd.readouterr()
    header, *lines = (line.split("\t") for line in out.splitlines())
    expected = correlate(GENOTYPES, values, covariates=age, backend="cpu")
    assert [line[:3] for line in lines] == [
        [component, *pair]
        for component in ("genotypes", "residual")
        for pair in (("fat", "fat"), ("fat", "protein"), ("protein", "protein"))
    ]
    row = dict(zip(header, lines[1], strict=True))
    assert float(row["COVARIANCE"]) == pytest.approx(expected.genetic[0, 1], rel=1e-3)
    assert float(row["CORRELATION"]) == pytest.approx(expected.correlations[0, 1], abs=1e-3)
    assert row["SHARE"] == "NA"
    own = dict(zip(header, lines[2], strict=True))
    assert float(own["SHARE"]) == pytest.approx(expected.heritabilities[1], abs=1e-3)
    assert "trait fat, protein: rg " in err
    for wrong, sentence in (
        (["--repeated"], "without --sets, --repeated"), (["--with", "fat"], "needs different ones"),
    ):  # fmt: skip
        with pytest.raises(SystemExit):
            main([*command, *wrong])
        assert sentence in " ".join(capfd.readouterr().err.replace("│", " ").split())


def test_stored_relationships_are_those_of_the_genotypes(tmp_path):
    values, age = simulate(3)
    stored = relationship_matrix(GENOTYPES, backend="cpu")
    one = correlate_of_relationships(stored.values, values, covariates=age, tolerance=1e-8)
    other = correlate(GENOTYPES, values, covariates=age, tolerance=1e-8, backend="cpu")
    assert one.genetic == pytest.approx(other.genetic, rel=1e-4)


@pytest.mark.parametrize(("n", "m"), [(60, 5), (60, 20)])
def test_estimates_at_a_bound_have_no_standard_error(n, m):
    rng = np.random.default_rng(n + m)
    columns = rng.normal(size=(n, m))
    columns -= columns.mean(0)
    relationships = columns @ columns.T / m
    # Fewer variants than samples explain both traits entirely.
    found = correlate_of_relationships(relationships, columns @ rng.normal(size=(m, 2)))
    assert found.is_bounded
    assert found.heritabilities.min() > 0.98
    assert np.isnan(found.heritability_errors).all()
    assert np.isnan(found.residual_errors).all()
    assert np.isnan(found.residual_correlation_errors[0, 1])
    assert (found.genetic_errors > 0).all()
    assert found.sentence.count("(standard error not known)") == 2
    # A genetic correlation of 1.
    values, age = simulate(1)
    found = correlate(GENOTYPES, values, covariates=age, backend="cpu")
    assert found.correlations[0, 1] == pytest.approx(1, abs=1e-3)
    assert np.isnan([found.correlation_errors[0, 1], found.genetic_errors[0, 1]]).all()
    assert (found.heritability_errors > 0).all()
    assert "rg 1.0000 (standard error not known), h2 0." in found.sentence
