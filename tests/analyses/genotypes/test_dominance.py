"""Dominance and interactions, against PLINK 2, statsmodels and a dense Firth regression."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from scipy import optimize, stats

from genoviz import ParameterError, associate, firth_logistic, write_plink
from genoviz.analyses.genotypes.association import logistic, p_values, terms
from genoviz.cli.genotypes import gwas
from tests.analyses.genotypes.test_sex_chromosomes import HUMAN, draw
from tests.analyses.genotypes.test_statistics import genotypes_of
from tests.genotype_sets import with_dosages
from tests.oracles.genotypes import DOSAGE
from tests.plink import Plink, numbers, write_table

N = 60
AUTOSOMES = [0, 1, 2, 3, 12, 13]
COLUMNS = {
    "ADD": lambda x: x,
    "DOM": lambda x: np.where(x > 0, 1.0, 0.0),
    "REC": lambda x: np.where(x == 2, 1.0, 0.0),
    "HOM": lambda x: np.where(x == 2, 1.0, 0.0),
    "HET": lambda x: np.where(x == 1, 1.0, 0.0),
    "DOMDEV": lambda x: np.where(x == 1, 1.0, 0.0),
}
MODELS = {
    "dominant": ["DOM"],
    "recessive": ["REC"],
    "hetonly": ["HET"],
    "genotypic": ["ADD", "DOMDEV"],
    "hethom": ["HOM", "HET"],
}


@pytest.fixture(scope="module")
def study():
    """Genotypes with missing ones of all chromosome types, a trait, cases, and two covariates."""
    genotypes, trait, codes = draw()
    rng = np.random.default_rng(1)
    covariates = np.column_stack([rng.normal(1, 1, N), rng.normal(size=N)]).round(4)
    dosages = np.array([[DOSAGE[code] for code in row] for row in codes])
    return genotypes, trait, (trait > np.median(trait)).astype(float), covariates, dosages


def test_commands_and_functions_have_the_same_genetic_models():
    assert [*terms.GENETIC_MODELS] == [*get_args(terms.GeneticModel)] == [*gwas.GeneticModel]


def scan_of(study, model="linear", **options):
    """Return a scan of the study's trait or cases."""
    genotypes, trait, case, covariates, _ = study
    y = trait if model == "linear" else case
    common = {"covariates": covariates, "covariate_names": ["age", "w"], "model": model}
    return associate(genotypes, y, **common | options)


def columns_at(study, variant, names, interactions=()):
    """Return the columns of a variant, covariates, and the samples that have all."""
    *_, covariates, dosages = study
    x = dosages[:, variant]
    mains = [COLUMNS[name](x) for name in names]
    products = [f * covariates[:, ["age", "w"].index(e)] for e in interactions for f in mains]
    return np.column_stack([*mains, *products]), covariates, ~np.isnan(x)


@pytest.fixture
def plink(study, tmp_path):
    genotypes, trait, case, covariates, _ = study
    write_plink(genotypes, tmp_path / "t")
    who = genotypes.samples.family_ids, genotypes.samples.ids
    pheno = write_table(tmp_path / "p.txt", who, {"y": trait, "case": case + 1})
    covar = write_table(tmp_path / "c.txt", who, dict(zip(["age", "w"], covariates.T, strict=True)))

    def run(*arguments, name="y"):
        found = Plink("plink2", tmp_path)
        how = ("no-firth",) if name == "case" else ()
        found(tmp_path / "t", "--glm", "omit-ref", *how, *arguments, "--pheno",
              str(pheno), "--pheno-name", name, "--covar", str(covar), **HUMAN)  # fmt: skip
        table = found.table(f"{name}.glm.{'linear' if name == 'y' else 'logistic'}")
        table["ROW"] = np.array([int(text[1:]) for text in table["ID"]])
        return table

    return run


