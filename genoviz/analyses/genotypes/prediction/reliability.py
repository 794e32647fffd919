"""Reliability of genomic predictions, by inversion of the equations or by random draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import Training, make_records
from genoviz.analyses.genotypes.prediction.conjugate_gradient import (
    GradientStep,
    iter_conjugate_gradient,
)
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.prediction.pedigree_inverse import PedigreeDraws, inbreeding
from genoviz.analyses.genotypes.prediction.preconditioners import (
    squared_lengths,
    variant_preconditioner,
)
from genoviz.analyses.genotypes.prediction.single_step import VariantEquations
from genoviz.analyses.genotypes.prediction.single_step_parts import SingleStepParts
from genoviz.analyses.genotypes.prediction.snp_blup import SnpEquations
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.analyses.genotypes.variances.estimate import (
    MAX_EXACT,
    TRACES,
    iter_relationships_of,
)
from genoviz.backend import Backend, to_host
from genoviz.errors import ParameterError, check_choice, check_minimum, n_words
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree

_COLUMNS_AT_ONCE = 25
_LEAST = 0.02


@dataclass(frozen=True, eq=False)
class ReliabilitySnapshot:
    """Reliabilities of breeding values after some draws.

    Attributes
    ----------
    reliabilities
        float64, shape (n_samples,), or (n_animals,) with a pedigree: 1 - PEV / (K_ii vg), the
        squared correlation of predicted and true breeding values. NaN while unknown, and for
        animals without genetic variance.
    standard_errors
        float64, same shape: Monte Carlo standard errors; 0 for exact values.
    n_draws
        Number of draws so far; 0 if the inverse was computed.
    fraction
        Share of the work done, 0 to 1.
    is_converged
        Whether the equations of all draws are solved.
    """

    reliabilities: np.ndarray
    standard_errors: np.ndarray
    n_draws: int
    fraction: float
    is_converged: bool = True

    @property
    def sentence(self) -> str:
        """Summary of the result in words."""
        if np.isnan(self.reliabilities).all():
            return "reliabilities are not known yet"
        mean = np.nanmean(self.reliabilities)
        if not self.n_draws:
            return f"mean reliability {mean:.4f}"
        maximum = np.nanmax(self.standard_errors)
        words = (
            f"mean reliability {mean:.4f}, each ± {maximum:.3f} or less by "
            f"{n_words(self.n_draws, 'draw')}"
        )
        return words if self.is_converged else f"{words}, whose equations have not converged"


def iter_reliability(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    pedigree: Pedigree | None = None,
    polygenic_weight: float = 0.2,
    covariates: np.ndarray | None = None,
    samples: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    repeatability: float | None = None,
    contigs: Contigs = "autosomes",
    heritability: float = 0.5,
    method: Literal["auto", "exact", "random"] = "auto",
    n_draws: int = 200,
    tolerance: float = 1e-8,
    max_iterations: int = 1000,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[ReliabilitySnapshot]:
    """Compute the reliability of breeding values, and yield intermediate results.

    The breeding values are those of `iter_snp_blup`, or with a pedigree those of
    `iter_single_step`. The result depends on which samples have records, weights and covariates,
    not on the values. With K = ZZ' / s or the single-step H, P = W'MW of a `Training` and
    l = ve / vg, the prediction error variance in units of vg is the diagonal of K (I + PK / l)^-1.
    Without that inverse, breeding values and residuals are drawn from the model and predicted. u^
    and u - u^ are independent, so the mean squares of both estimate the reliability; they are
    combined by their precision.

    Unknown parent groups are fixed effects, so the reliability is that of an animal's difference
    from its groups. Metafounders are random and part of the breeding values.

    Parameters
    ----------
    genotypes, phenotype, covariates, samples, weights, repeatability, contigs, heritability
        As in `iter_snp_blup`; with a pedigree as in `iter_single_step`, and ``samples`` are indices
        of its animals.
    pedigree, polygenic_weight
        As in `iter_single_step`; None for samples with genotypes only.
    method
        ``"exact"``: K is built and the equations are inverted, with memory n² and time n³ for n
        samples or animals. ``"random"``: draws. ``"auto"``: exact up to 4,000.
    n_draws
        Number of draws. The standard error of a reliability is at most 0.36 √(2 / n_draws).
    tolerance
        Squared relative residual at which to stop solving for a draw.
    max_iterations
        As in `iter_snp_blup`.
    seed
        Seed of the draws.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the data allow no prediction.

    References
    ----------
    Hickey, Veerkamp, Calus, Mulder and Thompson 2009, Estimation of prediction error variances via
    Monte Carlo sampling methods using different formulations of the prediction error variance,
    doi:10.1186/1297-9686-41-23
    """
    check_choice("method", method, TRACES)
    check_minimum("n_draws", n_draws, 2)
    if not 0 < polygenic_weight < 1:
        raise ParameterError(
            f"polygenic_weight is {polygenic_weight}, needs more than 0 and less than 1"
        )
    who = "samples" if pedigree is None else "animals"
    n = genotypes.n_samples if pedigree is None else len(pedigree)
    values, records, ratio = make_records(
        phenotype, n, animals=samples, weights=weights, heritability=heritability,
        repeatability=repeatability, what=who,
    )  # fmt: skip
    training = Training(values, covariates, who if samples is None else "records", records=records)
    genotypes = take_autosomes(genotypes, contigs)[0]
    if pedigree is None:
        model: _OfSamples | _OfPedigree = _OfSamples(Markers(genotypes, backend), training, ratio)
    else:
        parts = SingleStepParts(genotypes, pedigree, training, ratio, polygenic_weight, backend)
        model = _OfPedigree(parts, pedigree)
    if method == "exact" or (method == "auto" and n <= MAX_EXACT):
        yield from model.iter_exact()
        return
    sums = _Sums(model.find_variances())
    generator = np.random.default_rng(seed)
    is_converged, limits = True, {"tolerance": tolerance, "max_iterations": max_iterations}
    for first in range(0, n_draws, _COLUMNS_AT_ONCE):
        k = min(_COLUMNS_AT_ONCE, n_draws - first)
        # In units of the residual variance.
        drawn = model.draw(generator, k) / np.sqrt(ratio)
        of_records = training.project(drawn) + training.draw_residuals(generator, k)
        equations = model.equations
        for step in iter_conjugate_gradient(
            equations.multiply, model.gather(of_records), equations.precondition, **limits
        ):
            if not step.is_last:
                yield sums.read(first / n_draws, is_converged)
        is_converged &= step.is_converged
        sums.add(drawn, model.predict(step))
        yield sums.read((first + k) / n_draws, is_converged)


@in_one_go(iter_reliability)
def reliability(last: ReliabilitySnapshot) -> ReliabilitySnapshot:
    """Return the last snapshot of `iter_reliability`."""
    return last


class _OfSamples:
    """SNP-BLUP: draws of its effects, and the inverse of its equations."""

    def __init__(self, markers: Markers, training: Training, ratio: float) -> None:
        self._markers, self._training, self._ratio = markers, training, ratio
        ridge = ratio * markers.scale
        self.equations = SnpEquations(
            markers.matrix, training, ridge,
            variant_preconditioner(
                "diagonal", markers, np.flatnonzero(training.is_trained), ridge,
                scale=training.diagonal[training.is_trained].mean(),
            ),
        )  # fmt: skip

    def iter_exact(self) -> Iterator[ReliabilitySnapshot]:
        n = self._markers.genotypes.n_samples
        for matrix in _iter_kinship(self._markers):
            if matrix is None:
                yield _nothing_yet(n)
        variances = matrix / self._ratio
        left = np.eye(n) + self._training.project(variances)
        # K (I + PK)^-1 = (I + KP)^-1 K, and both have the same diagonal.
        errors = np.einsum("ij,ji->i", variances, np.linalg.solve(left, np.eye(n)))
        yield ReliabilitySnapshot(_share(errors, np.diag(variances)), np.zeros(n), 0, 1.0)

    def find_variances(self) -> np.ndarray:
        return squared_lengths(self._markers) / (self._ratio * self._markers.scale)

    def draw(self, generator: np.random.Generator, k: int) -> np.ndarray:
        effects = generator.standard_normal((self._markers.matrix.shape[1], k))
        return self._markers.matrix.multiply(effects / np.sqrt(self._markers.scale))

    def gather(self, of_records: np.ndarray) -> np.ndarray:
        return self._markers.matrix.multiply_transposed(of_records)

    def predict(self, step: GradientStep) -> np.ndarray:
        return self.equations.read(step)[1]


class _OfPedigree:
    """Single-step: draws for a pedigree given some genomic values, and the inverse of H."""

    def __init__(self, parts: SingleStepParts, pedigree: Pedigree) -> None:
        self._parts, self._pedigree = parts, pedigree
        self._draws = PedigreeDraws(pedigree)
        self.equations = VariantEquations(parts, "diagonal")
        self._n = len(pedigree)

    def iter_exact(self) -> Iterator[ReliabilitySnapshot]:
        parts, n = self._parts, self._n
        for matrix in _iter_kinship(parts.markers):
            if matrix is None:
                yield _nothing_yet(n)
        has_gamma = self._pedigree.gamma is not None
        n_rows = parts.n_rows if has_gamma else n
        inverse = parts.inverse[:n_rows, :n_rows].toarray()
        of_genotyped = parts.genotyped_inverse.multiply(np.eye(len(matrix)))
        genomic = (1 - parts.weight) * matrix + parts.weight * np.linalg.inv(of_genotyped)
        place = np.ix_(parts.genotyped, parts.genotyped)
        inverse[place] += np.linalg.inv(genomic) - of_genotyped
        said = parts.training.project(np.eye(n))
        if not has_gamma and len(self._pedigree.groups):
            # Project out the effects of groups, as those of covariates.
            known = said @ self._draws.shares
            inner = np.linalg.pinv(self._draws.shares.T @ known, rcond=1e-9, hermitian=True)
            said -= known @ inner @ known.T
        left = parts.ratio * inverse
        left[:n, :n] += said
        errors = parts.ratio * np.diag(np.linalg.inv(left))[:n]
        variances = np.diag(np.linalg.inv(inverse))[:n]
        yield ReliabilitySnapshot(_share(errors, variances), np.zeros(n), 0, 1.0)

    def find_variances(self) -> np.ndarray:
        """Return the variances of genotyped animals, NaN for those unknown without H."""
        parts, variances = self._parts, np.full(self._n, np.nan)
        of_variants = squared_lengths(parts.markers) / parts.markers.scale
        own = 1 + inbreeding(self._pedigree)[parts.genotyped]
        found = (1 - parts.weight) * of_variants + parts.weight * own
        variances[parts.genotyped] = found / parts.ratio
        return variances

    def draw(self, generator: np.random.Generator, k: int) -> np.ndarray:
        """Return draws with covariance H: draws from A, adjusted to the genotyped animals."""
        parts = self._parts
        values = self._draws.draw(generator, k)
        polygenic = self._draws.draw(generator, k)[parts.genotyped]
        effects = generator.standard_normal((parts.n_variants, k))
        genomic = parts.matrix.multiply(effects * np.sqrt((1 - parts.weight) / parts.markers.scale))
        genomic += np.sqrt(parts.weight) * polygenic
        moved = np.zeros_like(values)
        moved[parts.genotyped] = parts.genotyped_inverse.multiply(genomic - values[parts.genotyped])
        return values + self._draws.multiply(moved)

    def gather(self, of_records: np.ndarray) -> np.ndarray:
        n_others = self._parts.n_rows - self._n + self._parts.n_variants
        return self._parts.place(np.pad(of_records, ((0, n_others), (0, 0))))

    def predict(self, step: GradientStep) -> np.ndarray:
        """Return breeding values without the fixed group effects."""
        solution = to_host(step.solution)
        if self._pedigree.gamma is not None:
            return solution[: self._n]
        of_groups = solution[self._n : self._parts.n_rows]
        return solution[: self._n] - self._draws.shares @ of_groups


def _iter_kinship(markers: Markers) -> Iterator[np.ndarray | None]:
    return iter_relationships_of(markers, np.arange(markers.genotypes.n_samples))


def _nothing_yet(n: int) -> ReliabilitySnapshot:
    return ReliabilitySnapshot(np.full(n, np.nan), np.full(n, np.nan), 0, 0.0)


def _share(errors: np.ndarray, variances: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(variances > 0, 1 - errors / variances, np.nan)


class _Sums:
    """Sums of squares of predictions and of their errors over draws.

    Parameters
    ----------
    variances
        float64, shape (n,): variances of breeding values; NaN to estimate them from the draws.
    """

    def __init__(self, variances: np.ndarray) -> None:
        self._variances = variances
        self._of_errors, self._of_predicted = np.zeros((2, len(variances)))
        self._n = 0

    def add(self, drawn: np.ndarray, predicted: np.ndarray) -> None:
        """Add draws, one a column."""
        self._of_errors += ((drawn - predicted) ** 2).sum(axis=1)
        self._of_predicted += (predicted**2).sum(axis=1)
        self._n += drawn.shape[1]

    def read(self, fraction: float, is_converged: bool) -> ReliabilitySnapshot:
        """Return the reliabilities so far."""
        if not self._n:
            return replace(_nothing_yet(len(self._variances)), fraction=fraction)
        of_errors, of_predicted = self._of_errors / self._n, self._of_predicted / self._n
        is_known = ~np.isnan(self._variances)
        variances = np.where(is_known, self._variances, of_errors + of_predicted)
        by_errors = _share(of_errors, variances)
        by_predicted = 1 - _share(of_predicted, variances)
        rough = np.clip((by_errors + by_predicted) / 2, _LEAST, 1 - _LEAST)
        # Both mean squares have the same relative error, so the smaller one is more precise.
        precise, loose = (1 - rough) ** -2, rough**-2
        found = (precise * by_errors + loose * by_predicted) / (precise + loose)
        errors = np.sqrt(2 / self._n / (precise + loose))
        # From the ratio of the two, which vary independently.
        errors = np.where(is_known, errors, rough * (1 - rough) * 2 / np.sqrt(self._n))
        return ReliabilitySnapshot(np.clip(found, 0, 1), errors, self._n, fraction, is_converged)
