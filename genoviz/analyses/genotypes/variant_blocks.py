"""Division of variants into blocks, so that steps of long analyses take a moment each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from genoviz.backend import Backend, Scheduler, resolve_backend
from genoviz.model.genotypes.genotypes import Genotypes

CPU_GENOTYPES = 1 << 27
"""Genotypes of a block on the CPU: 32 MB packed, some 100 ms for a product with 20 columns. With
many samples, smaller blocks would not amortise the lookup tables of a product."""
CUDA_GENOTYPES = 1 << 33
MAX_VARIANTS = 1 << 15
PRODUCT_GENOTYPES = 1 << 30
"""Genotypes of a block of one product on the CPU: 256 MB packed, a tenth of a second or more."""
TASK_GENOTYPES = 1 << 30
"""Genotypes of a remote task that counts, multiplies or tests them."""


def variant_blocks(
    genotypes: Genotypes, *, n_values: int | None = None, backend: Backend = "auto"
) -> list[slice]:
    """Return slices of all variants, one after the other.

    Parameters
    ----------
    genotypes
        Genotypes to divide.
    n_values
        Approximate number of genotypes per block; by default chosen for the backend.
    backend
        Where the blocks are processed.
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

    They depend on the shape only, so that rounding does not depend on timing.
    """
    n_values = PRODUCT_GENOTYPES if resolve_backend(backend) == "cpu" else CUDA_GENOTYPES
    return task_blocks(genotypes, n_values)


def task_blocks(genotypes: Genotypes, n_values: int | None = None) -> list[slice]:
    """Return slices of all variants for remote tasks, independent of the workers' hardware.

    Parameters
    ----------
    genotypes
        Genotypes to divide.
    n_values
        Approximate number of genotypes per block; ``TASK_GENOTYPES`` if None.
    """
    step = max(1, (n_values or TASK_GENOTYPES) // max(genotypes.n_samples, 1))
    return [
        slice(start, min(start + step, genotypes.n_variants))
        for start in range(0, genotypes.n_variants, step)
    ]


def iter_tasks(
    function: Callable[..., Any],
    genotypes: Genotypes,
    *,
    common: tuple,
    scheduler: Scheduler,
    columns: tuple[np.ndarray, ...] = (),
    n_values: int | None = None,
) -> Iterator[tuple[float, slice, Any]]:
    """Let workers call a function for blocks of variants; yields results in any order.

    Parameters
    ----------
    function
        Called with the packed genotypes of a block, the rows of ``columns``, and ``common``.
    genotypes, n_values
        As for `task_blocks`.
    common
        Arguments common to all calls.
    scheduler
        Scheduler of the workers.
    columns
        Arrays with a row for each variant.

    Yields
    ------
    tuple
        Share done, 0 to 1; the variants of a block; and the function's result.
    """
    from genoviz.cluster.blocks import iter_results

    blocks, n_done = task_blocks(genotypes, n_values), 0
    tasks = [tuple(rows[block] for rows in (genotypes.packed, *columns)) for block in blocks]
    for k, found in iter_results(function, tasks, scheduler=scheduler, common=common):
        n_done += blocks[k].stop - blocks[k].start
        yield n_done / genotypes.n_variants, blocks[k], found


def variants_at_a_time(genotypes: Genotypes, *, backend: Backend = "auto") -> int:
    """Return the size of the first slice of variants; timing determines the following ones.

    On a GPU, slices are large enough that resident genotypes need few calls.
    """
    n_values = CPU_GENOTYPES if resolve_backend(backend) == "cpu" else CUDA_GENOTYPES
    return max(1, n_values // max(genotypes.n_samples, 1))


def find_near(
    contigs: np.ndarray, positions: np.ndarray, max_distance: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of variants near each one, of variants by contig and position: from, to."""
    starts, ends = np.empty((2, len(contigs)), np.int64)
    edges = np.flatnonzero(np.diff(contigs)) + 1
    for begin, end in zip([0, *edges], [*edges, len(contigs)], strict=True):
        here = positions[begin:end]
        starts[begin:end] = begin + np.searchsorted(here, here - max_distance, side="left")
        ends[begin:end] = begin + np.searchsorted(here, here + max_distance, side="right")
    return starts, ends
