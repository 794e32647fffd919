"""Graphs of phased variants against haplotypes that are written out letter by letter."""

from __future__ import annotations

import gzip
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import (
    FileFormatError,
    ParameterError,
    Sequences,
    construct_graph,
    find_offtargets,
    find_offtargets_on_graph,
    make_genome_planes,
    read_phased_variants,
    read_sequences,
)
from tests.conftest import real_data
from tests.oracles.haplotype_texts import write_out

SAMPLES = ("a", "b")


def vcf_text(lines, samples=SAMPLES):
    contigs = sorted({line[0] for line in lines})
    head = ["##fileformat=VCFv4.3", '##FORMAT=<ID=GT,Number=1,Type=String,Description="G">']
    head += [f"##contig=<ID={name}>" for name in contigs]
    head.append(
        "\t".join(["#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".replace(" ", "\t"), *samples])
    )
    rows = [
        "\t".join(
            [contig, str(position), ".", reference, ",".join(others), ".", ".", ".", "GT"]
            + ["|".join(map(str, each)) for each in genotypes]
        )
        for contig, position, reference, others, genotypes in lines
    ]
    return "\n".join(head + rows) + "\n"


def paths_of(graph):
    texts = graph.node_sequences
    return {
        name: "".join(texts[int(step) >> 1] for step in graph.path_steps(path))
        for path, name in enumerate(graph.path_names)
    }


def make(tmp_path, genome, lines, **options):
    path = tmp_path / "x.vcf"
    path.write_text(vcf_text(lines))
    sequences = Sequences.from_records(genome.items())
    return construct_graph(sequences, read_phased_variants(path, sequences, **options))


@st.composite
def cases(draw):
    genome = {
        "1": draw(st.text("ACGT", min_size=6, max_size=40)),
        "2": draw(st.text("ACGT", min_size=1, max_size=8)),
    }
    lines = []
    for contig, text in genome.items():
        places = draw(st.lists(st.integers(0, len(text) - 1), min_size=contig == "1", max_size=7))
        for place in sorted(places):
            reference = text[place : place + draw(st.integers(1, 5))]
            others = draw(
                st.lists(
                    st.text("ACGT", min_size=1, max_size=4).filter(
                        lambda other, reference=reference: other != reference
                    ),
                    min_size=1,
                    max_size=2,
                    unique=True,
                )
            )
            allele = st.sampled_from([".", *range(len(others) + 1)])
            genotypes = [draw(st.lists(allele, min_size=2, max_size=2)) for _ in SAMPLES]
            lines.append((contig, place + 1, reference, others, genotypes))
    return genome, lines


@given(case=cases())
def test_the_paths_are_the_haplotypes_written_out(case, tmp_path_factory):
    genome, lines = case
    graph = make(tmp_path_factory.mktemp("vcf"), genome, lines)
    found = paths_of(graph)
    for contig, text in genome.items():
        assert found.pop(f"reference#0#{contig}") == text
    for number, sample in enumerate(SAMPLES):
        for (copy, contig), text in write_out(genome, lines, number).items():
            assert found.pop(f"{sample}#{copy}#{contig}") == text
    assert found == {}
    visited = np.unique(graph.steps >> 1)
    assert len(visited) == graph.n_nodes, "each node is on a path"
    assert graph.node_lengths.min(initial=1) > 0
    walks = [graph.path_steps(path).tolist() for path in range(graph.n_paths)]
    assert {tuple(edge) for edge in graph.edges.tolist()} == {
        pair for walk in walks for pair in pairwise(walk)
    }


@pytest.mark.parametrize(
    ("second", "expected"),
    [(("TCCT",), "ACAACTCCTCG"), (("TG",), "ACAACTGCG"), (("G",), "ACAACGCG")],
)
def test_an_insertion_stays_behind_its_base(tmp_path, second, expected):
    """As by bcftools consensus; trimmed at its end, the second one is where the first is."""
    both = [("c", 4, "A", ("AC",), [(1, 1), (0, 0)]), ("c", 5, "T", second, [(1, 1), (0, 0)])]
    graph = make(tmp_path, {"c": "ACAATCG"}, both)
    assert paths_of(graph)["a#1#c"] == expected
    assert not graph.notes


