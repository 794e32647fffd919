"""Joint prediction of several correlated traits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_training import as_columns
from genoviz.analyses.genotypes.prediction.metafounders import note_lost_groups
from genoviz.analyses.genotypes.prediction.mixed_model import (
    MixedSolution,
    iter_solve_mixed_model,
)
from genoviz.analyses.genotypes.prediction.pedigree_inverse import group_shares
from genoviz.analyses.genotypes.prediction.single_step_parts import (
    Form,
    check_form,
    has_free_level,
)
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, spread_rows, take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.mixed_model import (
    MarkerEffects,
    MixedModel,
    ModelEffect,
    PedigreeRelationships,
    RandomEffects,
    SingleStep,
)
from genoviz.model.genotypes.pedigree import Pedigree


@dataclass(frozen=True, eq=False)
class MultiTraitSnapshot:
    """Predictions of several traits after some iterations.

    Attributes
    ----------
    breeding_values
        float64, shape (n_animals, n_traits), group effects included; of samples if there is no
        pedigree.
    group_effects
        float64, shape (n_groups, n_traits): effects of the unknown parent groups.
    fixed_effects
        float64, shape (1 + c, n_traits): the intercept, then the covariates. For collinear
        covariates only sums are meaningful.
    effects
        float64, shape (n_variants, n_traits): effect per copy of A1; 0 for excluded variants.
    permanent_effects
        float64, shape (n_animals, n_traits): permanent environmental effects; None if they have no
        variance.
    residuals
        float64, shape (iteration + 1,): squared residual norm relative to that of the right side.
    is_converged
        Whether the last residual is within the tolerance.
    seconds
        Time since the start.
    notes
        Unknown parent groups that the records of a trait cannot distinguish.
    """

    breeding_values: np.ndarray
    group_effects: np.ndarray
    fixed_effects: np.ndarray
    effects: np.ndarray
    permanent_effects: np.ndarray | None
    residuals: np.ndarray
    is_converged: bool
    seconds: float
    notes: tuple[str, ...] = ()

    @property
    def iteration(self) -> int:
        """Number of iterations done."""
        return len(self.residuals) - 1

    @property
    def sentence(self) -> str:
        """Accuracy of the prediction, in words."""
        plural = "s" * (self.iteration != 1)
        words = f"{self.iteration:,} iteration{plural}, squared relative residual "
        return f"{words}{self.residuals[-1]:.2g}{'' if self.is_converged else ', not converged'}"


def iter_multi_trait(
    genotypes: Genotypes | None,
    pedigree: Pedigree | None,
    phenotypes: np.ndarray,
    *,
    form: Form = "ssSNPBLUP",
    genetic: np.ndarray,
    residual: np.ndarray,
    permanent: np.ndarray | None = None,
    polygenic_weight: float = 0.2,
    covariates: np.ndarray | None = None,
    animals: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    contigs: Contigs = "autosomes",
    tolerance: float = 1e-13,
    max_iterations: int = 5000,
    backend: Backend = "auto",
) -> Iterator[MultiTraitSnapshot]:
    """Predict several traits of all animals of a pedigree, or of samples; yield each iterate.

    The model of each trait is that of `iter_single_step`, with the same covariates; that of
    `iter_snp_blup` without a pedigree, and that of the pedigree alone without genotypes. The
    covariances are G0 H for breeding values, P0 I for permanent effects, and R0 divided by the
    weight for the residuals of a record. A record with missing traits uses the inverse of R0 of its
    observed traits. An iteration is one product each with Z, Z' and A_gg^-1, with one column per
    trait; the form ssGTABLUP needs two with A_gg^-1.

    Parameters
    ----------
    genotypes
        Genotypes of animals of the pedigree, matched by IID; missing ones are replaced by the mean.
        None: H is the pedigree's A, and there are no variant effects.
    pedigree
        All animals, and unknown parent groups or metafounders if any. None: the samples are the
        animals, and H is ZZ' / s, as for `iter_snp_blup` and `iter_gblup`.
    phenotypes
        float64, shape (n_animals, n_traits), in the order of ``pedigree.ids``; or (n_records,
        n_traits). NaN is missing.
    form
        Which equations to solve if there are genotypes and a pedigree, as in `iter_single_step`.
    genetic, residual, permanent
        float64, shape (n_traits, n_traits): G0, R0 and P0; `correlate` estimates the first two.
        With metafounders, G0 refers to A^Gamma; `base_share` converts from other bases.
    polygenic_weight, contigs
        As in `iter_single_step`.
    covariates
        float64, shape (n,) or (n, c), a row for each record; rows with NaN are not used.
    animals
        int64, shape (n_records,): animal index of each record, any number of times.
    weights
        float64, shape (n,): weight of each record, positive; NaN excludes the record.
    tolerance
        Stop at this squared residual norm relative to that of the right side.
    max_iterations, backend
        As in `iter_single_step`.

    Raises
    ------
    ParameterError
        If shapes do not match, a covariance matrix is invalid, genotyped samples are not in the
        pedigree, both genotypes and pedigree are missing, or a trait has no value, an infinite one,
        or is constant.

    References
    ----------
    Henderson 1984, Applications of Linear Models in Animal Breeding, University of Guelph
    Freudenberg et al. 2023, Accelerated matrix-vector multiplications for matrices involving
    genotype covariates with applications in genomic prediction, doi:10.3389/fgene.2023.1220408
    """
    check_form(form)
    if pedigree is None and genotypes is None:
        raise ParameterError("needs genotypes, a pedigree, or both")
    n_animals = genotypes.n_samples if pedigree is None else len(pedigree)
    n_groups = 0 if pedigree is None else len(pedigree.groups)
    records = _used_records(phenotypes, animals, weights, covariates, n_animals)
    n_traits = records.values.shape[1]
    given = {"genetic": genetic, "residual": residual, "permanent": permanent}
    matrices = {
        name: _check_covariance(name, matrix, n_traits)
        for name, matrix in given.items()
        if matrix is not None
    }
    # The stopping criterion covers all traits together, so each is scaled to unit residual.
    scales = np.sqrt(np.diag(matrices["residual"]))
    matrices = {name: matrix / (scales[:, None] * scales) for name, matrix in matrices.items()}
    columns = records.columns
    means, deviations = columns.mean(axis=0), columns.std(axis=0)
    deviations[deviations == 0] = 1.0
    records = records._replace(
        values=records.values / scales, columns=(columns - means) / deviations
    )
    if genotypes is None:
        n_variants, kept, structure = 0, slice(None), PedigreeRelationships(pedigree)
    else:
        n_variants = genotypes.n_variants
        genotypes, kept = take_autosomes(genotypes, contigs)
        structure = MarkerEffects(genotypes)
        if pedigree is not None:
            structure = SingleStep(pedigree, genotypes, polygenic_weight, form)
    model = _make_model(records, matrices, structure, n_animals, n_groups)
    is_free = pedigree is not None and has_free_level(pedigree)
    notes = _note_groups(pedigree, records) if n_groups else ()
    for solution in iter_solve_mixed_model(
        model, tolerance=tolerance, max_iterations=max_iterations, backend=backend
    ):
        fixed = np.vstack([solution.of_effect(k, n_traits) for k in range(1 + len(means))])
        fixed[1:] /= deviations[:, None]
        fixed[0] -= means @ fixed[1:]
        snapshot = _read(solution, fixed, scales, n_animals, is_free)
        effects = spread_rows(snapshot.effects, kept, n_variants)
        yield replace(snapshot, effects=effects, notes=notes)


@in_one_go(iter_multi_trait)
def multi_trait(last: MultiTraitSnapshot) -> MultiTraitSnapshot:
    """Return the last snapshot of `iter_multi_trait`."""
    return last


class _Records(NamedTuple):
    """Records that are used, a row each: their values, animals, covariates and weights."""

    values: np.ndarray
    animals: np.ndarray
    columns: np.ndarray
    weights: np.ndarray


def _used_records(
    phenotypes: np.ndarray,
    animals: np.ndarray | None,
    weights: np.ndarray | None,
    covariates: np.ndarray | None,
    n_animals: int,
) -> _Records:
    """Return the records with a value, all covariates and a weight; refuse what allows no model."""
    values = np.asarray(phenotypes, np.float64)
    if values.ndim != 2 or (animals is None and len(values) != n_animals):
        n = n_animals if animals is None else "n_records"
        raise ParameterError(f"phenotypes have shape {values.shape}, need ({n}, n_traits)")
    owners = np.arange(n_animals) if animals is None else np.asarray(animals)
    columns = as_columns(covariates, len(values), "records")
    shares = np.ones(len(values)) if weights is None else np.asarray(weights, np.float64)
    for name, found in (("animals", owners), ("weights", shares)):
        if found.shape != (len(values),):
            raise ParameterError(f"{name} have shape {found.shape}, need ({len(values)},)")
    if owners.dtype.kind not in "iu":
        raise ParameterError(f"animals are {owners.dtype}, need integers, one a record")
    if len(owners) and not (0 <= owners.min() and owners.max() < n_animals):
        raise ParameterError(f"animals have numbers that are not from 0 to {n_animals - 1}")
    if (shares <= 0).any():
        raise ParameterError("weights have values that are not more than 0")
    has_all = ~np.isnan(columns).any(axis=1) & ~np.isnan(shares)
    is_used = has_all & ~np.isnan(values).all(axis=1)
    empty = np.flatnonzero(np.isnan(values[is_used]).all(axis=0))
    if len(empty) or not is_used.any():
        raise ParameterError(f"trait {int(empty[0]) + 1 if len(empty) else 1} has no value")
    _check_values(values[is_used])
    return _Records(*(each[is_used] for each in (values, owners.astype(np.int64), columns, shares)))


def _make_model(
    records: _Records,
    matrices: Mapping[str, np.ndarray],
    structure: PedigreeRelationships | MarkerEffects | SingleStep,
    n_animals: int,
    n_groups: int,
) -> MixedModel:
    """Return the model of a mean, covariates, breeding values and perhaps permanent effects."""
    n_records, n_traits = records.values.shape

    def repeat(level: np.ndarray) -> np.ndarray:
        return np.repeat(level[:, None], n_traits, axis=1)

    none, animals = repeat(np.zeros(n_records, np.int64)), repeat(records.animals)
    effects = [ModelEffect(none, 1)]
    effects += [ModelEffect(none, 1, repeat(column)) for column in records.columns.T]
    random = [RandomEffects((len(effects),), matrices["genetic"], structure)]
    effects.append(ModelEffect(animals, n_animals + n_groups))
    if "permanent" in matrices:
        random.append(RandomEffects((len(effects),), matrices["permanent"]))
        effects.append(ModelEffect(animals, n_animals))
    return MixedModel(
        records.values, tuple(effects), tuple(random), matrices["residual"], records.weights
    )


def _check_values(values: np.ndarray) -> None:
    """Reject traits that allow no estimate."""
    for number, trait in enumerate(values.T, start=1):
        own = trait[~np.isnan(trait)]
        if not np.isfinite(own).all():
            raise ParameterError(
                f"trait {number} has an infinite value, needs numbers, or NaN for none"
            )
        if np.ptp(own) == 0:
            where = f"all {len(own):,} records that have" if len(own) > 1 else "the only record of"
            raise ParameterError(
                f"trait {number} is {own[0]:g} in {where} it: there is nothing to learn"
            )


def _note_groups(pedigree: Pedigree, records: _Records) -> tuple[str, ...]:
    """Return sentences on groups that the records of a trait cannot distinguish."""
    if pedigree.gamma is not None:
        return ()
    shares, found = group_shares(pedigree)[records.animals], {}
    for number, trait in enumerate(records.values.T, start=1):
        has = ~np.isnan(trait)
        design = np.column_stack([np.ones(has.sum()), records.columns[has]])
        own = shares[has]
        rest = own - design @ np.linalg.lstsq(design, own, rcond=None)[0]
        for note in note_lost_groups(pedigree, rest.T @ rest, (own**2).sum(axis=0)):
            found.setdefault(note, []).append(number)
    of_all = range(1, records.values.shape[1] + 1)
    return tuple(
        note if numbers == [*of_all] else f"Trait {', '.join(map(str, numbers))}: {note}"
        for note, numbers in found.items()
    )


def _check_covariance(name: str, matrix: np.ndarray, n_traits: int) -> np.ndarray:
    """Return a covariance of traits as float64."""
    found = np.asarray(matrix, np.float64)
    if found.shape != (n_traits, n_traits):
        raise ParameterError(f"{name} has shape {found.shape}, needs ({n_traits}, {n_traits})")
    if not np.isfinite(found).all() or not np.allclose(found, found.T, rtol=1e-6):
        raise ParameterError(f"{name} is not symmetric")
    if np.linalg.eigvalsh(found)[0] <= 0:
        raise ParameterError(f"{name} is not positive definite")
    return found


def _read(
    solution: MixedSolution,
    fixed: np.ndarray,
    scales: np.ndarray,
    n_animals: int,
    is_free: bool,
) -> MultiTraitSnapshot:
    """Return the solution in the units of the traits."""
    n_traits = fixed.shape[1]
    values = solution.of_effect(len(fixed), n_traits)
    if is_free:
        # A constant can be moved between the intercept and the effects; centre the latter.
        common = values[n_animals:].mean(axis=0)
        values, fixed[0] = values - common, fixed[0] + common
    no_effects = np.empty((0, n_traits))
    effects = solution.variant_effects[0] if solution.variant_effects else no_effects
    has_permanent = (solution.effects == len(fixed) + 1).any()
    return MultiTraitSnapshot(
        values[:n_animals] * scales,
        values[n_animals:] * scales,
        fixed * scales,
        effects * scales,
        solution.of_effect(len(fixed) + 1, n_traits) * scales if has_permanent else None,
        solution.residuals,
        solution.is_converged,
        solution.seconds,
    )
