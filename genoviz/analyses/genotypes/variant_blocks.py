"""Variants in blocks: few enough that a step of a long analysis takes a moment."""

from __future__ import annotations

from genoviz.backend import Backend, resolve_backend
from genoviz.model.genotypes.genotypes import Genotypes

CPU_GENOTYPES = 1 << 27
"""Genotypes of a block on the CPU: 32 MB packed, some 100 ms for a product with 20 columns. Of many
samples fewer variants would not pay for the tables that a product begins with."""
CUDA_GENOTYPES = 1 << 33
MAX_VARIANTS = 1 << 15
PRODUCT_GENOTYPES = 1 << 30
"""Genotypes of a block of one product on the CPU: 256 MB packed, a tenth of a second or more."""


def variant_blocks(
    genotypes: Genotypes, *, n_values: int | None = None, backend: Backend = "auto"
) -> list[slice]:
    """Return slices of all variants, one after the other.

    Parameters
    ----------
    genotypes
        What is to be taken in blocks.
    n_values
        About how many genotypes a block has; what suits the backend if None.
    backend
        Where the blocks are worked on.
    """
    if n_values is None:
        n_values = CPU_GENOTYPES if resolve_backend(backend) == "cpu" else CUDA_GENOTYPES
    step = min(max(1, n_values // max(genotypes.n_samples, 1)), MAX_VARIANTS)
    return [
        slice(start, min(start + step, genotypes.n_variants))
        for start in range(0, genotypes.n_variants, step)
    ]


def product_blocks(genotypes: Genotypes, *, backend: Backend = "auto") -> list[slice]:
    """Return slices of all variants for one product, each of some tenths of a second.

    They depend on the shape alone, lest sums of rounded numbers depend on the clock.
    """
    n_values = PRODUCT_GENOTYPES if resolve_backend(backend) == "cpu" else CUDA_GENOTYPES
    step = max(1, n_values // max(genotypes.n_samples, 1))
    return [
        slice(start, min(start + step, genotypes.n_variants))
        for start in range(0, genotypes.n_variants, step)
    ]


def variants_at_a_time(genotypes: Genotypes, *, backend: Backend = "auto") -> int:
    """Return how many variants to take as a first slice; the clock sets the size of the next ones.

    A GPU counts so many at once that what it has in its memory needs few calls.
    """
    n_values = CPU_GENOTYPES if resolve_backend(backend) == "cpu" else CUDA_GENOTYPES
    return max(1, n_values // max(genotypes.n_samples, 1))
