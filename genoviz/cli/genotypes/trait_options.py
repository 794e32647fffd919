"""The traits and covariates that commands of ``genoviz geno`` take from tables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from genoviz.cli.common_options import ignores, option
from genoviz.cli.results import print_notes
from genoviz.errors import n_words

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from genoviz.analyses.genotypes.prediction.blup_run import BlupSnapshot
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
        str | None, option("Column of the trait.", "--trait", show_default="the first of numbers")
    ] = None
    trait_type: Annotated[
        TraitType,
        option(
            "auto: values 0, 1 and 2 only are missing (0), controls (1) and cases (2); of two "
            "values, such as 0 and 1, the higher is that of cases; all else is quantitative.",
            "--trait-type",
        ),
    ] = TraitType.auto
    covar: Annotated[
        Path | None, option("Table of covariates.", "--covar", show_default="that of the traits")
    ] = None
    covariate: Annotated[
        list[str] | None,
        option(
            "Covariate column of --covar or --pheno; categories become indicators (repeatable).",
            "--covariate",
            show_default="all of --covar",
        ),
    ] = None
    by_row_order: Annotated[
        bool,
        option(
            "Match table rows to samples by order if no sample IDs match.",
            "--by-row-order",
        ),
    ] = False


class LeaveOut(StrEnum):
    """Which variants a mixed model has no relationships by."""

    chromosome = "chromosome"
    none = "none"


class Tests(StrEnum):
    """How a mixed model is tested."""

    auto = "auto"
    exact = "exact"
    calibrated = "calibrated"


@dataclass(frozen=True)
class MixedOptions:
    """Options of mixed models."""

    leave_out: Annotated[
        LeaveOut, option("For mixed models: exclude the tested chromosome from the relationships.")
    ] = LeaveOut.chromosome
    tests: Annotated[
        Tests,
        option(
            "For mixed models: exact has relationship matrices, and is generalised least squares "
            "with mixed; calibrated uses only matrix products; auto is exact up to 3,000 samples."
        ),
    ] = Tests.auto
    refine_below: Annotated[
        float,
        option(
            "For mixed models with calibrated tests: retest variants, or sets, with p below this "
            "exactly, at most 64 variants, or 512 of sets.",
            within=(0, 1),
        ),
    ] = 1e-5

    @property
    def values(self) -> dict[str, Any]:
        """The arguments of a mixed model."""
        return {
            "leave_out": self.leave_out.value,
            "tests": self.tests.value,
            "refine_below": self.refine_below,
        }


def refuses_idle_options(function: Callable) -> Callable:
    """Return a command that refuses those of `MixedOptions` that have no effect."""
    names = "leave_out", "tests", "refine_below"
    refuse_all = ignores(
        "without a mixed model", lambda given: not given["model"].startswith("mixed"), *names
    )
    refuse_one = ignores(
        "with --tests exact", lambda given: given["tests"] == "exact", "refine_below"
    )
    return refuse_all(refuse_one(function))


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
    aligned = _read_aligned(genotypes_path, samples, options)
    return _choose_trait(aligned, options)


def _read_aligned(
    genotypes_path: Path, samples: SampleTable, options: TraitOptions
) -> PhenotypeTable:
    table = read_table(options.pheno, genotypes_path)
    aligned = align(table, samples, by_row_order=options.by_row_order)
    print_notes(*aligned.notes)
    return aligned


def take_numbers(name: str, trait: Trait) -> np.ndarray:
    """Return a trait as numbers; of cases and controls, a note says so."""
    if trait.is_binary:
        print_notes(f"trait {name} has two values and is taken as a number")
    return trait.values


def _choose_trait(table: PhenotypeTable, options: TraitOptions) -> tuple[str, Trait]:
    from genoviz.errors import ParameterError
    from genoviz.model.genotypes.traits import read_trait

    if options.trait is None and not table.numeric_names:
        raise ParameterError("the table has no column of numbers, needs one as trait")
    name = table.numeric_names[0] if options.trait is None else options.trait
    _check_numeric(table, "--trait", name)
    found = read_trait(table.columns[name], f"trait {name}", options.trait_type.value)
    print_notes(*found.notes)
    return name, found


def _check_numeric(table: PhenotypeTable, option: str, name: str) -> None:
    from genoviz.errors import ParameterError

    if name not in table.numeric_names:
        names = ", ".join(table.numeric_names) or "none"
        raise ParameterError(f"{option} is {name!r}, the table has {names}")


@dataclass(frozen=True, eq=False)
class Recorded:
    """Values of a trait, and what is known of each: one of each animal, or their records.

    Attributes
    ----------
    name, trait
        The trait.
    covariates, covariate_names
        A row for each value; None if there are none.
    animals
        int64: whose each value is; None if there is one for each animal, in order.
    weights
        float64; None if all are 1.
    table
        The columns that they are of.
    """

    name: str
    trait: Trait
    covariates: np.ndarray | None
    covariate_names: list[str]
    animals: np.ndarray | None
    weights: np.ndarray | None
    table: PhenotypeTable

    @property
    def options(self) -> dict[str, Any]:
        """All but the trait, as arguments of `iter_single_step`."""
        names = ("covariates", "covariate_names", "animals", "weights")
        return {name: getattr(self, name) for name in names}

    def columns_of(self, last: BlupSnapshot) -> dict[str, np.ndarray]:
        """Return what is known and predicted of each; of records mean and number, with a note."""
        import numpy as np

        values, columns = self.trait.values, {}
        if self.animals is None:
            columns["PHENOTYPE"] = values
        else:
            n, is_there = len(last.breeding_values), np.isfinite(values)
            counts = np.bincount(self.animals[is_there], minlength=n)
            sums = np.bincount(self.animals[is_there], values[is_there], n)
            means = np.divide(sums, counts, out=np.full(n, np.nan), where=counts > 0)
            columns |= {"PHENOTYPE": means, "RECORDS": counts}
            told = f"{n_words(counts.sum(), 'record')} of {np.count_nonzero(counts):,} of {n:,}"
            print_notes(f"{told}; PHENOTYPE is their mean")
        columns["BREEDING_VALUE"] = last.breeding_values
        if last.permanent_effects is not None:
            columns["PERMANENT_EFFECT"] = last.permanent_effects
        return columns


def take_records(
    genotypes_path: Path,
    samples: SampleTable,
    options: TraitOptions,
    *,
    weight: str | None = None,
    is_repeated: bool = False,
) -> Recorded:
    """Return a trait of animals, which may have several rows if it is repeated.

    The covariates of records are columns of the same table, or those of animals in --covar.
    """
    from genoviz.errors import ParameterError
    from genoviz.io.genotypes.phenotypes import read_phenotypes

    animals = None
    if not is_repeated:
        table = _read_aligned(genotypes_path, samples, options)
    elif options.pheno is None:
        raise ParameterError("repeated records need a table of these; give --pheno")
    else:
        table, animals = read_phenotypes(options.pheno, is_repeated=True).find_owners(samples)
        print_notes(*table.notes)
    name, trait = _choose_trait(table, options)
    if options.covar is None and is_repeated:
        covariates, names = _choose_covariates(table, options.covariate or [])
    else:
        covariates, names = take_covariates(genotypes_path, samples, options)
        if covariates is not None and animals is not None:
            covariates = covariates[animals]
    weights = None
    if weight is not None:
        _check_numeric(table, "--weight", weight)
        weights = table.columns[weight]
    return Recorded(name, trait, covariates, names, animals, weights, table)


def take_together(
    recorded: Recorded, options: TraitOptions, others: Sequence[str]
) -> tuple[list[str], np.ndarray]:
    """Return the names of a trait and of others, and their numbers: shape (n, n_traits)."""
    import numpy as np

    from genoviz.errors import ParameterError

    found = [(recorded.name, recorded.trait)]
    found += [_choose_trait(recorded.table, replace(options, trait=name)) for name in others]
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        raise ParameterError(f"traits are {', '.join(names)}; needs different ones")
    return names, np.column_stack([take_numbers(name, trait) for name, trait in found])


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
    if options.covar is None and not options.covariate:
        return None, []
    table = read_table(options.covar or options.pheno, genotypes_path)
    aligned = align(table, samples, by_row_order=options.by_row_order)
    if options.covar is not None:
        print_notes(*aligned.notes)
    names = options.covariate
    if names is None:  # as in PLINK
        names = aligned.names
        print_notes(f"covariates are all columns of {options.covar.name}: {', '.join(names)}")
    return _choose_covariates(aligned, names)


def _choose_covariates(
    table: PhenotypeTable, names: Sequence[str]
) -> tuple[np.ndarray | None, list[str]]:
    import numpy as np

    from genoviz.analyses.genotypes.covariates import covariate_columns
    from genoviz.errors import ParameterError

    columns: dict[str, np.ndarray] = {}
    for name in names:
        if name not in table.columns:
            raise ParameterError(f"--covariate is {name!r}, the table has {', '.join(table.names)}")
        columns |= covariate_columns(name, table.columns[name])
    return np.column_stack(list(columns.values())) if columns else None, list(columns)
