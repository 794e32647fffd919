"""Tables of associations have the same effects, whatever program wrote them."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import FileFormatError, associate, read_associations, simulate_genotypes, write_plink
from tests.plink import Plink


def write_phenotypes(folder, genotypes, values):
    rows = zip(genotypes.samples.family_ids, genotypes.samples.ids, values, strict=True)
    (folder / "y.txt").write_text("".join(f"{f} {i} {value}\n" for f, i, value in rows))


@pytest.mark.parametrize(
    ("program", "model", "ending", "arguments"),
    [
        ("plink2", "linear", "PHENO1.glm.linear", "--glm allow-no-covars"),
        ("plink2", "linear", "PHENO1.glm.linear", "--glm allow-no-covars log10 cols=+ax"),
        ("plink2", "logistic", "PHENO1.glm.logistic", "--glm allow-no-covars no-firth"),
        ("plink1.9", "linear", "assoc.linear", "--linear"),
        ("plink1.9", "linear", "assoc.linear", "--linear --ci 0.95"),
        ("plink1.9", "logistic", "assoc.logistic", "--logistic"),
        ("plink1.9", "logistic", "assoc.logistic", "--logistic --ci 0.95"),
    ],
)
def test_effects_of_plink_are_ours(tmp_path, program, model, ending, arguments):
    plink = Plink(program, tmp_path)
    genotypes = simulate_genotypes(120, 20, seed=3)
    rng = np.random.default_rng(1)
    values = rng.normal(size=120) if model == "linear" else rng.integers(1, 3, 120)
    write_plink(genotypes, tmp_path / "g")
    write_phenotypes(tmp_path, genotypes, values)
    plink(tmp_path / "g", "--pheno", str(tmp_path / "y.txt"), *arguments.split())
    found = read_associations(tmp_path / f"out.{ending}")
    scan, variants = associate(genotypes, values, model=model), genotypes.variants
    assert found["id"].to_list() == variants.ids.tolist()
    assert found["position"].to_list() == (variants.positions + 1).tolist()
    is_same = found["a1"].to_numpy() == variants.allele1
    if program == "plink2":
        assert (
            found["a2"].to_numpy() == np.where(is_same, variants.allele2, variants.allele1)
        ).all()
    else:
        assert found["a2"].null_count() == found.height
    sign = np.where(is_same, 1, -1)
    np.testing.assert_allclose(found["beta"] * sign, scan.beta, rtol=3e-3, atol=6e-4)
    # Without --ci, SE is that of an odds ratio of four digits, rough where that is close to 1.
    is_told = np.abs(scan.beta) > 0.04
    np.testing.assert_allclose(found["se"].filter(is_told), scan.standard_error[is_told], rtol=2e-2)
    np.testing.assert_array_equal(found["n"], scan.n_samples)


@pytest.mark.parametrize(
    ("header", "row", "wanted"),
    [
        ("#CHROM POS ID A1 A2 A1_FREQ OBS_CT BETA SE STAT P NEG_LOG10_P",
         "2 7 x A G 0.1 50 -0.5 0.1 -5 1e-6 6", ("2", 7, "x", "A", "G", -0.5, 0.1, 50)),
        ("chromosome base_pair_location effect_allele other_allele beta odds_ratio standard_error",
         "2 1e5 A G NA 2 0.1", ("2", 100000, None, "A", "G", np.log(2), 0.1, np.nan)),
        ("CHROM GENPOS ID ALLELE0 ALLELE1 A1FREQ N TEST BETA SE CHISQ LOG10P",
         "2 7 . G A 0.1 50 ADD 0.5 0.1 25 6.2", ("2", 7, None, "A", "G", 0.5, 0.1, 50)),
        ("chr rs ps n_miss allele1 allele0 af beta se p_wald",
         "2 x 7 0 A G 0.1 0.5 0.1 1e-6", ("2", "x", 7, "A", "G", 0.5, 0.1, np.nan)),
        ("#CHROM POS ID REF ALT A1 TEST OBS_CT OR LOG(OR)_SE Z_STAT P ERRCODE",
         "2 7 x C A,T A ADD 50 0 0.1 1 1 .", ("2", 7, "x", "A", None, -np.inf, 0.1, 50)),
        ("CHR SNP BP A1 TEST NMISS BETA STAT P",
         "2 x 7 A ADD 50 -0.5 -5 0.1", ("2", 7, "x", "A", None, -0.5, 0.1, 50)),
        ("CHROM POS REF ALT effect SE", "2 7 C A 1 .", ("2", 7, None, "A", "C", 1, np.nan, np.nan)),
    ],
)  # fmt: skip
def test_columns_are_found_by_their_usual_names(tmp_path, header, row, wanted):
    path = tmp_path / "t.txt"
    others = [row.replace("ADD", "COV1")] if "TEST" in header else []
    path.write_text("\n".join([header, *others, row]) + "\n")
    frame = read_associations(path)
    found = frame.row(0)
    assert frame.height == 1
    if wanted[1] == "x":
        wanted = (wanted[0], wanted[2], wanted[1], *wanted[3:])
    assert found[:5] == wanted[:5]
    np.testing.assert_allclose(found[5:], wanted[5:], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "CHR BP A1 A2 SE\n1 1 A G 1\n",
            "needs BETA, effect, log_odds, OR or odds_ratio for effec",
        ),
        ("CHR BP A1 A2 OR\n1 1 A G 1\n", "needs SE, .* for standard errors"),
        ("SNP A1 A2 BETA SE\nx A G 1 1\n", "for contigs"),
        ("CHR BP BETA SE\n1 1 1 1\n", "for the alleles of effects"),
        ("CHR BP A1 A2 BETA SE\n1 1.5 A G 1 1\n", "line 2: column BP has 1.5, needs whole numbers"),
        ("CHR BP A1 A2 BETA SE\n1 1 A G 1 -1\n", "line 2: SE is -1, needs to be at least 0"),
        ("CHR BP A1 A2 OR SE\n1 1 A G -1 1\n", "line 2: OR is -1, needs to be at least 0"),
        ("CHR BP A1 TEST BETA SE\n1 1 A DOM 1 1\n", "column TEST has no row of ADD"),
    ],
)
def test_tables_that_lack_something_are_refused(tmp_path, text, words):
    path = tmp_path / "t.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        read_associations(path)
