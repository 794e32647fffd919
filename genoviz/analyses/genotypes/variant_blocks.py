"""Variants in blocks: few enough that a step of a long analysis takes a moment."""

from __future__ import annotations

import numpy as np

from genoviz.backend import Backend, resolve_backend
from genoviz.model.genotypes import Genotypes

CPU_GENOTYPES = 1 << 27
"""Genotypes of a block on the CPU: 32 MB packed, some 100 ms for a product with 20 columns. Of many
samples fewer variants would not pay for the tables that a product begins with."""
CUDA_GENOTYPES = 1 << 33
MOST_VARIANTS = 1 << 15


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
    step = min(max(1, n_values // max(genotypes.n_samples, 1)), MOST_VARIANTS)
    return [
        slice(start, min(start + step, genotypes.n_variants))
        for start in range(0, genotypes.n_variants, step)
    ]


def packed_rows(genotypes: Genotypes) -> np.ndarray:
    """Return the packed genotypes as kernels take them; of a mapped file, still mapped."""
    return np.ascontiguousarray(genotypes.packed)
