"""Share of a trait's variance explained by genotypes or by given relationships (REML)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.covariates import deviations, note_few_samples
from genoviz.analyses.genotypes.crossproducts import iter_crossproducts
from genoviz.analyses.genotypes.prediction.blup_training import Training, make_records
from genoviz.analyses.genotypes.prediction.markers import Markers
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.analyses.genotypes.variances.covariances import (
    Covariance,
    DenseCovariance,
    DiagonalCovariance,
    Multiply,
    ProbedCovariance,
)
from genoviz.analyses.genotypes.variances.lanczos import iter_reml_by_lanczos
from genoviz.analyses.genotypes.variances.reml import (
    RESIDUAL,
    VarianceSnapshot,
    iter_reml_of,
)
from genoviz.backend import Backend
from genoviz.errors import ParameterError, check_choice, check_minimum
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes

Traces = Literal["auto", "exact", "random"]
TRACES = ("auto", "exact", "random")
MAX_EXACT = 4000
"""Maximum number of samples for dense decompositions, which then take some seconds."""
GENOTYPED, PERMANENT = "genotypes", "permanent"


def iter_reml(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    variant_sets: np.ndarray | None = None,
    samples: np.ndarray | None = None,
    contigs: Contigs = "autosomes",
    traces: Traces = "auto",
    n_probes: int = 30,
    tolerance: float = 1e-5,
    max_iterations: int = 100,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[VarianceSnapshot]:
    """Estimate the variance of a trait explained by variants, and yield each iterate.

    The model is y = Xb + sum_k u_k + e, u_k ~ N(0, G_k v_k), with VanRaden's G_k = Z_k Z_k' / s_k
    of each set of variants. The result is the ``heritability`` of `iter_gblup`. With repeated
    records, y = Xb + W (sum_k u_k + p) + e has a row per record, and p ~ N(0, I vp) are permanent
    effects of the samples: the last component, ``"permanent"``.

    Parameters
    ----------
    genotypes
        Genotypes of all samples; missing ones are replaced by the mean.
    phenotype
        float64, shape (n_samples,) or (n_records,): NaN is missing.
    covariates
        float64, shape (n,) or (n, c), a row for each value: X after the intercept; rows with NaN
        are left out.
    covariate_names
        Names for notes.
    variant_sets
        str, shape (n_variants,): the set of each variant; each set has its own variance. Variants
        with an empty name are left out. None puts all variants into one set.
    samples
        int64, shape (n_records,): sample index of each value, in any number; None if there is one
        value for each sample.
    contigs
        As in `iter_snp_blup`.
    traces
        ``"exact"``: G is built and decomposed, with memory n_samples² and time n_samples³.
        ``"random"``: G is never built; traces are estimated from random sign vectors (Hutchinson),
        multiplied together with the phenotype. ``"auto"``: exact up to 4,000 samples.
    n_probes
        Number of random vectors. They add at most 1 / n_probes to the squared standard error.
    tolerance
        Stop when no variance changes by more, relative to their sum.
    max_iterations
        Maximum number of iterations.
    seed
        Seed of the random vectors.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the data allow no estimate.

    References
    ----------
    Yang et al. 2011, GCTA: a tool for genome-wide complex trait analysis,
    doi:10.1016/j.ajhg.2010.11.011
    Loh et al. 2015, Contrasting genetic architectures of schizophrenia and other complex diseases
    using fast variance-components analysis, doi:10.1038/ng.3431 (random traces)
    """
    _check_options(traces, n_probes)
    values = _Values(phenotype, genotypes.n_samples, samples, covariates, covariate_names)
    n_variants = genotypes.n_variants
    genotypes, kept = take_autosomes(genotypes, contigs)
    if variant_sets is None:
        markers = {GENOTYPED: Markers(genotypes, backend)}
    else:
        sets = _check_sets(variant_sets, n_variants)[kept]
        names = np.unique(sets[sets != ""]).tolist()
        if not names:
            raise ParameterError("no variant of the genotypes is in a set")
        markers = {
            name: Markers(genotypes.take_variants(np.flatnonzero(sets == name)), backend)
            for name in names
        }
    names = tuple(markers)
    if values.are_few(traces):
        matrices = []
        for each in markers.values():
            for matrix in iter_relationships_of(each, values.samples):
                if matrix is None:
                    yield _nothing_yet(names, values.training)
            matrices.append(matrix)
        covariance = values.dense_covariance(matrices)
    else:
        yield _nothing_yet(names, values.training)
        products = [product_with_relationships(each, values.samples) for each in markers.values()]
        covariance = values.probed_covariance(products, n_probes, seed)
    yield from values.iter_fit(names, covariance, tolerance, max_iterations)


@in_one_go(iter_reml)
def reml(last: VarianceSnapshot) -> VarianceSnapshot:
    """Return the last snapshot of `iter_reml`."""
    return last


def iter_reml_of_relationships(
    relationships: Mapping[str, np.ndarray],
    phenotype: np.ndarray,
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    samples: np.ndarray | None = None,
    traces: Traces = "auto",
    n_probes: int = 30,
    tolerance: float = 1e-5,
    max_iterations: int = 100,
    seed: int = 0,
) -> Iterator[VarianceSnapshot]:
    """Estimate the variance explained by given relationships, and yield each iterate.

    Parameters
    ----------
    relationships
        Named matrices, float64 of shape (n_samples, n_samples), symmetric: from
        `relationship_matrix`, of a pedigree, or read from a file.
    phenotype, covariates, covariate_names, samples
        As in `iter_reml`.
    traces, n_probes, tolerance, max_iterations, seed
        As in `iter_reml`.

    Raises
    ------
    ParameterError
        If an argument is out of range, or the data allow no estimate.
    """
    _check_options(traces, n_probes)
    if not relationships:
        raise ParameterError("there are no relationships, needs at least one matrix")
    n = len(next(iter(relationships.values())))
    for name, matrix in relationships.items():
        if matrix.shape != (n, n):
            raise ParameterError(
                f"relationships {name!r} have shape {matrix.shape}, need ({n}, {n})"
            )
    values = _Values(phenotype, n, samples, covariates, covariate_names)
    among = np.ix_(values.samples, values.samples)
    matrices = [each[among] for each in relationships.values()]
    for name, matrix in zip(relationships, matrices, strict=True):
        if not np.isfinite(matrix).all():
            raise ParameterError(
                f"relationships {name!r} have values that are not numbers, as of samples that "
                "share no genotype; leave such samples out"
            )
    if values.are_few(traces):
        covariance = values.dense_covariance(matrices)
    else:
        products = [matrix.__matmul__ for matrix in matrices]
        covariance = values.probed_covariance(products, n_probes, seed)
    yield from values.iter_fit(tuple(relationships), covariance, tolerance, max_iterations)


@in_one_go(iter_reml_of_relationships)
def reml_of_relationships(last: VarianceSnapshot) -> VarianceSnapshot:
    """Return the last snapshot of `iter_reml_of_relationships`."""
    return last


def product_with_relationships(markers: Markers, samples: np.ndarray) -> Multiply:
    """Return a function that multiplies ZZ' / s of some samples by columns, shape (n, k)."""
    n_samples = markers.genotypes.n_samples

    def multiply(columns: np.ndarray) -> np.ndarray:
        spread = np.zeros((n_samples, columns.shape[1]))
        spread[samples] = columns
        effects = markers.matrix.multiply_transposed(spread)
        return markers.matrix.multiply(effects)[samples] / markers.scale

    return multiply


