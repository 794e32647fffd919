"""Single-step predictions: genotyped animals and all their relatives in one evaluation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot, iter_blup, spread_effects
from genoviz.analyses.genotypes.prediction.blup_training import (
    Training,
    check_phenotype_length,
    variance_ratio,
)
from genoviz.analyses.genotypes.prediction.preconditioners import (
    Preconditioner,
    check_preconditioner,
)
from genoviz.analyses.genotypes.prediction.single_step_animals import (
    AnimalEquations,
    iter_factorise,
)
from genoviz.analyses.genotypes.prediction.single_step_parts import SingleStepParts
from genoviz.analyses.genotypes.prediction.single_step_variants import VariantEquations
from genoviz.analyses.genotypes.sex_chromosomes import Contigs, take_autosomes
from genoviz.backend import Backend
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz.model.genotypes.pedigree import Pedigree

Form = Literal["ssSNPBLUP", "ssGTABLUP"]
FORMS = ("ssSNPBLUP", "ssGTABLUP")


def single_step(
    genotypes: Genotypes,
    pedigree: Pedigree,
    phenotype: np.ndarray,
    *,
    form: Form = "ssSNPBLUP",
    polygenic_weight: float = 0.2,
    covariates: np.ndarray | None = None,
    contigs: Contigs = "autosomes",
    heritability: float = 0.5,
    preconditioner: Preconditioner = "diagonal",
    tolerance: float = 1e-13,
    max_iterations: int = 5000,
    backend: Backend = "auto",
) -> BlupSnapshot:
    """Return the last snapshot of `iter_single_step`."""
    *_, last = iter_single_step(
        genotypes,
        pedigree,
        phenotype,
        form=form,
        polygenic_weight=polygenic_weight,
        covariates=covariates,
        contigs=contigs,
        heritability=heritability,
        preconditioner=preconditioner,
        tolerance=tolerance,
        max_iterations=max_iterations,
        backend=backend,
    )
    return last


def iter_single_step(
    genotypes: Genotypes,
    pedigree: Pedigree,
    phenotype: np.ndarray,
    *,
    form: Form = "ssSNPBLUP",
    polygenic_weight: float = 0.2,
    covariates: np.ndarray | None = None,
    contigs: Contigs = "autosomes",
    heritability: float = 0.5,
    preconditioner: Preconditioner = "diagonal",
    tolerance: float = 1e-13,
    max_iterations: int = 5000,
    backend: Backend = "auto",
) -> Iterator[BlupSnapshot]:
    """Predict all animals of a pedigree, some of which are genotyped, and yield each iterate.

    The model is y = Xb + u + e, u ~ N(0, H vg). H combines the pedigree's A with the genomic
    relationships (1 - w) ZZ' / s + w A_gg of genotyped animals, s = 2 sum p(1 - p). G and H are
    neither built nor inverted; both forms have the same solution:

    - ``"ssSNPBLUP"`` has animals and variants as unknowns, and needs one product with Z, one with
      Z' and one with A_gg^-1 per iteration;
    - ``"ssGTABLUP"`` has animals alone, for which it factorises a matrix of variants by variants
      first, and so is for at most 20,000 of these.

    Parameters
    ----------
    genotypes
        Of animals of the pedigree, found by their IIDs; a missing genotype counts as the mean.
    pedigree
        All animals.
    phenotype
        float64, shape (n_animals,), in the order of ``pedigree.ids``; NaN for none.
    form
        Which equations are solved.
    polygenic_weight
        w, the share of the variance of genotyped animals that variants do not account for,
        between 0 and 1.
    covariates
        float64, shape (n_animals,) or (n_animals, c): X after the intercept.
    contigs, heritability, tolerance, max_iterations, backend
        As in `iter_snp_blup`.
    preconditioner
        ``"diagonal"``; ``"block"``, which differs from it in having blocks of 64 consecutive
        variants in ssSNPBLUP; or ``"none"``.

    Yields
    ------
    BlupSnapshot
        Breeding values are of all animals of the pedigree. Those of iteration 0 are 0 and may come
        several times while matrices are prepared.

    Raises
    ------
    ParameterError
        If an argument is out of range, genotyped samples are not in the pedigree, or there is
        nothing to learn from.

    References
    ----------
    Liu, Goddard, Reinhardt and Reents 2014, A single-step genomic model with direct estimation of
    marker effects, doi:10.3168/jds.2014-7924 (ssSNPBLUP)
    Mäntysaari, Evans and Strandén 2017, Efficient single-step genomic evaluation for a multibreed
    beef cattle population having many genotyped animals, doi:10.2527/jas2017.1912 (ssGTBLUP)
    Freudenberg et al. 2023, Accelerated matrix-vector multiplications for matrices involving
    genotype covariates with applications in genomic prediction, doi:10.3389/fgene.2023.1220408
    """
    if form not in FORMS:
        raise ParameterError(f"form is {form!r}, needs one of {', '.join(FORMS)}")
    if not 0 < polygenic_weight < 1:
        raise ParameterError(
            f"polygenic_weight is {polygenic_weight}, needs more than 0 and less than 1"
        )
    check_preconditioner(preconditioner)
    ratio = variance_ratio(heritability)
    values = check_phenotype_length(phenotype, len(pedigree.ids), "animals")
    training = Training(values, covariates, "animals")
    n_variants = genotypes.n_variants
    genotypes, kept = take_autosomes(genotypes, contigs)
    parts = SingleStepParts(genotypes, pedigree, training, ratio, polygenic_weight, backend)
    if form == "ssSNPBLUP":
        equations = VariantEquations(parts, preconditioner)
    else:
        for factor in iter_factorise(parts):
            if factor is None:
                yield from spread_effects(iter([_nothing_yet(parts)]), kept, n_variants)
        equations = AnimalEquations(parts, factor, preconditioner)
    steps = iter_blup(equations, tolerance=tolerance, max_iterations=max_iterations)
    yield from spread_effects(steps, kept, n_variants)


def _nothing_yet(parts: SingleStepParts) -> BlupSnapshot:
    values = np.zeros(parts.n_animals)
    fixed_effects = parts.training.fixed_effects(values)
    effects = np.zeros(parts.n_variants)
    return BlupSnapshot(0, np.ones(1), effects, values, fixed_effects, False, 0.0)
