"""Association tests of cases and controls in a logistic mixed model, by a saddle-point test.

The model without variants is logit(p) = Xa + b, where the random effect b has the relationships by
all chromosomes but that of the tested variant; see `logistic_null`. The score of a variant is
T = g~'(y - p), with g~ its dosages less their regression on X with weights w = p (1 - p)::

    var(T) = g~'Pg~,    beta = T / var(T)

- Exact: P is known, and g~'Pg~ is computed for every variant (GMMAT).
- Calibrated: P is given by products. g~'Pg~ is approximated by gamma times g~'Wg~, where gamma is a
  mean over some variants (SAIGE), and computed for the variants with the lowest p.

Beyond two standard deviations, p is a saddle-point approximation of T sqrt(g~'Wg~ / var(T)) as a
score of independent cases with probabilities p.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits, make_design
from genoviz.analyses.genotypes.association.left_out import Chromosome, LeaveOut
from genoviz.analyses.genotypes.association.logistic import BLOCK_GENOTYPES
from genoviz.analyses.genotypes.association.logistic_null import (
    RESIDUAL,
    CalibratedLogistic,
    LogisticNull,
    fit_densely,
    iter_calibrated_logistic,
)
from genoviz.analyses.genotypes.association.mixed import (
    REFINE_BELOW,
    RETESTED_AT_ONCE,
    Known,
    MixedScan,
    ScanTask,
    Tests,
    check_options,
    find_strongest,
    takes_exact,
)
from genoviz.analyses.genotypes.association.mixed_models import (
    FITTING,
    LEAST_SQUARES,
    TESTING,
    DenseRelationships,
)
from genoviz.analyses.genotypes.association.regressions import UNVARIED
from genoviz.analyses.genotypes.association.saddle_point import NORMAL_BELOW, SaddlePointModel
from genoviz.analyses.genotypes.matrix_parts import KERNEL, module_of, rows_of
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.generators import Progress, in_one_go, report
from genoviz.model.genotypes.genotypes import Genotypes

MODEL, SCALE = "mixed-logistic", " on the scale of log odds"
STRONGEST = "Strongest variants"


@dataclass(frozen=True, eq=False)
class MixedLogisticScan(MixedScan):
    """Tests of all variants by a logistic mixed model.

    Heritabilities are on the scale of log odds, where the residual variance is pi^2 / 3, that of
    the logistic distribution. Penalised quasi-likelihood underestimates them.

    Attributes
    ----------
    nulls
        The model without variants of each chromosome tested so far.
    """

    nulls: tuple[LogisticNull, ...] = ()


def iter_mixed_logistic_associate(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    leave_out: LeaveOut = "chromosome",
    tests: Tests = "auto",
    refine_below: float = REFINE_BELOW,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test each variant in a logistic mixed model; the last step has the `MixedLogisticScan`.

    For cases and controls who may be related, also if cases are few. Earlier steps have the scan of
    the chromosomes tested so far; other variants are NaN there. Where the variance of the random
    effect is 0, tests are those of `iter_associate` with ``model="saddle-point"``. The statistic is
    that of p, with the sign of beta; beta is one Newton step, and the standard error matches p.

    Parameters
    ----------
    genotypes, covariates, covariate_names, leave_out, seed, backend
        As in `iter_mixed_associate`.
    phenotype
        Two values, shape (n_samples,), of which cases have the higher; NaN is missing.
    tests
        ``"exact"``: the variance of each score is computed, and that of the random effect is
        estimated for each chromosome, with memory n_samples² and time n_samples³;
        ``"calibrated"``: one variance of the random effect, by random traces, and variances of
        scores by those of 30 variants; ``"auto"``: exact up to 3,000 samples.
    refine_below
        Variants with a calibrated p below this, at most the 64 lowest, are tested again with the
        exact variance of their scores.

    Raises
    ------
    ParameterError
        As in `iter_mixed_associate`; if the phenotype has not two values, or covariates tell cases
        from controls entirely.

    References
    ----------
    Chen et al. 2016, Control for population structure and relatedness for binary traits in genetic
    association studies via logistic mixed models, doi:10.1016/j.ajhg.2016.02.012 (GMMAT)
    Zhou et al. 2018, Efficiently controlling for case-control imbalance and sample relatedness in
    large-scale genetic association studies, doi:10.1038/s41588-018-0184-y (SAIGE)
    """
    check_options(leave_out, tests, refine_below)
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names).of_cases()
    design.check_unexplained()
    yield Progress(FITTING, 0.0)
    task = ScanTask.of(genotypes, design, leave_out, backend)
    scan = _iter_exact if takes_exact(tests, design) else _iter_calibrated
    result = None
    for step in scan(task, leave_out == "none", seed, refine_below, backend):
        if step.result is not None:
            known, nulls = step.result
            result = MixedLogisticScan(**vars(task.make_scan(known, MODEL, SCALE)), nulls=nulls)
        yield Progress(step.what, step.fraction, result)


