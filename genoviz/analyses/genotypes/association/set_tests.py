"""Tests of sets of variants, such as genes: burden, SKAT and their combination.

The null model has the covariates C alone. With residuals r of variance sigma^2, or of a logistic
model with fitted probabilities p::

    U = G'r / sigma,  V = 1    or    U = G'r,  V = diag(p (1 - p))
    S = G'VG - G'VC (C'VC)^-1 C'VG,  the covariance of U

where G are the dosages of minor alleles. For weights w, burden tests w'U with variance w'Sw, and
SKAT tests Q = |w * U|^2 / 2, which is a mixture of chi-squares whose weights are half the
eigenvalues of diag(w) S diag(w). Dosages are decoded set by set, in blocks of samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, make_design
from genoviz.analyses.genotypes.association.logistic import fit_without_variant
from genoviz.analyses.genotypes.association.p_values import log_p_of_mixture, log_p_of_z
from genoviz.analyses.genotypes.association.regressions import UNVARIED
from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import note_left_out, variants_of
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import Progress, in_one_go
from genoviz.kernels.logistic_derivatives import MAX_LOGIT
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes

WHAT = "Testing sets"
MODELS = ("linear", "logistic")
WEIGHTS = ("beta", "none")
_BLOCK_VALUES = 1 << 17
_LOW_BITS = np.uint8(0b01_01_01_01)
_SMALL_LOG_P = -34.0


@dataclass(frozen=True, eq=False)
class SetTests:
    """Tests of sets of variants; NaN for a set that cannot be tested.

    Attributes
    ----------
    names
        str, shape (n_sets,).
    n_variants
        int64, shape (n_sets,): variants that vary and are rare enough.
    n_carriers
        int64, shape (n_sets,): samples with a minor allele of any of them.
    beta, standard_error
        float64, shape (n_sets,): change of the phenotype, or of the log odds, by one unit of the
        weighted count of minor alleles, and its standard error, at the null model.
    burden_log10_p
        float64, shape (n_sets,): -log10 p of the score test of burden.
    skat_q, skat_log10_p
        float64, shape (n_sets,): statistic of SKAT, and its -log10 p.
    acat_log10_p
        float64, shape (n_sets,): -log10 p of both by the Cauchy combination.
    n_samples
        Samples with the phenotype and all covariates.
    notes
        What was left out, one sentence each.
    """

    names: np.ndarray
    n_variants: np.ndarray
    n_carriers: np.ndarray
    beta: np.ndarray
    standard_error: np.ndarray
    burden_log10_p: np.ndarray
    skat_q: np.ndarray
    skat_log10_p: np.ndarray
    acat_log10_p: np.ndarray
    n_samples: int
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, np.ndarray]:
        """Table columns."""
        return {
            "#SET": self.names, "N_VARIANTS": self.n_variants, "N_CARRIERS": self.n_carriers,
            "BURDEN_BETA": self.beta, "BURDEN_SE": self.standard_error,
            "BURDEN_NEG_LOG10_P": self.burden_log10_p, "SKAT_Q": self.skat_q,
            "SKAT_NEG_LOG10_P": self.skat_log10_p, "ACAT_NEG_LOG10_P": self.acat_log10_p,
        }  # fmt: skip


def iter_associate_sets(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    sets: Mapping[str, np.ndarray],
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    model: Literal["linear", "logistic"] = "linear",
    max_maf: float = 0.01,
    weights: Literal["beta", "none"] = "beta",
    min_variants: int = 1,
) -> Iterator[Progress]:
    """Test sets of variants for association; the last step has the `SetTests`.

    All tests are score tests of the model without variants, with asymptotic p values. Missing
    genotypes count as the mean, as in the saddle-point and mixed models of `iter_associate`.
    Frequencies are those in the samples that take part. At a frequency of exactly 0.5, the counted
    allele is A1. Variants of X, Y and MT are left out, with a note.

    Parameters
    ----------
    genotypes
        The genotypes.
    phenotype, covariates, covariate_names
        As in `iter_associate`.
    sets
        Indices of the variants of each set, int64, by name; a variant may be in several sets.
    model
        ``"linear"``, or ``"logistic"`` for cases and controls.
    max_maf
        Maximum minor allele frequency of a variant, above 0 and at most 0.5.
    weights
        ``"beta"``: density of the beta distribution with parameters 1 and 25 at the minor allele
        frequency f, 25 (1 - f)^24; ``"none"``: 1.
    min_variants
        A set with fewer variants is not tested.

    Raises
    ------
    ParameterError
        If an option is out of range, a set has an index that is no variant, arguments do not match,
        too few samples are left, the phenotype is constant, or the covariates explain it entirely.

    References
    ----------
    Wu et al. 2011, Rare-variant association testing for sequencing data with the sequence kernel
    association test, doi:10.1016/j.ajhg.2011.05.029
    Li and Leal 2008, Methods for detecting associations with rare variants for common diseases,
    doi:10.1016/j.ajhg.2008.06.024 (burden)
    Liu et al. 2019, ACAT: a fast and powerful p value combination method for rare-variant analysis
    in sequencing studies, doi:10.1016/j.ajhg.2019.01.002 (Cauchy combination)
    """
    _check_options(genotypes, sets, model, max_maf, weights, min_variants)
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    design = design.of_cases() if model == "logistic" else design
    design.check_unexplained()
    null = _NullModel(design, is_binary=model == "logistic")
    others = variants_of(genotypes, Kind.X, Kind.Y, Kind.MT)
    parts = [np.setdiff1d(np.asarray(rows, np.int64), others) for rows in sets.values()]
    used = np.unique(np.concatenate([np.empty(0, np.int64), *parts]))
    part = genotypes.take_variants(used)
    if design.n_samples < genotypes.n_samples:
        part = select_samples(part, design.kept)
    yield Progress(WHAT, 0.0)
    counts = allele_counts(part, backend="cpu")
    found = np.full((6, len(parts)), np.nan)
    n_variants, n_carriers = np.zeros((2, len(parts)), np.int64)
    for k, rows in enumerate(parts):
        group = _Group.of(part, counts, np.searchsorted(used, rows), max_maf)
        n_variants[k] = len(group.packed)
        if len(group.packed):
            n_carriers[k] = group.count_carriers(design.n_samples)
        if len(group.packed) >= min_variants:
            found[:, k] = null.test(group, has_weights=weights == "beta")
        yield Progress(WHAT, (k + 1) / len(parts))
    notes = design.notes + note_left_out(genotypes) + _describe(n_variants, found, min_variants)
    names = np.array([*sets], np.str_)
    tests = SetTests(names, n_variants, n_carriers, *found, design.n_samples, notes)
    yield Progress(WHAT, 1.0, tests)


@in_one_go(iter_associate_sets)
def associate_sets(last: Progress) -> SetTests:
    """Return the tests of sets of variants; see `iter_associate_sets`.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> genotypes = simulate_genotypes(300, 20, seed=1)
    >>> noise = np.random.default_rng(1).normal(size=300)
    >>> sets = {"first": np.arange(10), "second": np.arange(10, 20)}
    >>> y = genotypes.dosages(slice(12, 13))[:, 0] + noise
    >>> found = associate_sets(genotypes, y, sets, max_maf=0.5, weights="none")
    >>> str(found.names[found.skat_log10_p.argmax()])
    'second'
    """
    return last.result


@dataclass(frozen=True, eq=False)
class _Group:
    """The rare variants of a set: packed genotypes, minor allele frequencies, values of codes.

    ``sign`` is 1 where A1 is the minor allele and -1 where A2 is.
    """

    packed: np.ndarray
    frequencies: np.ndarray
    sign: np.ndarray
    of_codes: np.ndarray

    @classmethod
    def of(
        cls, genotypes: Genotypes, counts: np.ndarray, rows: np.ndarray, max_maf: float
    ) -> _Group:
        frequencies = frequencies_of_counts(counts[rows])
        minor = np.minimum(frequencies, 1 - frequencies)
        called = np.delete(counts[rows], MISSING_CODE, 1)
        is_varied = called.max(1) < called.sum(1)
        kept = is_varied & (minor <= max_maf)
        sign = np.where(frequencies[kept] > 0.5, -1.0, 1.0)
        values = sign[:, None] * values_of_codes(frequencies[kept])
        return cls(genotypes.packed[rows[kept]], minor[kept], sign, values)

    def count_carriers(self, n_samples: int) -> int:
        """Return the number of samples with a minor allele at any variant."""
        bits = np.zeros(self.packed.shape[1], np.uint8)
        for row, sign in zip(self.packed, self.sign, strict=True):
            # Codes 00 and 10 have A1, codes 10 and 11 have A2.
            bits |= (~row if sign > 0 else row >> 1) & _LOW_BITS
        return int(np.unpackbits(bits, bitorder="little")[: 2 * n_samples : 2].sum())


class _NullModel:
    """The model without variants: residuals, their variances, and the covariates."""

    def __init__(self, design: Design, *, is_binary: bool) -> None:
        self._columns = columns = design.basis * np.sqrt(len(design.basis))
        y = design.response
        if is_binary:
            logits = columns @ fit_without_variant(columns, y)
            fitted = 1 / (1 + np.exp(-np.clip(logits, -MAX_LOGIT, MAX_LOGIT)))
            self._scale, self._residuals, self._variances = 1.0, y - fitted, fitted * (1 - fitted)
        else:
            residuals = y - design.basis @ (design.basis.T @ y)
            self._scale = np.sqrt(residuals @ residuals / (len(y) - design.basis.shape[1]))
            self._residuals, self._variances = residuals / self._scale, np.ones(len(y))
        self._within = (columns * self._variances[:, None]).T @ columns

    def test(self, group: _Group, *, has_weights: bool) -> tuple[float, ...]:
        """Return burden's beta, error and -log10 p, SKAT's Q and -log10 p, and that of both."""
        scores, covariance = self._scores(group)
        weights = 25 * (1 - group.frequencies) ** 24 if has_weights else np.ones(len(scores))
        scores, covariance = weights * scores, weights[:, None] * covariance * weights
        if not np.diagonal(covariance).any():
            return (np.nan,) * 6
        statistic = scores @ scores / 2
        values = np.linalg.eigvalsh(covariance) / 2
        of_skat = log_p_of_mixture(statistic, values[values > UNVARIED * values[-1]])
        q, skat = statistic, -of_skat / np.log(10)
        variance = covariance.sum()
        if variance <= UNVARIED * np.abs(covariance).sum():
            return np.nan, np.nan, np.nan, q, skat, skat
        total = scores.sum()
        of_burden = float(log_p_of_z(total / np.sqrt(variance)))
        both = -_combine(np.array([of_burden, of_skat])) / np.log(10)
        error = self._scale / np.sqrt(variance)
        return self._scale * total / variance, error, -of_burden / np.log(10), q, skat, both

    def _scores(self, group: _Group) -> tuple[np.ndarray, np.ndarray]:
        """Return scores (m,) and their covariance (m, m); 0 where covariates explain a variant."""
        decode = load_kernel("genotype_decode", "cpu").decode
        m, n = len(group.packed), len(self._residuals)
        scores, covariance = np.zeros(m), np.zeros((m, m))
        across = np.zeros((m, self._columns.shape[1]))
        step = 4 * max(1, _BLOCK_VALUES // (4 * m))
        for first in range(0, n, step):
            part = slice(first, min(first + step, n))
            packed = np.ascontiguousarray(group.packed[:, first // 4 : (part.stop + 3) // 4])
            tile = decode(packed, part.stop - first, group.of_codes)
            scores += tile @ self._residuals[part]
            weighted = tile * self._variances[part]
            covariance += weighted @ tile.T
            across += weighted @ self._columns[part]
        squares = np.diagonal(covariance).copy()
        covariance -= across @ np.linalg.solve(self._within, across.T)
        covariance = (covariance + covariance.T) / 2
        explained = np.diagonal(covariance) <= UNVARIED * squares
        scores[explained] = covariance[explained] = covariance[:, explained] = 0
        return scores, covariance


def _combine(log_p: np.ndarray) -> float:
    """Return log p of the mean of Cauchy variables cot(pi p); for p = 1, Bonferroni's."""
    least = log_p.min()
    if log_p.max() >= 0:
        return float(min(least + np.log(len(log_p)), 0.0))
    if least > _SMALL_LOG_P:
        mean = (1 / np.tan(np.pi * np.exp(log_p))).mean()
        return float(np.log(np.arctan2(1.0, mean) / np.pi))
    # Of a small p the variable is 1 / (pi p), and p of a large mean is 1 / (pi mean).
    return float(least - np.log(np.exp(least - log_p).mean()))


