"""Variants that are tested alike: those of autosomes, of X, of Y, and of mitochondria.

As ``plink2 --glm``, each group has its own samples, covariates and doses of A1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import Design, make_design
from genoviz.analyses.genotypes.sex_chromosomes import haploid_samples, take_autosomes, variants_of
from genoviz.errors import ParameterError
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes

XModel = Literal["skip", "haploid", "diploid"]
X_MODELS = ("skip", "haploid", "diploid")
"""In the order of the numbers of ``--xchr-model``."""
SEX = "sex"


@dataclass(frozen=True, eq=False)
class VariantGroup:
    """Variants of some kinds of chromosomes, and what is regressed on them.

    Attributes
    ----------
    variants
        Which they are.
    design
        Phenotype and covariates of the samples that take part; None where nothing can be tested.
    weights
        float64, shape (n of the design,): what the dosages of a sample are multiplied with: 0.5
        where one copy counts as 1, not 2. None if all are 1.
    is_haploid
        Whether some samples have one copy.
    note
        What is done with them, or why they are not tested; empty for autosomes.
    """

    variants: slice | np.ndarray
    design: Design | None
    weights: np.ndarray | None = None
    is_haploid: bool = False
    note: str = ""


def variant_groups(
    genotypes: Genotypes, design: Design, *, is_binary: bool, x_model: XModel
) -> Iterator[VariantGroup]:
    """Yield the groups of variants that there are.

    Parameters
    ----------
    genotypes
        The genotypes.
    design
        That of autosomes, of all samples; its phenotype is as it was given.
    is_binary, x_model
        Whether the model is logistic; as in `iter_associate`.
    """
    others = variants_of(genotypes, Kind.X, Kind.Y, Kind.MT)
    if len(others) < genotypes.n_variants:
        own = design.of_cases() if is_binary else design
        yield VariantGroup(take_autosomes(genotypes)[1], own)
    for kind in (Kind.X, Kind.Y, Kind.MT):
        variants = variants_of(genotypes, kind)
        if not len(variants):
            continue
        if kind == Kind.X and x_model == "skip":
            yield VariantGroup(variants, None, note="X is not tested, as asked")
            continue
        yield _group_of(genotypes, kind, variants, design, is_binary, x_model)


def _group_of(
    genotypes: Genotypes,
    kind: Kind,
    variants: np.ndarray,
    design: Design,
    is_binary: bool,
    x_model: XModel,
) -> VariantGroup:
    samples = genotypes.samples
    y, columns, names = design.phenotype, design.covariates, design.names
    if kind == Kind.Y:
        y = np.where(samples.is_male, y, np.nan)
    elif kind == Kind.X and {1, 2} <= set(samples.sexes[design.kept].tolist()):
        sexes = np.where(samples.sexes > 0, samples.sexes, np.nan).astype(np.float64)
        columns, names = np.column_stack([columns, sexes]), (*names, SEX)
    try:
        own = make_design(len(y), y, columns, names)
        own = own.of_cases() if is_binary else own
        own.check_unexplained()
    except ParameterError as error:
        return VariantGroup(variants, None, note=f"{kind.name} is not tested: {error}")
    is_haploid = haploid_samples(genotypes, kind)[own.kept]
    is_halved = is_haploid & (kind != Kind.X or x_model == "haploid")
    weights = np.where(is_halved, 0.5, 1.0) if is_halved.any() else None
    has_sex = len(names) > len(design.names) and own.names[-1:] == (SEX,)
    return VariantGroup(variants, own, weights, True, _note(kind, own.n_samples, x_model, has_sex))


def _note(kind: Kind, n: int, x_model: XModel, has_sex: bool) -> str:
    if kind == Kind.X:
        highest = "2" if x_model == "diploid" else "1"
        sex = " and sex is a covariate" if has_sex else ""
        return f"X is tested with {n:,} samples, where males have 0 or {highest} of A1{sex}"
    who = "males" if kind == Kind.Y else "samples"
    return f"{kind.name} is tested with {n:,} {who}, who have 0 or 1 of A1"
