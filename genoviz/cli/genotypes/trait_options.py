"""The traits and covariates that commands of ``genoviz geno`` take from tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from genoviz.cli.common_options import option
from genoviz.cli.results import print_notes

if TYPE_CHECKING:
    import numpy as np

    from genoviz.model.genotypes.genotypes import SampleTable
    from genoviz.model.genotypes.phenotypes import PhenotypeTable
    from genoviz.model.genotypes.traits import Trait


class TraitType(StrEnum):
    """What the numbers of a trait are."""

    auto = "auto"
    quantitative = "quantitative"
    case_control = "case-control"


@dataclass(frozen=True)
class TraitOptions:
    """Options that name a trait and its covariates, and say how their tables are read."""

    pheno: Annotated[
        Path | None,
        option(
            "Table of traits: CSV, TSV, .phen, .psam.",
            "--pheno",
            show_default="column 6 of the .fam file",
        ),
    ] = None
    trait: Annotated[
        str | None, option("Its column.", "--trait", show_default="the first of numbers")
    ] = None
    trait_type: Annotated[
        TraitType,
        option(
            "auto: a trait of 0, 1 and 2 alone is of controls (1) and cases (2), and 0 is "
            "missing; of 0 and 1 alone, of controls (0) and cases (1).",
            "--trait-type",
        ),
    ] = TraitType.auto
    covar: Annotated[
        Path | None, option("Table of covariates.", "--covar", show_default="that of the traits")
    ] = None
    covariate: Annotated[
        list[str] | None,
        option(
            "A column to correct for, of --covar or --pheno; categories become indicators. "
            "May be given several times.",
            "--covariate",
            show_default="all of --covar",
        ),
    ] = None
    by_row_order: Annotated[
        bool,
        option(
            "Take rows of tables in the order of the samples where they name none of these.",
            "--by-row-order",
        ),
    ] = False


def read_table(path: Path | None, genotypes_path: Path) -> PhenotypeTable:
    """Return a table of traits, that of the .fam file if none is given."""
    from genoviz.errors import ParameterError
    from genoviz.io.genotypes.phenotypes import read_own_phenotypes, read_phenotypes
    from genoviz.io.genotypes.plink_files import plink_paths

    if path is not None:
        return read_phenotypes(path)
    path = plink_paths(genotypes_path)[2]
    if not path.is_file():
        raise ParameterError(f"{genotypes_path.name} has no traits beside it; give --pheno")
    table = read_own_phenotypes(path)
    if table is None:
        raise ParameterError(f"{path.name} has no phenotypes in column 6; give --pheno")
    return table


def take_trait(
    genotypes_path: Path, samples: SampleTable, options: TraitOptions
) -> tuple[str, Trait]:
    """Return the name and the values of a trait, NaN where missing, in the order of samples."""
    from genoviz.errors import ParameterError
    from genoviz.model.genotypes.traits import read_trait

    table, trait = read_table(options.pheno, genotypes_path), options.trait
    aligned = align(table, samples, by_row_order=options.by_row_order)
    print_notes(*aligned.notes)
    names = ", ".join(aligned.numeric_names) or "none"
    if trait is None and not aligned.numeric_names:
        raise ParameterError("the table has no column of numbers, needs one as trait")
    name = aligned.numeric_names[0] if trait is None else trait
    if name not in aligned.numeric_names:
        raise ParameterError(f"--trait is {name!r}, the table has {names}")
    found = read_trait(aligned.columns[name], f"trait {name}", options.trait_type.value)
    print_notes(*found.notes)
    return name, found


def align(table: PhenotypeTable, samples: SampleTable, *, by_row_order: bool) -> PhenotypeTable:
    """Return a table in the order of samples; by its rows where that is asked for."""
    from genoviz.errors import ParameterError
    from genoviz.model.genotypes.phenotypes import RowOrderError

    try:
        return table.align(samples, by_row_order=by_row_order)
    except RowOrderError as error:
        raise ParameterError(f"{error}: --by-row-order") from None


def take_covariates(
    genotypes_path: Path, samples: SampleTable, options: TraitOptions
) -> tuple[np.ndarray | None, list[str]]:
    """Return columns as covariates, shape (n_samples, c), and their names.

    A category is an indicator each. What a table of its own, apart from that of the traits, has
    to note goes to standard error.
    """
    import numpy as np

    from genoviz.analyses.genotypes.covariates import covariate_columns
    from genoviz.errors import ParameterError

    if options.covar is None and not options.covariate:
        return None, []
    table = read_table(options.covar or options.pheno, genotypes_path)
    aligned = align(table, samples, by_row_order=options.by_row_order)
    if options.covar is not None:
        print_notes(*aligned.notes)
    columns: dict[str, np.ndarray] = {}
    names = options.covariate
    if names is None:  # as in PLINK
        names = aligned.names
        print_notes(f"covariates are all columns of {options.covar.name}: {', '.join(names)}")
    for name in names:
        if name not in aligned.columns:
            raise ParameterError(
                f"--covariate is {name!r}, the table has {', '.join(aligned.names)}"
            )
        columns |= covariate_columns(name, aligned.columns[name])
    return np.column_stack(list(columns.values())) if columns else None, list(columns)
