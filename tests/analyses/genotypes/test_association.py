"""Association scans, against PLINK 2, statsmodels and dense least squares."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from genoviz import ParameterError, associate, iter_associate
from genoviz.analyses.genotypes import variant_blocks
from genoviz.analyses.genotypes.association import logistic, p_values, regressions
from tests.analyses.genotypes.test_statistics import genotypes_of
from tests.oracles.genotypes import dosages_of
from tests.plink import Plink, numbers, plink_files, read_real, write_table


def make_study(n_samples=90, n_variants=40, seed=1):
    """Return genotypes with missing ones, a phenotype and three covariates, some missing."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(4, (n_samples, n_variants), p=[0.2, 0.05, 0.35, 0.4])
    codes[:, ::3] = rng.choice([0, 2, 3], (n_samples, len(range(0, n_variants, 3))))
    covariates = rng.normal(size=(n_samples, 3)) + 5
    phenotype = covariates @ [1, -2, 0.5] + (codes[:, 4] == 0) + rng.normal(size=n_samples)
    phenotype[[3, 50]], covariates[7, 1] = np.nan, np.nan
    return genotypes_of(codes), phenotype, covariates


def least_squares(dosages, phenotype, covariates):
    """Return beta, its error and t of each variant, by least squares on complete samples."""
    rows = []
    for x in dosages.T:
        is_in = np.isfinite(x) & np.isfinite(phenotype) & np.isfinite(covariates).all(1)
        design = np.column_stack([np.ones(is_in.sum()), covariates[is_in], x[is_in]])
        beta, *_ = np.linalg.lstsq(design, phenotype[is_in])
        rest = phenotype[is_in] - design @ beta
        degrees = len(design) - design.shape[1]
        error = np.sqrt(rest @ rest / degrees * np.linalg.inv(design.T @ design)[-1, -1])
        rows.append((beta[-1], error, beta[-1] / error, is_in.sum(), x[is_in].mean() / 2))
    return np.array(rows).T


def test_linear_scan_is_least_squares(backend, monkeypatch):
    monkeypatch.setattr(variant_blocks, "CPU_GENOTYPES", 1000)
    monkeypatch.setattr(variant_blocks, "CUDA_GENOTYPES", 1000)
    genotypes, phenotype, covariates = make_study()
    steps = list(iter_associate(genotypes, phenotype, covariates=covariates, backend=backend))
    scan = steps[-1].result
    assert len(steps) > 3
    expected = least_squares(dosages_of(genotypes.packed, 90), phenotype, covariates)
    found = (scan.beta, scan.standard_error, scan.statistic, scan.n_samples, scan.a1_frequency)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    assert scan.sentence == "40 of 40 variants are tested with 87 of 90 samples and 3 covariates."
    np.testing.assert_allclose(scan.minus_log10_p, -np.log10(scan.p))


def test_what_cannot_be_tested_is_nan():
    genotypes, phenotype, covariates = make_study()
    codes = np.tile([0, 2, 3], (30, 4)).reshape(-1, 4)[:90].copy()
    codes[:, 0] = 3
    codes[:, 1] = 1
    codes[:, 2] = np.where(covariates[:, 0] > 5, 3, 0)
    codes[8:, 3] = 1
    sparse = genotypes_of(codes)
    group = (codes[:, 2] == 3).astype(float)
    scan = associate(sparse, phenotype, covariates=np.column_stack([covariates, group]))
    assert np.isnan(scan.beta[:3]).all()
    assert np.isnan(scan.p[:3]).all()
    assert scan.n_samples.tolist() == [87, 0, 87, 6]
    assert np.isnan(scan.a1_frequency[1])
    none = associate(genotypes.take_variants(slice(0, 0)), phenotype)
    assert len(none.p) == 0
    assert np.isnan(none.lambda_gc)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A real data set with missing genotypes, and tables for PLINK."""
    files = plink_files("gcta_test")
    genotypes = read_real(files)
    rng = np.random.default_rng(2)
    n = genotypes.n_samples
    trait = np.loadtxt(f"{files}.phen", usecols=2)
    trait += 0.5 * np.maximum(genotypes.dosages(slice(300, 301))[:, 0], 0)
    trait[rng.integers(0, n, 100)] = np.nan
    covariates = rng.normal(size=(n, 4)) + np.nan_to_num(trait)[:, None] * [0.3, 0, 0, 0]
    case = np.where(trait + rng.normal(size=n) > 0.5, 2.0, 1.0)
    case[np.isnan(trait)] = np.nan
    folder = tmp_path_factory.mktemp("study")
    ids = genotypes.samples.family_ids, genotypes.samples.ids
    write_table(folder / "pheno.txt", ids, {"trait": trait, "case": case})
    write_table(folder / "covar.txt", ids, {f"C{k}": covariates[:, k] for k in range(4)})
    return files, genotypes, trait, case, covariates, folder


def glm_of(study, name, *arguments):
    """Return PLINK's additive rows for a phenotype."""
    files, genotypes, *_, folder = study
    plink = Plink("plink2", folder)
    tables = ("--pheno", str(folder / "pheno.txt"), "--covar", str(folder / "covar.txt"))
    plink(files, *tables, "--pheno-name", name, "--glm", "hide-covar", *arguments)
    ending = {"trait": "glm.linear", "case": "glm.logistic"}[name]
    table = plink.table(f"{name}.{ending}")
    assert (table["ID"] == genotypes.variants.ids).all()
    signs = np.where(table["A1"] == genotypes.variants.allele1, 1, -1)
    return table, signs


