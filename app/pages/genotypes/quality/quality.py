"""The quality of all genotypes that are open."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from genoviz.analyses.genotypes.progress import Progress, report_last
from genoviz.analyses.genotypes.statistics import iter_sample_statistics, iter_variant_statistics
from genoviz.model.genotypes.genotypes import Genotypes


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
    steps = iter_variant_statistics(genotypes)
    variants = yield from report_last(steps, 0.0, 0.3, what="measuring variants")
    # Kept by the statistics, and so not computed while the page is drawn.
    yield from report_last(variants.iter_hwe_p(), 0.3, 0.5)
    steps = iter_sample_statistics(genotypes)
    samples = yield from report_last(steps, 0.5, 1.0, what="measuring samples")
    yield Progress("ready", 1.0, Quality(variants, samples))
