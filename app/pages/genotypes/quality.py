"""The quality of all genotypes that are open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from genoviz.analyses.genotypes.progress import Progress
from genoviz.analyses.genotypes.statistics import sample_statistics, variant_statistics
from genoviz.model.genotypes import Genotypes


@dataclass(frozen=True, eq=False)
class Quality:
    """Statistics of all variants and samples.

    Attributes
    ----------
    variants
        Their `VariantStatistics`.
    samples
        Their `SampleStatistics`.
    """

    variants: Any
    samples: Any


def iter_measure(genotypes: Genotypes) -> Iterator[Progress]:
    """Yield progress, of which the last has the `Quality`."""
    yield Progress("measuring variants", 0.0)
    variants = variant_statistics(genotypes)
    yield Progress("testing Hardy-Weinberg equilibrium", 0.3)
    variants.hwe_p  # noqa: B018 - computed here, and not while the page is drawn
    yield Progress("measuring samples", 0.5)
    yield Progress("ready", 1.0, Quality(variants, sample_statistics(genotypes)))
