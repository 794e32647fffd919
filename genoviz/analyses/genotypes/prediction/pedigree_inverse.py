"""Inbreeding, and inverses of pedigree relationships: sparse A^-1, and A_gg^-1 of single-step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.preconditioners import SparseInverse
from genoviz.backend import Backend, load_kernel
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree

if TYPE_CHECKING:
    from scipy.sparse import csc_array

MAX_INVERTED = 6_000
_LEAST_VARIANCE = 1e-4
_COLUMNS_AT_ONCE = 256


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

    Of few animals it is a dense matrix, from columns of A by the recursion of Colleau. Else, with
    A^-1 in blocks of genotyped (g) and other animals (n), it is the Schur complement
    A^gg - A^gn (A^nn)^-1 A^ng, where A^nn is a `SparseInverse`. Only the animals and their
    ancestors matter.

    Parameters
    ----------
    pedigree
        The animals and their parents.
    genotyped
        int64, shape (n_genotyped,): numbers of the genotyped animals, each once.
    max_inverted
        Of how many genotyped animals the dense matrix may be.
    options
        Of the `SparseInverse`.

    Attributes
    ----------
    diagonal
        float64, shape (n_genotyped,): of A^gg, an upper bound of that of the inverse.
    """

    def __init__(
        self,
        pedigree: Pedigree,
        genotyped: np.ndarray,
        max_inverted: int = MAX_INVERTED,
        **options: int,
    ) -> None:
        kept = _with_ancestors(pedigree, genotyped)
        numbers = np.full(len(pedigree) + 1, -1)
        numbers[kept] = np.arange(len(kept))
        parents = numbers[pedigree.sires[kept]], numbers[pedigree.dams[kept]]
        variances = mendelian_variances(pedigree)[kept]
        inverse = inverse_of(*parents, variances).tocsr()
        inner = numbers[genotyped]
        others = np.setdiff1d(np.arange(len(kept)), inner)
        rows = inverse[inner]
        self._among = rows[:, inner]
        self._across = rows[:, others]
        self._across_transposed = self._across.T.tocsr()
        self.diagonal = self._among.diagonal()
        self._dense = None
        # Lines that were selfed for long are nearly the same: A_gg is nearly singular then.
        if len(inner) <= max_inverted and variances.min() > _LEAST_VARIANCE:
            self._dense = _invert(_relationships_among(*parents, variances, inner))
            return
        self._others = SparseInverse(inverse[others][:, others], **options)

    def multiply(self, values: np.ndarray) -> np.ndarray:
        """Return A_gg^-1 @ values, of shape (n_genotyped,) or (n_genotyped, k)."""
        if self._dense is not None:
            return self._dense @ values
        others = self._others.multiply(self._across_transposed @ values)
        return self._among @ values - self._across @ others


def _relationships_among(
    sires: np.ndarray, dams: np.ndarray, variances: np.ndarray, animals: np.ndarray
) -> np.ndarray:
    """Return the pedigree relationships among some animals, dense."""
    among = np.empty((len(animals), len(animals)))
    relate = load_kernel("pedigree_inbreeding", "cpu").relate
    for start in range(0, len(animals), _COLUMNS_AT_ONCE):
        chosen = animals[start : start + _COLUMNS_AT_ONCE]
        columns = np.zeros((len(sires), len(chosen)))
        columns[chosen, np.arange(len(chosen))] = 1.0
        relate(sires, dams, variances, columns)
        among[:, start : start + len(chosen)] = columns[animals]
    return among


def _invert(matrix: np.ndarray) -> np.ndarray:
    """Return the inverse of a positive definite matrix, which is overwritten."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, _ = dpotrf(matrix.T, lower=1, overwrite_a=1)
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(inverse, -1)
    return np.tril(inverse) + lower.T


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
        return self.training.diagonal + self.ratio * diagonal


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
    twice = np.flatnonzero(np.bincount(found) > 1)
    if len(twice):
        raise ParameterError(f"animal {pedigree.ids[twice[0]]!s} is genotyped more than once")
    return found
