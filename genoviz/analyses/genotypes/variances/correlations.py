"""Genetic and residual covariances of several traits, by restricted maximum likelihood.

With K the relationships, the observed values of all traits have the covariance V. Its block of
traits t and u is g_tu K + r_tu I. `reml` describes the average information algorithm; its
components here are the pairs of traits.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np

from genoviz.analyses.genotypes.covariates import check_unexplained, deviations, note_few_samples
from genoviz.analyses.genotypes.prediction.blup_training import Training
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.analyses.genotypes.variances.correlation_results import (
    CorrelationSnapshot,
    PairState,
    make_snapshot,
    nothing_yet,
    trait_pairs,
    trait_scales,
)
from genoviz.analyses.genotypes.variances.covariances import DiagonalCovariance, check_distinct
from genoviz.analyses.genotypes.variances.estimate import iter_relationships_of
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_minimum, n_words
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes

MAX_VALUES = 10_000
"""Maximum number of values of all traits together if some samples lack some traits."""
MAX_TRAITS = 6
_START = 0.3


def iter_correlate(
    genotypes: Genotypes,
    phenotypes: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    contigs: Contigs = "autosomes",
    tolerance: float = 1e-5,
    max_iterations: int = 100,
    backend: Backend = "auto",
) -> Iterator[CorrelationSnapshot]:
    """Estimate genetic and residual covariances of several traits, and yield each iterate.

    The model of each trait is that of `iter_reml`, with the same fixed effects; u and e of
    different traits are correlated within a sample. If all samples have all traits, the
    relationships are decomposed once; otherwise V is inverted at each iteration.

    Parameters
    ----------
    genotypes
        Genotypes of all samples; missing ones are replaced by the mean.
    phenotypes
        float64, shape (n_samples, n_traits): 1 to 6 traits, NaN for none.
    covariates
        float64, shape (n_samples,) or (n_samples, c): X after the intercept; samples with NaN are
        left out.
    covariate_names
        Names for notes.
    contigs
        As in `iter_snp_blup`.
    tolerance
        Stop when no covariance changes by more, in units of the traits' variances.
    max_iterations
        Maximum number of iterations.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If an argument is out of range, the data allow no estimate, or there are more than 10,000
        values and some samples lack some traits.

    References
    ----------
    Lee et al. 2012, Estimation of pleiotropy between complex diseases using SNP-derived genomic
    relationships and restricted maximum likelihood, doi:10.1093/bioinformatics/bts474
    Zhou and Stephens 2014, Efficient multivariate linear mixed model algorithms for genome-wide
    association studies, doi:10.1038/nmeth.2848 (one decomposition for all traits)
    """
    values, training = _train(phenotypes, genotypes.n_samples, covariates, covariate_names)
    genotypes, _ = take_autosomes(genotypes, contigs)
    samples = np.flatnonzero(training.is_trained)
    for relationships in iter_relationships_of(Markers(genotypes, backend), samples):
        if relationships is None:
            yield nothing_yet(values, training.notes)
    yield from _iter_fit(relationships, values, training, tolerance, max_iterations)


@in_one_go(iter_correlate)
def correlate(last: CorrelationSnapshot) -> CorrelationSnapshot:
    """Return the last snapshot of `iter_correlate`."""
    return last


def iter_correlate_of_relationships(
    relationships: np.ndarray,
    phenotypes: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    tolerance: float = 1e-5,
    max_iterations: int = 100,
) -> Iterator[CorrelationSnapshot]:
    """Estimate covariances as `iter_correlate`, with given relationships.

    Parameters
    ----------
    relationships
        float64, shape (n_samples, n_samples), symmetric.
    phenotypes, covariates, covariate_names, tolerance, max_iterations
        As in `iter_correlate`.

    Raises
    ------
    ParameterError
        As in `iter_correlate`, and if relationships are not finite numbers.
    """
    n = len(relationships)
    if relationships.shape != (n, n):
        raise ParameterError(f"relationships have shape {relationships.shape}, need ({n}, {n})")
    values, training = _train(phenotypes, n, covariates, covariate_names)
    samples = np.flatnonzero(training.is_trained)
    chosen = relationships[np.ix_(samples, samples)]
    if not np.isfinite(chosen).all():
        raise ParameterError("relationships have values that are not numbers; leave such out")
    yield from _iter_fit(chosen, values, training, tolerance, max_iterations)


@in_one_go(iter_correlate_of_relationships)
def correlate_of_relationships(last: CorrelationSnapshot) -> CorrelationSnapshot:
    """Return the last snapshot of `iter_correlate_of_relationships`."""
    return last


def _train(
    phenotypes: np.ndarray,
    n: int,
    covariates: np.ndarray | None,
    names: Sequence[str] | None,
) -> tuple[np.ndarray, Training]:
    """Return the standardised values of samples with a value and all covariates, and these."""
    phenotypes = np.asarray(phenotypes, np.float64)
    if phenotypes.ndim != 2 or len(phenotypes) != n or not 1 <= phenotypes.shape[1] <= MAX_TRAITS:
        raise ParameterError(
            f"phenotypes have shape {phenotypes.shape}, need ({n}, 1 to {MAX_TRAITS} traits)"
        )
    has = ~np.isnan(phenotypes)
    # `Training` takes one trait and rejects a constant one; any numbers serve to choose samples.
    any_numbers = np.random.default_rng(0).normal(size=n)
    chosen = np.where(has.any(axis=1), any_numbers, np.nan)
    training = Training(chosen, covariates, covariate_names=names)
    values = phenotypes[training.is_trained]
    n_values = (~np.isnan(values)).sum(axis=0)
    few, minimum = int(n_values.argmin()), training.basis.shape[1] + 2
    if n_values[few] < minimum:
        raise ParameterError(
            f"trait {few + 1} has {n_words(n_values[few], 'value')}, needs {minimum:,}"
        )
    if np.isinf(values).any():
        raise ParameterError("phenotypes have values that are not finite")
    if (np.nanvar(values, axis=0) == 0).any():
        raise ParameterError("a trait has one value only, needs values that differ")
    for number, trait in enumerate(values.T, 1):
        own = ~np.isnan(trait)
        check_unexplained(trait[own], training.basis[training.is_trained][own], f"trait {number}")
    if np.isnan(values).any() and n_values.sum() > MAX_VALUES:
        raise ParameterError(
            f"there are {int(n_values.sum()):,} values, of which some samples have not all; can do "
            f"{MAX_VALUES:,}, or any number of samples that have all"
        )
    for trait, own in zip(values.T, ~np.isnan(values.T), strict=True):
        trait[own] = deviations(trait[own])
    return values, training


class _WholeLikelihood:
    """Likelihood if all samples have all traits: V has a block for each eigenvalue of M K M."""

    def __init__(self, relationships: np.ndarray, basis: np.ndarray, values: np.ndarray) -> None:
        rotation = DiagonalCovariance(relationships, basis)
        _check_pair(rotation.eigenvalues, np.ones(rotation.degrees), "all traits")
        self._eigenvalues = np.maximum(rotation.eigenvalues, 0.0)
        self._values = rotation.take(values)
        self._pairs = trait_pairs(values.shape[1])

    def at(self, genetic: np.ndarray, residual: np.ndarray) -> PairState:
        """Return the likelihood at positive definite covariances."""
        blocks = self._eigenvalues[:, None, None] * genetic + residual
        inverses = np.linalg.inv(blocks)
        weighted = np.einsum("itu,iu->it", inverses, self._values)
        ways, gradient = [], []
        for scale in (self._eigenvalues, np.ones(len(blocks))):
            for t, u in self._pairs:
                way = np.zeros_like(weighted)
                way[:, t] += scale * weighted[:, u]
                traces = inverses[:, t, u]
                if t != u:
                    way[:, u] += scale * weighted[:, t]
                    traces = 2 * traces
                ways.append(way)
                gradient.append(((way * weighted).sum() - (scale * traces).sum()) / 2)
        ways = np.array(ways)
        solved = np.einsum("itu,kiu->kit", inverses, ways)
        information = np.einsum("kit,lit->kl", ways, solved) / 2
        likelihood = np.linalg.slogdet(blocks)[1].sum() + (weighted * self._values).sum()
        return PairState(genetic, residual, np.array(gradient), information, -likelihood / 2)


class _PartLikelihood:
    """Likelihood if some samples lack some traits: V is dense."""

    def __init__(self, relationships: np.ndarray, basis: np.ndarray, values: np.ndarray) -> None:
        n_traits = values.shape[1]
        self._rows = [np.flatnonzero(~np.isnan(values[:, t])) for t in range(n_traits)]
        self._starts = np.cumsum([0, *(len(rows) for rows in self._rows)])
        self._relationships, self._pairs = relationships, trait_pairs(n_traits)
        self._values = np.concatenate([values[rows, t] for t, rows in enumerate(self._rows)])
        n_fixed = basis.shape[1]
        self._design = np.zeros((len(self._values), n_traits * n_fixed))
        for t, rows in enumerate(self._rows):
            self._design[self._place(t), t * n_fixed : (t + 1) * n_fixed] = basis[rows]
        fixed = [_span(basis[rows]) for rows in self._rows]
        for t, u in self._pairs:
            blocks = []
            for is_genetic in (True, False):
                block = self._block(is_genetic, t, u)
                block = block - fixed[t] @ (fixed[t].T @ block)
                blocks.append(block - (block @ fixed[u]) @ fixed[u].T)
            who = f"trait {t + 1}" if t == u else f"traits {t + 1} and {u + 1}"
            _check_pair(*blocks, who)

    def _place(self, trait: int) -> slice:
        return slice(self._starts[trait], self._starts[trait + 1])

    def _block(self, is_genetic: bool, t: int, u: int) -> np.ndarray:
        """Return K, or I, between the samples with trait t and those with trait u."""
        rows, columns = self._rows[t], self._rows[u]
        if is_genetic:
            return self._relationships[np.ix_(rows, columns)]
        return (rows[:, None] == columns).astype(np.float64)

    def at(self, genetic: np.ndarray, residual: np.ndarray) -> PairState:
        """Return the likelihood at positive definite covariances."""
        from scipy.linalg import cho_factor, cho_solve

        n = len(self._values)
        total = np.empty((n, n))
        for t, u in self._pairs:
            block = genetic[t, u] * self._block(True, t, u)
            block += residual[t, u] * self._block(False, t, u)
            total[self._place(t), self._place(u)] = block
            total[self._place(u), self._place(t)] = block.T
        factor = cho_factor(total, lower=True, overwrite_a=True, check_finite=False)
        likelihood = 2 * np.log(np.diag(factor[0])).sum()
        inverse = cho_solve(factor, np.eye(n), check_finite=False)
        of_design = inverse @ self._design
        # Collinear fixed effects of a trait count once.
        inner = self._design.T @ of_design
        eigenvalues, vectors = np.linalg.eigh(inner)
        kept = eigenvalues > 1e-10 * eigenvalues[-1]
        half = of_design @ vectors[:, kept] / np.sqrt(eigenvalues[kept])
        projection = inverse - half @ half.T
        likelihood += np.log(eigenvalues[kept]).sum()
        weighted = projection @ self._values
        ways, gradient = [], []
        for is_genetic in (True, False):
            for t, u in self._pairs:
                block = self._block(is_genetic, t, u)
                way = np.zeros(n)
                way[self._place(t)] += block @ weighted[self._place(u)]
                trace = (projection[self._place(t), self._place(u)] * block).sum()
                if t != u:
                    way[self._place(u)] += block.T @ weighted[self._place(t)]
                    trace *= 2
                ways.append(way)
                gradient.append((way @ weighted - trace) / 2)
        ways = np.array(ways)
        information = ways @ projection @ ways.T / 2
        likelihood += self._values @ weighted
        return PairState(genetic, residual, np.array(gradient), information, -likelihood / 2)


def _span(columns: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis of columns; collinear ones count once."""
    vectors, values, _ = np.linalg.svd(columns, full_matrices=False)
    return vectors[:, values > 1e-5 * values[0]]


