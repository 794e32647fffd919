"""The rare variants of a set, whose dosages are decoded in blocks of samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.backend import load_kernel
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

_BLOCK_VALUES = 1 << 17
_LOW_BITS = np.uint8(0b01_01_01_01)


@dataclass(frozen=True, eq=False)
class Group:
    """The rare variants of a set: indices, packed genotypes, minor allele frequencies, dosages.

    ``sign`` is 1 where A1 is the minor allele and -1 where A2 is. ``of_codes`` are the centred
    dosages of minor alleles of the 2-bit codes, ``squares`` the sums of their squares, ``counts``
    the numbers of minor alleles.
    """

    rows: np.ndarray
    packed: np.ndarray
    frequencies: np.ndarray
    sign: np.ndarray
    of_codes: np.ndarray
    squares: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls, genotypes: Genotypes, counts: np.ndarray, rows: np.ndarray, max_maf: float
    ) -> Group:
        """Return the variants among rows that vary and are rare enough."""
        frequencies = frequencies_of_counts(counts[rows])
        minor = np.minimum(frequencies, 1 - frequencies)
        called = np.delete(counts[rows], MISSING_CODE, 1)
        is_varied = called.max(1) < called.sum(1)
        kept = is_varied & (minor <= max_maf)
        sign = np.where(frequencies[kept] > 0.5, -1.0, 1.0)
        values = sign[:, None] * values_of_codes(frequencies[kept])
        n_minor = np.rint(2 * minor * called.sum(1))[kept]
        rows, squares = rows[kept], (counts[rows[kept]] * values**2).sum(1)
        return cls(rows, genotypes.packed[rows], minor[kept], sign, values, squares, n_minor)

    def weights(self, *, has_weights: bool) -> np.ndarray:
        """Return the weights of the variants: 25 (1 - f)^24, or ones."""
        return 25 * (1 - self.frequencies) ** 24 if has_weights else np.ones(len(self.packed))

    def find_carriers(
        self, n_samples: int, variants: np.ndarray | slice = slice(None)
    ) -> np.ndarray:
        """Return which samples have a minor allele at any of some variants."""
        bits = np.zeros(self.packed.shape[1], np.uint8)
        for row, sign in zip(self.packed[variants], self.sign[variants], strict=True):
            # Codes 00 and 10 have A1, codes 10 and 11 have A2.
            bits |= (~row if sign > 0 else row >> 1) & _LOW_BITS
        return np.unpackbits(bits, bitorder="little")[: 2 * n_samples : 2].astype(bool)

    def iter_tiles(
        self, n_samples: int, variants: np.ndarray | slice = slice(None)
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield blocks of samples, and their centred dosages of minor alleles (m, block)."""
        decode = load_kernel("genotype_decode", "cpu").decode
        packed, values = self.packed[variants], self.of_codes[variants]
        step = 4 * max(1, _BLOCK_VALUES // (4 * len(packed)))
        for first in range(0, n_samples, step):
            stop = min(first + step, n_samples)
            part = np.ascontiguousarray(packed[:, first // 4 : (stop + 3) // 4])
            yield slice(first, stop), decode(part, stop - first, values)
