"""A prediction as a person asks for it, and the generator of the library that computes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot
    from genoviz.model.genotypes.pedigree import Pedigree
    from genoviz.model.genotypes.phenotypes import PhenotypeTable

SNP_BLUP, GBLUP = "SNP-BLUP", "GBLUP"
SINGLE_STEP = {"Single-step (ssSNPBLUP)": "ssSNPBLUP", "Single-step (ssGTABLUP)": "ssGTABLUP"}
PRECONDITIONERS = {"Diagonal": "diagonal", "Block": "block", "None": "none"}


@dataclass(frozen=True)
class BlupRequest:
    """How to predict.

    Attributes
    ----------
    method
        `SNP_BLUP`, `GBLUP`, or a key of `SINGLE_STEP`.
    heritability, preconditioner, tolerance
        As the library has them.
    polygenic_weight
        Of single-step methods.
    """

    method: str = SNP_BLUP
    heritability: float = 0.5
    preconditioner: str = "diagonal"
    tolerance: float = 1e-13
    polygenic_weight: float = 0.2

    @property
    def assumed(self) -> str:
        """The shares of the variance that predictions depend on, and who chose them, in words."""
        words = [_chosen("heritability", self.heritability, BlupRequest.heritability)]
        if self.method in SINGLE_STEP:
            weight = self.polygenic_weight
            words.append(_chosen("polygenic weight", weight, BlupRequest.polygenic_weight))
        return ", ".join(words)


def _chosen(what: str, value: float, usual: float) -> str:
    return f"{what} {value:g}, {'assumed, not estimated' if value == usual else 'as set'}"


@dataclass(frozen=True, eq=False)
class BlupRun:
    """A prediction that was begun: who is predicted, from what.

    Attributes
    ----------
    request, design
        What was asked for.
    ids, family_ids
        str, shape (n,): those who get a breeding value, samples or animals of a pedigree.
    phenotype
        float64, shape (n,): NaN where none is known.
    is_genotyped
        bool, shape (n,).
    steps
        The generator of snapshots.
    groups
        Names of the pedigree's groups of unknown parents.
    """

    request: BlupRequest
    design: Design
    ids: np.ndarray
    family_ids: np.ndarray
    phenotype: np.ndarray
    is_genotyped: np.ndarray
    steps: Iterator[BlupSnapshot] = field(repr=False)
    groups: tuple[str, ...] = ()


def begin_blup(
    genotypes: Genotypes,
    design: Design,
    request: BlupRequest,
    pedigree: Pedigree | None,
    others: Mapping[str, float] | None = None,
) -> BlupRun:
    """Return a prediction that is ready to run.

    Parameters
    ----------
    genotypes, design, request
        From whom, what and how to predict.
    pedigree
        Of single-step methods: samples, and animals without genotypes.
    others
        Phenotypes of animals without genotypes, by name.

    Raises
    ------
    ParameterError
        If a single-step method has no pedigree, or one without the samples.
    """
    options: dict[str, Any] = {
        "heritability": request.heritability,
        "preconditioner": request.preconditioner,
        "tolerance": request.tolerance,
    }
    samples = genotypes.samples
    if request.method in SINGLE_STEP:
        return _begin_single_step(genotypes, design, request, pedigree, others or {}, options)
    if request.method == GBLUP:
        from genoviz.analyses.genotypes.prediction.gblup import iter_gblup as iterate
    else:
        from genoviz.analyses.genotypes.prediction.snp_blup import iter_snp_blup as iterate
    steps = iterate(genotypes, design.phenotype, covariates=design.covariates, **options)
    everybody = np.ones(len(samples), bool)
    return BlupRun(
        request, design, samples.ids, samples.family_ids, design.phenotype, everybody, steps
    )


def _begin_single_step(
    genotypes: Genotypes,
    design: Design,
    request: BlupRequest,
    pedigree: Pedigree | None,
    others: Mapping[str, float],
    options: dict[str, Any],
) -> BlupRun:
    from genoviz.analyses.genotypes.prediction.single_step import iter_single_step

    if pedigree is None:
        raise ParameterError(
            f"{request.method} needs a pedigree: open one (animal, sire and dam in columns), or "
            "genotypes whose .fam file has parents"
        )
    rows = find_animals(pedigree, genotypes.samples)
    n = len(pedigree.ids)
    phenotype = np.array([others.get(name, np.nan) for name in pedigree.ids.tolist()])
    phenotype[rows] = design.phenotype
    covariates = np.zeros((n, design.covariates.shape[1]))
    covariates[rows] = design.covariates
    is_genotyped = np.zeros(n, bool)
    is_genotyped[rows] = True
    steps = iter_single_step(
        genotypes, pedigree, phenotype, form=SINGLE_STEP[request.method],
        polygenic_weight=request.polygenic_weight, covariates=covariates, **options,
    )  # fmt: skip
    families = np.full(n, "")
    return BlupRun(
        request, design, pedigree.ids, families, phenotype, is_genotyped, steps,
        tuple(pedigree.groups.tolist()),
    )  # fmt: skip


def phenotypes_of_others(
    table: PhenotypeTable | None, design: Design, samples: SampleTable
) -> dict[str, float]:
    """Return the trait of those of a table who are not samples, by name.

    There are none with covariates, which are known of samples alone, and of categories.
    """
    values = None if table is None else table.columns.get(design.trait)
    if values is None or values.dtype.kind != "f" or design.names:
        return {}
    is_other = np.isfinite(values) & ~np.isin(table.sample_ids, samples.ids)
    return dict(zip(table.sample_ids[is_other].tolist(), values[is_other].tolist(), strict=True))


def find_animals(pedigree: Pedigree, samples: SampleTable) -> np.ndarray:
    """Return the row of each sample in a pedigree, int64.

    Raises
    ------
    ParameterError
        If one is not there.
    """
    row_of = {name: row for row, name in enumerate(pedigree.ids.tolist())}
    rows = np.array([row_of.get(name, -1) for name in samples.ids.tolist()], np.int64)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        raise ParameterError(
            f"{len(missing):,} of {len(samples):,} samples, such as "
            f"{samples.ids[missing[0]]!s}, are not in the pedigree; it needs all of them"
        )
    return rows


def pedigree_of(samples: SampleTable) -> Pedigree | None:
    """Return the pedigree that the samples' own parents make, or None if none are known.

    Raises
    ------
    ParameterError
        If they make none.
    """
    from genoviz.model.genotypes.pedigree import Pedigree, is_unknown_parent

    parents = {*samples.father_ids.tolist(), *samples.mother_ids.tolist()}
    if all(map(is_unknown_parent, parents)) or len(np.unique(samples.ids)) < len(samples):
        return None
    return Pedigree.from_parents(samples.ids, samples.father_ids, samples.mother_ids)
