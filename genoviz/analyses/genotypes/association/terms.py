"""Regression on several columns for each variant: dominance, and interactions with covariates.

A genetic model makes one or two columns f of a dosage x (0 to 2, of A1), piecewise linear::

    additive, ADD   x            dominant, DOM        min(x, 1)
    recessive, REC  max(x-1, 0)  heterozygous, HET    1 - |x - 1|
    genotypic: ADD, DOMDEV = HET          hethom: HOM = REC, HET

An interaction with a covariate e adds the columns f e. Blocks of variants are dense. Covariates are
centred for numerical reasons; coefficients are converted, so that the effect of f is that at e = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, Fits
from genoviz.analyses.genotypes.association.regressions import UNVARIED, eliminate
from genoviz.backend import Backend, array_module, to_host
from genoviz.errors import ParameterError, check_choice

GENETIC_MODELS = {
    "additive": ("ADD",),
    "dominant": ("DOM",),
    "recessive": ("REC",),
    "hetonly": ("HET",),
    "genotypic": ("ADD", "DOMDEV"),
    "hethom": ("HOM", "HET"),
}
"""Columns of the genetic models, with PLINK's names."""
GeneticModel = Literal["additive", "dominant", "recessive", "hetonly", "genotypic", "hethom"]


@dataclass(frozen=True, eq=False)
class TermTests:
    """Tests of one of several columns of each variant.

    Attributes
    ----------
    name
        As in PLINK: ADD, DOMDEV, HOM, HET, ADDxage.
    beta, standard_error, statistic, p
        float64, shape (n_variants,): as of `iter_associate`. With interactions, ADD is the
        effect where these covariates are 0.
    """

    name: str
    beta: np.ndarray
    standard_error: np.ndarray
    statistic: np.ndarray
    p: np.ndarray

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Table columns of the tests."""
        return {
            f"{self.name}_BETA": self.beta, f"{self.name}_SE": self.standard_error,
            f"{self.name}_STAT": self.statistic, f"{self.name}_P": self.p,
        }  # fmt: skip


@dataclass(frozen=True)
class Terms:
    """The columns of a variant in a regression.

    Attributes
    ----------
    genetic_model
        One of `GENETIC_MODELS`.
    interactions
        Names of the covariates that the columns of the genetic model are multiplied with.
    """

    genetic_model: str = "additive"
    interactions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_choice("genetic_model", self.genetic_model, GENETIC_MODELS)

    @property
    def mains(self) -> tuple[str, ...]:
        """The columns of the genetic model."""
        return GENETIC_MODELS[self.genetic_model]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All columns, with PLINK's names."""
        products = [f"{f}x{e}" for e in self.interactions for f in self.mains]
        return (*self.mains, *products)

    @property
    def tested(self) -> tuple[int, ...]:
        """The columns of the test of a scan: the interactions, or all if there are none."""
        first = len(self.mains) if self.interactions else 0
        return tuple(range(first, len(self.names)))

    @property
    def tests(self) -> list[tuple[int, ...]]:
        """The columns of each test: of one column each, then of a scan, then of all columns."""
        each = [(number,) for number in range(len(self.names))]
        return [*each, self.tested, tuple(range(len(self.names)))]

    def check(self, design: Design, model: str) -> None:
        """Raise `ParameterError` if a covariate is lacking, or the model takes one column only."""
        if lacked := self.lacked_by(design):
            known = ", ".join(design.names) or "none"
            raise ParameterError(
                f"the interaction with {lacked[0]} needs it among the covariates; these are {known}"
            )
        if model == "saddle-point" and len(self.names) > 1:
            raise ParameterError(
                f"the saddle-point test is of one column; the model has {', '.join(self.names)}"
            )

    def lacked_by(self, design: Design) -> list[str]:
        """Return the covariates of interactions that a design lacks."""
        return [name for name in self.interactions if name not in design.names]

    def tests_of(
        self, fits: Fits
    ) -> tuple[tuple[TermTests, ...], tuple[np.ndarray | None, np.ndarray | None]]:
        """Return the tests of each column if there are several; and, with interactions, of all."""
        tests = [
            TermTests(name, *fits.terms[:, number, :3].T, np.exp(fits.terms[:, number, 3]))
            for number, name in enumerate(self.names)
        ]
        joint = fits.joint[:, 0], np.exp(fits.joint[:, 1])
        each = tuple(tests) if len(tests) > 1 else ()
        return each, joint if self.interactions else (None, None)

    def columns_of(self, design: Design) -> np.ndarray:
        """Return the covariates of interactions: float64 (n, count), of the complete samples."""
        places = [design.names.index(name) for name in self.interactions]
        return design.covariates[design.kept][:, places]


