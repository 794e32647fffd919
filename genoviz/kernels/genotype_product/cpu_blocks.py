"""Products in blocks of rows of sums: the inputs and outputs of the tables in ``cpu_tables.py``."""

import numba
import numpy as np

from genoviz.kernels.genotype_product.cpu_tables import ITEMS, TILE, add_products
from genoviz.kernels.genotype_product.cpu_vectors import LANES, LINE, TABLE_ROWS, TABLES, WIDE

BLOCK_BYTES = 1 << 20
BLOCK_ROWS = 4096


class BlockedProduct:
    """Sums of products of packed genotypes and the rows of a dense matrix, block by block.

    Parameters
    ----------
    packed, n_samples
        As in the contract.
    by_sample
        Whether sums are of samples (Z @ dense), or of variants (Z.T @ dense).
    dense
        float64 or float32, shape (m, k) or (n, k).
    """

    def __init__(self, packed, n_samples, by_sample, dense):
        self._packed, self._by_sample = read_only(packed), by_sample
        self._n_sums = n_samples if by_sample else len(packed)
        self._k, self._dtype = dense.shape[1], dense.dtype
        self._widths = _plane_widths(self._k, dense.itemsize)
        self._split(TILE if by_sample else LANES)
        self._rows = self._planes(dense)
        self._sums = self._make_sums()

    def _split(self, unit):
        """Choose the rows of a block, so that threads are balanced."""
        n_units, n_threads = -(-self._n_sums // unit), numba.get_num_threads()
        row_bytes = sum(self._widths) * self._dtype.itemsize
        max_units = max(min(BLOCK_ROWS, BLOCK_BYTES // row_bytes) // unit, 1)
        n_rounds = -(-n_units // (max_units * n_threads))
        self._n_rows = -(-n_units // (n_rounds * n_threads)) * unit
        self._n_blocks = -(-self._n_sums // self._n_rows)
        n_workers = min(n_threads, self._n_blocks)
        n_words = self._n_rows * (1 if self._by_sample else LANES)
        table_size = TABLES * TABLE_ROWS * (WIDE + WIDE // 2) // self._dtype.itemsize
        self._words = aligned_zeros((n_workers, 2, n_words), np.uint64)
        self._tables = aligned_zeros((n_workers, table_size), self._dtype)

    def add(self, kind, weights):
        """Return the products, shape (sums, k), of the states of genotypes.

        ``kind`` is one of ``cpu_tables``; ``weights`` has shape (rows of the dense matrix, 3).
        """
        return self._add(kind, weights, self._rows[:0], self._sums)

    def add_with_corrections(self, kind, weights, corrections):
        """Return the same, plus a row of ``corrections`` for each missing genotype."""
        return self._add(kind, weights, self._planes(corrections), self._sums)

    def add_and_sum_missing(self, kind, weights):
        """Return the same, and the sums of dense rows over missing genotypes."""
        missing_sums = self._make_sums()
        return self._add(kind, weights, self._rows, missing_sums), self._columns(missing_sums)

    def _add(self, kind, weights, corrections, missing_sums):
        self._sums[:] = 0
        add_products(
            self._packed,
            self._by_sample,
            kind,
            _padded(weights.astype(self._dtype)).ravel(),
            self._rows,
            corrections,
            self._words,
            self._tables,
            self._n_rows,
            self._sums,
            missing_sums,
        )
        return self._columns(self._sums)

    def _make_sums(self):
        return aligned_zeros((self._n_blocks, sum(self._widths) * self._n_rows), self._dtype)

    def _planes(self, dense):
        """Return the planes of a dense matrix."""
        rows = _padded(dense)
        planes, first = [], 0
        for width in self._widths:
            plane = np.zeros((len(rows), width), self._dtype)
            plane[:, : self._k - first] = rows[:, first : first + width]
            planes.append(plane.ravel())
            first += width
        return np.concatenate(planes)

    def _columns(self, sums):
        """Return the rows of sums in order, without padding."""
        out = np.empty((self._n_blocks * self._n_rows, self._k), self._dtype)
        for block, block_sums in enumerate(sums):
            rows = out[block * self._n_rows : (block + 1) * self._n_rows]
            first = 0
            for width in self._widths:
                place = first * self._n_rows
                plane = block_sums[place : place + width * self._n_rows]
                if self._by_sample:
                    plane = plane.reshape(4, 8, -1, width).transpose(2, 1, 0, 3)
                columns = rows[:, first : first + width]
                columns[:] = plane.reshape(-1, width)[:, : columns.shape[1]]
                first += width
        return out[: self._n_sums]


def read_only(packed):
    """Return a read-only view: then memory and memory-mapped files have one Numba type."""
    view = np.asarray(packed).view()
    view.flags.writeable = False
    return view


def _plane_widths(k, itemsize):
    """Return the columns of each plane; the last one is narrower if half the width suffices."""
    wide = WIDE // itemsize
    n_wide, rest = divmod(k, wide)
    if 2 * rest > wide:
        n_wide, rest = n_wide + 1, 0
    narrow = max(1 << max(rest - 1, 0).bit_length(), 8 // itemsize)
    return [wide] * n_wide + [narrow] * (rest > 0)


def _padded(rows):
    """Return rows padded with zeros to a multiple of ``ITEMS``."""
    padded = np.zeros((-(-len(rows) // ITEMS) * ITEMS, rows.shape[1]), rows.dtype)
    padded[: len(rows)] = rows
    return padded


def aligned_zeros(shape, dtype):
    """Return zeros that begin at a cache line."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    zeros = np.zeros(n_bytes + LINE, np.int8)
    skip = -zeros.ctypes.data % LINE
    return zeros[skip : skip + n_bytes].view(dtype).reshape(shape)
