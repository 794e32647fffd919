"""``genoviz geno sets``: sets of variants, such as genes, are tested for association."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import (
    BackendName,
    BackendOption,
    SeedOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import write_table
from genoviz.cli.genotypes.trait_options import (
    MixedOptions,
    TraitOptions,
    refuses_idle_options,
    take_covariates,
    take_trait,
)
from genoviz.cli.output_kinds import TableOption
from genoviz.cli.results import print_notes, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    import numpy as np

    from genoviz.model.genotypes.genotypes import Genotypes


class Weights(StrEnum):
    """What the weight of a variant depends on."""

    beta = "beta"
    none = "none"


class Model(StrEnum):
    """How the trait depends on the dosages."""

    auto = "auto"
    linear = "linear"
    logistic = "logistic"
    mixed = "mixed"
    mixed_logistic = "mixed-logistic"

    @property
    def is_mixed(self) -> bool:
        """Whether there is a random effect."""
        return self in (Model.mixed, Model.mixed_logistic)


@refuses_idle_options
@ignores(
    "without a mixed model, as sets are then tested on the CPU",
    lambda given: not given["model"].is_mixed and given["backend"] == "cuda",
    "backend",
)
@with_examples(
    "genoviz geno sets cohort.bed genes.gff3.gz --pheno traits.csv --trait height -o sets.tsv",
    "genoviz geno sets cohort.bed regions.bed --pheno traits.csv --max-maf 0.05 -o sets.tsv",
    "genoviz geno sets cohort.bed members.tsv --pheno traits.csv --weights none -o sets.tsv",
    "genoviz geno sets cohort.bed genes.gff3.gz --pheno traits.csv --model mixed -o sets.tsv",
    "genoviz geno sets cohort.bed genes.gff3.gz --pheno traits.csv --trait case --model "
    "mixed-logistic -o sets.tsv",
)
def sets(
    genotypes: io.GenotypesArgument,
    sets: Annotated[
        Path,
        typer.Argument(
            metavar="SETS",
            help="Regions (.bed, .gff3, .gtf; those with the same name are one set), or a table "
            "with a set and a variant ID on each line.",
        ),
    ],
    output: TableOption = None,
    *,
    traits: TraitOptions,
    feature: Annotated[
        list[str] | None,
        option(
            "Type of the GFF or GTF features that are sets (repeatable).",
            metavar="TYPE",
            show_default="gene",
        ),
    ] = None,
    max_maf: Annotated[
        float, option("Maximum minor allele frequency of a variant.", within=(1e-9, 0.5))
    ] = 0.01,
    weighting: Annotated[
        Weights,
        option(
            "beta: 25 (1 - MAF)^24, the density of beta(1, 25); none: all variants weigh 1.",
            "--weights",
        ),
    ] = Weights.beta,
    min_variants: Annotated[
        int, option("Minimum number of variants of a set.", within=(1, 10**9))
    ] = 1,
    model: Annotated[
        Model,
        option(
            "auto: linear, or logistic for cases and controls. For related samples, with a random "
            "effect of the variants on other chromosomes: mixed (trait as number), mixed-logistic "
            "(cases and controls, also few)."
        ),
    ] = Model.auto,
    mixed: MixedOptions,
    filters: io.Filters,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Test sets of rare variants, such as genes: burden, SKAT, SKAT-O, ACAT-V, ACAT.

    BURDEN_BETA is the effect of one unit of the weighted count of minor alleles. SKATO_RHO is the
    share of burden with the lowest p. ACAT combines the p values of burden and SKAT, ACATV those of
    the variants. All are score tests: with few cases, p values of burden, SKAT and SKAT-O come from
    draws of the case status of carriers. A missing genotype counts as the mean. X, Y and MT are not
    tested. Sets that cannot be tested have NA.
    """
    from genoviz.analyses.genotypes.association.mixed_sets import iter_mixed_associate_sets
    from genoviz.analyses.genotypes.association.set_tests import iter_associate_sets

    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        named = _read_sets(sets, found, feature)
        name, taken = take_trait(genotypes, found.samples, traits)
        covariates, names = take_covariates(genotypes, found.samples, traits)
        common = {
            "covariates": covariates,
            "covariate_names": names,
            "max_maf": max_maf,
            "weights": weighting.value,
            "min_variants": min_variants,
            "seed": seed,
        }
        if model is Model.auto:
            model = Model.logistic if taken.is_binary else Model.linear
        elif taken.is_binary and model in (Model.linear, Model.mixed):
            print_notes(
                f"trait {name} has two values and is tested as a number ({model}); --model "
                f"{'mixed-logistic' if model.is_mixed else 'logistic'} tests its odds"
            )
        if model.is_mixed:
            common |= {"backend": backend.value, **mixed.values}
            common["model"] = "linear" if model is Model.mixed else "logistic"
            steps = iter_mixed_associate_sets(found, taken.values, named, **common)
        else:
            steps = iter_associate_sets(found, taken.values, named, model=model.value, **common)
        result = io.last_result(steps, bar)
    write_table(result.columns, output)
    print_notes(*result.notes)
    n_tested = int((result.skat_log10_p >= 0).sum())
    print_notes(
        f"trait {name} ({model}): {n_words(result.n_samples, 'sample')}, {n_tested:,} of "
        f"{len(named):,} "
        f"set{'s' * (len(named) != 1)} tested"
    )


def _read_sets(
    path: Path, genotypes: Genotypes, features: list[str] | None
) -> dict[str, np.ndarray]:
    """Return the variants of the sets of a file; notes go to standard error."""
    from genoviz.analyses.genotypes.selection import find_sets
    from genoviz.errors import FileFormatError, ParameterError
    from genoviz.io.genotypes.variant_tables import read_sets

    try:
        listed = read_sets(path, features or ())
    except ParameterError:
        if not features:
            raise
        raise typer.BadParameter("--feature takes a GFF or GTF file as SETS") from None
    found = find_sets(genotypes, listed, path.name)
    print_notes(*found.notes)
    if not any(map(len, found.rows.values())):
        n = n_words(len(genotypes.variants), "variant")
        raise FileFormatError(path, f"has none of the {n} in a set")
    return found.rows