def test_copies_samples_and_what_is_left_out_are_as_the_file_says(tmp_path):
    genome = {"chrX": "ACGTACGTAC", "chr2": "GGGG"}
    lines = [
        ("X", 2, "C", ["T"], [[1, 0], [1]]),
        ("X", 4, "TAC", ["T", "<DEL>"], [[0, 1], [2]]),
        ("X", 5, "A", ["*", "G"], [[2, 1], [0]]),
        ("X", 9, "A", ["C"], [[".", 1], [0]]),
    ]
    graph = make(tmp_path, genome, lines)
    assert paths_of(graph) == {
        "reference#0#chrX": "ACGTACGTAC",
        "reference#0#chr2": "GGGG",
        "a#1#chrX": "ATGTGCGTAC",
        "a#2#chrX": "ACGTGTCC",
        "b#1#chrX": "ATGTACGTAC",
        "a#1#chr2": "GGGG",
        "a#2#chr2": "GGGG",
        "b#1#chr2": "GGGG",
    }
    assert graph.notes == (
        "1 alleles without their bases, such as <DEL>, are left out.",
        "1 unknown alleles read as the genome does.",
    )
    unknown = [*lines, ("X", 10, "C", ["A"], [[1, 0], ["."]])]
    assert make(tmp_path, genome, unknown).notes[-1].startswith("2 unknown alleles")
    partly = make(tmp_path, genome, [*lines, ("X", 10, "C", ["A"], [[1], [0, 0]])])
    assert partly.notes[-1].startswith("2 copies are not in all records, as of a male's X")
    only = make(tmp_path, genome, lines, samples=["b"])
    assert only.path_names[2:] == ("b#1#chrX", "b#1#chr2")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (("1", 2, "G", ["T"], [[1, 0], [1, 1]]), "1:2: REF is G, and the genome has C there"),
        (("1", 8, "TA", ["T"], [[1, 0], [1, 1]]), "1:8: REF is TA, and the genome has T there"),
        (("9", 2, "C", ["T"], [[1, 0], [1, 1]]), "has records on 9, and the genome has no such"),
    ],
)
def test_another_genome_is_refused(tmp_path, line, found):
    with pytest.raises(FileFormatError, match=found):
        make(tmp_path, {"1": "ACGTACGT"}, [line])


@pytest.mark.parametrize("written", ["0/1", "./1", "1/."])
def test_what_is_not_phased_is_refused_and_what_needs_no_phase_is_not(tmp_path, written):
    path, genome = tmp_path / "x.vcf", Sequences.from_records([("1", "ACGT")])
    text = vcf_text([("1", 2, "C", ["T"], [[1, 1], [0, 0]])]).replace("|", "/")
    path.write_text(text)
    assert len(read_phased_variants(path, genome)) == 1
    path.write_text(text.replace("0/0", written))
    with pytest.raises(FileFormatError, match=f"1:2: the genotype of b, {written}, is not phased"):
        read_phased_variants(path, genome)


def with_sets(text, sets, kind="Integer"):
    """Return a VCF text with the phase set of each sample in each record."""
    head, _, rows = text.partition("#CHROM")
    head += f'##FORMAT=<ID=PS,Number=1,Type={kind},Description="P">\n'
    names, *lines = rows.splitlines()
    found = []
    for line, of_line in zip(lines, sets, strict=True):
        cells = line.split("\t")
        cells[8] = "GT:PS"
        cells[9:] = [f"{cell}:{one}" for cell, one in zip(cells[9:], of_line, strict=True)]
        found.append("\t".join(cells))
    return "\n".join([f"{head}#CHROM{names}", *found]) + "\n"


@pytest.mark.parametrize("kind", ["Integer", "String"])
def test_phase_sets_are_noted_where_a_window_has_alleles_of_two(tmp_path, kind):
    path, genome = tmp_path / "x.vcf", Sequences.from_records([("1", "A" * 700), ("2", "A" * 9)])
    genotypes = {11: ([0, 1], [1, 1]), 21: ([1, 0], [1, 0]), 400: ([0, 1], [0, 1])}
    genotypes[420] = [0, 1], [0, 0]
    lines = [("1", place, "A", ["C"], [*both]) for place, both in genotypes.items()]
    lines.append(("2", 1, "A", ["C"], [[0, 1], [0, 1]]))
    sets = [(1, 1), (1, 2), (400, 400), (".", 400), (7, 8)]
    path.write_text(with_sets(vcf_text(lines), sets, kind))
    note = "1 times two phase sets (PS) of a sample are so near that a window has alleles of both"
    (found,) = read_phased_variants(path, genome).notes
    assert found.startswith(f"{note} (of 21 bases at least)")
    assert read_phased_variants(path, genome, samples=["b"]).notes == ()


