"""Haplotypes of a simulated graph: mosaics of founders, and the steps of their paths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType

import numba
import numpy as np

from genoviz.analyses.simulation.contigs import N_REFERENCES, Contigs
from genoviz.analyses.simulation.sites import Sites
from genoviz.errors import ParameterError
from genoviz.generators import iter_slices
from genoviz.kernels.pangenome_simulation import SiteAlleles

MAX_BINS = 4096
MOSAIC_BYTES = 2**28
N_TRIAL_FOUNDERS = 8
DEFAULT_COPY_SPAN = 3
MAX_COPY_SPAN = 200
STEP_TOLERANCE = 0.05


@dataclass(frozen=True)
class Bins:
    """A graph in bins, the units that paths copy; ``first_sites`` is the kernel's ``bin_sites``."""

    kernel: ModuleType
    sites: Sites
    first_sites: np.ndarray

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.first_sites) - 1


@dataclass(frozen=True)
class Haplotypes:
    """Founders, their alleles and the paths that copy them, as in the kernel's contract."""

    bins: Bins
    mosaic: np.ndarray
    n_founders: int
    alleles: np.ndarray
    carriers: np.ndarray

    def count_founder_steps(self, copy_span: int) -> np.ndarray:
        """Return the steps of each founder in each bin; int64, shape (n_founders, n_bins)."""
        counts = np.empty((self.n_founders, self.bins.n_bins), np.int64)
        bins = self.bins
        bins.kernel.count_founder_steps(self._genotypes, bins.first_sites, copy_span, counts)
        return counts

    def count_path_steps(self, copy_span: int) -> np.ndarray:
        """Return the steps of each path; int64, shape (n_paths,)."""
        counts = np.empty(self.mosaic.shape[1], np.int64)
        founder_steps = self.count_founder_steps(copy_span)
        kinds = self.bins.sites.kinds
        self.bins.kernel.count_path_steps(self.mosaic, founder_steps, kinds, self.carriers, counts)
        return counts

    def iter_write_steps(
        self, copy_span: int, is_reverse: np.ndarray, path_offsets: np.ndarray, steps: np.ndarray
    ) -> Iterator[int]:
        """Fill in the handles of the paths (uint32, (n_steps,)); yield the number filled."""

        def run(first: int, stop: int) -> None:
            # References are much longer than most paths, so each path is its own chunk.
            carriers = self.carriers - np.int32(first)  # paths are numbered from 0 in each slice
            with numba.parallel_chunksize(1):
                self.bins.kernel.write_steps(
                    self._genotypes._replace(carriers=carriers),
                    self.bins.first_sites,
                    copy_span,
                    self.n_founders,
                    np.ascontiguousarray(self.mosaic[:, first:stop]),
                    is_reverse[first:stop],
                    path_offsets[first : stop + 1],
                    steps,
                )

        n_threads = numba.get_num_threads()
        n_paths = len(is_reverse)
        for stop, _ in iter_slices(run, n_paths, first_size=n_threads, multiple=n_threads):
            yield int(path_offsets[stop])

    @property
    def _genotypes(self) -> SiteAlleles:
        sites = self.bins.sites
        return SiteAlleles(sites.kinds, sites.nodes, sites.extents, self.alleles, self.carriers)


def cut_bins(kernel: ModuleType, sites: Sites, n_paths: int) -> Bins:
    """Return bins with equally many top-level sites, few enough for a mosaic of all paths."""
    n_top = len(sites.top)
    n_bins = min(MAX_BINS, n_top, max(1, MOSAIC_BYTES // max(n_paths, 1)))
    cuts = np.linspace(0, n_top, n_bins + 1).astype(np.int64)
    first_sites = np.append(sites.top, len(sites.kinds))[cuts]
    return Bins(kernel, sites, first_sites.astype(np.int64))


def paint_mosaic(
    bins: Bins, contigs: Contigs, n_founders: int, recombination: float, seed: np.uint64
) -> np.ndarray:
    """Return 1 + founder copied by each path in each bin, 0 for none; uint8, (n_bins, n_paths).

    Each reference copies a single founder, so that two founders are present everywhere.
    """
    n_paths = len(contigs.names)
    fixed_founders = np.full(n_paths, -1, np.int64)
    fixed_founders[:N_REFERENCES] = np.arange(n_paths)[:N_REFERENCES]
    mosaic = np.empty((bins.n_bins, n_paths), np.uint8)
    bins.kernel.paint_mosaic(
        contigs.first_bins,
        contigs.last_bins,
        fixed_founders,
        n_founders,
        recombination / bins.n_bins,
        seed,
        mosaic,
    )
    return mosaic


def draw_haplotypes(
    bins: Bins, mosaic: np.ndarray, n_founders: int, private_rate: float, seed: np.uint64
) -> Haplotypes:
    """Return founders with random alleles, each of which is on some path of the mosaic."""
    kinds = bins.sites.kinds
    alleles = np.empty(len(kinds), np.uint64)
    carriers = np.empty(len(kinds), np.int32)
    bins.kernel.draw_alleles(
        kinds, bins.first_sites, mosaic, n_founders, private_rate, seed, alleles, carriers
    )
    return Haplotypes(bins, mosaic, n_founders, alleles, carriers)


def count_whole_steps(bins: Bins, private_rate: float, seed: np.uint64) -> float:
    """Return the mean number of steps of a path through the whole graph, from a trial."""
    founders = np.arange(1, N_TRIAL_FOUNDERS + 1, dtype=np.uint8)
    mosaic = np.tile(founders, (bins.n_bins, 1))
    trial = draw_haplotypes(bins, mosaic, N_TRIAL_FOUNDERS, private_rate, seed)
    return trial.count_founder_steps(DEFAULT_COPY_SPAN).sum() / N_TRIAL_FOUNDERS


def choose_copy_span(haplotypes: Haplotypes, n_steps: int | None) -> tuple[int, np.ndarray]:
    """Return the copy span of duplications that matches ``n_steps``, and the steps of each path.

    Raises
    ------
    ParameterError
        If no copy span comes within 5 % of ``n_steps``.
    """
    low, high = DEFAULT_COPY_SPAN, MAX_COPY_SPAN
    counts = haplotypes.count_path_steps(low)
    if n_steps is None:
        return low, counts
    if counts.sum() < (1 - STEP_TOLERANCE / 5) * n_steps:
        while low < high:
            middle = (low + high) // 2
            if haplotypes.count_path_steps(middle).sum() < n_steps:
                low = middle + 1
            else:
                high = middle
        counts = haplotypes.count_path_steps(low)
    n_found = int(counts.sum())
    if abs(n_found - n_steps) > STEP_TOLERANCE * n_steps:
        raise ParameterError(
            f"n_steps is {n_steps:,}, but {len(counts):,} paths through this graph of "
            f"{haplotypes.bins.sites.n_nodes:,} nodes have "
            f"{'at most' if n_found < n_steps else 'at least'} {n_found:,} steps"
        )
    return low, counts
