"""Single-step prediction: joint evaluation of genotyped and non-genotyped animals.

The equations have two forms: `VariantEquations` with one unknown per variant (ssSNPBLUP), and
`AnimalEquations` with one unknown per animal, after one factorisation (ssGTABLUP).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from genoviz.analyses.genotypes.matrix_parts import module_of
from genoviz.analyses.genotypes.prediction.blup_run import (
    BlupSnapshot,
    Solution,
    iter_blup,
    spread_effects,
)
from genoviz.analyses.genotypes.prediction.blup_training import (
    Training,
    make_records,
)
from genoviz.analyses.genotypes.prediction.conjugate_gradient import GradientStep, Products
from genoviz.analyses.genotypes.prediction.metafounders import note_lost_groups
from genoviz.analyses.genotypes.prediction.pedigree_inverse import group_shares
from genoviz.analyses.genotypes.prediction.preconditioners import (
    Preconditioner,
    check_preconditioner,
    inverse_within,
    variant_preconditioner,
)
from genoviz.analyses.genotypes.prediction.single_step_parts import (
    EliminatedEffects,
    Form,
    SingleStepParts,
    check_form,
    iter_factorise,
)
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend, to_host
from genoviz.errors import ParameterError
from genoviz.generators import in_one_go
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree


class VariantEquations:
    """The equations of ssSNPBLUP.

    With P = W'MW and Py = W'My of a `Training`, B = A_gg^-1 for the rows of genotyped animals, l
    the variance ratio and w the polygenic weight::

        (P + l (A^-1 + (1/w - 1) B)) u - l/w BZ g                  = Py
        -l/w Z'B u                     + l (Z'BZ / w + ridge I) g  = 0
    """

    def __init__(self, parts: SingleStepParts, preconditioner: Preconditioner) -> None:
        self.training = parts.training
        self._parts = parts
        no_effects = np.zeros(parts.n_variants)
        self.right_side = parts.place(np.concatenate([_right_side(parts), no_effects]))
        is_rough = preconditioner != "none"
        diagonal = parts.diagonal(parts.weight) if is_rough else np.ones(parts.n_rows)
        self._diagonal = parts.place(diagonal)
        self._precondition_effects = variant_preconditioner(
            preconditioner,
            parts.markers,
            np.arange(len(parts.genotyped)),
            parts.ratio * parts.ridge,
            scale=parts.ratio / parts.weight * parts.genotyped_inverse.diagonal.mean(),
        )
        self._common = _common(self, parts, parts.n_rows if is_rough else 0)

    def multiply(self, direction: Any) -> Products:
        """Return the left side times breeding values and effects."""
        parts = self._parts
        n = parts.n_rows
        both = parts.multiply(direction[:n], direction[n:])
        image = parts.ratio * module_of(direction).concatenate(both)
        parts.add_records(image, direction)
        return (image,)

    def precondition(self, residual: Any) -> Any:
        """Return approximate breeding values and effects for a right side."""
        n = self._parts.n_rows
        animals = (residual[:n].T / self._diagonal).T
        effects = self._precondition_effects(residual[n:])
        rough = module_of(residual).concatenate([animals, effects])
        return rough + self._common @ (self._common.T @ residual)

    def read(self, step: GradientStep) -> Solution:
        """Return effects, breeding values and group effects."""
        values, effects = np.split(to_host(step.solution), [self._parts.n_rows])
        return effects, *self._parts.split(values)


class AnimalEquations:
    """The equations of ssGTABLUP.

    With the inverse of H by `EliminatedEffects`, and l the variance ratio::

        (P + l (A^-1 + (1/w - 1) B - T'T)) u = Py
    """

    def __init__(self, eliminated: EliminatedEffects, preconditioner: Preconditioner) -> None:
        parts = eliminated.parts
        self.training = parts.training
        self.right_side = parts.place(_right_side(parts))
        self._parts = parts
        self._eliminated = eliminated
        is_rough = preconditioner != "none"
        diagonal = eliminated.diagonal() if is_rough else np.ones(parts.n_rows)
        self._diagonal = parts.place(diagonal)
        self._common = _common(self, parts, parts.n_rows if is_rough else 0)

    def multiply(self, direction: Any) -> Products:
        """Return the left side times breeding values, and the resulting effects."""
        parts = self._parts
        animals, effects = map(parts.place, self._eliminated.multiply(to_host(direction)))
        image = parts.ratio * animals
        parts.add_records(image, direction)
        return image, effects

    def precondition(self, residual: Any) -> Any:
        """Return approximate breeding values for a right side."""
        return residual / self._diagonal + self._common @ (self._common.T @ residual)

    def read(self, step: GradientStep) -> Solution:
        """Return effects, breeding values and group effects."""
        effects = step.images[0] if step.images else np.zeros(self._parts.n_variants)
        return to_host(effects), *self._parts.split(to_host(step.solution))


def _common(
    equations: VariantEquations | AnimalEquations, parts: SingleStepParts, n_rows: int
) -> Any:
    """Return the factor of the inverse for a constant shared by all animals and groups.

    The intercept absorbs this constant, and Gamma adds almost no information on it, so the
    equations with metafounders hardly determine it.
    """
    direction = np.zeros((len(equations.right_side), min(n_rows, 1)))
    direction[:n_rows] = 1.0

    def multiply(values: np.ndarray) -> np.ndarray:
        return to_host(equations.multiply(parts.place(values))[0])

    return parts.place(inverse_within(multiply, direction))


def _right_side(parts: SingleStepParts) -> np.ndarray:
    """Return the right side: contributions of records to animals, and zeros for groups."""
    return np.pad(parts.training.right_side, (0, parts.n_rows - parts.n_animals))


def iter_single_step(
    genotypes: Genotypes,
    pedigree: Pedigree,
    phenotype: np.ndarray,
    *,
    form: Form = "ssSNPBLUP",
    polygenic_weight: float = 0.2,
    covariates: np.ndarray | None = None,
    covariate_names: Sequence[str] | None = None,
    animals: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    repeatability: float | None = None,
    contigs: Contigs = "autosomes",
    heritability: float = 0.5,
    preconditioner: Preconditioner = "diagonal",
    tolerance: float = 1e-13,
    max_iterations: int = 5000,
    backend: Backend = "auto",
) -> Iterator[BlupSnapshot]:
    """Predict all animals of a pedigree, some of them genotyped, and yield each iterate.

    The model is y = Xb + u + e, u ~ N(0, H vg). H combines the pedigree's A with the genomic
    relationships (1 - w) ZZ' / s + w A_gg of genotyped animals, s = 2 sum p(1 - p). G and H are
    neither built nor inverted; both forms have the same solution:

    - ``"ssSNPBLUP"`` has animals and variants as unknowns. An iteration needs one product each with
      Z, Z' and A_gg^-1;
    - ``"ssGTABLUP"`` has only animals as unknowns. It first factorises a matrix of variants by
      variants, so it is limited to 20,000 variants.

    With repeated records, y = Xb + Wu + Wp + e has a row per record, and ``animals`` gives the
    animal of each. p ~ N(0, I vp) are permanent environmental effects, and e has variance
    ve / weight.

    Unknown parent groups have fixed effects q, and the reported breeding values are Qq + u, where
    Q holds the group contributions of animals. The inverse of H is then that of Misztal et al.,
    A* + [-Q I]' (G^-1 - A_gg^-1) [-Q I] in the rows of genotyped animals. If all unknown parents
    have groups, the group effects are centred, because the intercept absorbs their mean. A note
    names groups that the records cannot distinguish.

    Metafounders (`Pedigree.with_gamma`) are random ancestors of the animals instead. A becomes
    A^Gamma, and dosages are centred as if all frequencies were 1/2, so that both have the same
    base; s is n_variants / 2. vg refers to that base: it is the variance among unrelated founders
    divided by 1 + (mean diagonal of Gamma) / 2 - (mean of Gamma), their `base_share`.

    Parameters
    ----------
    genotypes
        Genotypes of animals of the pedigree, matched by IID; missing ones are replaced by the mean.
    pedigree
        All animals.
    phenotype
        float64, shape (n_animals,), in the order of ``pedigree.ids``; or (n_records,). NaN is
        missing.
    form
        Which equations to solve.
    polygenic_weight
        w, the share of the genetic variance that variants do not explain in genotyped animals,
        between 0 and 1.
    covariates
        float64, shape (n,) or (n, c), a row for each value: X after the intercept.
    covariate_names
        Names for notes.
    animals
        int64, shape (n_records,): animal index of each value, any number of times.
    weights
        float64, shape of the phenotype: positive weight of each value, such as the number of
        measurements that it averages; NaN excludes the value. All are 1 if None.
    repeatability
        (vg + vp) / (vg + vp + ve), at least the heritability, which is vg / (vg + vp + ve); None
        sets vp to 0.
    contigs, heritability, tolerance, max_iterations, backend
        As in `iter_snp_blup`.
    preconditioner
        ``"diagonal"``; ``"block"``, which in ssSNPBLUP uses blocks of 64 consecutive variants
        instead; or ``"none"``.

    Yields
    ------
    BlupSnapshot
        Breeding values are those of all animals of the pedigree. Snapshots of iteration 0 have
        zeros and may repeat while matrices are prepared. Permanent effects are p.

    Raises
    ------
    ParameterError
        If an argument is out of range, genotyped samples are not in the pedigree, or the data
        allow no prediction.

    References
    ----------
    Liu, Goddard, Reinhardt and Reents 2014, A single-step genomic model with direct estimation of
    marker effects, doi:10.3168/jds.2014-7924 (ssSNPBLUP)
    Mäntysaari, Evans and Strandén 2017, Efficient single-step genomic evaluation for a multibreed
    beef cattle population having many genotyped animals, doi:10.2527/jas2017.1912 (ssGTBLUP)
    Misztal, Vitezica, Legarra, Aguilar and Swan 2013, Unknown-parent groups in single-step genomic
    evaluation, doi:10.1111/jbg.12025
    Legarra, Christensen, Vitezica, Aguilar and Misztal 2015, Ancestral relationships using
    metafounders: finite ancestral populations and across population relationships,
    doi:10.1534/genetics.115.177014
    Freudenberg et al. 2023, Accelerated matrix-vector multiplications for matrices involving
    genotype covariates with applications in genomic prediction, doi:10.3389/fgene.2023.1220408
    """
    check_form(form)
    if not 0 < polygenic_weight < 1:
        raise ParameterError(
            f"polygenic_weight is {polygenic_weight}, needs more than 0 and less than 1"
        )
    check_preconditioner(preconditioner)
    values, records, ratio = make_records(
        phenotype, len(pedigree.ids), animals=animals, weights=weights,
        heritability=heritability, repeatability=repeatability,
    )  # fmt: skip
    what = "animals" if animals is None else "records"
    training = Training(values, covariates, what, covariate_names=covariate_names, records=records)
    n_variants = genotypes.n_variants
    genotypes, kept = take_autosomes(genotypes, contigs)
    if len(pedigree.groups) and pedigree.gamma is None:
        shares = group_shares(pedigree)
        sizes = training.diagonal @ shares**2
        left = shares.T @ training.project(shares)
        training.notes = (*training.notes, *note_lost_groups(pedigree, left, sizes))
    parts = SingleStepParts(genotypes, pedigree, training, ratio, polygenic_weight, backend)
    if form == "ssSNPBLUP":
        equations = VariantEquations(parts, preconditioner)
    else:
        for eliminated in iter_factorise(parts):
            if eliminated is None:
                yield from spread_effects(iter([_nothing_yet(parts)]), kept, n_variants)
        equations = AnimalEquations(eliminated, preconditioner)
    steps = iter_blup(equations, tolerance=tolerance, max_iterations=max_iterations)
    yield from spread_effects(steps, kept, n_variants)


@in_one_go(iter_single_step)
def single_step(last: BlupSnapshot) -> BlupSnapshot:
    """Return the last snapshot of `iter_single_step`."""
    return last


def _nothing_yet(parts: SingleStepParts) -> BlupSnapshot:
    values, groups = parts.split(np.zeros(parts.n_rows))
    fixed_effects = parts.training.fixed_effects(values)
    effects = np.zeros(parts.n_variants)
    return BlupSnapshot(
        0, np.ones(1), effects, values, fixed_effects, False, 0.0, group_effects=groups
    )
