"""Models without variants for the tests of a mixed model, one of each chromosome left out.

Exact: for each chromosome, the relationships from all other chromosomes are built and decomposed,
and x'Px is computed for every variant x. Calibrated: Py comes from conjugate gradients, with all
chromosomes as columns of the same products, and x'Px is approximated by gamma times x'x after
projecting out fixed effects. Px is then computed for the variants with the lowest p.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.analyses.genotypes.association.left_out import (
    Chromosome,
    Relationships,
    Solving,
)
from genoviz.analyses.genotypes.association.regressions import UNVARIED
from genoviz.analyses.genotypes.crossproducts import iter_crossproducts
from genoviz.analyses.genotypes.variances.covariances import (
    SOLVED,
    DiagonalCovariance,
    ProbedCovariance,
)
from genoviz.analyses.genotypes.variances.lanczos import iter_reml_by_lanczos
from genoviz.analyses.genotypes.variances.reml import VarianceSnapshot, iter_reml_of
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, last_of

MIN_RESIDUAL = 1e-4
"""Least residual share of the variance for calibrated tests."""
TESTING = "Association"
FITTING = "Model without variants"
N_CALIBRATING = 30
LEAST_SQUARES = 0.25
CORRECTED, CALIBRATED = 1e-8, 1e-6
"""Squared relative residuals of variants that are tested exactly, and of those that calibrate. x'Px
has a relative error of this size."""
MAX_PROBES, MIN_PROBES, PROBED = 15, 3, 4e9
"""With many samples, few random columns are enough: PROBED over their square, as in BOLT-LMM."""


class DenseRelationships:
    """Relationship matrices by the variants of all chromosomes but one, or by all variants."""

    def __init__(
        self, chromosomes: list[Chromosome], n_samples: int, takes_all: bool, backend: Backend
    ) -> None:
        self._chromosomes, self._n_samples = chromosomes, n_samples
        self._takes_all, self._backend = takes_all, backend
        self._scale = sum(each.scale for each in chromosomes)
        self._total: np.ndarray | None = None

    def build(self, k: int, start: float, share: float) -> Generator[Progress, None, np.ndarray]:
        """Return the matrix of a chromosome: float64, shape (n_samples, n_samples)."""
        each, n_all = self._chromosomes[k], len(self._chromosomes)
        if self._total is None:
            self._total = np.zeros((self._n_samples, self._n_samples))
            for j, other in enumerate(self._chromosomes):
                part = 0.6 * share / n_all
                self._total += yield from _report(other, self._backend, start + j * part, part)
        if self._takes_all:
            return self._total / self._scale
        own = yield from _report(each, self._backend, start + 0.6 * share, 0.4 * share)
        return (self._total - own) / (self._scale - each.scale)


class ExactModels:
    """Models without variants of all chromosomes, with relationships built and decomposed."""

    def __init__(
        self, chromosomes: list[Chromosome], design: Design, takes_all: bool, backend: Backend
    ) -> None:
        self._design = design
        self._relationships = DenseRelationships(chromosomes, design.n_samples, takes_all, backend)
        self.variances = np.empty((len(chromosomes), 2))
        self.errors = np.empty(len(chromosomes))

    def fit(self, k: int, start: float, share: float) -> Generator[Progress, None, ExactModel]:
        """Return the model of a chromosome; its variances and the error of h2 are kept."""
        relationships = yield from self._relationships.build(k, start, 0.5 * share)
        covariance = DiagonalCovariance(relationships, self._design.basis)
        yield Progress(FITTING, start + 0.7 * share)
        response, names = self._design.unexplained, ("genotypes",)
        null = last_of(
            iter_reml_of(covariance, response, names, tolerance=1e-7, max_iterations=200)
        )
        check_null(null)
        self.variances[k], self.errors[k] = null.variances, null.heritability_error
        weights = 1 / (covariance.eigenvalues * null.variances[0] + null.variances[1])
        return ExactModel(covariance.vectors, weights, weights * covariance.take(response))


@dataclass(frozen=True, eq=False)
class ExactModel:
    """A model without variants, in the eigenbasis of its covariance.

    Attributes
    ----------
    vectors
        float64, shape (n, n - c): eigenvectors orthogonal to the fixed effects.
    weights
        float64, shape (n - c,): x'Px is the weighted sum of squares of ``vectors.T @ x``.
    response
        float64, shape (n - c,): x'Py is the product with ``vectors.T @ x``.
    """

    vectors: np.ndarray
    weights: np.ndarray
    response: np.ndarray


@dataclass(frozen=True, eq=False)
class CalibratedModel:
    """The model without variants of all chromosomes, given by products.

    Attributes
    ----------
    chromosomes
        The chromosomes.
    covariance
        Projects columns on the space without fixed effects (`take`).
    variances, heritability_error
        float64, shape (2,): genetic and residual variance; standard error of the genetic share.
    solve
        Products with P, by chromosome.
    response
        float64, shape (n,): the phenotype without fixed effects.
    solution
        float64, shape (n, n_chromosomes): Py in the model of each chromosome.
    gamma
        Ratio of x'Px to the sum of squares of x after projecting out fixed effects.
    """

    chromosomes: list[Chromosome]
    covariance: ProbedCovariance
    variances: np.ndarray
    heritability_error: float
    solve: Solving
    response: np.ndarray
    solution: np.ndarray
    gamma: float

    def test_exactly(
        self, rows: np.ndarray, what: str, start: float, share: float
    ) -> Generator[Progress, None, tuple[np.ndarray, np.ndarray]]:
        """Return x'Py (m,) and x'Px' (m, m) of variants, centred dosages of A1."""
        owners, columns = take_variants(self.chromosomes, rows)
        columns = self.covariance.take(columns)
        solved, rest = yield from self.solve(columns, owners, CORRECTED, what, start, share)
        # With x = V s + r, x'Px' = s'x' + r's' + r'Pr': what is left out is of second order.
        across = solved.T @ self.response + (rest * self.solution[:, owners]).sum(0)
        return across, solved.T @ columns + rest.T @ solved


