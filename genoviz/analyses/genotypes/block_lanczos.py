"""The largest eigenvalues of a symmetric matrix that is known by its products alone."""

from __future__ import annotations

import numpy as np

DEPENDENT = 1e-7
"""Columns this much shorter than the longest, or than the matrix makes them, are rounding."""


class BlockLanczos:
    """A basis that grows by the products of its newest columns, kept orthogonal in full.

    Multiply `newest` by the matrix, `add` the product, and again; all sums over rows are products
    of tall matrices.

    Parameters
    ----------
    n_rows
        Of the matrix, which has no negative eigenvalues.
    n_values
        How many eigenvalues are looked for.
    n_columns
        Of the random start.
    seed
        Of the random start.

    Attributes
    ----------
    newest
        float64, shape (n_rows, k): orthonormal; k is 0 where the matrix leads nowhere new.
    residuals
        float64: |A u - l u| / l of each eigenvalue found.

    References
    ----------
    Musco and Musco 2015, Randomized block Krylov methods for stronger and faster approximate
    singular value decomposition, arXiv:1504.05477.
    """

    def __init__(self, n_rows: int, n_values: int, n_columns: int, seed: int) -> None:
        start = np.random.default_rng(seed).standard_normal((n_rows, min(n_columns, n_rows)))
        self.newest = _orthonormal(_orthonormal(start, 0.0), 0.0)
        self.residuals = np.empty(0)
        self._n_values = n_values
        self._blocks: list[np.ndarray] = []
        self._inside = np.empty((0, 0))
        self._values, self._rotation = np.empty(0), np.empty((0, 0))

    def add(self, image: np.ndarray) -> None:
        """Take the product of the matrix with `newest` into account."""
        width = self.newest.shape[1]
        self._blocks.append(self.newest)
        across = np.vstack([block.T @ image for block in self._blocks])
        size = len(across)
        inside = np.zeros((size, size))
        inside[: size - width, : size - width] = self._inside
        inside[:, size - width :] = across
        inside[size - width :] = across.T
        inside[size - width :, size - width :] = (across[-width:] + across[-width:].T) / 2
        self._inside = inside
        values, rotation = np.linalg.eigh(inside)
        order = np.argsort(-values)[: self._n_values]
        order = order[values[order] > 1e-10 * max(values[-1], 0)]
        self._values, self._rotation = values[order], rotation[:, order]
        outside = self._outside(image)
        last = self._rotation[-width:]
        squares = np.einsum("ai,ab,bi->i", last, outside.T @ outside, last)
        self.residuals = np.sqrt(np.maximum(squares, 0)) / self._values
        smallest = DEPENDENT * max(values[-1], 0)
        newest = _orthonormal(self._outside(outside), smallest)
        newest = _orthonormal(self._outside(newest), 0.5)
        self.newest = newest[:, : len(image) - size]

    def _outside(self, columns: np.ndarray) -> np.ndarray:
        """Return what of columns is orthogonal to the basis."""
        left = columns.copy()
        for block in self._blocks:
            left -= block @ (block.T @ left)
        return left

    @property
    def eigenvalues(self) -> np.ndarray:
        """The largest eigenvalues above 0, descending."""
        return self._values

    def vectors(self) -> np.ndarray:
        """Return their eigenvectors, of which the largest entries are positive."""
        vectors = np.zeros((len(self.newest), len(self._values)))
        row = 0
        for block in self._blocks:
            vectors += block @ self._rotation[row : row + block.shape[1]]
            row += block.shape[1]
        largest = np.abs(vectors).argmax(0)
        return vectors * np.sign(vectors[largest, np.arange(vectors.shape[1])])


def _orthonormal(columns: np.ndarray, smallest: float) -> np.ndarray:
    """Return orthonormal columns that span those longer than the smallest.

    By their Gram matrix, which is fast and halves the digits: a second time makes up for it.
    """
    values, rotation = np.linalg.eigh(columns.T @ columns)
    largest = values.max(initial=0)
    is_long = values > max(smallest**2, DEPENDENT**2 * largest)
    return columns @ (rotation[:, is_long] / np.sqrt(values[is_long]))
