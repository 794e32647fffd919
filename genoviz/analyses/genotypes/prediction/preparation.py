"""Genotypes of single-step models prepared as BLUPF90 does: quality control, blending, tuning."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.crossproducts import iter_crossproducts
from genoviz.analyses.genotypes.prediction.pedigree_inverse import PedigreeDraws, inbreeding
from genoviz.analyses.genotypes.prediction.quality import iter_control_quality
from genoviz.analyses.genotypes.prediction.single_step_parts import find_animals
from genoviz.analyses.genotypes.products import iter_allele_counts
from genoviz.analyses.genotypes.selection import iter_select_samples
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, in_one_go, report_last, report_steps
from genoviz.model.genotypes.genomic_rules import GenomicRules
from genoviz.model.genotypes.genotypes import MISSING_CODE, Genotypes
from genoviz.model.genotypes.mixed_model import MixedModel, SingleStep
from genoviz.model.genotypes.pedigree import Pedigree

MAX_CORRELATED = 6_000
_COLUMNS_AT_ONCE, _LEAST_VARIANCE = 32, 1e-10


@dataclass(frozen=True, eq=False)
class PreparedSingleStep:
    """A single-step structure whose rules are applied.

    Attributes
    ----------
    structure
        Its genotypes are those that passed, and its rules are None.
    removed_variants, removed_samples
        The reason and the IDs of the variants and samples that were removed for it.
    notes
        What was removed and how G was made, one sentence each.
    correlation
        That of G with A_gg in related pairs; None if nobody asked, or if all pairs are alike.
    """

    structure: SingleStep
    removed_variants: dict[str, np.ndarray]
    removed_samples: dict[str, np.ndarray]
    notes: tuple[str, ...]
    correlation: float | None = None


def iter_prepare_single_step(
    structure: SingleStep, *, backend: Backend = "auto"
) -> Iterator[Progress]:
    """Prepare step by step; the last step has the result of `prepare_single_step`."""
    rules, left = structure.rules, structure.genotypes
    if rules is None:
        yield Progress("preparing genotypes", 1.0, PreparedSingleStep(structure, {}, {}, ()))
        return
    pedigree, animals = structure.pedigree, find_animals(structure.pedigree, left.samples.ids)
    control = None
    if rules.quality is None:
        counts = yield from report_last(iter_allele_counts(left, backend=backend), 0.0, 0.6)
        frequencies, kept = frequencies_of_counts(counts), np.arange(left.n_samples)
    else:
        steps = iter_control_quality(
            left, pedigree, rules.quality, order=structure.levels, backend=backend
        )
        control = yield from report_last(steps, 0.0, 0.6)
        frequencies = frequencies_of_counts(control.counts[control.is_kept])
        kept = np.flatnonzero(control.is_used)
        if not len(kept) or not len(frequencies):
            raise ParameterError(
                f"quality control leaves {n_words(len(kept), 'animal')} and "
                f"{n_words(len(frequencies), 'marker')}, needs some of both: "
                f"{' '.join(control.notes)}"
            )
        if len(frequencies) < left.n_variants:
            left = left.take_variants(np.flatnonzero(control.is_kept))
        if len(kept) < left.n_samples:
            left = yield from report_last(iter_select_samples(left, kept), 0.6, 0.7)
    notes = [] if control is None else list(control.notes)
    if rules.targets is None:
        intercept, slope = rules.line
    else:
        steps = iter_allele_counts(left, backend=backend)
        counts = yield from report_last(steps, 0.7, 0.8)
        of_genotypes = _sums_of_genotypes(counts, frequencies)
        of_pedigree = _sums_of_pedigree(pedigree, animals[kept])
        intercept, slope = _tune(rules, of_genotypes, of_pedigree, len(kept), len(animals))
        target = "those of the pedigree" if rules.targets == "pedigree" else "1 and 0"
        notes.append(
            f"G is tuned to {intercept:.6g} + {slope:.6g} G, so that the means of its diagonal and "
            f"of its other elements are {target}."
        )
    correlation = None
    if rules.min_correlation is not None:
        of_samples = left, pedigree, animals[kept], frequencies
        correlation, found = yield from _iter_correlation(*of_samples, rules, backend)
        notes += _judge(correlation, found, rules)
    tau, omega = rules.scales
    genomic, polygenic = (slope * weight / tau for weight in rules.weights)
    made = replace(
        structure,
        genotypes=left,
        genomic_weight=genomic,
        polygenic_weight=polygenic,
        constant=intercept / tau,
        omega=omega,
        frequencies=frequencies,
        rules=None,
    )
    removed = ({}, {}) if control is None else (control.removed_variants, control.removed_samples)
    prepared = PreparedSingleStep(made, *removed, tuple(notes), correlation)
    yield Progress("preparing genotypes", 1.0, prepared)


@in_one_go(iter_prepare_single_step)
def prepare_single_step(last: Progress) -> PreparedSingleStep:
    """Return a structure with its `GenomicRules` applied, as BLUPF90 does it.

    Variants and samples are removed by `control_quality`. Frequencies, for centring and s, are
    those of all samples, before any was removed. G is blended with A_gg first, and then tuned. For
    its means, removed samples are unrelated to all others in both matrices, with 1 on the diagonal.

    The blended G is compared with A_gg, by the correlation of their elements outside the diagonal
    where A_gg has at least `GenomicRules.min_relationship`. Of more than 6,000 samples, 6,000 are
    drawn for it at random.

    Parameters
    ----------
    structure
        Genotypes and pedigree with the rules; nothing is removed or tuned without.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If a sample is not in the pedigree, nothing is left or can be tuned, the correlation is too
        low, or as in `control_quality`.

    References
    ----------
    Christensen, Madsen, Nielsen, Ostersen and Su 2012, Single-step methods for genomic evaluation
    in pigs, doi:10.1017/S1751731112000742
    Misztal et al., Manual for BLUPF90 family of programs, University of Georgia
    """
    return last.result


def iter_prepare_mixed_model(model: MixedModel, *, backend: Backend = "auto") -> Iterator[Progress]:
    """Apply the rules of all single-step structures of a model.

    The result of the last step is the model, and a `PreparedSingleStep` for each structure.
    """
    groups, prepared = [], []
    for group in model.random:
        if isinstance(group.structure, SingleStep):
            steps = iter_prepare_single_step(group.structure, backend=backend)
            prepared.append((yield from report_last(steps)))
            group = replace(group, structure=prepared[-1].structure)
        groups.append(group)
    yield Progress("preparing genotypes", 1.0, (replace(model, random=tuple(groups)), prepared))


def _sums_of_genotypes(counts: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Return the sums of the diagonal of ZZ' / s, and of all its elements."""
    values = values_of_codes(frequencies)
    values[:, MISSING_CODE] = 0.0
    scale = 2 * (frequencies * (1 - frequencies)).sum()
    if scale == 0:
        raise ParameterError("no variant differs between the samples: there is nothing to tune")
    totals = (counts * values).sum(axis=1)
    return np.array([(counts * values**2).sum(), totals @ totals]) / scale


