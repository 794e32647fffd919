"""Fine mapping of a region with the sum of single effects model (SuSiE).

The phenotype is a sum of L effect vectors, each with exactly one non-zero entry::

    y = X (b_1 + ... + b_L) + e,    b_l = e_g v,  g with probabilities pi,  v ~ N(0, V_l)

The posterior is approximated by updating the b_l in turn, given the expectation of the others. Each
gets probabilities alpha_l over variants from single-variant Bayes factors. The input is X'X, X'y
and y'y, which are three products of packed genotypes, or z scores and the correlations of the
variants.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, make_design
from genoviz.analyses.genotypes.association.single_effects import (
    CredibleSet,
    FineMappingOptions,
    SingleEffects,
)
from genoviz.analyses.genotypes.covariates import note_few_samples
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_minimum, n_words
from genoviz.generators import Progress, in_one_go, last_of, report_steps
from genoviz.model.genotypes.genotypes import Genotypes

WHAT = "Fine mapping"
MAX_VARIANTS = 20_000
_COLUMNS = 64
_UNVARIED = 1e-9


@dataclass(frozen=True, eq=False)
class FineMapping:
    """Variants of a region that have effects.

    Attributes
    ----------
    inclusion
        float64, shape (n_variants,): posterior inclusion probability (PIP); NaN if the variant is
        constant or collinear with the covariates.
    effects
        float64, shape (n_variants,): posterior mean change of the phenotype per copy of A1; from z
        scores, in standard deviations of phenotype and dosage.
    alpha
        float64, shape (n_effects, n_variants): probabilities of the variants of each single effect.
    prior_variances
        float64, shape (n_effects,): V for dosages of variance 1; 0 if there is no effect.
    residual_variance
        Residual variance of the phenotype.
    credible_sets
        Credible sets that are pure enough, in the order of their effects.
    bounds
        float64: evidence lower bound (ELBO) after each iteration.
    n_samples
        Number of samples with a phenotype and all covariates.
    is_converged
        Whether the last iteration changed the bound by less than the tolerance.
    notes
        Covariates that were left out, and fewer than 50 samples, one sentence each.
    """

    inclusion: np.ndarray
    effects: np.ndarray
    alpha: np.ndarray
    prior_variances: np.ndarray
    residual_variance: float
    credible_sets: tuple[CredibleSet, ...]
    bounds: np.ndarray
    n_samples: int
    is_converged: bool
    notes: tuple[str, ...] = ()


def iter_fine_map(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    options: FineMappingOptions | None = None,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Find the variants of a region that have effects; the last step has the `FineMapping`.

    Equivalent to susieR's ``susie`` with its defaults, including a uniform prior over variants.

    Parameters
    ----------
    genotypes
        Genotypes of the region, up to 20,000 variants. Missing genotypes are replaced by the mean;
        males at X have the dosages of the file.
    phenotype
        Numbers, shape (n_samples,); NaN is missing.
    covariates, covariate_names
        As in `iter_associate`; regressed out of phenotype and dosages.
    options
        Model and convergence options.
    backend
        Where to multiply genotypes.

    Raises
    ------
    ParameterError
        If arguments do not match, there are too many variants, none varies, or too few samples are
        left.

    References
    ----------
    Wang et al. 2020, A simple new approach to variable selection in regression, with application to
    genetic fine mapping, doi:10.1111/rssb.12388.
    """
    options = options or FineMappingOptions()
    if genotypes.n_variants > MAX_VARIANTS:
        raise ParameterError(
            f"the region has {genotypes.n_variants:,} variants, needs at most {MAX_VARIANTS:,}"
        )
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    design.check_unexplained()
    if design.n_samples < genotypes.n_samples:
        genotypes = select_samples(genotypes, design.kept)
    steps = _iter_moments(genotypes, design, backend)
    cross, across, squares = yield from report_steps(steps, WHAT, 0.0, 0.5)
    n = design.n_samples - (design.basis.shape[1] - 1)
    variances = np.diagonal(cross) / (n - 1)
    yield from _iter_regions(cross, across, squares, n, np.sqrt(variances), options, design)


@in_one_go(iter_fine_map)
def fine_map(last: Progress) -> FineMapping:
    """Find the variants of a region that have effects; see `iter_fine_map`.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> genotypes = simulate_genotypes(500, 20, seed=1)
    >>> noise = np.random.default_rng(1).normal(size=500)
    >>> found = fine_map(genotypes, genotypes.dosages(slice(7, 8))[:, 0] + noise)
    >>> int(found.inclusion.argmax())
    7
    """
    return last.result


