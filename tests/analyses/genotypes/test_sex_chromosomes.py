"""X, Y, XY and MT are treated as PLINK 2 treats them, and as a slow count says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from genoviz import (
    Genotypes,
    ParameterError,
    SampleTable,
    VariantTable,
    associate,
    condition_columns,
    gblup,
    hardy_weinberg_p,
    iter_linkage_windows,
    linkage,
    principal_components,
    prune_by_linkage,
    relationship_matrix,
    sample_statistics,
    snp_blup,
    variant_statistics,
    write_plink,
)
from genoviz.analyses.genotypes.filters import FilterOptions, filter_genotypes
from genoviz.analyses.genotypes.sex_chromosomes import take_autosomes
from genoviz.model.genotypes.chromosomes import Kind, chromosome_names
from tests.oracles.genotypes import DOSAGE, pack
from tests.plink import Plink, numbers, write_table

N = 60
CONTIGS = ("1", "23", "24", "25", "26")
SIZES = (4, 5, 3, 2, 3)
X, Y, XY, MT = slice(4, 9), slice(9, 12), slice(12, 14), slice(14, 17)
HUMAN = {"species": ()}


def draw(n=N, sizes=SIZES, seed=5):
    """Return genotypes of X (23), Y, XY and MT: 25 males, 25 females, 10 of unknown sex.

    Some calls of females at Y are there, and the last variants of X, Y and MT have heterozygous
    calls of those who have one copy.
    """
    rng = np.random.default_rng(seed)
    sexes = rng.permutation([1] * (5 * n // 12) + [2] * (5 * n // 12) + [0] * (n - 10 * n // 12))
    contig_ids = np.repeat(np.arange(5, dtype=np.int32), sizes)
    codes = np.zeros((n, len(contig_ids)), int)
    for j, contig in enumerate(contig_ids):
        p = rng.uniform(0.2, 0.6)
        dosage = rng.binomial(2, p, n)
        if contig == 1:
            dosage = np.where(sexes == 1, 2 * rng.binomial(1, p, n), dosage)
        if contig in (2, 4):
            dosage = 2 * rng.binomial(1, p, n)
        code = np.array([3, 2, 0])[dosage]
        code[rng.random(n) < 0.06] = 1
        if contig == 2:
            code[(sexes == 2) & (rng.random(n) < 0.6)] = 1
        codes[:, j] = code
    for j in np.cumsum(sizes)[[1, 2, 4]] - 1:
        codes[rng.permutation(n)[:8], j] = 2
    names = np.array([f"s{k}" for k in range(n)])
    none = np.full(n, "0")
    samples = SampleTable(np.array([f"f{k}" for k in range(n)]), names, none, none,
                          sexes.astype(np.uint8))  # fmt: skip
    m = len(contig_ids)
    variants = VariantTable(
        CONTIGS, contig_ids, 1000 * np.arange(m), np.array([f"v{j}" for j in range(m)]),
        np.full(m, "A"), np.full(m, "G"), np.zeros(m),
    )  # fmt: skip
    trait = rng.normal(size=n) + 0.3 * (sexes == 1) + codes[:, 5] * 0.2
    return Genotypes(pack(codes), samples, variants), np.round(trait, 5), codes


@pytest.fixture(scope="module")
def drawn():
    return draw()


@pytest.fixture
def plink(drawn, tmp_path):
    write_plink(drawn[0], tmp_path / "t", phenotype=drawn[1])

    def run(*arguments, program="plink2"):
        found = Plink(program, tmp_path)
        found(tmp_path / "t", *arguments, **HUMAN)
        return found

    return run


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ("23 X x chrX CHRX chr23 ChrX chr_X 0X 023 chromosomeX", 1),
        ("24 Y y chrY chr24 0Y", 2),
        ("25 XY xy chrXY par1 PAR2 chrPAR1 PAR", 3),
        ("26 MT mt M m chrM chrMT chr26 MITO 0M", 4),
        ("1 22 0 chr7 chrUn scaffold23 X1 23a chr ZZ 2L chr23_random HLA-X", 0),
    ],
)
def test_every_spelling_of_a_chromosome_is_known(names, kind, backend):
    spelled = {*chromosome_names(names.split())}
    assert spelled == {Kind(kind).name} or (kind == 0 and len(spelled) == len(names.split()))
    for name in names.split():
        genotypes, _, _ = draw()
        variants = replace(genotypes.variants, contigs=("1", name, "2", "3", "4"))
        found = replace(genotypes, variants=variants)
        assert found.kinds.tolist() == [0] * 4 + [kind] * 5 + [0] * 8
        same = replace(genotypes, variants=replace(variants, contigs=(*"1a235",)))
        is_as_autosome = kind in (0, 3)
        alleles = [variant_statistics(g, backend=backend).n_alleles[8] for g in (found, same)]
        assert (alleles[0] == alleles[1]) == is_as_autosome


def test_numbers_follow_the_autosomes_of_the_species(drawn):
    genotypes = drawn[0]
    cattle = replace(genotypes, n_autosomes=29)
    assert not cattle.kinds.any()
    variants = replace(genotypes.variants, contigs=("29", "30", "31", "32", "33"))
    assert replace(cattle, variants=variants).kinds.tolist() == genotypes.kinds.tolist()
    words = "contig '29' is not a chromosome of humans, whose numbers end with 26"
    for measure in (variant_statistics, sample_statistics, relationship_matrix,
                    principal_components, linkage_of_all, prune_by_linkage):  # fmt: skip
        with pytest.raises(ParameterError, match=words):
            measure(replace(genotypes, variants=variants))
    with pytest.raises(
        ParameterError, match="'30' is not a chromosome of a species of 25 autosomes"
    ):
        variant_statistics(replace(genotypes, variants=variants, n_autosomes=25))
    with pytest.raises(ParameterError, match="n_autosomes is 0, needs to be 1 or more"):
        replace(genotypes, n_autosomes=0)


def linkage_of_all(genotypes):
    return linkage(genotypes, slice(None))


def test_frequencies_are_those_of_the_copies_there_are(drawn, backend):
    genotypes, _, codes = drawn
    found = variant_statistics(genotypes, backend=backend)
    sexes = genotypes.samples.sexes
    for j, kind in enumerate(genotypes.kinds.tolist()):
        n_a1 = n_all = n_missing = n_samples = 0
        for code, sex in zip(codes[:, j].tolist(), sexes.tolist(), strict=True):
            copies = {1: 1 if sex == 1 else 2, 2: sex == 1, 4: 1}.get(kind, 2)
            n_samples += copies > 0
            n_missing += copies > 0 and code == 1
            if code != 1:
                n_a1 += DOSAGE[code] / 2 * copies
                n_all += copies
        assert found.a1_frequency[j] == pytest.approx(n_a1 / n_all)
        assert found.n_alleles[j] == n_all
        assert found.missing_rate[j] == pytest.approx(n_missing / n_samples)


def test_frequencies_missing_rates_and_tests_have_the_numbers_of_plink(drawn):
    """Numbers of PLINK v2.00a3.5, ``--freq --hardy --missing --het``."""
    found, samples = variant_statistics(drawn[0]), sample_statistics(drawn[0])
    frequencies = [0.461538, 0.647059, 0.516484, 0.625, 0.375, 0.612069, 0.263158, 0.413793]
    at = [0, 4, 8, 9, 11, 12, 14, 16]
    np.testing.assert_allclose(found.a1_frequency[at], frequencies, atol=1e-6)
    assert found.n_alleles[at].tolist() == [104, 85, 91, 24, 24, 116, 57, 58]
    p = [0.788917, 0.121903, 0.635555, 0.733967, 0.1258]
    np.testing.assert_allclose(found.hwe_p[X], p, rtol=1e-5)
    assert np.isnan(found.hwe_p[Y]).all()
    assert np.isnan(found.hwe_p[MT]).all()
    np.testing.assert_allclose(found.hwe_p[XY], [0.266655, 0.749405], rtol=1e-5)
    np.testing.assert_allclose(samples.missing_rate[3:5], [2 / 14, 2 / 17])
    assert samples.inbreeding[0] == pytest.approx(0.228405, rel=1e-4)


def test_statistics_are_plinks(drawn, plink):
    genotypes = drawn[0]
    out = plink("--freq", "--hardy", "--missing", "--het")
    found, samples = variant_statistics(genotypes), sample_statistics(genotypes)
    np.testing.assert_allclose(found.a1_frequency, out.column("afreq", "ALT_FREQS"), atol=2e-6)
    assert found.n_alleles.tolist() == out.column("afreq", "OBS_CT").tolist()
    np.testing.assert_allclose(found.missing_rate, out.column("vmiss", "F_MISS"), atol=2e-6)
    np.testing.assert_allclose(samples.missing_rate, out.column("smiss", "F_MISS"), atol=2e-6)
    assert samples.n_variants.tolist() == out.column("smiss", "OBS_CT").tolist()
    np.testing.assert_allclose(found.hwe_p[X], out.column("hardy.x", "P"), rtol=1e-5)
    np.testing.assert_allclose(found.hwe_p[[0, 1, 2, 3, 12, 13]], out.column("hardy", "P"),
                               rtol=1e-5)  # fmt: skip
    np.testing.assert_allclose(samples.inbreeding, out.column("het", "F"), atol=2e-6)


def test_nobody_of_known_sex_leaves_x_untested(drawn):
    genotypes = drawn[0]
    samples = replace(genotypes.samples, sexes=np.zeros(N, np.uint8))
    found = variant_statistics(replace(genotypes, samples=samples))
    assert np.isnan(found.hwe_p[4:12]).all()
    assert np.isnan(found.a1_frequency[Y]).all()
    unknown = replace(genotypes, samples=samples)
    # As in PLINK, what cannot be tested stays, and what nobody has goes with those that are rare.
    kept = filter_genotypes(unknown, FilterOptions(min_hwe_p=1e-9))
    assert kept.variant_indices.tolist() == [*range(17)]
    kept = filter_genotypes(unknown, FilterOptions(min_maf=1e-9))
    assert not np.isin(Y, kept.variant_indices).any()


def sum_at_x(females, males, *, is_mid):
    """Return the p value at X by all outcomes; of counts of homozygotes, missing, both, others."""
    n_females, n_males = females[0] + females[2] + females[3], males[0] + males[3]
    n_one = 2 * females[0] + females[2] + males[0]
    weights = {}
    for with_one in range(n_males + 1):
        for both in range(n_females + 1):
            one, odd = divmod(n_one - with_one - both, 2)
            other = n_females - one - both
            if not odd and one >= 0 and other >= 0:
                below = factorial(with_one) * factorial(n_males - with_one)
                below *= factorial(one) * factorial(both) * factorial(other)
                weights[with_one, both] = Fraction(2**both, below)
    observed = weights[males[0], females[2]]
    likely = sum(w for w in weights.values() if w <= observed)
    ties = sum(w for w in weights.values() if w == observed)
    return float((likely - is_mid * ties / 2) / sum(weights.values()))


@pytest.mark.parametrize("is_mid", [False, True])
def test_the_test_at_x_sums_all_outcomes(is_mid):
    rng = np.random.default_rng(0)
    for _ in range(60):
        females, males = (rng.integers(0, rng.integers(1, 25), 4).tolist() for _ in range(2))
        p = hardy_weinberg_p([females], of_males=[males], mid_p=is_mid)[0]
        assert p == pytest.approx(sum_at_x(females, males, is_mid=is_mid), rel=1e-9, abs=1e-15)
    p = hardy_weinberg_p([[0, 0, 0, 0]], of_males=[[5, 0, 0, 3]], mid_p=is_mid)[0]
    assert p == pytest.approx(1 - is_mid * 0.5)
    counts = [[9000, 0, 1000, 9000]]
    assert hardy_weinberg_p(counts, of_males=[[5000, 0, 0, 5000]], mid_p=is_mid)[0] == 0
    with pytest.raises(ParameterError, match=r"of_males has shape \(1, 2\), needs \(1, 4\)"):
        hardy_weinberg_p(counts, of_males=[[1, 2]])


LINEAR = {  # PLINK v2.00a3.5, --glm: of A1 A, beta, SE, samples
    "skip": {4: None, 9: (0.305083, 0.466032, 24), 14: (-0.758685, 0.30841, 57)},
    "haploid": {4: (-0.303094, 0.313036, 43), 8: (0.00967593, 0.332378, 47)},
    "diploid": {
        0: (0.00385818, 0.227987, 52),
        4: (-0.0884024, 0.219431, 43),
        8: (-0.0643187, 0.220091, 47),
        11: (0.298196, 0.497942, 24),
        12: (0.164974, 0.192604, 58),
        16: (0.281917, 0.317002, 58),
    },
}


@pytest.mark.parametrize("x_model", LINEAR)
def test_linear_effects_have_the_numbers_of_plink(drawn, x_model, backend):
    genotypes, trait, _ = drawn
    scan = associate(genotypes, trait, x_model=x_model, backend=backend)
    for variant, wanted in LINEAR[x_model].items():
        found = scan.beta[variant], scan.standard_error[variant], scan.n_samples[variant]
        if wanted is None:
            assert np.isnan(scan.beta[X]).all()
        else:
            np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert len(scan.notes) == 3
    assert ("not tested" in scan.notes[0]) == (x_model == "skip")


@pytest.mark.parametrize("model", ["linear", "logistic"])
@pytest.mark.parametrize("x_model", [0, 1, 2])
def test_associations_are_plinks(drawn, plink, tmp_path, model, x_model):
    genotypes, trait, _ = drawn
    age = np.random.default_rng(1).normal(size=N).round(5)
    y = trait if model == "linear" else 1.0 + (trait > np.median(trait))
    who = genotypes.samples.family_ids, genotypes.samples.ids
    pheno = write_table(tmp_path / "p.txt", who, {"y": y})
    covar = write_table(tmp_path / "c.txt", who, {"age": age})
    how = ["no-firth"] if model == "logistic" else []
    out = plink("--glm", "hide-covar", *how, "--xchr-model", str(x_model), "--pheno", str(pheno),
                "--covar", str(covar))  # fmt: skip
    table = out.table(f"y.glm.{model}")
    scan = associate(genotypes, y, covariates=age[:, None], model=model,
                     x_model=("skip", "haploid", "diploid")[x_model])  # fmt: skip
    rows = [int(name[1:]) for name in table["ID"]]
    assert rows == np.flatnonzero(np.isfinite(scan.beta)).tolist()
    signs = np.where(table["A1"] == "A", 1, -1)
    theirs = numbers(table["BETA"]) if model == "linear" else np.log(numbers(table["OR"]))
    np.testing.assert_allclose(scan.beta[rows] * signs, theirs, rtol=1e-4, atol=2e-5)
    assert scan.n_samples[rows].tolist() == numbers(table["OBS_CT"]).tolist()
    if model == "linear":
        np.testing.assert_allclose(scan.standard_error[rows], numbers(table["SE"]), rtol=1e-5)
        np.testing.assert_allclose(scan.p[rows], numbers(table["P"]), rtol=1e-4)


@pytest.mark.parametrize("x_model", ["haploid", "diploid"])
def test_frequencies_of_scans_are_of_the_copies_of_those_who_are_tested(drawn, x_model):
    """With children of others too; a heterozygous call of one copy counts as half of one."""
    genotypes, trait, codes = drawn
    trait = trait.copy()
    trait[::3] = np.nan
    fathers, family = np.where(np.arange(N) % 4 == 2, "s1", "0"), np.full(N, "f")
    samples = replace(genotypes.samples, father_ids=fathers, family_ids=family)
    genotypes = replace(genotypes, samples=samples)
    scan = associate(genotypes, trait, x_model=x_model)
    sexes, all_of = genotypes.samples.sexes, np.full(N, True)
    is_male = sexes == 1
    # At X sex is a covariate, so that of each sample must be known.
    for place, tested, one_copy in (
        (X, sexes > 0, is_male), (Y, is_male, is_male), (MT, all_of, all_of)
    ):  # fmt: skip
        for j in range(place.start, place.stop):
            n_copies = n_counted = 0
            for i in np.flatnonzero(~np.isnan(trait) & tested):
                dosage = DOSAGE[codes[i, j]]
                if not np.isnan(dosage):
                    n_copies += 1 if one_copy[i] else 2
                    n_counted += dosage / 2 if one_copy[i] else dosage
            assert scan.a1_frequency[j] == pytest.approx(n_counted / n_copies), j


@pytest.mark.parametrize("x_model", [1, 2])
def test_tests_conditional_on_a_variant_of_x_are_plinks(drawn, plink, tmp_path, x_model):
    genotypes, trait, _ = drawn
    name, model = str(genotypes.variants.ids[X][2]), ("", "haploid", "diploid")[x_model]
    who = genotypes.samples.family_ids, genotypes.samples.ids
    pheno = write_table(tmp_path / "p.txt", who, {"y": trait})
    table = plink("--glm", "hide-covar", "allow-no-covars", "--xchr-model", str(x_model),
                  "--pheno", str(pheno), "--condition", name).table("y.glm.linear")  # fmt: skip
    columns = condition_columns(genotypes, [name], x_model=model)
    scan = associate(genotypes, trait, covariates=columns, x_model=model)
    rows = [int(name[1:]) for name in table["ID"]]
    assert len(rows) > 10  # PLINK leaves out more, which are nearly collinear
    signs = np.where(table["A1"] == "A", 1, -1)
    theirs = numbers(table["BETA"])
    np.testing.assert_allclose(scan.beta[rows] * signs, theirs, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("x_model", ["haploid", "diploid"])
def test_logistic_effects_at_x_are_those_of_a_fit_of_all(drawn, x_model, backend):
    genotypes, trait, codes = drawn
    y, sexes = trait > np.median(trait), genotypes.samples.sexes
    scan = associate(genotypes, y, model="logistic", x_model=x_model, backend=backend)
    for variant in range(4, 9):
        dosage = np.array([DOSAGE[code] for code in codes[:, variant]])
        dosage = np.where((sexes == 1) & (x_model == "haploid"), dosage / 2, dosage)
        rows = ~np.isnan(dosage) & (sexes > 0)
        columns = np.column_stack([np.ones(rows.sum()), sexes[rows], dosage[rows]])
        found = np.zeros(3)
        for _ in range(40):
            fitted = 1 / (1 + np.exp(-columns @ found))
            hessian = (columns * (fitted * (1 - fitted))[:, None]).T @ columns
            found += np.linalg.solve(hessian, columns.T @ (y[rows] - fitted))
        assert scan.beta[variant] == pytest.approx(found[2], rel=1e-6)
        error = np.sqrt(np.linalg.inv(hessian)[2, 2])
        assert scan.standard_error[variant] == pytest.approx(error, rel=1e-5)


@pytest.mark.parametrize("x_model", ["haploid", "diploid"])
def test_a_missing_genotype_at_x_has_the_mean_of_its_sex_in_the_score_test(drawn, x_model, backend):
    genotypes, trait, codes = drawn
    sexes = genotypes.samples.sexes
    rows, y = sexes > 0, trait > np.median(trait)
    scan = associate(genotypes, y, model="saddle-point", x_model=x_model, backend=backend)
    is_male, y = sexes[rows] == 1, y[rows]
    columns = np.column_stack([np.ones(rows.sum()), is_male])
    fitted = np.where(is_male, y[is_male].mean(), y[~is_male].mean())
    weighted = columns * (fitted * (1 - fitted))[:, None]
    for variant in range(4, 9):
        dosage = np.array([DOSAGE[code] for code in codes[rows, variant]])
        dosage = np.where(np.isnan(dosage), np.nanmean(dosage), dosage)
        dosage = np.where(is_male & (x_model == "haploid"), dosage / 2, dosage)
        left = dosage - columns @ np.linalg.solve(weighted.T @ columns, weighted.T @ dosage)
        effect = left @ (y - fitted) / (left**2 @ (fitted * (1 - fitted)))
        assert scan.beta[variant] == pytest.approx(effect, rel=1e-5)


def test_covariates_that_say_nothing_new_there_are_left_out(drawn):
    genotypes, trait, _ = drawn
    sexes = np.where(genotypes.samples.sexes > 0, genotypes.samples.sexes, np.nan)
    with_sex = associate(genotypes, trait, covariates=sexes[:, None])
    without = associate(genotypes, trait)
    np.testing.assert_allclose(with_sex.beta[4:12], without.beta[4:12])
    nobody = replace(genotypes.samples, sexes=np.full(N, 2, np.uint8))
    scan = associate(replace(genotypes, samples=nobody), trait)
    assert np.isnan(scan.beta[Y]).all()
    assert scan.notes[1].startswith("Y is not tested: ")
    assert "sex" not in scan.notes[0]


def test_linkage_is_plinks(drawn, plink):
    genotypes = drawn[0]
    for contig, variants in (("23", X), ("24", Y), ("26", MT)):
        out = plink("--r2", "square", "--keep-allele-order", "--chr", contig, program="plink1.9")
        np.testing.assert_allclose(linkage(genotypes, variants), out.matrix("ld"), rtol=1e-5)


def test_variants_of_x_are_pruned_by_the_linkage_of_copies(drawn):
    genotypes = drawn[0].take_variants(X)
    kept = np.flatnonzero(prune_by_linkage(genotypes, max_r2=0.02))
    r2 = linkage(genotypes, slice(None))
    assert kept.tolist() == [2, 4]
    assert r2[2, 4] <= 0.02
    assert (r2[kept][:, [0, 1, 3]].max(0) > 0.02).all()
    windows = dict(enumerate(next(iter_linkage_windows(genotypes, window=5))[1]))
    np.testing.assert_allclose(windows[0], r2[0, 1:])


def test_linkage_at_x_has_the_numbers_of_plink(drawn):
    """Numbers of PLINK v1.90b6.26, ``--r2 square``, of X and of Y."""
    at_x = linkage(drawn[0], X)
    np.testing.assert_allclose(at_x[0, 1:], [0.0351433, 0.00647841, 0.0154044, 0.130225], rtol=1e-5)
    np.testing.assert_allclose(linkage(drawn[0], Y)[2, :2], [0.114219, 0.0633176], rtol=1e-5)


def test_autosomes_in_a_row_are_taken_without_a_copy(drawn):
    genotypes = drawn[0]
    before_xy = genotypes.take_variants(slice(0, 12))
    taken, kept = take_autosomes(before_xy)
    assert (kept, taken.n_variants) == (slice(0, 4), 4)
    assert np.shares_memory(taken.packed, before_xy.packed)
    assert take_autosomes(genotypes)[1].tolist() == [0, 1, 2, 3, 12, 13]


def test_relationships_and_components_are_of_autosomes(drawn, plink, backend):
    genotypes = drawn[0]
    kept = np.r_[0:4, 12:14]
    alone = genotypes.take_variants(kept)
    matrix = relationship_matrix(genotypes, method="gcta", backend=backend)
    assert matrix.n_variants == 6
    np.testing.assert_array_equal(
        matrix.values, relationship_matrix(alone, method="gcta", backend=backend).values
    )
    found = principal_components(genotypes, n_components=2, backend=backend)
    np.testing.assert_allclose(
        found.loadings[kept], principal_components(alone, n_components=2, backend=backend).loadings
    )
    assert not found.loadings[4:12].any()
    assert relationship_matrix(genotypes, contigs="all").n_variants == 17
    assert principal_components(genotypes, n_components=2, contigs="all").loadings[14].any()
    out = plink("--make-rel", "square")
    np.testing.assert_allclose(matrix.values, out.matrix("rel"), atol=1e-5)


@pytest.mark.parametrize("predict", [snp_blup, gblup])
def test_predictions_are_of_autosomes(drawn, predict, backend):
    genotypes, trait, _ = drawn
    kept = np.r_[0:4, 12:14]
    found = predict(genotypes, trait, backend=backend)
    alone = predict(genotypes.take_variants(kept), trait, backend=backend)
    np.testing.assert_allclose(found.breeding_values, alone.breeding_values)
    np.testing.assert_allclose(found.effects[kept], alone.effects)
    assert not found.effects[np.r_[4:12, 14:17]].any()
    assert predict(genotypes, trait, contigs="all", backend=backend).effects.all()
    with pytest.raises(ParameterError, match=r"all 5 variants are of X, Y or mitochondria"):
        predict(genotypes.take_variants(X), trait)
    with pytest.raises(ParameterError, match="contigs is 'x', needs one of autosomes, all"):
        predict(genotypes, trait, contigs="x")
