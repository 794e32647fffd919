"""Inbreeding, and inverses of pedigree relationships: sparse A^-1, and A_gg^-1 of single-step."""

from __future__ import annotations

from itertools import pairwise
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

    Of a pedigree with groups of unknown parents it is A*, with a row for each group after those of
    the animals; t has -1/2 for the group of an unknown parent. In equations with A* the solutions
    of animals are their whole breeding values, those of their groups included.

    Returns
    -------
    scipy.sparse.csc_array
        float64, shape (n_animals + n_groups, n_animals + n_groups), symmetric.

    References
    ----------
    Henderson 1976, A simple method for computing the inverse of a numerator relationship matrix
    used in prediction of breeding values, doi:10.2307/2529339
    Quaas 1976, Computing the diagonal elements and inverse of a large numerator relationship
    matrix, doi:10.2307/2529279
    Quaas 1988, Additive genetic model with groups and relationships,
    doi:10.3168/jds.S0022-0302(88)79691-5
    """
    variances = mendelian_variances(pedigree)
    return inverse_of(pedigree.sires, pedigree.dams, variances, len(pedigree.groups))


def mendelian_variances(pedigree: Pedigree) -> np.ndarray:
    """Return the variance of each animal's Mendelian sampling, in units of the genetic one.

    float64, shape (n_animals,): 1 for a founder, 1/2 for progeny of two parents, less where these
    are inbred.
    """
    # An unknown parent counts as one of coefficient -1, the last of the array.
    coefficients = np.append(inbreeding(pedigree), -1.0)
    sires, dams = np.maximum(pedigree.sires, -1), np.maximum(pedigree.dams, -1)
    return 0.5 - 0.25 * (coefficients[sires] + coefficients[dams])


def inverse_of(
    sires: np.ndarray, dams: np.ndarray, variances: np.ndarray, n_groups: int = 0
) -> csc_array:
    """Return A^-1 of animals with these parents (as a `Pedigree` has them), or A* with groups."""
    from scipy.sparse import csr_array, diags_array

    n = len(sires)
    animals = np.arange(n)
    parents = np.concatenate([sires, dams])
    has_column = (parents >= 0) | ((parents < -1) & (n_groups > 0))
    of_groups = np.where(parents >= 0, parents, n - 2 - parents)
    rows = np.concatenate([animals, np.tile(animals, 2)[has_column]])
    columns = np.concatenate([animals, of_groups[has_column]])
    shares = np.where(np.arange(len(rows)) < n, 1.0, -0.5)
    sampling = csr_array((shares, (rows, columns)), shape=(n, n + n_groups))
    return (sampling.T @ diags_array(1 / variances) @ sampling).tocsc()


def group_shares(pedigree: Pedigree) -> np.ndarray:
    """Return Q, what animals have of each group: float64, shape (n_animals, n_groups).

    An unknown parent counts half; a row of an animal all of whose unknown ancestors have groups
    has the sum 1.
    """
    n, n_groups = len(pedigree), len(pedigree.groups)
    shares = np.zeros((n + 1 + n_groups, n_groups))
    shares[n + 1 :] = np.eye(n_groups)
    # Row n is that of an unknown parent of no group; those of groups come after it.
    sires, dams = (
        np.where(parents >= 0, parents, n - 1 - parents)
        for parents in (pedigree.sires, pedigree.dams)
    )
    generations = load_kernel("pedigree_inbreeding", "cpu").count_generations(
        pedigree.sires, pedigree.dams
    )
    order = np.argsort(generations, kind="stable")
    ends = np.cumsum(np.bincount(generations))
    for first, last in pairwise([0, *ends.tolist()]):
        young = order[first:last]
        shares[young] = (shares[sires[young]] + shares[dams[young]]) / 2
    return shares[:n]


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
        # The last stands for a parent that is not known.
        numbers = np.full(len(pedigree) + 1, -1)
        numbers[kept] = np.arange(len(kept))
        parents = tuple(
            numbers[np.maximum(column[kept], -1)] for column in (pedigree.sires, pedigree.dams)
        )
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
    is_kept = np.zeros(len(pedigree), bool)
    young = np.unique(animals)
    while len(young):
        is_kept[young] = True
        parents = np.unique(np.concatenate([pedigree.sires[young], pedigree.dams[young]]))
        parents = parents[parents >= 0]
        young = parents[~is_kept[parents]]
    return np.flatnonzero(is_kept)


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
        A^-1, a sparse matrix; with groups of unknown parents A*, with these after the animals.
    genotyped_inverse
        A_gg^-1, by its products.
    shares
        float64, shape (n_genotyped, n_groups): Q, what genotyped animals have of each group.
    n_animals, n_rows
        How many animals there are, and animals and groups.
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
        self.shares = group_shares(pedigree)[self.genotyped]
        self.n_animals = len(pedigree.ids)
        self.n_rows = self.n_animals + len(pedigree.groups)
        self.n_variants = genotypes.n_variants
        self._is_shifted = len(pedigree.groups) > 0 and not _has_unknown(pedigree)

    def diagonal(self, weight: float = 1.0) -> np.ndarray:
        """Return roughly the diagonal of the equations of animals and groups.

        ``weight`` is the share that is left of the variance of genotyped animals, given effects.
        """
        diagonal = self.inverse.diagonal()
        of_genotyped = (1 / weight - 1) * self.genotyped_inverse.diagonal
        diagonal[self.genotyped] += of_genotyped
        diagonal[self.n_animals :] += self.shares.T**2 @ of_genotyped
        diagonal *= self.ratio
        diagonal[: self.n_animals] += self.training.diagonal
        return diagonal

    def take(self, values: np.ndarray) -> np.ndarray:
        """Return [-Q I] times values of groups and animals: genotyped ones without their groups."""
        return values[self.genotyped] - self.shares @ values[self.n_animals :]

    def add(self, image: np.ndarray, values: np.ndarray) -> None:
        """Add [-Q I]' times values of genotyped animals to those of animals and groups."""
        image[self.genotyped] += values
        image[self.n_animals :] -= self.shares.T @ values

    def add_records(self, image: np.ndarray, values: np.ndarray) -> None:
        """Add what the records of animals say of values."""
        image[: self.n_animals] += self.training.project(values[: self.n_animals])

    def split(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a solution as breeding values and those of groups.

        If all unknown parents have groups, equations are solved by any value that is added to all,
        for which the intercept allows; it is taken so that groups have the mean 0.
        """
        if self._is_shifted:
            values = values - values[self.n_animals :].mean(axis=0)
        return values[: self.n_animals], values[self.n_animals :]


def _has_unknown(pedigree: Pedigree) -> bool:
    """Return whether some parents are not known, and of no group."""
    return bool((pedigree.sires == -1).any() or (pedigree.dams == -1).any())


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
