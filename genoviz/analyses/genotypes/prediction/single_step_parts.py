"""What single-step equations are made of: pedigree and genotypes, by their products."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from genoviz.analyses.genotypes.crossproducts import iter_crossproducts
from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import (
    GenotypedInverse,
    group_shares,
    relationship_inverse,
)
from genoviz.analyses.genotypes.prediction.preconditioners import read_values, sparse_to_device
from genoviz.backend import Backend, resolve_backend, to_device, to_host
from genoviz.errors import ParameterError, check_choice
from genoviz.generators import finish
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree

MAX_VARIANTS = 20_000
_COLUMNS_AT_ONCE = 64
_N_PROBES = 8
Form = Literal["ssSNPBLUP", "ssGTABLUP"]
FORMS = ("ssSNPBLUP", "ssGTABLUP")


def check_form(form: str) -> None:
    """Refuse what is not the name of a form of equations."""
    check_choice("form", form, FORMS)


class SingleStepParts:
    """Matrices and weights of single-step equations.

    Parameters
    ----------
    genotypes, pedigree
        Samples are found among the animals by their IIDs.
    training
        Phenotypes of the animals; None if what they say is known to others.
    ratio
        Residual variance over the genetic one.
    weight
        Share of the genetic variance of genotyped animals that variants do not account for.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    genomic_weight, constant, omega, has_ancestry, frequencies, has_inbreeding
        As of `SingleStep`.

    Attributes
    ----------
    genotyped
        int64, shape (n_genotyped,): the animal of each sample.
    inverse
        A^-1, a sparse matrix; with groups of unknown parents A*, with these after the animals;
        with metafounders the inverse of A^Gamma.
    genotyped_inverse
        A_gg^-1, by its products.
    shares
        float64, shape (n_genotyped, n_groups): Q, what genotyped animals have of each group; 0 with
        metafounders, which are random, and related to animals by A^Gamma.
    n_animals, n_rows
        How many animals there are, and animals and groups.
    markers, matrix
        The genotypes, and Z, the centred dosages of the genotyped animals.
    ridge
        s / g: what the inverse variances of effects add, in units of the genetic variance.
    """

    def __init__(
        self,
        genotypes: Genotypes,
        pedigree: Pedigree,
        training: Training | None,
        ratio: float,
        weight: float,
        backend: Backend,
        *,
        genomic_weight: float | None = None,
        constant: float = 0.0,
        omega: float = 1.0,
        has_ancestry: bool = True,
        frequencies: np.ndarray | None = None,
        has_inbreeding: bool = True,
    ) -> None:
        self.training = training
        self.ratio = ratio
        self.weight = weight
        self.genotyped = find_animals(pedigree, genotypes.samples.ids)
        has_gamma = pedigree.gamma is not None
        self.markers = Markers(genotypes, backend, is_halved=has_gamma, frequencies=frequencies)
        self.matrix = self.markers.matrix
        self.ridge = self.markers.scale / (1 - weight if genomic_weight is None else genomic_weight)
        self.inverse = relationship_inverse(pedigree, has_inbreeding=has_inbreeding).tocsr()
        if not has_ancestry:
            self.inverse = self.inverse * 0.0
        self.omega = omega
        self.genotyped_inverse = GenotypedInverse(pedigree, self.genotyped, backend=backend)
        self.shares = group_shares(pedigree)[self.genotyped] * (not has_gamma)
        self.n_animals = len(pedigree.ids)
        self.n_rows = self.n_animals + len(pedigree.groups)
        self.n_variants = genotypes.n_variants
        self._is_shifted = has_free_level(pedigree)
        self._backend = backend
        self._is_on_device = resolve_backend(backend) == "cuda"
        self._inverse_there = sparse_to_device(self.inverse, backend)
        self._genotyped_there = to_device(self.genotyped, backend)
        self._invert_constant(constant)
        self._shares_there = to_device(self.shares, backend)
        if training is not None:
            self._records = tuple(
                to_device(each, backend) for each in (training.diagonal, training.basis)
            )

    def diagonal(self, weight: float = 1.0) -> np.ndarray:
        """Return roughly the diagonal of the equations of animals and groups.

        ``weight`` is the share that is left of the variance of genotyped animals, given effects.
        """
        diagonal = self.inverse.diagonal()
        of_genotyped = (1 / weight - self.omega) * self.genotyped_inverse.diagonal
        diagonal[self.genotyped] += of_genotyped
        diagonal[self.n_animals :] += self.shares.T**2 @ of_genotyped
        diagonal[diagonal == 0] = 1.0  # of a group that nobody is of
        diagonal *= self.ratio
        if self.training is not None:
            diagonal[: self.n_animals] += self.training.diagonal
        return diagonal

    def multiply(self, values: Any, effects: Any) -> tuple[Any, Any]:
        """Return the inverse covariance of animals, groups and variants times their values.

        In units of the genetic variance; values are of shape (n_rows,) or (n_rows, k), and effects
        have as many columns. With the effects eliminated it is the inverse of H. The products are
        where the values are, on the host or on the device.
        """
        if isinstance(values, np.ndarray) and self._is_on_device:
            there = (to_device(each, self._backend) for each in (values, effects))
            animals, variants = self.multiply(*there)
            return to_host(animals), to_host(variants)
        genotyped = self.take(values)
        polygenic = genotyped - self.matrix.multiply(effects)
        # One product for both, of as many columns as there are.
        both = module_of(values).stack([genotyped, polygenic], axis=-1)
        solved = self.genotyped_inverse.multiply(both.reshape(len(both), -1)).reshape(both.shape)
        of_values, of_polygenic = solved[..., 0], self.polygenic(solved[..., 1])
        animals = self._inverse_there @ values
        self.add(animals, of_polygenic - self.omega * of_values)
        variants = self.ridge * effects
        variants -= self.matrix.multiply_transposed(of_polygenic)
        return animals, variants

    def _invert_constant(self, constant: float) -> None:
        """Prepare the inverse of w A_gg + c 11', which has a term of rank one for c."""
        self._of_ones, self._less = None, 0.0
        if not constant:
            return
        of_ones = self.genotyped_inverse.multiply(np.ones(len(self.genotyped)))
        left = 1 + constant / self.weight * of_ones.sum()
        if left <= 0:
            raise ParameterError(
                f"{constant:g} is added to relationships of genotyped animals, needs more than "
                f"{-self.weight / of_ones.sum():g} for a positive definite matrix"
            )
        self._of_ones = self.place(of_ones)
        self._less = constant / self.weight**2 / left

    def polygenic(self, solved: Any) -> Any:
        """Return the inverse of w A_gg + c 11' times values, given A_gg^-1 times these.

        It is B / w - c / w^2 B11'B / (1 + c / w 1'B1), with B = A_gg^-1 (Sherman-Morrison).
        """
        if self._of_ones is None:
            return solved / self.weight
        of_ones = self._of_ones
        if isinstance(solved, np.ndarray):
            of_ones = to_host(of_ones)
        column = of_ones.reshape(-1, *(1,) * (solved.ndim - 1))
        return solved / self.weight - column * (self._less * solved.sum(axis=0))

    def dense_inverse(self) -> np.ndarray:
        """Return the inverse of H, with groups after the animals: shape (n_rows, n_rows)."""
        own = self.genotyped_inverse.multiply(np.eye(len(self.genotyped)))
        polygenic = self.polygenic(own)
        steps = iter_crossproducts(
            self.markers.genotypes, self.matrix.values, dtype=np.float64, backend=self._backend
        )
        # G^-1 = (P^-1 + K)^-1 = (I + PK)^-1 P, with P that of pedigree and constant.
        both = polygenic @ (finish(steps) / self.ridge)
        both[np.diag_indices(len(both))] += 1.0
        middle = np.linalg.solve(both, polygenic) - self.omega * own
        half, inverse = np.zeros((self.n_rows, len(own))), self.inverse.toarray()
        self.add(half, middle)
        self.add(inverse, half.T)
        return (inverse + inverse.T) / 2

    def place(self, values: np.ndarray) -> Any:
        """Return values in the memory of the device."""
        return to_device(values, self._backend)

    def take(self, values: Any) -> Any:
        """Return [-Q I] times values of groups and animals: genotyped ones without their groups."""
        genotyped, shares = self._groups_of(values)
        if not shares.shape[1]:
            return values[genotyped]
        return values[genotyped] - shares @ values[self.n_animals :]

    def add(self, image: Any, values: Any) -> None:
        """Add [-Q I]' times values of genotyped animals to those of animals and groups."""
        genotyped, shares = self._groups_of(values)
        image[genotyped] += values
        if shares.shape[1]:
            image[self.n_animals :] -= shares.T @ values

    def _groups_of(self, values: Any) -> tuple[Any, Any]:
        """Return the genotyped animals and their shares of groups, where some values are."""
        if isinstance(values, np.ndarray):
            return self.genotyped, self.shares
        return self._genotyped_there, self._shares_there

    def add_records(self, image: Any, values: Any) -> None:
        """Add what the records of animals say of values, which are on the device."""
        weights, basis = self._records
        of_animals = values[: self.n_animals]
        image[: self.n_animals] += (weights * of_animals.T).T - basis @ (basis.T @ of_animals)

    def split(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a solution as breeding values and those of groups.

        If all unknown parents have groups, equations are solved by any value that is added to all,
        for which the intercept allows; it is taken so that groups have the mean 0.
        """
        if self._is_shifted:
            values = values - values[self.n_animals :].mean(axis=0)
        return values[: self.n_animals], values[self.n_animals :]


def has_free_level(pedigree: Pedigree) -> bool:
    """Return whether any value may be added to the fixed effects of all groups.

    It is so if all unknown parents have groups, as the intercept has what all have in common.
    """
    if not len(pedigree.groups) or pedigree.gamma is not None:
        return False
    return not ((pedigree.sires == -1) | (pedigree.dams == -1)).any()


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


def iter_factorise(parts: SingleStepParts) -> Iterator[EliminatedEffects | None]:
    """Factorise K = Z'PZ + ridge I, P = (w A_gg + c 11')^-1; yield None before each part of it.

    The last item has the factor.

    Raises
    ------
    ParameterError
        If there are more than 20,000 variants.
    """
    from scipy.linalg import cho_factor

    n = parts.n_variants
    if n > MAX_VARIANTS:
        raise ParameterError(
            f"form 'ssGTABLUP' factorises a matrix of {n:,} x {n:,} variants, can do at most "
            f"{MAX_VARIANTS:,}; form 'ssSNPBLUP' has the same solution and no such matrix"
        )
    matrix = np.empty((n, n))
    samples = np.arange(len(parts.genotyped))
    for first in range(0, n, _COLUMNS_AT_ONCE):
        yield None
        variants = np.arange(first, min(n, first + _COLUMNS_AT_ONCE))
        columns = read_values(parts.markers.genotypes, parts.matrix.values, variants, samples).T
        solved = parts.polygenic(parts.genotyped_inverse.multiply(columns))
        matrix[:, variants] = parts.matrix.multiply_transposed(solved)
    matrix[np.diag_indices(n)] += parts.ridge
    yield EliminatedEffects(parts, cho_factor(matrix, lower=True, overwrite_a=True))


class EliminatedEffects:
    """The inverse of H without effects of variants, by products.

    It is A^-1 + P - omega B - T'T with T = L^-1 Z'P, LL' = K (Woodbury), and in the rows of
    genotyped animals B = A_gg^-1 and P = (w A_gg + c 11')^-1, which is B / w for c = 0. The effects
    of variants are K^-1 Z'P u, which comes by the way.
    """

    def __init__(self, parts: SingleStepParts, factor: tuple[np.ndarray, bool]) -> None:
        self.parts = parts
        self._factor = factor

    def diagonal(self) -> np.ndarray:
        """Return roughly the diagonal of the equations, as `SingleStepParts.diagonal` does.

        What genotypes add to that of A^-1 is a multiple of that of B, known from random signs.
        """
        parts = self.parts
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (parts.n_rows, _N_PROBES))
        added = signs * (self.multiply(signs)[0] - parts.inverse @ signs)
        share = added[parts.genotyped].mean() / parts.genotyped_inverse.diagonal.mean()
        return parts.diagonal(1 / (1 + max(share, 0.0)))

    def multiply(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the inverse times values of animals and groups, and the effects of these.

        In units of the genetic variance; shape (n_rows,) or (n_rows, k).
        """
        from scipy.linalg import cho_solve

        parts = self.parts
        of_values = parts.genotyped_inverse.multiply(parts.take(values))
        of_polygenic = parts.polygenic(of_values)
        projected = parts.matrix.multiply_transposed(of_polygenic)
        effects = cho_solve(self._factor, projected, check_finite=False)
        genomic = parts.genotyped_inverse.multiply(parts.matrix.multiply(effects))
        animals = parts.inverse @ values
        genomic = parts.polygenic(genomic)
        parts.add(animals, of_polygenic - parts.omega * of_values - genomic)
        return animals, effects