def iter_calibrated_model(
    chromosomes: list[Chromosome],
    design: Design,
    takes_all: bool,
    seed: int,
    candidates: np.ndarray | None = None,
    *,
    backend: Backend,
) -> Generator[Progress, None, CalibratedModel]:
    """Return the model of all variants, calibrated by some of the candidates: their indices.

    The steps report up to 0.8.
    """
    relationships = Relationships(chromosomes, takes_all, backend)
    covariance = ProbedCovariance(
        [relationships.multiply_all],
        design.basis,
        n_probes=count_probes(design.n_samples),
        seed=seed,
    )
    steps = iter_reml_by_lanczos(
        covariance, design.unexplained, ("genotypes",), tolerance=1e-6, max_iterations=200
    )
    for k, step in enumerate(steps, 1):
        null = step
        yield Progress(FITTING, 0.5 * (1 - 0.9**k))
    check_null(null)
    solve = Solving(relationships, covariance.basis, null.variances)
    response = covariance.take(design.unexplained)
    columns = np.column_stack([response] * len(chromosomes))
    solution, _ = yield from solve(
        columns, np.arange(len(chromosomes)), SOLVED, "Conjugate gradients", 0.5, 0.15
    )

    def take(columns: np.ndarray, _owners: np.ndarray) -> np.ndarray:
        return covariance.take(columns)

    owners, columns = calibrating_variants(chromosomes, take, seed, candidates)
    solved, rest = yield from solve(columns, owners, CALIBRATED, "Calibration", 0.65, 0.15)
    ratios = ((columns + rest) * solved).sum(0) / (columns * columns).sum(0)
    return CalibratedModel(
        chromosomes,
        covariance,
        null.variances,
        null.heritability_error,
        solve,
        response,
        solution,
        float(ratios.mean()),
    )


