"""``geno ld``, ``prune``, ``clump``, ``king``, ``score``, ``convert`` write what Python finds."""

from __future__ import annotations

import csv
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import genoviz
from genoviz.cli.main import main
from genoviz.errors import n_words
from tests.conftest import ROOT, real_data
from tests.genotype_sets import assert_same
from tests.plink import Plink


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command; return its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def run(text):
        with pytest.raises(SystemExit) as exit_:
            main(["geno", *text.split()])
        captured = capfd.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def made(tmp_path):
    for ending in ("bed", "bim", "fam"):
        shutil.copy(ROOT / "data_samples" / f"genotypes.{ending}", tmp_path / f"g.{ending}")
    return genoviz.read_genotypes(tmp_path / "g.bed")


def rows_of(text):
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def column(text, name):
    return np.array([float("nan" if row[name] == "NA" else row[name]) for row in rows_of(text)])


def test_ld_lists_pairs(run, made):
    code, out, err = run("ld g.bed --window-kb 200 --min-r2 0.3")
    found = genoviz.linked_pairs(made, max_distance=200_000, min_r2=0.3)
    assert (code, f"{len(found):,} pairs with r² of at least 0.3" in err) == (0, True)
    assert len(found) > 10
    np.testing.assert_array_equal(column(out, "R2"), found.r2)
    for title, rows in (("ID_A", found.first), ("ID_B", found.second)):
        assert [row[title] for row in rows_of(out)] == made.variants.ids[rows].tolist()
    chosen = str(made.variants.ids[found.first[0]])
    _, out, _ = run(f"ld g.bed --variant {chosen} --haplotypes --min-r2 0.2 --window 5")
    row = np.flatnonzero(made.variants.ids == chosen)
    options = {"variants": row, "min_r2": 0.2, "window": 5, "measure": "haplotype"}
    np.testing.assert_array_equal(column(out, "R2"), genoviz.linked_pairs(made, **options).r2)
    code, _, err = run("ld g.bed --variant nobody")
    assert (code, "--variant nobody is the ID of 0 variants" in err) == (1, True)


def test_ld_writes_a_matrix(run, made):
    contig, end = made.variants.contigs[0], int(made.variants.positions[20])
    assert run(f"ld g.bed --region {contig}:0-{end} -o m.npy")[0] == 0
    wanted = genoviz.linkage(made, made.variants.in_region(contig, 0, end))
    np.testing.assert_array_equal(np.load("m.npy"), wanted)
    code, _, err = run("ld g.bed -o m.npy --variant rs1")
    assert (code, "--variant takes a table" in err) == (2, True)


def test_founders_alone_are_taken_when_asked(run, made):
    fam = Path("g.fam")
    rows = [line.split() for line in fam.read_text().splitlines()]
    for row in rows[::3]:
        row[2] = rows[1][1]
    fam.write_text("".join(" ".join(row) + "\n" for row in rows))
    _, everybody, err = run("ld g.bed --min-r2 0.5")
    n = len(rows) - len(rows[::3])
    assert f"r² is of all {len(rows)} samples; --founders takes the {n} without" in err
    _, founders, err = run("ld g.bed --min-r2 0.5 --founders")
    assert "--founders" not in err
    part = genoviz.select_samples(made, np.arange(len(rows)) % 3 > 0)
    np.testing.assert_array_equal(column(founders, "R2"), genoviz.linked_pairs(part, min_r2=0.5).r2)
    assert founders != everybody


def test_prune_writes_lists_that_extract_takes(run, made):
    code, _, err = run("prune g.bed --max-r2 0.3 -o kept.txt --removed gone.txt")
    kept = genoviz.prune_by_linkage(made, max_r2=0.3)
    ids = made.variants.ids
    assert (code, f"{kept.sum():,} of {len(kept):,} variants stay" in err) == (0, True)
    assert Path("kept.txt").read_text().split() == ids[kept].tolist()
    assert Path("gone.txt").read_text().split() == ids[~kept].tolist()
    for option, rows in (("--extract", kept), ("--exclude", ~kept)):
        _, out, err = run(f"freq g.bed {option} kept.txt")
        assert ([row["ID"] for row in rows_of(out)], err) == (ids[rows].tolist(), "")


