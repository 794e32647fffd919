from __future__ import annotations

import numpy as np

from genoviz.analyses.intervals.count import count_overlaps
from genoviz.analyses.simulation.genome_and_reads import (
    CONTIG_LENGTHS,
    READ_LENGTH,
    exons_of,
    simulate_genes,
    simulate_reads,
)
from genoviz.io.intervals.intervals import read_intervals
from genoviz.samples import get_sample

GENES = simulate_genes(seed=5)
READS = simulate_reads(GENES, 500, seed=5)


def test_exons_are_in_order_and_on_their_contigs():
    for contig, length in CONTIG_LENGTHS.items():
        edges = [
            edge for gene in GENES if gene.contig == contig for exon in gene.exons for edge in exon
        ]
        assert len(edges) > 20
        assert edges == sorted(set(edges))
        assert edges[-1] <= length


def test_spliced_reads_go_from_the_end_of_an_exon_to_the_start_of_the_next():
    introns = {
        (gene.contig, left[1], right[0])
        for gene in GENES
        for left, right in zip(gene.exons, gene.exons[1:], strict=False)
    }
    gaps = [
        (read.contig, left[1], right[0])
        for read in READS
        for left, right in zip(read.blocks, read.blocks[1:], strict=False)
    ]
    assert len(gaps) > 50
    assert set(gaps) <= introns


def test_reads_have_their_length_and_are_sorted():
    short = {gene.length for gene in GENES if gene.length < READ_LENGTH}
    lengths = {sum(end - start for start, end in read.blocks) for read in READS}
    assert lengths <= short | {READ_LENGTH}
    ranks = list(CONTIG_LENGTHS)
    places = [(ranks.index(read.contig), read.blocks[0][0]) for read in READS]
    assert places == sorted(places)


def test_same_seed_gives_the_same():
    assert simulate_genes(seed=5) == GENES != simulate_genes(seed=6)
    assert simulate_reads(GENES, 500, seed=5) == READS


def test_sample_files_hold_what_is_simulated():
    genes = simulate_genes(seed=2)
    exons = read_intervals(get_sample("exons"))
    expected = exons_of(genes)
    assert exons.contigs == expected.contigs
    for name in ("contig_ids", "starts", "ends", "strands"):
        np.testing.assert_array_equal(getattr(exons, name), getattr(expected, name))
    assert list(exons.names) == list(expected.names)
    reads = read_intervals(get_sample("reads"))
    assert len(reads) == 5_000
    blocks = read_intervals(get_sample("reads"), blocks=True)
    assert blocks.lengths.sum() == sum(
        end - start for read in simulate_reads(genes, 5_000, seed=2) for start, end in read.blocks
    )
    assert np.mean(count_overlaps(reads, exons, backend="cpu") > 0) > 0.9
