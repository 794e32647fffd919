"""Linear and logistic regression on several columns for each variant."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.firth import FirthModel
from genoviz.analyses.genotypes.association.logistic import BLOCK_GENOTYPES, is_separated
from genoviz.analyses.genotypes.association.p_values import (
    log_p_of_f,
    log_p_of_mixture,
    log_p_of_t,
    log_p_of_z,
)
from genoviz.analyses.genotypes.association.regressions import (
    EXPLAINED,
    LogisticModel,
    are_alike,
)
from genoviz.analyses.genotypes.association.saddle_point import SaddlePointModel
from genoviz.analyses.genotypes.association.terms import TermCoder, Terms
from genoviz.analyses.genotypes.dosage_blocks import iter_dosage_blocks
from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.variant_blocks import variant_blocks
from genoviz.backend import Backend, array_module, load_kernel, to_host
from genoviz.kernels.logistic_derivatives import MAX_LOGIT
from genoviz.model.genotypes.genotypes import Genotypes


def iter_terms_scan(
    genotypes: Genotypes,
    design: Design,
    *,
    weights: np.ndarray | None = None,
    backend: Backend,
    model: str,
    terms: Terms,
) -> Generator[float, None, Fits]:
    """Regress the phenotype on the columns of each variant; yields the share done, returns fits.

    A variant whose columns are dependent, such as a genotypic model without homozygotes, is NaN.

    Parameters
    ----------
    genotypes
        Genotypes of the samples of the design; either all variants have stored dosages, or none.
    design
        Phenotype and covariates; phenotypes are 0 and 1 if the model is not ``"linear"``.
    weights
        float64, shape (n_samples,): factor for the dosages of each sample; 1 if None.
    backend
        Where to compute.
    model
        ``"linear"``, ``"logistic"``, ``"firth"``, ``"firth-fallback"`` or, for one column,
        ``"saddle-point"``.
    terms
        The columns.
    """
    fits = Fits.empty(genotypes.n_variants, len(terms.names))
    coder = TermCoder(terms, design, weights, backend)
    fitted = _Regression(model, terms, design, coder, backend)
    for block, dosages in _iter_dense(genotypes, backend):
        tile, scales, means = coder.code(dosages)
        is_missing = array_module(backend).isnan(tile[:, 0])
        n_called = to_host((~is_missing).sum(1))
        fits.count(block, n_called, means / 2)
        degrees = n_called - design.basis.shape[1] - len(terms.names)
        rest, is_whole = coder.eliminate(tile, is_missing)
        rows = np.flatnonzero(is_whole & (degrees > 0))
        if len(rows):
            found = fitted.fit(tile, rows, rest[rows], scales[rows], degrees[rows])
            beta, errors, statistics, log_p = found
            at = block.start + rows
            t, one = len(terms.names), terms.tested[0]
            each = beta, errors, statistics[:, :t], log_p[:, :t]
            fits.terms[at] = np.stack(each, axis=2)
            fits.beta[at], fits.standard_error[at] = beta[:, one], errors[:, one]
            fits.statistic[at], fits.log_p[at] = statistics[:, t], log_p[:, t]
            fits.joint[at] = np.column_stack([statistics[:, t + 1], log_p[:, t + 1]])
        yield block.stop / genotypes.n_variants
    return fits


def _iter_dense(genotypes: Genotypes, backend: Backend) -> Iterator[tuple[slice, Any]]:
    """Yield blocks of variants, and their dosages (m, n), NaN where missing."""
    if genotypes.stored_dosages is not None:
        for variants, dosages in iter_dosage_blocks(genotypes, backend=backend):
            yield slice(int(variants[0]), int(variants[-1]) + 1), dosages
        return
    decode = load_kernel("genotype_decode", backend).decode
    n_values = BLOCK_GENOTYPES[array_module(backend).__name__]
    for block in variant_blocks(genotypes, n_values=n_values, backend=backend):
        packed = genotypes.packed[block]
        values = np.tile([2.0, np.nan, 1.0, 0.0], (len(packed), 1))
        yield block, decode(packed, genotypes.n_samples, values)


class DenseKernel:
    """The functions of the kernel `logistic_derivatives` for t columns of each variant.

    The dosages have shape (m, t, n); a sample lacks all columns of a variant or none. All sums over
    samples are matrix products, on a GPU too.
    """

    @staticmethod
    def derivatives(
        dosages: Any, rows: np.ndarray, phenotype: Any, columns: Any, coefficients: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients (r, c + t) and negative Hessians (r, c + t, c + t)."""
        tile, is_called, logits = _predict(dosages, rows, columns, coefficients)
        xp, c, k = module_of(tile), len(columns), coefficients.shape[1]
        fitted = 1 / (1 + xp.exp(-logits))
        residuals = (phenotype - fitted) * is_called
        weights = fitted * (1 - fitted) * is_called
        gradients = xp.empty((len(tile), k))
        gradients[:, :c] = residuals @ columns.T
        gradients[:, c:] = (tile @ residuals[:, :, None])[:, :, 0]
        first, second = np.triu_indices(c)
        hessians = xp.empty((len(tile), k, k))
        hessians[:, first, second] = weights @ (columns[first] * columns[second]).T
        hessians[:, second, first] = hessians[:, first, second]
        weighted = tile * weights[:, None]
        hessians[:, c:, :c] = weighted @ columns.T
        hessians[:, :c, c:] = hessians[:, c:, :c].transpose(0, 2, 1)
        hessians[:, c:, c:] = weighted @ tile.transpose(0, 2, 1)
        return to_host(gradients), to_host(hessians)

    @staticmethod
    def penalties(
        dosages: Any,
        rows: np.ndarray,
        phenotype: Any,
        columns: Any,
        coefficients: np.ndarray,
        inverses: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log likelihoods (r,), and pulls of Firth's penalty (r, c + t)."""
        tile, is_called, logits = _predict(dosages, rows, columns, coefficients)
        xp, c = module_of(tile), len(columns)
        inverses = xp.asarray(inverses)
        likelihoods = phenotype * logits - xp.maximum(logits, 0) - xp.log1p(xp.exp(-xp.abs(logits)))
        fitted = 1 / (1 + xp.exp(-logits))
        first, second = np.triu_indices(c)
        twice = xp.asarray(np.where(first == second, 1.0, 2.0))
        hat = (inverses[:, first, second] * twice) @ (columns[first] * columns[second])
        inner = 2 * (inverses[:, c:, :c] @ columns) + inverses[:, c:, c:] @ tile
        hat += (inner * tile).sum(1)
        pull = hat * fitted * (1 - fitted) * (0.5 - fitted) * is_called
        pulls = xp.empty(coefficients.shape)
        pulls[:, :c] = pull @ columns.T
        pulls[:, c:] = (tile @ pull[:, :, None])[:, :, 0]
        return to_host((likelihoods * is_called).sum(1)), to_host(pulls)


def _predict(
    dosages: Any, rows: np.ndarray, columns: Any, coefficients: np.ndarray
) -> tuple[Any, Any, Any]:
    """Return columns of rows (r, t, n), 0 where missing; which are not; and logits (r, n)."""
    xp, c = module_of(dosages), len(columns)
    tile = dosages[xp.asarray(rows)]
    is_called = ~xp.isnan(tile[:, 0])
    tile = xp.where(is_called[:, None], tile, 0.0)
    coefficients = xp.asarray(coefficients)
    logits = coefficients[:, :c] @ columns + (coefficients[:, None, c:] @ tile)[:, 0]
    return tile, is_called, xp.clip(logits, -MAX_LOGIT, MAX_LOGIT)


class _Regression:
    """Fits the columns of variants by one of the models."""

    def __init__(
        self, model: str, terms: Terms, design: Design, coder: TermCoder, backend: Backend
    ) -> None:
        if model == "firth-fallback" and is_separated(design):
            model = "firth"
        self._model, self._terms, self._coder = model, terms, coder
        t = len(terms.names)
        self._minimum = EXPLAINED * (design.unexplained**2).sum()
        if model in ("logistic", "firth-fallback"):
            self._plain = LogisticModel(design, backend, t, DenseKernel)
        if model in ("firth", "firth-fallback"):
            self._firth = FirthModel(design, backend, t, DenseKernel)
            self._is_case = array_module(backend).asarray(design.response == 1)
        if model == "saddle-point":
            self._plain = SaddlePointModel(design, backend)

    def fit(
        self,
        tile: Any,
        rows: np.ndarray,
        rest: np.ndarray,
        scales: np.ndarray,
        degrees: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients and errors (r, t), and statistics and log p (r, tests) of rows."""
        xp = module_of(tile)
        part = tile[xp.asarray(rows)] if len(rows) < len(tile) else tile
        if self._model == "saddle-point":
            beta, error, z, log_p = (value[:, None] for value in self._plain.fit(part[:, 0]))
            return beta / scales, error / scales, np.tile(z, 3), np.tile(log_p, 3)
        t = len(self._terms.names)
        if self._model == "linear":
            inverse = np.linalg.inv(rest[:, :t, :t])
            found = (inverse @ rest[:, :t, t:])[:, :, 0]
            total = np.where(rest[:, t, t] > self._minimum, rest[:, t, t], np.nan)
            found[np.isnan(total)] = np.nan
            residual = np.maximum(total - (found * rest[:, :t, t]).sum(1), EXPLAINED * total)
            covariances = inverse * (residual / degrees)[:, None, None]
        elif self._model == "firth":
            found = np.full((len(rows), t), np.nan)
            covariances = np.full((len(rows), t, t), np.nan)
        else:
            found, covariances = self._plain.fit_terms(part)
        beta, covariances = self._convert(found, covariances, scales)
        statistics, log_p = self._wald(beta, covariances, degrees)
        if self._model.startswith("firth"):
            again = np.flatnonzero(np.isnan(beta[:, 0]) | are_alike(part, self._is_case))
            if len(again):
                values = self._fit_firth(part[xp.asarray(again)], scales[again])
                beta[again], covariances[again], statistics[again], log_p[again] = values
        errors = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
        return beta, errors, statistics, log_p

    def _convert(
        self, found: np.ndarray, covariances: np.ndarray, scales: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return coefficients of the columns as they are, and their covariances."""
        convert = self._coder.convert / scales[:, :, None]
        beta = (convert @ found[:, :, None])[:, :, 0]
        return beta, convert @ covariances @ convert.transpose(0, 2, 1)

    def _wald(
        self, beta: np.ndarray, covariances: np.ndarray, degrees: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return t, z or F of all tests, and log p."""
        statistics, logs = [], []
        for test in map(list, self._terms.tests):
            part, k = beta[:, test], len(test)
            of_part = covariances[:, np.array(test)[:, None], test]
            if k == 1:
                statistic = part[:, 0] / np.sqrt(of_part[:, 0, 0])
                is_linear = self._model == "linear"
                log_p = log_p_of_t(statistic, degrees) if is_linear else log_p_of_z(statistic)
            else:
                statistic = _quadratic(part, of_part) / k
                log_p = log_p_of_f(statistic, k, degrees)
            statistics.append(statistic)
            logs.append(log_p)
        return np.column_stack(statistics), np.column_stack(logs)

    def _fit_firth(self, tile: Any, scales: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return coefficients, their covariances, roots or chi-squares of all tests, and log p."""
        xp, terms = module_of(tile), self._terms
        n_mains = len(terms.mains)
        lifted = tile
        if terms.interactions:
            lifted = xp.einsum("st,mtn->msn", xp.asarray(self._coder.lift), tile)
        unique = list(dict.fromkeys(terms.tests))
        # The effect at e = 0 is a coefficient of columns whose covariates are not centred.
        tests = [(lifted if max(test) < n_mains else tile, test) for test in unique]
        found, covariances, squares = self._firth.fit_terms(tile, tests)
        tests = terms.tests
        squares = squares[:, [unique.index(test) for test in tests]]
        beta, covariances = self._convert(found, covariances, scales)
        statistics, log_p = squares, np.full(squares.shape, np.nan)
        is_fit = np.isfinite(beta[:, 0])
        for number, test in enumerate(tests):
            if len(test) == 1:
                statistics[:, number] = np.sqrt(squares[:, number]) * np.sign(beta[:, test[0]])
                log_p[:, number] = log_p_of_z(statistics[:, number])
            else:
                ones = np.ones(len(test))
                log_p[is_fit, number] = log_p_of_mixture(squares[is_fit, number], ones)
        return beta, covariances, statistics, log_p


def _quadratic(values: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """Return v' C^-1 v of each row, NaN where C is singular."""
    scales = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    with np.errstate(divide="ignore", invalid="ignore"):
        values = values / scales
        correlations = covariances / (scales[:, :, None] * scales[:, None, :])
    is_whole = np.isfinite(correlations).all((1, 2)) & np.isfinite(values).all(1)
    correlations[~is_whole] = np.eye(values.shape[1])
    is_whole &= np.linalg.det(correlations) > 0
    correlations[~is_whole] = np.eye(values.shape[1])
    found = (values * np.linalg.solve(correlations, values[:, :, None])[:, :, 0]).sum(1)
    return np.where(is_whole, found, np.nan)
