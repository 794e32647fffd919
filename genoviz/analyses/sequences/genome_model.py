"""Size, heterozygosity and repeats of a diploid genome, from the k-mer spectrum of its reads.

The multiplicity of a k-mer in reads is about 1, 2, 3 or 4 times the coverage of one haplotype:
once where haplotypes differ, twice where they agree, more in repeats. The model has a negative
binomial distribution at each of these four coverages. The excess at low multiplicities are
sequencing errors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.sequences.kmer_spectrum import KmerSpectrum
from genoviz.errors import ParameterError

NAMES = ("heterozygosity", "duplication", "coverage", "bias", "length")
MIN_EXPLAINED = 0.8
_LOWEST = np.array([0.0, 0.0, 1.0, 1e-3, 1.0])
_HIGHEST = np.array([0.5, 1.0, np.inf, 1e3, np.inf])
# Repeats of a homozygous genome look like differences of a genome half as large. If both models
# fit, the one with far lower heterozygosity is returned; the other is reported if plausible.
_CLOSE, _FAR_LESS, _HIGHEST_TOLD = 1.2, 0.1, 0.1
_MIN_COVERAGE = 4
_N_COPIES = np.arange(1, 5)


@dataclass(frozen=True, eq=False)
class GenomeModel:
    """A k-mer model of a diploid genome, fitted to a spectrum.

    Attributes
    ----------
    k
        Length of the k-mers.
    size, unique_size
        Bases of one haplotype, and bases in k-mers that occur once per haplotype.
    heterozygosity
        Share of bases at which the two haplotypes differ.
    repeat_fraction
        Share of the size that is not unique.
    coverage
        Mean multiplicity of a k-mer of one haplotype in the reads.
    error_rate
        Share of wrong bases in reads.
    bias
        Overdispersion relative to a Poisson distribution: the variance of the coverage is the
        coverage times ``1 + bias``.
    errors
        Standard errors of ``size``, ``heterozygosity``, ``duplication``, ``coverage`` and
        ``bias`` from the fit; NaN if undetermined.
    duplication
        Share of k-mers in two copies in the model.
    first, last
        The fitted range of multiplicities, inclusive.
    fitted
        float64, shape (last,): k-mers of the model at multiplicities 1 to ``last``.
    explained
        Share of the k-mers in the fitted range that the model explains: 1 minus the sum of
        absolute residuals.
    residual
        Root mean square of the residuals, k-mers.
    problem
        Why the fit is unreliable; empty if it converged.
    other
        Size and heterozygosity of an alternative model that fits as well, if any.
    """

    k: int
    size: float
    unique_size: float
    heterozygosity: float
    repeat_fraction: float
    coverage: float
    error_rate: float
    bias: float
    errors: dict[str, float]
    duplication: float
    first: int
    last: int
    fitted: np.ndarray
    explained: float
    residual: float
    problem: str
    other: tuple[float, float] | None

    @property
    def has_converged(self) -> bool:
        """Whether the fit is reliable."""
        return not self.problem


def fit_genome_model(spectrum: KmerSpectrum) -> GenomeModel:
    """Fit a diploid genome model to the spectrum of reads, by least squares.

    Parameters
    ----------
    spectrum
        Canonical spectrum of reads, from `read_spectrum`.

    Raises
    ------
    ParameterError
        If the spectrum is not canonical, or has no peak above the errors.

    References
    ----------
    Vurture et al. 2017, GenomeScope: fast reference-free genome profiling from short reads.
    *Bioinformatics* 33(14), 2202–2204. doi:10.1093/bioinformatics/btx153
    """
    if spectrum.strand != "canonical":
        raise ParameterError(f"the spectrum is {spectrum.strand}, needs to be canonical")
    trough, peak = find_peak(spectrum)
    last = 6 * peak
    counts = np.zeros(last, np.float64)
    is_within = spectrum.multiplicities <= last
    counts[spectrum.multiplicities[is_within] - 1] = spectrum.n_kmers[is_within]
    x = np.arange(1, last + 1)
    rows = slice(trough - 1, last)
    # The highest peak has k-mers of either both haplotypes or one.
    fits = [_fit(x[rows], counts[rows], spectrum.k, coverage) for coverage in (peak / 2, peak)]
    lowest = min(fit.cost for fit in fits)
    close = sorted((fit for fit in fits if fit.cost <= _CLOSE * lowest), key=lambda fit: fit.x[0])
    best, other = min(close, key=lambda fit: fit.cost), close[-1]
    if close[0].x[0] < _FAR_LESS * other.x[0]:
        best = close[0]
    model = _describe(spectrum, best, x, counts, trough)
    if other is best or other.x[0] > _HIGHEST_TOLD:
        return model
    other_size = model.size * best.x[2] / other.x[2]
    return replace(model, other=(float(other_size), float(other.x[0])))


def find_peak(spectrum: KmerSpectrum) -> tuple[int, int]:
    """Return the multiplicities of the valley after the errors and of the peak that follows.

    Counts are smoothed over a number of neighbours equal to the root of the multiplicity.
    """
    top = min(spectrum.max_multiplicity, 100_000)
    counts = np.zeros(top + 2)
    is_within = spectrum.multiplicities <= top
    counts[spectrum.multiplicities[is_within]] = spectrum.n_kmers[is_within]
    sums = np.append(0, np.cumsum(counts))
    x = np.arange(1, top + 1)
    reach = np.sqrt(x).astype(np.int64) // 2
    low, high = np.maximum(x - reach, 1), np.minimum(x + reach, top)
    smooth = (sums[high + 1] - sums[low]) / (high - low + 1)
    rises = np.flatnonzero(smooth[1:] > smooth[:-1])
    if not len(rises):
        raise ParameterError(
            "the spectrum falls from its first multiplicity on, needs a peak: reads of more "
            "coverage, or a smaller k"
        )
    trough = int(rises[0])
    return trough + 1, trough + 1 + int(np.argmax(smooth[trough:]))


def _fit(x: np.ndarray, y: np.ndarray, k: int, coverage: float):
    """Return SciPy's fit, starting from a guess of the coverage."""
    from scipy.optimize import least_squares

    scale = max(float(y.max()), 1.0)
    length = float((x * y).sum()) / (2 * coverage)
    start = np.array([0.01, 0.1, max(coverage, 1.01), 0.5, max(length, 2.0)])
    return least_squares(
        lambda values: (_predict(x, k, values).sum(axis=0) - y) / scale,
        start,
        bounds=(_LOWEST, _HIGHEST),
        x_scale=np.array([0.01, 0.1, coverage, 0.5, length]),
        max_nfev=500,
        xtol=1e-10,
        ftol=1e-10,
        gtol=1e-12,
    )