def iter_relationships_of(markers: Markers, samples: np.ndarray) -> Iterator[np.ndarray | None]:
    """Compute ZZ' / s of some samples; yields None as progress, then the dense matrix."""
    genotypes = markers.genotypes
    if len(samples) < genotypes.n_samples:
        genotypes = select_samples(genotypes, samples)
    values = markers.matrix.values
    steps = iter_crossproducts(genotypes, values, dtype=np.float64, backend=markers.backend)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            yield done.value / markers.scale
            return
        yield None


class _Values:
    """The values of a trait, one or more for each of some samples.

    ``samples`` are those with values, ascending, int64; ``training`` has values and covariates.
    """

    def __init__(
        self,
        phenotype: np.ndarray,
        n: int,
        samples: np.ndarray | None,
        covariates: np.ndarray | None,
        covariate_names: Sequence[str] | None,
    ) -> None:
        values, records, _ = make_records(
            phenotype, n, animals=samples, weights=None, heritability=0.5, repeatability=None,
            what="samples",
        )  # fmt: skip
        self._are_repeated = records is not None
        what = "records" if self._are_repeated else "samples"
        self.training = Training(values, covariates, what, covariate_names=covariate_names)
        owners = records.owners if self._are_repeated else np.arange(n)
        owners = owners[self.training.is_trained]
        if self._are_repeated and np.bincount(owners).max() < 2:
            raise ParameterError(
                "no sample has two records; without these permanent effects are not told from the "
                "residual"
            )
        self.samples, self._owners = np.unique(owners, return_inverse=True)
        self._basis = self.training.basis[self.training.is_trained]

    def are_few(self, traces: str) -> bool:
        """Return whether traces are exact, of dense matrices."""
        return traces == "exact" or (traces == "auto" and len(self._owners) <= MAX_EXACT)

    def dense_covariance(self, matrices: list[np.ndarray]) -> Covariance:
        """Return the covariance of the values, from relationships of their samples."""
        if self._are_repeated:
            each, other = self._owners[:, None], self._owners
            permanent = (each == other).astype(np.float64)
            matrices = [*(matrix[each, other] for matrix in matrices), permanent]
        if len(matrices) == 1:
            return DiagonalCovariance(matrices[0], self._basis)
        return DenseCovariance(matrices, self._basis)

    def probed_covariance(
        self, products: list[Multiply], n_probes: int, seed: int
    ) -> ProbedCovariance:
        """Return the same from products with these relationships."""
        if self._are_repeated:
            products = _spread_products(products, self._owners)
        return ProbedCovariance(products, self._basis, n_probes=n_probes, seed=seed)

    def iter_fit(
        self, names: tuple[str, ...], covariance: Covariance, tolerance: float, max_iterations: int
    ) -> Iterator[VarianceSnapshot]:
        """Estimate the variances of components, to which repeated values add permanent effects."""
        is_one = isinstance(covariance, ProbedCovariance) and covariance.n_components == 1
        fit = iter_reml_by_lanczos if is_one else iter_reml_of
        return fit(
            covariance,
            deviations(self.training.phenotype[self.training.is_trained]),
            (*names, PERMANENT) if self._are_repeated else names,
            tolerance=tolerance,
            max_iterations=max_iterations,
            notes=(*self.training.notes, *note_few_samples(len(self.samples))),
            is_repeated=self._are_repeated,
        )


