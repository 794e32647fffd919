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

    from genoviz.model import Intervals
    from genoviz.model.genotypes.genotypes import Genotypes

_FEATURES = (".gff", ".gff3", ".gff2", ".gtf")
_COMPRESSIONS = (".gz", ".bgz", ".bgzf")


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


@refuses_idle_options
@ignores(
    "without --model mixed, as sets are then tested on the CPU",
    lambda given: given["model"] != "mixed" and given["backend"] == "cuda",
    "backend",
)
@with_examples(
    "genoviz geno sets cohort.bed genes.gff3.gz --pheno traits.csv --trait height -o sets.tsv",
    "genoviz geno sets cohort.bed regions.bed --pheno traits.csv --max-maf 0.05 -o sets.tsv",
    "genoviz geno sets cohort.bed members.tsv --pheno traits.csv --weights none -o sets.tsv",
    "genoviz geno sets cohort.bed genes.gff3.gz --pheno traits.csv --model mixed -o sets.tsv",
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
            "auto: linear, or logistic for cases and controls. mixed: for related samples, with a "
            "random effect of the variants on other chromosomes."
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
        elif taken.is_binary and model is not Model.logistic:
            print_notes(f"trait {name} has two values and is tested as a number ({model})")
        if model is Model.mixed:
            common |= {"backend": backend.value, **mixed.values}
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
    from genoviz.analyses.genotypes.selection import sets_of_ids, sets_of_regions
    from genoviz.errors import FileFormatError
    from genoviz.io.genotypes.variant_tables import read_variant_sets
    from genoviz.io.intervals.intervals import map_contigs

    variants = genotypes.variants
    endings = [ending.lower() for ending in path.suffixes if ending not in _COMPRESSIONS]
    has_types = endings[-1:] and endings[-1] in _FEATURES
    if features and not has_types:
        raise typer.BadParameter("--feature takes a GFF or GTF file as SETS")
    if has_types or endings[-1:] == [".bed"]:
        features = (features or ["gene"]) if has_types else []
        regions = _read_regions(path, features)
        mapped = map_contigs(regions, variants.contigs)
        print_notes(*mapped.notes)
        if not len(mapped):
            what = f"features of type {' or '.join(features)}" if has_types else "regions"
            raise FileFormatError(path, f"has no {what}, needs one at least")
        named = sets_of_regions(variants, mapped, n_autosomes=genotypes.n_autosomes)
    else:
        listed = read_variant_sets(path)
        named, n_unknown = sets_of_ids(variants, listed)
        if n_unknown:
            n = len({each for ids in listed.values() for each in ids})
            print_notes(f"{n_unknown:,} of {n_words(n, 'ID')} of {path.name} are of no variant")
    if not any(map(len, named.values())):
        raise FileFormatError(path, f"has none of the {n_words(len(variants), 'variant')} in a set")
    return named


def _read_regions(path: Path, features: list[str]) -> Intervals:
    """Return the regions of a file with their names, of some types if any are given."""
    import numpy as np

    from genoviz.io.intervals.annotations import read_annotations
    from genoviz.model import Intervals

    found = read_annotations(path)
    is_kept = [not features or name in features for name in found.types.names]
    kept = np.flatnonzero(np.array(is_kept, bool)[found.types.codes])
    return Intervals(
        contigs=found.contigs.names,
        contig_ids=found.contigs.codes[kept],
        starts=found.starts[kept],
        ends=found.ends[kept],
        names=found.names.take(kept),
        notes=found.notes,
    )
