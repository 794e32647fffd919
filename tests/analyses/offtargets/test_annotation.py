"""Genes of hits against slow loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.analyses.offtargets.annotation import annotate_hits, find_gene_parts, hit_intervals
from genoviz.analyses.offtargets.finding import find_offtargets
from genoviz.analyses.offtargets.targets import find_genes_named
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model.intervals.annotations import join_annotations
from genoviz.model.sequences.sequences import Sequences
from tests.conftest import real_data

CONTIGS = ("chr1", "2", "chrM", "alone")
GTF_NAMES = {"chr1": "1", "2": "chr2", "chrM": "MT", "alone": "alone"}


def hits_of(seed=1, n_bases=900):
    random = np.random.default_rng(seed)
    genome = Sequences.from_records(
        (name, "".join(random.choice([*"ACGT"], n_bases))) for name in CONTIGS
    )
    return find_offtargets(["ACGTTNNN"], genome, "NNNNNNGG", max_mismatches=3, backend="cpu")


def read(tmp_path_factory, text, name):
    path = tmp_path_factory.mktemp("annotations") / name
    path.write_text(text)
    return read_annotations(path)


def distance(a, b, c, d):
    """Return 0 for an overlap, else how many bases to go from one to the other."""
    return 0 if a < d and c < b else (c - b + 1 if c >= b else a - d + 1)


def check(hits, annotations, genes, exons):
    """Compare with all pairs; genes and exons are contig, start, end and name."""
    found = annotate_hits(hits, annotations)
    sites = hit_intervals(hits)
    assert len(found) == len(hits)
    names, labels = found.gene_names(), found.class_labels()
    for row in range(len(hits)):
        contig = CONTIGS[hits.contig_ids[row]]
        a, b = int(sites.starts[row]), int(sites.ends[row])
        near = [(distance(a, b, c, d), name) for where, c, d, name in genes if where == contig]
        in_exon = any(where == contig and a < d and c < b for where, c, d, _ in exons)
        best = min(near, default=(-1, ""))[0]
        assert found.distances[row] == best
        assert found.n_genes[row] == sum(d == 0 for d, _ in near)
        assert labels[row] == ("exon" if in_exon else "intron" if best == 0 else "intergenic")
        assert names[row] in {name for d, name in near if d == best} | ({""} if not near else set())
    return found


stretches = st.lists(
    st.tuples(st.sampled_from(CONTIGS[:3]), st.integers(0, 800), st.integers(1, 90)), max_size=8
)


@given(genes=stretches, exons=stretches, seed=st.integers(0, 50))
def test_genes_of_gtf_are_those_of_a_slow_search(tmp_path_factory, genes, exons, seed):
    lines, expected = ["#!a comment"], {"gene": [], "exon": []}
    for kind, rows in (("gene", genes), ("exon", exons)):
        for number, (contig, start, length) in enumerate(rows):
            name = f"{kind}{number}"
            expected[kind].append((contig, start, start + length, name))
            place = f"{GTF_NAMES[contig]}\tx\t{kind}\t{start + 1}\t{start + length}\t.\t+\t."
            lines.append(f'{place}\tgene_name "{name}";')
    annotations = read(tmp_path_factory, "\n".join(lines) + "\n", "genes.gtf")
    # A gene without an exon is one.
    expected["exon"] += [
        gene
        for gene in expected["gene"]
        if not any(gene[0] == c and gene[1] < b and a < gene[2] for c, a, b, _ in expected["exon"])
    ]
    if not genes:
        expected["gene"] = expected["exon"]
    check(hits_of(seed), annotations, expected["gene"], expected["exon"])


def test_genes_of_bacteria_have_their_coding_sequence_as_exon(tmp_path_factory):
    """Of these, NCBI gives exons of RNAs alone; coding sequence in an exon adds nothing."""
    rows = [
        ("gene", 100, 300, "a"), ("CDS", 100, 297, "protein"), ("gene", 280, 360, "t"),
        ("exon", 280, 360, "rna"), ("gene", 500, 700, "e"), ("exon", 500, 560, "e1"),
        ("CDS", 520, 560, "e"), ("exon", 640, 700, "e2"), ("CDS", 640, 690, "e"),
        ("pseudogene", 750, 850, "p"),
    ]  # fmt: skip
    lines = [
        f"chr1\tx\t{kind}\t{start + 1}\t{end}\t.\t+\t.\tName={name}"
        for kind, start, end, name in rows
    ]
    annotations = read(tmp_path_factory, "\n".join(lines) + "\n", "genes.gff3")
    genes = [("chr1", *row[1:]) for row in rows if row[0].endswith("gene")]
    exons = [("chr1", *row[1:]) for row in rows if row[0] in ("exon", "CDS", "pseudogene")]
    found = check(hits_of(), annotations, genes, exons)
    assert {*found.class_labels()} == {"exon", "intron", "intergenic"}
    assert len(find_gene_parts(annotations).exons) == 5


OVERLAPPING = {
    "AA": ("gene", 100, 600, [(100, 200), (500, 600)]),
    "BB": ("ncRNA_gene", 150, 700, [(300, 350), (650, 700)]),
    "CC": ("pseudogene", 310, 340, []),
}
"""Genes of one strand, with exons that have no name of the gene, as in Ensembl's annotations."""


