"""Samples among the animals of a pedigree, and what is known of their traits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genoviz.analyses.genotypes.association.design import Design
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import SampleTable

if TYPE_CHECKING:
    from genoviz.model.genotypes.pedigree import Pedigree
    from genoviz.model.genotypes.phenotypes import PhenotypeTable


@dataclass(frozen=True, eq=False)
class Together:
    """Traits that are predicted at the same time.

    Attributes
    ----------
    designs
        Of the traits.
    covariates, names
        float64, shape (n_samples, c), and what its columns are called.
    others
        Of each trait phenotypes of animals without genotypes, by name.
    file
        Table of covariances; None if they are estimated.
    """

    designs: Sequence[Design]
    covariates: np.ndarray
    names: tuple[str, ...]
    others: Sequence[Mapping[str, float]]
    file: Path | None = None


def rows_in_pedigree(method: str, pedigree: Pedigree | None, samples: SampleTable) -> np.ndarray:
    """Return the row of each sample in the pedigree that a method needs, int64.

    Raises
    ------
    ParameterError
        If there is none, or it has not all samples.
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
    """Return traits of all animals: float64, shape (n_animals, n_traits)."""
    names = pedigree.ids.tolist()
    columns = []
    for design, known in zip(designs, others, strict=True):
        column = np.array([known.get(name, np.nan) for name in names])
        column[rows] = design.phenotype
        columns.append(column)
    return np.column_stack(columns)


def spread_rows(n: int, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return values of samples as rows of n animals; 0 of others."""
    spread = np.zeros((n, values.shape[1]))
    spread[rows] = values
    return spread


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