def check_effects(scan, table, of_test):
    """Compare a scan with the rows of PLINK; ``of_test`` gives the statistics of joint tests."""
    is_linear = "BETA" in table
    beta = numbers(table["BETA"]) if is_linear else np.log(numbers(table["OR"]))
    each = {term.name: term for term in scan.terms}
    for number, (row, name) in enumerate(zip(table["ROW"], table["TEST"], strict=True)):
        if name in ("age", "w", "SEX") or (name in of_test and of_test[name] is None):
            continue
        if name in of_test:
            f = numbers(table["T_OR_F_STAT" if is_linear else "Z_OR_F_STAT"])[number]
            assert of_test[name][row] == pytest.approx(f, rel=1e-4)
            continue
        found = each.get(name, scan)
        assert found.beta[row] == pytest.approx(beta[number], rel=5e-4, abs=1e-4)
        if is_linear:
            error, p = (numbers(table[column])[number] for column in ("SE", "P"))
            assert found.standard_error[row] == pytest.approx(error, rel=1e-5)
            assert found.p[row] == pytest.approx(p, rel=1e-4)


@pytest.mark.parametrize("genetic_model", MODELS)
@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_dominance_is_plinks(study, plink, genetic_model, model):
    """PLINK 2 alpha 3.5 errs in some standard errors of cases, so statsmodels checks these."""
    table = plink(genetic_model, name="y" if model == "linear" else "case")
    scan = scan_of(study, model, genetic_model=genetic_model)
    assert np.flatnonzero(np.isfinite(scan.p)).tolist() == AUTOSOMES
    assert {*table["ROW"]} == {*AUTOSOMES}
    is_right = model == "linear" or genetic_model == "genotypic"
    check_effects(scan, table, {"GENO_2DF": scan.statistic if is_right else None})
    assert [note[:16] for note in scan.notes] == ["X is not tested:", "Y is not tested:",
                                                  "MT is not tested"]  # fmt: skip


@pytest.mark.parametrize("model", ["linear", "logistic"])
def test_interactions_are_plinks_on_all_chromosomes(study, plink, model):
    name = "y" if model == "linear" else "case"
    table = plink("interaction", "--tests", "1,4,5", "--not-chr", "23", name=name)
    scan = scan_of(study, model, interactions=["age", "w"])
    assert [term.name for term in scan.terms] == ["ADD", "ADDxage", "ADDxw"]
    assert len({*table["ROW"]}) == 12
    is_fit = np.isfinite(scan.p[table["ROW"]])
    table = {key: values[is_fit] for key, values in table.items()}
    assert len({*table["ROW"]}) > 8
    check_effects(scan, table, {"USER_3DF": scan.joint_statistic})
    # At X, sex is a covariate. PLINK's parameters: ADD, age, SEX, ADDxage.
    at_x = plink("interaction", "--chr", "23", "--parameters", "1-4", "--covar-name", "age",
                 name=name)  # fmt: skip
    scan = scan_of(study, model, covariates=study[3][:, :1], covariate_names=["age"],
                   interactions=["age"])  # fmt: skip
    assert len(at_x["ROW"]) == 20
    check_effects(scan, at_x, {})


@pytest.mark.parametrize("genetic_model", MODELS)
@pytest.mark.parametrize("interactions", [[], ["age"], ["age", "w"]])
def test_columns_are_fitted_as_by_statsmodels(study, genetic_model, interactions, backend):
    api = pytest.importorskip("statsmodels.api")
    case, names = study[2], MODELS[genetic_model]
    options = {"genetic_model": genetic_model, "interactions": interactions, "backend": backend}
    linear, odds = scan_of(study, **options), scan_of(study, "logistic", **options)
    t = len(names) * (1 + len(interactions))
    tested = slice(len(names) if interactions else 0, t)
    n_fit = 0
    for variant in AUTOSOMES:
        columns, covariates, is_in = columns_at(study, variant, names, interactions)
        design = api.add_constant(np.column_stack([columns, covariates])[is_in])
        which = np.eye(design.shape[1])[1 : t + 1]
        fit = api.OLS(study[1][is_in], design).fit()
        each = linear.terms or (linear,)
        found = [(a.beta[variant], a.standard_error[variant], a.p[variant]) for a in each]
        expected = [fit.params[1 : t + 1], fit.bse[1 : t + 1], fit.pvalues[1 : t + 1]]
        np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-7)
        assert linear.p[variant] == pytest.approx(float(fit.f_test(which[tested]).pvalue), rel=1e-7)
        if interactions:
            joint = float(fit.f_test(which).pvalue)
            assert linear.joint_p[variant] == pytest.approx(joint, rel=1e-7)
        if np.isnan(odds.p[variant]):
            continue
        n_fit += 1
        fit = api.Logit(case[is_in], design).fit(disp=0, tol=1e-12, maxiter=200)
        each = odds.terms or (odds,)
        found = [(a.beta[variant], a.standard_error[variant], a.p[variant]) for a in each]
        expected = [fit.params[1 : t + 1], fit.bse[1 : t + 1], fit.pvalues[1 : t + 1]]
        np.testing.assert_allclose(found, np.transpose(expected), rtol=1e-4)
        test = fit.wald_test(which[tested], use_f=True, scalar=True)
        assert odds.p[variant] == pytest.approx(
            float(test.pvalue)
            if t > 1 and len(which[tested]) > 1
            else fit.pvalues[tested.start + 1],
            rel=1e-4,
        )
    assert n_fit >= 3


