"""Tests of sets of variants in a mixed model, for related samples and structured populations.

Scores are U = G'Py, and their covariance is S = G'PG, where G are the dosages of minor alleles and
P is that of the model without variants of a chromosome, whose relationships leave this chromosome
out; see `mixed`. Exact tests compute S. Calibrated tests take gamma times G'MG, with M the
projection on the space without fixed effects. gamma is a mean over variants of the sets, because
rare variants are shared by closer relatives than common ones are. Sets with a low p are tested
again with exact S, given the variances.

In the logistic mixed model, U = G'(y - p), P is that of the working response, and gamma is the
ratio to G'WG less what covariates explain, that of independent cases; see `logistic_null`. With
few cases, scores are drawn from independent cases and scaled to S; see `set_scores`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, make_design
from genoviz.analyses.genotypes.association.left_out import (
    Chromosome,
    LeaveOut,
    find_owners,
)
from genoviz.analyses.genotypes.association.logistic import note_few_cases
from genoviz.analyses.genotypes.association.logistic_null import (
    LogisticNull,
    iter_calibrated_logistic,
)
from genoviz.analyses.genotypes.association.mixed import (
    FEW_CASES,
    REFINE_BELOW,
    ScanTask,
    Tests,
    takes_exact,
)
from genoviz.analyses.genotypes.association.mixed import check_options as check_mixed_options
from genoviz.analyses.genotypes.association.mixed_logistic import SCALE, ExactLogisticModels
from genoviz.analyses.genotypes.association.mixed_models import (
    FITTING,
    ExactModels,
    check_residual,
    describe_model,
    find_varied,
    iter_calibrated_model,
)
from genoviz.analyses.genotypes.association.set_scores import NullModel
from genoviz.analyses.genotypes.association.set_statistics import SetStatistics, set_statistics
from genoviz.analyses.genotypes.association.set_tests import (
    MODELS,
    WHAT,
    SetTests,
    check_options,
    describe_untested,
)
from genoviz.analyses.genotypes.association.set_variants import Group
from genoviz.backend import Backend, array_module, to_host
from genoviz.errors import check_choice
from genoviz.generators import Progress, in_one_go
from genoviz.model.columns import distinct
from genoviz.model.genotypes.genotypes import Genotypes

MAX_RETESTED = 512
"""Maximum number of variants in sets that are tested again exactly."""
STRONGEST = "Strongest sets"


def iter_mixed_associate_sets(
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
    leave_out: LeaveOut = "chromosome",
    tests: Tests = "auto",
    refine_below: float = REFINE_BELOW,
    seed: int = 0,
    backend: Backend = "auto",
) -> Iterator[Progress]:
    """Test sets of variants in a mixed model; the last step has the `SetTests`.

    P values are asymptotic, but in the logistic model those of few cases come from draws, as in
    `iter_associate_sets`, whose results it has where the variance of the random effect is 0.
    Relationships are of all variants, also of common ones: give genotypes that have both. A set
    whose variants are on several chromosomes is tested only if no chromosome is left out.

    Parameters
    ----------
    genotypes, phenotype, covariates, covariate_names, leave_out, tests, seed, backend
        As in `iter_mixed_associate`.
    sets, max_maf, weights, min_variants
        As in `iter_associate_sets`.
    model
        ``"linear"``, or ``"logistic"`` for cases and controls, whose model without variants is that
        of `iter_mixed_logistic_associate`.
    refine_below
        Sets with a calibrated p of SKAT-O below this are tested again exactly, the lowest first, as
        long as they have at most 512 variants together.

    Raises
    ------
    ParameterError
        As in these functions.

    References
    ----------
    Zhou et al. 2020, Scalable generalized linear mixed model for region-based association tests in
    large biobanks and cohorts, doi:10.1038/s41588-020-0621-6
    Chen et al. 2019, Efficient variant set mixed model association tests for continuous and binary
    traits in large-scale whole-genome sequencing studies, doi:10.1016/j.ajhg.2018.12.012 (SMMAT)
    Zhao et al. 2020, UK Biobank whole-exome sequence binary phenome analysis with robust
    region-based rare-variant test, doi:10.1016/j.ajhg.2019.11.012 (saddle-point variances)
    """
    check_options(genotypes, sets, max_maf, weights, min_variants)
    check_choice("model", model, MODELS)
    check_mixed_options(leave_out, tests, refine_below)
    design = make_design(genotypes.n_samples, phenotype, covariates, covariate_names)
    design = design.of_cases() if model == "logistic" else design
    design.check_unexplained()
    yield Progress(FITTING, 0.0)
    task = ScanTask.of(genotypes, design, leave_out, backend)
    places = np.full(genotypes.n_variants, -1)
    places[task.kept] = np.arange(len(task.kept))
    owners = find_owners(task.chromosomes)
    parts, is_spread = [], np.zeros(len(sets), bool)
    by_chromosome: list[list[_Part]] = [[] for _ in task.chromosomes]
    for j, rows in enumerate(sets.values()):
        found = distinct(places[np.asarray(rows, np.int64)])
        group = Group.of(*task.chromosomes[0].of, found[found >= 0], max_maf)
        mine = distinct(owners[group.rows]).tolist()
        of_variants = group.weights(has_weights=weights == "beta")
        parts.append(_Part(group, of_variants, mine[0] if mine else -1, [seed, j]))
        if len(group.rows) >= min_variants:
            is_spread[j] = len(mine) > 1
            if not is_spread[j]:
                by_chromosome[mine[0]].append(parts[-1])
    notes = ()
    if any(by_chromosome):
        kind = _Logistic if model == "logistic" else _Linear
        models = kind(task.chromosomes, design, leave_out == "none", backend)
        if takes_exact(tests, design):
            notes = yield from _iter_exact(models, by_chromosome)
        else:
            notes = yield from _iter_calibrated(models, by_chromosome, seed, refine_below)
    notes = (*design.notes, *notes, *task.notes)
    if is_spread.any():
        n = int(is_spread.sum())
        notes += (f"Not tested: {n:,} set{'s' * (n > 1)}, with variants on several chromosomes.",)
    if model == "linear":
        notes += note_few_cases(design, FEW_CASES)
    n_variants = np.array([len(part.group.rows) for part in parts])
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


@dataclass(eq=False)
class _Part:
    """The rare variants of a set, their weights, first chromosome (-1: none), seed and tests."""

    group: Group
    weights: np.ndarray
    chromosome: int
    seed: list[int]
    found: SetStatistics = field(default_factory=SetStatistics)


_Test = Callable[[_Part], None]


class _Linear:
    """Linear models without variants of all chromosomes, which fill in the tests of sets."""

    scale, exact_models = "", ExactModels

    def __init__(
        self, chromosomes: list[Chromosome], design: Design, takes_all: bool, backend: Backend
    ) -> None:
        self._chromosomes, self._design, self._takes_all = chromosomes, design, takes_all
        self._backend = backend
        self._exact = self.exact_models(chromosomes, design, takes_all, backend)
        self.known: list[tuple[float, float]] = []
        """Heritability and its standard error, by model."""

    def fit(self, k: int, start: float, share: float) -> Generator[Progress, None, _Test]:
        """Return the exact tests of a chromosome."""
        model, each = (yield from self._exact.fit(k, start, share)), self._chromosomes[k]
        variances = self._exact.variances[k]
        self.known.append((variances[0] / variances.sum(), self._exact.errors[k]))

        def test(part: _Part) -> None:
            matrix = each.take(np.searchsorted(each.rows, part.group.rows), self._backend)
            rotated = matrix.multiply_transposed(model.vectors) * part.group.sign[:, None]
            covariance = (rotated * model.weights) @ rotated.T
            _put(part, rotated @ model.response, covariance, (rotated * rotated).sum(1))

        return test

    def calibrate(self, candidates: np.ndarray, seed: int) -> Generator[Progress, None, float]:
        """Prepare calibrated tests, and return gamma."""
        task = self._chromosomes, self._design, self._takes_all, seed, candidates
        model = yield from iter_calibrated_model(*task, backend=self._backend)
        check_residual(model.variances)
        self._model = model
        share = float(model.variances[0] / model.variances.sum())
        self.known.append((share, model.heritability_error))
        return model.gamma

    def approximate(self, k: int) -> _Test:
        """Return the calibrated tests of a chromosome."""
        columns = np.column_stack([self._design.basis, self._model.solution[:, k]])

        def test(part: _Part) -> None:
            products = np.zeros((len(part.group.rows), columns.shape[1]))
            within = np.zeros((len(part.group.rows), len(part.group.rows)))
            for place, tile in part.group.iter_tiles(len(columns)):
                products += tile @ columns[place]
                within += tile @ tile.T
            within -= products[:, :-1] @ products[:, :-1].T
            _put(part, products[:, -1], self._model.gamma * within, np.diagonal(within))

        return test

    def retest(self, part: _Part, start: float, share: float) -> Generator[Progress, None, None]:
        """Fill in the exact tests of a set."""
        found = yield from self._model.test_exactly(part.group.rows, STRONGEST, start, share)
        (scores, covariance), sign = found, part.group.sign
        _put(part, sign * scores, sign[:, None] * covariance * sign, part.group.squares)


def _put(part: _Part, scores: np.ndarray, covariance: np.ndarray, left: np.ndarray) -> None:
    """Fill in the tests; left are sums of squares of dosages without fixed effects."""
    weights = part.weights * find_varied(left, part.group.squares)
    known = {"frequencies": part.group.frequencies, "counts": part.group.counts}
    part.found = set_statistics(scores, covariance, weights, **known)


class _Logistic(_Linear):
    """Logistic models without variants of all chromosomes, which fill in the tests of sets."""

    scale, exact_models = SCALE, ExactLogisticModels

    def fit(self, k: int, start: float, share: float) -> Generator[Progress, None, _Test]:
        """Return the exact tests of a chromosome."""
        null, projection = yield from self._exact.fit(k, start, share)
        self.known.append((null.heritability, null.heritability_error))
        xp = array_module(self._backend)
        there = xp.asarray(projection)

        def covariance_of(part: _Part, _independent: np.ndarray) -> np.ndarray:
            tiles = [tile for _, tile in part.group.iter_tiles(len(projection))]
            dosages = xp.asarray(np.concatenate(tiles, axis=1))
            return to_host(dosages @ there @ dosages.T)

        return self._testing(null, covariance_of)

    def calibrate(self, candidates: np.ndarray, seed: int) -> Generator[Progress, None, float]:
        """Prepare calibrated tests, and return gamma."""
        task = self._chromosomes, self._design, self._takes_all, seed, candidates
        self._model = yield from iter_calibrated_logistic(*task, backend=self._backend)
        null = self._model.nulls[0]
        self.known.append((null.heritability, null.heritability_error))
        return self._model.gamma

    def approximate(self, k: int) -> _Test:
        """Return the calibrated tests of a chromosome."""
        gamma = self._model.gamma
        return self._testing(self._model.nulls[k], lambda _part, independent: gamma * independent)

    def retest(self, part: _Part, start: float, share: float) -> Generator[Progress, None, None]:
        """Fill in the exact tests of a set."""
        found = yield from self._model.find_covariance(part.group.rows, STRONGEST, start, share)
        sign = part.group.sign
        covariance = sign[:, None] * found[1] * sign
        null = self._model.nulls[part.chromosome]
        self._testing(null, lambda _part, _independent: covariance)(part)

    def _testing(
        self, null: LogisticNull, covariance_of: Callable[[_Part, np.ndarray], np.ndarray]
    ) -> _Test:
        """Return tests by covariances, which are of a set and its covariance of independent cases.

        This is 0 where covariates explain a variant.
        """
        model = NullModel(self._design, is_binary=True, fitted=null.fitted)

        def test(part: _Part) -> None:
            _, independent, _ = scored = model.score(part.group)
            is_varied = np.diagonal(independent) > 0
            covariance = covariance_of(part, independent) * np.outer(is_varied, is_varied)
            rng = np.random.default_rng(part.seed)
            part.found = model.test_cases(part.group, scored, part.weights, rng, covariance)

        return test


def _iter_exact(
    models: _Linear, by_chromosome: list[list[_Part]]
) -> Generator[Progress, None, tuple[str]]:
    """Fill in the tests by the covariance of scores; return a note."""
    used = [k for k, parts in enumerate(by_chromosome) if parts]
    for place, k in enumerate(used):
        start, share = place / len(used), 1 / len(used)
        test = yield from models.fit(k, start, 0.6 * share)
        for done, part in enumerate(by_chromosome[k], 1):
            test(part)
            yield Progress(WHAT, start + share * (0.6 + 0.4 * done / len(by_chromosome[k])))
    return (describe_model(*np.array(models.known).T, np.nan, 0, models.scale),)


def _iter_calibrated(
    models: _Linear, by_chromosome: list[list[_Part]], seed: int, refine_below: float
) -> Generator[Progress, None, tuple[str]]:
    """Fill in the tests by calibrated covariances, then those of low p; return a note."""
    candidates = np.concatenate([part.group.rows for parts in by_chromosome for part in parts])
    gamma = yield from models.calibrate(candidates, seed)
    for k, parts in enumerate(by_chromosome):
        test = models.approximate(k)
        for part in parts:
            test(part)
            yield Progress(WHAT, 0.8 + 0.1 * k / len(by_chromosome))
    all_parts = [part for parts in by_chromosome for part in parts]
    strength = np.nan_to_num([part.found.skat_o_log10_p for part in all_parts])
    order = np.argsort(-strength, kind="stable")
    order = order[strength[order] > -np.log10(max(refine_below, 1e-300))]
    order = order[np.cumsum([len(all_parts[j].group.rows) for j in order]) <= MAX_RETESTED]
    for done, j in enumerate(order):
        yield from models.retest(all_parts[j], 0.9 + 0.1 * done / len(order), 0.1 / len(order))
    return (describe_model(*np.array(models.known).T, gamma, len(order), models.scale),)
