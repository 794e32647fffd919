"""Rough inverses that make conjugate gradients on genotypes converge sooner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.matrix_parts import KERNEL
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes

Preconditioner = Literal["diagonal", "block", "none"]
Precondition = Callable[[np.ndarray], np.ndarray]

PRECONDITIONERS = ("diagonal", "block", "none")
BLOCK_SIZE = 64
MAX_SAMPLES = 4096
MAX_VARIANTS = 2048
_ROWS_AT_ONCE = 16 * BLOCK_SIZE


def check_preconditioner(name: str) -> None:
    """Refuse what is not the name of a preconditioner."""
    if name not in PRECONDITIONERS:
        needed = ", ".join(PRECONDITIONERS)
        raise ParameterError(f"preconditioner is {name!r}, needs one of {needed}")


def variant_preconditioner(
    name: Preconditioner,
    markers: Markers,
    samples: np.ndarray,
    ridge: float,
    *,
    scale: float = 1.0,
) -> Precondition:
    """Return a rough inverse of ``scale * Z'Z + ridge I``, variants by variants.

    Z has the rows of some samples (their numbers, int64). ``"diagonal"`` takes the diagonal of
    Z'Z, and ``"block"`` its blocks of 64 consecutive variants, as of at most 4,096 of the samples.
    """
    check_preconditioner(name)
    if name == "none":
        return _same
    genotypes, values = markers.genotypes, markers.matrix.values
    if name == "diagonal":
        squares = (markers.counts * values**2).sum(axis=1)
        diagonal = scale * len(samples) / genotypes.n_samples * squares + ridge
        return lambda residual: _divide(residual, diagonal)
    chosen = _spread(samples, MAX_SAMPLES)

    def read(rows: slice) -> np.ndarray:
        return read_values(genotypes, values, np.arange(genotypes.n_variants)[rows], chosen)

    return _invert_blocks(genotypes.n_variants, read, scale * len(samples) / len(chosen), ridge)


def sample_preconditioner(name: Preconditioner, markers: Markers, ridge: float) -> Precondition:
    """Return a rough inverse of ZZ' + ridge I, samples by samples.

    ``"diagonal"`` takes the diagonal of ZZ', and ``"block"`` its blocks of 64 consecutive samples,
    as of at most 2,048 variants.
    """
    check_preconditioner(name)
    if name == "none":
        return _same
    genotypes, values = markers.genotypes, markers.matrix.values
    if name == "diagonal":
        multiply = load_kernel(KERNEL, markers.backend).multiply
        ones = np.ones((genotypes.n_variants, 1))
        squares = multiply(genotypes.packed, genotypes.n_samples, values**2, ones)[:, 0]
        return lambda residual: _divide(residual, squares + ridge)
    variants = _spread(np.arange(genotypes.n_variants), MAX_VARIANTS)

    def read(rows: slice) -> np.ndarray:
        samples = np.arange(genotypes.n_samples)[rows]
        return read_values(genotypes, values, variants, samples).T

    scale = genotypes.n_variants / len(variants)
    return _invert_blocks(genotypes.n_samples, read, scale, ridge)


def read_values(
    genotypes: Genotypes, values: np.ndarray, variants: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Return entries of Z' at some variants and samples: float64, variants by samples."""
    quartets = genotypes.packed[np.ix_(variants, samples >> 2)]
    codes = quartets >> (2 * (samples & 3)).astype(np.uint8) & 3
    return np.take_along_axis(values[variants], codes.astype(np.int64), axis=1)


def _same(residual: np.ndarray) -> np.ndarray:
    return residual


def _divide(residual: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    return residual / diagonal.reshape(-1, *[1] * (residual.ndim - 1))


def _spread(numbers: np.ndarray, at_most: int) -> np.ndarray:
    """Return no more than some of the numbers, evenly spread."""
    chosen = np.linspace(0, len(numbers) - 1, min(len(numbers), at_most)).astype(np.int64)
    return numbers[chosen]


def _invert_blocks(
    n_rows: int, read: Callable[[slice], np.ndarray], scale: float, ridge: float
) -> Precondition:
    """Return the product with the inverses of the diagonal blocks of ``scale * W W' + ridge I``.

    ``read`` returns some rows of W.
    """
    inverses = []
    for first in range(0, n_rows, _ROWS_AT_ONCE):
        rows = read(slice(first, first + _ROWS_AT_ONCE))
        missing = -len(rows) % BLOCK_SIZE
        blocks = np.pad(rows, ((0, missing), (0, 0))).reshape(-1, BLOCK_SIZE, rows.shape[1])
        squares = scale * (blocks @ blocks.transpose(0, 2, 1))
        inverses.append(np.linalg.inv(squares + ridge * np.eye(BLOCK_SIZE)))
    inverse = np.concatenate(inverses)

    def precondition(residual: np.ndarray) -> np.ndarray:
        columns = residual.reshape(n_rows, -1)
        padded = np.pad(columns, ((0, len(inverse) * BLOCK_SIZE - n_rows), (0, 0)))
        product = inverse @ padded.reshape(len(inverse), BLOCK_SIZE, -1)
        return product.reshape(-1, columns.shape[1])[:n_rows].reshape(residual.shape)

    return precondition