def _check_pair(genetic: np.ndarray, residual: np.ndarray, who: str) -> None:
    """Raise if a covariance of traits cannot be estimated, given what it multiplies in V.

    Traits that no sample has together have a residual of 0: their genetic covariance can be
    estimated, the residual one stays at 0.
    """
    used = [genetic, residual] if residual.any() else [genetic]
    if not genetic.any():
        raise ParameterError(f"the genetic covariance of {who} needs related samples, has none")
    system = np.array([[(a * b).sum() for b in used] for a in used])
    check_distinct(system, ["genetic effects", f"residuals of {who}"][: len(used)])


def _iter_fit(
    relationships: np.ndarray,
    values: np.ndarray,
    training: Training,
    tolerance: float,
    max_iterations: int,
) -> Iterator[CorrelationSnapshot]:
    if not tolerance > 0:
        raise ParameterError(f"tolerance is {tolerance}, needs more than 0")
    check_minimum("max_iterations", max_iterations, 1)
    start = time.perf_counter()
    basis = training.basis[training.is_trained]
    scales = trait_scales(values, basis)
    is_whole = not np.isnan(values).any()
    kind = _WholeLikelihood if is_whole else _PartLikelihood
    likelihood = kind(relationships, basis, values / scales)
    n_traits = values.shape[1]
    state = likelihood.at(_START * np.eye(n_traits), (1 - _START) * np.eye(n_traits))
    change, iteration, is_converged = np.inf, 0, False
    while True:
        yield make_snapshot(
            state,
            scales,
            iteration=iteration,
            change=change,
            n_samples=(~np.isnan(values)).sum(axis=0),
            is_converged=is_converged,
            seconds=time.perf_counter() - start,
            notes=(*training.notes, *note_few_samples(len(values))),
        )
        if is_converged or iteration == max_iterations:
            return
        old, state = state, state.improve(likelihood.at)
        change = float(np.abs(state.covariances - old.covariances).max())
        is_converged = change < tolerance
        iteration += 1
