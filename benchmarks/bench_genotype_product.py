"""Products of packed genotypes with k columns, against inflated matrices and other libraries.

The genotypes are 20,000 samples at 50,000 variants, random and called, 250 MB at 2 bits. Peers
that run here have all threads, as we have:

- NumPy on blocks of variants that are inflated to float64 for each product, by a table of bytes;
- NumPy on a matrix that is inflated beforehand: 8 GB, of which a tenth is measured;
- bed-reader, which reads the blocks of a .bed file as float64, and NumPy.

Where the processor has a matrix unit (AMX), "2bit" are sums of integers, and "tables" is what
other processors do. miraculix 5codes (C, SIMD) was measured on two cores of an AMD EPYC (Zen 5,
AVX-512) in November 2026, without the time that centring takes; where its figure is missing, none
was taken.
"""

from __future__ import annotations

import importlib.util
import tempfile
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.rows import Row, make_row, median_seconds
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.backend import load_kernel
from genoviz.model.genotypes.genotypes import DOSAGES, Genotypes, SampleTable, VariantTable

N_SAMPLES, N_VARIANTS = 20_000, 50_000
COLUMNS = 1, 10, 32
BLOCK = 1_024
RESIDENT_SHARE = 10
TITLE = "Products of packed genotypes, 20,000 samples x 50,000 variants"
MEMORY = "Memory of products of packed genotypes"
# Milliseconds of miraculix by columns and direction.
MIRACULIX = {(10, "Z L"): 138, (10, "Z' L"): 144, (32, "Z L"): 602, (32, "Z' L"): 474,
             (1, "Z' L"): 53}  # fmt: skip
Product = Callable[[np.ndarray], np.ndarray]


def measure(backend: str) -> list[Row]:
    """Return the times of products on the CPU; those of GPUs are ``bench_genotype_product_gpu``."""
    if backend != "cpu":
        return []
    genotypes = make_genotypes()
    make = partial(GenotypeMatrix, genotypes, backend="cpu")
    matrices = {"2bit": make(), "5codes": make(packing="5codes")}
    if load_kernel("genotype_product", "cpu").has_amx():
        matrices["tables"] = make(matrix_unit=False)
    peers = dict(_iter_peers(genotypes))
    rows = []
    for k in COLUMNS:
        for direction, n_rows in (("Z L", N_VARIANTS), ("Z' L", N_SAMPLES)):
            dense = np.random.default_rng(k).normal(size=(n_rows, k))
            rows += _measure_product(matrices, peers, direction, dense)
    return [*rows, _measure_memory(matrices["2bit"])]


