"""Maps samples to animals of a pedigree, with their phenotypes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import SampleTable
from genoviz_app.parts.words import n_words

if TYPE_CHECKING:
    from genoviz.model.genotypes.pedigree import Pedigree
    from genoviz.model.genotypes.phenotypes import PhenotypeTable


@dataclass(frozen=True, eq=False)
class Together:
    """Traits that are predicted jointly.

    Attributes
    ----------
    designs
        Designs of the traits.
    covariates, names
        float64, shape (n_samples, c), and names of its columns.
    others
        For each trait, phenotypes of animals without genotypes, by ID.
    file
        Table of covariances; None if they are estimated.
    """

    designs: Sequence[Design]
    covariates: np.ndarray
    names: tuple[str, ...]
    others: Sequence[Mapping[str, float]]
    file: Path | None = None


def rows_in_pedigree(method: str, pedigree: Pedigree | None, samples: SampleTable) -> np.ndarray:
    """Return the row of each sample in the pedigree required by a method, int64.

    Raises
    ------
    ParameterError
        If there is no pedigree, or it lacks a sample.
    """
    if pedigree is None:
        raise ParameterError(
            f"{method} needs a pedigree: open one (animal, sire and dam in columns), or "
            "genotypes whose .fam file has parents"
        )
    return find_animals(pedigree, samples)


def spread_phenotypes(
    pedigree: Pedigree,
    rows: np.ndarray,
    designs: Sequence[Design],
    others: Sequence[Mapping[str, float]],
) -> np.ndarray:
    """Expand traits to all animals: float64, shape (n_animals, n_traits)."""
    names = pedigree.ids.tolist()
    columns = []
    for design, known in zip(designs, others, strict=True):
        column = np.array([known.get(name, np.nan) for name in names])
        column[rows] = design.phenotype
        columns.append(column)
    return np.column_stack(columns)


def spread_rows(n: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Expand values of samples to rows of n animals; others get 0."""
    spread = np.zeros((n, values.shape[1]))
    spread[rows] = values
    return spread


def phenotypes_of_others(
    table: PhenotypeTable | None, design: Design, samples: SampleTable
) -> dict[str, float]:
    """Return the trait of individuals of a table that are not samples, by ID.

    Empty with covariates, which are known for samples only, and for categorical traits.
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
        If a sample is missing.
    """
    row_of = {name: row for row, name in enumerate(pedigree.ids.tolist())}
    rows = np.array([row_of.get(name, -1) for name in samples.ids.tolist()], np.int64)
    missing = np.flatnonzero(rows < 0)
    if len(missing):
        raise ParameterError(
            f"{len(missing):,} of {n_words(len(samples), 'sample')}, such as "
            f"{samples.ids[missing[0]]!s}, are not in the pedigree; it needs all of them"
        )
    return rows


def pedigree_of(samples: SampleTable) -> Pedigree | None:
    """Return the pedigree formed by the samples' own parents, or None if all are unknown.

    Raises
    ------
    ParameterError
        If they do not form a valid pedigree.
    """
    from genoviz.model.genotypes.pedigree import Pedigree, is_unknown_parent

    parents = {*samples.father_ids.tolist(), *samples.mother_ids.tolist()}
    if all(map(is_unknown_parent, parents)) or len(np.unique(samples.ids)) < len(samples):
        return None
    return Pedigree.from_parents(samples.ids, samples.father_ids, samples.mother_ids)
