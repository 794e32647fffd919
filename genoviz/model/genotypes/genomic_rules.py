"""How relationships of genotyped animals are made from genotypes: quality control and tuning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Parentage = Literal["remove", "report", "ignore"]


@dataclass(frozen=True)
class QualityRules:
    """What genotypes must pass; the defaults are those of BLUPF90.

    Attributes
    ----------
    min_call_rate
        Minimum share of samples with a genotype, of a variant.
    min_maf
        Minimum minor allele frequency of a variant.
    removes_constant
        Whether variants with one allele are removed, whatever ``min_maf`` is.
    max_hwe_difference
        Maximum difference between the share of heterozygotes and 2p(1 - p); None for no limit.
    min_sample_call_rate
        Minimum share of the remaining variants with a genotype, of a sample.
    parentage
        What to do about opposite homozygotes of parent and progeny: remove variants and progeny
        with too many, only report such pairs, or nothing.
    max_conflicts
        Maximum number of opposite homozygotes of a pair, as a share of the variants.
    max_variant_conflicts
        Maximum number of opposite homozygotes at a variant, as a share of the pairs.
    min_pairs
        Minimum number of pairs for removing variants.
    """

    min_call_rate: float = 0.9
    min_maf: float = 0.05
    removes_constant: bool = True
    max_hwe_difference: float | None = None
    min_sample_call_rate: float = 0.9
    parentage: Parentage = "remove"
    max_conflicts: float = 0.01
    max_variant_conflicts: float = 0.1
    min_pairs: int = 100


@dataclass(frozen=True)
class GenomicRules:
    """How G is made: (a + b (alpha ZZ' / s + beta A_gg)) / tau, s = 2 sum p(1 - p).

    Attributes
    ----------
    quality
        Quality control before; None for none.
    weights
        alpha and beta.
    targets
        What a and b make of the means of G: ``"pedigree"`` makes those of the diagonal and of the
        other elements equal to those of A_gg, and ``"unrelated"`` 1 and 0.
    line
        a and b, if there are no targets.
    scales
        tau and omega: H^-1 is A^-1 + tau G^-1 - omega A_gg^-1 for the tuned G.
    min_correlation
        Minimum correlation of G with A_gg, over the pairs of different samples that are related in
        the pedigree; None for no limit.
    low_correlation
        Correlation below which a note warns.
    min_relationship
        Minimum element of A_gg of a pair that counts as related.
    """

    quality: QualityRules | None = QualityRules()
    weights: tuple[float, float] = (0.95, 0.05)
    targets: Literal["pedigree", "unrelated"] | None = "pedigree"
    line: tuple[float, float] = (0.0, 1.0)
    scales: tuple[float, float] = (1.0, 1.0)
    min_correlation: float | None = 0.3
    low_correlation: float = 0.5
    min_relationship: float = 0.02
