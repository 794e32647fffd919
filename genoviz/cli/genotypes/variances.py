"""``genoviz geno reml``: variance components."""

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
from genoviz.cli.genotypes.trait_options import TraitOptions, take_records, take_together
from genoviz.cli.output_kinds import TableOption
from genoviz.cli.results import print_notes, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.genotypes.variances.correlation_results import CorrelationSnapshot
    from genoviz.analyses.genotypes.variances.variance_results import VarianceSnapshot
    from genoviz.model.genotypes.genotypes import Genotypes, SampleTable

GRM_ENDING = ".grm.bin"


class Traces(StrEnum):
    """How traces of the likelihood are computed."""

    auto = "auto"
    exact = "exact"
    random = "random"


@ignores("with --traces exact", lambda given: given["traces"] == "exact", "probes")
@with_examples(
    "genoviz geno reml herd.bed --pheno milk.csv --trait fat --covariate age",
    "genoviz geno reml herd.bed --pheno milk.csv --trait fat --with protein -o covariances.tsv",
    "genoviz geno reml near.grm.bin far.grm.bin --pheno milk.csv -o variances.tsv",
    "genoviz geno reml herd.bed --pheno tests.csv --covariate season --repeated",
    "genoviz geno reml herd.bed --pheno milk.csv --sets genes.tsv --traces random",
)
def reml(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="GENOTYPES | GRM...",
            help="Genotypes, as for other commands; or a GCTA .grm.bin file of relationships for "
            "each component.",
        ),
    ],
    *,
    output: TableOption = None,
    traits: TraitOptions,
    others: Annotated[
        list[str] | None,
        option(
            "Another trait, to estimate its covariances with --trait (repeatable).",
            "--with",
            metavar="TRAIT",
        ),
    ] = None,
    sets: Annotated[
        Path | None,
        option(
            "Table of variant IDs and set names, without header: one variance component per set."
        ),
    ] = None,
    repeated: Annotated[
        bool,
        option(
            "Rows of --pheno are repeated records; adds a component for permanent effects "
            "of a sample.",
            "--repeated",
        ),
    ] = False,
    traces: Annotated[
        Traces,
        option(
            "exact: build the relationship matrix; random: multiply genotypes by columns of "
            "random signs; auto: exact up to 4,000 samples."
        ),
    ] = Traces.auto,
    probes: Annotated[int, option("Number of random columns.", within=(2, 10_000))] = 30,
    tolerance: Annotated[
        float,
        option(
            "Stop when no variance changes by more than this fraction of their sum.",
            within=(1e-15, 1),
        ),
    ] = 1e-5,
    max_iterations: Annotated[
        int, option("Maximum number of iterations.", within=(1, 10**9))
    ] = 100,
    filters: io.Filters,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Estimate variance components and heritability by restricted maximum likelihood (REML).

    SHARE is the fraction of the phenotypic variance. The shares of all genetic components add up to
    the heritability; with permanent effects, to the repeatability. Standard errors are from the
    average information matrix; that of an estimate at its bound (AT_BOUND) is not known (NA).
    Haseman-Elston estimates are printed to standard error. If the variances do not converge,
    CONVERGED is no, and the exit status is 3.

    --with estimates genetic and residual covariances and correlations of traits: one row per pair
    of traits. SHARE is the heritability of a trait.
    """
    if others and (repeated or sets is not None or traces is Traces.random or len(sources) > 1):
        raise typer.BadParameter(
            "--with takes one file of genotypes or relationships, without --sets, --repeated and "
            "--traces random"
        )
    options = {
        "traces": traces.value,
        "n_probes": probes,
        "tolerance": tolerance,
        "max_iterations": max_iterations,
        "seed": seed,
    }
    are_relationships = all(path.name.endswith(GRM_ENDING) for path in sources)
    if not are_relationships and len(sources) > 1:
        raise typer.BadParameter(f"several files need to be relationships, {GRM_ENDING}")
    if are_relationships and (filters != io.Filters() or sets is not None):
        raise typer.BadParameter(
            "--sets and the options that leave out variants or samples take genotypes, "
            "not relationships"
        )
    with show_progress() as bar:
        if are_relationships:
            relationships, samples = _read_all(sources)
        else:
            from genoviz.analyses.genotypes.sex_chromosomes import note_left_out

            found = io.open_genotypes(sources[0], bar, filters)
            print_notes(*note_left_out(found, contigs.value))
            samples = found.samples
        taken = take_records(sources[0], samples, traits, is_repeated=repeated)
        of_covariates = {"covariates": taken.covariates, "covariate_names": taken.covariate_names}
        if others:
            from genoviz.analyses.genotypes.variances.correlations import (
                iter_correlate,
                iter_correlate_of_relationships,
            )

            names, values = take_together(taken, traits, others)
            options = {"tolerance": tolerance, "max_iterations": max_iterations, **of_covariates}
            if are_relationships:
                (matrix,) = relationships.values()
                steps = iter_correlate_of_relationships(matrix, values, **options)
            else:
                options |= {"contigs": contigs.value, "backend": backend.value}
                steps = iter_correlate(found, values, **options)
            together = io.last_estimate(steps, bar)
            _write_together(together, names, output)
            print_notes(*together.notes)
            _tell_end(", ".join(names), together)
            return
        name, values = taken.name, taken.trait.values
        if taken.trait.is_binary:
            print_notes(f"trait {name} has two values; shares are of its variance as a number")
        options |= of_covariates
        options["samples"] = taken.animals
        if are_relationships:
            from genoviz.analyses.genotypes.variances.estimate import iter_reml_of_relationships

            steps = iter_reml_of_relationships(relationships, values, **options)
        else:
            from genoviz.analyses.genotypes.variances.estimate import iter_reml

            of_variants = None if sets is None else _read_sets(sets, found)
            options |= {"contigs": contigs.value, "backend": backend.value}
            steps = iter_reml(found, values, variant_sets=of_variants, **options)
        last = io.last_estimate(steps, bar)
    _write(last, output)
    print_notes(*last.notes)
    _tell_end(name, last)


def _tell_end(names: str, last: VarianceSnapshot | CorrelationSnapshot) -> None:
    io.tell_end(
        f"trait {names}: {last.sentence}",
        is_converged=last.is_converged,
        remedy="raise --max-iterations or --tolerance",
    )


def _read_all(paths: list[Path]) -> tuple[dict[str, np.ndarray], SampleTable]:
    """Return relationships by the names of their files, and the samples that all have."""
    import numpy as np

    from genoviz.errors import FileFormatError
    from genoviz.io.genotypes.relationship_files import read_relationships

    stored = [read_relationships(path) for path in paths]
    keys = [
        list(zip(each.samples.family_ids.tolist(), each.samples.ids.tolist(), strict=True))
        for each in stored
    ]
    common = set(keys[0]).intersection(*keys[1:])
    kept = [key for key in keys[0] if key in common]
    if not kept:
        raise FileFormatError(paths[-1], f"has none of the samples of {paths[0].name}")
    if len(kept) < max(map(len, keys)):
        print_notes(
            f"{n_words(len(kept), 'sample is', 'samples are')} in all files of relationships, and "
            "taken"
        )
    relationships = {}
    for path, each, names in zip(paths, stored, keys, strict=True):
        place = {name: number for number, name in enumerate(names)}
        rows = np.array([place[key] for key in kept])
        name = path.name.removesuffix(GRM_ENDING)
        relationships[name if name not in relationships else str(path)] = each.values[
            np.ix_(rows, rows)
        ]
    first = {name: number for number, name in enumerate(keys[0])}
    return relationships, stored[0].samples.take(np.array([first[key] for key in kept]))


def _read_sets(path: Path, genotypes: Genotypes) -> np.ndarray:
    """Return the set of each variant by its ID; empty for none."""
    import numpy as np

    from genoviz.errors import FileFormatError
    from genoviz.io.text.encoding import read_lines, words_of

    lines = read_lines(path)
    by_id = {}
    for number, line in enumerate(lines, 1):
        fields = words_of(line)
        if len(fields) not in (0, 2):
            found = f"has {n_words(len(fields), 'field')}, needs the ID of a variant and its set"
            raise FileFormatError(path, found, line=number)
        if not fields:
            continue
        name, own = fields
        if by_id.setdefault(name, own) != own:
            found = f"puts variant {name} into the set {own}, and it is in {by_id[name]} already"
            raise FileFormatError(path, found, line=number)
    sets = np.array([by_id.get(name, "") for name in genotypes.variants.ids.tolist()])
    n_in = int((sets != "").sum())
    if not n_in:
        raise FileFormatError(path, f"names none of the {n_words(len(sets), 'variant')}")
    print_notes(
        f"{n_in:,} of {n_words(len(sets), 'variant')} are in {len({*sets.tolist()} - {''})} sets"
    )
    return sets


def _write(last: VarianceSnapshot, output: Path | None) -> None:
    import numpy as np

    is_repeated = not np.isnan(last.repeatability)
    error = last.repeatability_error if is_repeated else last.heritability_error
    columns = {
        "#COMPONENT": np.array(last.names),
        "VARIANCE": last.variances,
        "VARIANCE_SE": last.standard_errors,
        "SHARE": np.append(last.shares, 1 - last.shares.sum()),
        "SHARE_SE": np.append(last.share_errors, error),
        "CONVERGED": np.full(len(last.variances), "yes" if last.is_converged else "no"),
        "AT_BOUND": np.where(last.is_bounded, "yes", "no"),
    }
    write_table(columns, output)


def _write_together(last: CorrelationSnapshot, names: list[str], output: Path | None) -> None:
    import numpy as np

    t, u = np.triu_indices(len(names))
    is_own = t == u
    labels = np.array(names)
    columns: dict[str, np.ndarray] = {}
    for component, values in (
        ("genotypes", (last.genetic, last.genetic_errors, last.correlations,
                       last.correlation_errors)),
        ("residual", (last.residual, last.residual_errors, last.residual_correlations,
                      last.residual_correlation_errors)),
    ):  # fmt: skip
        covariance, error, correlation, correlation_error = (each[t, u] for each in values)
        is_genetic = component == "genotypes"
        shares = last.heritabilities if is_genetic else 1 - last.heritabilities
        rows = {
            "#COMPONENT": np.full(len(t), component),
            "TRAIT1": labels[t],
            "TRAIT2": labels[u],
            "COVARIANCE": covariance,
            "COVARIANCE_SE": error,
            "CORRELATION": np.where(is_own, np.nan, correlation),
            "CORRELATION_SE": np.where(is_own, np.nan, correlation_error),
            "SHARE": np.where(is_own, shares[t], np.nan),
            "SHARE_SE": np.where(is_own, last.heritability_errors[t], np.nan),
            "CONVERGED": np.full(len(t), "yes" if last.is_converged else "no"),
            "AT_BOUND": np.where(np.isnan(error), "yes", "no"),
        }
        columns = {
            name: np.append(columns[name], values) if columns else values
            for name, values in rows.items()
        }
    write_table(columns, output)
