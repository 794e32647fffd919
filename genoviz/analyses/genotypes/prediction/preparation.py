"""Genotypes of single-step models prepared as BLUPF90 does: quality control, blending, tuning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts, values_of_codes
from genoviz.analyses.genotypes.prediction.pedigree_inverse import PedigreeDraws, inbreeding
from genoviz.analyses.genotypes.prediction.quality import iter_control_quality
from genoviz.analyses.genotypes.prediction.single_step_parts import find_animals
from genoviz.analyses.genotypes.products import iter_allele_counts
from genoviz.analyses.genotypes.selection import iter_select_samples
from genoviz.backend import Backend
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, in_one_go, report_last
from genoviz.model.genotypes.genomic_rules import GenomicRules
from genoviz.model.genotypes.genotypes import MISSING_CODE
from genoviz.model.genotypes.mixed_model import MixedModel, SingleStep
from genoviz.model.genotypes.pedigree import Pedigree


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
    """

    structure: SingleStep
    removed_variants: dict[str, np.ndarray]
    removed_samples: dict[str, np.ndarray]
    notes: tuple[str, ...]


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
        counts = yield from report_last(iter_allele_counts(left, backend=backend), 0.0, 0.7)
        frequencies, kept = frequencies_of_counts(counts), np.arange(left.n_samples)
    else:
        steps = iter_control_quality(
            left, pedigree, rules.quality, order=structure.levels, backend=backend
        )
        control = yield from report_last(steps, 0.0, 0.7)
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
            left = yield from report_last(iter_select_samples(left, kept), 0.7, 0.9)
    notes = [] if control is None else list(control.notes)
    if rules.targets is None:
        intercept, slope = rules.line
    else:
        steps = iter_allele_counts(left, backend=backend)
        counts = yield from report_last(steps, 0.9, 1.0)
        of_genotypes = _sums_of_genotypes(counts, frequencies)
        of_pedigree = _sums_of_pedigree(pedigree, animals[kept])
        intercept, slope = _tune(rules, of_genotypes, of_pedigree, len(kept), len(animals))
        target = "those of the pedigree" if rules.targets == "pedigree" else "1 and 0"
        notes.append(
            f"G is tuned to {intercept:.6g} + {slope:.6g} G, so that the means of its diagonal and "
            f"of its other elements are {target}."
        )
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
    prepared = PreparedSingleStep(made, *removed, tuple(notes))
    yield Progress("preparing genotypes", 1.0, prepared)


@in_one_go(iter_prepare_single_step)
def prepare_single_step(last: Progress) -> PreparedSingleStep:
    """Return a structure with its `GenomicRules` applied, as BLUPF90 does it.

    Variants and samples are removed by `control_quality`. Frequencies, for centring and s, are
    those of all samples, before any was removed. G is blended with A_gg first, and then tuned. For
    its means, removed samples are unrelated to all others in both matrices, with 1 on the diagonal.

    Parameters
    ----------
    structure
        Genotypes and pedigree with the rules; nothing is removed or tuned without.
    backend
        Where to compute.

    Raises
    ------
    ParameterError
        If a sample is not in the pedigree, nothing is left or can be tuned, or as in
        `control_quality`.

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