def overlapping(kind):
    rows = []
    for name, (feature, start, end, exons) in OVERLAPPING.items():
        own = f"ID=gene:{name};Name={name}" if kind == "gff3" else f'gene_id "{name}";'
        rows.append((feature, start, end, own))
        of_exon = f"Parent=transcript:{name}2,transcript:{name}1;Name=ENSE"
        of_exon = of_exon if kind == "gff3" else f'gene_id "{name}"; gene_name "ENSE{name}";'
        rows += [("exon", *exon, of_exon) for exon in exons]
        if kind == "gff3":
            rows.append(("mRNA", start, end, f"ID=transcript:{name}1;Parent=gene:{name}"))
    lines = [f"chr1\tx\t{t}\t{a + 1}\t{b}\t.\t+\t.\t{own}" for t, a, b, own in reversed(rows)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("kind", ["gff3", "gtf"])
def test_exons_are_of_the_gene_that_their_parents_or_gene_id_tell(tmp_path_factory, kind):
    annotations = read(tmp_path_factory, overlapping(kind), f"genes.{kind}")
    spans = {name: exons or [(a, b)] for name, (_, a, b, exons) in OVERLAPPING.items()}
    for both in (annotations, join_annotations([annotations, annotations])):
        for name, exons in spans.items():
            found, _ = find_genes_named(both, name, ("chr1",))
            assert {tuple(map(tuple, gene.exons.tolist())) for gene in found} == {tuple(exons)}
    genes = [("chr1", a, b, name) for name, (_, a, b, _) in OVERLAPPING.items()]
    exons = [("chr1", *exon, name) for name, some in spans.items() for exon in some]
    hits = hits_of()
    found = check(hits, annotations, genes, exons)
    sites = hit_intervals(hits)
    n_shared = 0
    for row, name in enumerate(found.gene_names()):
        a, b = int(sites.starts[row]), int(sites.ends[row])
        in_exon = [own for _, c, d, own in exons if a < d and c < b]
        if CONTIGS[hits.contig_ids[row]] == "chr1" and in_exon:
            assert name in in_exon
            n_shared += found.n_genes[row] > 1
    assert n_shared > 3


def test_parents_that_are_missing_repeated_or_go_round_are_followed_as_far_as_they_go(
    tmp_path_factory,
):
    rows = [
        ("region", "ID=r"), ("gene", "ID=g;Parent=r"), ("CDS", "ID=c;Parent=none,t"),
        ("mRNA", "ID=t;Parent=g"), ("CDS", "ID=c;Parent=t"), ("exon", "Parent=missing"),
        ("gene", "ID=g"), ("gene", "Name=x"), ("exon", "ID=a;Parent=b"), ("exon", "ID=b;Parent=a"),
        ("intron", ""),
    ]  # fmt: skip
    lines = [f"c\tx\t{kind}\t1\t9\t.\t+\t.\t{own}\n" for kind, own in rows]
    genes = read(tmp_path_factory, "".join(lines), "odd.gff3").genes.tolist()
    assert genes[:8] == [-1, 1, 1, 1, 1, -1, 1, 7]
    assert genes[10] == -1
    assert read(tmp_path_factory, "c\t0\t9\n", "a.bed").genes.tolist() == [-1]


def test_contigs_of_other_names_are_told(tmp_path_factory):
    rows = ["1\t0\t300\ta", "chr2\t10\t20\tb", "MT\t500\t600\tc", "alone\t700\t710\td"]
    found = annotate_hits(hits_of(), read(tmp_path_factory, "\n".join(rows), "genes.bed"))
    assert found.notes == ("Contigs are renamed: 1 to chr1, chr2 to 2, MT to chrM.",)
    assert {*found.gene_names()} == {*"abcd"}


def test_blocks_of_bed_are_exons(tmp_path_factory):
    text = (
        "chr1\t100\t700\tlong\t0\t+\t100\t700\t0\t3\t50,30,100\t0,200,500\nchr1\t650\t655\tshort\n"
    )
    text = "\n".join(
        line if line.count("\t") > 5 else line + "\t0\t+\t650\t655\t0\t1\t5\t0"
        for line in text.splitlines()
    )
    annotations = read(tmp_path_factory, text, "genes.bed")
    genes = [("chr1", 100, 700, "long"), ("chr1", 650, 655, "short")]
    exons = [("chr1", 100, 150, ""), ("chr1", 300, 330, ""), ("chr1", 600, 700, ""), genes[1]]
    found = check(hits_of(), annotations, genes, exons)
    assert {*found.class_labels()} == {"exon", "intron", "intergenic"}
    assert "" in found.gene_names(), "contigs without genes"


def test_exons_of_one_name_make_a_gene(tmp_path_factory):
    rows = [
        *(("chr1", 100, 150, "x"), ("chr1", 400, 420, "x")),
        *(("2", 10, 20, "x"), ("chr1", 600, 640, "y")),
    ]
    lines = [f'{c}\ts\texon\t{a + 1}\t{b}\t.\t+\t.\tgene_name "{n}";' for c, a, b, n in rows]
    lines.append("chr1\ts\texon\t801\t820\t.\t+\t.\t")
    annotations = read(tmp_path_factory, "\n".join(lines), "exons.gtf")
    genes = [("chr1", 100, 420, "x"), ("2", 10, 20, "x"), ("chr1", 600, 640, "y")]
    genes.append(("chr1", 800, 820, ""))
    check(hits_of(), annotations, genes, [*rows, ("chr1", 800, 820, "")])


def test_without_annotations_or_hits(tmp_path_factory):
    hits = hits_of()
    empty = read(tmp_path_factory, "# nothing\n", "none.gff3")
    found = check(hits, empty, [], [])
    assert {*found.class_labels()} == {"intergenic"}
    genes = read(tmp_path_factory, "chr1\t0\t30\ta\n", "one.bed")
    assert annotate_hits(hits.take(slice(0)), genes).gene_names() == []


@pytest.mark.parametrize("name", ["intervals/Saccharomyces_cerevisiae.SGD1.01.56.gtf.gz"])
def test_real_genes(name):
    annotations = read_annotations(real_data(name))
    parts = find_gene_parts(annotations)
    assert len(parts.genes) > 6000
    assert len(parts.exons) >= len(parts.genes)
    rows = [i for i, text in enumerate(parts.genes.names) if text == "ACT1"]
    assert len(rows) == 1
    gene = rows[0]
    # ACT1 is on the minus strand of chromosome VI with one intron.
    inside = parts.exons.within("VI", int(parts.genes.starts[gene]), int(parts.genes.ends[gene]))
    assert len(inside) == 2
