"""Association fits in a mixed model, by exact and by calibrated tests.

Exact: for each chromosome, the relationships from all other chromosomes are built and decomposed,
and x'Px is computed for every variant x. Calibrated: Py comes from conjugate gradients, with all
chromosomes as columns of the same products, and x'Px is approximated by gamma times x'x after
projecting out fixed effects. Px is then computed for the variants with the lowest p.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.p_values import log_p_of_z
from genoviz.analyses.genotypes.association.regressions import UNVARIED
from genoviz.analyses.genotypes.crossproducts import iter_crossproducts
from genoviz.analyses.genotypes.prediction.conjugate_gradient import iter_conjugate_gradient
from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.genotypes.variances.covariances import (
    MAX_SOLVING,
    SOLVED,
    DiagonalCovariance,
    ProbedCovariance,
)
from genoviz.analyses.genotypes.variances.reml import VarianceSnapshot, iter_reml_of
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import Progress, last_of
from genoviz.model.genotypes.genotypes import Genotypes

TESTING = "Association"
RETESTING = "Strongest variants"
FITTING = "Model without variants"
N_CALIBRATING = 30
LEAST_SQUARES = 0.25
MAX_RETESTED, _RETESTED_AT_ONCE = 64, 32
_SOLVED_TO_DIGITS = 1e-15
MAX_PROBES, MIN_PROBES, PROBED = 15, 3, 4e9
"""With many samples, few random columns are enough: PROBED over their square, as in BOLT-LMM."""
_BLOCK_VALUES = 1 << 23


class Chromosome:
    """A chromosome whose variants are left out of the relationships when they are tested.

    Attributes
    ----------
    name
        Name of the chromosome.
    rows
        int64: indices of its variants.
    genotypes, counts, matrix
        Packed genotypes, samples of each code, and Z, the centred dosages of its variants.
    scale
        2 sum p(1 - p).
    squares
        float64: sums of squares of the columns of Z.
    """

    def __init__(
        self,
        name: str,
        rows: np.ndarray,
        genotypes: Genotypes,
        counts: np.ndarray,
        backend: Backend,
    ) -> None:
        first, last = int(rows[0]), int(rows[-1]) + 1
        taken = slice(first, last) if last - first == len(rows) else rows
        self.name, self.rows, self.counts = name, rows, counts[rows]
        self.genotypes = genotypes.take_variants(taken)
        self.matrix = GenotypeMatrix(self.genotypes, counts=self.counts, backend=backend)
        p = self.matrix.frequencies
        self.scale = float(2 * (p * (1 - p)).sum())
        self.squares = (self.counts * self.matrix.values**2).sum(1)


def _put(
    fits: Fits, rows: np.ndarray, across: np.ndarray, left: np.ndarray, is_varied: np.ndarray
) -> None:
    """Fill in the fits of variants from x'Py and x'Px."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = {
            "beta": across / left,
            "standard_error": 1 / np.sqrt(left),
            "statistic": across / np.sqrt(left),
        }
    for name, values in found.items():
        getattr(fits, name)[rows] = np.where(is_varied, values, np.nan)