def _check_options(
    genotypes: Genotypes, sets: Mapping[str, np.ndarray], model: str, max_maf: float, weights: str,
    min_variants: int,
) -> None:  # fmt: skip
    for what, found, known in (("model", model, MODELS), ("weights", weights, WEIGHTS)):
        if found not in known:
            raise ParameterError(f"{what} is {found!r}, needs one of {', '.join(known)}")
    if not 0 < max_maf <= 0.5:
        raise ParameterError(f"max_maf is {max_maf:g}, needs to be above 0 and at most 0.5")
    if min_variants < 1:
        raise ParameterError(f"min_variants is {min_variants}, needs to be 1 or more")
    if not sets:
        raise ParameterError("there are no sets of variants to test, needs one at least")
    for name, rows in sets.items():
        rows = np.asarray(rows)
        if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
            raise ParameterError(
                f"set {name} is {rows.dtype} of {rows.ndim} dimensions, needs integers of 1"
            )
        if rows.size and not 0 <= rows.min() <= rows.max() < genotypes.n_variants:
            raise ParameterError(
                f"set {name} has an index beyond the {genotypes.n_variants:,} variants"
            )


def _describe(n_variants: np.ndarray, found: np.ndarray, min_variants: int) -> tuple[str, ...]:
    """Return notes on the sets that are not tested."""
    n_few = int((n_variants < min_variants).sum())
    n_explained = int(np.isnan(found[3]).sum()) - n_few
    needed = f"fewer than {min_variants}" if min_variants > 1 else "no"
    notes = []
    if n_few:
        notes.append(
            f"Not tested: {n_few:,} of {len(n_variants):,} sets, with {needed} variants that vary "
            "and are rare enough."
        )
    if n_explained:
        what = "set" if n_explained == 1 else "sets"
        notes.append(f"Not tested: {n_explained:,} {what} whose variants the covariates explain.")
    return tuple(notes)
