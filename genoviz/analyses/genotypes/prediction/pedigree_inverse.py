"""Inbreeding, and inverses of pedigree relationships: sparse A^-1, and A_gg^-1 of single-step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genoviz.backend import load_kernel
from genoviz.model.genotypes.pedigree import Pedigree

if TYPE_CHECKING:
    from scipy.sparse import csc_array
from collections.abc import Callable
from typing import TYPE_CHECKING

from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes

if TYPE_CHECKING:
    from scipy.sparse import csr_array

MAX_FACTORISED = 10_000
_INNER_TOLERANCE = 1e-28
_INNER_ITERATIONS = 2_000
_LARGEST_RESIDUAL = 1e-20
"""Of the squared relative ones: what is worse would be seen in the breeding values."""


def inbreeding(pedigree: Pedigree) -> np.ndarray:
    """Return inbreeding coefficients: float64, shape (n_animals,); 0 for unknown parents.

    References
    ----------
    Meuwissen and Luo 1992, Computing inbreeding coefficients in large populations,
    doi:10.1186/1297-9686-24-4-305
    """
    coefficients = np.zeros(len(pedigree))
    kernel = load_kernel("pedigree_inbreeding", "cpu")
    kernel.inbreeding(pedigree.sires, pedigree.dams, coefficients)
    return coefficients


def relationship_inverse(pedigree: Pedigree) -> csc_array:
    """Return A^-1 by Henderson's rules, inbreeding included.

    Each animal adds ``t t' / d``, with 1 for itself and -1/2 for each parent in t, and d the
    variance of what it does not have from its parents.

    Returns
    -------
    scipy.sparse.csc_array
        float64, shape (n_animals, n_animals), symmetric.

    References
    ----------
    Henderson 1976, A simple method for computing the inverse of a numerator relationship matrix
    used in prediction of breeding values, doi:10.2307/2529339
    Quaas 1976, Computing the diagonal elements and inverse of a large numerator relationship
    matrix, doi:10.2307/2529279
    """
    return inverse_of(pedigree.sires, pedigree.dams, mendelian_variances(pedigree))


def mendelian_variances(pedigree: Pedigree) -> np.ndarray:
    """Return the variance of each animal's Mendelian sampling, in units of the genetic one.

    float64, shape (n_animals,): 1 for a founder, 1/2 for progeny of two parents, less where these
    are inbred.
    """
    # An unknown parent counts as one of coefficient -1, the last of the array.
    coefficients = np.append(inbreeding(pedigree), -1.0)
    return 0.5 - 0.25 * (coefficients[pedigree.sires] + coefficients[pedigree.dams])


def inverse_of(sires: np.ndarray, dams: np.ndarray, variances: np.ndarray) -> csc_array:
    """Return A^-1 of animals with these parents (-1 for none) and Mendelian variances."""
    from scipy.sparse import csr_array, diags_array

    n = len(sires)
    animals = np.arange(n)
    has_sire, has_dam = sires >= 0, dams >= 0
    rows = np.concatenate([animals, animals[has_sire], animals[has_dam]])
    columns = np.concatenate([animals, sires[has_sire], dams[has_dam]])
    shares = np.where(np.arange(len(rows)) < n, 1.0, -0.5)
    sampling = csr_array((shares, (rows, columns)), shape=(n, n))
    return (sampling.T @ diags_array(1 / variances) @ sampling).tocsc()


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