def _vary(left: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return which variants vary after projecting out the covariates.

    One differing sample gives a sum of squares of at least a half. For a constant variant the sum
    is 0, and any remainder is rounding error.
    """
    return (squares > LEAST_SQUARES) & (left > UNVARIED * squares)


def iter_exact(
    chromosomes: list[Chromosome],
    design: Design,
    fits: Fits,
    takes_all: bool,
    _seed: int,
    _refine_below: float,
    backend: Backend,
) -> Generator[Progress, None, tuple[np.ndarray, float, np.ndarray]]:
    """Test each variant by generalised least squares.

    Returns the variances by chromosome, NaN, and a mask of exactly tested variants: all.
    """
    n, n_all = design.n_samples, len(chromosomes)
    total = np.zeros((n, n))
    for k, each in enumerate(chromosomes):
        products = yield from _report(each, backend, 0.2 * k / n_all, 0.2 / n_all)
        total += products
    scale = sum(each.scale for each in chromosomes)
    variances = np.empty((n_all, 2))
    for k, each in enumerate(chromosomes):
        start, part = 0.2 + 0.8 * k / n_all, 0.8 / n_all
        relationships = total / scale
        if not takes_all:
            own = yield from _report(each, backend, start, 0.2 * part)
            relationships = (total - own) / (scale - each.scale)
        covariance = DiagonalCovariance(relationships, design.basis)
        yield Progress(FITTING, start + 0.5 * part)
        null = last_of(
            iter_reml_of(
                covariance, design.response, ("genotypes",), tolerance=1e-7, max_iterations=200
            )
        )
        _check_null(null)
        variances[k] = null.variances
        weights = 1 / (covariance.eigenvalues * null.variances[0] + null.variances[1])
        response = weights * covariance.take(design.response)
        step = max(1, _BLOCK_VALUES // n)
        for first in range(0, len(each.rows), step):
            block = slice(first, min(first + step, len(each.rows)))
            matrix = GenotypeMatrix(
                each.genotypes.take_variants(block), counts=each.counts[block], backend=backend
            )
            rotated = matrix.multiply_transposed(covariance.vectors)
            squares = rotated * rotated
            is_varied = _vary(squares.sum(1), each.squares[block])
            _put(fits, each.rows[block], rotated @ response, squares @ weights, is_varied)
            yield Progress(TESTING, start + part * (0.6 + 0.4 * block.stop / len(each.rows)))
    return variances, np.nan, np.concatenate([each.rows for each in chromosomes])


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


def iter_calibrated(
    chromosomes: list[Chromosome],
    design: Design,
    fits: Fits,
    takes_all: bool,
    seed: int,
    refine_below: float,
    _backend: Backend,
) -> Generator[Progress, None, tuple[np.ndarray, float, np.ndarray]]:
    """Test each variant by its score, and those with p below a limit by generalised least squares.

    Returns the variances by chromosome, gamma, and the mask of exactly tested variants.
    """
    relationships = _Relationships(chromosomes, takes_all)
    n_probes = int(np.clip(PROBED / design.n_samples**2, MIN_PROBES, MAX_PROBES))
    covariance = ProbedCovariance(
        [relationships.multiply_all], design.basis, n_probes=n_probes, seed=seed
    )
    steps = iter_reml_of(
        covariance, design.response, ("genotypes",), tolerance=1e-3, max_iterations=30
    )
    for null in steps:
        yield Progress(FITTING, 0.5 * (1 - 0.6**null.iteration))
    _check_null(null)
    solve = _Solving(relationships, covariance, null.variances)
    numbers, calibrating = _calibrating(chromosomes, covariance, seed)
    response = covariance.take(design.response)
    columns = np.column_stack([*[response] * len(chromosomes), calibrating])
    owners = np.concatenate([np.arange(len(chromosomes)), numbers])
    solution = yield from solve(columns, owners, SOLVED, "Conjugate gradients", 0.5, 0.3)
    solved = solution[:, len(chromosomes) :]
    gamma = float(np.mean((solved * calibrating).sum(0) / (calibrating * calibrating).sum(0)))
    for k, each in enumerate(chromosomes):
        both = np.column_stack([design.basis, solution[:, k]])
        products = each.matrix.multiply_transposed(both)
        left = each.squares - (products[:, :-1] ** 2).sum(1)
        is_varied = _vary(left, each.squares)
        _put(fits, each.rows, products[:, -1], gamma * np.maximum(left, 0), is_varied)
        yield Progress(TESTING, 0.8 + 0.05 * (k + 1) / len(chromosomes))
    strongest = _strongest(fits, refine_below)
    for first in range(0, len(strongest), _RETESTED_AT_ONCE):
        rows = strongest[first : first + _RETESTED_AT_ONCE]
        owners, columns = _columns_of(chromosomes, covariance, rows)
        share = 0.15 / len(strongest)
        start = 0.85 + share * first
        solved = yield from solve(
            columns, owners, _SOLVED_TO_DIGITS, RETESTING, start, share * len(rows)
        )
        left = (solved * columns).sum(0)
        _put(fits, rows, solved.T @ response, left, np.ones(len(rows), bool))
    return np.tile(null.variances, (len(chromosomes), 1)), gamma, strongest


def _strongest(fits: Fits, refine_below: float) -> np.ndarray:
    """Return up to 64 variants with the lowest p below a limit: int64."""
    strength = np.where(np.isfinite(fits.statistic), np.abs(fits.statistic), 0.0)
    is_strong = np.exp(log_p_of_z(strength)) < refine_below
    return np.sort(np.argsort(-strength, kind="stable")[: min(is_strong.sum(), MAX_RETESTED)])


class _Relationships:
    """Products with the relationships from all variants, or from all chromosomes but one."""

    def __init__(self, chromosomes: list[Chromosome], takes_all: bool) -> None:
        self._chromosomes = chromosomes
        self._scale = sum(each.scale for each in chromosomes)
        self._takes_all = takes_all

    def multiply_all(self, columns: np.ndarray) -> np.ndarray:
        """Return the relationships from all variants times columns."""
        return sum(_square(each.matrix, columns) for each in self._chromosomes) / self._scale

    def multiply_each(self, columns: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Return the product for each column, leaving out the variants of its chromosome."""
        if self._takes_all:
            return self.multiply_all(columns)
        total = np.zeros_like(columns)
        for k, each in enumerate(self._chromosomes):
            others = np.flatnonzero(owners != k)
            total[:, others] += _square(each.matrix, columns[:, others])
        scales = np.array([self._scale - each.scale for each in self._chromosomes])
        return total / scales[owners]


def _square(matrix: GenotypeMatrix, columns: np.ndarray) -> np.ndarray:
    return matrix.multiply(matrix.multiply_transposed(columns))


class _Solving:
    """Products with P in the models of all chromosomes, by conjugate gradients."""

    def __init__(
        self, relationships: _Relationships, covariance: ProbedCovariance, variances: np.ndarray
    ) -> None:
        self._relationships, self._covariance = relationships, covariance
        self._variances = variances

    def __call__(
        self,
        columns: np.ndarray,
        owners: np.ndarray,
        tolerance: float,
        what: str,
        start: float,
        share: float,
    ) -> Generator[Progress, None, np.ndarray]:
        """Return P @ columns, each in the model of its chromosome."""

        def multiply(direction: np.ndarray) -> tuple[np.ndarray]:
            related = self._relationships.multiply_each(direction, owners)
            product = self._covariance.take(related)
            return (self._variances[0] * product + self._variances[1] * direction,)

        for step in iter_conjugate_gradient(
            multiply, columns, np.copy, tolerance=tolerance, max_iterations=MAX_SOLVING
        ):
            done = np.log(max(step.residuals[-1].max(), tolerance)) / np.log(tolerance)
            yield Progress(what, start + share * min(max(done, 0), 1))
        if not step.is_converged:
            raise ParameterError(
                f"the model without variants is not solved after {MAX_SOLVING} steps"
            )
        return step.solution


def _calibrating(
    chromosomes: list[Chromosome], covariance: ProbedCovariance, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the chromosomes of random variants, and their dosages less fixed effects."""
    squares = np.concatenate([each.squares for each in chromosomes])
    rows = np.concatenate([each.rows for each in chromosomes])
    order = np.random.default_rng(seed).permutation(len(rows))
    numbers, columns = [], []
    for place in order[squares[order] > 0].tolist():
        owners, column = _columns_of(chromosomes, covariance, rows[[place]])
        if _vary((column * column).sum(0), squares[[place]])[0]:
            numbers.append(owners)
            columns.append(column)
        if len(numbers) == N_CALIBRATING:
            break
    if not numbers:
        raise ParameterError("no variant varies beside the covariates; leave some of these out")
    return np.concatenate(numbers), np.hstack(columns)


def _columns_of(
    chromosomes: list[Chromosome], covariance: ProbedCovariance, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the chromosomes of variants, and their dosages less fixed effects."""
    owners = np.empty(len(rows), np.int64)
    columns = np.empty((len(covariance.probes), len(rows)))
    for k, each in enumerate(chromosomes):
        mine = np.flatnonzero(np.isin(rows, each.rows))
        if len(mine):
            units = np.zeros((len(each.rows), len(mine)))
            units[np.searchsorted(each.rows, rows[mine]), np.arange(len(mine))] = 1.0
            owners[mine] = k
            columns[:, mine] = covariance.take(each.matrix.multiply(units))
    return owners, columns


def _check_null(null: VarianceSnapshot) -> None:
    if not null.is_converged:
        raise ParameterError(
            f"the variances of the model without variants still change after {null.iteration:,} "
            "iterations; needs a trait, and relationships, that tell them apart"
        )
