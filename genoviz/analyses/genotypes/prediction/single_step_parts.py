"""What both forms of single-step equations are made of: A^-1, and the inverse of A_gg."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import (
    inverse_of,
    mendelian_variances,
    relationship_inverse,
)
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
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


class SingleStepParts:
    """Matrices and weights of single-step equations.

    Parameters
    ----------
    genotypes, pedigree
        Samples are found among the animals by their IIDs.
    training
        Phenotypes of the animals.
    ratio
        Residual variance over the genetic one.
    weight
        Share of the genetic variance of genotyped animals that variants do not account for.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Attributes
    ----------
    genotyped
        int64, shape (n_genotyped,): the animal of each sample.
    inverse
        A^-1, a sparse matrix.
    genotyped_inverse
        A_gg^-1, by its products.
    markers, matrix
        The genotypes, and Z, the centred dosages of the genotyped animals.
    ridge
        s / (1 - w): what the inverse variances of effects add, in units of the genetic variance.
    """

    def __init__(
        self,
        genotypes: Genotypes,
        pedigree: Pedigree,
        training: Training,
        ratio: float,
        weight: float,
        backend: Backend,
    ) -> None:
        self.training = training
        self.ratio = ratio
        self.weight = weight
        self.genotyped = find_animals(pedigree, genotypes.samples.ids)
        self.markers = Markers(genotypes, backend)
        self.matrix = self.markers.matrix
        self.ridge = self.markers.scale / (1 - weight)
        self.inverse = relationship_inverse(pedigree).tocsr()
        self.genotyped_inverse = GenotypedInverse(pedigree, self.genotyped)
        self.n_animals = len(pedigree.ids)
        self.n_variants = genotypes.n_variants

    def diagonal(self, weight: float = 1.0) -> np.ndarray:
        """Return roughly the diagonal of the equations of the animals.

        ``weight`` is the share that is left of the variance of genotyped animals, given effects.
        """
        diagonal = self.inverse.diagonal()
        diagonal[self.genotyped] += (1 / weight - 1) * self.genotyped_inverse.diagonal
        return self.training.is_trained + self.ratio * diagonal


def find_animals(pedigree: Pedigree, ids: np.ndarray) -> np.ndarray:
    """Return the numbers of animals in the pedigree, int64.

    Raises
    ------
    ParameterError
        If one is not in it, or occurs twice among ``ids``.
    """
    numbers = {animal: number for number, animal in enumerate(pedigree.ids.tolist())}
    found = np.array([numbers.get(animal, -1) for animal in ids.tolist()], np.int64)
    absent = np.flatnonzero(found < 0)
    if len(absent):
        raise ParameterError(
            f"{len(absent):,} of {len(ids):,} genotyped samples are not in the pedigree, the first "
            f"is {ids[absent[0]]!s}; add them, with unknown parents if need be, or leave them out"
        )
    twice = np.flatnonzero(np.bincount(found, minlength=1) > 1)
    if len(twice):
        raise ParameterError(f"animal {pedigree.ids[twice[0]]!s} is genotyped more than once")
    return found