def test_linear_scan_is_plinks(study):
    _, genotypes, trait, _, covariates, _ = study
    scan = associate(genotypes, trait, covariates=covariates)
    table, signs = glm_of(study, "trait", "--adjust")
    np.testing.assert_allclose(scan.beta * signs, numbers(table["BETA"]), rtol=2e-5, atol=1e-7)
    np.testing.assert_allclose(scan.standard_error, numbers(table["SE"]), rtol=1e-5)
    np.testing.assert_allclose(scan.statistic * signs, numbers(table["T_STAT"]), rtol=5e-5)
    np.testing.assert_allclose(scan.p, numbers(table["P"]), rtol=5e-5)
    assert (scan.n_samples == numbers(table["OBS_CT"])).all()
    assert scan.minus_log10_p.argmax() == 300
    log = (study[-1] / "out.log").read_text()
    inflation = float(re.search(r"lambda \(based on median chisq\) = ([\d.]+\d)", log)[1])
    assert scan.lambda_gc == pytest.approx(inflation, rel=5e-3)  # one of the two in the middle


def test_logistic_scan_is_plinks(study):
    _, genotypes, _, case, covariates, _ = study
    scan = associate(genotypes, case, covariates=covariates, model="logistic")
    table, signs = glm_of(study, "case", "no-firth")
    np.testing.assert_allclose(
        scan.beta * signs, np.log(numbers(table["OR"])), rtol=1e-3, atol=1e-5
    )
    np.testing.assert_allclose(scan.standard_error, numbers(table["LOG(OR)_SE"]), rtol=1e-3)
    np.testing.assert_allclose(scan.p, numbers(table["P"]), rtol=5e-3)
    assert (scan.n_samples == numbers(table["OBS_CT"])).all()


def test_logistic_scan_is_statsmodels(backend, monkeypatch):
    statsmodels = pytest.importorskip("statsmodels.api")
    monkeypatch.setattr(logistic, "BLOCK_GENOTYPES", {"numpy": 1500, "cupy": 1500})
    genotypes, phenotype, covariates = make_study(150, 30)
    case = np.where(phenotype > np.nanmedian(phenotype), 7.0, 3.0)
    case[np.isnan(phenotype)] = np.nan
    scan = associate(genotypes, case, covariates=covariates, model="logistic", backend=backend)
    for j, x in enumerate(dosages_of(genotypes.packed, 150).T):
        is_in = np.isfinite(x) & np.isfinite(case) & np.isfinite(covariates).all(1)
        design = statsmodels.add_constant(np.column_stack([covariates, x])[is_in])
        fit = statsmodels.Logit(case[is_in] == 7, design).fit(disp=0, tol=1e-12)
        assert scan.beta[j] == pytest.approx(fit.params[-1], rel=1e-6)
        assert scan.standard_error[j] == pytest.approx(fit.bse[-1], rel=1e-5)
        assert scan.p[j] == pytest.approx(fit.pvalues[-1], rel=1e-4)
        assert scan.n_samples[j] == is_in.sum()


def test_a_genotype_that_tells_cases_has_no_logistic_fit():
    case = np.repeat([1.0, 2.0], 20)
    codes = np.random.default_rng(1).choice([0, 2, 3], (40, 3))
    codes[:, 0], codes[:, 1] = np.where(case == 2, 0, 3), 3
    scan = associate(genotypes_of(codes), case, model="logistic")
    assert np.isnan(scan.beta).tolist() == [True, True, False]


def test_newtons_steps_do_not_alternate_about_a_maximum():
    """Two carriers, one of them a case: undamped, each step is longer than the one before."""
    codes, y = np.full((20, 2), 3), np.zeros(20)
    codes[:2, 0], y[[0, 5]] = 2, 1
    codes[:2, 1] = 0
    for genetic_model in ("additive", "dominant"):
        scan = associate(genotypes_of(codes), y, model="logistic", genetic_model=genetic_model)
        # A table of four fields: log odds ratio, and the sum of the inverse counts.
        copies = np.array([1, 2 if genetic_model == "additive" else 1])
        np.testing.assert_allclose(scan.beta, np.log(17) / copies, rtol=1e-6)
        error = np.sqrt(1 + 1 + 1 + 1 / 17) / copies
        np.testing.assert_allclose(scan.standard_error, error, rtol=1e-6)


