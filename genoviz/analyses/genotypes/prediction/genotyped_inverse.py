"""Products with the inverse relationships among the genotyped animals of a pedigree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.analyses.genotypes.prediction.pedigree_inverse import inverse_of, mendelian_variances
from genoviz.errors import ParameterError
from genoviz.model.genotypes.pedigree import Pedigree

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_FACTORISED = 10_000
_INNER_TOLERANCE = 1e-28
_INNER_ITERATIONS = 2_000
_LARGEST_RESIDUAL = 1e-20
"""Of the squared relative ones: what is worse would be seen in the breeding values."""


class GenotypedInverse:
    """Products with the inverse of A_gg, the pedigree relationships among genotyped animals.

    With A^-1 in blocks of genotyped (g) and other animals (n) it is the Schur complement
    A^gg - A^gn (A^nn)^-1 A^ng. A^nn is sparse: it is factorised once, or, where it is large and so
    its factors would not be sparse, solved by conjugate gradients to the last digit at each
    product. Only the animals and their ancestors matter.

    Parameters
    ----------
    pedigree
        The animals and their parents.
    genotyped
        int64, shape (n_genotyped,): numbers of the genotyped animals, each once.
    max_factorised
        How many others there may be for A^nn to be factorised.

    Attributes
    ----------
    diagonal
        float64, shape (n_genotyped,): of A^gg, an upper bound of that of the inverse.
    """

    def __init__(
        self,
        pedigree: Pedigree,
        genotyped: np.ndarray,
        *,
        max_factorised: int = MAX_FACTORISED,
    ) -> None:
        kept = _with_ancestors(pedigree, genotyped)
        numbers = np.full(len(pedigree) + 1, -1)
        numbers[kept] = np.arange(len(kept))
        inverse = inverse_of(
            numbers[pedigree.sires[kept]],
            numbers[pedigree.dams[kept]],
            mendelian_variances(pedigree)[kept],
        ).tocsr()
        inner = numbers[genotyped]
        others = np.setdiff1d(np.arange(len(kept)), inner)
        rows = inverse[inner]
        self._among = rows[:, inner]
        self._across = rows[:, others]
        self._across_transposed = self._across.T.tocsr()
        self.diagonal = self._among.diagonal()
        make_solve = _factorise if len(others) <= max_factorised else _iterate
        self._solve = make_solve(inverse[others][:, others]) if len(others) else None

    def multiply(self, values: np.ndarray) -> np.ndarray:
        """Return A_gg^-1 @ values, of shape (n_genotyped,) or (n_genotyped, k)."""
        product = self._among @ values
        if self._solve is not None:
            product -= self._across @ self._solve(self._across_transposed @ values)
        return product


def _factorise(matrix: csr_array) -> Callable[[np.ndarray], np.ndarray]:
    from scipy.sparse.linalg import splu

    # The matrix is positive definite: no pivoting, and an ordering for symmetric patterns.
    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    ).solve


def _iterate(matrix: csr_array) -> Callable[[np.ndarray], np.ndarray]:
    diagonal = matrix.diagonal()

    def solve(right_side: np.ndarray) -> np.ndarray:
        *_, last = iter_conjugate_gradient(
            lambda values: (matrix @ values,),
            right_side,
            lambda residual: (residual.T / diagonal).T,
            tolerance=_INNER_TOLERANCE,
            max_iterations=_INNER_ITERATIONS,
        )
        if not last.residuals[-1].max(initial=0.0) <= _LARGEST_RESIDUAL:
            raise ParameterError(
                f"the relationships of {len(diagonal):,} ancestors without genotypes are not "
                f"solved after {last.iteration:,} iterations; needs a pedigree of fewer generations"
            )
        return last.solution

    return solve


def _with_ancestors(pedigree: Pedigree, animals: np.ndarray) -> np.ndarray:
    """Return the numbers of animals and of all their ancestors, in order."""
    is_kept = np.zeros(len(pedigree) + 1, bool)
    young = np.unique(animals)
    while len(young):
        is_kept[young] = True
        parents = np.unique(np.concatenate([pedigree.sires[young], pedigree.dams[young]]))
        young = parents[(parents >= 0) & ~is_kept[parents]]
    return np.flatnonzero(is_kept[:-1])
