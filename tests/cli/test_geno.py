"""The commands on genotypes say what NumPy and SciPy say of the inflated matrix."""

from __future__ import annotations

import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import genoviz
from genoviz import select_samples, variant_statistics

COMMAND = ("geno",)


@pytest.fixture
def made(run):
    code, out, _ = run(
        *"simulate -n 90 -m 240 --contigs 2 --populations 3 --missing 0.02 -o made --seed 3".split()
    )
    assert (code, "Genotypes(90 samples, 240 variants)" in out) == (0, True)
    return genoviz.read_genotypes("made.bed")


def rows_of(text):
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def column(text, name):
    return np.array(
        [float("nan") if row[name] == "NA" else float(row[name]) for row in rows_of(text)]
    )


def inflated(genotypes):
    dosages = genotypes.dosages(slice(None)).astype(float)
    dosages[dosages < 0] = np.nan
    return dosages


def centred(genotypes):
    dosages = inflated(genotypes)
    return np.nan_to_num(dosages - np.nanmean(dosages, axis=0))


def test_freq_counts_alleles_and_genotypes(run, made):
    code, out, _ = run("freq", "made.bed", "--samples", "samples.tsv")
    dosages = inflated(made)
    assert code == 0
    np.testing.assert_allclose(column(out, "A1_FREQ"), np.nanmean(dosages, axis=0) / 2)
    for name, dosage in (("HOM_A1", 2), ("HET", 1), ("HOM_A2", 0)):
        np.testing.assert_array_equal(column(out, name), (dosages == dosage).sum(axis=0))
    np.testing.assert_array_equal(column(out, "POS"), made.variants.positions + 1)
    missing = column(Path("samples.tsv").read_text(), "MISSING_RATE")
    np.testing.assert_allclose(missing, np.isnan(dosages).mean(axis=1))


def test_filters_leave_out_variants_samples_and_regions(run, made):
    keep = Path("keep.txt")
    keep.write_text("".join(f"{name}\n" for name in made.samples.ids[:40]))
    code, out, err = run("freq", "made.bed", "--keep", keep, "--maf", 0.1)
    dosages = inflated(made)[:40]
    frequency = np.nanmean(dosages, axis=0) / 2
    kept = np.minimum(frequency, 1 - frequency) >= 0.1
    assert code == 0
    assert [row["ID"] for row in rows_of(out)] == made.variants.ids[kept].tolist()
    assert "40 of 40 samples" in err
    contig = made.variants.contigs[1]
    end = int(made.variants.positions[made.variants.contig_ids == 1][3])
    _, out, _ = run("freq", "made.bed", "--region", f"{contig}:0-{end}")
    assert [int(row["POS"]) - 1 < end for row in rows_of(out)] == [True] * 3


def test_families_tell_samples_of_the_same_name_apart(run, made):
    fam = Path("made.fam")
    rows = [line.split()[2:] for line in fam.read_text().splitlines()]
    lines = [[f"F{k % 2}", f"s{k // 2}", *row] for k, row in enumerate(rows)]
    fam.write_text("".join(" ".join(line) + "\n" for line in lines))
    for text, wanted in (
        ("#FID IID\nF0 s1\nF1 s3\nF7 s4\n", [("F0", "s1"), ("F1", "s3")]),
        ("s1\n", [("F0", "s1"), ("F1", "s1")]),
    ):
        Path("keep.txt").write_text(text)
        code, _, err = run(*"freq made.bed --keep keep.txt --samples s.tsv -o f.tsv".split())
        assert code == 0
        kept = rows_of(Path("s.tsv").read_text())
        assert [(row["#FID"], row["IID"]) for row in kept] == wanted
        assert ("1 of 3 samples of keep.txt have no genotypes" in err) == ("F7" in text)
    # IIDs alone do not tell whom a list of other families means.
    Path("keep.txt").write_text("other s1\nother s2\n")
    code, _, err = run(*"freq made.bed --keep keep.txt -o f.tsv".split())
    assert code == 1
    assert "names none of the" in err
    Path("keep.txt").write_bytes("F0 s1\nMül s1\n".encode("latin-1"))
    code, _, err = run(*"freq made.bed --keep keep.txt -o f.tsv".split())
    assert (code, "keep.txt, line 2: has a letter that is not UTF-8" in err) == (1, True)


def test_variants_of_sex_chromosomes_are_noted(run, made):
    assert "note" not in run("freq", "made.bed", "-o", "f.tsv")[2]
    bim = Path("made.bim")
    lines = bim.read_text().splitlines()
    names = ["chrX"] * 3 + ["1"] * (len(lines) - 4) + ["MT"]
    bim.write_text("".join(f"{name}\t{line.split(None, 1)[1]}\n"
                           for name, line in zip(names, lines, strict=True)))  # fmt: skip
    sexes = made.samples.sexes.tolist()
    told = (
        "note: 3 variants are of X (chrX), 1 of MT; samples: "
        f"{sexes.count(1)} male, {sexes.count(2)} female."
    )
    err = run("freq", "made.bed", "-o", "f.tsv")[2]
    assert told in err
    assert "Males have one copy of X and Y" in err
    left_out = "note: 4 variants of X, Y or MT are left out: autosomes and XY alone are taken."
    taken = "note: 4 variants of X, Y or MT are taken as they are in the file."
    Path("w.txt").write_text("1\n" * 240)
    for arguments, words in (
        ("pca made.bed -k 2 -o p.tsv", left_out),
        ("grm made.bed -o g.npy", left_out),
        ("grm made.bed -o g.npy --contigs all", taken),
        ("blup made.bed --pheno made.pheno.tsv -o b.tsv", left_out),
        ("blup made.bed --pheno made.pheno.tsv -o b.tsv --contigs all", taken),
        ("product made.bed w.txt -o v.tsv", taken),
        ("gwas made.bed --pheno made.pheno.tsv -o g.tsv", "sex is a covariate"),
        ("gwas made.bed --pheno made.pheno.tsv -o g.tsv --xchr-model 0", "X is not tested"),
    ):
        code, _, err = run(*arguments.split())
        assert (code, told in err, words in err) == (0, True, True), err


def test_numbers_beyond_those_of_a_species_ask_for_its_autosomes(run, made):
    bim = Path("made.bim")
    lines = [line.split(None, 1) for line in bim.read_text().splitlines()]
    bim.write_text("".join(f"{29 + (k > 99)}\t{line[1]}\n" for k, line in enumerate(lines)))
    for command in ("freq made.bed", "pca made.bed", "grm made.bed -o g.npy"):
        code, out, err = run(*command.split())
        assert (code, out) == (1, "")
        assert "contig '29' is not a chromosome of humans, whose numbers end with 26" in err
        assert "--autosomes" in err
    code, out, err = run("freq", "made.bed", "--autosomes", "29")
    assert (code, "140 variants are of X (30); numbers are read as of 29 autosomes;" in err) == (
        0,
        True,
    )
    assert run("freq", "made.bed", "--autosomes", "30", "-o", "f.tsv")[2] == ""