@given(case=cases(), data=st.data())
def test_windows_shorter_than_the_note_says_are_those_of_any_phase(case, data, tmp_path_factory):
    genome, lines = case
    lines = [
        (*line[:4], [[0 if each == "." else each for each in one] for one in line[4]])
        for line in lines
    ]
    sets = [tuple(data.draw(st.sampled_from([1, 2, "."])) for _ in SAMPLES) for _ in lines]
    path = tmp_path_factory.mktemp("vcf") / "x.vcf"
    path.write_text(with_sets(vcf_text(lines), sets))
    notes = read_phased_variants(path, Sequences.from_records(genome.items())).notes
    shortest = [int(note.split("(of ")[1].split()[0]) for note in notes if "(PS)" in note]
    for number in range(len(SAMPLES)):
        expected = None
        for swapped in ((), (1,), (2,), (1, 2)):
            turned = [
                (*line[:4], [one[::-1] if of_line[number] in swapped else one for one in line[4]])
                for line, of_line in zip(lines, sets, strict=True)
            ]
            texts = write_out(genome, turned, number)
            windows = {
                (contig, text[at : at + length])
                for (_, contig), text in texts.items()
                for length in range(1, min(shortest, default=256))
                for at in range(len(text) - length + 1)
            }
            expected = windows if expected is None else expected
            assert windows == expected


def test_a_sample_that_is_not_there_and_two_of_one_name_are_refused(tmp_path):
    lines = [("1", 2, "C", ["T"], [[1, 0], [1, 1]])]
    with pytest.raises(ParameterError, match=r"x\.vcf has no sample 'c'"):
        make(tmp_path, {"1": "ACGT"}, lines, samples=["a", "c"])
    path, genome = tmp_path / "x.vcf", Sequences.from_records([("1", "ACGT"), ("1", "AC")])
    with pytest.raises(ParameterError, match="two sequences of the genome have one name"):
        construct_graph(genome, read_phased_variants(path, genome, samples=["a"]))
    variants = read_phased_variants(path, Sequences.from_records([("1", "ACGT")]))
    with pytest.raises(ParameterError, match="a sample is named 'a' too"):
        construct_graph(Sequences.from_records([("1", "ACGT")]), variants, reference="a")


def test_guides_are_found_where_the_haplotypes_have_them(tmp_path):
    """Variants of 1000 Genomes on 60 kb of chromosome 20; who has which is drawn by frequency."""
    text = gzip.open(real_data("genomes/human_chr20_1mb_vg.vcf.gz"), "rt").read()
    bases = read_sequences(real_data("genomes/human_chr20_1mb_vg.fa.gz")).bases
    genome = {"z": bases[:60_000].tobytes().decode()}
    numbers = np.random.default_rng(4)
    lines = []
    for row in text.splitlines():
        if row.startswith("#"):
            continue
        _, position, _, reference, others, _, _, info, *_ = row.split("\t")
        if int(position) + len(reference) >= 60_000:
            break
        others = others.split(",")
        shares = [float(x) for x in info.split("AF=")[1].split(";")[0].split(",")]
        shares = [max(share, 0.05) for share in shares]
        weights = np.array([max(1 - sum(shares), 0), *shares])
        drawn = numbers.choice(len(weights), size=(2, 2), p=weights / weights.sum())
        lines.append(("z", int(position), reference, others, drawn.tolist()))
    assert len(lines) > 1000
    graph = make(tmp_path, genome, lines)
    guides = [genome["z"][at : at + 20] for at in (10_000, 30_000, 50_000)]
    options = {"max_mismatches": 5, "dna_bulge": 1, "rna_bulge": 1, "placements": "all"}
    found = find_offtargets_on_graph(
        graph, [g + "NNN" for g in guides], "N" * 20 + "NGG", **options
    )
    places = found.places()
    hits = found.hits.take(places.sites)
    rows = sorted(
        (graph.path_names[path], int(start), int(strand), int(guide), int(n), int(size), int(at))
        for path, start, strand, guide, n, size, at in zip(
            places.paths,
            places.starts,
            places.strands,
            hits.guide_ids,
            hits.mismatches,
            hits.bulge_sizes,
            hits.bulge_places,
            strict=True,
        )
    )
    expected = []
    texts = {"reference#0#z": genome["z"]}
    for number, sample in enumerate(SAMPLES):
        for (copy, contig), written in write_out(genome, lines, number).items():
            texts[f"{sample}#{copy}#{contig}"] = written
    for name, written in texts.items():
        planes = make_genome_planes(Sequences.from_records([(name, written)]))
        alone = find_offtargets([g + "NNN" for g in guides], planes, "N" * 20 + "NGG", **options)
        expected += [
            (name, int(start), int(strand), int(guide), int(n), int(size), int(at))
            for start, strand, guide, n, size, at in zip(
                alone.positions,
                alone.strands,
                alone.guide_ids,
                alone.mismatches,
                alone.bulge_sizes,
                alone.bulge_places,
                strict=True,
            )
        ]
    assert rows == sorted(expected)
    assert {row[0] for row in rows} == set(texts)