def fine_map_summary(
    z: np.ndarray,
    correlations: np.ndarray,
    n_samples: int,
    *,
    options: FineMappingOptions | None = None,
) -> FineMapping:
    """Find the variants with effects from z scores and correlations, as ``susie_rss``.

    Parameters
    ----------
    z
        float64, shape (m,): single-variant effects divided by their standard errors; variants with
        NaN are skipped.
    correlations
        float64, shape (m, m): r (not r^2) of the dosages of the same alleles, in the samples of
        the scan or in others of the same population.
    n_samples
        Number of samples of the scan.
    options
        As for `iter_fine_map`. The residual variance defaults to that of the phenotype, because it
        cannot be estimated if the correlations come from other samples.

    Raises
    ------
    ParameterError
        If shapes do not match, or a number is out of range.

    References
    ----------
    Zou et al. 2022, Fine-mapping from summary data with the "Sum of Single Effects" model,
    doi:10.1371/journal.pgen.1010299.
    """
    options = options or FineMappingOptions()
    z, r = np.asarray(z, np.float64), np.asarray(correlations, np.float64)
    if z.ndim != 1 or r.shape != (len(z), len(z)):
        raise ParameterError(f"z has shape {z.shape} and correlations {r.shape}, need (m,), (m, m)")
    if len(z) > MAX_VARIANTS:
        raise ParameterError(f"there are {len(z):,} variants, needs at most {MAX_VARIANTS:,}")
    check_minimum("n_samples", n_samples, 3)
    is_there = np.isfinite(z) & np.isfinite(np.diagonal(r))
    if (
        not np.isfinite(r[np.ix_(is_there, is_there)]).all()
        or (np.abs(r[is_there]) > 1 + 1e-6).any()
    ):
        raise ParameterError("correlations have numbers that are not within -1 and 1")
    shrunk = z * np.sqrt((n_samples - 1) / (z**2 + n_samples - 2))
    cross = (n_samples - 1) * np.where(is_there & is_there[:, None], r, 0.0)
    across = np.sqrt(n_samples - 1) * np.where(is_there, shrunk, 0.0)
    if options.residual_variance is None:
        options = replace(options, residual_variance=1.0)
    scales = is_there.astype(np.float64)
    return last_of(
        _iter_regions(cross, across, n_samples - 1.0, n_samples, scales, options, None)
    ).result


def _iter_moments(
    genotypes: Genotypes, design: Design, backend: Backend
) -> Generator[float, None, tuple[np.ndarray, np.ndarray, float]]:
    """Return X'X, X'y and y'y of centred dosages after projecting out the covariates."""
    counts = allele_counts(genotypes, backend=backend)
    matrix = GenotypeMatrix(genotypes, counts=counts, backend=backend)
    y = design.unexplained
    m = genotypes.n_variants
    on_basis = matrix.multiply_transposed(np.column_stack([design.basis, y]))
    across, on_basis = on_basis[:, -1].copy(), on_basis[:, :-1]
    cross = np.empty((m, m))
    for first in range(0, m, _COLUMNS):
        block = slice(first, min(first + _COLUMNS, m))
        dosages = genotypes.dosages(block).astype(np.float64)
        means = 2 * matrix.frequencies[block]
        columns = np.where(dosages < 0, 0.0, dosages - means)
        cross[:, block] = matrix.multiply_transposed(np.ascontiguousarray(columns))
        yield block.stop / m
    cross -= on_basis @ on_basis.T
    cross = (cross + cross.T) / 2
    squares = (counts * matrix.values**2).sum(1)
    is_rounding = np.diagonal(cross) <= _UNVARIED * squares
    cross[is_rounding] = cross[:, is_rounding] = across[is_rounding] = 0
    return cross, across, float(y @ y)


def _iter_regions(
    cross: np.ndarray,
    across: np.ndarray,
    squares: float,
    n: int,
    scales: np.ndarray,
    options: FineMappingOptions,
    design: Design | None,
) -> Iterator[Progress]:
    """Update the effects in turn, with dosages of variance 1; the last step has the result.

    Limits on variances of effects are absolute numbers, so the phenotype has variance 1, too.
    """
    is_there = scales > 0
    if not is_there.any():
        raise ParameterError(
            f"none of {n_words(len(scales), 'variant')} varies, needs one that does"
        )
    units, deviation = scales[is_there], np.sqrt(squares / (n - 1))
    model = SingleEffects(
        cross[np.ix_(is_there, is_there)] / units / units[:, None],
        across[is_there] / units / deviation,
        n - 1.0,
        n,
        options,
    )
    bounds: list[float] = []
    is_converged = False
    for iteration in range(options.max_iterations):
        bounds.append(model.update())
        is_converged = iteration > 0 and abs(bounds[-1] - bounds[-2]) < options.tolerance
        if is_converged:
            break
        if options.residual_variance is None:
            model.estimate_residual_variance()
        yield Progress(WHAT, 0.5 + 0.5 * (iteration + 1) / options.max_iterations)
    m = len(scales)
    inclusion, effects = np.full(m, np.nan), np.full(m, np.nan)
    alpha = np.zeros((options.n_effects, m))
    inclusion[is_there], alpha[:, is_there] = model.inclusion(), model.alpha
    effects[is_there] = model.means.sum(0) * deviation / units
    result = FineMapping(
        inclusion=inclusion,
        effects=effects,
        alpha=alpha,
        prior_variances=model.variances * deviation**2,
        residual_variance=model.residual_variance * deviation**2,
        credible_sets=tuple(model.find_sets(np.flatnonzero(is_there))),
        bounds=np.array(bounds) - n * np.log(deviation),
        n_samples=n if design is None else design.n_samples,
        is_converged=is_converged,
        notes=() if design is None else (*design.notes, *note_few_samples(design.n_samples)),
    )
    yield Progress(WHAT, 1.0, result)