class TermCoder:
    """Makes the columns of variants, standardised: the covariates c, and t columns.

    Attributes
    ----------
    lift
        float64, shape (t, t): the product of it with the columns has covariates that are not
        centred.
    convert
        float64, shape (t, t): its product with coefficients of these columns are those of columns
        that are not standardised, but for the scales of the columns of the genetic model.
    """

    def __init__(
        self, terms: Terms, design: Design, weights: np.ndarray | None, backend: Backend
    ) -> None:
        self._xp = xp = array_module(backend)
        self._terms = terms
        self._weights = None if weights is None else xp.asarray(weights)
        others = terms.columns_of(design)
        means, spreads = others.mean(0), others.std(0)
        self._others = xp.asarray(np.ascontiguousarray(((others - means) / spreads).T))
        n = len(terms.mains)
        self.lift = np.eye(len(terms.names))
        units = np.ones(len(terms.names))
        for number, (mean, spread) in enumerate(zip(means, spreads, strict=True), 1):
            for f in range(n):
                self.lift[number * n + f, f] = mean / spread
                units[number * n + f] = spread
        self.convert = np.linalg.inv(self.lift).T / units[:, None]
        self._columns = xp.asarray(np.column_stack([design.basis, design.unexplained]))

    def code(self, dosages: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Return columns (m, t, n), NaN where missing, their scales (m, t), and mean dosages (m,).

        An interaction has the scale of its column of the genetic model.
        """
        xp, n = self._xp, len(self._terms.mains)
        is_missing = xp.isnan(dosages)
        n_called = xp.maximum((~is_missing).sum(1), 1)
        x = xp.where(is_missing, 0.0, dosages)
        means = x.sum(1) / n_called
        tile = xp.empty((len(x), len(self._terms.names), x.shape[1]))
        for number, name in enumerate(self._terms.mains):
            tile[:, number] = _coded(xp, x, name)
        tile[:, :n] *= ~is_missing[:, None]
        if self._weights is not None:
            tile[:, :n] *= self._weights
        centres = tile[:, :n].sum(2) / n_called[:, None]
        squares = (((tile[:, :n] - centres[:, :, None]) * ~is_missing[:, None]) ** 2).sum(2)
        # Dosages are multiples of 1/16384, so less is the rounding error of the mean.
        scales = xp.sqrt(xp.where(squares < 1e-12, 0.0, squares) / n_called[:, None])
        tile[:, :n] /= xp.where(scales > 0, scales, 1.0)[:, :, None]
        for number, other in enumerate(self._others, 1):
            tile[:, number * n : (number + 1) * n] = tile[:, :n] * other
        tile -= (tile.sum(2) / n_called[:, None])[:, :, None]
        tile[:, :n] *= (scales > 0)[:, :, None]
        tile += xp.where(is_missing, xp.nan, 0.0)[:, None]
        return tile, np.tile(to_host(scales), len(self._others) + 1), to_host(means)

    def eliminate(self, tile: Any, is_missing: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return products of the columns and the phenotype without the covariates, and a mask.

        The products are float64 (m, t + 1, t + 1); the mask, bool (m,), has the variants whose
        columns are independent.
        """
        xp, columns = self._xp, self._columns
        m, t, _ = tile.shape
        values = xp.where(is_missing[:, None], 0.0, tile)
        p = columns.shape[1]
        common = xp.tile(columns.T @ columns, (m, 1, 1))
        holed = xp.flatnonzero(is_missing.any(1))
        if len(holed):
            lost = is_missing[holed].astype(np.float64)
            for number in range(p):
                common[holed, number] -= (lost * columns[:, number]) @ columns
        systems = xp.empty((m, p + t, p + t))
        order = np.r_[0 : p - 1, p + t - 1]
        systems[:, order[:, None], order] = common
        inner = slice(p - 1, p + t - 1)
        across = values @ columns
        systems[:, inner, order] = across
        systems[:, order, inner] = across.transpose(0, 2, 1)
        systems[:, inner, inner] = values @ values.transpose(0, 2, 1)
        systems = to_host(systems)
        squares = np.diagonal(systems, axis1=1, axis2=2)[:, inner]
        rest = part = eliminate(systems, p - 1)
        is_whole = np.ones(m, bool)
        for number in range(t):
            is_whole &= part[:, 0, 0] > UNVARIED * squares[:, number]
            is_whole &= squares[:, number] > 0
            part = eliminate(part, 1)
        return rest, is_whole


def _coded(xp: Any, x: Any, name: str) -> Any:
    """Return a column of a genetic model for dosages of 0 to 2."""
    if name == "ADD":
        return x
    if name == "DOM":
        return xp.minimum(x, 1.0)
    if name in ("REC", "HOM"):
        return xp.maximum(x - 1.0, 0.0)
    return 1.0 - xp.abs(x - 1.0)