def test_lists_that_fit_nothing_are_told(run, made):
    Path("few.txt").write_text(f"{made.variants.ids[3]}\nstranger\n")
    code, out, err = run("freq g.bed --extract few.txt")
    assert (code, len(rows_of(out))) == (0, 1)
    assert "1 of 2 IDs of few.txt are of no variant" in err
    Path("none.txt").write_text("stranger\n")
    code, _, err = run("freq g.bed --extract none.txt")
    assert (code, "none.txt: names none of the" in err) == (1, True)
    Path("all.txt").write_text("".join(f"{name}\n" for name in made.variants.ids))
    code, _, err = run("freq g.bed --exclude all.txt")
    assert (code, "all.txt: names all of the" in err) == (1, True)
    Path("gone.txt").write_text("".join(f"{name}\n" for name in made.samples.ids[5:]))
    assert run("freq g.bed --remove gone.txt --samples s.tsv -o f.tsv")[0] == 0
    rows = rows_of(Path("s.tsv").read_text())
    assert [row["IID"] for row in rows] == made.samples.ids[:5].tolist()
    Path("gone.txt").write_text("".join(f"{name}\n" for name in made.samples.ids))
    code, _, err = run("freq g.bed --remove gone.txt")
    assert (code, "and none is left" in err) == (1, True)


def test_families_of_other_files_are_told_and_never_mix_samples_up(run, made):
    ids = made.samples.ids
    Path("keep.txt").write_text(f"another {ids[1]}\nanother {ids[2]}\n")
    code, _, err = run("freq g.bed --keep keep.txt --samples s.tsv -o f.tsv")
    assert code == 0
    assert "no FID of keep.txt is that of its IID in the genotypes: IIDs alone count" in err
    assert [row["IID"] for row in rows_of(Path("s.tsv").read_text())] == ids[1:3].tolist()
    numbers = np.arange(made.n_samples)
    names = numbers.astype(np.str_), (numbers % 3).astype(np.str_)
    samples = replace(made.samples, family_ids=names[0], ids=names[1])
    genoviz.write_plink(replace(made, samples=samples), "families")
    Path("keep.txt").write_text("another 1\n")
    code, _, err = run("freq families.bed --keep keep.txt")
    assert (code, "keep.txt: names none of the" in err) == (1, True)


def test_an_id_of_two_variants_is_no_list(run, made):
    variants = replace(made.variants, ids=np.full(made.n_variants, "."))
    genoviz.write_plink(replace(made, variants=variants), "same")
    code, out, err = run("prune same.bed")
    assert (code, out) == (1, "")
    assert "'.' is the ID of a variant that stays and of one that goes" in err
    assert run("convert same.bed --new-ids missing -o named")[0] == 0
    named = genoviz.read_genotypes("named.bed").variants
    place = f"{named.contigs[0]}:{named.positions[0] + 1}:{named.allele2[0]}:{named.allele1[0]}"
    assert named.ids[0] == place
    assert run("prune named.bed -o kept.txt")[0] == 0