def penalised_maximum(columns, is_case):
    """Return the maximum of Firth's penalised likelihood: with all columns, and where each is 0."""

    def minus(b, free):
        full = np.zeros(columns.shape[1])
        full[free] = b
        fitted = 1 / (1 + np.exp(-columns @ full))
        weights = fitted * (1 - fitted)
        _, size = np.linalg.slogdet((columns * weights[:, None]).T @ columns)
        likelihood = np.log(np.where(is_case, fitted, 1 - fitted)).sum()
        return -likelihood - size / 2

    def best(fixed):
        free = np.setdiff1d(np.arange(columns.shape[1]), fixed)
        found = optimize.minimize(minus, np.zeros(len(free)), (free,), tol=1e-10)
        return -found.fun

    return best


@pytest.mark.parametrize("genetic_model", ["dominant", "genotypic"])
def test_firths_method_fits_what_cases_are_told_by(study, genetic_model, backend):
    genotypes, _, _, covariates, dosages = study
    names = MODELS[genetic_model]
    case = study[2].copy()
    case[dosages[:, 2] >= 1] = 1.0
    common = {"covariates": covariates[:, :1], "covariate_names": ["age"], "backend": backend}
    common |= {"genetic_model": genetic_model, "interactions": ["age"]}
    plain = associate(genotypes, case, model="logistic", **common)
    firth = associate(genotypes, case, model="firth", **common)
    mixed = associate(genotypes, case, model="firth-fallback", **common)
    assert np.isnan(plain.p[2])
    assert mixed.p[2] == pytest.approx(firth.p[2])
    rest = np.isfinite(plain.p) & (np.arange(17) != 2)
    assert (mixed.p[rest] == plain.p[rest]).sum() > (mixed.p[rest] != plain.p[rest]).sum()
    t = 2 * len(names)
    for variant in (2, 12):
        columns, others, is_in = columns_at(study, variant, names, ["age"])
        whole = np.column_stack([columns, others[:, 0]])[is_in]
        expected = firth_logistic(whole, case[is_in])
        for number, term in enumerate(firth.terms):
            assert term.beta[variant] == pytest.approx(expected.coefficients[number], rel=1e-4)
            error = expected.standard_errors[number]
            assert term.standard_error[variant] == pytest.approx(error, rel=1e-4)
            assert term.statistic[variant] ** 2 == pytest.approx(
                expected.chi_squares[number], rel=1e-4
            )
            assert term.p[variant] == pytest.approx(expected.p[number], rel=1e-4)
        best = penalised_maximum(
            np.column_stack([np.ones(is_in.sum()), (whole - whole.mean(0)) / whole.std(0)]),
            case[is_in] == 1,
        )
        square = 2 * (best([]) - best([*range(1, t + 1)]))
        assert firth.joint_statistic[variant] == pytest.approx(square, rel=1e-3)
        assert firth.joint_p[variant] == pytest.approx(stats.chi2.sf(square, t), rel=2e-3)


