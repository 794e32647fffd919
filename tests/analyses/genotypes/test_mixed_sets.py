"""Tests of sets in a mixed model against dense generalised least squares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import ParameterError, mixed_associate, mixed_associate_sets, set_statistics
from genoviz.analyses.genotypes.association import mixed_sets
from tests.genotype_sets import draw_genotypes, draw_trait
from tests.oracles import mixed_models, set_tests
from tests.oracles.genotypes import dosages_of

N, M = 200, 150
GENOTYPES = draw_genotypes(N, M, 1, n_contigs=3, n_populations=3, missing_rate=0.03)
DOSAGES = dosages_of(GENOTYPES.packed, N)
CONTIGS = GENOTYPES.variants.contig_ids
AGE = np.random.default_rng(2).standard_normal(N)
PHENOTYPE = draw_trait(GENOTYPES, 7, heritability=0.7)[0] + AGE
PHENOTYPE[::9] = np.nan
USED = np.flatnonzero(~np.isnan(PHENOTYPE))
DESIGN = np.column_stack([np.ones(len(USED)), AGE[USED]])
PLACES = [np.flatnonzero(k == CONTIGS) for k in range(3)]
SETS = {"a": PLACES[0][3:9], "b": PLACES[2][:7], "c": PLACES[0][5:20], "d": PLACES[1][[4]]}
OPTIONS = {"covariates": AGE[:, None], "max_maf": 0.45, "backend": "cpu"}
NAMES = (
    "n_variants", "n_carriers", "beta", "standard_error", "burden_log10_p", "skat_q",
    "skat_log10_p", "acat_log10_p", "acat_v_log10_p",
)  # fmt: skip


def wanted_of(rows, variances, others):
    z, scale = mixed_models.centred(DOSAGES[USED][:, others])
    v = mixed_models.covariance_of(variances, [z @ z.T / scale])
    dosages = DOSAGES[np.ix_(USED, rows)]
    return set_tests.statistics_of(PHENOTYPE[USED], DESIGN, dosages, 0.45, True, v)


@pytest.mark.parametrize("leave_out", ["chromosome", "none"])
def test_exact_tests_are_generalised_least_squares(leave_out):
    found = mixed_associate_sets(GENOTYPES, PHENOTYPE, SETS, leave_out=leave_out, **OPTIONS)
    del (options := {**OPTIONS})["max_maf"]
    scan = mixed_associate(GENOTYPES, PHENOTYPE, leave_out=leave_out, **options)
    for k, rows in enumerate(SETS.values()):
        chromosome = CONTIGS[rows[0]]
        others = chromosome != CONTIGS if leave_out == "chromosome" else CONTIGS >= 0
        variances = scan.variances[chromosome if leave_out == "chromosome" else 0]
        wanted, u, s = wanted_of(rows, variances, others)
        values = [getattr(found, name)[k] for name in NAMES]
        np.testing.assert_allclose(values, wanted, rtol=1e-6)
        skat_o = set_statistics(u, s).skat_o_log10_p
        assert found.skat_o_log10_p[k] == pytest.approx(skat_o, rel=1e-6)
    assert "tests are exact" in found.notes[0]
    assert found.n_samples == len(USED)


def test_a_phenotype_that_covariates_explain_is_refused():
    with pytest.raises(ParameterError, match="explain the phenotype entirely"):
        mixed_associate_sets(GENOTYPES, 2 * AGE + 1, SETS, **OPTIONS)


def test_calibrated_tests_are_near_and_refined_ones_exact(monkeypatch):
    options = {**OPTIONS, "tests": "calibrated"}
    plain = mixed_associate_sets(GENOTYPES, PHENOTYPE, SETS, refine_below=0, **options)
    assert "tests are calibrated by" in plain.notes[0]
    fine = mixed_associate_sets(GENOTYPES, PHENOTYPE, SETS, refine_below=1, **options)
    assert "exact for the 4 of lowest p" in fine.notes[0]
    del options["max_maf"]
    variances = mixed_associate(GENOTYPES, PHENOTYPE, **options).variances[0]
    for k, rows in enumerate(SETS.values()):
        wanted, u, s = wanted_of(rows, variances, CONTIGS[rows[0]] != CONTIGS)
        values = [getattr(fine, name)[k] for name in NAMES]
        np.testing.assert_allclose(values, wanted, rtol=1e-5)
        assert fine.skat_o_log10_p[k] == pytest.approx(set_statistics(u, s).skat_o_log10_p, 1e-5)
        assert plain.skat_q[k] == pytest.approx(wanted[5], rel=1e-3)
        assert plain.standard_error[k] == pytest.approx(wanted[3], rel=0.25)
    monkeypatch.setattr(mixed_sets, "MAX_RETESTED", 15)
    options["max_maf"] = 0.45
    some = mixed_associate_sets(GENOTYPES, PHENOTYPE, SETS, refine_below=1, **options)
    is_exact = some.skat_log10_p == fine.skat_log10_p
    assert 0 < is_exact.sum() < 4
    assert (is_exact | (some.skat_log10_p == plain.skat_log10_p)).all()


def test_sets_of_several_chromosomes_and_of_x_are_told():
    sets = {"both": np.append(PLACES[0][3:9], PLACES[1][:6]), "small": PLACES[0][:1], **SETS}
    found = mixed_associate_sets(GENOTYPES, PHENOTYPE, sets, min_variants=2, **OPTIONS)
    assert np.isnan(found.skat_q).tolist() == [True, True, False, False, False, True]
    assert "Not tested: 1 set, with variants on several chromosomes." in found.notes
    assert "Not tested: 2 of 5 sets, with fewer than 2 variants" in found.notes[-1]
    variants = GENOTYPES.variants
    same = replace(variants, contigs=("1", "chr1", *variants.contigs[2:]))
    found = mixed_associate_sets(replace(GENOTYPES, variants=same), PHENOTYPE, sets, **OPTIONS)
    assert np.isfinite(found.skat_q[0])
    found = mixed_associate_sets(
        GENOTYPES, PHENOTYPE, sets, min_variants=2, leave_out="none", **OPTIONS
    )
    assert np.isfinite(found.skat_q[0])
    names = ("X", *GENOTYPES.variants.contigs[1:])
    on_x = replace(GENOTYPES, variants=replace(GENOTYPES.variants, contigs=names))
    found = mixed_associate_sets(on_x, PHENOTYPE, sets, **OPTIONS)
    assert (found.n_variants[:3] > 0).tolist() == [True, False, False]
    assert "Variants of X, Y or MT are not tested." in found.notes
    for name in ("leave_out", "tests"):
        with pytest.raises(ParameterError, match=f"{name} is 'x', needs one of"):
            mixed_associate_sets(GENOTYPES, PHENOTYPE, SETS, **{name: "x"})