def _sums_of_pedigree(pedigree: Pedigree, animals: np.ndarray) -> np.ndarray:
    """Return the sums of the diagonal of A_gg, and of all its elements."""
    is_one = np.zeros((len(pedigree), 1))
    is_one[animals] = 1.0
    total = PedigreeDraws(pedigree).multiply(is_one)[animals].sum()
    return np.array([(1 + inbreeding(pedigree)[animals]).sum(), total])


def _tune(
    rules: GenomicRules,
    of_genotypes: np.ndarray,
    of_pedigree: np.ndarray,
    n_kept: int,
    n_samples: int,
) -> tuple[float, float]:
    """Return intercept and slope that give a blended G the means of A_gg, or 1 and 0."""
    if n_samples < 2:
        raise ParameterError("one animal is genotyped, and tuning G needs two; use tunedG 0")
    alpha, beta = rules.weights
    # Rows of removed samples are those of the identity.
    n_removed = n_samples - n_kept
    means = [
        np.array([diagonal, (total - diagonal) / (n_samples - 1)]) / n_samples
        for diagonal, total in (of_genotypes + n_removed, of_pedigree + n_removed)
    ]
    own, others = alpha * means[0] + beta * means[1]
    target = means[1] if rules.targets == "pedigree" else np.array([1.0, 0.0])
    if own - others <= 0 or target[0] - target[1] <= 0:
        raise ParameterError(
            f"elements of G have the mean {own:.6g} on the diagonal and {others:.6g} elsewhere, "
            f"cannot be tuned to {target[0]:.6g} and {target[1]:.6g}"
        )
    slope = float((target[0] - target[1]) / (own - others))
    return float(target[1] - slope * others), slope


