"""A requested prediction, and the generator that computes it."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.model.genotypes.genotypes import Genotypes
from genoviz_app.pages.genotypes.prediction.herd import (
    Together,
    rows_in_pedigree,
    spread_phenotypes,
    spread_rows,
)

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot
    from genoviz.analyses.genotypes.prediction.multi_trait import MultiTraitSnapshot
    from genoviz.model.genotypes.pedigree import Pedigree

SNP_BLUP, GBLUP = "SNP-BLUP", "GBLUP"
SINGLE_STEP = {"Single-step (ssSNPBLUP)": "ssSNPBLUP", "Single-step (ssGTABLUP)": "ssGTABLUP"}
PRECONDITIONERS = {"Diagonal": "diagonal", "Block": "block", "None": "none"}


@dataclass(frozen=True)
class BlupRequest:
    """The settings of a prediction.

    Attributes
    ----------
    method
        `SNP_BLUP`, `GBLUP`, or a key of `SINGLE_STEP`.
    heritability, preconditioner, tolerance
        As in the library.
    polygenic_weight
        Polygenic weight of single-step methods.
    is_estimated
        Whether the heritability is estimated.
    others
        Names of further traits, predicted jointly.
    covariances
        Path of their covariance table; "" if covariances are estimated or from an upload.
    gamma
        Relationships of metafounders: ``"estimate"``, numbers, or a path; "" for none.
    base
        The population that the variances refer to, as in `base_share`.
    """

    method: str = SNP_BLUP
    heritability: float = 0.5
    preconditioner: str = "diagonal"
    tolerance: float = 1e-13
    polygenic_weight: float = 0.2
    is_estimated: bool = False
    others: tuple[str, ...] = ()
    covariances: str = ""
    gamma: str = ""
    base: str = "metafounders"

    @property
    def assumed(self) -> str:
        """The variance shares that the predictions assume, and their origin, as text."""
        words = []
        if not (self.is_estimated or self.others):
            words.append(_chosen("heritability", self.heritability, BlupRequest.heritability))
        if self.method in SINGLE_STEP:
            weight = self.polygenic_weight
            words.append(_chosen("polygenic weight", weight, BlupRequest.polygenic_weight))
        return ", ".join(words)


def _chosen(what: str, value: float, usual: float) -> str:
    return f"{what} {value:g}, {'assumed, not estimated' if value == usual else 'as set'}"


@dataclass(frozen=True, eq=False)
class BlupRun:
    """A running prediction: its individuals and data.

    Attributes
    ----------
    request, design
        The request and the design.
    ids, family_ids
        str, shape (n,): individuals with a breeding value, which are samples or animals of a
        pedigree.
    phenotypes
        float64, shape (n, n_traits): NaN if unknown.
    is_genotyped
        bool, shape (n,).
    steps
        The generator of `Preparation`, then of snapshots.
    groups
        Names of the groups of unknown parents in the pedigree.
    """

    request: BlupRequest
    design: Design
    ids: np.ndarray
    family_ids: np.ndarray
    phenotypes: np.ndarray
    is_genotyped: np.ndarray
    steps: Iterator[Preparation | BlupSnapshot | MultiTraitSnapshot] = field(repr=False)
    groups: tuple[str, ...] = ()

    @property
    def traits(self) -> tuple[str, ...]:
        """Names of the traits."""
        return (self.design.trait, *self.request.others)

    @property
    def phenotype(self) -> np.ndarray:
        """float64, shape (n,): phenotypes of the first trait."""
        return self.phenotypes[:, 0]


@dataclass(frozen=True)
class Preparation:
    """Progress of the estimation of variances, as text."""

    words: str


def begin_blup(
    genotypes: Genotypes,
    design: Design,
    request: BlupRequest,
    pedigree: Pedigree | None,
    others: Mapping[str, float] | None = None,
    gamma: np.ndarray | None = None,
) -> BlupRun:
    """Prepare a prediction of one trait; its `BlupRun` is ready to run.

    Parameters
    ----------
    genotypes, design, request
        The data, the trait and the settings.
    pedigree
        For single-step methods: samples, and animals without genotypes.
    others
        Phenotypes of animals without genotypes, by ID.
    gamma
        Relationships of metafounders; None to estimate them, or if there are no metafounders.

    Raises
    ------
    ParameterError
        If a single-step method has no pedigree, or the pedigree lacks samples.
    """
    options: dict[str, Any] = {
        "preconditioner": request.preconditioner,
        "tolerance": request.tolerance,
    }
    samples = genotypes.samples
    is_single_step = request.method in SINGLE_STEP
    if is_single_step:
        rows = rows_in_pedigree(request.method, pedigree, samples)
        phenotypes = spread_phenotypes(pedigree, rows, [design], [others or {}])
        options |= {
            "phenotype": phenotypes[:, 0],
            "covariates": spread_rows(len(pedigree), rows, design.covariates),
            "form": SINGLE_STEP[request.method],
            "polygenic_weight": request.polygenic_weight,
        }
    else:
        phenotypes = design.phenotype[:, None]
        options |= {"phenotype": design.phenotype, "covariates": design.covariates}
    steps = _iter_one(genotypes, pedigree, design, request, gamma, options)
    return _run_of(genotypes, pedigree, design, request, phenotypes, steps)


def begin_together(
    genotypes: Genotypes,
    together: Together,
    request: BlupRequest,
    pedigree: Pedigree | None,
    gamma: np.ndarray | None = None,
) -> BlupRun:
    """Prepare a joint prediction of several traits; see `begin_blup`."""
    designs, covariates = together.designs, together.covariates
    if request.method in SINGLE_STEP:
        rows = rows_in_pedigree(request.method, pedigree, genotypes.samples)
        phenotypes = spread_phenotypes(pedigree, rows, designs, together.others)
        covariates = spread_rows(len(pedigree), rows, covariates)
    else:
        phenotypes = np.column_stack([design.phenotype for design in designs])
    options = {
        "covariates": covariates,
        "polygenic_weight": request.polygenic_weight,
        "tolerance": request.tolerance,
    }
    steps = _iter_together(genotypes, pedigree, together, request, gamma, phenotypes, options)
    return _run_of(genotypes, pedigree, designs[0], request, phenotypes, steps)


def _run_of(
    genotypes: Genotypes,
    pedigree: Pedigree | None,
    design: Design,
    request: BlupRequest,
    phenotypes: np.ndarray,
    steps: Iterator[Any],
) -> BlupRun:
    samples = genotypes.samples
    if request.method not in SINGLE_STEP:
        everybody = np.ones(len(samples), bool)
        ids, families = samples.ids, samples.family_ids
        return BlupRun(request, design, ids, families, phenotypes, everybody, steps)
    is_genotyped = np.isin(pedigree.ids, samples.ids)
    groups = tuple(pedigree.groups.tolist())
    if request.gamma and not groups:
        groups = tuple(pedigree.with_gamma(1.0).groups.tolist())
    families = np.full(len(pedigree), "")
    return BlupRun(request, design, pedigree.ids, families, phenotypes, is_genotyped, steps, groups)


def iter_heritability(
    genotypes: Genotypes, design: Design
) -> Generator[Preparation, None, tuple[float, str]]:
    """Yield the progress of REML, and return the heritability and a sentence on it.

    Raises
    ------
    ParameterError
        If the estimate does not allow predictions.
    """
    from genoviz.analyses.genotypes.variances.estimate import iter_reml
    from genoviz.analyses.genotypes.variances.variance_results import check_heritability

    yield Preparation("Estimating the heritability")
    for found in iter_reml(genotypes, design.phenotype, covariates=design.covariates):
        yield Preparation(f"Estimating the heritability: {found.sentence}")
    check_heritability(found, "set one")
    return found.heritability, f"Heritability is estimated: {found.sentence}."


def _iter_one(
    genotypes: Genotypes,
    pedigree: Pedigree | None,
    design: Design,
    request: BlupRequest,
    gamma: np.ndarray | None,
    options: dict[str, Any],
) -> Iterator[Preparation | BlupSnapshot]:
    from genoviz.analyses.genotypes.prediction.gblup import iter_gblup
    from genoviz.analyses.genotypes.prediction.metafounders import heritability_in_gamma
    from genoviz.analyses.genotypes.prediction.single_step import iter_single_step
    from genoviz.analyses.genotypes.prediction.snp_blup import iter_snp_blup

    notes, heritability = [], request.heritability
    if request.is_estimated:
        heritability, note = yield from iter_heritability(genotypes, design)
        notes.append(note)
    if request.method not in SINGLE_STEP:
        solve = iter_gblup if request.method == GBLUP else iter_snp_blup
        steps = solve(genotypes, heritability=heritability, **options)
    else:
        pedigree, share, of_founders = _relate(genotypes, pedigree, request, gamma)
        if share != 1:
            heritability = heritability_in_gamma(heritability, share)
            of_founders += [f"Heritability in A^Γ {heritability:.4g}."]
        notes += of_founders
        steps = iter_single_step(genotypes, pedigree, heritability=heritability, **options)
    for snapshot in steps:
        yield replace(snapshot, notes=(*snapshot.notes, *notes)) if notes else snapshot


def _iter_together(
    genotypes: Genotypes,
    pedigree: Pedigree | None,
    together: Together,
    request: BlupRequest,
    gamma: np.ndarray | None,
    phenotypes: np.ndarray,
    options: dict[str, Any],
) -> Iterator[Preparation | MultiTraitSnapshot]:
    from genoviz.analyses.genotypes.prediction.multi_trait import iter_multi_trait
    from genoviz.analyses.genotypes.variances.correlations import iter_correlate
    from genoviz.io.genotypes.covariance_files import covariance_matrix, read_components

    if together.file is None:
        of_samples = np.column_stack([design.phenotype for design in together.designs])
        yield Preparation("Estimating covariances")
        for found in iter_correlate(
            genotypes, of_samples, covariates=together.covariates, covariate_names=together.names
        ):
            yield Preparation(f"Estimating covariances, iteration {found.iteration:,}")
        genetic, residual = found.genetic, found.residual
        notes = [f"Covariances are estimated: {found.sentence}."]
    else:
        names = ("genotypes", "residual")
        pairs = read_components(together.file, names)
        traits = [design.trait for design in together.designs]
        genetic, residual = (
            covariance_matrix(together.file, name, pairs[name], traits) for name in names
        )
        notes = [f"Covariances are those of {together.file.name}."]
    if request.method in SINGLE_STEP:
        options = {**options, "form": SINGLE_STEP[request.method]}
        pedigree, share, of_founders = _relate(
            genotypes, pedigree, request, gamma, is_estimated=together.file is None
        )
        genetic, notes = genetic / share, notes + of_founders
    else:
        pedigree = None
    for snapshot in iter_multi_trait(
        genotypes, pedigree, phenotypes, genetic=genetic, residual=residual, **options
    ):
        yield replace(snapshot, notes=(*snapshot.notes, *notes))


def _relate(
    genotypes: Genotypes,
    pedigree: Pedigree,
    request: BlupRequest,
    gamma: np.ndarray | None,
    *,
    is_estimated: bool | None = None,
) -> tuple[Pedigree, float, list[str]]:
    """Return the pedigree with any metafounders, the divisor of the variances, and notes."""
    from genoviz.analyses.genotypes.prediction.metafounders import base_share, relate_groups

    if not request.gamma:
        return pedigree, 1.0, []
    related = relate_groups(pedigree, gamma, genotypes)
    is_estimated = request.is_estimated if is_estimated is None else is_estimated
    share = base_share(related, "genotypes" if is_estimated else request.base, genotypes)
    notes = [f"{note[0].upper()}{note[1:]}." for note in related.notes[len(pedigree.notes) :]]
    times = 1 / base_share(related, "founders")
    notes.append(
        f"The genetic variance is that in A^Γ, of metafounders: {times:.4g} times that of "
        "unrelated founders."
    )
    return related, share, notes
