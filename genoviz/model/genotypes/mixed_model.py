"""A linear mixed model of one or several traits: observations, effects, and their covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree


@dataclass(frozen=True, eq=False)
class ModelEffect:
    """One effect, fixed unless random effects name it.

    Attributes
    ----------
    levels
        int64, shape (n_records, n_traits): the level of each record, -1 for none.
    n_levels
        How many there are.
    covariates
        float64, of the shape of ``levels``: what the solution of the level is multiplied by; 1 if
        None.
    is_part_of_next
        Whether its levels are those of the effect after it, as of several pen mates, whose effects
        add up.
    """

    levels: np.ndarray
    n_levels: int
    covariates: np.ndarray | None = None
    is_part_of_next: bool = False


@dataclass(frozen=True, eq=False)
class Descent:
    """Relationships whose inverse is T'DT: a row of T has 1 for an animal, and less for parents.

    Attributes
    ----------
    animals
        int64, shape (n,): the level of each.
    parents
        int64, shape (n, 2): levels, -1 for none.
    shares
        What each of both parents hands on, as (1/2, 1/2).
    precisions
        float64, shape (n,): D, one over the variance that an animal has beside its parents.
    """

    animals: np.ndarray
    parents: np.ndarray
    shares: tuple[float, float]
    precisions: np.ndarray


@dataclass(frozen=True, eq=False)
class MatrixElements:
    """A symmetric matrix of levels by levels; elements that are not named are 0.

    Attributes
    ----------
    rows, columns
        int64, shape (n,): each pair of levels once, in any order of the two.
    values
        float64, shape (n,).
    is_inverse
        Whether it is the inverse of the covariances, or these themselves.
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    is_inverse: bool


@dataclass(frozen=True, eq=False)
class SingleStep:
    """Relationships H of all animals of a pedigree, some of which are genotyped.

    Attributes
    ----------
    pedigree
        The levels are its animals, and after them its groups of unknown parents.
    genotypes
        Of samples that are found among the animals by their IIDs.
    polygenic_weight
        The share of the variance of genotyped animals that variants do not account for.
    form
        ``"ssSNPBLUP"`` or ``"ssGTABLUP"``, as in `iter_single_step`.
    """

    pedigree: Pedigree
    genotypes: Genotypes
    polygenic_weight: float = 0.2
    form: str = "ssSNPBLUP"

    def __post_init__(self) -> None:
        if not 0 < self.polygenic_weight < 1:
            raise ParameterError(
                f"polygenic_weight is {self.polygenic_weight}, needs more than 0 and less than 1"
            )


@dataclass(frozen=True, eq=False)
class PedigreeRelationships:
    """Relationships of a pedigree, without a matrix of them.

    Attributes
    ----------
    pedigree
        The levels are its animals, and after them its groups of unknown parents.
    has_inbreeding
        Whether parents that are inbred hand on less variance, as is so.
    group_ridge
        What is added to the diagonal of groups: 0 where their effects are fixed.
    """

    pedigree: Pedigree
    has_inbreeding: bool = True
    group_ridge: float = 0.0


@dataclass(frozen=True, eq=False)
class MarkerEffects:
    """Relationships ZZ' / s of samples, by the effects of their variants.

    Attributes
    ----------
    genotypes
        The levels are its samples, in their order; Z has centred dosages, s = 2 sum p(1 - p).
    """

    genotypes: Genotypes


Structure = Descent | MatrixElements | PedigreeRelationships | SingleStep | MarkerEffects | None
"""How levels are related; not at all if None."""


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """Effects that are random, and whose solutions for one level are correlated.

    Attributes
    ----------
    effects
        Their numbers, from 0.
    covariance
        float64, shape (m, m) with m = effects * traits: of the solutions for one level, traits
        within effects. A trait that has not the effect has zeros.
    structure
        How levels are related; not at all if None.
    """

    effects: tuple[int, ...]
    covariance: np.ndarray
    structure: Structure = None


@dataclass(frozen=True, eq=False)
class MixedModel:
    """Observations as sums of effects and residuals.

    Attributes
    ----------
    observations
        float64, shape (n_records, n_traits), NaN where there is none.
    effects
        All of them, in the order of their solutions.
    random
        Which of them are random.
    residual
        float64, shape (n_traits, n_traits): the covariance of residuals.
    weights
        float64, shape (n_records,): that is divided by them; 1 if None.

    Raises
    ------
    ParameterError
        If shapes do not fit each other, or observations are infinite.
    """

    observations: np.ndarray
    effects: tuple[ModelEffect, ...]
    random: tuple[RandomEffects, ...]
    residual: np.ndarray
    weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        n, n_traits = self.observations.shape
        if np.isinf(self.observations).any():
            raise ParameterError("observations are infinite; needs numbers, or NaN for none")
        if self.residual.shape != (n_traits, n_traits):
            raise ParameterError(
                f"residual has shape {self.residual.shape}, needs ({n_traits}, {n_traits})"
            )
        for number, effect in enumerate(self.effects, start=1):
            if effect.levels.shape != (n, n_traits):
                raise ParameterError(
                    f"levels of effect {number} have shape {effect.levels.shape}, "
                    f"need ({n}, {n_traits})"
                )
        for group in self.random:
            m = len(group.effects) * n_traits
            if group.covariance.shape != (m, m):
                raise ParameterError(
                    f"the covariance of effects {', '.join(str(e + 1) for e in group.effects)} has "
                    f"shape {group.covariance.shape}, needs ({m}, {m})"
                )

    def __repr__(self) -> str:
        n, n_traits = self.observations.shape
        return f"MixedModel({n:,} records of {n_traits} traits, {len(self.effects)} effects)"
