"""Firth's tests for traits with few cases, where the Wald test of a logistic model is unreliable.

Firth's penalised likelihood adds half the logarithm of the determinant of the information I::

    l*(b) = l(b) + log |I(b)| / 2,    its gradient  X'(y - p + h (1/2 - p)),

with p the fitted probabilities and h the diagonal of the hat matrix. The estimates are finite even
under complete separation. The test is the penalised likelihood ratio; the restricted model fixes
the effect at 0 under the same penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, make_design
from genoviz.analyses.genotypes.association.p_values import log_p_of_z
from genoviz.analyses.genotypes.association.regressions import (
    CaseModel,
    Fitted,
    are_independent,
)
from genoviz.errors import ParameterError

MAX_FIRTH_STEPS = 1000
"""Near separation each step of some variants leaves most of the distance to the maximum."""
MAX_STEP = 5.0
CONVERGED = 1e-7


class FirthModel(CaseModel):
    """Firth regressions of variants.

    References
    ----------
    Firth 1993, Bias reduction of maximum likelihood estimates, doi:10.1093/biomet/80.1.27
    Heinze and Schemper 2002, A solution to the problem of separation in logistic regression,
    doi:10.1002/sim.1047
    """

    def _without_variant(self, design: Design) -> np.ndarray:
        """Return the coefficients of the intercept alone, which exist under separation too."""
        share, found = design.response.mean(), np.zeros(design.basis.shape[1])
        found[0] = np.log(share / (1 - share)) * np.sign(design.basis[0, 0])
        return found

    def fit(self, dosages: Any) -> Fitted:
        """Return coefficients of dosages (m, n), standard errors, signed roots, and log p."""
        found, covariances, chi_squares = self.fit_terms(dosages, [(dosages, (0,))])
        beta, error = found[:, 0], np.sqrt(covariances[:, 0, 0])
        root = np.sign(beta) * np.sqrt(chi_squares[:, 0])
        return beta, error, root, log_p_of_z(root)

    def fit_terms(
        self, dosages: Any, tests: Sequence[tuple[Any, tuple[int, ...]]]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients (m, t), their covariances (m, t, t), and chi-squares (m, tests).

        A test has the dosages, or a basis of the same space with the same determinant, and the
        terms that are 0 under the null hypothesis.
        """
        c = self._n_columns
        found, information, full, is_fit = self._maximise(dosages, ())
        without = np.empty((len(found), len(tests)))
        for number, (tile, terms) in enumerate(tests):
            _, _, without[:, number], is_done = self._maximise(tile, [c + j for j in terms])
            is_fit &= is_done
        information[~is_fit] = np.eye(information.shape[1])
        inverses = np.linalg.inv(information)
        is_fit &= are_independent(information, inverses)
        full[~is_fit] = without[~is_fit] = 0  # not the difference of two infinities
        values = found[:, c:], inverses[:, c:, c:]
        values = (*values, np.maximum(2 * (full[:, None] - without), 0))
        for value in values:
            value[~is_fit] = np.nan
        return values

    def _maximise(
        self, dosages: Any, fixed: Sequence[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return coefficients (m, k), information (m, k, k), likelihoods (m,), and a done mask.

        Steps that lower the likelihood are halved. Fixed coefficients stay at 0.
        """
        m, k = len(dosages), len(self._start)
        free = np.delete(np.arange(k), fixed)
        found, step = np.tile(self._start, (m, 1)), np.zeros((m, k))
        information, value = np.empty((m, k, k)), np.full(m, -np.inf)
        is_done, active = np.zeros(m, bool), np.arange(m)
        for _ in range(MAX_FIRTH_STEPS):
            tried = found[active] + step[active]
            likelihood, gradient, hessian = self._evaluate(dosages, active, tried)
            is_better = likelihood >= value[active] - 1e-9
            step[active[~is_better]] /= 2
            rows = active[is_better]
            found[rows], value[rows] = tried[is_better], likelihood[is_better]
            information[rows] = hessian[is_better]
            is_last = np.abs(step[rows]).max(1) < CONVERGED
            is_last &= np.isfinite(step[rows]).all(1) & (step[rows] != 0).any(1)
            is_done[rows] = is_last
            part = hessian[is_better][:, free[:, None], free]
            slope = gradient[is_better][:, free]
            is_whole = np.linalg.det(part) > 0
            part[~is_whole] = np.eye(part.shape[1])
            new = np.linalg.solve(part, slope[:, :, None])[:, :, 0]
            new[~is_whole] = np.nan
            new *= np.minimum(1, MAX_STEP / np.maximum(np.abs(new).max(1), MAX_STEP))[:, None]
            # The information ignores the penalty, so steps could oscillate forever.
            new[(new * step[rows[:, None], free]).sum(1) < 0] /= 2
            step[rows[:, None], free] = new
            is_stuck = np.abs(step[active]).max(1) < 1e-14
            is_done[active[is_stuck & np.isfinite(value[active])]] = True
            active = active[~is_done[active] & np.isfinite(step[active]).all(1) & ~is_stuck]
            if not len(active):
                break
        return found, information, value, is_done

    def _evaluate(
        self, dosages: Any, rows: np.ndarray, coefficients: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return penalised likelihoods (r,), their gradients (r, k), and the information."""
        common = dosages, rows, self._phenotype, self._columns, coefficients
        gradient, hessian = self._kernel.derivatives(*common)
        sign, log_size = np.linalg.slogdet(hessian)
        is_whole = sign > 0
        inverse = hessian.copy()
        inverse[~is_whole] = np.eye(inverse.shape[1])
        likelihood, pull = self._kernel.penalties(*common, np.linalg.inv(inverse))
        penalised = np.where(is_whole, likelihood + log_size / 2, -np.inf)
        return penalised, gradient + pull, hessian


@dataclass(frozen=True, eq=False)
class FirthFit:
    """A regression of cases and controls with Firth's penalised likelihood.

    Attributes
    ----------
    coefficients, standard_errors
        float64, shape (c,): log odds ratio of each column, and their standard errors.
    chi_squares, p
        float64, shape (c,): penalised likelihood ratio test of each column.
    """

    coefficients: np.ndarray
    standard_errors: np.ndarray
    chi_squares: np.ndarray
    p: np.ndarray


def firth_logistic(columns: np.ndarray, is_case: np.ndarray) -> FirthFit:
    """Fit a logistic regression with Firth's penalised likelihood, as R's logistf.

    Parameters
    ----------
    columns
        Numbers, shape (n_samples, c), without missing values; the intercept is added.
    is_case
        Cases and controls, shape (n_samples,): bool, or two values of which cases have the higher.

    Raises
    ------
    ParameterError
        If shapes do not match, there are not two values, or the columns are collinear.

    References
    ----------
    Heinze and Schemper 2002, A solution to the problem of separation in logistic regression,
    doi:10.1002/sim.1047

    Examples
    --------
    >>> fit = firth_logistic(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 0, 1, 1]))
    >>> fit.coefficients.round(4).tolist()
    [3.2189]
    """
    columns = np.asarray(columns, np.float64)
    y = np.asarray(is_case, np.float64)
    design = make_design(len(y), y, columns, trait="the outcome").of_cases()
    if len(design.names) < columns.shape[1] or design.n_samples < len(y):
        said = "; ".join(design.notes) or "a number is missing"
        raise ParameterError(f"each column needs numbers that say something new: {said}")
    found = []
    for number in range(columns.shape[1]):
        others = make_design(len(y), y, np.delete(columns, number, 1)).of_cases()
        centre, scale = columns[:, number].mean(), columns[:, number].std()
        tile = ((columns[:, number] - centre) / scale)[None]
        beta, error, root, log_p = (values[0] for values in FirthModel(others, "cpu").fit(tile))
        found.append((beta / scale, error / scale, root**2, np.exp(log_p)))
    return FirthFit(*np.array(found).reshape(-1, 4).T)
