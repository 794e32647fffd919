"""What single-step equations are made of: pedigree and genotypes, by their products."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import (
    GenotypedInverse,
    group_shares,
    relationship_inverse,
)
from genoviz.analyses.genotypes.prediction.preconditioners import variant_preconditioner
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.mixed_model import SingleStep
from genoviz.model.genotypes.pedigree import Pedigree

LEAST_EIGENVALUE = 1e-9


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
        s / (1 - w): what the inverse variances of effects add, in units of the genetic variance.
    """

    def __init__(
        self,
        genotypes: Genotypes,
        pedigree: Pedigree,
        training: Training | None,
        ratio: float,
        weight: float,
        backend: Backend,
    ) -> None:
        self.training = training
        self.ratio = ratio
        self.weight = weight
        self.genotyped = find_animals(pedigree, genotypes.samples.ids)
        has_gamma = pedigree.gamma is not None
        self.markers = Markers(genotypes, backend, is_halved=has_gamma)
        self.matrix = self.markers.matrix
        self.ridge = self.markers.scale / (1 - weight)
        self.inverse = relationship_inverse(pedigree).tocsr()
        self.genotyped_inverse = GenotypedInverse(pedigree, self.genotyped)
        self.shares = group_shares(pedigree)[self.genotyped] * (not has_gamma)
        self.n_animals = len(pedigree.ids)
        self.n_rows = self.n_animals + len(pedigree.groups)
        self.n_variants = genotypes.n_variants
        self._is_shifted = has_free_level(pedigree)

    def diagonal(self, weight: float = 1.0) -> np.ndarray:
        """Return roughly the diagonal of the equations of animals and groups.

        ``weight`` is the share that is left of the variance of genotyped animals, given effects.
        """
        diagonal = self.inverse.diagonal()
        of_genotyped = (1 / weight - 1) * self.genotyped_inverse.diagonal
        diagonal[self.genotyped] += of_genotyped
        diagonal[self.n_animals :] += self.shares.T**2 @ of_genotyped
        diagonal *= self.ratio
        if self.training is not None:
            diagonal[: self.n_animals] += self.training.diagonal
        return diagonal

    def multiply(self, values: np.ndarray, effects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the inverse covariance of animals, groups and variants times their values.

        In units of the genetic variance; values are of shape (n_rows,) or (n_rows, k), and effects
        have as many columns. With the effects eliminated it is the inverse of H.
        """
        genotyped = self.take(values)
        polygenic = genotyped - self.matrix.multiply(effects)
        # One product for both, of as many columns as there are.
        both = np.stack([genotyped, polygenic], axis=-1)
        solved = self.genotyped_inverse.multiply(both.reshape(len(both), -1)).reshape(both.shape)
        of_values, of_polygenic = solved[..., 0], solved[..., 1] / self.weight
        animals = self.inverse @ values
        self.add(animals, of_polygenic - of_values)
        variants = self.ridge * effects
        variants -= self.matrix.multiply_transposed(np.ascontiguousarray(of_polygenic))
        return animals, variants

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


def estimate_gamma(
    genotypes: Genotypes,
    pedigree: Pedigree,
    *,
    contigs: Contigs = "autosomes",
    backend: Backend = "auto",
) -> np.ndarray:
    """Estimate the relationships of metafounders from the genotypes of their descendants.

    At each variant, the mean dosage m of each group's founders is estimated by generalised least
    squares, (Q'BQ)^-1 Q'B of the dosages with B = A_gg^-1. Gamma is twice the mean over variants of
    (m - 1)(m - 1)', 8 times the covariance of allele frequencies about 1/2. It does not depend on
    which allele is counted. What the errors of m add, in the mean (Q'BQ)^-1 (1 - gamma / 2), is
    taken off.

    Parameters
    ----------
    genotypes
        Of animals of the pedigree, found by their IIDs.
    pedigree
        Its groups are the metafounders; all unknown parents are of one if it has no groups.
    contigs, backend
        As in `iter_single_step`.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_groups, n_groups), for `Pedigree.with_gamma`.

    Raises
    ------
    ParameterError
        If genotypes cannot tell the groups apart, or are of too few animals.

    References
    ----------
    Garcia-Baccino et al. 2017, Metafounders are related to Fst fixation indices and reduce bias in
    single-step genomic evaluations, doi:10.1186/s12711-017-0309-2
    """
    if not len(pedigree.groups):
        pedigree = pedigree.with_gamma(1.0)
    pedigree = replace(pedigree, gamma=None)
    genotyped = find_animals(pedigree, genotypes.samples.ids)
    shares = group_shares(pedigree)[genotyped]
    weighted = GenotypedInverse(pedigree, genotyped).multiply(shares)
    left = shares.T @ weighted
    lost = find_lost(left)
    if len(lost):
        names = ", ".join(pedigree.groups[lost].tolist())
        raise ParameterError(
            f"genotypes cannot tell the groups of unknown parents apart: {names}; join them, or "
            "give gamma"
        )
    matrix = Markers(take_autosomes(genotypes, contigs)[0], backend, is_halved=True).matrix
    means = np.linalg.solve(left, matrix.multiply_transposed(weighted).T)
    gamma, errors = 2 * means @ means.T / matrix.shape[1], np.linalg.inv(left)
    own = (np.diag(gamma) - np.diag(errors)) / (1 - np.diag(errors) / 2)
    gamma -= errors * (1 - (own[:, None] + own) / 4)
    if np.linalg.eigvalsh(gamma)[0] <= 0:
        raise ParameterError(
            f"gamma cannot be estimated: {len(genotyped):,} genotyped animals are too few for "
            f"{len(gamma):,} groups; join some, or give gamma"
        )
    return gamma


def find_lost(left: np.ndarray) -> np.ndarray:
    """Return which effects equations cannot tell from others: int64, numbers of rows.

    ``left`` is their left side, symmetric and positive semidefinite.
    """
    sizes = np.sqrt(np.diag(left))
    is_there = sizes > 0
    scale = np.where(is_there, sizes, 1.0)
    values, vectors = np.linalg.eigh(left / scale[:, None] / scale)
    null = vectors[:, values < LEAST_EIGENVALUE * max(values[-1], 1.0)]
    return np.flatnonzero((null**2).sum(axis=1) > LEAST_EIGENVALUE)


class GenomicRows:
    """What random effects with a `SingleStep` add to the left side, which is not built."""

    def __init__(
        self,
        structure: SingleStep,
        inverse: np.ndarray,
        places: np.ndarray,
        start: int,
        backend: Backend,
    ) -> None:
        pedigree, weight = structure.pedigree, structure.polygenic_weight
        self._parts = SingleStepParts(structure.genotypes, pedigree, None, 1.0, weight, backend)
        if len(places) != self._parts.n_rows:
            raise ParameterError(
                f"an effect has {len(places):,} levels, and its pedigree {self._parts.n_rows:,} "
                "animals and groups"
            )
        self._inverse, self._places = inverse, places
        self._rough = np.linalg.pinv(inverse)
        self._width = places.shape[1]
        self.span = slice(start, start + self._parts.n_variants * self._width)
        self._precondition = variant_preconditioner(
            "diagonal",
            self._parts.markers,
            np.arange(len(self._parts.genotyped)),
            self._parts.ridge,
            scale=self._parts.genotyped_inverse.diagonal.mean() / weight,
        )

    def add(self, image: np.ndarray, direction: np.ndarray) -> None:
        """Add the product with solutions."""
        effects = direction[self.span].reshape(-1, self._width)
        animals, variants = self._parts.multiply(direction[self._places], effects)
        image[self._places] += animals @ self._inverse
        image[self.span] += (variants @ self._inverse).ravel()

    def add_blocks(self, blocks: np.ndarray) -> None:
        """Add roughly the blocks of traits of each level."""
        n_traits = blocks.shape[1]
        diagonal = self._parts.diagonal(self._parts.weight)
        for first in range(0, self._width, n_traits):
            own = slice(first, first + n_traits)
            rows = self._places[:, first] // n_traits
            blocks[rows] += diagonal[:, None, None] * self._inverse[own, own]

    def precondition(self, residual: np.ndarray) -> np.ndarray:
        """Return roughly the effects of variants for a right side."""
        return (self._precondition(residual.reshape(-1, self._width)) @ self._rough).ravel()

    def read(self, solution: np.ndarray) -> np.ndarray:
        """Return the effects of variants."""
        return solution[self.span].reshape(-1, self._width)
