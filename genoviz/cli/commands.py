"""The commands of ``genoviz``: where each is, and what lists say of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Commands under one word: what lists say of it, examples, and the commands."""

    summary: str
    examples: tuple[str, ...]
    commands: Mapping[str, tuple[str, str]]


# The module of each command and the first sentence of its help: a list of commands imports none of
# them, and a command only its own module.
COMMANDS: Mapping[str, tuple[str, str] | Group] = {
    "layout": ("genoviz.cli.graph.layout", "Lay out a graph by its paths, and write the layout."),
    "stress": (
        "genoviz.cli.graph.stress",
        "Measure the path stress of a layout, sampled or exact.",
    ),
    "draw": ("genoviz.cli.graph.draw", "Draw a layout as a picture with legend and scale bar."),
    "position": (
        "genoviz.cli.graph.queries",
        "Convert between path positions and nodes, or between positions on two paths.",
    ),
    "extract": ("genoviz.cli.graph.extract", "Extract a subgraph; nodes keep their names."),
    "split": (
        "genoviz.cli.graph.split",
        "Write each chromosome of a graph to a file of its own, like odgi explode.",
    ),
    "construct": (
        "genoviz.cli.graph.construct",
        "Make a graph whose paths are a genome and the haplotypes of a phased VCF file.",
    ),
    "stats": (
        "genoviz.cli.graph.queries",
        "Print graph statistics: sizes, components, loops, bases, depth, samples.",
    ),
    "sites": (
        "genoviz.cli.graph.queries",
        "Find the variation sites along a path, and count the alleles of all paths there.",
    ),
    "similarity": (
        "genoviz.cli.graph.sharing",
        "Compare all pairs of paths or groups by shared nodes and bp, like odgi similarity.",
    ),
    "matrix": (
        "genoviz.cli.graph.sharing",
        "Draw the nodes that each path or group visits, one row each, like odgi viz.",
    ),
    "presence": (
        "genoviz.cli.graph.sharing",
        "Write the presence of each node in each path or group: one row per node.",
    ),
    "growth": (
        "genoviz.cli.graph.sharing",
        "Compute growth curves of the pangenome and its core, by number of paths or groups.",
    ),
    "count": (
        "genoviz.cli.intervals.count",
        "Count the intervals of B that overlap each interval of A.",
    ),
    "coverage": (
        "genoviz.cli.intervals.depth",
        "Measure how much of each interval of A is covered by B.",
    ),
    "depth": (
        "genoviz.cli.intervals.depth",
        "Write the depth of intervals or reads as a bedGraph.",
    ),
    "offtarget": (
        "genoviz.cli.offtargets.offtarget",
        "Find sites in a genome that match guides with few mismatches and bulges.",
    ),
    "design": (
        "genoviz.cli.offtargets.design",
        "Design guides for a gene, a region or a sequence, ranked by their off-targets.",
    ),
    "simulate": (
        "genoviz.cli.samples",
        "Make a random graph with the statistics of the human pangenome, and write it as GFA.",
    ),
    "reproduce": (
        "genoviz.cli.reproduce",
        "Recompute a figure or a table of the papers on this machine.",
    ),
    "serve": (
        "genoviz.cli.serve",
        "Serve the dashboard, and print its address, until interrupted.",
    ),
    "bwt": Group(
        "Search k-mers of any length in genomes and graphs, exactly.",
        (
            "genoviz bwt build genome.fa.gz -o genome.gvfm",
            "genoviz bwt count genome.gvfm TTAGGGTTAGGG",
            "genoviz bwt locate genome.gvfm --file primers.fa -o hits.bed",
            "genoviz bwt spectrum genome.gvfm -k 21",
        ),
        {
            "build": (
                "genoviz.cli.sequences.bwt_build",
                "Build an index for counting and locating k-mers of any length.",
            ),
            "count": (
                "genoviz.cli.sequences.bwt_queries",
                "Count k-mers exactly.",
            ),
            "locate": ("genoviz.cli.sequences.bwt_queries", "Find the positions of k-mers."),
            "spectrum": (
                "genoviz.cli.sequences.bwt",
                "Compute the k-mer spectrum: the number of distinct k-mers by multiplicity.",
            ),
            "assess": (
                "genoviz.cli.sequences.assess",
                "Compare an assembly with reads by k-mers: copies, completeness and quality.",
            ),
            "compare": (
                "genoviz.cli.sequences.compare",
                "Count the canonical k-mers shared by all inputs, or found in only some of them.",
            ),
            "multiplicity": (
                "genoviz.cli.sequences.bwt",
                "Write the multiplicity of the k-mer at each base, as bedGraph.",
            ),
        },
    ),
    "geno": Group(
        "Genotypes of a cohort or a herd: quality, relationships, associations, prediction.",
        (
            "genoviz geno freq cohort.bed -o freq.tsv",
            "genoviz geno pca cohort.bed --maf 0.01 -o pca.tsv",
            "genoviz geno gwas cohort.bed --pheno traits.csv --trait height -o gwas.tsv.gz",
            "genoviz geno blup cohort.bed --pheno traits.csv --trait yield --cross-validate 5",
        ),
        {
            "freq": (
                "genoviz.cli.genotypes.cohort",
                "Count alleles and genotypes of each variant.",
            ),
            "grm": (
                "genoviz.cli.genotypes.cohort",
                "Compute the genomic relationship matrix of the samples from autosomal variants.",
            ),
            "pca": (
                "genoviz.cli.genotypes.cohort",
                "Compute principal components of the samples, by block Lanczos on packed "
                "genotypes.",
            ),
            "king": (
                "genoviz.cli.genotypes.cohort",
                "Compute kinship coefficients that are robust to population structure "
                "(KING-robust).",
            ),
            "ld": (
                "genoviz.cli.genotypes.linkage",
                "Compute linkage disequilibrium (r²) of pairs of nearby variants.",
            ),
            "prune": (
                "genoviz.cli.genotypes.linkage",
                "Prune variants in linkage disequilibrium, like PLINK's --indep-pairwise.",
            ),
            "clump": (
                "genoviz.cli.genotypes.linkage",
                "Group linked variants under the one with the lowest p value, like PLINK's "
                "--clump.",
            ),
            "reml": (
                "genoviz.cli.genotypes.variances",
                "Estimate variance components and heritability by restricted maximum likelihood "
                "(REML).",
            ),
            "gwas": (
                "genoviz.cli.genotypes.gwas",
                "Test each variant for association; BETA is the effect per A1 allele (log odds "
                "for cases).",
            ),
            "meta": (
                "genoviz.cli.genotypes.meta",
                "Combine the associations of several studies by inverse-variance meta-analysis.",
            ),
            "sets": (
                "genoviz.cli.genotypes.sets",
                "Test sets of rare variants, such as genes: burden, SKAT, SKAT-O, ACAT-V, ACAT.",
            ),
            "finemap": (
                "genoviz.cli.genotypes.finemap",
                "Fine-map a region with the sum of single effects model (SuSiE).",
            ),
            "blup": (
                "genoviz.cli.genotypes.blup",
                "Predict breeding values by best linear unbiased prediction.",
            ),
            "multiblup": (
                "genoviz.cli.genotypes.multiblup",
                "Predict breeding values of several traits together.",
            ),
            "blupf90": (
                "genoviz.cli.genotypes.blupf90",
                "Solve the mixed model of a BLUPF90 parameter file.",
            ),
            "mixblup": (
                "genoviz.cli.genotypes.mixblup",
                "Solve the mixed model of a MiXBLUP instruction file.",
            ),
            "score": (
                "genoviz.cli.genotypes.score",
                "Compute scores of samples: sums of allele dosages times weights.",
            ),
            "convert": (
                "genoviz.cli.genotypes.convert",
                "Convert genotypes to another file format, optionally filtered.",
            ),
            "product": (
                "genoviz.cli.genotypes.geno",
                "Multiply the genotype matrix (samples by variants) by a dense matrix.",
            ),
            "library": (
                "genoviz.cli.genotypes.library",
                "Write and compile a C library of products and predictions, for other languages.",
            ),
            "simulate": (
                "genoviz.cli.genotypes.geno",
                "Simulate genotypes with linkage and populations, and a trait, as PLINK files.",
            ),
        },
    ),
    "samples": ("genoviz.cli.samples", "List sample files, or download one."),
}
