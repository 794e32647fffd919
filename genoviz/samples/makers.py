"""How the samples that come with the project are made, from fixed seeds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

_READS_SEED = 2
_GENOME_SEED = 5
_GENOTYPES_SEED = 7
_N_READS = 5_000


def make_simulated_sample(path: Path) -> None:
    """Write the graph of the sample ``simulated``."""
    from genoviz.analyses.simulation.graphs import VariationRates, simulate_pangenome
    from genoviz.io.graph.gfa_writer import write_gfa

    # More large variants than a human genome has, so that a small graph shows each kind.
    rates = VariationRates(snp=0.6, sv=0.05, inversion=0.01, duplication=0.015)
    write_gfa(simulate_pangenome(3_500, 12, seed=14, sequences=True, rates=rates), path)


def make_exons_sample(path: Path) -> None:
    """Write the exons of the sample ``exons``."""
    from genoviz.analyses.simulation.genome_and_reads import exons_of, simulate_genes
    from genoviz.io.intervals.writer import write_bed

    write_bed(path, exons_of(simulate_genes(seed=_READS_SEED)))


def make_reads_sample(path: Path) -> None:
    """Write the reads of the sample ``reads``, each with its blocks (BED12)."""
    from genoviz.analyses.simulation.genome_and_reads import simulate_genes, simulate_reads
    from genoviz.io.text.text_file import write_text

    reads = simulate_reads(simulate_genes(seed=_READS_SEED), _N_READS, seed=_READS_SEED)
    lines = []
    for read in reads:
        start, end = read.blocks[0][0], read.blocks[-1][1]
        sizes = ",".join(str(last - first) for first, last in read.blocks)
        offsets = ",".join(str(first - start) for first, _ in read.blocks)
        fields = (read.contig, start, end, ".", 0, read.strand, start, start, 0)
        fields += (len(read.blocks), sizes, offsets)
        lines.append("\t".join(map(str, fields)) + "\n")
    write_text(path, ["".join(lines).encode()])


def make_genome_sample(path: Path) -> None:
    """Write the sequences of the sample ``genome``."""
    from genoviz.analyses.simulation.genome_and_reads import simulate_genome
    from genoviz.io.sequences.fasta import write_fasta

    write_fasta(simulate_genome(seed=_GENOME_SEED), path)


def make_genotypes_sample(path: Path) -> None:
    """Write the sample ``genotypes``: a PLINK 1 set, and a table of phenotypes beside it.

    The trait has a heritability of 0.6 by 8 variants, which are called ``causal1`` to ``causal8``;
    a tenth of it is missing. Who is above its 70th percentile is a case of the disease.
    """
    import numpy as np

    from genoviz.analyses.simulation.genotypes import simulate_genotypes
    from genoviz.analyses.simulation.traits import simulate_trait
    from genoviz.io.genotypes.writers import write_plink
    from genoviz.io.text.text_file import write_text

    genotypes = simulate_genotypes(
        300, 2_000, n_contigs=5, n_populations=3, missing_rate=0.01, seed=_GENOTYPES_SEED
    )
    trait = simulate_trait(
        genotypes, heritability=0.6, n_causal=8, seed=_GENOTYPES_SEED, backend="cpu"
    )
    ids = genotypes.variants.ids.copy()
    ids[trait.causal] = [f"causal{k + 1}" for k in range(len(trait.causal))]
    named = replace(genotypes, variants=replace(genotypes.variants, ids=ids))
    write_plink(named, path)
    samples = genotypes.samples
    is_case = trait.phenotype > np.quantile(trait.phenotype, 0.7)
    is_missing = np.random.default_rng(_GENOTYPES_SEED).random(len(samples)) < 0.1
    lines = ["FID,IID,population,trait,disease\n"]
    for family, name, value, missing, case in zip(
        samples.family_ids, samples.ids, trait.phenotype, is_missing, is_case, strict=True
    ):
        shown = "NA" if missing else f"{value:.4f}"
        lines.append(f"{family},{name},{family},{shown},{int(case)}\n")
    write_text(path.with_suffix(".pheno.csv"), ["".join(lines).encode()])


MAKERS = {
    "simulated": make_simulated_sample,
    "exons": make_exons_sample,
    "reads": make_reads_sample,
    "genome": make_genome_sample,
    "genotypes": make_genotypes_sample,
}