def test_a_seed_decides_genotypes_and_trait(run):
    made = []
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        assert run(*f"simulate -n 30 -m 60 -o {name} --seed {seed}".split())[0] == 0
        made.append((Path(f"{name}.bed").read_bytes(), Path(f"{name}.pheno.tsv").read_text()))
    first, same, other = made
    assert first == same
    assert all(one != another for one, another in zip(first, other, strict=True))


def test_simulated_contigs_beyond_those_of_humans_say_what_they_need(run):
    code, _, err = run(*"simulate -n 9 -m 60 --contigs 24 -o many".split())
    assert (code, "other commands need --autosomes 24" in err) == (0, True)


def test_nonfounders_are_tested_for_hardy_weinberg_proportions_when_asked(run, made):
    fam = Path("made.fam")
    rows = [line.split() for line in fam.read_text().splitlines()]
    for row in rows[50:]:
        row[2] = rows[0][1]
    fam.write_text("".join(" ".join(row) + "\n" for row in rows))
    _, founders, err = run("freq", "made.bed")
    assert "Hardy-Weinberg tests are of the 50 founders among 90 samples" in err
    _, everybody, err = run("freq", "made.bed", "--nonfounders")
    assert err == ""
    for samples, text in ((50, founders), (90, everybody)):
        counts = variant_statistics(select_samples(made, np.arange(samples)))
        np.testing.assert_allclose(column(text, "HWE_P"), counts.hwe_p)
    np.testing.assert_array_equal(column(founders, "A1_FREQ"), column(everybody, "A1_FREQ"))


def test_samples_without_a_covariate_are_not_counted(run, made):
    rows = [f"{name},{k % 7},{'NA' if k < 5 else k}" for k, name in enumerate(made.samples.ids)]
    Path("t.csv").write_text("\n".join(["IID,y,c", *rows]) + "\n")
    code, out, err = run(*"gwas made.bed --pheno t.csv --trait y --covariate c".split())
    assert code == 0
    assert "trait y: 85 samples" in err
    assert column(out, "OBS_CT").max() <= 85


def test_a_table_without_a_header_keeps_its_first_sample(run, made):
    rows = [f"{name},{k * k % 7}" for k, name in enumerate(made.samples.ids)]
    Path("c.csv").write_text("\n".join(rows) + "\n")
    for command in ("gwas", "blup"):
        code, _, err = run(
            *f"{command} made.bed --pheno made.pheno.tsv --covar c.csv".split(),
            *"--covariate phenotype -o g".split(),
        )
        assert code == 0
        assert "of 90 samples are in the table" not in err
        assert "c.csv: the first line is a sample, for its ID is followed by numbers" in err


def test_rows_are_taken_by_their_order_only_if_asked(run, made):
    values = np.random.default_rng(0).normal(size=90)
    for names, path in ((range(90), "strangers.csv"), (made.samples.ids, "own.csv")):
        rows = [f"{name},{value}" for name, value in zip(names, values, strict=True)]
        Path(path).write_text("\n".join(["IID,y", *rows]) + "\n")
    for command in ("gwas made.bed --pheno", "blup made.bed --pheno",
                    "gwas made.bed --pheno own.csv --covariate y --covar"):  # fmt: skip
        code, out, err = run(*command.split(), "strangers.csv")
        assert (code, out) == (1, "")
        assert "no sample of the table, such as '0', is among those of the genotypes" in err
        assert err.strip().endswith("--by-row-order")
    wanted = run("gwas", "made.bed", "--pheno", "own.csv")[1]
    code, out, err = run("gwas", "made.bed", "--pheno", "strangers.csv", "--by-row-order")
    assert (code, out) == (0, wanted)
    assert "rows are taken in the order of the samples" in err


def test_one_rule_tells_cases_and_controls_in_files_of_all_kinds(run, made):
    values = ["12"[k % 2] if k % 9 else "0" for k in range(90)]
    names = made.samples.ids.tolist()
    fam = [line.split()[:5] for line in Path("made.fam").read_text().splitlines()]
    Path("made.fam").write_text(
        "".join(" ".join([*row, value]) + "\n" for row, value in zip(fam, values, strict=True))
    )
    pairs = list(zip(names, values, strict=True))
    Path("t.csv").write_text("IID,y\n" + "".join(f"{a},{b}\n" for a, b in pairs))
    lines = (f"{row[0]} {a} {b}\n" for row, (a, b) in zip(fam, pairs, strict=True))
    Path("t.phen").write_text("".join(lines))
    scans = []
    for table in ((), ("--pheno", "t.csv"), ("--pheno", "t.phen")):
        code, out, err = run("gwas", "made.bed", *table, "--model", "logistic")
        assert code == 0
        assert " is 0 10 times, else 1 or 2: it is missing, 1 is control and 2 is case" in err
        assert ": 80 samples, " in err
        scans.append(out)
        usual = run("gwas", "made.bed", *table)
        assert "has two values, 40 cases (2) and 40 controls (1): it is tested by l" in usual[2]
        assert usual[1] == run("gwas", "made.bed", *table, "--model", "firth-fallback")[1]
        linear = run("gwas", "made.bed", *table, "--model", "linear")
        assert "has two values and is tested as a number (linear)" in linear[2]
        assert linear[1] != usual[1]
        _, _, err = run("blup", "made.bed", *table, "-o", "b.tsv")
        assert "has two values and is taken as a number" in err
        _, _, err = run("gwas", "made.bed", *table, "-o", "g.tsv", "--trait-type", "quantitative")
        assert ": 90 samples, " in err
        assert "two values" not in err
    assert scans[0] == scans[1] == scans[2]
    code, _, err = run(*"gwas made.bed --pheno made.pheno.tsv --trait-type case-control".split())
    assert (code, "trait trait has 90 values, needs two: 1 for controls and 2" in err) == (1, True)