def test_clumps_of_a_scan(run, made):
    rng = np.random.default_rng(2)
    p = np.round(rng.random(made.n_variants) ** 4, 9)
    p[5] = np.nan
    rows = zip(made.variants.ids, p, strict=True)
    lines = ["SNP,other,P", *(f"{a},x,{'NA' if b != b else repr(float(b))}" for a, b in rows)]
    lines += ["stranger,x,1e-30", f"{made.variants.ids[7]},x,1"]
    Path("scan.csv").write_text("\n".join(lines) + "\n")
    options = "--index-p 0.01 --min-r2 0.2 --member-p 0.1"
    code, out, err = run(f"clump g.bed scan.csv {options}")
    assert code == 0
    assert "1 further rows of the same IDs" in err
    assert "variants of scan.csv have no genotypes, such as stranger with the lowest p" in err
    found = genoviz.clump(made, p, index_p=0.01, min_r2=0.2)
    ids = made.variants.ids
    assert [row["ID"] for row in rows_of(out)] == ids[found.index_variants].tolist()
    assert max(np.diff(found.offsets)) > 1
    for k, row in enumerate(rows_of(out)):
        of_clump = p[found.of(k)]
        named = ids[found.of(k)][of_clump < 0.1].tolist()
        assert (row["MEMBERS"], int(row["TOTAL"])) == (",".join(named) or "NONE", len(of_clump))
        edges = ((0.05, 2), (0.01, 0.05), (0.001, 0.01), (0.0001, 0.001), (-1, 0.0001))
        wanted = [int(((of_clump >= low) & (of_clump < high)).sum()) for low, high in edges]
        assert [int(row[t]) for t in ("NSIG", "S05", "S01", "S001", "S0001")] == wanted
    Path("weak.csv").write_text(f"SNP,P\n{ids[3]},0.9\n")
    code, out, _ = run("clump g.bed weak.csv")
    assert (code, len(out.splitlines())) == (0, 1)
    _, by_dosage, _ = run(f"clump g.bed scan.csv {options} --dosages")
    found = genoviz.clump(made, p, index_p=0.01, min_r2=0.2, measure="dosage")
    assert [row["ID"] for row in rows_of(by_dosage)] == ids[found.index_variants].tolist()


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("ID P NEG_LOG10_P", ("0.0 400.5", "0.0 1300", "1e-300 300", "0 900")),
        ("ID P LOG10_P", ("0.0 400.5", "0.0 1300", "1e-300 300", "0 900")),  # as named before
        ("ID P", ("3e-401", "1.5E-1300", "1e-300", "4.2e-900")),
    ],
)
def test_index_variants_have_the_lowest_p_where_float64_has_0(run, made, header, rows):
    ids = made.variants.ids[:4].tolist()
    rows = [f"{name} {row}" for name, row in zip(ids, rows, strict=True)]
    Path("scan").write_text("\n".join([header, *rows]) + "\n")
    code, out, _ = run("clump g.bed scan --min-r2 1")
    assert (code, [row["ID"] for row in rows_of(out)]) == (0, [ids[k] for k in (1, 3, 0, 2)])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SNP Q\nx 0.5\n", "scan: has columns SNP, Q, needs P, pval"),
        ("SNP P\nx 1.5\n", "scan, line 2: p is 1.5, needs to be 0 to 1"),
        ("SNP P\nx low\n", "scan, line 2: column P has 'low', needs a number"),
        ("SNP P\nx 0.5\n", "scan: has a p of none of the"),
    ],
)
def test_scans_that_cannot_be_clumped_are_told(run, made, text, words):
    Path("scan").write_text(text)
    code, out, err = run("clump g.bed scan")
    assert (code, out, words in err) == (1, "", True), err


def test_king_lists_relatives_and_the_unrelated(run, made):
    code, out, _ = run("king g.bed")
    pairs = genoviz.king_kinship(made)
    assert (code, len(rows_of(out))) == (0, len(pairs))
    np.testing.assert_array_equal(column(out, "KINSHIP"), pairs.kinship)
    np.testing.assert_array_equal(column(out, "NSNP"), pairs.n_variants)
    np.testing.assert_allclose(column(out, "IBS0"), pairs.n_opposite / pairs.n_variants)
    at_least = float(np.sort(pairs.kinship)[-40])
    code, out, err = run(f"king g.bed --at-least {at_least!r} --unrelated un.tsv")
    assert (code, len(rows_of(out))) == (0, 40)
    kept = genoviz.unrelated_samples(pairs, made.n_samples, at_least=at_least)
    assert f"{len(kept)} of {made.n_samples} samples are in un.tsv" in err
    assert run("freq g.bed --keep un.tsv --samples s.tsv -o f.tsv")[0] == 0
    rows = rows_of(Path("s.tsv").read_text())
    assert [row["IID"] for row in rows] == made.samples.ids[kept].tolist()
    code, _, err = run("king g.bed --unrelated un.tsv")
    assert (code, "--unrelated needs --at-least" in err) == (2, True)


