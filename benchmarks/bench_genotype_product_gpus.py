"""Products of packed genotypes on all GPUs of a machine, each with a part of the variants.

Dense matrices and products lie on the first GPU. The peer's figure is one GPU, in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.bench_genotype_product_gpu import N_VARIANTS, random_genotypes, random_numbers
from benchmarks.rows import Row, make_row
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

SIZES = {"102k": 102_000, "751k": 751_000}
WIDTHS = (1, 10)
N_RUNS = 9


def measure(backend: str) -> list[Row]:
    """Return the rows of machines with several GPUs; there are none of others."""
    if backend != "cuda":
        return []
    import cupy

    n_gpus = cupy.cuda.runtime.getDeviceCount()
    if n_gpus == 1:
        return []
    rows = []
    for name, n_samples in SIZES.items():
        genotypes = _make_genotypes(n_samples)
        one = GenotypeMatrix(genotypes, backend="cuda")
        all_gpus = GenotypeMatrix(genotypes, devices=range(n_gpus), backend="cuda")
        for k in WIDTHS:
            for title, n_rows in (("Z L", N_VARIANTS), ("Z' L", n_samples)):
                dense = random_numbers(n_rows, k)
                products = [
                    matrix.multiply(dense) if title == "Z L" else matrix.multiply_transposed(dense)
                    for matrix in (one, all_gpus)
                ]
                error = float(abs(products[0] - products[1]).max() / abs(products[0]).max())
                if not error <= 1e-12:
                    raise AssertionError(f"{title}: products differ by {error}")
                seconds = [
                    _median_seconds(
                        lambda: matrix @ dense if title == "Z L" else matrix.T @ dense  # noqa: B023
                    )
                    for matrix in (one, all_gpus)
                ]
                rows.append(
                    make_row(
                        f"Genotype products on {n_gpus} GPUs, against one of them",
                        f"{title}, {name} x {N_VARIANTS:,}, k = {k}",
                        ours=1e3 * seconds[1],
                        peer=1e3 * seconds[0],
                        unit="ms",
                        higher_is_better=False,
                    )
                )
        del one, all_gpus, genotypes
        cupy.get_default_memory_pool().free_all_blocks()
    return rows


def _make_genotypes(n_samples: int) -> Genotypes:
    numbers = np.arange(N_VARIANTS)
    texts = numbers.astype(np.str_)
    variants = VariantTable(
        ("1",), np.zeros(N_VARIANTS, np.int32), numbers, texts, texts, texts, np.zeros(N_VARIANTS)
    )
    samples = SampleTable.from_ids(np.arange(n_samples).astype(np.str_))
    return Genotypes(random_genotypes(n_samples, N_VARIANTS).get(), samples, variants)


def _median_seconds(multiply: Callable[[], Any]) -> float:
    """Return the median time of a product, until all GPUs have ended."""
    import cupy

    seconds = []
    for _ in range(N_RUNS):
        start = time.perf_counter()
        multiply()
        cupy.cuda.get_current_stream().synchronize()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))
