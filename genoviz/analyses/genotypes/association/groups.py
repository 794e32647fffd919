"""Variants that are tested alike: those of autosomes, of X, of Y, and of mitochondria.

As ``plink2 --glm``, each group has its own samples, covariates and doses of A1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from genoviz.analyses.genotypes.association.design import COLLINEAR, Design, make_design
from genoviz.analyses.genotypes.sex_chromosomes import haploid_samples, take_autosomes, variants_of
from genoviz.errors import ParameterError
from genoviz.model.genotypes.chromosomes import Kind
from genoviz.model.genotypes.genotypes import Genotypes

XModel = Literal["skip", "haploid", "diploid"]
X_MODELS = ("skip", "haploid", "diploid")
"""In the order of the numbers of ``--xchr-model``."""


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
    genotypes: Genotypes,
    phenotype: np.ndarray,
    covariates: np.ndarray | None,
    design: Design,
    *,
    is_binary: bool,
    x_model: XModel,
) -> Iterator[VariantGroup]:
    """Yield the groups of variants that there are.

    Parameters
    ----------
    genotypes, phenotype, covariates
        As in `iter_associate`, checked.
    design
        That of autosomes.
    is_binary, x_model
        As in `iter_associate`.
    """
    others = variants_of(genotypes, Kind.X, Kind.Y, Kind.MT)
    if len(others) < genotypes.n_variants:
        yield VariantGroup(take_autosomes(genotypes)[1], design)
    y = np.asarray(phenotype, np.float64)
    columns = np.empty((len(y), 0)) if covariates is None else np.asarray(covariates, np.float64)
    for kind in (Kind.X, Kind.Y, Kind.MT):
        variants = variants_of(genotypes, kind)
        if not len(variants):
            continue
        if kind == Kind.X and x_model == "skip":
            yield VariantGroup(variants, None, note="X is not tested, as asked")
            continue
        yield _group_of(genotypes, kind, variants, y, columns, is_binary, x_model)


def _group_of(
    genotypes: Genotypes,
    kind: Kind,
    variants: np.ndarray,
    y: np.ndarray,
    columns: np.ndarray,
    is_binary: bool,
    x_model: XModel,
) -> VariantGroup:
    samples = genotypes.samples
    is_there = np.isfinite(y) & np.isfinite(columns).all(1)
    has_sex = False
    if kind == Kind.Y:
        is_there &= samples.is_male
    elif kind == Kind.X:
        sexes = np.where(samples.sexes > 0, samples.sexes, np.nan).astype(np.float64)
        has_sex = {1, 2} <= set(samples.sexes[is_there].tolist())
        if has_sex:
            columns = np.column_stack([columns, sexes])
            is_there &= np.isfinite(sexes)
    kept = _independent(columns[is_there])
    has_sex = has_sex and columns.shape[1] - 1 in kept
    y = np.where(is_there, y, np.nan)
    try:
        design = make_design(len(y), y, columns[:, kept], None, is_binary=is_binary)
    except ParameterError as error:
        return VariantGroup(variants, None, note=f"{kind.name} is not tested: {error}")
    is_haploid = haploid_samples(genotypes, kind)[design.kept]
    is_halved = is_haploid & (kind != Kind.X or x_model == "haploid")
    weights = np.where(is_halved, 0.5, 1.0) if is_halved.any() else None
    note = _note(kind, len(design.kept), x_model, has_sex)
    return VariantGroup(variants, design, weights, True, note)


def _note(kind: Kind, n: int, x_model: XModel, has_sex: bool) -> str:
    if kind == Kind.X:
        most = "2" if x_model == "diploid" else "1"
        sex = " and sex is a covariate" if has_sex else ""
        return f"X is tested with {n:,} samples, where males have 0 or {most} of A1{sex}"
    who = "males" if kind == Kind.Y else "samples"
    return f"{kind.name} is tested with {n:,} {who}, who have 0 or 1 of A1"


def _independent(columns: np.ndarray) -> list[int]:
    """Return which columns are no combination of a constant and of those before them."""
    basis = [np.full(len(columns), 1 / np.sqrt(max(len(columns), 1)))]
    kept = []
    for place, column in enumerate(columns.T):
        rest = column.copy()
        for _ in range(2):  # the second pass removes what rounding leaves
            for direction in basis:
                rest -= direction * (direction @ rest)
        length = np.linalg.norm(rest)
        if length > COLLINEAR * np.linalg.norm(column):
            basis.append(rest / length)
            kept.append(place)
    return kept