def _spread_products(products: list[Multiply], owners: np.ndarray) -> list[Multiply]:
    """Expand products with relationships of samples to their records, and add the identity."""
    from scipy.sparse import csr_array

    n_records = len(owners)
    of_records = csr_array((np.ones(n_records), (np.arange(n_records), owners)))
    across = of_records.T.tocsr()
    return [
        lambda columns, each=each: of_records @ each(across @ columns)
        for each in (*products, np.asarray)
    ]


def _check_options(traces: str, n_probes: int) -> None:
    check_choice("traces", traces, TRACES)
    check_minimum("n_probes", n_probes, 2)


def _check_sets(variant_sets: np.ndarray, n_variants: int) -> np.ndarray:
    sets = np.asarray(variant_sets, str)
    if sets.shape != (n_variants,):
        raise ParameterError(f"variant_sets has shape {sets.shape}, needs ({n_variants},)")
    return sets


def _nothing_yet(names: tuple[str, ...], training: Training) -> VarianceSnapshot:
    unknown = np.full(len(names) + 1, np.nan)
    return VarianceSnapshot(
        0,
        (*names, RESIDUAL),
        unknown,
        unknown,
        unknown[1:],
        unknown[1:],
        *[np.nan] * 6,
        np.inf,
        training.n_trained,
        False,
        0.0,
        training.notes,
    )
