"""Exons find their genes by name, and what they cover together is what adding up covers."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import ByteStrings
from genoviz.model.intervals.annotations import join_annotations
from genoviz_app.opening.track_features import (
    FeatureNames,
    FeatureTable,
    drawn_rows,
    hash_names,
)
from tests.conftest import real_data


def blocks_by_hand(annotations, contig, name, start, end):
    """Stretches that the exons of a gene cover, by painting its bases."""
    exon = annotations.types.names.index("exon")
    is_painted = np.zeros(end - start + 1, bool)
    for row in range(len(annotations)):
        if annotations.types.codes[row] != exon or annotations.names[row] != name:
            continue
        first, last = int(annotations.starts[row]), int(annotations.ends[row])
        of_contig = annotations.contigs.names[annotations.contigs.codes[row]]
        if of_contig == contig and start <= first and last <= end:
            is_painted[first - start : last - start] = True
    edges = np.flatnonzero(np.diff(np.append(False, is_painted).astype(int)))
    return (edges.reshape(-1, 2) + start).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_exons_are_those_of_the_name_on_the_contig_inside_the_gene(tmp_path, seed):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(40):
        contig, name = f"c{rng.integers(2)}", f"g{rng.integers(6)}"
        start = int(rng.integers(1, 300))
        attributes = f'gene_id "{name}"; gene_name "{name}";'
        for kind, n in (("gene", 1), ("exon", 4)):
            for _ in range(n):
                first = start + int(rng.integers(0, 60)) * (kind == "exon")
                last = first + (120 if kind == "gene" else int(rng.integers(1, 50)))
                lines.append(f"{contig}\tx\t{kind}\t{first}\t{last}\t.\t+\t.\t{attributes}\n")
    (tmp_path / "a.gtf").write_text("".join(lines))
    annotations = read_annotations(tmp_path / "a.gtf")
    table = FeatureTable.of_annotations(annotations)
    assert len(table) == 40
    for row in range(len(table)):
        region = table.region_of(row)
        expected = blocks_by_hand(
            annotations, region.path, table.name_of(row), region.start, region.end
        )
        assert table.blocks_of(row).tolist() == expected


def test_exons_without_the_name_of_their_gene_are_found_by_their_parents(tmp_path):
    rows = [("gene", 1, 90, "ID=gene:a;Name=A"), ("gene", 11, 80, "ID=gene:b;Name=B"),
            ("mRNA", 1, 90, "ID=ta;Parent=gene:a"), ("mRNA", 11, 80, "ID=tb;Parent=gene:b"),
            ("exon", 1, 20, "Parent=ta;Name=E1"), ("exon", 71, 80, "Parent=tb;Name=E")]  # fmt: skip
    lines = [f"c\tx\t{kind}\t{a}\t{b}\t.\t+\t.\t{own}\n" for kind, a, b, own in rows]
    (tmp_path / "a.gff3").write_text("".join(lines))
    table = FeatureTable.of_annotations(read_annotations(tmp_path / "a.gff3"))
    assert [table.blocks_of(table.find(name)).tolist() for name in "AB"] == [[[0, 20]], [[70, 80]]]


def test_genes_of_rna_and_rows_of_bed_are_drawn_beside_genes(tmp_path):
    kinds = ("gene", "mRNA", "tRNA_gene", "exon", "pseudogene")
    rows = [f"c\tx\t{kind}\t{i}\t{i}\t.\t+\t.\tID={kind}\n" for i, kind in enumerate(kinds, 1)]
    (tmp_path / "a.gff3").write_text("".join(rows))
    (tmp_path / "a.bed").write_text("c\t8\t9\trepeat\n")
    both = join_annotations([read_annotations(tmp_path / name) for name in ("a.gff3", "a.bed")])
    assert drawn_rows(both).tolist() == [0, 2, 4, 5]
    assert len(FeatureTable.of_annotations(both)) == 4


def test_the_exons_of_real_genes_are_found():
    path = real_data("intervals/chr9_4-6Mb/gtf_chr9_4000000_6000000.gtf")
    annotations = read_annotations(path)
    table = FeatureTable.of_annotations(annotations)
    row = table.find("rcl1")
    region = table.region_of(row)
    assert table.blocks_of(row).tolist() == blocks_by_hand(
        annotations, "chr9", "RCL1", region.start, region.end
    )


def test_equal_names_have_one_number_and_others_have_another():
    texts = ["a", "b", "ab", "ba", "", "a", "\x00", "é"]
    names = ByteStrings.from_texts([*texts, *texts])
    numbers = hash_names(names, np.repeat([0, 1], len(texts)))
    assert numbers[0] == numbers[5]
    assert len(set(numbers.tolist())) == 2 * (len(texts) - 1)


def test_long_and_odd_names_are_found():
    long = "x" * 40
    names = FeatureNames.of(ByteStrings.from_texts([f"{long}b", f"{long}A", "Ärger", "."]))
    assert names.find(f"{long}a") == 1
    assert names.find(f"{long}B") == 0
    assert names.beginning("x" * 30, limit=1) != []
    assert names.find("Ärger") == 2
    assert names.beginning(".", limit=5) == []
