"""Dosages that are not whole, against PLINK 2, sums sample by sample and least squares."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import numpy as np
import pytest

from genoviz import (
    Genotypes,
    ParameterError,
    associate,
    condition_columns,
    filter_genotypes,
    read_genotypes,
    score,
    select_samples,
    variant_statistics,
)
from genoviz.analyses.genotypes import dosage_blocks
from genoviz.analyses.genotypes.filters import FilterOptions
from genoviz.model.genotypes.dosages import StoredDosages
from tests.analyses.genotypes.test_association import least_squares
from tests.analyses.genotypes.test_sex_chromosomes import draw
from tests.genotype_sets import draw_genotypes, with_dosages
from tests.oracles.dosages import count_dosages, weigh_dosages
from tests.plink import Plink, numbers, write_table

N = 60
ALL = np.arange(17)


@pytest.fixture(scope="module")
def drawn() -> Genotypes:
    """Return 17 variants of autosomes, X, Y, XY and MT, two thirds of which have dosages."""
    return with_dosages(draw()[0], 3)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(dosage_blocks, "BLOCK_DOSAGES", {"numpy": 3 * N, "cupy": 3 * N})


def test_dosages_are_those_stored_or_the_calls(drawn):
    found, calls = drawn.exact_dosages(ALL), drawn.dosages(slice(None)).astype(float)
    stored = drawn.stored_dosages
    for j in range(17):
        row = stored.rows[j]
        wanted = np.where(calls[:, j] < 0, np.nan, calls[:, j])
        if row >= 0:
            wanted = np.where(stored.values[row] == 65535, np.nan, stored.values[row] / 16384)
        np.testing.assert_array_equal(found[:, j], wanted)
    assert drawn.has_stored_dosages.sum() == 11
    some, who = np.array([5, 2, 16]), np.array([7, 0, 33])
    part = select_samples(select_samples(drawn.take_variants(some), np.arange(40)[::-1]), 39 - who)
    np.testing.assert_array_equal(part.exact_dosages(np.arange(3)), found[who][:, some])
    np.testing.assert_array_equal(part.dosages(slice(None)), drawn.dosages(some)[who])
    assert drawn.take_variants(np.array([0, 3])).stored_dosages is None
    named = replace(drawn, variants=replace(drawn.variants, ids=ALL.astype(str)))
    np.testing.assert_array_equal(condition_columns(named, ["1", "0"]), found[:, [1, 0]])


def test_frequencies_are_of_dosages(drawn):
    found, dosages = variant_statistics(drawn), drawn.exact_dosages(ALL)
    is_male = drawn.samples.sexes == 1
    copies = {"23": 2 - is_male, "24": 1 * is_male, "26": np.full(N, 1)}
    for j, contig in enumerate(np.array(drawn.variants.contigs)[drawn.variants.contig_ids]):
        of_samples = copies.get(contig, np.full(N, 2)).tolist()
        frequency, n_alleles, r2 = count_dosages(dosages[:, j].tolist(), of_samples)
        r2 = np.nan if contig == "26" else r2
        assert found.a1_frequency[j] == pytest.approx(frequency, rel=1e-12)
        assert found.minor_allele_frequency[j] == pytest.approx(min(frequency, 1 - frequency))
        assert found.n_alleles[j] == n_alleles
        assert found.dosage_sums.mach_r2[j] == pytest.approx(r2, rel=1e-9, nan_ok=True)
    called = variant_statistics(drawn.hard_called)
    np.testing.assert_array_equal(found.missing_rate, called.missing_rate)
    np.testing.assert_array_equal(found.hwe_p, called.hwe_p)
    assert called.dosage_sums is None
    kept = filter_genotypes(drawn, FilterOptions(min_maf=0.3))
    wanted = np.flatnonzero(found.minor_allele_frequency >= 0.3)
    np.testing.assert_array_equal(kept.variant_indices, wanted)
    kept = kept.genotypes.exact_dosages(np.arange(len(wanted)))
    np.testing.assert_array_equal(kept, dosages[:, wanted])


def test_linear_scan_is_least_squares(backend):
    genotypes = with_dosages(draw_genotypes(N, 20, 7, missing_rate=0.05), 1)
    constant = genotypes.stored_dosages.rows[4]
    genotypes.stored_dosages.values[constant] = 5000
    rng = np.random.default_rng(2)
    covariates = rng.normal(size=(N, 2))
    dosages = genotypes.exact_dosages(np.arange(20))
    phenotype = np.nan_to_num(dosages[:, 7]) + covariates @ [1, 2] + rng.normal(size=N)
    phenotype[3], covariates[50, 1] = np.nan, np.nan
    scan = associate(genotypes, phenotype, covariates=covariates, backend=backend)
    expected = least_squares(np.delete(dosages, 4, 1), phenotype, covariates)
    found = (scan.beta, scan.standard_error, scan.statistic, scan.n_samples, scan.a1_frequency)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.delete(ours, 4), theirs, rtol=1e-9, atol=1e-12)
    assert np.isnan(scan.beta[4])


def test_logistic_scan_is_statsmodels(backend):
    statsmodels = pytest.importorskip("statsmodels.api")
    genotypes = with_dosages(draw_genotypes(120, 6, 7, missing_rate=0.05), 1)
    case = np.random.default_rng(1).integers(1, 3, 120).astype(float)
    scan = associate(genotypes, case, model="logistic", backend=backend)
    for j, x in enumerate(genotypes.exact_dosages(np.arange(6)).T):
        is_in = np.isfinite(x)
        fit = statsmodels.Logit(case[is_in] == 2, statsmodels.add_constant(x[is_in])).fit(disp=0)
        assert scan.beta[j] == pytest.approx(fit.params[-1], rel=1e-5)
        assert scan.p[j] == pytest.approx(fit.pvalues[-1], rel=1e-4)
        assert scan.n_samples[j] == is_in.sum()


@pytest.mark.parametrize("model", ["linear", "logistic", "firth", "saddle-point"])
@pytest.mark.parametrize("x_model", ["haploid", "diploid"])
def test_whole_dosages_are_as_hard_calls(model, x_model):
    """On X, Y and MT too, where males have other dosages or other covariates."""
    whole = with_dosages(draw()[0], 1, whole=True)
    called = whole.hard_called
    rng = np.random.default_rng(4)
    trait = rng.integers(0, 2, N) if model != "linear" else rng.normal(size=N)
    options = {"covariates": rng.normal(size=(N, 1)), "model": model, "x_model": x_model}
    found, wanted = (associate(each, trait, **options) for each in (whole, called))
    for name in ("beta", "standard_error", "p", "n_samples", "a1_frequency"):
        ours, theirs = getattr(found, name), getattr(wanted, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9, err_msg=name)
    assert found.notes == wanted.notes


def test_scores_are_sums_of_dosages(backend):
    genotypes = with_dosages(draw_genotypes(9, 12, 7, missing_rate=0.1), 1)
    genotypes.stored_dosages.values[genotypes.stored_dosages.rows[5]] = 65535
    rows = np.array([11, 2, 5, 0, 7, 3])
    is_a2 = np.arange(6) % 2 == 1
    variants, weights = genotypes.variants, np.random.default_rng(2).normal(size=(6, 2))
    alleles = np.where(is_a2, variants.allele2[rows], variants.allele1[rows])
    found = score(genotypes, variants.ids[rows], alleles, weights, backend=backend)
    assert found.n_variants == 5
    assert found.notes[0] == "Rows of variants without any genotype, which do not count: 1 of 6."
    kept = rows != 5
    dosages, is_a2 = genotypes.exact_dosages(rows[kept]).tolist(), is_a2[kept].tolist()
    for k in (0, 1):
        wanted = weigh_dosages(dosages, is_a2, weights[kept, k].tolist())
        sums, n_alleles, dosage_sums = np.array(wanted).T
        np.testing.assert_allclose(found.sums[:, k], sums, rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found.n_alleles, n_alleles)
        np.testing.assert_allclose(found.dosage_sums, dosage_sums)


def test_plink_2_has_the_same_results(tmp_path):
    """From dosages that it reads of VCF, and writes as .pgen."""
    pytest.importorskip("pgenlib")
    Plink("plink2", tmp_path)
    rng, n, names = np.random.default_rng(1), 50, ("1", "X", "Y", "MT")
    sexes = 1 + np.arange(n) % 2
    lines = ["##fileformat=VCFv4.2", *(f"##contig=<ID={name}>" for name in names),
             '##FORMAT=<ID=GT,Number=1,Type=String,Description="">',
             '##FORMAT=<ID=DS,Number=1,Type=Float,Description="">',
             "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".replace(" ", "\t")
             + "".join(f"\ts{k}" for k in range(n))]  # fmt: skip
    for j in range(42):
        dosages = np.round(2 * rng.beta(0.6, 0.9, n), 3)
        if j % 5 == 0:
            dosages = np.round(dosages)
        fields = np.where(rng.random(n) < 0.05, ".", dosages.astype(str))
        contig = names[max(0, j - 30) // 3 % 4]
        fields = np.where((contig == "Y") & (sexes == 2), ".", fields)
        head = [contig, str(3_000_000 + j), f"v{j}", *"AG", ".", ".", ".", "GT:DS"]
        lines.append("\t".join([*head, *(f"./.:{field}" for field in fields)]))
    (tmp_path / "x.vcf").write_text("\n".join([*lines, ""]))
    ids = (np.full(n, "0"), np.array([f"s{k}" for k in range(n)]))
    trait, age = rng.normal(size=n) + (sexes == 1), rng.normal(size=n)
    write_table(tmp_path / "sex", ids, {"SEX": sexes})
    write_table(tmp_path / "y", ids, {"y": trait})
    write_table(tmp_path / "c", ids, {"age": age})
    weights = rng.normal(size=40)
    rows = [f"v{j}\t{'GA'[j % 2]}\t{weights[j]:.17g}\n" for j in range(30)]
    (tmp_path / "w").write_text("ID\tA1\tw\n" + "".join(rows))
    run(tmp_path, "--vcf", "x.vcf", "dosage=DS", "--update-sex", "sex", "--make-pgen")
    run(tmp_path, "--pfile", "out", "--freq", "cols=+machr2", "--score", "w", "header",
        "cols=nallele,dosagesum,scoresums", "--pheno", "y", "--covar", "c", "--glm",
        "hide-covar", "omit-ref", "cols=+a1freq")  # fmt: skip
    found = read_genotypes(tmp_path / "out.pgen")
    of_vcf = read_genotypes(tmp_path / "x.vcf").exact_dosages(np.arange(42))
    np.testing.assert_array_equal(of_vcf, found.exact_dosages(np.arange(42)))
    assert 20 < found.has_stored_dosages.sum() < 40
    plink = Plink("plink2", tmp_path)
    statistics, scan = variant_statistics(found), associate(found, trait, covariates=age[:, None])
    scored = score(found, found.variants.ids[:30], np.resize(["G", "A"], 30), weights[:30])
    for ours, (ending, name), rtol in [
        (statistics.a1_frequency, ("afreq", "ALT_FREQS"), 1e-5),
        (statistics.n_alleles, ("afreq", "OBS_CT"), 0),
        (statistics.dosage_sums.mach_r2, ("afreq", "MACH_R2"), 1e-5),
        (scan.beta, ("y.glm.linear", "BETA"), 1e-4),
        (scan.standard_error, ("y.glm.linear", "SE"), 1e-4),
        (scan.p, ("y.glm.linear", "P"), 1e-4),
        (scan.n_samples, ("y.glm.linear", "OBS_CT"), 0),
        (scored.n_alleles, ("sscore", "ALLELE_CT"), 0),
        (scored.dosage_sums, ("sscore", "NAMED_ALLELE_DOSAGE_SUM"), 1e-5),
        (scored.sums[:, 0], ("sscore", "SCORE1_SUM"), 1e-4),
    ]:
        theirs = numbers(plink.table(ending)[name])
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-5 * (rtol > 0), err_msg=name)


def run(folder, *arguments: str) -> None:
    command = ["plink2", *arguments, "--threads", "1", "--memory", "2000", "--out", "out"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ((np.zeros((1, 60)), np.zeros(17, int)), "stored dosages are float64 of 2 dimensions"),
        ((np.zeros((1, 60), np.uint16), np.ones(17, int)), "have 1 row, and a variant has row 1"),
        ((np.zeros((1, 60), np.uint16), np.zeros(16, int)), "are of 16 variants and 60 samples"),
        ((np.zeros((1, 61), np.uint16), np.zeros(17, int)), "are of 17 variants and 61 samples"),
    ],
)
def test_dosages_that_do_not_fit_are_refused(drawn, stored, words):
    with pytest.raises(ParameterError, match=words):
        replace(drawn, stored_dosages=StoredDosages(*stored))
