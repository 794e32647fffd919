"""Products of packed genotypes on one GPU, all arrays there, at the sizes of the seed's paper.

Genotypes are random, centred and float64. The paper (doi:10.3389/fgene.2023.1220408) multiplies
float64 numbers on an H100 without tensor cores, which takes 2 n m k / 33.5 TFLOP/s at least: the
peer's figure is this bound for the paper's k = 10, not a time that was measured.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.rows import Row, make_row

PRODUCTS = "Genotype products on one GPU, against the least time of float64 on an H100"
MISSING = "Genotype products on one GPU, 0.8 % missing and imputed by the mean"
COUNTS = "Counts of genotypes on one GPU"
N_VARIANTS = 50_241
SIZES = {"102k": 102_000, "751k": 751_000, "3.1M": 3_100_000}
WIDTHS = {"102k": (1, 10, 32), "751k": (1, 10, 32), "3.1M": (10,)}
PAPER_WIDTH = 10
H100_FLOPS = 33.5e12
N_RUNS = 7
RANDOM_CODES = """
    unsigned long long x = first + i;
    unsigned int missing = ~0u;
    for (int k = 0; k <= n_draws; k++) {
        x += 0x9e3779b97f4a7c15ull;
        unsigned long long y = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        y = (y ^ (y >> 27)) * 0x94d049bb133111ebull;
        y ^= y >> 31;
        if (k == 0) word = (unsigned int)y; else missing &= (unsigned int)y;
        x += y;
    }
    missing = n_draws ? missing & 0x55555555u : 0;
    word |= (word & ~(word >> 1) & 0x55555555u) << 1;
    word = (word & ~(3 * missing)) | missing;
"""


def measure(backend: str) -> list[Row]:
    """Return the rows of the GPU; there are none of the CPU."""
    if backend != "cuda":
        return []
    rows = []
    for name, n_samples in SIZES.items():
        packed = random_genotypes(n_samples, N_VARIANTS)
        for k in WIDTHS[name]:
            rows += measure_products(name, packed, n_samples, k)
        rows.append(measure_counts(name, packed, n_samples))
        if name == "751k":
            fill_genotypes(packed, n_draws=7)
            rows += measure_products(name, packed, n_samples, 10, is_missing=True)
        del packed
    return sorted(rows, key=lambda row: (PRODUCTS, MISSING, COUNTS).index(row["benchmark"]))


def measure_products(
    name: str, packed: Any, n_samples: int, k: int, *, is_missing: bool = False
) -> list[Row]:
    """Return the times of both products, after a look at some of their numbers."""
    import cupy

    from genoviz.kernels.genotype_product import cuda

    values = cupy.asarray(centred_values(len(packed)))
    n_bytes = packed.nbytes
    rows = []
    for title, multiply, n_rows in (
        ("Z L", cuda.multiply, len(packed)),
        ("Z' L", cuda.multiply_transposed, n_samples),
    ):
        dense = random_numbers(n_rows, k)
        product = multiply(packed, n_samples, values, dense)
        check_product(packed, n_samples, values, dense, product, title == "Z' L")
        del product
        seconds = median_gpu_seconds(lambda: multiply(packed, n_samples, values, dense))  # noqa: B023
        bound = 2e3 * n_samples * len(packed) * k / H100_FLOPS
        has_peer = k == PAPER_WIDTH and not is_missing
        rows.append(
            make_row(
                MISSING if is_missing else PRODUCTS,
                f"{title}, {name} x {len(packed):,}, k = {k}",
                ours=1e3 * seconds,
                peer=bound if has_peer else None,
                unit="ms",
                higher_is_better=False,
                note=f"{n_bytes / seconds / 1e9:,.0f} GB/s of packed bytes",
                in_readme=name == "3.1M" and has_peer,
            )
        )
    return rows


def measure_counts(name: str, packed: Any, n_samples: int) -> Row:
    """Return the rate at which genotypes are counted."""
    from genoviz.kernels.genotype_product import cuda

    seconds = median_gpu_seconds(lambda: cuda.count_codes(packed, n_samples))
    case = f"{name} x {len(packed):,}"
    rate = packed.nbytes / seconds / 1e9
    return make_row(COUNTS, case, ours=rate, unit="GB/s", note=f"{1e3 * seconds:.2f} ms")


def random_genotypes(n_samples: int, n_variants: int) -> Any:
    """Return packed genotypes on the GPU, none missing."""
    import cupy

    return fill_genotypes(cupy.empty((n_variants, (n_samples + 3) // 4), np.uint8))


def fill_genotypes(packed: Any, n_draws: int = 0) -> Any:
    """Draw packed genotypes anew; 2^-n_draws of them are missing, none for 0."""
    import cupy

    fill = cupy.ElementwiseKernel(
        "uint64 first, int32 n_draws", "uint32 word", RANDOM_CODES, "fill_genotypes"
    )
    flat = packed.reshape(-1)
    words = flat[: len(flat) // 4 * 4].view(np.uint32)
    step = 1 << 30
    for first in range(0, len(words), step):
        fill(np.uint64(first), np.int32(n_draws), words[first : first + step])
    flat[len(words) * 4 :] = 0
    return packed


def centred_values(n_variants: int) -> np.ndarray:
    """Return what codes count as, centred; a missing one as the mean."""
    means = np.random.default_rng(1).uniform(0.1, 1.9, (n_variants, 1))
    values = np.array([2.0, 0.0, 1.0, 0.0]) - means
    values[:, 1] = 0
    return values


def random_numbers(n_rows: int, k: int) -> Any:
    """Return a dense matrix on the GPU."""
    import cupy

    rng = np.random.default_rng(2)
    block = cupy.asarray(rng.normal(size=(min(n_rows, 1 << 16), k)))
    return cupy.resize(block, (n_rows, k)) * (1 + 1e-3 * cupy.arange(n_rows) / n_rows)[:, None]


def check_product(
    packed: Any, n_samples: int, values: Any, dense: Any, product: Any, is_transposed: bool
) -> None:
    """Raise an error if some rows of a product are not those of the dense matrix."""
    import cupy

    for row in np.linspace(0, len(product) - 1, 7).astype(int).tolist():
        if is_transposed:
            codes = packed[row][:, None] >> cupy.arange(0, 8, 2, dtype=np.uint8) & 3
            own = values[row][codes.reshape(-1)[:n_samples].astype(np.int32)]
        else:
            codes = packed[:, row // 4] >> np.uint8(2 * (row % 4)) & 3
            own = values[cupy.arange(len(packed)), codes.astype(np.int32)]
        for column in range(dense.shape[1]):
            terms = own * dense[:, column]
            error = abs(float(terms.sum() - product[row, column]))
            if not error <= 1e-12 * float(abs(terms).sum()):
                raise AssertionError(f"row {row}, column {column} is off by {error}")


def median_gpu_seconds(function: Callable[[], Any]) -> float:
    """Return the median time of a call by the GPU's clock."""
    import cupy

    function()
    seconds = []
    for _ in range(N_RUNS):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        function()
        stop.record()
        stop.synchronize()
        seconds.append(cupy.cuda.get_elapsed_time(start, stop) / 1e3)
    return float(np.median(seconds))
