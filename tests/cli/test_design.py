"""``genoviz design`` gives the guides of the library, by region, gene and sequence."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

from genoviz import Sequences, design_guides, find_guides

COMMAND = ("design",)

TEXT = "".join(np.random.default_rng(4).choice([*"ACGT"], 900))
TURN = str.maketrans("ACGT", "TGCA")


@pytest.fixture(autouse=True)
def files(tmp_path):
    (tmp_path / "genome.fa").write_text(f">c1\n{TEXT}\n>c2\n{TEXT[300:500]}\n")
    (tmp_path / "target.fa").write_text(f">insert\n{TEXT[100:200]}\n")
    nodes = {1: TEXT[:439], 2: TEXT[439], 3: TEXT[439].translate(TURN), 4: TEXT[440:]}
    lines = [f"S\t{name}\t{letters}" for name, letters in nodes.items()]
    for name, node in (("REF#0#c1", 2), ("HG1#1#c1", 2), ("HG1#2#c1", 3)):
        lines.append(f"P\t{name}\t1+,{node}+,4+\t*")
    (tmp_path / "graph.gfa").write_text("\n".join(["H\tVN:Z:1.0", *lines]) + "\n")
    gff = "{}\tx\t{}\t{}\t{}\t.\t-\t.\t{}\n"
    rows = [("gene", 401, 700, "ID=g;Name=ABC1"), ("exon", 401, 450, "Parent=g"),
            ("exon", 601, 700, "Parent=g")]  # fmt: skip
    for contig, name in (("c1", "genes.gff3"), ("REF#0#c1", "paths.gff3")):
        (tmp_path / name).write_text("".join(gff.format(contig, *row) for row in rows))


def table(text):
    return [*csv.DictReader(text.splitlines(), delimiter="\t")]


def test_a_region_gives_what_the_library_finds(run):
    code, out, err = run("c1:400-600", "--genome", "genome.fa", "-m", "2")
    assert code == 0, err
    rows = table(out)
    letters = np.frombuffer(TEXT.encode(), np.uint8)
    found = find_guides(letters, "NGG", start=400, end=600)
    genome = Sequences.from_records([("c1", TEXT), ("c2", TEXT[300:500])])
    wanted = design_guides(found, genome, contig="c1", max_mismatches=2, backend="cpu")
    assert [row["guide"] for row in rows] == [found.guides[n] for n in wanted.order]
    assert [int(row["rank"]) for row in rows] == list(range(1, len(rows) + 1))
    for row, number in zip(rows, wanted.order, strict=True):
        assert [int(row[f"sites_{n}"]) for n in range(3)] == wanted.counts[number].tolist()
        site = TEXT[int(row["start"]) : int(row["end"])]
        if row["strand"] == "-":
            site = site[::-1].translate(TURN)
        assert site == row["guide"] + row["pam"]
        assert 400 <= int(row["cut_site"]) < 600
        assert float(row["worst_cfd"]) == pytest.approx(wanted.worst_cfd[number], rel=1e-3)
        assert float(row["gc"]) == 5 * sum(map(row["guide"].count, "GC"))
        assert row["n_haplotypes"] == row["gene_position"] == ""
    # What stands in c2 again comes behind what stands nowhere else.
    again = [int(row["sites_0"]) for row in rows]
    assert again == sorted(again)
    assert {*again} == {0, 1}


def test_a_gene_has_positions_and_exons_5_to_3(run):
    code, out, err = run("abc1", "--genome", "genome.fa", "--genes", "genes.gff3", "-m", "1")
    assert code == 0, err
    rows = table(out)
    assert {row["class"] for row in rows} == {"exon", "intron"}
    for row in rows:
        cut = int(row["cut_site"])
        assert 400 <= cut < 700
        assert row["class"] == ("exon" if cut < 450 or cut >= 600 else "intron")
        # On the other strand: the exon of 100 bp comes first, then that of 50.
        behind = max(0, min(700, 700) - max(cut, 600)) + max(0, 450 - cut)
        assert float(row["gene_position"]) == pytest.approx(behind / 150, abs=1e-3)


def test_targets_that_more_haplotypes_have_come_first(run):
    whole = run("ABC1", "--genome", "graph.gfa", "--genes", "paths.gff3", "-m", "1")
    assert whole[0] == 0, whole[2]
    rows = table(whole[1])
    assert {row["contig"] for row in rows} == {"REF#0#c1"}
    n_with = [int(row["n_haplotypes"]) for row in rows]
    assert n_with == sorted(n_with, reverse=True)
    region = table(run("REF#0#c1:400-700", "--genome", "graph.gfa", "-m", "1")[1])
    assert [row["guide"] for row in region] == [row["guide"] for row in rows]
    other = table(run("HG1#2#c1:400-700", "--genome", "graph.gfa", "-m", "1")[1])
    assert {*n_with} == {2, 3}
    for row, n_of_allele in [*((row, 2) for row in rows), *((row, 1) for row in other)]:
        start, end = int(row["start"]), int(row["end"])
        # The first letter of the PAM may be any.
        free = end - 3 if row["strand"] == "+" else start + 2
        has_allele = start <= 439 < end and free != 439
        assert int(row["n_haplotypes"]) == (n_of_allele if has_allele else 3)
        assert row["of_haplotypes"] == "3"


def test_sequences_limits_and_other_nucleases(run, tmp_path):
    code, out, err = run("target.fa", "--genome", "genome.fa", "--limit", "3", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert len(result["guides"]) == 3 < result["n_guides"]
    assert {guide["contig"] for guide in result["guides"]} == {"c1"}
    assert "insert is c1:100-200; its guides have the coordinates of c1" in err
    options = ("--genome", "genome.fa", "--enzyme", "Cas12a", "--length", "23", "-m", "1")
    assert run("c1:0-900", *options, "-o", "guides.tsv")[:2] == (0, "")
    rows = table((tmp_path / "guides.tsv").read_text())
    assert rows
    assert {row["pam"][:3] for row in rows} == {"TTT"}
    assert {row["efficiency"] + row["worst_cfd"] + row["oligo_forward"] for row in rows} == {""}


def test_sequences_are_looked_for_in_the_genome_and_foreign_ones_have_all_its_sites(run, tmp_path):
    turned = TEXT[150:420][::-1].translate(TURN)
    (tmp_path / "turned.fa").write_text(f">turned\n{turned.lower()}\n")
    (tmp_path / "foreign.fa").write_text(f">foreign\nACGT{TEXT[150:200]}ACGT\n")
    for genome, contig in (("genome.fa", "c1"), ("graph.gfa", "REF#0#c1")):
        code, out, err = run("turned.fa", "--genome", genome, "-m", "0")
        assert code == 0, err
        assert f"turned is {contig}:150-420" in " ".join(err.split())
        region = table(run(f"{contig}:150-420", "--genome", genome, "-m", "0")[1])
        assert table(out) == region
        code, out, err = run("foreign.fa", "--genome", genome, "-m", "0")
        assert code == 0, err
        assert "foreign is not in the genome as a whole" in " ".join(err.split())
        rows = table(out)
        assert {row["contig"] for row in rows} == {"foreign"}
        both = TEXT + "-" + TEXT[::-1].translate(TURN)
        n_found = [len(re.findall(f"(?={row['guide']}.GG)", both)) for row in rows]
        assert [int(row["sites_0"]) for row in rows] == n_found
        assert {*n_found} == {0, 1}
        assert [float(row["worst_cfd"]) for row in rows] == n_found


def test_no_file_of_the_genome_is_written_over(run, tmp_path):
    (tmp_path / "folder").mkdir()
    file = (tmp_path / "genome.fa").rename(tmp_path / "folder" / "a.tsv")
    text = file.read_text()
    code, _, err = run("c1:1-200", "--genome", "folder", "-o", "folder/a.tsv")
    assert code == 1
    assert "is read by this command, which must not write over it" in " ".join(err.split())
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["nothing", "--genome", "genome.fa"], 1, "'nothing' is neither a FASTA file nor a region"),
        (["c9:1-20", "--genome", "genome.fa"], 1, "no contig is named 'c9'; there are 2"),
        (["c1:1-9000", "--genome", "genome.fa"], 1, "c1 ends at 900, needs to reach 9,000"),
        (["XYZ", "--genome", "genome.fa", "--genes", "genes.gff3"], 1, "has no gene 'XYZ'"),
        (["c1:1-20", "--genome", "genome.fa", "--reference", "x"], 2, "--reference is for graphs"),
        (["c9:1-20", "--genome", "graph.gfa"], 1, "c9"),
        (["c1:0-2", "--genome", "genome.fa", "-m", "1"], 0, "c1:0-2 has no guide of SpCas9"),
    ],
)  # fmt: skip
def test_wrong_calls_are_told(run, arguments, code, words):
    found, _, err = run(*arguments)
    assert found == code
    assert words in " ".join(err.replace("│", " ").split())


def test_a_gene_has_its_own_strand_and_exons(run, tmp_path):
    rows = [
        "c2\tx\tgene\t401\t700\t.\t+\t.\tID=k;Name=KIN",
        (tmp_path / "genes.gff3").read_text().strip(),
        "c1\tx\tgene\t431\t680\t.\t+\t.\tID=o;Name=OTHER",
        "c1\tx\texon\t451\t590\t.\t+\t.\tParent=o",
    ]
    (tmp_path / "more.gff3").write_text("\n".join(rows) + "\n")
    bed = "{}\t{}\t{}\t{}\t0\t{}\t0\t0\t0\t{}\t{}\t{}\n"
    rows = [
        ("c2", 400, 700, "KIN", "+", 1, "300,", "0,"),
        ("c1", 400, 700, "ABC1", "-", 2, "50,100,", "0,200,"),
        ("c1", 400, 690, "SAME", "-", 1, "290,", "0,"),
    ]
    (tmp_path / "more.bed").write_text("".join(bed.format(*row) for row in rows))
    names = [
        f'c1\tx\t{kind}\t{first}\t{last}\t.\t-\t.\tgene_id "{name}"; gene_name "{name}";'
        for kind, first, last, name in (
            ("gene", 401, 700, "ABC1"), ("exon", 401, 450, "ABC1"), ("exon", 601, 700, "ABC1"),
            ("gene", 421, 650, "SAME"), ("exon", 421, 650, "SAME"),
        )
    ]  # fmt: skip
    (tmp_path / "more.gtf").write_text("\n".join(names) + "\n")
    alone = run("ABC1", "--genome", "genome.fa", "--genes", "genes.gff3", "-m", "0")
    assert alone[0] == 0, alone[2]
    for genes in ("more.gff3", "more.bed", "more.gtf"):
        assert run("ABC1", "--genome", "genome.fa", "--genes", genes, "-m", "0") == alone


def test_a_position_is_one_base_and_a_limit_is_for_each_sequence(run, tmp_path):
    rows = table(run("c1:0-900", "--genome", "genome.fa", "-m", "0")[1])
    cut = int(rows[3]["cut_site"])
    for genome, contig in (("genome.fa", "c1"), ("graph.gfa", "REF#0#c1")):
        at = table(run(f"{contig}:{cut}", "--genome", genome, "-m", "0")[1])
        assert {row["cut_site"] for row in at} == {str(cut)}, genome
    (tmp_path / "two.fa").write_text(f">a\n{TEXT[100:250]}\n>b\n{TEXT[600:750]}\n")
    code, out, err = run("two.fa", "--genome", "genome.fa", "-m", "0", "--limit", "2")
    assert code == 0, err
    rows = table(out)
    assert [row["rank"] for row in rows] == ["1", "2", "1", "2"]
    assert [int(row["start"]) > 500 for row in rows] == [False, False, True, True]


def test_a_region_must_lie_on_one_path_as_a_whole(run, tmp_path):
    lines = (tmp_path / "graph.gfa").read_text().splitlines()[:5]
    lines += ["P\tREF#0#c1:0-440\t1+,2+\t*", f"P\tREF#0#c1:500-{500 + len(TEXT) - 440}\t4+\t*"]
    (tmp_path / "parts.gfa").write_text("\n".join(lines) + "\n")
    for region, says in (
        ("REF#0#c1:400-600", "REF#0#c1:0-440:400-440, REF#0#c1:500-960:0-100"),
        ("REF#0#c1:900-1000", "REF#0#c1:500-960:400-460"),
    ):
        code, out, err = run(region, "--genome", "parts.gfa", "-m", "0")
        assert (code, out) == (1, "")
        assert f"{region} is not on one path as a whole, but in part: {says}; name one" in err
    code, out, err = run("REF#0#c1:600-700", "--genome", "parts.gfa", "-m", "0")
    assert code == 0, err
    assert {row["contig"] for row in table(out)} == {"REF#0#c1:500-960"}