def make_genotypes() -> Genotypes:
    """Return random genotypes, none of which is missing."""
    generator = np.random.default_rng(1)
    packed = generator.integers(0, 256, (N_VARIANTS, N_SAMPLES // 4), np.uint8)
    for first in range(0, N_VARIANTS, BLOCK):
        rows = packed[first : first + BLOCK]
        rows &= ~(rows & ~(rows >> 1) & 0x55)
    samples = SampleTable.from_ids(np.arange(N_SAMPLES).astype(str))
    zeros, names = np.zeros(N_VARIANTS), np.full(N_VARIANTS, ".")
    variants = VariantTable(("1",), zeros.astype(np.int32), np.arange(N_VARIANTS), *[names] * 3,
                            zeros)  # fmt: skip
    return Genotypes(packed, samples, variants)


def _measure_product(
    matrices: dict[str, GenotypeMatrix],
    peers: dict[str, Callable[[str], Product]],
    direction: str,
    dense: np.ndarray,
) -> list[Row]:
    k = dense.shape[1]
    ours = {
        packing: 1e3 * median_seconds(partial(_multiply, matrix, direction, dense), n_runs=7)
        for packing, matrix in matrices.items()
    }
    figures = {"miraculix, quoted": MIRACULIX.get((k, direction))}
    for name, peer in peers.items():
        share = RESIDENT_SHARE if name.startswith("resident") else 1
        n_runs = 3 if share > 1 else 1
        seconds = median_seconds(
            partial(peer, direction, dense), n_runs=n_runs, n_warm_ups=share > 1
        )
        figures[name] = 1e3 * share * seconds
    cases = [("2bit", name, figure) for name, figure in figures.items()]
    others = [packing for packing in ours if packing != "2bit"]
    cases += [(packing, "miraculix, quoted", figures["miraculix, quoted"]) for packing in others]
    return [
        make_row(
            TITLE,
            f"{packing}, {direction}, k = {k}; peer: {name}",
            ours=ours[packing],
            peer=figure,
            unit="ms",
            higher_is_better=False,
            note=f"{N_SAMPLES * N_VARIANTS / 4e6 / ours[packing]:.3g} GB/s of .bed",
            in_readme=packing == "2bit" and k == 10 and name == "miraculix, quoted",
        )
        for packing, name, figure in cases
        if figure is not None
    ]


def _multiply(matrix: GenotypeMatrix, direction: str, dense: np.ndarray) -> np.ndarray:
    return matrix @ dense if direction == "Z L" else matrix.T @ dense


def _measure_memory(matrix: GenotypeMatrix) -> Row:
    """Return the most that a product of 32 columns takes, with the genotypes, by their size."""
    right, left = (np.ones((n, COLUMNS[-1])) for n in (N_VARIANTS, N_SAMPLES))
    tracemalloc.start()
    _multiply(matrix, "Z L", right)
    _multiply(matrix, "Z' L", left)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    size = N_SAMPLES * N_VARIANTS / 4
    return make_row(
        MEMORY,
        f"2bit, k = {COLUMNS[-1]}, products included",
        ours=(size + peak) / size,
        peer=32.0,
        unit="of the packed size",
        higher_is_better=False,
        note="peer: the matrix inflated to float64",
    )


# Peers --------------------------------------------------------------------------------------------


def _iter_peers(genotypes: Genotypes) -> Iterator[tuple[str, Callable[[str, np.ndarray], object]]]:
    """Yield names and products of peers, given the direction and the dense matrix."""
    yield "inflated blocks, NumPy", partial(_multiply_blocks, partial(inflate, genotypes.packed))
    resident = inflate(genotypes.packed, 0, N_VARIANTS // RESIDENT_SHARE)
    yield "resident inflated matrix, NumPy", partial(_multiply_resident, resident)
    if importlib.util.find_spec("bed_reader") is None:
        print("  bed-reader is not installed")
        return
    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "random.bed"
    with path.open("wb") as file:
        file.write(bytes([0x6C, 0x1B, 1]))
        genotypes.packed.tofile(file)
    yield "bed-reader and NumPy", partial(_multiply_blocks, partial(_read_block, folder, path))


def inflate(packed: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return dosages of variants: float64, shape (n_variants, n_samples)."""
    codes = np.arange(256)[:, None] >> np.array([0, 2, 4, 6]) & 3
    dosages = DOSAGES[codes].astype(np.float64)
    return dosages[packed[first:last]].reshape(-1, 4 * packed.shape[1])


def _read_block(
    folder: tempfile.TemporaryDirectory,  # noqa: ARG001  # Kept as long as its file is read.
    path: Path,
    first: int,
    last: int,
) -> np.ndarray:
    from bed_reader import open_bed

    with open_bed(path, iid_count=N_SAMPLES, sid_count=N_VARIANTS) as bed:
        return bed.read(np.s_[:, first:last], dtype=np.float64, order="F").T


def _multiply_blocks(
    block_of: Callable[[int, int], np.ndarray], direction: str, dense: np.ndarray
) -> np.ndarray:
    shape = N_SAMPLES if direction == "Z L" else N_VARIANTS
    out = np.zeros((shape, dense.shape[1]))
    for first in range(0, N_VARIANTS, BLOCK):
        last = min(first + BLOCK, N_VARIANTS)
        block = block_of(first, last)
        if direction == "Z L":
            out += block.T @ dense[first:last]
        else:
            out[first:last] = block @ dense
    return out


def _multiply_resident(resident: np.ndarray, direction: str, dense: np.ndarray) -> np.ndarray:
    return resident.T @ dense[: len(resident)] if direction == "Z L" else resident @ dense