@pytest.mark.parametrize("command", ["gwas", "blup", "blup --cross-validate 3"])
def test_covariates_that_others_determine_are_left_out_and_told(run, made, command):
    names = made.samples.ids
    rows = [f"{name},{k % 7},{k % 5},{k * k % 11},{'xyz'[k % 3]},1" for k, name in enumerate(names)]
    Path("t.csv").write_text("\n".join(["IID,y,c,d,g,one", *rows]) + "\n")
    table = f"{command} made.bed --pheno t.csv --trait y".split()
    code, out, err = run(*table, *"--covariate g --covariate one".split())
    assert (code, err.count("note: Covariate one is left out: it is ")) == (0, 1)
    assert out == run(*table, *"--covariate g".split())[1]
    code, _, err = run(*table, *"--covariate g --covariate c --covariate d".split())
    assert (code, err.count("left out")) == (0, 0)
    Path("u.csv").write_text(
        "IID,g,h\n"
        + "".join(f"{name},{'xyz'[k % 3]},{'vw'[k % 3 == 2]}\n" for k, name in enumerate(names))
    )
    code, _, err = run(*table, *"--covar u.csv --covariate g --covariate h".split())
    assert (code, err.count("note: Covariate h=w is left out: it is ")) == (0, 1)


def test_a_scan_of_one_variant_and_of_none_that_varies_is_told(run, made):
    place = int(made.variants.positions[0])
    region = f"{made.variants.contigs[0]}:{place}-{place + 1}"
    scan = ["gwas", "made.bed", "--pheno", "made.pheno.tsv", "--region", region]
    assert "1 of 1 variant tested, lambda GC " in run(*scan)[2]
    dosages = made.dosages(slice(0, 1))[:, 0]
    same = made.samples.ids[dosages == np.bincount(dosages[dosages >= 0]).argmax()]
    Path("same.txt").write_text("\n".join(same))
    code, _, err = run(*scan, "--keep", "same.txt")
    assert code == 0
    assert "0 of 1 variant tested, so there is no lambda GC" in err
    assert "nan" not in err


def test_grm_is_written_as_gcta_numpy_and_text(run, made):
    z = centred(made)
    p = np.nanmean(inflated(made), axis=0) / 2
    expected = z @ z.T / (2 * p * (1 - p)).sum()
    for name in ("g.grm.bin", "g.npy", "g.tsv"):
        assert run("grm", "made.bed", "-o", name, "--pairs", "pairs.tsv")[0] == 0
    np.testing.assert_allclose(np.load("g.npy"), expected, atol=1e-10)
    lower = np.fromfile("g.grm.bin", "<f4")
    np.testing.assert_allclose(lower, expected[np.tril_indices(90)], atol=1e-6)
    assert set(np.fromfile("g.grm.N.bin", "<f4")) == {(np.nanvar(inflated(made), axis=0) > 0).sum()}
    text = Path("g.tsv").read_text().splitlines()
    assert text[0].split("\t")[1:] == made.samples.ids.tolist()
    assert [line.split("\t")[1] for line in Path("g.grm.id").read_text().splitlines()] == text[
        0
    ].split("\t")[1:]
    above = (expected[np.triu_indices(90, 1)] >= 0.05).sum()
    assert len(Path("pairs.tsv").read_text().splitlines()) == above + 1


def test_grm_of_gcta_has_the_variants_that_each_pair_shares(run, made):
    code, out, _ = run(*"grm made.bed --method gcta -o g.grm.bin".split())
    dosages = inflated(made)
    called = ~np.isnan(dosages[:, np.nanvar(dosages, axis=0) > 0])
    shared = called.astype(int) @ called.T
    assert code == 0
    assert f"of which a pair has {shared.min()} to {shared.max()}" in out
    counts = np.fromfile("g.grm.N.bin", "<f4")
    assert np.array_equal(counts, shared[np.tril_indices(90)])


def test_a_region_of_x_is_found_by_any_of_its_names(run, made):
    bim = Path("made.bim")
    rows = [line.split() for line in bim.read_text().splitlines()]
    for pair in ("23 X", "23 chrX", "chrX 23", "X 23", "26 chrM"):
        named, asked = pair.split()
        contigs = [named] * 100 + ["1"] * (len(rows) - 100)
        lines = ["\t".join([name, *row[1:]]) for name, row in zip(contigs, rows, strict=True)]
        bim.write_text("\n".join(lines) + "\n")
        code, out, err = run("freq", "made.bed", "--region", asked)
        assert code == 0, err
        assert len(out.splitlines()) == 101
        assert f"note: --region {asked} is taken for {named}" in err
    code, _, err = run("freq", "made.bed", "--region", "Y")
    assert code == 1
    assert "--region names contig 'Y', the genotypes have 26, 1" in err


def test_a_table_of_covariates_is_taken_whole_where_none_is_named(run, made):
    samples = made.samples.ids.tolist()
    lines = [f"{name},{k % 7},{'ab'[k % 2]}" for k, name in enumerate(samples)]
    Path("c.csv").write_text("id,age,site\n" + "\n".join(lines) + "\n")
    Path("bare.csv").write_text("\n".join(lines) + "\n")
    common = ("gwas", "made.bed", "--pheno", "made.pheno.tsv")
    named = run(*common, "--covar", "c.csv", "--covariate", "age", "--covariate", "site")[1]
    code, out, err = run(*common, "--covar", "c.csv")
    assert (code, out) == (0, named)
    assert "note: covariates are all columns of c.csv: age, site" in err
    assert out != run(*common)[1]
    # Without a header the first line, which has a word and a number, is a sample too.
    code, out, err = run(*common, "--covar", "bare.csv")
    assert (code, out) == (0, named)
    assert "of 90 samples" not in err


def test_a_simulation_is_named_by_any_of_its_files_and_refuses_other_kinds(run, tmp_path):
    sizes = "-n 9 -m 12".split()
    code, out, _ = run("simulate", *sizes, "-o", "x.bim")
    assert code == 0
    assert "wrote x.bed, .bim, .fam and .pheno.tsv" in out
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"x.bed", "x.bim", "x.fam", "x.pheno.tsv"}
    assert run("simulate", *sizes, "-o", "y.vcf")[0] == 2
    assert {path.name for path in tmp_path.iterdir()} == names


def test_reml_of_genotypes_and_of_their_relationships(run, made):
    options = "--pheno made.pheno.tsv --trait trait".split()
    code, out, err = run("reml", "made.bed", *options)
    trait = column(Path("made.pheno.tsv").read_text(), "trait")
    expected = genoviz.reml(made, trait)
    assert code == 0
    assert [row["#COMPONENT"] for row in rows_of(out)] == ["genotypes", "residual"]
    np.testing.assert_allclose(column(out, "VARIANCE"), expected.variances)
    assert column(out, "SHARE")[0] == pytest.approx(expected.heritability)
    assert column(out, "SHARE_SE")[0] == pytest.approx(expected.heritability_error)
    assert f"trait trait: h2 {expected.heritability:.4f} ± " in err
    run("grm", "made.bed", "-o", "g.grm.bin")
    code, _, _ = run("reml", "g.grm.bin", *options, "-o", "v.tsv")
    assert code == 0
    found = Path("v.tsv").read_text()
    np.testing.assert_allclose(column(found, "VARIANCE"), column(out, "VARIANCE"), rtol=1e-4)
    assert {row["CONVERGED"] for row in rows_of(found)} == {"yes"}
    code, out, err = run("reml", "made.bed", *options, "--max-iterations", 1)
    assert code == 3
    assert {row["CONVERGED"] for row in rows_of(out)} == {"no"}
    assert "not converged; raise --max-iterations" in err