def test_imputed_dosages_are_coded_as_plink_does(study, backend):
    genotypes, trait, _, covariates, _ = study
    part = with_dosages(genotypes.take_variants(slice(0, 4)), 3)
    scan = associate(part, trait, covariates=covariates, genetic_model="genotypic", backend=backend)
    for variant, x in enumerate(part.exact_dosages(np.arange(4)).T):
        is_in = ~np.isnan(x)
        columns = np.column_stack([x, 1 - abs(x - 1), np.ones(N), covariates])[is_in]
        beta = np.linalg.lstsq(columns, trait[is_in])[0]
        found = [term.beta[variant] for term in scan.terms]
        np.testing.assert_allclose(found, beta[:2], rtol=1e-8)
        assert scan.n_samples[variant] == is_in.sum()


def test_dependent_columns_and_constant_variants_are_not_tested(study, monkeypatch):
    monkeypatch.setattr(logistic, "BLOCK_GENOTYPES", {"numpy": 2 * N, "cupy": 2 * N})
    codes = np.random.default_rng(1).choice([0, 2, 3], (N, 5))
    codes[codes[:, 0] == 0, 0] = 2
    codes[:, 1], codes[:, 2] = 2, 1
    trait, covariates = study[1], study[3]
    for model in ("linear", "logistic"):
        y = trait if model == "linear" else study[2]
        scan = associate(genotypes_of(codes), y, covariates=covariates, model=model,
                         genetic_model="genotypic")  # fmt: skip
        assert np.isnan(scan.p).tolist() == [True, True, True, False, False]
        assert scan.a1_frequency[3] == pytest.approx(1 - (codes[:, 3] / 6).mean(), abs=0.2)


def test_score_tests_of_one_column_are_saddle_points(study):
    scan = scan_of(study, "saddle-point", genetic_model="dominant")
    same = scan_of(study, "logistic", genetic_model="dominant")
    rows = AUTOSOMES
    assert np.abs(np.log10(scan.p[rows]) - np.log10(same.p[rows])).max() < 0.5
    with pytest.raises(ParameterError, match="the saddle-point test is of one column; the model"):
        scan_of(study, "saddle-point", genetic_model="genotypic")


def test_interactions_need_covariates_that_vary(study):
    genotypes = study[0]
    with pytest.raises(
        ParameterError, match="with bmi needs it among the covariates; these are ag"
    ):
        scan_of(study, interactions=["bmi"])
    with pytest.raises(ParameterError, match="genetic_model is 'x', needs one of additive, dom"):
        scan_of(study, genetic_model="x")
    sexes = np.where(genotypes.samples.sexes > 0, genotypes.samples.sexes, np.nan)
    scan = associate(genotypes, study[1], covariates=sexes[:, None], covariate_names=["sex"],
                     interactions=["sex"])  # fmt: skip
    assert "Y is not tested: sex does not vary in its samples." in scan.notes
    assert np.isnan(scan.p[9:12]).all()
    assert np.isfinite(scan.p[4:9]).all()


def test_log_p_has_all_digits_where_p_is_near_1():
    """Of F with 2 degrees, and of t with 1, there are formulas."""
    f = np.array([1e-12, 1e-6, 1e-3, 0.1, 1.0, 30.0, 1e5])
    for degrees in (1.0, 7.0, 5000.0, 1e6):
        found = p_values.log_p_of_f(f, 2, np.full(7, degrees))
        np.testing.assert_allclose(found, -degrees / 2 * np.log1p(2 * f / degrees), rtol=1e-10)
    found = p_values.log_p_of_t(f, np.ones(7))
    np.testing.assert_allclose(found[:5], np.log1p(-2 / np.pi * np.arctan(f[:5])), rtol=1e-11)


def test_log_p_of_f_is_scipys_and_goes_on_below():
    f, degrees = np.array([0.5, 3.0, 40.0, 5000.0, np.nan]), np.array([9.0, 50, 300, 900, 9])
    for k in (1, 2, 5):
        found = p_values.log_p_of_f(f, k, degrees)
        np.testing.assert_allclose(found[:3], stats.f.logsf(f[:3], k, degrees[:3]), rtol=1e-9)
        assert found[3] < -700
        assert np.isnan(found[4])
        tail = p_values._log_tail(degrees[1:3] / 2, k * f[1:3], k / 2)
        np.testing.assert_allclose(tail, stats.f.logsf(f[1:3], k, degrees[1:3]), rtol=1e-9)