def _predict(x: np.ndarray, k: int, values: np.ndarray) -> np.ndarray:
    """Return the k-mers in 1 to 4 copies at each multiplicity; float64, shape (4, n)."""
    from scipy.special import gammaln, xlogy

    coverage, bias, length = values[2:]
    means = (_N_COPIES * coverage)[:, None]
    sizes = means / bias
    logs = gammaln(x + sizes) - gammaln(sizes) - gammaln(x + 1)
    logs += xlogy(sizes, sizes / (sizes + means)) + xlogy(x, means / (sizes + means))
    return length * _copies(k, *values[:2])[:, None] * np.exp(logs)


def _copies(k: int, heterozygosity: float, duplication: float) -> np.ndarray:
    """Return the numbers of k-mers in 1 to 4 copies per base of a haplotype."""
    same = (1 - heterozygosity) ** k
    differs, d = 1 - same, duplication
    return np.array(
        [
            2 * (1 - d) * differs + 2 * d * differs**2 + 2 * d * same * differs,
            (1 - d) * same + d * differs**2,
            2 * d * same * differs,
            d * same**2,
        ]
    )


def _describe(spectrum, fit, x: np.ndarray, counts: np.ndarray, first: int) -> GenomeModel:
    k, (r, d, coverage, bias, length) = spectrum.k, fit.x.tolist()
    fitted = _predict(x, k, fit.x).sum(axis=0)
    # Errors are the counts above the model before the two first cross.
    above = np.flatnonzero(counts <= fitted)
    end = min(int(above[0]) if len(above) else 0, first + int(coverage))
    n_wrong = float((x[:end] * np.maximum(counts[:end] - fitted[:end], 0)).sum())
    n_total = spectrum.n_total
    n_right = max(n_total - n_wrong, 0.0)
    size = n_right / (2 * coverage)
    once = _predict(x, k, np.array([r, 0.0, coverage, bias, length])).sum(axis=0) * (1 - d)
    unique = min(float((x * once).sum()) / (2 * coverage), size)
    rows = slice(first - 1, None)
    residuals = counts[rows] - fitted[rows]
    explained = 1 - float(np.abs(residuals).sum()) / max(float(counts[rows].sum()), 1.0)
    residual = float(np.sqrt(np.mean(residuals**2)))
    errors = _standard_errors(fit)
    errors["size"] = errors.pop("length") / length * size
    problem = ""
    if fit.status <= 0:
        problem = "the fit did not converge"
    elif explained < MIN_EXPLAINED:
        problem = f"the model explains only {100 * explained:.0f} % of the k-mers"
    elif coverage < _MIN_COVERAGE:
        problem = f"the coverage of a haplotype is {coverage:.1f}, needs {_MIN_COVERAGE} or more"
    return GenomeModel(
        k=k,
        size=size,
        unique_size=unique,
        heterozygosity=r,
        repeat_fraction=1 - unique / size if size else 0.0,
        coverage=coverage,
        error_rate=1 - (n_right / n_total) ** (1 / k) if n_total else 0.0,
        bias=bias,
        errors=errors,
        duplication=d,
        first=first,
        last=len(x),
        fitted=fitted,
        explained=explained,
        residual=residual,
        problem=problem,
        other=None,
    )


def _standard_errors(fit) -> dict[str, float]:
    """Return the standard error of each parameter from the curvature at the best fit."""
    n_free = max(len(fit.fun) - len(fit.x), 1)
    # Parameters differ by orders of magnitude (a share, a length), so scale them first.
    norms = np.linalg.norm(fit.jac, axis=0)
    norms[norms == 0] = 1.0
    scaled = fit.jac / norms
    variances = np.diag(np.linalg.pinv(scaled.T @ scaled)) / norms**2 * 2 * fit.cost / n_free
    return dict(zip(NAMES, np.sqrt(np.maximum(variances, 0)).tolist(), strict=True))
