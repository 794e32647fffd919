"""Inbreeding, the sparse inverse A^-1 of pedigree relationships, and A_gg^-1 for single-step."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from genoviz.analyses.genotypes.prediction.preconditioners import (
    SparseInverse,
    invert,
    sparse_to_device,
)
from genoviz.backend import Backend, load_kernel, to_device, to_host
from genoviz.model.columns import distinct
from genoviz.model.genotypes.pedigree import Pedigree

if TYPE_CHECKING:
    from scipy.sparse import csc_array

MAX_INVERTED = 6_000
_LEAST_VARIANCE = 1e-4
_COLUMNS_AT_ONCE = 256

# One analysis asks for them several times, and they take a second for a million animals.
_inbreeding: WeakKeyDictionary[Pedigree, np.ndarray] = WeakKeyDictionary()


def inbreeding(pedigree: Pedigree) -> np.ndarray:
    """Return inbreeding coefficients: float64, shape (n_animals,); 0 for unknown parents.

    They are computed once for a pedigree; the array is read-only. With `Pedigree.gamma`, they are
    the diagonal of A^Gamma minus 1: half the relationship of the parents, metafounders included.

    References
    ----------
    Meuwissen and Luo 1992, Computing inbreeding coefficients in large populations,
    doi:10.1186/1297-9686-24-4-305
    Legarra, Christensen, Vitezica, Aguilar and Misztal 2015, Ancestral relationships using
    metafounders: finite ancestral populations and across population relationships,
    doi:10.1534/genetics.115.177014
    """
    if pedigree in _inbreeding:
        return _inbreeding[pedigree]
    coefficients, of_groups = np.zeros((2, len(pedigree)))
    if pedigree.gamma is not None:
        shares = group_shares(pedigree)
        of_groups = ((shares @ pedigree.gamma) * shares).sum(axis=1)
    kernel = load_kernel("pedigree_inbreeding", "cpu")
    kernel.inbreeding(pedigree.sires, pedigree.dams, of_groups, _of_groups(pedigree), coefficients)
    coefficients.flags.writeable = False
    return _inbreeding.setdefault(pedigree, coefficients)


def _of_groups(pedigree: Pedigree) -> np.ndarray:
    """Return the coefficients of groups: -1 unless they are metafounders."""
    if pedigree.gamma is None:
        return np.full(len(pedigree.groups), -1.0)
    return np.diag(pedigree.gamma) - 1.0


def relationship_inverse(pedigree: Pedigree, *, has_inbreeding: bool = True) -> csc_array:
    """Return A^-1 by Henderson's rules, taking inbred parents into account, or ignoring them.

    Each animal adds ``t t' / d``, where t has 1 for the animal and -1/2 for each parent, and d is
    the Mendelian sampling variance.

    With unknown parent groups the result is A*, with the rows of the groups after those of the
    animals; t has -1/2 for the group of an unknown parent. Solutions of equations with A* are total
    breeding values, group effects included.

    If the groups are metafounders (`Pedigree.gamma`), the result is the inverse of A^Gamma of
    animals and metafounders: Gamma^-1 is added to the rows of groups, and d is smaller because
    parents are related.

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
    Legarra et al. 2015, doi:10.1534/genetics.115.177014
    """
    if has_inbreeding:
        variances = mendelian_variances(pedigree)
    else:
        n_unknown = (pedigree.sires < 0).astype(np.int64) + (pedigree.dams < 0)
        variances = 0.5 + n_unknown / 4
    inverse = inverse_of(pedigree.sires, pedigree.dams, variances, len(pedigree.groups))
    return inverse if pedigree.gamma is None else _add_gamma(inverse, pedigree.gamma)


def _add_gamma(inverse: csc_array, gamma: np.ndarray) -> csc_array:
    """Return an inverse with Gamma^-1 added to its last rows, those of the groups."""
    from scipy.sparse import block_array, csc_array

    n = inverse.shape[0] - len(gamma)
    own = csc_array(np.linalg.inv(gamma))
    return (inverse + block_array([[csc_array((n, n)), None], [None, own]])).tocsc()


def mendelian_variances(pedigree: Pedigree) -> np.ndarray:
    """Return the Mendelian sampling variance of each animal, relative to the genetic variance.

    float64, shape (n_animals,): 1 for a founder, 1/2 for progeny of two known parents, less if
    these are inbred or metafounders.
    """
    # Negative numbers index from the end: groups in reverse, and the unknown parent last.
    coefficients = np.concatenate([inbreeding(pedigree), _of_groups(pedigree)[::-1], [-1.0]])
    return 0.5 - 0.25 * (coefficients[pedigree.sires] + coefficients[pedigree.dams])


def inverse_of(
    sires: np.ndarray, dams: np.ndarray, variances: np.ndarray, n_groups: int = 0
) -> csc_array:
    """Return A^-1 of animals with these parents (coded as in `Pedigree`), or A* with groups."""
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
    """Return Q, the group contributions to animals: float64, shape (n_animals, n_groups).

    An unknown parent contributes half. Rows sum to 1 for animals whose unknown ancestors all have
    groups.
    """
    n_groups = len(pedigree.groups)
    return hand_down(pedigree, np.zeros((len(pedigree), n_groups)), np.eye(n_groups))


def hand_down(pedigree: Pedigree, own: np.ndarray, of_groups: np.ndarray) -> np.ndarray:
    """Return values passed down the pedigree: the parent average plus each animal's own part.

    Parameters
    ----------
    pedigree
        The animals.
    own
        float64, shape (n_animals, k): deviations of animals from their parent average.
    of_groups
        float64, shape (n_groups, k): values of the groups; unknown parents without a group have 0.
    """
    n = len(pedigree)
    # Row n is the unknown parent without a group; groups follow it.
    values = np.concatenate([own, np.zeros((1, own.shape[1])), of_groups])
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
        values[young] += (values[sires[young]] + values[dams[young]]) / 2
    return values[:n]


class PedigreeDraws:
    """Random breeding values with pedigree covariance, and products with this covariance.

    The covariance is A, or A^Gamma with metafounders; no matrix is built.
    """

    def __init__(self, pedigree: Pedigree) -> None:
        self._pedigree = pedigree
        self._variances = mendelian_variances(pedigree)
        self._gamma = pedigree.gamma
        if pedigree.gamma is None:  # fixed effects
            self._gamma = np.zeros((len(pedigree.groups),) * 2)
            self._root = self._gamma
        else:
            self._root = np.linalg.cholesky(self._gamma)
        self.shares = group_shares(pedigree)

    def draw(self, generator: np.random.Generator, k: int) -> np.ndarray:
        """Return k draws in units of the genetic standard deviation: shape (n_animals, k)."""
        n, n_groups = self.shares.shape
        own = np.sqrt(self._variances)[:, None] * generator.standard_normal((n, k))
        of_groups = self._root @ generator.standard_normal((n_groups, k))
        return hand_down(self._pedigree, own, of_groups)

    def multiply(self, columns: np.ndarray) -> np.ndarray:
        """Return the relationship matrix times columns, shape (n_animals, k)."""
        product = columns.copy()
        relate = load_kernel("pedigree_inbreeding", "cpu").relate
        relate(self._pedigree.sires, self._pedigree.dams, self._variances, product)
        return product + self.shares @ (self._gamma @ (self.shares.T @ columns))


class GenotypedInverse:
    """Products with A_gg^-1, the inverse pedigree relationships among genotyped animals.

    With metafounders, A is A^Gamma, and metafounders count as ancestors.

    For few animals, A_gg is built from columns of A by Colleau's recursion and inverted densely.
    Otherwise, with A^-1 partitioned into genotyped (g) and other animals (n), the product uses the
    Schur complement A^gg - A^gn (A^nn)^-1 A^ng, with a `SparseInverse` of A^nn. Only the animals
    and their ancestors are used.

    Parameters
    ----------
    pedigree
        The animals and their parents.
    genotyped
        int64, shape (n_genotyped,): numbers of the genotyped animals, each once.
    max_inverted
        Maximum number of genotyped animals for the dense inverse.
    backend
        Where products are computed.
    options
        Options of the `SparseInverse`.

    Attributes
    ----------
    diagonal
        float64, shape (n_genotyped,): diagonal of A^gg, an upper bound of that of the inverse.
    """

    def __init__(
        self,
        pedigree: Pedigree,
        genotyped: np.ndarray,
        max_inverted: int = MAX_INVERTED,
        backend: Backend = "cpu",
        **options: int,
    ) -> None:
        kept = _with_ancestors(pedigree, genotyped)
        # The last entry stands for an unknown parent.
        numbers = np.full(len(pedigree) + 1, -1)
        numbers[kept] = np.arange(len(kept))
        parents = []
        for column in (pedigree.sires[kept], pedigree.dams[kept]):
            known = numbers[np.maximum(column, -1)]
            parents.append(np.where(column < -1, column, known))
        variances = mendelian_variances(pedigree)[kept]
        if pedigree.gamma is None:
            inverse = inverse_of(*parents, variances).tocsr()
        else:
            inverse = inverse_of(*parents, variances, len(pedigree.groups))
            inverse = _add_gamma(inverse, pedigree.gamma).tocsr()
        inner = numbers[genotyped]
        others = np.setdiff1d(np.arange(inverse.shape[0]), inner, assume_unique=True)
        rows = inverse[inner]
        among, across = rows[:, inner], rows[:, others]
        self._backend = backend
        self._among, self._across, self._across_transposed = (
            sparse_to_device(each, backend) for each in (among, across, across.T)
        )
        self.diagonal = among.diagonal()
        self._dense = None
        # Long-selfed lines are nearly identical, which makes A_gg nearly singular.
        if len(inner) <= max_inverted and variances.min() > _LEAST_VARIANCE:
            among = _relationships_among(*parents, variances, inner)
            if pedigree.gamma is not None:
                shares = group_shares(pedigree)[genotyped]
                among += shares @ pedigree.gamma @ shares.T
            self._dense = to_device(invert(among), backend)
            return
        self._others = SparseInverse(inverse[others][:, others], backend=backend, **options)

    def multiply(self, values: Any) -> Any:
        """Return A_gg^-1 @ values, of shape (n_genotyped,) or (n_genotyped, k).

        The product is where the values are, on the host or on the device.
        """
        columns = to_device(values, self._backend)
        if self._dense is not None:
            product = self._dense @ columns
        else:
            others = self._others.multiply(self._across_transposed @ columns)
            product = self._among @ columns - self._across @ others
        return to_host(product) if isinstance(values, np.ndarray) else product


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


def _with_ancestors(pedigree: Pedigree, animals: np.ndarray) -> np.ndarray:
    """Return the indices of animals and all their ancestors, ascending."""
    is_kept = np.zeros(len(pedigree), bool)
    young = distinct(animals)
    while len(young):
        is_kept[young] = True
        parents = distinct(np.concatenate([pedigree.sires[young], pedigree.dams[young]]))
        parents = parents[parents >= 0]
        young = parents[~is_kept[parents]]
    return np.flatnonzero(is_kept)
