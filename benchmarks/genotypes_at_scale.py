"""Genotypes of a nation and of a biobank, simulated and solved on one machine.

    python -m benchmarks.genotypes_at_scale single-step
    python -m benchmarks.genotypes_at_scale linear
    python -m benchmarks.genotypes_at_scale mixed
    python -m benchmarks.genotypes_at_scale mixed --scale 0.005 --backend cpu
    python -m benchmarks.genotypes_at_scale mixed-logistic --scale 0.04 --backend cpu

``single-step`` predicts 1,000,000 animals of ten generations, the 100,000 of the last genotyped at
50,000 variants that are dropped through the pedigree. It times the products with Z, Z' and A_gg^-1.
``linear`` and ``mixed`` test 600,000 variants of 500,000 samples, 75 GB packed. A GPU makes them
as they are used, a block of the linear scan at a time; the mixed model keeps them.
``mixed-logistic`` tests whether the trait is in its upper twentieth. ``--scale`` multiplies both
sizes of each. After ``--seconds`` the run ends with what it has measured.
"""

from __future__ import annotations

import argparse
import functools
import resource
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from genoviz import (
    Genotypes,
    iter_associate,
    iter_mixed_associate,
    iter_mixed_logistic_associate,
    simulate_genotypes,
)
from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.matrix_parts import rows_of
from genoviz.analyses.genotypes.prediction import pedigree_inverse, single_step
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.analyses.simulation import genotypes as simulation
from genoviz.backend import (
    BACKENDS,
    describe_backend,
    describe_machine,
    load_kernel,
    resolve_backend,
    to_host,
)
from genoviz.model.genotypes.genotypes import SampleTable

ANIMALS, GENOTYPED_SHARE, MARKERS = 1_000_000, 0.1, 50_000
SAMPLES, VARIANTS = 500_000, 600_000
GENERATIONS, N_CONTIGS, HERITABILITY = 9, 22, 0.3
N_CAUSAL = 1_000
WINDOW = 16
"""Variants that are linked; each window is drawn anew, so that any block can be made alone."""
DRAW = r"""
typedef unsigned long long u64;
__device__ u64 mix(u64 state) {
  state = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9ull;
  state = (state ^ (state >> 27)) * 0x94D049BB133111EBull;
  return state ^ (state >> 31);
}
extern "C" __global__ void draw(long long first, long long n_rows, long long n_samples,
    const unsigned* keeps, const unsigned* limits, u64 seed, unsigned char* packed) {
  const u64 golden = 0x9E3779B97F4A7C15ull;
  const long long n_bytes = (n_samples + 3) / 4;
  const long long byte = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (byte >= n_bytes) return;
  const long long start = (first / WINDOW + blockIdx.y) * WINDOW;
  unsigned classes[2][4] = {{0, 0, 0, 0}, {0, 0, 0, 0}};
  for (long long j = start; j < start + WINDOW && j < first + n_rows; ++j) {
    const u64 key = mix(seed + (u64)j * golden);
    const unsigned keep = keeps[j], limit = limits[j];
    unsigned codes = 0;
    for (int k = 0; k < 4; ++k) {
      const long long sample = 4 * byte + k;
      if (sample >= n_samples) break;
      const u64 bits = mix(key + (u64)sample * golden);
      if ((bits & 0xFFFF) >= keep) classes[0][k] = (bits >> 16) & 0xFFFF;
      if (((bits >> 32) & 0xFFFF) >= keep) classes[1][k] = (unsigned)(bits >> 48);
      const bool one = classes[0][k] < limit, other = classes[1][k] < limit;
      codes |= ((one || other ? 0u : 1u) | (one && other ? 0u : 2u)) << (2 * k);
    }
    if (j >= first) packed[(j - first) * n_bytes + byte] = (unsigned char)codes;
  }
}
"""
BEGAN = time.perf_counter()


def say(*words: object) -> None:
    """Print what is known so far, after the seconds since the start."""
    print(f"{time.perf_counter() - BEGAN:8.1f} s ", *words, flush=True)