@in_one_go(iter_mixed_logistic_associate)
def mixed_logistic_associate(last: Progress) -> MixedLogisticScan:
    """Return the tests of all variants; see `iter_mixed_logistic_associate`."""
    return last.result


class ExactLogisticModels:
    """Models without variants of chromosomes, with relationships built and V inverted.

    Attributes
    ----------
    nulls
        The models fitted so far.
    """

    def __init__(
        self, chromosomes: list[Chromosome], design: Design, takes_all: bool, backend: Backend
    ) -> None:
        self._design, self.nulls = design, []
        self._relationships = DenseRelationships(chromosomes, design.n_samples, takes_all, backend)

    def fit(
        self, k: int, start: float, share: float
    ) -> Generator[Progress, None, tuple[LogisticNull, np.ndarray]]:
        """Return the model of a chromosome, and P; the model before it is where steps start."""
        related = yield from self._relationships.build(k, start, share / 3)
        first = self.nulls[-1] if self.nulls else None
        null, projection = yield from report(
            fit_densely(related, self._design, first),
            lambda done: Progress(FITTING, start + share * (1 - 2 * 0.7**done / 3)),
        )
        self.nulls.append(null)
        return null, projection


def _iter_exact(
    task: ScanTask, takes_all: bool, _seed: int, _refine_below: float, backend: Backend
) -> Iterator[Progress]:
    """Test each variant with its own variance; yield what is known after each chromosome."""
    chromosomes, design, n_all = task.chromosomes, task.design, len(task.chromosomes)
    models, xp = ExactLogisticModels(chromosomes, design, takes_all, backend), array_module(backend)
    step = max(1, BLOCK_GENOTYPES[xp.__name__] // design.n_samples)
    for k, each in enumerate(chromosomes):
        start, part = k / n_all, 1 / n_all
        null, projection = yield from models.fit(k, start, 0.6 * part)
        model = SaddlePointModel(design, backend, null.fitted)
        there = xp.asarray(projection)
        for first in range(0, len(each.rows), step):
            rows = np.arange(first, min(first + step, len(each.rows)))
            tile, scores, independent = model.score(_decode(each, rows, backend))
            variances = to_host(((tile @ there) * tile).sum(1))
            _put(task.fits, each, rows, model, (scores, variances, independent), _taking(tile))
            yield Progress(TESTING, start + part * (0.6 + 0.4 * (rows[-1] + 1) / len(each.rows)))
        exact = np.concatenate([other.rows for other in chromosomes[: k + 1]])
        yield Progress(TESTING, (k + 1) / n_all, _known(models.nulls, np.nan, exact))


def _iter_calibrated(
    task: ScanTask, takes_all: bool, seed: int, refine_below: float, backend: Backend
) -> Iterator[Progress]:
    """Test each variant by a mean of variances, and those with p below a limit with their own.

    Yields what is known after each chromosome and each retested block.
    """
    chromosomes, n_all = task.chromosomes, len(task.chromosomes)
    models = yield from iter_calibrated_logistic(
        chromosomes, task.design, takes_all, seed, backend=backend
    )
    none = np.empty(0, np.int64)
    for k in range(n_all):
        start, share = 0.7 + 0.2 * k / n_all, 0.2 / n_all
        yield from _iter_chromosome(task, models, k, backend, start, share)
        yield Progress(TESTING, start + share, _known(models.nulls[: k + 1], models.gamma, none))
    strongest = find_strongest(task.fits, refine_below)
    for first in range(0, len(strongest), RETESTED_AT_ONCE):
        rows = strongest[first : first + RETESTED_AT_ONCE]
        share = 0.1 / len(strongest)
        owners, covariance = yield from models.find_covariance(
            rows, STRONGEST, 0.9 + share * first, share * len(rows)
        )
        variances = np.diagonal(covariance)
        for k in np.unique(owners).tolist():
            each, mine = chromosomes[k], owners == k
            places = np.searchsorted(each.rows, rows[mine])
            model = SaddlePointModel(task.design, backend, models.nulls[k].fitted)
            tile, scores, independent = model.score(_decode(each, places, backend))
            _put(
                task.fits,
                each,
                places,
                model,
                (scores, variances[mine], independent),
                _taking(tile),
            )
        done = first + len(rows)
        known = _known(models.nulls, models.gamma, strongest[:done])
        yield Progress(STRONGEST, 0.9 + share * done, known)
    yield Progress(TESTING, 1.0, _known(models.nulls, models.gamma, strongest))


def _iter_chromosome(
    task: ScanTask,
    models: CalibratedLogistic,
    k: int,
    backend: Backend,
    start: float,
    share: float,
) -> Iterator[Progress]:
    """Test the variants of a chromosome; only dosages of those with low p are unpacked."""
    each, design, fitted = task.chromosomes[k], task.design, models.nulls[k].fitted
    model = SaddlePointModel(design, backend, fitted)
    weights, residual = fitted * (1 - fitted), design.response - fitted
    weighted = weights[:, None] * design.basis
    inverse = np.linalg.inv(weighted.T @ design.basis)
    residual = residual - weighted @ (inverse @ (design.basis.T @ residual))
    columns = np.column_stack([weighted @ np.linalg.cholesky(inverse), residual])
    multiply = load_kernel(KERNEL, backend).multiply_transposed
    n = design.n_samples
    at_once = max(1, BLOCK_GENOTYPES[array_module(backend).__name__] // n)
    for block in variant_blocks(each.genotypes, backend=backend):
        rows = np.arange(each.genotypes.n_variants)[block]
        products = each.take(block, backend).multiply_transposed(columns)
        packed = rows_of(each.genotypes.packed[block])
        squares = multiply(packed, n, each.matrix.values[block] ** 2, weights[:, None])
        squares = to_host(squares)[:, 0]
        independent = squares - (products[:, :-1] ** 2).sum(1)
        independent[independent <= UNVARIED * squares] = np.nan
        scores, variances = products[:, -1], models.gamma * independent
        with np.errstate(divide="ignore", invalid="ignore"):
            is_far = np.abs(scores) > NORMAL_BELOW * np.sqrt(variances)
        # Blocks with as many dosages to unpack.
        numbers = np.cumsum(is_far) // at_once
        for part in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(numbers)) + 1):
            found, places = (scores[part], variances[part], independent[part]), rows[part]

            def take(far: np.ndarray, places: np.ndarray = places) -> Any:
                return model.adjust(_decode(each, places[far], backend))

            _put(task.fits, each, places, model, found, take)
            yield Progress(TESTING, start + share * (rows[part[-1]] + 1) / len(each.rows))