def test_a_region_of_genotypes_without_variants_is_told(run, made):
    genoviz.write_plink(made.take_variants(np.arange(0)), "none")
    code, _, err = run("freq", "none.bed", "--region", "1")
    assert (code, "names contig '1', the genotypes have none" in err) == (1, True)


def test_reml_says_what_is_at_a_bound(run, made):
    noise = np.random.default_rng(3).normal(size=(made.n_samples, 2))
    rows = zip(made.samples.ids.tolist(), *noise.T.tolist(), strict=True)
    Path("noise.csv").write_text("IID,a,b\n" + "".join(f"{i},{a},{b}\n" for i, a, b in rows))
    options = "reml", "made.bed", "--pheno", "noise.csv", "--trait", "a"
    code, out, err = run(*options)
    (genetic, residual) = rows_of(out)
    assert (code, genetic["AT_BOUND"], residual["AT_BOUND"]) == (0, "yes", "no")
    assert (genetic["VARIANCE_SE"], genetic["SHARE_SE"]) == ("NA", "NA")
    assert float(residual["VARIANCE_SE"]) > 0
    assert "h2 0.0000 (standard error not known)" in err
    assert "genotypes at the bound of 0" in err
    _, out, err = run(*options, "--with", "b")
    assert "at the bound of what covariances can be" in err
    for row in rows_of(out):
        assert (row["AT_BOUND"] == "yes") == (row["COVARIANCE_SE"] == "NA")
    code, _, err = run("blup", *options[1:], "--h2", "estimate")
    assert code == 1
    assert "is estimated as 0.0000 (standard error not known), from which nothing can" in err


