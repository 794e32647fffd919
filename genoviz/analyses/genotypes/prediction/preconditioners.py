"""Inverses by their products.

Rough ones make conjugate gradients on genotypes converge sooner; that of a sparse matrix, as of a
pedigree, is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from genoviz.analyses.genotypes.matrix_parts import KERNEL, module_of
from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.backend import Backend, load_kernel, resolve_backend, to_device, to_host
from genoviz.errors import ParameterError, check_choice, n_words
from genoviz.generators import last_of
from genoviz.model.genotypes.genotypes import Genotypes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Preconditioner = Literal["diagonal", "block", "none"]
Precondition = Callable[[np.ndarray], np.ndarray]

PRECONDITIONERS = ("diagonal", "block", "none")
BLOCK_SIZE = 64
MAX_SAMPLES = 4096
MAX_VARIANTS = 2048
_ROWS_AT_ONCE = 16 * BLOCK_SIZE
MAX_DENSE, MAX_NEIGHBOURS = 12_000, 40
_ROUNDING = 1e-11
_INNER_TOLERANCE = 1e-28
_INNER_ITERATIONS = 2_000
_LARGEST_RESIDUAL = 1e-20
"""Of the squared relative ones: what is worse would be seen in the breeding values."""


def check_preconditioner(name: str) -> None:
    """Refuse what is not the name of a preconditioner."""
    check_choice("preconditioner", name, PRECONDITIONERS)


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
        on_device = to_device(diagonal, markers.backend)
        return lambda residual: _divide(
            residual, diagonal if module_of(residual) is np else on_device
        )
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
        squares = squared_lengths(markers)
        return lambda residual: _divide(residual, squares + ridge)
    variants = _spread(np.arange(genotypes.n_variants), MAX_VARIANTS)

    def read(rows: slice) -> np.ndarray:
        samples = np.arange(genotypes.n_samples)[rows]
        return read_values(genotypes, values, variants, samples).T

    scale = genotypes.n_variants / len(variants)
    return _invert_blocks(genotypes.n_samples, read, scale, ridge)


def inverse_within(
    multiply: Callable[[np.ndarray], np.ndarray], directions: np.ndarray
) -> np.ndarray:
    """Return F, so that FF' is the inverse of a left side within a few directions.

    Where equations say next to nothing of a direction, as of a value that is added to all animals,
    a diagonal takes it for well known, and conjugate gradients need many iterations for it alone;
    ``rough @ residual + F @ (F.T @ residual)`` is a better rough inverse. What the equations say
    nothing of at all is not in F.

    Parameters
    ----------
    multiply
        Returns the left side times a vector.
    directions
        float64, shape (n, k), no two of them alike.

    Returns
    -------
    numpy.ndarray
        float64, shape (n, k) or less.

    References
    ----------
    Vandenplas, Eding, Calus and Vuik 2018, Deflated preconditioned conjugate gradient method for
    solving single-step BLUP models efficiently, doi:10.1186/s12711-018-0429-3
    """
    if not directions.shape[1]:
        return directions
    left = directions.T @ np.column_stack([multiply(each) for each in directions.T])
    # What it would be without cancellation: with random signs there is next to none.
    signed = directions * np.random.default_rng(0).choice([-1.0, 1.0], directions.shape)
    sizes = [each @ multiply(each) for each in signed.T]
    scale = np.sqrt(np.maximum(sizes, np.finfo(np.float64).tiny))
    values, vectors = np.linalg.eigh(left / scale[:, None] / scale)
    is_told = values > _ROUNDING
    return directions @ (vectors[:, is_told] / scale[:, None] / np.sqrt(values[is_told]))


def squared_lengths(markers: Markers) -> np.ndarray:
    """Return the diagonal of ZZ': float64, shape (n_samples,)."""
    genotypes = markers.genotypes
    multiply = load_kernel(KERNEL, markers.backend).multiply
    ones = np.ones((genotypes.n_variants, 1))
    found = multiply(genotypes.packed, genotypes.n_samples, markers.matrix.values**2, ones)
    return to_host(found)[:, 0]


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
    """Return at most this many of the numbers, evenly spread."""
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

    def precondition(values: Any) -> Any:
        residual = to_host(values)
        columns = residual.reshape(n_rows, -1)
        padded = np.pad(columns, ((0, len(inverse) * BLOCK_SIZE - n_rows), (0, 0)))
        product = inverse @ padded.reshape(len(inverse), BLOCK_SIZE, -1)
        product = product.reshape(-1, columns.shape[1])[:n_rows].reshape(residual.shape)
        return module_of(values).asarray(product)

    return precondition


