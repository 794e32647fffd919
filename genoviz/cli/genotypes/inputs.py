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

    from genoviz.model.genotypes.genotypes import Genotypes, SampleTable
    from genoviz.model.genotypes.pedigree import Pedigree

_ARGUMENT = typer.Argument(
    metavar="GENOTYPES",
    help="PLINK .bed (or the prefix of .bed, .bim and .fam), VCF, BCF, .pgen, .bgen, .npz or "
    "Parquet.",
)
GenotypesArgument = Annotated[Path, _ARGUMENT]
SomeGenotypesArgument = Annotated[Path | None, _ARGUMENT]


class Contigs(StrEnum):
    """Which variants an analysis takes."""

    autosomes = "autosomes"
    all = "all"


AutosomesOption = Annotated[
    int | None,
    option(
        "Number of autosomes of the species; the following numbers are X, Y, XY and MT. "
        "Cattle have 29.",
        "--autosomes",
        within=(1, 1000),
        show_default="22, as in humans",
    ),
]
ContigsOption = Annotated[
    Contigs, option("Exclude X, Y and MT, or use all contigs as coded in the file.", "--contigs")
]
HardCallsOption = Annotated[
    bool, option("Use hard calls where the file has dosages.", "--hard-calls")
]
GammaOption = Annotated[
    str | None,
    option(
        "Relationships of metafounders, which replace groups of unknown parents: a "
        "table of numbers, in the order of groups or with their names; one number, for "
        "one group; or estimate, from genotypes. Without groups, all unknown parents "
        "are in one.",
        "--gamma",
        metavar="FILE | NUMBER | estimate",
    ),
]


class VarianceBase(StrEnum):
    """What a genetic variance is of, where there are metafounders."""

    metafounders = "metafounders"
    founders = "founders"
    genotypes = "genotypes"


VarianceBaseOption = Annotated[
    VarianceBase | None,
    option(
        "With --gamma, the base of the heritability or covariances: metafounders "
        "(A^Gamma); founders (unrelated, as in usual evaluations); or genotypes (as "
        "from geno reml). The last two are converted to A^Gamma.",
        "--variance-base",
        show_default="metafounders; genotypes with --h2 estimate",
    ),
]
ESTIMATE = "estimate"

NOT_CONVERGED = 3
"""Exit status of a command that wrote what an iteration had not finished."""

_HEADERS = ("#FID", "FID", "#IID", "IID")


@dataclass(frozen=True)
class Filters:
    """Options that say what is left out before anything is computed."""

    maf: Annotated[float, option("Minimum minor allele frequency.", "--maf", within=(0, 0.5))] = 0.0
    max_missing: Annotated[
        float,
        option("Maximum missing rate of a variant.", "--max-missing", within=(0, 1)),
    ] = 1.0
    max_sample_missing: Annotated[
        float,
        option("Maximum missing rate of a sample.", "--max-sample-missing", within=(0, 1)),
    ] = 1.0
    hwe: Annotated[
        float, option("Minimum p value of the exact Hardy-Weinberg test.", "--hwe", within=(0, 1))
    ] = 0.0
    region: Annotated[
        str | None,
        option(
            "Only variants in this region; 0-based, half-open.",
            "--region",
            metavar="CONTIG[:START[-END]]",
        ),
    ] = None
    keep: Annotated[
        Path | None,
        option("Only samples in this file: IID, or FID and IID, on each line.", "--keep"),
    ] = None
    remove: Annotated[
        Path | None, option("Exclude the samples in this file (format of --keep).", "--remove")
    ] = None
    extract: Annotated[
        Path | None, option("Only variants in this file: one per line, the ID first.", "--extract")
    ] = None
    exclude: Annotated[
        Path | None, option("Exclude the variants in this file (format of --extract).", "--exclude")
    ] = None
    autosomes: AutosomesOption = None