def test_score_multiplies_weights_of_alleles(run, made):
    variants, rng = made.variants, np.random.default_rng(1)
    alleles = np.where(np.arange(made.n_variants) % 2, variants.allele1, variants.allele2)
    weights = rng.normal(size=(made.n_variants, 2))
    lines = ["rsID\teffect_allele\tone\ttwo"]
    rows = zip(variants.ids, alleles, weights.tolist(), strict=True)
    lines += [f"{a}\t{b}\t{c!r}\t{d!r}" for a, b, (c, d) in rows]
    Path("w.tsv").write_text("\n".join([*lines, "stranger\tA\t1\t1"]) + "\n")
    code, out, err = run("score g.bed w.tsv")
    assert (code, "Rows that name no variant, and do not count: 1 of" in err) == (0, True)
    found = genoviz.score(made, variants.ids, alleles, weights)
    for k, name in enumerate(("one", "two")):
        np.testing.assert_array_equal(column(out, f"{name}_SUM"), found.sums[:, k])
        np.testing.assert_array_equal(column(out, f"{name}_AVG"), found.averages[:, k])
    np.testing.assert_array_equal(column(out, "ALLELE_CT"), found.n_alleles)
    np.testing.assert_array_equal(column(out, "DOSAGE_SUM"), found.dosage_sums)
    _, out, _ = run("score g.bed w.tsv --weight two")
    assert "one_SUM" not in out
    np.testing.assert_allclose(column(out, "two_SUM"), found.sums[:, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ID A1\nx A\n", "w: has no column behind A1, needs one of weights"),
        ("ID w\nx 1\n", "w: has columns ID, w, needs A1, effect_allele"),
        ("ID A1 w\nx A NA\n", "w, line 2: has a weight that is missing or infinite"),
        ("ID A1 w\nx A 1\n", "none of 1 row counts"),
    ],
)
def test_weights_that_cannot_be_used_are_told(run, made, text, words):
    Path("w").write_text(text)
    code, out, err = run("score g.bed w")
    assert (code, out, words in err) == (1, "", True), err


def test_finemap_writes_probabilities_and_sets(run, made):
    part = made.take_variants(slice(100, 160))
    dosages = np.maximum(part.dosages(np.array([10, 44])), 0)
    y = dosages @ [0.8, 0.9] + np.random.default_rng(1).normal(size=made.n_samples)
    age = np.arange(made.n_samples) % 9
    rows = zip(made.samples.ids, y.tolist(), age.tolist(), strict=True)
    lines = ["IID,y,age", *(f"{a},{b!r},{c}" for a, b, c in rows)]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    Path("list.txt").write_text("".join(f"{name}\n" for name in part.variants.ids))
    options = "--pheno t.csv --trait y --covariate age --extract list.txt"
    code, out, err = run(f"finemap g.bed {options} --sets sets.tsv")
    found = genoviz.fine_map(part, y, covariates=age[:, None])
    assert code == 0
    np.testing.assert_array_equal(column(out, "PIP"), found.inclusion)
    np.testing.assert_array_equal(column(out, "EFFECT"), found.effects)
    sets = rows_of(Path("sets.tsv").read_text())
    assert len(sets) == len(found.credible_sets) == 2
    assert "300 samples, 60 variants, 2 credible sets after" in err
    for number, (row, each) in enumerate(zip(sets, found.credible_sets, strict=True), 1):
        assert row["VARIANTS"].split(",") == part.variants.ids[each.variants].tolist()
        named = {row["ID"] for row in rows_of(out) if row["SET"] == str(number)}
        assert named == {*part.variants.ids[each.variants].tolist()}
        assert float(row["LOG10_BF"]) == each.log10_bayes_factor > 2
    bim = Path("g.bim")
    lines = [line.split() for line in bim.read_text().splitlines()]
    bim.write_text("".join("\t".join([line[0], ".", *line[2:]]) + "\n" for line in lines))
    place, names = part.variants.columns, part.variants.full_name
    region = f"{place['#CHROM'][0]}:{place['POS'][0] - 1}-{place['POS'][-1]}"
    assert {*place["#CHROM"]} == {place["#CHROM"][0]}
    fitted = "--pheno t.csv --trait y --covariate age --region"
    assert run(f"finemap g.bed {fitted} {region} --sets s.tsv -o p.tsv")[0] == 0
    for row, each in zip(rows_of(Path("s.tsv").read_text()), found.credible_sets, strict=True):
        assert row["VARIANTS"].split(",") == [names(k) for k in each.variants.tolist()]
    bim.write_text("".join("\t".join(line) + "\n" for line in lines))
    code, _, err = run(f"finemap g.bed {options} --max-iterations 1 -o p.tsv")
    assert (code, "raise --max-iterations" in err) == (3, True)