def say_memory(backend: str) -> None:
    """Print the highest memory of the host, and what is left of that of the GPU."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    words = f"peak memory of the host {peak:.1f} GiB"
    if backend == "cuda":
        import cupy

        free, total = cupy.cuda.Device().mem_info
        words += f", taken of the GPU {(total - free) / 2**30:.1f} of {total / 2**30:.0f} GiB"
    say(words)


class SimulatedRows:
    """Packed genotypes that are made when they are asked for, on the GPU or on the host.

    Variants have random frequencies, and are linked within windows. A slice is made alone, and
    kept while it is referred to.
    """

    dtype = np.dtype(np.uint8)

    def __init__(self, n_samples: int, variants: slice, tables: tuple, backend: str) -> None:
        self._n_samples, self._variants = n_samples, variants
        self._tables, self._backend = tables, backend
        self.shape = variants.stop - variants.start, (n_samples + 3) // 4
        self._rows: Any = None

    @classmethod
    def of(cls, n_samples: int, n_variants: int, backend: str) -> SimulatedRows:
        """Return the rows of all variants."""
        rng = np.random.default_rng(1)
        keeps = np.full(n_variants, 58_982, np.uint32)
        keeps[::WINDOW] = 0
        limits = rng.integers(655, 32_768, n_variants).astype(np.uint32)
        tables = keeps, limits
        if backend == "cuda":
            import cupy

            tables = tuple(map(cupy.asarray, tables))
        return cls(n_samples, slice(0, n_variants), tables, backend)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> Any:
        if not isinstance(rows, slice):
            return self._made()[rows]
        first, stop, _ = rows.indices(len(self))
        if (first, stop) == (0, len(self)):
            return self
        before = self._variants.start
        part = slice(before + first, before + max(stop, first))
        return SimulatedRows(self._n_samples, part, self._tables, self._backend)

    def __getattr__(self, name: str) -> Any:
        if name == "__cuda_array_interface__" and self._backend == "cuda":
            return self._made().__cuda_array_interface__
        raise AttributeError(name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return to_host(self._made())

    def _made(self) -> Any:
        if self._rows is None:
            make = self._make_there if self._backend == "cuda" else self._make_here
            self._rows = make()
        return self._rows

    def _make_there(self) -> Any:
        import cupy

        packed = cupy.empty(self.shape, np.uint8)
        first, stop = self._variants.start, self._variants.stop
        if packed.size:
            n_windows = -(-stop // WINDOW) - first // WINDOW
            arguments = (np.int64(first), np.int64(len(self)), np.int64(self._n_samples))
            grid = -(-self.shape[1] // 256), n_windows
            _draw_kernel()(grid, (256,), (*arguments, *self._tables, np.uint64(1), packed))
        return packed

    def _make_here(self) -> np.ndarray:
        first, stop = self._variants.start, self._variants.stop
        start = first // WINDOW * WINDOW
        keeps, limits = (table[start:stop] for table in self._tables)
        packed = np.empty((stop - start, self.shape[1]), np.uint8)
        load_kernel("genotype_simulation", "cpu").draw_genotypes(
            start, keeps, limits[:, None], np.zeros(len(keeps), np.uint16), np.uint64(0),
            np.array([0, self._n_samples]), np.uint64(1),
            np.zeros((2, self._n_samples), np.uint16), packed,
        )  # fmt: skip
        return packed[first - start :]


@functools.cache
def _draw_kernel() -> Any:
    import cupy

    return cupy.RawKernel(DRAW.replace("WINDOW", str(WINDOW)), "draw")


def simulate_cohort(n_samples: int, n_variants: int, backend: str) -> tuple[Genotypes, np.ndarray]:
    """Return genotypes that are made when they are used, and a trait of some causal variants."""
    rows = SimulatedRows.of(n_samples, n_variants, backend)
    contig_ids = (np.arange(n_variants) * N_CONTIGS // n_variants).astype(np.int32)
    contigs = tuple(str(k + 1) for k in range(N_CONTIGS))
    genotypes = Genotypes.unnamed(rows, np.zeros(n_samples, np.uint8), contigs, contig_ids)
    rng = np.random.default_rng(2)
    causal = np.sort(rng.choice(n_variants, min(N_CAUSAL, n_variants), replace=False))
    packed = [to_host(rows_of(rows[k : k + 1])) for k in causal.tolist()]
    part = Genotypes.unnamed(np.concatenate(packed), np.zeros(n_samples, np.uint8))
    matrix = GenotypeMatrix(part, standardise=True, backend="cpu")
    genetic = matrix @ rng.standard_normal(len(causal))
    genetic *= np.sqrt(HERITABILITY) / genetic.std()
    return genotypes, genetic + rng.normal(0, np.sqrt(1 - HERITABILITY), n_samples)


def scan(model: str, n_samples: int, n_variants: int, backend: str) -> None:
    """Test all variants; the time is from the first block made to the last test."""
    say(f"{model}: {n_samples:,} samples at {n_variants:,} variants,",
        f"{n_variants * n_samples / 4e9:.2f} GB packed")  # fmt: skip
    genotypes, trait = simulate_cohort(n_samples, n_variants, backend)
    say("trait simulated")
    start = time.perf_counter()
    options: dict[str, Any] = {"backend": backend}
    if model == "mixed":
        steps = iter_mixed_associate(genotypes, trait, tests="calibrated", **options)
    elif model == "mixed-logistic":
        ill = trait > np.quantile(trait, 0.95)
        steps = iter_mixed_logistic_associate(genotypes, ill, tests="calibrated", **options)
    else:
        covariates = np.random.default_rng(3).standard_normal((n_samples, 10))
        steps = iter_associate(genotypes, trait, covariates=covariates, **options)
    last, said, what = None, 0.0, ""
    for last in steps:
        now = time.perf_counter()
        if last.what != what or now - said > 5:
            said, what = now, last.what
            say(f"{last.what}: {last.fraction:.3f} after {now - start:.1f} s")
    seconds = time.perf_counter() - start
    found = last.result
    say(f"{model}: all {n_variants:,} variants in {seconds:.2f} s;", found.sentence)
    for note in found.notes:
        say(note)
    say(f"lambda {found.lambda_gc:.4f}, lowest p {np.nanmin(found.p):.3g}")
    say_memory(backend)


class Watch:
    """Seconds of the calls of some methods, with the wait for the GPU."""

    def __init__(self, backend: str) -> None:
        self.seconds: dict[str, float] = {}
        self.calls: dict[str, int] = {}
        self._is_on_gpu = backend == "cuda"

    def wait(self) -> None:
        """Wait for the GPU."""
        if self._is_on_gpu:
            import cupy

            cupy.cuda.get_current_stream().synchronize()

    def watch(self, owner: type, method: str, name: str) -> None:
        """Time a method of a class from now on."""
        function = getattr(owner, method)

        @functools.wraps(function)
        def timed(*args: Any) -> Any:
            self.wait()
            start = time.perf_counter()
            product = function(*args)
            self.wait()
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
            self.calls[name] = self.calls.get(name, 0) + 1
            return product

        setattr(owner, method, timed)

    def reset(self) -> None:
        """Forget the calls so far."""
        self.seconds, self.calls = {}, {}

    def report(self, total: float, n_iterations: int) -> None:
        """Print the shares of an iteration."""
        say(f"{1e3 * total / n_iterations:.3f} ms an iteration, {n_iterations:,} iterations")
        for name, seconds in self.seconds.items():
            each = 1e3 * seconds / n_iterations
            say(f"  {name}: {each:.3f} ms an iteration, {seconds / total:.1%}")


def drop_herd(
    n_animals: int, n_variants: int, sire_share: float
) -> tuple[Any, Genotypes, np.ndarray]:
    """Return a pedigree, the genotypes of its last generation, and breeding values of all."""
    n_founders = n_animals // (GENERATIONS + 1) // 4 * 4
    pedigree = simulation.simulate_pedigree(n_founders, GENERATIONS, sire_share=sire_share, seed=1)
    say(f"pedigree of {len(pedigree):,} animals, {sire_share:.2%} of a generation are sires")
    founders = simulate_genotypes(n_founders, n_variants, n_contigs=N_CONTIGS, seed=2)
    say("founders simulated")
    n, first = len(pedigree), len(pedigree) - n_founders
    frequencies = frequencies_of_counts(allele_counts(founders, backend="cpu"))
    distances = np.abs(np.diff(founders.variants.centimorgans / 100, prepend=0.0))
    crossovers = 0.5 * (1 - np.exp(-2 * distances))
    crossovers[np.diff(founders.variants.contig_ids, prepend=-1) != 0] = 0.5
    rows = np.where(np.arange(n) < n_founders, np.arange(n), -1)
    drop = load_kernel("genotype_simulation", "cpu").drop_genotypes

    def drop_contig(contig: int) -> tuple[slice, np.ndarray]:
        ends = np.searchsorted(founders.variants.contig_ids, [contig, contig + 1]).tolist()
        block = slice(*ends)
        packed = np.empty((block.stop - block.start, (n + 3) // 4), np.uint8)
        drop(
            block.start, rows, pedigree.sires, pedigree.dams, founders.packed[block],
            frequencies[block], crossovers[block], np.uint64(3), np.zeros((2, n), np.uint8), packed,
        )  # fmt: skip
        return block, packed

    effects = np.random.default_rng(4).standard_normal(n_variants)
    genetic = np.zeros(n)
    kept = np.empty((n_variants, n_founders // 4), np.uint8)
    sexes = np.zeros(n, np.uint8)
    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        for block, packed in pool.map(drop_contig, range(N_CONTIGS)):
            kept[block] = packed[:, first // 4 :]
            part = Genotypes.unnamed(packed, sexes)
            genetic += GenotypeMatrix(part, backend="cpu") @ effects[block]
            say(f"dropped through the pedigree: {block.stop:,} variants")
    samples = SampleTable.from_ids(pedigree.ids[first:])
    return pedigree, Genotypes(kept, samples, founders.variants), genetic / genetic.std()


def predict(n_animals: int, n_variants: int, backend: str, sire_share: float) -> None:
    """Solve single-step equations, and time what an iteration consists of."""
    say(f"single step: {n_animals:,} animals, {n_variants:,} variants")
    pedigree, genotypes, genetic = drop_herd(n_animals, n_variants, sire_share)
    rng = np.random.default_rng(5)
    noise = rng.normal(0, np.sqrt(1 / HERITABILITY - 1), len(genetic))
    watch = Watch(backend)
    watch.watch(GenotypeMatrix, "multiply", "Z")
    watch.watch(GenotypeMatrix, "multiply_transposed", "Z'")
    watch.watch(pedigree_inverse.GenotypedInverse, "multiply", "A_gg^-1")
    start = time.perf_counter()
    found = None
    say("preparing A^-1 and A_gg^-1")
    steps = single_step.iter_single_step(
        genotypes, pedigree, genetic + noise, heritability=HERITABILITY, backend=backend
    )
    try:
        said = 0.0
        for found in steps:
            if found.iteration == 0:
                say(f"equations ready after {time.perf_counter() - start:.1f} s")
                watch.reset()
            elif time.perf_counter() - said > 2:
                said = time.perf_counter()
                say(found.sentence)
    finally:
        if found is not None and found.iteration:
            total = time.perf_counter() - start
            say(found.sentence)
            watch.report(found.seconds, found.iteration)
            say(f"total {total:.1f} s, {found.seconds:.1f} s of it iterations")
            for who, chosen in (
                ("all", slice(None)),
                ("genotyped", slice(-genotypes.n_samples, None)),
            ):
                r = np.corrcoef(found.breeding_values[chosen], genetic[chosen])[0, 1]
                say(f"accuracy of {who}: {r:.3f}")
            say_memory(backend)


def main() -> None:
    """Run one of the four."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("single-step", "linear", "mixed", "mixed-logistic"))
    parser.add_argument(
        "--scale",
        type=float,
        default=1.0,
        help="of the number of animals or samples, and of variants",
    )
    parser.add_argument("--seconds", type=float, default=540, help="after which the run ends")
    parser.add_argument("--sire-share", type=float, default=0.01)
    parser.add_argument("--backend", choices=BACKENDS, default="auto")
    given = parser.parse_args()
    backend = resolve_backend(given.backend)
    say(describe_machine(), "|", describe_backend(backend))

    def end(*_: object) -> None:
        raise TimeoutError(f"ended after {given.seconds:.0f} s")

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, given.seconds)
    try:
        if given.what == "single-step":
            sizes = round(ANIMALS * given.scale), round(MARKERS * given.scale)
            predict(*sizes, backend, given.sire_share)
        else:
            sizes = round(SAMPLES * given.scale), round(VARIANTS * given.scale)
            scan(given.what, *sizes, backend)
    except TimeoutError as error:
        say(error)
        say_memory(backend)


if __name__ == "__main__":
    main()