def _put(
    fits: Fits,
    chromosome: Chromosome,
    places: np.ndarray,
    model: SaddlePointModel,
    found: tuple[np.ndarray, np.ndarray, np.ndarray],
    take: Callable[[np.ndarray], Any],
) -> None:
    """Fill in the fits of some variants of a chromosome.

    ``found`` are scores, their variances, and those of independent cases; ``take`` returns g~ of
    some of them.
    """
    scores, variances, independent = found
    is_varied = (chromosome.squares[places] > LEAST_SQUARES) & np.isfinite(independent)
    variances = np.where(is_varied & (variances > 0), variances, np.nan)
    values = model.test(scores, variances, independent, take)
    names = "beta", "standard_error", "statistic", "log_p"
    for name, each in zip(names, values, strict=True):
        getattr(fits, name)[chromosome.rows[places]] = each


def _taking(tile: Any) -> Callable[[np.ndarray], Any]:
    """Return a function that returns rows of g~."""
    return lambda far: tile[module_of(tile).asarray(far)]


def _decode(chromosome: Chromosome, places: np.ndarray, backend: Backend) -> Any:
    """Return centred dosages of some variants, 0 where missing: float64, shape (m, n)."""
    packed = rows_of(chromosome.genotypes.packed[places])
    decode = load_kernel("genotype_decode", backend).decode
    return decode(packed, chromosome.genotypes.n_samples, chromosome.matrix.values[places])


def _known(
    nulls: Sequence[LogisticNull], gamma: float, exact: np.ndarray
) -> tuple[Known, tuple[LogisticNull, ...]]:
    """Return what is known of the chromosomes with these models."""
    variances = np.array([[each.variance, RESIDUAL] for each in nulls])
    errors = np.array([each.heritability_error for each in nulls])
    return Known(variances, errors, gamma, exact), tuple(nulls)