class SparseInverse:
    """Products with the inverse of a sparse, positive definite matrix, such as A^nn of a pedigree.

    Rows with few neighbours are eliminated first, those with the fewest before the others: most
    animals have few parents, mates and progeny. Their factor is so sparse that its inverse has few
    more entries, and products with that run in parallel. What is left, the core of sires and their
    mates, fills up. Its Schur complement is inverted as a dense matrix; a large one is solved by
    conjugate gradients to the last digit at each product.

    Parameters
    ----------
    matrix
        Sparse, float64, shape (n, n).
    max_dense, max_neighbours
        Maximum numbers of rows of a dense core, and of neighbours of a row that is eliminated.
    backend
        Where products are computed.

    References
    ----------
    Tinney and Walker 1967, Direct solutions of sparse network equations by optimally ordered
    triangular factorization, doi:10.1109/PROC.1967.6011
    """

    def __init__(
        self,
        matrix: csr_array,
        *,
        max_dense: int = MAX_DENSE,
        max_neighbours: int = MAX_NEIGHBOURS,
        backend: Backend = "cpu",
    ) -> None:
        first, core = _order_by_neighbours(matrix, max_neighbours)
        first, root = _inverse_root(matrix[first][:, first], first)
        across, left = (root @ matrix[first][:, core]).tocsr(), matrix[core][:, core]
        self._first, self._core = (to_device(rows, backend) for rows in (first, core))
        self._root, self._root_transposed, self._across, self._across_transposed = (
            sparse_to_device(each, backend) for each in (root, root.T, across, across.T)
        )
        if len(core) <= max_dense:
            inverse = to_device(invert((left - across.T.tocsr() @ across).toarray()), backend)
            self._solve_core: Precondition = lambda values: inverse @ values
        else:
            self._left = sparse_to_device(left, backend)
            self._diagonal = to_device(left.diagonal(), backend)
            self._solve_core = self._iterate

    def multiply(self, values: Any) -> Any:
        """Return the inverse times values, of shape (n,) or (n, k), on the device of the matrix."""
        solution = module_of(values).empty_like(values)
        first = self._root @ values[self._first]
        core = self._solve_core(values[self._core] - self._across_transposed @ first)
        solution[self._core] = core
        solution[self._first] = self._root_transposed @ (first - self._across @ core)
        return solution

    def _iterate(self, right_side: Any) -> Any:
        """Solve the equations of the core."""

        def multiply(values: Any) -> tuple[Any]:
            return (self._left @ values - self._across_transposed @ (self._across @ values),)

        last = last_of(
            iter_conjugate_gradient(
                multiply,
                right_side,
                lambda residual: _divide(residual, self._diagonal),
                tolerance=_INNER_TOLERANCE,
                max_iterations=_INNER_ITERATIONS,
            )
        )
        if not last.residuals[-1].max(initial=0.0) <= _LARGEST_RESIDUAL:
            who, steps = n_words(len(right_side), "ancestor"), n_words(last.iteration, "iteration")
            raise ParameterError(
                f"the relationships of {who} without genotypes are not solved after {steps}; needs "
                "a pedigree of fewer generations"
            )
        return last.solution


def sparse_to_device(matrix: Any, backend: Backend) -> Any:
    """Return a sparse matrix by its rows, in the memory of a backend."""
    if resolve_backend(backend) == "cpu":
        return matrix.tocsr()
    from cupyx.scipy.sparse import csr_matrix

    rows = matrix.tocsr()
    parts = rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return csr_matrix(tuple(to_device(part, backend) for part in parts), shape=rows.shape)


def invert(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix; overwrites the matrix."""
    if not len(matrix):
        return matrix
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, _ = dpotrf(matrix.T, lower=1, overwrite_a=1)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(inverse, -1)
    return np.tril(inverse) + lower.T


def _inverse_root(matrix: csr_array, rows: np.ndarray) -> tuple[np.ndarray, csr_array]:
    """Return the rows of a matrix as eliminated, and the sparse W with W'W its inverse."""
    from scipy.sparse import csr_array, diags_array, eye_array
    from scipy.sparse.linalg import splu

    if not len(rows):
        return rows, csr_array((0, 0))
    # The rows are in an order of elimination, and the matrix is positive definite.
    options = {"SymmetricMode": True}
    factor = splu(matrix.tocsc(), "NATURAL", diag_pivot_thresh=0.0, options=options)
    one = eye_array(len(rows), format="csr")
    # The inverse of I - N is I + N + N^2 + ..., and N is strictly triangular.
    power = (one - factor.L).tocsr()
    power.eliminate_zeros()
    inverse = (one + power).tocsr()
    while power.nnz:
        power = (power @ power).tocsr()
        inverse = (inverse + power @ inverse).tocsr()
    root = diags_array(1 / np.sqrt(factor.U.diagonal())) @ inverse
    return rows[np.argsort(factor.perm_c)], root.tocsr()


def _order_by_neighbours(matrix: csr_array, maximum: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows in an order of elimination, and those that get too many neighbours by it."""
    starts, columns = matrix.indptr.tolist(), matrix.indices.tolist()
    near = [set(columns[a:b]) - {row} for row, (a, b) in enumerate(pairwise(starts))]
    queue = [(len(rows), row) for row, rows in enumerate(near)]
    heapify(queue)
    order: list[int] = []
    is_left = np.ones(len(near), bool)
    while queue:
        n, row = heappop(queue)
        if not is_left[row] or n != len(near[row]):  # it stands in the queue with its new number
            continue
        if n > maximum:
            break
        order.append(row)
        is_left[row] = False
        for neighbour in near[row]:
            others = near[neighbour]
            others |= near[row]
            others -= {row, neighbour}
            heappush(queue, (len(others), neighbour))
        near[row] = set()
    return np.array(order, np.int64), np.flatnonzero(is_left)