def test_reml_has_a_variance_for_each_set_or_file(run, made):
    options = "--pheno made.pheno.tsv --trait trait --traces random --probes 5 --seed 3".split()
    ids = made.variants.ids.tolist()
    names = ["odd" if k % 2 else "even" for k in range(200)]
    Path("sets.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(ids, names, strict=False)))
    code, out, err = run("reml", "made.bed", *options, "--sets", "sets.tsv")
    assert code == 0
    assert "200 of 240 variants are in 2 sets" in err
    assert "by random traces" in err
    assert [row["#COMPONENT"] for row in rows_of(out)] == ["even", "odd", "residual"]
    assert column(out, "SHARE").sum() == pytest.approx(1)
    with Path("sets.tsv").open("a") as file:
        file.write(f"{ids[0]}\teven\n{ids[1]}\teven\n")
    code, _, err = run("reml", "made.bed", *options, "--sets", "sets.tsv")
    assert code == 1
    told = f"sets.tsv, line 202: puts variant {ids[1]} into the set even, and it is in odd already"
    assert told in err
    run("grm", "made.bed", "--region", "1", "-o", "one.grm.bin")
    Path("some.txt").write_text("".join(f"{name}\n" for name in made.samples.ids[5:]))
    run("grm", "made.bed", "--region", "2", "--keep", "some.txt", "-o", "two.grm.bin")
    code, out, err = run("reml", "one.grm.bin", "two.grm.bin", *options[:4])
    assert code == 0
    assert "85 samples are in all files of relationships" in err
    assert [row["#COMPONENT"] for row in rows_of(out)] == ["one", "two", "residual"]


def test_reml_of_repeated_records_tells_their_repeatability(run, made):
    rng = np.random.default_rng(3)
    trait = column(Path("made.pheno.tsv").read_text(), "trait")
    owners = np.concatenate([np.arange(90), rng.integers(0, 90, 110)])
    fat, age = trait[owners] + rng.normal(size=200), rng.normal(size=200)
    rows = zip(made.samples.ids[owners].tolist(), fat, age, strict=True)
    Path("tests.csv").write_text("id,fat,age\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    command = "--pheno tests.csv --covariate age --repeated".split()
    code, out, err = run("reml", "made.bed", *command)
    expected = genoviz.reml(made, fat, covariates=age, samples=owners)
    assert code == 0
    assert [row["#COMPONENT"] for row in rows_of(out)] == ["genotypes", "permanent", "residual"]
    np.testing.assert_allclose(column(out, "VARIANCE"), expected.variances, rtol=1e-6)
    np.testing.assert_allclose(column(out, "SHARE").sum(), 1)
    assert column(out, "SHARE_SE")[2] == pytest.approx(expected.repeatability_error)
    assert f"h2 {expected.heritability:.4f}" in err
    assert f"; repeatability {expected.repeatability:.4f} ± " in err
    assert "; 200 records, " in err
    run("grm", "made.bed", "-o", "g.grm.bin")
    _, other, _ = run("reml", "g.grm.bin", *command)
    np.testing.assert_allclose(column(other, "SHARE"), column(out, "SHARE"), atol=1e-4)
    Path("once.csv").write_text("".join(Path("tests.csv").read_text().splitlines(True)[:91]))
    code, _, err = run("reml", "made.bed", "--pheno", "once.csv", "--repeated")
    assert code == 1
    assert "no sample has two records; without these permanent effects are not told" in err


def test_predictions_take_the_heritability_that_is_estimated(run, made):
    command = "blup made.bed --pheno made.pheno.tsv --trait trait --h2 estimate".split()
    trait = column(Path("made.pheno.tsv").read_text(), "trait")
    h2 = genoviz.reml(made, trait).heritability
    code, out, err = run(*command)
    assert code == 0
    assert f"note: heritability is estimated: h2 {h2:.4f}" in err
    assert "assumed" not in err
    values = genoviz.snp_blup(made, trait, heritability=h2).breeding_values
    np.testing.assert_allclose(column(out, "BREEDING_VALUE"), values, atol=1e-6)
    Path("herd.ped").write_text("".join(f"{name} 0 0\n" for name in made.samples.ids.tolist()))
    code, out, err = run(*command, "--pedigree", "herd.ped", "--method", "ssSNPBLUP")
    assert code == 0
    assert f"note: heritability is estimated: h2 {h2:.4f}" in err
    for wrong in ("nan", "half", "-0.1"):
        code, _, err = run(*command[:-1], wrong)
        assert code == 2
        assert "neither a number from 0 to 1" in " ".join(err.replace("│", " ").split())


def test_pca_finds_the_axes_of_the_dense_matrix(run, made):
    code, out, err = run("pca", "made.bed", "-k", 2, "--iterations", 6, "--loadings", "l.tsv")
    p = np.nanmean(inflated(made), axis=0) / 2
    z = centred(made) / np.sqrt(np.where(p * (1 - p) > 0, 2 * p * (1 - p), np.inf))
    u, singular, _ = np.linalg.svd(z, full_matrices=False)
    assert code == 0
    for k in range(2):
        assert abs(np.corrcoef(column(out, f"PC{k + 1}"), u[:, k])[0, 1]) > 0.9999
    share = singular[0] ** 2 / (singular**2).sum()
    assert f"{share:.2%} of the variance" in err
    assert len(rows_of(Path("l.tsv").read_text())) == 240


def test_pca_says_how_exact_it_is(run, made):
    code, _, err = run("pca", "made.bed", "-o", "p.tsv")
    found = re.search(r"(\d+) iterations, largest residual (\S+)$", err, re.MULTILINE)
    assert code == 0
    assert float(found[2]) <= 1e-4
    code, _, err = run("pca", "made.bed", "--iterations", 2, "-o", "p.tsv")
    assert code == 3
    assert re.search(r"2 iterations, largest residual .*, not converged: .*raise --iterations", err)
    assert len(rows_of(Path("p.tsv").read_text())) == 90
    code, _, err = run("pca", "made.bed", "--iterations", 0)
    assert code == 2
    assert "--iterations" in err
    components = genoviz.principal_components(made)
    scores = column(run("pca", "made.bed")[1], "PC9")
    np.testing.assert_allclose(scores, components.scores[:, 8])


def test_gwas_is_the_regression_of_each_variant(run, made):
    code, out, err = run("gwas", "made.bed", "--pheno", "made.pheno.tsv", "--trait", "trait")
    trait = column(Path("made.pheno.tsv").read_text(), "trait")
    dosages = inflated(made)
    assert code == 0
    assert "trait trait: 90 samples" in err
    for variant in range(0, 240, 37):
        is_called = ~np.isnan(dosages[:, variant])
        if np.ptp(dosages[is_called, variant]) == 0:
            assert rows_of(out)[variant]["BETA"] == "NA"
            continue
        fit = stats.linregress(dosages[is_called, variant], trait[is_called])
        assert column(out, "BETA")[variant] == pytest.approx(fit.slope)
        assert column(out, "SE")[variant] == pytest.approx(fit.stderr)
        assert column(out, "P")[variant] == pytest.approx(fit.pvalue)
        assert column(out, "NEG_LOG10_P")[variant] == pytest.approx(-np.log10(fit.pvalue))
        assert column(out, "OBS_CT")[variant] == is_called.sum()
    _, out, _ = run(
        *"gwas made.bed --pheno made.pheno.tsv --covariate breeding_value --pcs 2 -o g.tsv".split()
    )
    assert len(rows_of(Path("g.tsv").read_text())) == 240


def test_genetic_models_and_interactions_have_their_columns(run, made):
    command = "gwas made.bed --pheno made.pheno.tsv --trait trait".split()
    names = [f"{term}_{what}" for term in ("ADD", "DOMDEV") for what in ("BETA", "SE", "STAT", "P")]
    code, out, _ = run(*command, "--genetic-model", "genotypic")
    assert code == 0
    head = out.splitlines()[0].split("\t")
    assert head[head.index("OBS_CT") + 1 :] == [*names, "STAT", "P", "NEG_LOG10_P"]
    scan = genoviz.associate(
        made, column(Path("made.pheno.tsv").read_text(), "trait"), genetic_model="genotypic"
    )
    np.testing.assert_allclose(column(out, "P"), scan.p)
    np.testing.assert_allclose(column(out, "DOMDEV_BETA"), scan.terms[1].beta)
    rows = [f"{name},{k % 7},{k % 5},{'xyz'[k % 3]}" for k, name in enumerate(made.samples.ids)]
    Path("t.csv").write_text("\n".join(["IID,y,c,g", *rows]) + "\n")
    command = "gwas made.bed --pheno t.csv --trait y --covariate c --covariate g".split()
    code, out, _ = run(*command, *"--interaction g --genetic-model dominant".split())
    assert code == 0
    head = out.splitlines()[0].split("\t")
    assert {"DOM_P", "DOMxg=y_BETA", "DOMxg=z_P", "JOINT_P", "P"} <= {*head}
    code, _, err = run(*command, "--interaction", "age")
    assert code == 2
    assert "are c, g=y, g=z" in err
    code, _, err = run(*command, "--model", "mixed", "--interaction", "c")
    assert code == 2
    assert "--genetic-model and --interaction" in err


def test_a_mixed_model_and_a_condition(run, made):
    command = "gwas made.bed --pheno made.pheno.tsv --trait trait".split()
    trait = column(Path("made.pheno.tsv").read_text(), "trait")
    code, out, err = run(*command, "--model", "mixed")
    expected = genoviz.mixed_associate(made, trait)
    assert code == 0
    np.testing.assert_allclose(column(out, "BETA"), expected.beta)
    np.testing.assert_allclose(column(out, "SE"), expected.standard_error)
    assert f"note: {expected.notes[0]}" in err
    assert "tests are exact" in err
    options = "--model mixed --tests calibrated --leave-out none --seed 3".split()
    code, out, err = run(*command, *options)
    assert code == 0
    options = {"tests": "calibrated", "leave_out": "none", "seed": 3}
    np.testing.assert_allclose(
        column(out, "BETA"), genoviz.mixed_associate(made, trait, **options).beta
    )
    assert "calibrated by" in err
    name = str(made.variants.ids[7])
    code, out, _ = run(*command, "--condition", name)
    dosages = inflated(made)[:, [7]]
    conditional = genoviz.associate(made, trait, covariates=dosages)
    assert code == 0
    np.testing.assert_allclose(column(out, "P"), conditional.p)
    assert np.isnan(column(out, "P")[7])
    names = [str(made.variants.ids[k]) for k in (7, 130)]
    _, out, _ = run(*command, "--condition", ",".join(names))
    _, other, _ = run(*command, "--condition", names[0], "--condition", names[1])
    assert out == other
    conditional = genoviz.associate(made, trait, covariates=inflated(made)[:, [7, 130]])
    np.testing.assert_allclose(column(out, "BETA"), conditional.beta)
    code, out, err = run(*command, *"--model mixed --tests calibrated --refine-below 0.05".split())
    expected = genoviz.mixed_associate(made, trait, tests="calibrated", refine_below=0.05)
    assert expected.is_exact.any()
    np.testing.assert_allclose(column(out, "SE"), expected.standard_error)
    assert f"exact for the {expected.is_exact.sum()} of lowest p" in err


def test_a_logistic_mixed_model(run, made):
    trait = column(Path("made.pheno.tsv").read_text(), "trait")
    ill = (trait > np.nanquantile(trait, 0.8)).astype(int)
    rows = [f"{name},{c}" for name, c in zip(made.samples.ids, ill, strict=True)]
    Path("t.csv").write_text("\n".join(["IID,ill", *rows]) + "\n")
    command = "gwas made.bed --pheno t.csv --model mixed-logistic".split()
    code, out, err = run(*command)
    expected = genoviz.mixed_logistic_associate(made, ill)
    assert code == 0
    np.testing.assert_allclose(column(out, "P"), expected.p)
    np.testing.assert_allclose(column(out, "SE"), expected.standard_error)
    assert f"note: {expected.notes[0]}" in err
    options = {"tests": "calibrated", "leave_out": "none", "seed": 3}
    code, out, _ = run(*command, *"--tests calibrated --leave-out none --seed 3".split())
    expected = genoviz.mixed_logistic_associate(made, ill, **options)
    np.testing.assert_allclose(column(out, "P"), expected.p)
    code, _, err = run(*"gwas made.bed --pheno made.pheno.tsv --model mixed-logistic".split())
    assert code == 1
    assert "a logistic model needs two, such as 1 for controls and 2 for cases" in err


def test_an_id_with_a_comma_is_one_condition(made):
    from genoviz.cli.genotypes.gwas import _split_ids

    ids = made.variants.ids.astype("U20")
    ids[:3] = "1:7:A,C", "x", "y"
    named = replace(made, variants=replace(made.variants, ids=ids))
    assert _split_ids(["1:7:A,C", "x,y", "x, z"], named) == ["1:7:A,C", "x", "y", "z"]


def test_column_6_of_the_fam_file_is_the_trait_where_no_table_is_given(run, made):
    code, _, err = run("gwas", "made.bed")
    assert code == 1
    assert "made.fam has no phenotypes in column 6; give --pheno" in err
    fam = Path("made.fam")
    rows = [line.split()[:5] for line in fam.read_text().splitlines()]
    values = [str(1 + k % 2) for k in range(len(rows))]
    values[3] = "-9"
    lines = [" ".join([*row, value]) for row, value in zip(rows, values, strict=True)]
    fam.write_text("\n".join(lines) + "\n")
    code, out, err = run("gwas", "made", "--model", "logistic")
    assert code == 0
    assert f"trait phenotype: {len(rows) - 1} samples" in err
    table = Path("t.tsv")
    texts = [f"{row[1]}\t{value}" for row, value in zip(rows, values, strict=True)]
    table.write_text("IID\ty\n" + "\n".join(texts) + "\n")
    assert run("gwas", "made.bed", "--pheno", "t.tsv", "--model", "logistic")[1] == out
    y = np.array([float(value) if value != "-9" else np.nan for value in values])
    for model in ("firth", "firth-fallback", "saddle-point"):
        code, out, err = run("gwas", "made.bed", "--pheno", "t.tsv", "--model", model)
        assert (code, "as a number" in err) == (0, False)
        np.testing.assert_array_equal(column(out, "P"), genoviz.associate(made, y, model=model).p)


def test_effects_times_genotypes_are_breeding_values(run, made):
    options = "--pheno made.pheno.tsv --trait trait --effects effects.tsv".split()
    code, out, err = run("blup", "made.bed", *options)
    assert (code, "squared relative residual" in err) == (0, True)
    effects = column(Path("effects.tsv").read_text(), "EFFECT")
    np.testing.assert_allclose(centred(made) @ effects, column(out, "BREEDING_VALUE"), atol=1e-9)
    np.savetxt("effects.txt", effects)
    _, product, _ = run("product", "made.bed", "effects.txt")
    np.testing.assert_allclose(column(product, "V1"), column(out, "BREEDING_VALUE"), atol=1e-9)
    _, dual, _ = run("blup", "made.bed", *options, "--method", "gblup")
    np.testing.assert_allclose(
        column(dual, "BREEDING_VALUE"), column(out, "BREEDING_VALUE"), atol=1e-4
    )
    code, out, _ = run("blup", "made.bed", *options[:4], "--cross-validate", 3)
    assert code == 0
    assert -1 <= float(re.search(r"accuracy (\S+),", out)[1]) <= 1


def test_what_a_prediction_assumes_is_told(run, made):
    command = "blup made.bed --pheno made.pheno.tsv --trait trait -o b.tsv".split()
    code, _, err = run(*command)
    assert code == 0
    assert "note: heritability 0.5 is assumed, not estimated; --heritability sets it" in err
    assert "polygenic" not in err
    assumed = column(Path("b.tsv").read_text(), "BREEDING_VALUE")
    code, _, err = run(*command, "--heritability", 0.5)
    assert "note: heritability 0.5, as given" in err
    assert (column(Path("b.tsv").read_text(), "BREEDING_VALUE") == assumed).all()
    _, _, err = run(*command[:-2], "--cross-validate", 3, "--heritability", 0.25)
    assert "note: heritability 0.25, as given" in err
    ids = made.samples.ids.tolist()
    Path("herd.ped").write_text("".join(f"{name} 0 0\n" for name in ids))
    _, _, err = run(*command, "--pedigree", "herd.ped", "--method", "ssSNPBLUP")
    assert "note: polygenic weight 0.2 is assumed, not estimated; --polygenic-weight" in err


def test_equations_that_are_not_solved_are_told(run, made):
    command = "blup made.bed --pheno made.pheno.tsv --trait trait".split()
    files = "-o b.tsv --effects e.tsv".split()
    for iterations, status, word in ((2, 3, "no"), (500, 0, "yes")):
        code, _, err = run(*command, *files, "--max-iterations", iterations)
        assert code == status
        assert ("not converged; raise --max-iterations or --tolerance" in err) == (status == 3)
        for path in ("b.tsv", "e.tsv"):
            assert {row["CONVERGED"] for row in rows_of(Path(path).read_text())} == {word}
    code, out, err = run(*command, "--cross-validate", 3, "--max-iterations", 2)
    assert code == 3
    assert out.rstrip().endswith(", not converged")
    assert "not converged; raise --max-iterations" in err
    code, out, _ = run(*command, "--cross-validate", 3, "--max-iterations", 2, "--tolerance", 0.9)
    assert (code, "converged" in out) == (0, False)


def test_single_step_predicts_animals_without_genotypes(run, made):
    ids = made.samples.ids.tolist()
    lines = [f"{name} 0 0" for name in ids] + [f"calf {ids[0]} {ids[1]}"]
    Path("herd.ped").write_text("".join(f"{line}\n" for line in lines))
    values = {}
    for method in ("ssSNPBLUP", "ssGTABLUP"):
        code, out, _ = run(
            "blup", "made.bed", "--pheno", "made.pheno.tsv", "--pedigree", "herd.ped",
            "--method", method, "--effects", f"{method}.tsv",
        )  # fmt: skip
        assert code == 0
        values[method] = {row["#ID"]: float(row["BREEDING_VALUE"]) for row in rows_of(out)}
    found = values["ssSNPBLUP"]
    assert found["calf"] == pytest.approx((found[ids[0]] + found[ids[1]]) / 2, abs=1e-5)
    assert values["ssGTABLUP"] == pytest.approx(found, abs=1e-5)
    by_variants, by_animals = (column(Path(f"{m}.tsv").read_text(), "EFFECT") for m in values)
    assert len(by_variants) == made.n_variants
    assert np.abs(by_variants).max() > 0
    assert by_animals == pytest.approx(by_variants, abs=1e-5)
    Path("herd.ped").write_text("other 0 0\n")
    code, _, err = run(
        "blup", "made.bed", "--pheno", "made.pheno.tsv", "--pedigree", "herd.ped",
        "--method", "ssSNPBLUP",
    )  # fmt: skip
    assert code == 1
    assert "herd.ped: has none of the 90 genotyped samples, such as 'sample1'" in err


def test_single_step_tells_groups_of_unknown_parents(run, made):
    ids = made.samples.ids.tolist()
    lines = [f"{name} -1 {-2 - k // 40}" for k, name in enumerate(ids)] + [f"calf {ids[0]} -2"]
    Path("herd.ped").write_text("".join(f"{line}\n" for line in lines))
    command = "blup made.bed --pheno made.pheno.tsv --pedigree herd.ped --method ssSNPBLUP"
    code, out, err = run(*command.split(), "--h2", 0.4)
    assert code == 0, err
    assert "Unknown parents are of 4 groups: -1, -2, -3, -4." in err
    pedigree = genoviz.read_pedigree("herd.ped")
    trait = genoviz.read_phenotypes("made.pheno.tsv").align(made.samples)
    values = np.append(trait.columns[trait.numeric_names[0]], np.nan)
    expected = genoviz.single_step(made, pedigree, values, heritability=0.4)
    assert abs(expected.group_effects.sum()) < 1e-9 < np.ptp(expected.group_effects)
    rows = rows_of(out)
    assert [row["#ID"] for row in rows] == [*ids, "calf", "-1", "-2", "-3", "-4"]
    assert [row["IS_GROUP"] for row in rows] == ["0"] * 91 + ["1"] * 4
    assert [row["HAS_GENOTYPES"] for row in rows] == ["1"] * 90 + ["0"] * 5
    assert {row["PHENOTYPE"] for row in rows[90:]} == {"NA"}
    both = np.append(expected.breeding_values, expected.group_effects)
    np.testing.assert_allclose(column(out, "BREEDING_VALUE"), both, atol=1e-6)


def test_single_step_takes_records_weights_and_covariates(run, made):
    ids = [*made.samples.ids.tolist(), "calf", "cow"]
    Path("herd.ped").write_text("".join(f"{name} 0 0\n" for name in ids[:-2]) + "calf sample1 cow")
    rng = np.random.default_rng(1)
    owners = rng.integers(0, 91, 200)
    fat, tests, age = rng.normal(size=200), rng.integers(1, 5, 200), rng.normal(size=200)
    season = rng.choice(["dry", "wet"], 200)
    rows = zip([ids[k] for k in owners], fat, tests, age, season, strict=True)
    lines = ["animal,fat,tests,age,season", *[",".join(map(str, row)) for row in rows]]
    lines += ["stranger,1,1,1,dry"]
    Path("tests.csv").write_text("\n".join(lines) + "\n")
    command = "blup made.bed --pedigree herd.ped --method ssSNPBLUP --pheno tests.csv".split()
    options = "--h2 0.3 --repeatability 0.5 --weight tests --covariate age --covariate season"
    code, out, err = run(*command, *options.split())
    assert code == 0, err
    pedigree = genoviz.read_pedigree("herd.ped")
    number = {name: k for k, name in enumerate(pedigree.ids.tolist())}
    animals = np.array([number[ids[k]] for k in owners])
    expected = genoviz.single_step(
        made, pedigree, fat, covariates=np.column_stack([age, season == "wet"]), animals=animals,
        weights=tests, heritability=0.3, repeatability=0.5,
    )  # fmt: skip
    assert expected.permanent_effects.std() > 0.01
    for name, values in (
        ("BREEDING_VALUE", expected.breeding_values),
        ("PERMANENT_EFFECT", expected.permanent_effects),
        ("RECORDS", np.bincount(animals, minlength=92)),
    ):
        np.testing.assert_allclose(column(out, name), values, atol=1e-6)
    means = [fat[animals == k].mean() if k in animals else np.nan for k in range(92)]
    np.testing.assert_allclose(column(out, "PHENOTYPE"), means)
    assert "1 of 201 records is of no sample" in err
    assert f"200 records of {len(set(owners.tolist()))} of 92; PHENOTYPE is their mean" in err
    assert "note: repeatability 0.5, as given" in err

    Path("ages.csv").write_text("animal,age\n" + "".join(f"{n},{len(n)}\n" for n in ids))
    options = "--h2 0.3 --repeatability 0.3 --covar ages.csv".split()
    code, out, err = run(*command, *options)
    lengths = np.array([len(ids[k]) for k in owners], float)
    expected = genoviz.single_step(
        made, pedigree, fat, covariates=lengths, animals=animals, heritability=0.3
    )
    np.testing.assert_allclose(column(out, "BREEDING_VALUE"), expected.breeding_values, atol=1e-6)
    assert "PERMANENT_EFFECT" not in rows_of(out)[0]

    once = [*command[:-1], "once.csv"]
    Path("once.csv").write_text(
        "\n".join([lines[0], *{x.split(",")[0]: x for x in lines[1:-1]}.values()])
    )
    code, out, err = run(*once, *"--h2 0.3 --weight tests --covariate age".split())
    last = {ids[k]: row for row, k in enumerate(owners.tolist())}
    taken = np.array([last.get(name, -1) for name in pedigree.ids.tolist()])
    values, weights, ages = (np.where(taken >= 0, x[taken], np.nan) for x in (fat, tests, age))
    expected = genoviz.single_step(
        made, pedigree, values, covariates=ages, weights=weights, heritability=0.3
    )
    np.testing.assert_allclose(column(out, "BREEDING_VALUE"), expected.breeding_values, atol=1e-6)

    for wrong, status, words in (
        ("--trait fat", 1, "sample .* is there already on line"),
        ("--repeatability 0.2 --h2 0.3", 1, "repeatability is 0.2, needs at least the heritab"),
        ("--repeatability 0.6 --weight age", 1, "weight .* is -.*, needs more than 0"),
        ("--repeatability 0.6 --weight season", 1, "--weight is 'season', the table has fat"),
        ("--repeatability 0.6 --h2 estimate", 2, "--h2 estimate takes one record; see geno reml"),
        ("--repeatability 0.6 --covariate herd", 1, "--covariate is 'herd', the table has fat"),
    ):
        code, _, err = run(*command, *wrong.split())
        assert code == status
        assert re.search(words, " ".join(err.replace("│", " ").split()))
    wrong = "blup made.bed --pheno tests.csv --weight tests --method GBLUP".split()
    code, _, err = run(*wrong)
    assert code == 2
    assert "take SNP-BLUP or single step" in " ".join(err.replace("│", " ").split())


def test_snp_blup_takes_records_and_weights(run, made):
    rng = np.random.default_rng(4)
    owners = rng.integers(0, 80, 150)
    fat, tests = rng.normal(size=150), rng.integers(1, 5, 150)
    rows = zip(made.samples.ids[owners].tolist(), fat, tests, strict=True)
    Path("tests.csv").write_text("id,fat,n\n" + "".join(f"{a},{b},{c}\n" for a, b, c in rows))
    options = "--h2 0.2 --repeatability 0.5 --weight n".split()
    code, out, err = run("blup", "made.bed", "--pheno", "tests.csv", *options)
    expected = genoviz.snp_blup(
        made, fat, samples=owners, weights=tests, heritability=0.2, repeatability=0.5
    )
    assert code == 0
    np.testing.assert_allclose(column(out, "BREEDING_VALUE"), expected.breeding_values, atol=1e-6)
    np.testing.assert_allclose(
        column(out, "PERMANENT_EFFECT"), expected.permanent_effects, atol=1e-6
    )
    np.testing.assert_array_equal(column(out, "RECORDS"), np.bincount(owners, minlength=90))
    assert "note: repeatability 0.5, as given" in err


@pytest.mark.parametrize("scale", ["raw", "centred", "standardised"])
def test_products_both_ways(run, made, scale):
    dosages = inflated(made)
    mean = np.nanmean(dosages, axis=0)
    z = np.where(np.isnan(dosages), mean, dosages)
    if scale != "raw":
        z = z - mean
    if scale == "standardised":
        variance = mean * (1 - mean / 2)
        z = np.divide(z, np.sqrt(variance), out=np.zeros_like(z), where=variance > 0)
    left = np.random.default_rng(0).normal(size=(90, 3))
    np.save("left.npy", left)
    options = ("--transpose", "--scale", scale, "-o", "out.npy")
    assert run("product", "made.bed", "left.npy", *options)[0] == 0
    np.testing.assert_allclose(np.load("out.npy"), z.T @ left, atol=1e-10)
    content = Path("left.npy").read_bytes()
    for bad, words in [
        (b"", "left.npy: the file is empty, needs a matrix"),
        (b"\x1f\x8b\x08" + content, "left.npy: is not a .npy file, needs a matrix of numbers"),
        (content[:500] + b"\0" + content[500:], "left.npy: has 1 byte more than its matrix"),
    ]:
        Path("left.npy").write_bytes(bad)
        code, _, err = run("product", "made.bed", "left.npy", *options)
        assert (code, words in err) == (1, True), err


def test_a_table_may_be_of_whole_numbers_for_long(run, made):
    right = np.zeros(240)
    right[1], right[239] = 3, -0.25
    Path("right.txt").write_text("".join(f"{value:g}\n" for value in right))
    assert run("product", "made.bed", "right.txt", "-o", "out.npy")[0] == 0
    expected = centred(made) @ right
    np.testing.assert_allclose(np.load("out.npy").ravel(), expected, atol=1e-10)
    content = Path("right.txt").read_text()
    Path("right.txt").write_text(content + "\n\n")
    assert run("product", "made.bed", "right.txt", "-o", "out.npy")[0] == 0
    np.testing.assert_allclose(np.load("out.npy").ravel(), expected, atol=1e-10)
    Path("right.txt").write_text("0 1\n" + content)
    _, _, err = run("product", "made.bed", "right.txt", "-o", "out.npy")
    assert "right.txt, line 2: has 1 number, others have 2" in err
    for word, value in (("nan", np.nan), ("-inf", -np.inf)):
        right[2] = value  # the first zero between newlines
        np.save("right.npy", right)
        Path("right.txt").write_text(content.replace("\n0\n", f"\n{word}\n", 1))
        for name in ("right.txt", "right.npy"):
            assert run("product", "made.bed", name, "-o", f"{name}.out.npy")[0] == 0
        both = [np.load(f"right.{ending}.out.npy").ravel() for ending in ("txt", "npy")]
        np.testing.assert_array_equal(*both)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("freq nothing.bed", "there is no such file"),
        ("gwas made.bed --pheno made.pheno.tsv --trait height", "--trait is 'height', the table"),
        ("gwas made.bed --pheno made.pheno.tsv --covariate age", "--covariate is 'age'"),
        ("gwas made.bed --pheno made.pheno.tsv --condition x", "'x' is not a variant's ID; a scan"),
        ("freq made.bed --region 7:1-x", "--region names contig '7:1-x', the genotypes have"),
        ("freq made.bed --region chrZ", "names contig 'chrZ', the genotypes have"),
        ("product made.bed made.fam", "made.fam, line 1: has 'pop1', needs numbers between"),
        ("blup made.bed --pheno made.pheno.tsv --heritability 1", "heritability is 1"),
    ],
)
def test_bad_input_is_one_sentence(run, made, arguments, words):
    code, _, err = run(*arguments.split())
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert (code, len(lines)) == (1, 1), err
    assert re.search(words, lines[0])


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("freq made.bed --samples s.png", "--samples s.png: .png is the ending of a picture"),
        ("pca made.bed --loadings l.npy", "--loadings l.npy: .npy is the ending of NumPy"),
        ("grm made.bed -o g.npy --pairs p.csv", "--pairs p.csv: .csv is the ending of"),
        ("blup made.bed --effects e.bed", "--effects e.bed: .bed is the ending of BED"),
        ("blup made.bed --cross-validate 3 -o b.tsv", "--cross-validate writes no table; leave"),
        ("blup made.bed --cross-validate 3 --effects e.tsv", "--cross-validate writes no table;"),
    ],
)
def test_a_table_that_cannot_be_is_refused_before_anything_is_read(run, made, command, words):
    before = sorted(path.name for path in Path().iterdir())
    code, out, err = run(*command.split())
    assert (code, out) == (2, "")
    assert words in " ".join(err.replace("│", " ").split())
    assert sorted(path.name for path in Path().iterdir()) == before