@pytest.mark.parametrize("sexes", [[1, 2], [2, 1], [2, 2]])
def test_the_same_genotype_of_all_cases_is_seen_in_both_sexes(sexes):
    """At X with one copy counted as 1, cases of both sexes with one A1 have the same genotype."""
    rng = np.random.default_rng(3)
    y, sex = np.repeat([0.0, 1.0], [30, 6]), np.resize(sexes, 36).astype(np.uint8)
    drawn = np.where(sex == 1, rng.choice([0, 3], 36), rng.choice([0, 2, 3], 36))
    codes = np.where(y == 1, np.where(sex == 1, 0, 2), drawn)
    genotypes = genotypes_of(codes[:, None])
    genotypes = replace(
        genotypes,
        samples=replace(genotypes.samples, sexes=sex),
        variants=replace(genotypes.variants, contigs=("X",)),
    )
    options = {"x_model": "haploid", "backend": "cpu"}
    found = associate(genotypes, y, model="firth-fallback", **options)
    firth = associate(genotypes, y, model="firth", **options)
    assert np.isfinite(associate(genotypes, y, model="logistic", **options).beta).all()
    np.testing.assert_allclose(found.beta, firth.beta, rtol=1e-9)


def test_small_p_values_keep_their_logarithms():
    t = np.array([5.0, 20, 30, 40, 200, 1e4, 1e150, np.nan, np.inf, 0])
    degrees = np.array([1e5, 1e4, 1e6, 300, 300, 100, 2, 5, 5, 5])
    log_p = p_values.log_p_of_t(t, degrees)
    from scipy.special import betainc

    known = slice(0, 4)
    p = betainc(degrees[known] / 2, 0.5, degrees[known] / (degrees[known] + t[known] ** 2))
    tails = p_values._log_tail(degrees[known] / 2, t[known] ** 2, 0.5)
    np.testing.assert_allclose(tails, np.log(p), rtol=1e-10)
    np.testing.assert_allclose(log_p[known], np.log(p), rtol=1e-12)
    assert log_p[6] == pytest.approx(-2 * np.log(1e150))  # 1 - t / sqrt(2 + t^2)
    assert np.isnan(log_p[7])
    assert log_p[8] == -np.inf
    assert log_p[9] == 0
    huge = p_values.log_p_of_t(np.array([60.0, 300.0]), np.array([1e13, 1e13]))
    np.testing.assert_allclose(huge, p_values.log_p_of_z(np.array([60.0, 300.0])), rtol=1e-8)
    assert huge[1] < -40_000


def test_a_perfect_variant_has_a_height():
    genotypes, _, _ = make_study(400, 6)
    x = np.maximum(genotypes.dosages(slice(0, 1))[:, 0], 0).astype(float)
    noise = 1e-9 * np.random.default_rng(1).normal(size=400)
    scan = associate(genotypes, x + noise)
    assert scan.minus_log10_p[0] > 300
    assert scan.p[0] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"phenotype": np.full(90, np.nan)}, "the phenotype is missing for all 90 samples"),
        ({"phenotype": np.ones(90)}, "the phenotype is 1 for all 89 samples"),
        ({"phenotype": np.ones(9)}, r"the phenotype has shape \(9,\), needs \(90,\)"),
        ({"covariates": np.ones((9, 2))}, r"covariates have shape \(9, 2\), need \(90, count\)"),
        ({"covariate_names": ["a"]}, "1 name is given for 3 covariates"),
        ({"model": "logistic"}, "the phenotype has 87 values; a logistic model needs two"),
        ({"model": "probit"}, "model is 'probit', needs one of auto, linear, logistic"),
    ],
)
def test_what_cannot_be_scanned_says_why(change, words):
    genotypes, phenotype, covariates = make_study()
    arguments = {"phenotype": phenotype, "covariates": covariates} | change
    with pytest.raises(ParameterError, match=words):
        associate(genotypes, **arguments)


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_covariates_that_others_determine_are_left_out_and_told(model):
    genotypes, phenotype, covariates = make_study()
    if model == "logistic":
        phenotype = np.where(np.isnan(phenotype), np.nan, phenotype > np.nanmedian(phenotype))
    a, b, c = covariates.T
    more = np.column_stack([a, np.full(90, 3.0), b, c, a - 3 * c + 4])
    names = ["a", "constant", "b", "c", "weight"]
    options = {"covariates": more, "covariate_names": names, "model": model}
    found = associate(genotypes, phenotype, **options)
    expected = associate(genotypes, phenotype, covariates=covariates, model=model)
    np.testing.assert_allclose(found.minus_log10_p, expected.minus_log10_p, rtol=1e-9)
    np.testing.assert_array_equal(found.n_samples, expected.n_samples)
    assert found.sentence == expected.sentence
    assert found.notes[0] == (
        "Covariates constant, weight are left out: each is constant, or a combination of those "
        "before it."
    )
    assert not expected.notes