def _iter_correlation(
    genotypes: Genotypes,
    pedigree: Pedigree,
    animals: np.ndarray,
    frequencies: np.ndarray,
    rules: GenomicRules,
    backend: Backend,
) -> Generator[Progress, None, tuple[float | None, str]]:
    """Return the correlation of G with A_gg in related pairs, and what it is of, in words."""
    n, what = len(animals), "comparing relationships"
    who = n_words(n, "genotyped animal")
    if n > MAX_CORRELATED:
        chosen = np.random.default_rng(0).choice(n, MAX_CORRELATED, replace=False)
        genotypes = yield from report_last(iter_select_samples(genotypes, chosen), 0.8, 0.82)
        animals, who = animals[chosen], f"{MAX_CORRELATED:,} of {who}"
    values = values_of_codes(frequencies)
    values[:, MISSING_CODE] = 0.0
    steps = iter_crossproducts(genotypes, values, dtype=np.float32, backend=backend)
    genomic = yield from report_steps(steps, what, 0.82, 0.95)
    alpha, beta = rules.weights
    alpha /= 2 * (frequencies * (1 - frequencies)).sum()
    draws, sums = PedigreeDraws(pedigree), np.zeros(6)
    for first in range(0, len(animals), _COLUMNS_AT_ONCE):
        place = np.arange(first, min(first + _COLUMNS_AT_ONCE, len(animals)))
        is_one = np.zeros((len(pedigree), len(place)))
        is_one[animals[place], place - first] = 1.0
        related = draws.multiply(is_one)[animals]
        # Each pair once: rows below the diagonal.
        is_pair = (np.arange(len(animals))[:, None] > place) & (related >= rules.min_relationship)
        y = related[is_pair]
        x = alpha * genomic[:, place][is_pair] + beta * y
        sums += len(x), x.sum(), y.sum(), x @ x, y @ y, x @ y
        yield Progress(what, 0.95 + 0.05 * (first + len(place)) / len(animals))
    n_pairs = int(sums[0])
    of_x, of_y, of_xx, of_yy, of_xy = sums[1:] / max(n_pairs, 1)
    variances = of_xx - of_x**2, of_yy - of_y**2
    # Nobody is related in a pedigree without parents, and families may all be of one kind.
    if min(variances) < _LEAST_VARIANCE:
        return None, ""
    correlation = float((of_xy - of_x * of_y) / np.sqrt(variances[0] * variances[1]))
    return correlation, (
        f"G and A22 have a correlation of {correlation:.3g} in the {n_words(n_pairs, 'pair')} of "
        f"{who} that are related by at least {rules.min_relationship:g}"
    )


def _judge(correlation: float | None, found: str, rules: GenomicRules) -> list[str]:
    """Return a note on a low correlation; one that is too low raises an error."""
    if correlation is None or correlation >= max(rules.min_correlation, rules.low_correlation):
        return []
    if correlation < rules.min_correlation:
        raise ParameterError(
            f"{found}, needs {rules.min_correlation:g} (thrStopCorAG): genotypes or pedigree are "
            "probably wrong"
        )
    return [f"{found}, which is low: genotypes or pedigree may be wrong."]
