"""Preconditioned conjugate gradients for matrices that are known by their products alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.backend import to_host
from genoviz.errors import ParameterError, check_minimum

Products = tuple[np.ndarray, ...]


@dataclass(frozen=True, eq=False)
class GradientStep:
    """An iterate of conjugate gradients.

    Attributes
    ----------
    iteration
        0 for the start, which is 0.
    solution
        float64, shape (n,) or (n, k).
    images
        What else the product gives of the solution, as it is linear: summed up on the way.
    residuals
        float64, shape (iteration + 1,) or (iteration + 1, k): squared norm of the residual over
        that of the right side, from the start on.
    is_converged
        Whether all columns are as exact as asked for; never where numbers became too large.
    is_last
        Whether no other follows.
    """

    iteration: int
    solution: np.ndarray
    images: Products
    residuals: np.ndarray
    is_converged: bool
    is_last: bool


def iter_conjugate_gradient(
    multiply: Callable[[Any], Products],
    right_side: Any,
    precondition: Callable[[Any], Any],
    *,
    tolerance: float | np.ndarray = 1e-13,
    max_iterations: int = 1000,
) -> Iterator[GradientStep]:
    """Solve A x = b for a symmetric positive definite A, and yield each iterate.

    Columns of ``right_side`` are solved side by side, so that a product serves them all; each
    stops on its own. No array of a step is changed later. Solutions and images are on the device of
    the right side; residuals are NumPy arrays.

    Parameters
    ----------
    multiply
        Returns A @ x, and after it any other linear images of x whose sums are wanted.
    right_side
        float64, shape (n,) or (n, k).
    precondition
        Returns an approximation of A^-1 @ r, symmetric and positive definite.
    tolerance
        Squared relative residual at which a column is solved: one for all, or shape (k,).
    max_iterations
        Where to end at the latest.

    Raises
    ------
    ParameterError
        If ``tolerance`` or ``max_iterations`` is out of range.

    References
    ----------
    Hestenes and Stiefel 1952, Methods of conjugate gradients for solving linear systems,
    doi:10.6028/jres.049.044
    """
    if not np.all(np.asarray(tolerance) > 0):
        raise ParameterError(f"tolerance is {tolerance}, needs more than 0")
    check_minimum("max_iterations", max_iterations, 1)
    solution = module_of(right_side).zeros_like(right_side)
    residual = right_side
    scale = _dot(right_side, right_side)
    # A right side of 0 has the solution 0.
    history = [np.where(scale > 0, 1.0, 0.0)]
    direction = precondition(residual)
    slope = _dot(residual, direction)
    images: Products | None = None
    iteration = 0
    while True:
        is_open = ~(history[-1] <= tolerance)
        is_converged = not is_open.any()
        is_finite = np.isfinite(history[-1]).all()
        is_last = is_converged or iteration == max_iterations or not is_finite
        yield GradientStep(
            iteration, solution, images or (), np.array(history), bool(is_converged), bool(is_last)
        )
        if is_last:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # the residual tells
            product, *others = multiply(direction)
            length = _ratio(slope, _dot(direction, product), is_open)
            length = module_of(direction).asarray(length)
            solution = solution + length * direction
            residual = residual - length * product
            images = _sum_up(images, others, length)
            prepared = precondition(residual)
            slope, old_slope = _dot(residual, prepared), slope
            share = module_of(direction).asarray(_ratio(slope, old_slope, is_open))
            direction = prepared + share * direction
            history.append(_ratio(_dot(residual, residual), scale, scale > 0))
        iteration += 1


def _dot(first: Any, second: Any) -> np.ndarray:
    """Return the inner product of each column, on the host: shape () or (k,)."""
    if isinstance(first, np.ndarray):
        return np.einsum("i...,i...->...", first, second)
    return to_host((first * second).sum(axis=0))


def _ratio(above: np.ndarray, below: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Return ``above / below``, and 0 for columns that are solved."""
    return np.divide(above, below, out=np.zeros_like(above), where=where & (below > 0))


def _sum_up(images: Products | None, others: list[np.ndarray], length: np.ndarray) -> Products:
    steps = [length * other for other in others]
    if images is None:
        return tuple(steps)
    return tuple(image + step for image, step in zip(images, steps, strict=True))