@pytest.mark.parametrize("model", ["linear", "logistic", "firth", "firth-fallback", "saddle-point"])
def test_no_model_tests_what_covariates_explain_but_for_rounding(model):
    """Of half the variants all dosages, of the others one of the covariates where they are called.

    Seen as sums in floating point, each has a small rest.
    """
    rng = np.random.default_rng(5)
    covariates = rng.normal(size=(60, 3)) * [1, 1e4, 1] + [0, 3, 1e4]
    group = (rng.random((60, 30)) < 0.4).astype(float)
    codes = np.where(group[:, :15] == 1, 2, 3)
    codes = np.column_stack(
        [codes, np.where(group[:, 15:] == 1, 1, rng.choice([0, 2, 3], (60, 15)))]
    )
    y = rng.integers(0, 2, 60).astype(float)
    for k in range(30):
        columns = np.column_stack([covariates, group[:, k]])
        scan = associate(genotypes_of(codes[:, [k]]), y, covariates=columns, model=model)
        if model == "saddle-point" and k >= 15:  # missing genotypes are the mean there
            continue
        assert np.isnan([scan.beta, scan.standard_error, scan.statistic, scan.p]).all()


@pytest.mark.parametrize("genetic_model", ["additive", "dominant"])
def test_a_phenotype_that_is_constant_where_a_variant_is_called_is_not_tested(genetic_model):
    rng = np.random.default_rng(6)
    covariates, y = rng.normal(size=(40, 2)), np.repeat([0.0, 1.0], 20)
    codes = np.where(y[:, None] == 1, 1, rng.choice([0, 2, 3], (40, 20)))
    options = {"covariates": covariates, "genetic_model": genetic_model, "backend": "cpu"}
    scan = associate(genotypes_of(codes), y, model="linear", **options)
    assert scan.n_samples.tolist() == [20] * 20
    assert np.isnan([scan.beta, scan.standard_error, scan.statistic, scan.p]).all()


@pytest.mark.parametrize("unit", [0.3, 1.0, -2e9])
@pytest.mark.parametrize("genetic_model", ["additive", "genotypic"])
def test_a_perfect_fit_has_a_finite_p_that_rounding_does_not_change(unit, genetic_model):
    genotypes, _, _ = make_study()
    y = unit * dosages_of(genotypes.packed, 90)[:, 0]
    scan = associate(genotypes, y, genetic_model=genetic_model)
    degrees = np.isfinite(y).sum() - 2 - (genetic_model == "genotypic")
    assert scan.minus_log10_p[0] == pytest.approx(7 * degrees, abs=degrees / 2)
    assert np.nanargmax(scan.minus_log10_p) == 0


def test_a_trait_beyond_what_can_be_squared_is_refused():
    genotypes, phenotype, _ = make_study()
    small, large = (associate(genotypes, phenotype * unit).p for unit in (1e-50, 1e50))
    np.testing.assert_allclose(small, large, rtol=1e-9)
    for unit in (1e-200, 1e200):
        with pytest.raises(ParameterError, match=r"needs 1e-60 to 1e.60, as its squares leave"):
            associate(genotypes, phenotype * unit)


def test_a_study_that_covariates_leave_nothing_of_is_refused():
    genotypes, phenotype, covariates = make_study()
    with pytest.raises(ParameterError, match="explain the phenotype entirely"):
        associate(genotypes, covariates[:, 1] * 2 + 1, covariates=covariates)
    case = (covariates[:, 0] > 5).astype(float)
    with pytest.raises(ParameterError, match="the covariates tell cases from controls entirely"):
        associate(genotypes, case, covariates=covariates, model="logistic")
    few = np.where(np.arange(90) < 5, phenotype, np.nan)
    with pytest.raises(ParameterError, match=r"4 samples have .* 3 covariates need at least 6"):
        associate(genotypes, few, covariates=covariates)


def test_elimination_solves_for_what_is_left():
    half = np.random.default_rng(1).normal(size=(5, 9, 6))
    systems = np.einsum("mab,mac->mbc", half, half)
    rest = regressions.eliminate(systems, 4)
    expected = np.linalg.inv(np.linalg.inv(systems)[:, 4:, 4:])
    np.testing.assert_allclose(rest, expected)
