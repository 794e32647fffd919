"""What the commands of ``genoviz geno`` read, and how what iterates ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import option
from genoviz.cli.results import ProgressBar, print_notes

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from genoviz.analyses.genotypes.variances.reml import VarianceSnapshot
    from genoviz.model.genotypes.genotypes import Genotypes, SampleTable
    from genoviz.model.genotypes.phenotypes import PhenotypeTable
    from genoviz.model.genotypes.traits import Trait

GenotypesArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GENOTYPES",
        help="PLINK .bed (or the prefix of .bed, .bim and .fam), VCF, BCF, .pgen, .npz or Parquet.",
    ),
]


class Contigs(StrEnum):
    """Which variants an analysis takes."""

    autosomes = "autosomes"
    all = "all"


AutosomesOption = Annotated[
    int | None,
    option(
        "Of the species; the next numbers are X, Y, XY and MT. Cattle have 29.",
        "--autosomes",
        within=(1, 1000),
        show_default="22, as in humans",
    ),
]
ContigsOption = Annotated[
    Contigs, option("Leave X, Y and MT out, or take them as they are in the file.", "--contigs")
]


class TraitType(StrEnum):
    """What the numbers of a trait are."""

    auto = "auto"
    quantitative = "quantitative"
    case_control = "case-control"


NOT_CONVERGED = 3
"""Exit status of a command that wrote what an iteration had not finished."""

_HEADERS = ("#FID", "FID", "#IID", "IID")


@dataclass(frozen=True)
class Filters:
    """Options that say what is left out before anything is computed."""

    maf: Annotated[float, option("Smallest minor allele frequency.", "--maf", within=(0, 0.5))] = (
        0.0
    )
    max_missing: Annotated[
        float,
        option("Largest part of genotypes missing at a variant.", "--max-missing", within=(0, 1)),
    ] = 1.0
    max_sample_missing: Annotated[
        float,
        option(
            "Largest part of genotypes missing in a sample.", "--max-sample-missing", within=(0, 1)
        ),
    ] = 1.0
    hwe: Annotated[
        float, option("Smallest p of the exact Hardy-Weinberg test.", "--hwe", within=(0, 1))
    ] = 0.0
    region: Annotated[
        str | None,
        option(
            "Only variants there; 0-based, half-open.", "--region", metavar="CONTIG[:START[-END]]"
        ),
    ] = None
    keep: Annotated[
        Path | None, option("Only samples of this file: a line each, IID or FID and IID.", "--keep")
    ] = None
    autosomes: AutosomesOption = None


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


def open_genotypes(path: Path, bar: ProgressBar, filters: Filters) -> Genotypes:
    """Return the genotypes of a file that pass the filters; notes go to standard error."""
    from genoviz.analyses.genotypes.filters import FilterOptions, iter_filter_genotypes
    from genoviz.analyses.genotypes.selection import iter_select_samples
    from genoviz.analyses.genotypes.sex_chromosomes import describe_chromosomes
    from genoviz.io.genotypes.reader import iter_read_genotypes

    for progress in iter_read_genotypes(path, n_autosomes=filters.autosomes):
        bar.update(progress.stage, progress.n_done, progress.n_total or None, "")
    genotypes = progress.genotypes
    print_notes(*genotypes.notes)
    if filters.region is not None:
        genotypes = _take_region(genotypes, filters.region)
    if filters.keep is not None:
        kept = _find_kept(filters.keep, genotypes.samples)
        genotypes = last_result(iter_select_samples(genotypes, kept), bar)
    options = FilterOptions(
        min_maf=filters.maf,
        max_variant_missing=filters.max_missing,
        max_sample_missing=filters.max_sample_missing,
        min_hwe_p=filters.hwe,
    )
    if options != FilterOptions():
        kept = last_result(iter_filter_genotypes(genotypes, options), bar)
        print_notes(kept.sentence)
        genotypes = kept.genotypes
    print_notes(*describe_chromosomes(genotypes))
    return genotypes


def _take_region(genotypes: Genotypes, region: str) -> Genotypes:
    from genoviz.analyses.genotypes.selection import genotypes_in_region
    from genoviz.errors import ParameterError
    from genoviz.model.genotypes.chromosomes import find_chromosome
    from genoviz.model.intervals.region_text import parse_region

    contigs = genotypes.variants.contigs
    place = parse_region(region, contigs)
    contig = place.path
    if contig not in contigs:
        contig = find_chromosome(contig, contigs, genotypes.n_autosomes)
        if contig is None:
            known = ", ".join(contigs[:5])
            raise ParameterError(
                f"--region names contig {place.path!r}, the genotypes have {known}"
            )
        print_notes(f"--region {region} is taken for {contig}")
    return genotypes_in_region(genotypes, contig, place.start, place.end)


def _find_kept(path: Path, samples: SampleTable) -> np.ndarray:
    import numpy as np

    from genoviz.errors import FileFormatError
    from genoviz.io.text.text_file import read_bytes

    text = read_bytes(path).tobytes().decode("utf-8-sig", "replace")
    rows = [tuple(line.split()[:2]) for line in text.splitlines()]
    wanted = {row for row in rows if row and row[0] not in _HEADERS}
    pairs = list(zip(samples.family_ids.tolist(), samples.ids.tolist(), strict=True))
    if wanted.isdisjoint(pairs):  # as where families are those of other files
        wanted = {row[-1:] for row in wanted}
    found = np.flatnonzero([pair in wanted or pair[1:] in wanted for pair in pairs])
    if len(found) == 0:
        raise FileFormatError(path, f"names none of the {len(samples):,} samples")
    n_strangers = len(wanted - {*pairs, *(pair[1:] for pair in pairs)})
    if n_strangers:
        print_notes(f"{n_strangers:,} of {len(wanted):,} samples of {path.name} have no genotypes")
    return found


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


def last_result(steps: Iterator[Any], bar: ProgressBar) -> Any:
    """Return the result of a long analysis, and show its progress."""
    for progress in steps:
        bar.update(progress.what, progress.fraction, 1.0, "")
    return progress.result


def last_estimate(steps: Iterator[VarianceSnapshot], bar: ProgressBar) -> VarianceSnapshot:
    """Return the last of the estimates of variances."""
    for snapshot in steps:
        bar.update("Estimating variances", snapshot.iteration, None, "iterations")
    return snapshot


def estimate_heritability(
    genotypes: Genotypes, phenotype: np.ndarray, bar: ProgressBar, **options: Any
) -> float:
    """Return the heritability that REML finds; a note tells how."""
    from genoviz.analyses.genotypes.variances.estimate import iter_reml
    from genoviz.errors import ParameterError

    last = last_estimate(iter_reml(genotypes, phenotype, **options), bar)
    print_notes(f"heritability is estimated: {last.sentence}")
    if not 1e-4 < last.heritability < 1 - 1e-4:
        raise ParameterError(
            f"the heritability is estimated as {last.heritability:.2g} ± "
            f"{last.heritability_error:.2g}, from which nothing can be predicted; give one by "
            "--heritability"
        )
    return last.heritability


def tell_end(sentence: str, *, is_converged: bool, remedy: str) -> None:
    """Tell how an iteration ended; one that did not converge makes the exit status 3."""
    print_notes(sentence if is_converged else f"{sentence}; {remedy}")
    if not is_converged:
        raise typer.Exit(NOT_CONVERGED)
