"""Simulated traits: random causal variants with additive effects, plus noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes


@dataclass(frozen=True, eq=False)
class SimulatedTrait:
    """A simulated trait and its components.

    Attributes
    ----------
    phenotype
        float64, shape (n_samples,): breeding values plus noise, with total variance 1.
    breeding_values
        float64, shape (n_samples,), of mean 0.
    effects
        float64, shape (n_variants,): effect per copy of A1; 0 at variants that are not causal.
    causal
        int64, shape (n_causal,): the causal variants, ascending.
    heritability
        Genetic share of the variance.
    """

    phenotype: np.ndarray
    breeding_values: np.ndarray
    effects: np.ndarray
    causal: np.ndarray
    heritability: float


def simulate_trait(
    genotypes: Genotypes,
    *,
    heritability: float = 0.5,
    n_causal: int = 100,
    seed: int = 0,
    backend: Backend = "auto",
) -> SimulatedTrait:
    """Simulate a trait with normally distributed effects of random causal variants and noise.

    Parameters
    ----------
    genotypes
        Genotypes of the samples; missing ones are replaced by the mean.
    heritability
        Variance of the breeding values divided by that of the phenotype, 0 to 1; exact in this
        sample.
    n_causal
        Number of causal variants; fewer if fewer vary.
    seed
        Random seed.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the chosen variants are the same in all samples.
    """
    if not 0 <= heritability <= 1:
        raise ParameterError(f"heritability is {heritability}, needs a number from 0 to 1")
    if not 1 <= n_causal <= genotypes.n_variants:
        raise ParameterError(
            f"n_causal is {n_causal}, needs 1 to {genotypes.n_variants}, the number of variants"
        )
    rng = np.random.default_rng(seed)
    causal = np.sort(rng.choice(genotypes.n_variants, n_causal, replace=False))
    effects = np.zeros(genotypes.n_variants)
    effects[causal] = rng.standard_normal(n_causal)
    chosen = GenotypeMatrix(genotypes.take_variants(causal), backend=backend)
    values = chosen.multiply(effects[causal])
    values -= values.mean()
    if heritability > 0 and values.std() == 0:
        raise ParameterError(
            f"the {n_causal} causal variants are the same in all samples; choose more, or others "
            "by another seed"
        )
    scale = np.sqrt(heritability) / values.std() if heritability > 0 else 0.0
    noise = _exact_noise(rng, values, 1 - heritability)
    return SimulatedTrait(
        values * scale + noise, values * scale, effects * scale, causal, heritability
    )


def _exact_noise(rng: np.random.Generator, values: np.ndarray, variance: float) -> np.ndarray:
    """Return noise of exactly this variance, uncorrelated with ``values``."""
    noise = rng.standard_normal(len(values))
    noise -= noise.mean()
    if values.any():
        noise -= values * (values @ noise) / (values @ values)
    spread = noise.std()
    return noise * np.sqrt(variance) / spread if spread > 0 else noise
