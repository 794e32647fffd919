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
    "layout": ("genoviz.cli.graph.layout", "Lay a graph out by its paths, and write the layout."),
    "stress": (
        "genoviz.cli.graph.stress",
        "Measure the path stress of a layout, by samples or exactly.",
    ),
    "draw": ("genoviz.cli.graph.draw", "Draw a layout as a picture with legend and scale bar."),
    "position": (
        "genoviz.cli.graph.queries",
        "Find the node at a path's position, the positions of a node, or a position on another "
        "path.",
    ),
    "extract": ("genoviz.cli.graph.extract", "Extract a part of a graph; nodes keep their names."),
    "construct": (
        "genoviz.cli.graph.construct",
        "Make a graph whose paths are a genome and the haplotypes of a phased VCF file.",
    ),
    "stats": (
        "genoviz.cli.graph.queries",
        "Count what a graph has: sizes, components, loops, bases, depth, samples.",
    ),
    "sites": (
        "genoviz.cli.graph.queries",
        "Find the variation sites along a path, and count the alleles of all paths there.",
    ),
    "similarity": (
        "genoviz.cli.graph.sharing",
        "Compare each two paths or groups by the nodes and bp that they share, as odgi similarity.",
    ),
    "matrix": (
        "genoviz.cli.graph.sharing",
        "Draw which path or group visits which nodes: a row for each, as odgi viz.",
    ),
    "presence": (
        "genoviz.cli.graph.sharing",
        "Write which nodes each path or group visits: a row for each node, 1 for presence.",
    ),
    "growth": (
        "genoviz.cli.graph.sharing",
        "Write how the pangenome grows, and its core shrinks, with each path or group.",
    ),
    "count": (
        "genoviz.cli.intervals.count",
        "Count for each interval of A how many of B overlap it.",
    ),
    "coverage": (
        "genoviz.cli.intervals.depth",
        "Measure for each interval of A how much of it B covers.",
    ),
    "depth": (
        "genoviz.cli.intervals.depth",
        "Write the depth of intervals or reads as a bedGraph.",
    ),
    "offtarget": (
        "genoviz.cli.offtargets.offtarget",
        "Find the sites at which guides fit a genome with few mismatches and bulges.",
    ),
    "design": (
        "genoviz.cli.offtargets.design",
        "Design guides for a gene, a region or a sequence, ranked by what they do elsewhere.",
    ),
    "simulate": (
        "genoviz.cli.samples",
        "Make a random graph with the statistics of the human pangenome, and write it as GFA.",
    ),
    "reproduce": (
        "genoviz.cli.reproduce",
        "Draw a figure or a table of the papers anew, from a run on this machine.",
    ),
    "serve": (
        "genoviz.cli.serve",
        "Serve the dashboard until interrupted; its address is printed.",
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
                "Index sequences, so that k-mers of any length are counted and located at once.",
            ),
            "count": (
                "genoviz.cli.sequences.bwt_queries",
                "Count k-mers exactly, however often they occur.",
            ),
            "locate": ("genoviz.cli.sequences.bwt_queries", "Find where k-mers are."),
            "spectrum": (
                "genoviz.cli.sequences.bwt",
                "Count how many different k-mers occur how often.",
            ),
            "assess": (
                "genoviz.cli.sequences.assess",
                "Compare an assembly with reads by k-mers: copies, completeness and quality.",
            ),
            "compare": (
                "genoviz.cli.sequences.compare",
                "Compare inputs by their canonical k-mers: those that all have, and those of some "
                "alone.",
            ),
            "multiplicity": (
                "genoviz.cli.sequences.bwt",
                "Write how often the k-mer that begins at each base occurs, as bedGraph.",
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
                "Compute how related the samples are over the variants of autosomes.",
            ),
            "pca": (
                "genoviz.cli.genotypes.cohort",
                "Compute the main axes along which samples differ, by block Lanczos on packed "
                "genotypes.",
            ),
            "king": (
                "genoviz.cli.genotypes.cohort",
                "Compute the kinship of pairs of samples that populations do not mislead "
                "(KING-robust).",
            ),
            "ld": (
                "genoviz.cli.genotypes.linkage",
                "Find the pairs of near variants that are linked, with their r².",
            ),
            "prune": (
                "genoviz.cli.genotypes.linkage",
                "Choose variants of which no two near ones are linked, as PLINK's "
                "--indep-pairwise.",
            ),
            "clump": (
                "genoviz.cli.genotypes.linkage",
                "Let the strongest of linked variants stand for the others, as PLINK's --clump.",
            ),
            "reml": (
                "genoviz.cli.genotypes.variances",
                "Estimate variances and heritability by restricted maximum likelihood (REML).",
            ),
            "gwas": (
                "genoviz.cli.genotypes.gwas",
                "Test each variant: BETA is the effect of one more A1 (log odds, in models of "
                "cases).",
            ),
            "finemap": (
                "genoviz.cli.genotypes.finemap",
                "Find which variants of a region have effects, by the sum of single effects "
                "(SuSiE).",
            ),
            "blup": (
                "genoviz.cli.genotypes.blup",
                "Predict breeding values by best linear unbiased prediction.",
            ),
            "multiblup": (
                "genoviz.cli.genotypes.multiblup",
                "Predict breeding values of several traits at once.",
            ),
            "blupf90": (
                "genoviz.cli.genotypes.blupf90",
                "Solve the mixed model of a parameter file of BLUPF90.",
            ),
            "mixblup": (
                "genoviz.cli.genotypes.mixblup",
                "Solve the mixed model of an instruction file of MiXBLUP.",
            ),
            "score": (
                "genoviz.cli.genotypes.score",
                "Score samples: sums of the dosages of named alleles, each times its weight.",
            ),
            "convert": (
                "genoviz.cli.genotypes.convert",
                "Write genotypes as another kind of file, all of them or those that pass filters "
                "and lists.",
            ),
            "product": (
                "genoviz.cli.genotypes.geno",
                "Multiply the matrix of genotypes, samples by variants, with a dense matrix.",
            ),
            "library": (
                "genoviz.cli.genotypes.library",
                "Write a C library of products and predictions, with its callers, and compile it.",
            ),
            "simulate": (
                "genoviz.cli.genotypes.geno",
                "Make random genotypes with linkage and populations, and a trait, as PLINK files.",
            ),
        },
    ),
    "samples": ("genoviz.cli.samples", "List sample files, or fetch one."),
}
