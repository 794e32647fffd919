"""Chromosome sizes of whole human pangenome graphs, at any scale.

The Human Pangenome Reference Consortium publishes the total numbers of nodes and steps of its
graphs. They are divided among the chromosomes by length in T2T-CHM13v2.0.
`genoviz.analyses.simulation.graphs` makes graphs of these sizes.

References
----------
Liao et al. 2023: A draft human pangenome reference. https://doi.org/10.1038/s41586-023-05896-x
Nurk et al. 2022: The complete sequence of a human genome. https://doi.org/10.1126/science.abj6987
Nodes and steps: tables of indexing times of PangyPlot (strug-hub/pangyplot on GitHub,
``benchmark_results``), summed over chromosomes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from genoviz.errors import ParameterError, check_choice

CHROMOSOME_LENGTHS: Mapping[str, int] = MappingProxyType(
    {
        "chr1": 248_387_328,
        "chr2": 242_696_752,
        "chr3": 201_105_948,
        "chr4": 193_574_945,
        "chr5": 182_045_439,
        "chr6": 172_126_628,
        "chr7": 160_567_428,
        "chr8": 146_259_331,
        "chr9": 150_617_247,
        "chr10": 134_758_134,
        "chr11": 135_127_769,
        "chr12": 133_324_548,
        "chr13": 113_566_686,
        "chr14": 101_161_492,
        "chr15": 99_753_195,
        "chr16": 96_330_374,
        "chr17": 84_276_897,
        "chr18": 80_542_538,
        "chr19": 61_707_364,
        "chr20": 66_210_255,
        "chr21": 45_090_682,
        "chr22": 51_324_926,
        "chrX": 154_259_566,
        "chrY": 62_460_029,
    }
)
"""Lengths of the chromosomes of T2T-CHM13v2.0, bp."""

MIN_NODES = 100
_PATHS_PER_HAPLOTYPE = 4 / 3


@dataclass(frozen=True)
class GenomeShape:
    """Size of a whole pangenome graph: nodes, steps and haplotypes, including references.

    Attributes
    ----------
    n_nodes, n_steps
        Totals over all chromosomes.
    n_haplotypes
        Number of haplotypes of each autosome.
    """

    n_nodes: int
    n_steps: int
    n_haplotypes: int


GENOME_SHAPES: Mapping[str, GenomeShape] = MappingProxyType(
    {
        "hprc-v1.0-pggb": GenomeShape(110_900_000, 8_120_000_000, 90),
        "hprc-v1.1-mc": GenomeShape(80_000_000, 4_410_000_000, 90),
        "hprc-v2-mc": GenomeShape(135_800_000, 38_000_000_000, 464),
    }
)
"""Whole graphs of the Human Pangenome Reference Consortium by name; MC is Minigraph-Cactus."""


@dataclass(frozen=True)
class ChromosomeSizes:
    """Size of the graph of one chromosome, and its random seed."""

    name: str
    n_nodes: int
    n_paths: int
    n_steps: int
    seed: int


def iter_chromosome_sizes(
    shape: str, *, scale: float = 1.0, seed: int = 0
) -> Iterator[ChromosomeSizes]:
    """Yield the sizes of each chromosome of a whole genome, from chr1 to chr22, chrX and chrY.

    Parameters
    ----------
    shape
        A name of `GENOME_SHAPES`.
    scale
        Share of the nodes and steps, at most 1. Steps per node, and therefore roughly the number
        of haplotypes, stay the same; a chromosome has at least `MIN_NODES` nodes.
    seed
        Base seed, from which each chromosome derives its own.

    Raises
    ------
    ParameterError
        If the shape is unknown or the scale out of range.

    Examples
    --------
    >>> sizes = list(iter_chromosome_sizes("hprc-v1.1-mc", scale=0.001))
    >>> len(sizes), sizes[0].name, sizes[0].n_nodes
    (24, 'chr1', 6374)
    """
    check_choice("shape", shape, GENOME_SHAPES)
    if not 0 < scale <= 1:
        raise ParameterError(f"scale is {scale}, needs more than 0 and at most 1")
    whole = GENOME_SHAPES[shape]
    total = sum(CHROMOSOME_LENGTHS.values())
    steps_per_node = whole.n_steps / whole.n_nodes
    for rank, (name, length) in enumerate(CHROMOSOME_LENGTHS.items()):
        n_nodes = max(round(whole.n_nodes * scale * length / total), MIN_NODES)
        own_seed = np.random.SeedSequence([seed, rank]).generate_state(1, np.uint64)[0]
        yield ChromosomeSizes(
            name,
            n_nodes,
            round(_PATHS_PER_HAPLOTYPE * whole.n_haplotypes),
            round(steps_per_node * n_nodes),
            int(own_seed >> np.uint64(1)),
        )