def test_sets_are_of_regions_or_of_ids(run, made):
    variants, rng = made.variants, np.random.default_rng(1)
    y, age = rng.normal(size=made.n_samples), rng.normal(size=made.n_samples)
    case = np.where(y > 0.5, 2, 1)
    rows = zip(made.samples.ids, y.tolist(), case, age.tolist(), strict=True)
    lines = ["IID,y,case,age", *(f"{a},{b!r},{c},{d!r}" for a, b, c, d in rows)]
    Path("t.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    places = {"g1": np.arange(3, 9), "g2": np.array([20, 21, 30])}
    contig, starts = variants.contigs[0], variants.positions
    bounds = [("g1", 3, 8), ("g2", 20, 21), ("g2", 30, 30)]
    bounds = [(name, starts[first], starts[last] + 1) for name, first, last in bounds]
    Path("r.bed").write_text("".join(f"chr{contig}\t{a}\t{b}\t{n}\n" for n, a, b in bounds))
    Path("r.gff3").write_text(
        "".join(f"{contig}\tx\tgene\t{a + 1}\t{b}\t.\t+\t.\tName={n}\n" for n, a, b in bounds)
        + f"{contig}\tx\texon\t1\t900000\t.\t+\t.\tName=other\n"
    )
    ids = [(name, each) for name, rows in places.items() for each in variants.ids[rows]]
    Path("l.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in [*ids, ("g1", "nobody")]))
    options = "--pheno t.csv --covariate age --max-maf 0.4 --weights none"
    common = {"covariates": age[:, None], "max_maf": 0.4, "weights": "none"}
    found = genoviz.associate_sets(made, y, places, **common)
    for file, words in (
        ("r.bed", f"Contigs are renamed: chr{contig} to {contig}"),
        ("r.gff3", "trait y (linear): 300 samples, 2 of 2 sets tested"),
        ("l.tsv", "1 of 10 IDs of l.tsv are of no variant"),
    ):
        code, out, err = run(f"sets g.bed {file} --trait y {options}")
        assert (code, words in err) == (0, True), err
        assert [row["#SET"] for row in rows_of(out)] == ["g1", "g2"]
        for title, values in list(found.columns.items())[1:]:
            np.testing.assert_array_equal(column(out, title), values)
    code, out, err = run(f"sets g.bed l.tsv --trait case {options} --min-variants 4")
    found = genoviz.associate_sets(made, case, places, model="logistic", min_variants=4, **common)
    assert (code, "trait case (logistic): 300 samples, 1 of 2 sets tested" in err) == (0, True)
    np.testing.assert_array_equal(column(out, "SKAT_Q"), found.skat_q)
    options += " --model mixed --leave-out none"
    code, out, err = run(f"sets g.bed l.tsv --trait case {options}")
    found = genoviz.mixed_associate_sets(made, case, places, leave_out="none", **common)
    assert (code, "trait case (mixed): 300 samples, 2 of 2 sets tested" in err) == (0, True)
    told = "has two values and is tested as a number (mixed); --model mixed-logistic tests its odds"
    assert f"trait case {told}" in err
    np.testing.assert_array_equal(column(out, "SKATO_NEG_LOG10_P"), found.skat_o_log10_p)
    of_odds = options.replace("mixed", "mixed-logistic")
    code, out, err = run(f"sets g.bed l.tsv --trait case {of_odds} --seed 4")
    given = {"model": "logistic", "leave_out": "none", "seed": 4}
    found = genoviz.mixed_associate_sets(made, case, places, **given, **common)
    assert (code, "trait case (mixed-logistic): 300 samples, 2 of 2" in err) == (0, True)
    assert f"note: {found.notes[0]}" in err
    for title in ("BURDEN_BETA", "SKATO_NEG_LOG10_P"):
        np.testing.assert_array_equal(column(out, title), found.columns[title])
    code, out, err = run(f"sets g.bed l.tsv --trait y {of_odds}")
    told = "the phenotype has 300 values; a logistic model needs two, such as 1 for controls and"
    assert (code, out, told in " ".join(err.split())) == (1, "", True)
    Path("none.tsv").write_text("g1\tnobody\n")
    for file, option, status, words in (
        ("r.gff3", "--feature CDS", 1, "r.gff3: has no features of type CDS, needs one at least"),
        ("r.bed", "--feature gene", 2, "--feature takes a GFF or GTF file"),
        ("none.tsv", "", 1, "none.tsv: has none of the"),
        ("g.bed", "", 1, "needs to be"),
    ):
        code, out, err = run(f"sets g.bed {file} --trait y {options} {option}")
        assert (code, out, words in " ".join(err.split())) == (status, "", True), err


def test_convert_goes_from_each_kind_to_each(run, made):
    for name in ("a.vcf.gz", "b.npz", "c.bed", "d"):
        code, out, _ = run(f"convert g.bed -o {name}")
        assert (code, repr(made) in out) == (0, True)
    but = ("centimorgans", "family_ids", "father_ids", "mother_ids", "sexes")
    assert_same(genoviz.read_genotypes("a.vcf.gz"), made, but=but)
    for name in ("b.npz", "c.bed", "d"):
        assert_same(genoviz.read_genotypes(name), made)
    assert run("convert a.vcf.gz -o e")[0] == 0
    assert_same(genoviz.read_genotypes("e"), made, but=but)
    for name in ("x.csv", "x.bed.gz"):
        assert run(f"convert g.bed -o {name}")[0] == 2
    code, _, err = run("convert g.bed -o g.bed")
    assert (code, "must not write over it" in err) == (1, True)


def test_convert_takes_column_6_of_the_fam_file_along(run, made):
    fam = Path("g.fam")
    rows = [line.split() for line in fam.read_text().splitlines()]
    values = [["1.25", "-9", "NA", "word", "2"][k % 5] for k in range(len(rows))]
    lines = [" ".join([*row[:5], value]) for row, value in zip(rows, values, strict=True)]
    fam.write_text("\n".join(lines) + "\n")
    Path("keep.txt").write_text("".join(f"{row[0]} {row[1]}\n" for row in rows[1:]))
    code, _, err = run("convert g --keep keep.txt -o small")
    told = n_words(values[1:].count("word"), "word")
    assert (code, f"column 6 of g.fam has {told}, read as -9" in err) == (0, True)
    wanted = [{"NA": "-9", "word": "-9"}.get(value, value) for value in values[1:]]
    assert [line.split()[5] for line in Path("small.fam").read_text().splitlines()] == wanted


def test_convert_tells_what_the_output_has_no_place_for(run, made):
    n, ids = made.n_samples, made.samples.ids
    fathers, phenotype = np.full(n, "0", ids.dtype), np.full(n, np.nan)
    fathers[1], phenotype[0] = ids[0], 1
    plain = replace(
        made,
        samples=replace(made.samples, family_ids=ids, sexes=np.zeros(n, np.uint8)),
        variants=replace(made.variants, centimorgans=np.zeros(made.n_variants)),
    )
    genoviz.write_plink(plain, "plain")
    genoviz.write_plink(
        replace(made, samples=replace(made.samples, father_ids=fathers)), "all", phenotype=phenotype
    )
    lost = "family IDs, parents, sexes"
    for name, words in (
        ("a.vcf", f"VCF files have no place for {lost}, centimorgans, phenotypes, which are left"),
        ("a.parquet", f"Parquet files have no place for {lost}, phenotypes, which are left out"),
        ("a.npz", "NumPy files have no place for phenotypes, which are left out"),
        ("a.bed", ""),
    ):
        assert run(f"convert plain.bed -o {name}")[2] == ""
        code, _, err = run(f"convert all.bed -o {name}")
        assert (code, words in " ".join(err.split()), bool(err)) == (0, True, bool(words)), err


def test_convert_turns_files_of_the_old_order_as_plink_does(run, made, tmp_path):
    packed = np.zeros((made.n_samples, (made.n_variants + 3) // 4), np.uint8)
    for variant, row in enumerate(made.packed):
        codes = np.unpackbits(row, bitorder="little").reshape(-1, 2) @ np.array([1, 2], np.uint8)
        packed[:, variant // 4] |= codes[: made.n_samples] << 2 * (variant % 4)
    Path("old.bed").write_bytes(b"\x6c\x1b\x00" + packed.tobytes())
    for ending in ("bim", "fam"):
        shutil.copy(f"g.{ending}", f"old.{ending}")
    code, _, err = run("convert old.bed -o new")
    assert (code, "old.bed is in the old order, sample after sample" in err) == (0, True)
    assert_same(genoviz.read_genotypes("new.bed"), made)
    plink = Plink("plink1.9", tmp_path)
    plink(tmp_path / "old", "--keep-allele-order", "--make-bed")
    assert Path("out.bed").read_bytes() == Path("new.bed").read_bytes()


def test_convert_splits_alleles_as_bcftools(run):
    if shutil.which("bcftools") is None:
        pytest.skip("bcftools is not installed")
    path = real_data("genotypes/1kg_phase3_chr21_start.vcf.gz")
    split = subprocess.run(
        ["bcftools", "norm", "-m", "-any", path], capture_output=True, check=True
    )
    Path("wanted.vcf").write_bytes(split.stdout)
    assert run(f"convert {path} --split-alleles -o found")[0] == 0
    wanted = genoviz.read_genotypes("wanted.vcf")
    assert_same(genoviz.read_genotypes("found"), wanted, but=("sexes",))


def test_meta_combines_scans(run, made):
    pheno = ROOT / "data_samples" / "genotypes.pheno.csv"
    for name, kept in (("a", made.samples.ids[::2]), ("b", made.samples.ids[1::2])):
        Path("kept.txt").write_text("".join(f"{each}\n" for each in kept))
        scan = f"gwas g.bed --pheno {pheno} --trait trait --keep kept.txt -o {name}.tsv.gz"
        assert run(scan)[0] == 0
    code, out, err = run("meta a.tsv.gz b.tsv.gz --random")
    frames = [genoviz.read_associations(f"{name}.tsv.gz") for name in "ab"]
    found = genoviz.meta_analyse(zip("ab", frames, strict=True), random_effects=True)
    assert (code, f"{found.frame.height:,} variants of 2 files" in err) == (0, True)
    assert f"a.tsv.gz: lambda GC {found.lambdas[0]:.4f}\n" in err
    for title in ("BETA", "SE", "NEG_LOG10_P", "Q", "TAU2", "P_RANDOM"):
        np.testing.assert_array_equal(column(out, title), found.frame[title].to_numpy())
    assert [row["DIRECTION"] for row in rows_of(out)] == found.frame["DIRECTION"].to_list()
    code, out, err = run("meta a.tsv.gz --genomic-control -o m.tsv.gz")
    assert (code, out) == (0, "")
    again = genoviz.read_associations("m.tsv.gz")  # what is written can be combined again
    factor = np.sqrt(max(1, found.lambdas[0]))
    usable = frames[0].filter(frames[0]["se"].is_finite())
    np.testing.assert_allclose(again["se"], usable["se"] * factor, rtol=1e-12)
    assert again["n"].to_list() == usable["n"].to_list()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("CHR BP SNP A1 A2 BETA SE\n1 1 x A G 1 1\n1 1 x A G 2 1\n",
         "s: variant x (1:1, A/G) is there twice, needs to be there once"),
        ("CHR BP SNP A1 A2 P\n1 1 x A G 1\n", "s: has columns CHR, BP, SNP, A1, A2, P, needs BETA"),
        ("CHR BP SNP A1 BETA SE\n1 1 x A 1 1\n", "no file has a variant with an effect and both"),
    ],
)  # fmt: skip
def test_scans_that_cannot_be_combined_are_told(run, text, words):
    Path("s").write_text(text)
    code, out, err = run("meta s")
    assert (code, out, words in err) == (1, "", True), err


def test_dosages_are_used_where_they_can_be(run, tmp_path):
    """All 12 samples differ from their hard calls, so that results tell which were used."""
    pytest.importorskip("cyvcf2")
    rng, names = np.random.default_rng(3), [f"s{k}" for k in range(12)]
    lines = ["##fileformat=VCFv4.2", '##FORMAT=<ID=GT,Number=1,Type=String,Description="">',
             '##FORMAT=<ID=DS,Number=A,Type=Float,Description="">', "##contig=<ID=1>",
             "\t".join([*"#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".split(), *names]),
    ]  # fmt: skip
    dosages = rng.integers(0, 9, (4, 12)) / 4
    for k, row in enumerate(dosages):
        fields = [f"{('0/0', '0/1', '1/1')[int(x // 0.8)]}:{x}" for x in row]
        lines.append("\t".join(["1", str(k + 1), f"v{k}", *"AG...", "GT:DS", *fields]))
    (tmp_path / "x.vcf").write_text("\n".join([*lines, ""]))
    trait = rng.normal(size=12)
    (tmp_path / "y.tsv").write_text("IID\ty\n" + "".join(map("{}\t{}\n".format, names, trait)))
    (tmp_path / "w.tsv").write_text("ID\tA1\tw\nv0\tG\t1\nv3\tA\t2\n")
    calls = dosages // 0.8
    takes = "4 variants have dosages: frequencies, scores and association (except its mixed model)"
    not_taken = "4 variants have dosages, which are not taken"
    for option, used, note in (("", dosages, takes), ("--hard-calls", calls, not_taken)):
        code, out, err = run(f"freq x.vcf {option}")
        assert (code, note in err) == (0, True)
        np.testing.assert_allclose(column(out, "A1_FREQ"), used.mean(1) / 2)
        assert ("MACH_R2" in rows_of(out)[0]) == (not option)
        np.testing.assert_array_equal(column(out, "HET"), (calls == 1).sum(1))
        code, out, err = run(f"gwas x.vcf --pheno y.tsv {option}")
        assert (code, note in err) == (0, True)
        slopes = [np.polyfit(row, trait, 1)[0] for row in used]
        np.testing.assert_allclose(column(out, "BETA"), slopes)
        code, out, err = run(f"score x.vcf w.tsv {option}")
        assert (code, note in err) == (0, True)
        np.testing.assert_allclose(column(out, "w_SUM"), used[0] + 2 * (2 - used[3]))
    code, out, err = run("gwas x.vcf --pheno y.tsv --condition v1 --maf 0.01")
    design = np.column_stack([np.ones(12), dosages[1], dosages[2]])
    beta = np.linalg.lstsq(design, trait)[0][-1]
    np.testing.assert_allclose(column(out, "BETA")[2], beta)
    for command in (
        "gwas x.vcf --pheno y.tsv --model mixed --leave-out none",
        *("pca x.vcf -k 1", "king x.vcf", "prune x.vcf", "convert x.vcf -o made"),
    ):
        code, out, err = run(command)
        assert (code, not_taken in err) == (0, True), err