def open_genotypes(path: Path, bar: ProgressBar, filters: Filters, **reading: bool) -> Genotypes:
    """Return the genotypes of a file that pass the filters; notes go to standard error.

    Further options are those of `iter_read_genotypes`; dosages are not read by default.
    """
    from genoviz.analyses.genotypes.filters import FilterOptions, iter_filter_genotypes
    from genoviz.analyses.genotypes.selection import iter_select_samples
    from genoviz.analyses.genotypes.sex_chromosomes import describe_chromosomes
    from genoviz.io.genotypes.reader import iter_read_genotypes

    reading = {"dosages": False, **reading}
    for progress in iter_read_genotypes(path, n_autosomes=filters.autosomes, **reading):
        bar.update(progress.stage, progress.n_done, progress.n_total or None, "")
    genotypes = progress.genotypes
    print_notes(*genotypes.notes)
    if filters.region is not None:
        genotypes = _take_region(genotypes, filters.region)
    for listed, stays in ((filters.extract, True), (filters.exclude, False)):
        if listed is not None:
            genotypes = _take_listed(genotypes, listed, stays=stays)
    for listed, stays in ((filters.keep, True), (filters.remove, False)):
        if listed is not None:
            kept = _find_listed(listed, genotypes.samples, stay=stays)
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
            known = ", ".join(contigs[:5]) or "none"
            raise ParameterError(
                f"--region names contig {place.path!r}, the genotypes have {known}"
            )
        print_notes(f"--region {region} is taken for {contig}")
    return genotypes_in_region(genotypes, contig, place.start, place.end)


def _take_listed(genotypes: Genotypes, path: Path, *, stays: bool) -> Genotypes:
    """Return the variants whose IDs are in a list, or the others."""
    import numpy as np

    from genoviz.errors import FileFormatError
    from genoviz.io.genotypes.variant_tables import read_id_list

    listed = read_id_list(path)
    ids = genotypes.variants.ids.tolist()
    is_listed = np.array([name in listed for name in ids], bool)
    n_absent = len(listed - {*ids})
    if n_absent:
        print_notes(f"{n_absent:,} of {len(listed):,} IDs of {path.name} are of no variant")
    kept = np.flatnonzero(is_listed == stays)
    if not len(kept):
        found = "names none" if stays else "names all"
        raise FileFormatError(path, f"{found} of the {len(ids):,} variants")
    return genotypes.take_variants(kept)


def _find_listed(path: Path, samples: SampleTable, *, stay: bool) -> np.ndarray:
    """Return the numbers of the samples that are in a list, or of the others."""
    import numpy as np

    from genoviz.errors import FileFormatError
    from genoviz.io.text.encoding import read_lines, words_of

    rows = [tuple(words_of(line)[:2]) for line in read_lines(path)]
    wanted = {row for row in rows if row and row[0] not in _HEADERS}
    pairs = list(zip(samples.family_ids.tolist(), samples.ids.tolist(), strict=True))
    by_family = any(len(row) > 1 for row in wanted)
    is_unique = len({pair[1] for pair in pairs}) == len(pairs)
    if by_family and is_unique and wanted.isdisjoint(pairs):
        print_notes(f"no FID of {path.name} is that of its IID in the genotypes: IIDs alone count")
        wanted = {row[-1:] for row in wanted}
    is_listed = np.array([pair in wanted or pair[1:] in wanted for pair in pairs], bool)
    if not stay and is_listed.all():
        raise FileFormatError(path, f"names all {len(samples):,} samples, and none is left")
    if not is_listed.any():
        raise FileFormatError(path, f"names none of the {len(samples):,} samples")
    n_strangers = len(wanted - {*pairs, *(pair[1:] for pair in pairs)})
    if n_strangers:
        print_notes(f"{n_strangers:,} of {len(wanted):,} samples of {path.name} have no genotypes")
    return np.flatnonzero(is_listed == stay)


def last_result(steps: Iterator[Any], bar: ProgressBar) -> Any:
    """Return the result of a long analysis, and show its progress."""
    for progress in steps:
        bar.update(progress.what, progress.fraction, 1.0, "")
    return progress.result


def last_prediction(steps: Iterator[Any], bar: ProgressBar) -> Any:
    """Return the last snapshot; the bar shows how far the residual has come down."""
    for snapshot in steps:
        bar.update("Solving", snapshot.iteration, None, "iterations")
    return snapshot