def find_varied(left: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return which variants vary after projecting out the covariates.

    One differing sample gives a sum of squares of at least a half. For a constant variant the sum
    is 0, and any remainder is rounding error.
    """
    return (squares > LEAST_SQUARES) & (left > UNVARIED * squares)


def _report(
    chromosome: Chromosome, backend: Backend, start: float, share: float
) -> Generator[Progress, None, np.ndarray]:
    """Return the product ZZ' of a chromosome's variants; reports progress."""
    steps = iter_crossproducts(
        chromosome.genotypes, chromosome.matrix.values, dtype=np.float64, backend=backend
    )
    while True:
        try:
            yield Progress("Relationships", start + share * next(steps))
        except StopIteration as done:
            return done.value


def calibrating_variants(
    chromosomes: list[Chromosome],
    take: Callable[[np.ndarray, np.ndarray], np.ndarray],
    seed: int,
    candidates: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the chromosomes of random variants, and their dosages less fixed effects.

    ``take(columns, owners)`` takes these away, in the models of the chromosomes.
    """
    squares = np.concatenate([each.squares for each in chromosomes])
    rows = np.concatenate([each.rows for each in chromosomes])
    if candidates is not None:
        kept = np.isin(rows, candidates)
        squares, rows = squares[kept], rows[kept]
    order = np.random.default_rng(seed).permutation(len(rows))
    numbers, columns = [], []
    for place in order[squares[order] > 0].tolist():
        owners, column = take_variants(chromosomes, rows[[place]])
        column = take(column, owners)
        if find_varied((column * column).sum(0), squares[[place]])[0]:
            numbers.append(owners)
            columns.append(column)
        if len(numbers) == N_CALIBRATING:
            break
    if not numbers:
        raise ParameterError("no variant varies beside the covariates; leave some of these out")
    return np.concatenate(numbers), np.hstack(columns)


def take_variants(chromosomes: list[Chromosome], rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the chromosomes of variants, and their centred dosages (n_samples, m)."""
    owners = np.empty(len(rows), np.int64)
    columns = np.empty((chromosomes[0].matrix.shape[0], len(rows)))
    for k, each in enumerate(chromosomes):
        mine = np.flatnonzero(np.isin(rows, each.rows))
        if len(mine):
            units = np.zeros((len(each.rows), len(mine)))
            units[np.searchsorted(each.rows, rows[mine]), np.arange(len(mine))] = 1.0
            owners[mine] = k
            columns[:, mine] = each.matrix.multiply(units)
    return owners, columns


def count_probes(n_samples: int) -> int:
    """Return how many random columns estimate traces."""
    return int(np.clip(PROBED / n_samples**2, MIN_PROBES, MAX_PROBES))


def check_null(null: VarianceSnapshot) -> None:
    """Refuse a model without variants whose variances have not converged."""
    if not null.is_converged:
        raise ParameterError(
            f"the variances of the model without variants still change after {null.iteration:,} "
            "iterations; needs a trait, and relationships, that tell them apart"
        )


def check_residual(variances: np.ndarray) -> None:
    """Raise `ParameterError` if one model of all variants explains the trait entirely.

    A chromosome that is left out of it then has nothing but its own effects as residual.
    """
    if variances[1] < MIN_RESIDUAL * variances.sum():
        raise ParameterError(
            "the variants explain the trait entirely (heritability 1), so that calibrated tests "
            "have no residual to compare with; needs exact tests (--tests exact, tests='exact')"
        )


def describe_model(
    shares: np.ndarray, errors: np.ndarray, gamma: float, n_exact: int, scale: str = ""
) -> str:
    """Return a sentence on the models without variants and their tests; scale is that of shares."""
    found = _range_of(shares)
    error = _range_of(errors[~np.isnan(errors)]) or "not known, at a bound"
    if np.isnan(errors).any() and not np.isnan(errors).all():
        n_unknown = int(np.isnan(errors).sum())
        error += f", not known for {n_words(n_unknown, 'chromosome')} at a bound"
    how = "exact" if np.isnan(gamma) else f"calibrated by {gamma:.4g}"
    if n_exact and not np.isnan(gamma):
        how += f", but exact for the {n_exact:,} of lowest p"
    return (
        f"The heritability{scale} of models without variants is {found} (SE {error}); tests are "
        f"{how}."
    )


def _range_of(values: np.ndarray) -> str:
    ends = np.sort(values)[[0, -1]] if len(values) else ()
    return " to ".join(dict.fromkeys(f"{end:.4f}" for end in ends))
