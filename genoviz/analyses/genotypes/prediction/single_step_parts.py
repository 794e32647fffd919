"""What single-step equations are made of: pedigree and genotypes, by their products."""

from __future__ import annotations

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import (
    GenotypedInverse,
    group_shares,
    relationship_inverse,
)
from genoviz.analyses.genotypes.prediction.preconditioners import variant_preconditioner
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.mixed_model import SingleStep
from genoviz.model.genotypes.pedigree import Pedigree


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
        training: Training | None,
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