def last_estimate(steps: Iterator[Any], bar: ProgressBar) -> Any:
    """Return the last of the estimates of variances."""
    for snapshot in steps:
        bar.update("Estimating variances", snapshot.iteration, None, "iterations")
    return snapshot


def estimate_heritability(
    genotypes: Genotypes, phenotype: np.ndarray, bar: ProgressBar, **options: Any
) -> float:
    """Return the heritability that REML finds; a note tells how."""
    from genoviz.analyses.genotypes.variances.estimate import iter_reml
    from genoviz.analyses.genotypes.variances.variance_results import check_heritability

    last = last_estimate(iter_reml(genotypes, phenotype, **options), bar)
    print_notes(f"heritability is estimated: {last.sentence}")
    check_heritability(last, "give one by --heritability")
    return last.heritability


def take_pedigree(
    path: Path, gamma: str | None, genotypes: Genotypes | None, **options: Any
) -> Pedigree:
    """Return the pedigree of a file, with metafounders if there is a gamma; notes tell of both."""
    from genoviz.analyses.genotypes.prediction.metafounders import relate_groups
    from genoviz.errors import ParameterError
    from genoviz.io.genotypes.pedigree import read_gamma, read_pedigree

    pedigree = read_pedigree(path)
    print_notes(*pedigree.notes)
    if gamma is None:
        return pedigree
    names = pedigree.groups if len(pedigree.groups) else pedigree.with_gamma(1.0).groups
    try:
        found: Any = float(gamma)
    except ValueError:
        found = None if gamma == ESTIMATE else read_gamma(Path(gamma), names)
    if found is None and genotypes is None:
        raise ParameterError("--gamma estimate needs genotypes")
    related = relate_groups(pedigree, found, genotypes, **options)
    print_notes(*related.notes[len(pedigree.notes) :])
    return related


def tell_base(
    pedigree: Pedigree, base: VarianceBase | None, genotypes: Genotypes | None, **options: Any
) -> float:
    """Return a genetic variance over that in A^Gamma; notes tell what it is of."""
    from genoviz.analyses.genotypes.prediction.metafounders import base_share

    if pedigree.gamma is None:
        if base is not None:
            raise typer.BadParameter("--variance-base takes --gamma")
        return 1.0
    among = base_share(pedigree, "founders")
    times = f"{1 / among:.4g} times that of unrelated founders"
    if base in (None, VarianceBase.metafounders):
        print_notes(f"the genetic variance is that in A^Gamma, of metafounders: {times}")
        return 1.0
    share = base_share(pedigree, base.value, genotypes, **options)
    print_notes(
        f"the genetic variance of {base.value} is divided by {share:.4g}, for that in A^Gamma, of "
        f"metafounders: {times}"
    )
    return share


def tell_reliability(
    genotypes: Genotypes, phenotype: np.ndarray, bar: ProgressBar, **options: Any
) -> dict[str, np.ndarray]:
    """Return the reliabilities of breeding values as columns, with a note.

    Of the options those that say how breeding values themselves are solved for are passed over.
    """
    from genoviz.analyses.genotypes.prediction.reliability import iter_reliability

    of_solver = ("preconditioner", "tolerance", "max_iterations", "form")
    of_solver += ("animals", "covariate_names")
    taken = {name: value for name, value in options.items() if name not in of_solver}
    for last in iter_reliability(genotypes, phenotype, **taken):
        bar.update("Finding reliabilities", last.fraction, 1.0, "")
    print_notes(last.sentence)
    columns = {"RELIABILITY": last.reliabilities}
    return columns | ({"RELIABILITY_SE": last.standard_errors} if last.n_draws else {})


def tell_end(sentence: str, *, is_converged: bool, remedy: str) -> None:
    """Tell how an iteration ended; one that did not converge makes the exit status 3."""
    print_notes(sentence if is_converged else f"{sentence}; {remedy}")
    if not is_converged:
        raise typer.Exit(NOT_CONVERGED)
