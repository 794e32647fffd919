"""Tests of sets of variants in a mixed model, for related samples and structured populations.

Scores are U = G'Py, and their covariance is S = G'PG, where G are the dosages of minor alleles and
P is that of the model without variants of a chromosome, whose relationships leave this chromosome
out; see `mixed`. Exact tests compute S. Calibrated tests take gamma times G'MG, with M the
projection on the space without fixed effects. gamma is a mean over variants of the sets, because
rare variants are shared by closer relatives than common ones are. Sets with a low p are tested
again with exact S, given the variances.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import make_design
from genoviz.analyses.genotypes.association.left_out import (
    LEAVE_OUT,
    Chromosome,
    LeaveOut,
    split_chromosomes,
)
from genoviz.analyses.genotypes.association.logistic import note_few_cases
from genoviz.analyses.genotypes.association.mixed import (
    HARD_CALLS,
    MAX_EXACT,
    REFINE_BELOW,
    TESTS,
    Tests,
)
from genoviz.analyses.genotypes.association.mixed_models import (
    FITTING,
    CalibratedModel,
    ExactModels,
    check_residual,
    describe_model,
    find_varied,
    iter_calibrated_model,
)
from genoviz.analyses.genotypes.association.set_scores import Group
from genoviz.analyses.genotypes.association.set_statistics import SetStatistics, set_statistics
from genoviz.analyses.genotypes.association.set_tests import (
    WHAT,
    SetTests,
    check_options,
    describe_untested,
)
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.analyses.genotypes.selection import select_samples
from genoviz.analyses.genotypes.sex_chromosomes import take_autosomes
from genoviz.backend import Backend
from genoviz.errors import check_choice
from genoviz.generators import Progress, in_one_go
from genoviz.model.columns import distinct
from genoviz.model.genotypes.genotypes import Genotypes

MAX_RETESTED = 512
"""Maximum number of variants in sets that are tested again exactly."""


def iter_mixed_associate_sets(
    genotypes: Genotypes,
    phenotype: np.ndarray,
    sets: Mapping[str, np.ndarray],
    *,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    max_maf: float = 0.01,
    weights: Literal["beta", "none"] = "beta",
    min_variants: int = 1,
    leave_out: LeaveOut = "chromosome",
    tests: Tests = "auto",
    refine_below: float = REFINE_BELOW,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test sets of variants in a mixed model; the last step has the `SetTests`.

    P values are asymptotic. Relationships are of all variants, also of common ones: give genotypes
    that have both. A set whose variants are on several chromosomes is tested only if no chromosome
    is left out.

    Parameters
    ----------
    genotypes, phenotype, covariates, covariate_names, leave_out, tests, seed, backend
        As in `iter_mixed_associate`.
    sets, max_maf, weights, min_variants
        As in `iter_associate_sets`.
    refine_below
        Sets with a calibrated p of SKAT-O below this are tested again exactly, the lowest first, as
        long as they have at most 512 variants together.

    Raises
    ------
    ParameterError
        As in both functions.

    References
    ----------
    Zhou et al. 2020, Scalable generalized linear mixed model for region-based association tests in
    large biobanks and cohorts, doi:10.1038/s41588-020-0621-6
    Chen et al. 2019, Efficient variant set mixed model association tests for continuous and binary
    traits in large-scale whole-genome sequencing studies, doi:10.1016/j.ajhg.2018.12.012
    """
    check_options(genotypes, sets, max_maf, weights, min_variants)
    check_choice("leave_out", leave_out, LEAVE_OUT)
    check_choice("tests", tests, TESTS)
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    design.check_unexplained()
    yield Progress(FITTING, 0.0)
    taken, kept = take_autosomes(genotypes)
    if design.n_samples < genotypes.n_samples:
        taken = select_samples(taken, design.kept)
    counts = allele_counts(taken, backend=backend)
    chromosomes = split_chromosomes(taken, counts, leave_out, backend)
    places = np.full(genotypes.n_variants, -1)
    places[kept] = np.arange(taken.n_variants)
    parts = []
    for rows in sets.values():
        found = distinct(places[np.asarray(rows, np.int64)])
        parts.append(_Part(taken, counts, found[found >= 0], max_maf))
    by_chromosome, is_spread = _split_parts(parts, chromosomes, taken.n_variants, min_variants)
    notes = ()
    if any(by_chromosome):
        takes_all, has_weights = leave_out == "none", weights == "beta"
        if tests == "exact" or (tests == "auto" and design.n_samples <= MAX_EXACT):
            models = ExactModels(chromosomes, design, takes_all, backend)
            notes = yield from _iter_exact(models, chromosomes, by_chromosome, has_weights, backend)
        else:
            candidates = np.concatenate([part.rows for each in by_chromosome for part in each])
            model = yield from iter_calibrated_model(
                chromosomes, design, takes_all, seed, candidates, backend=backend
            )
            check_residual(model.variances)
            notes = yield from _iter_calibrated(
                model, design.basis, by_chromosome, has_weights, refine_below
            )
    notes = (*design.notes, *notes)
    if genotypes.stored_dosages is not None:
        notes += (HARD_CALLS,)
    if is_spread.any():
        n = int(is_spread.sum())
        notes += (f"Not tested: {n:,} set{'s' * (n > 1)}, with variants on several chromosomes.",)
    if taken.n_variants < genotypes.n_variants:
        notes += ("Variants of X, Y or MT are not tested.",)
    notes += note_few_cases(
        design, "The model logistic allows for few cases, but not for related samples"
    )
    n_variants = np.array([len(part.rows) for part in parts])
    n_carriers = np.array([part.group.find_carriers(design.n_samples).sum() for part in parts])
    found = [part.found for part in parts]
    others = np.flatnonzero(~is_spread)
    notes += describe_untested(n_variants[others], [found[k] for k in others], min_variants)
    result = SetTests.of(sets, n_variants, n_carriers, found, design.n_samples, notes)
    yield Progress(WHAT, 1.0, result)


