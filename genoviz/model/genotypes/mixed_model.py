"""A linear mixed model for one or several traits: observations, effects and covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.errors import ParameterError, n_words
from genoviz.model.genotypes.genomic_rules import GenomicRules
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree
from genoviz.model.genotypes.traits import check_size


@dataclass(frozen=True, eq=False)
class ModelEffect:
    """An effect; fixed unless it is part of `RandomEffects`.

    Attributes
    ----------
    levels
        int64, shape (n_records, n_traits): the level of each record, -1 for none.
    n_levels
        Number of levels.
    covariates
        float64, shape of ``levels``: multiplier of the level's solution; 1 if None.
    is_part_of_next
        Whether it shares the levels of the next effect, as for several pen mates whose effects add
        up.
    """

    levels: np.ndarray
    n_levels: int
    covariates: np.ndarray | None = None
    is_part_of_next: bool = False


@dataclass(frozen=True, eq=False)
class Descent:
    """Relationships with inverse T'DT: a row of T has 1 for an animal, less for its parents.

    Attributes
    ----------
    animals
        int64, shape (n,): level of each animal.
    parents
        int64, shape (n, 2): levels, -1 for none.
    shares
        Contribution of each parent, such as (1/2, 1/2).
    precisions
        float64, shape (n,): D, the inverse Mendelian sampling variances.
    """

    animals: np.ndarray
    parents: np.ndarray
    shares: tuple[float, float]
    precisions: np.ndarray


@dataclass(frozen=True, eq=False)
class MatrixElements:
    """A symmetric matrix of levels by levels; unlisted elements are 0.

    Attributes
    ----------
    rows, columns
        int64, shape (n,): each pair of levels once, in either order.
    values
        float64, shape (n,).
    is_inverse
        Whether it is the inverse of the covariance matrix rather than the matrix itself.
    """

    rows: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    is_inverse: bool


@dataclass(frozen=True, eq=False)
class SingleStep:
    """Single-step relationships H of all animals of a pedigree, some of them genotyped.

    Their inverse is A^-1 + G^-1 - omega A_gg^-1 with G = g ZZ' / s + w A_gg + c 11' of genotyped
    animals, s = 2 sum p(1 - p).

    Attributes
    ----------
    pedigree
        The levels are its animals, followed by its unknown parent groups.
    genotypes
        Genotypes of samples, matched with animals by IID.
    polygenic_weight
        w: the share of the genetic variance that variants do not explain in genotyped animals, if g
        is 1 - w and c is 0.
    form
        ``"ssSNPBLUP"`` or ``"ssGTABLUP"``, as in `iter_single_step`.
    levels
        int64: the level of each animal and group; None if they are in the same order.
    has_inbreeding
        Whether A^-1 takes inbred parents into account, as is correct; A_gg always does.
    genomic_weight
        g; 1 - w if None.
    constant
        c.
    omega
        omega; H is the covariance of the animals only if it is 1.
    has_ancestry
        Whether A^-1 is part of the inverse.
    frequencies
        float64, shape (n_variants,): p, of A1; None for those of the genotypes.
    rules
        What is to be done with the genotypes first, by `prepare_single_step`, which sets the
        weights, c and p. None if it is done.
    """

    pedigree: Pedigree
    genotypes: Genotypes
    polygenic_weight: float = 0.2
    form: str = "ssSNPBLUP"
    levels: np.ndarray | None = None
    has_inbreeding: bool = True
    genomic_weight: float | None = None
    constant: float = 0.0
    omega: float = 1.0
    has_ancestry: bool = True
    frequencies: np.ndarray | None = None
    rules: GenomicRules | None = None

    def __post_init__(self) -> None:
        weight, genomic_weight = self.polygenic_weight, self.genomic_weight
        if genomic_weight is None and not 0 < weight < 1:
            raise ParameterError(f"polygenic_weight is {weight}, needs more than 0 and less than 1")
        if genomic_weight is not None and not (genomic_weight > 0 and weight > 0):
            raise ParameterError(
                f"weights of genomic and pedigree relationships are {genomic_weight} and {weight}, "
                "need more than 0"
            )


@dataclass(frozen=True, eq=False)
class PedigreeRelationships:
    """Relationships of a pedigree, without building their matrix.

    Attributes
    ----------
    pedigree
        The levels are its animals, followed by its unknown parent groups.
    has_inbreeding
        Whether the Mendelian sampling variance is reduced for inbred parents, as is correct.
    group_ridge
        Value added to the diagonal of groups: 0 if their effects are fixed.
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
"""Relationships between levels; None for independent levels."""


@dataclass(frozen=True, eq=False)
class RandomEffects:
    """Random effects with correlated solutions within a level.

    Attributes
    ----------
    effects
        Indices of the effects, from 0.
    covariance
        float64, shape (m, m) with m = effects * traits: covariance of the solutions for one level,
        traits within effects. A trait without the effect has zeros.
    structure
        Relationships between levels; None for independent levels.
    """

    effects: tuple[int, ...]
    covariance: np.ndarray
    structure: Structure = None


@dataclass(frozen=True, eq=False)
class MixedModel:
    """A model of observations as sums of effects and residuals.

    Attributes
    ----------
    observations
        float64, shape (n_records, n_traits), NaN if missing.
    effects
        All effects, in the order of their solutions.
    random
        The random effects among them.
    residual
        float64, shape (n_traits, n_traits): residual covariance.
    weights
        float64, shape (n_records,): divisors of the residual covariance; 1 if None.

    Raises
    ------
    ParameterError
        If shapes do not match, or observations are infinite or all missing.
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
        if np.isnan(self.observations).all():
            raise ParameterError("no record has an observation, needs at least one")
        for number, largest in enumerate(np.abs(np.nan_to_num(self.observations)).max(0), 1):
            if largest > 0:
                check_size(f"trait {number} is {largest:g} at most", largest)
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
        return (
            f"MixedModel({n_words(n, 'record')} of {n_words(n_traits, 'trait')}, "
            f"{n_words(len(self.effects), 'effect')})"
        )
