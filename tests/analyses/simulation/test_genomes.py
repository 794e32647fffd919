from __future__ import annotations

import pytest

from genoviz.analyses.simulation.genomes import (
    CHROMOSOME_LENGTHS,
    GENOME_SHAPES,
    MIN_NODES,
    iter_chromosome_sizes,
)
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.errors import ParameterError

CHM13_BASES = 3_117_292_070
"""Of T2T-CHM13v2.0, as NCBI's assembly report (GCF_009914755.1) counts them, with chrM."""
CHM13_MITOCHONDRION = 16_569


def test_lengths_are_those_of_the_assembly():
    assert sum(CHROMOSOME_LENGTHS.values()) == CHM13_BASES - CHM13_MITOCHONDRION
    assert list(CHROMOSOME_LENGTHS) == [f"chr{k}" for k in (*range(1, 23), "X", "Y")]


@pytest.mark.parametrize("shape", GENOME_SHAPES)
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_sizes_add_up_to_those_of_the_genome(shape, scale):
    sizes = list(iter_chromosome_sizes(shape, scale=scale))
    whole = GENOME_SHAPES[shape]
    assert sum(each.n_nodes for each in sizes) == pytest.approx(whole.n_nodes * scale, rel=1e-4)
    assert sum(each.n_steps for each in sizes) == pytest.approx(whole.n_steps * scale, rel=1e-4)
    by_name = {each.name: each.n_nodes for each in sizes}
    ratio = CHROMOSOME_LENGTHS["chr1"] / CHROMOSOME_LENGTHS["chr21"]
    assert by_name["chr1"] / by_name["chr21"] == pytest.approx(ratio, rel=1e-3)


def test_the_largest_chromosomes_of_version_2_pass_31_bits():
    steps = {each.name: each.n_steps for each in iter_chromosome_sizes("hprc-v2-mc")}
    assert {name for name, n in steps.items() if n > 2**31} >= {"chr1", "chr2"}


@pytest.mark.parametrize("shape", GENOME_SHAPES)
def test_graphs_of_such_sizes_can_be_made(shape):
    """The smallest are the hardest: as many haplotypes on a hundred nodes."""
    sizes = list(iter_chromosome_sizes(shape, scale=1e-4))
    seeds = {each.seed for each in sizes}
    assert len(seeds) == len(sizes)
    for each in (sizes[0], sizes[20]):
        assert each.n_nodes >= MIN_NODES
        graph = simulate_pangenome(
            each.n_nodes, each.n_paths, n_steps=each.n_steps, seed=each.seed, contig=each.name
        )
        assert graph.n_nodes == each.n_nodes
        assert graph.n_steps == pytest.approx(each.n_steps, rel=0.05)
        haplotypes = {(name.sample, name.haplotype) for name in graph.parsed_path_names}
        # The steps decide how many there are.
        assert len(haplotypes) == pytest.approx(GENOME_SHAPES[shape].n_haplotypes, rel=0.25)
        assert graph.parsed_path_names[0].contig == each.name


def test_seeds_follow_from_one():
    def seeds(seed):
        return [each.seed for each in iter_chromosome_sizes("hprc-v1.1-mc", seed=seed)]

    assert seeds(1) == seeds(1) != seeds(2)


def test_what_is_wrong_is_told():
    with pytest.raises(ParameterError, match="shape is 'hprc', needs one of"):
        list(iter_chromosome_sizes("hprc"))
    with pytest.raises(ParameterError, match="scale is 2, needs more than 0 and at most 1"):
        list(iter_chromosome_sizes("hprc-v1.1-mc", scale=2))