@in_one_go(iter_mixed_associate_sets)
def mixed_associate_sets(last: Progress) -> SetTests:
    """Return the tests of sets of variants; see `iter_mixed_associate_sets`."""
    return last.result


class _Part:
    """The rare variants of a set: their indices and dosages, and the tests."""

    def __init__(
        self, genotypes: Genotypes, counts: np.ndarray, rows: np.ndarray, max_maf: float
    ) -> None:
        self.group = Group.of(genotypes, counts, rows, max_maf)
        self.rows = self.group.rows
        self.squares = (counts[self.rows] * self.group.of_codes**2).sum(1)
        self.found = SetStatistics()

    def test(
        self, scores: np.ndarray, covariance: np.ndarray, left: np.ndarray, has_weights: bool
    ) -> None:
        """Fill in the tests; left are sums of squares of dosages without fixed effects."""
        weights = self.group.weights(has_weights=has_weights)
        weights = weights * find_varied(left, self.squares)
        known = {"frequencies": self.group.frequencies, "counts": self.group.counts}
        self.found = set_statistics(scores, covariance, weights, **known)


def _split_parts(
    parts: list[_Part], chromosomes: list[Chromosome], n_variants: int, min_variants: int
) -> tuple[list[list[_Part]], np.ndarray]:
    """Return the sets to test of each chromosome, and whether a large set is on several: bool."""
    owners = np.empty(n_variants, np.int64)
    for k, each in enumerate(chromosomes):
        owners[each.rows] = k
    is_large = np.array([len(part.rows) >= min_variants for part in parts])
    is_spread = is_large & [len({*owners[part.rows].tolist()}) > 1 for part in parts]
    by_chromosome: list[list[_Part]] = [[] for _ in chromosomes]
    for k in np.flatnonzero(is_large & ~is_spread):
        by_chromosome[owners[parts[k].rows[0]]].append(parts[k])
    return by_chromosome, is_spread


def _iter_exact(
    models: ExactModels,
    chromosomes: list[Chromosome],
    by_chromosome: list[list[_Part]],
    has_weights: bool,
    backend: Backend,
) -> Generator[Progress, None, tuple[str]]:
    """Fill in the tests by the covariance of scores; return a note."""
    used = [k for k, parts in enumerate(by_chromosome) if parts]
    for place, k in enumerate(used):
        each, start, share = chromosomes[k], place / len(used), 1 / len(used)
        model = yield from models.fit(k, start, 0.6 * share)
        for done, part in enumerate(by_chromosome[k], 1):
            matrix = each.take(np.searchsorted(each.rows, part.rows), backend)
            rotated = matrix.multiply_transposed(model.vectors) * part.group.sign[:, None]
            scores, covariance = rotated @ model.response, (rotated * model.weights) @ rotated.T
            part.test(scores, covariance, (rotated * rotated).sum(1), has_weights)
            yield Progress(WHAT, start + share * (0.6 + 0.4 * done / len(by_chromosome[k])))
    variances = models.variances[used]
    shares = variances[:, 0] / variances.sum(1)
    return (describe_model(shares, models.errors[used], np.nan, 0),)


def _iter_calibrated(
    model: CalibratedModel,
    basis: np.ndarray,
    by_chromosome: list[list[_Part]],
    has_weights: bool,
    refine_below: float,
) -> Generator[Progress, None, tuple[str]]:
    """Fill in the tests by calibrated covariances, then those of low p; return a note."""
    for k, parts in enumerate(by_chromosome):
        columns = np.column_stack([basis, model.solution[:, k]])
        for part in parts:
            products = np.zeros((len(part.rows), columns.shape[1]))
            within = np.zeros((len(part.rows), len(part.rows)))
            for place, tile in part.group.iter_tiles(len(basis)):
                products += tile @ columns[place]
                within += tile @ tile.T
            within -= products[:, :-1] @ products[:, :-1].T
            part.test(products[:, -1], model.gamma * within, np.diagonal(within), has_weights)
            yield Progress(WHAT, 0.8 + 0.1 * k / len(by_chromosome))
    parts = [part for parts in by_chromosome for part in parts]
    strength = np.array([part.found.skat_o_log10_p for part in parts])
    order = np.argsort(-np.nan_to_num(strength), kind="stable")
    order = order[np.nan_to_num(strength[order]) > -np.log10(max(refine_below, 1e-300))]
    order = order[np.cumsum([len(parts[k].rows) for k in order]) <= MAX_RETESTED]
    for done, part in enumerate(parts[k] for k in order):
        start, share = 0.9 + 0.1 * done / len(order), 0.1 / len(order)
        scores, covariance = yield from model.test_exactly(
            part.rows, "Strongest sets", start, share
        )
        sign = part.group.sign
        part.test(sign * scores, sign[:, None] * covariance * sign, part.squares, has_weights)
    heritability = model.variances[:1] / model.variances.sum()
    errors = np.array([model.heritability_error])
    return (describe_model(heritability, errors, model.gamma, len(order)),)
