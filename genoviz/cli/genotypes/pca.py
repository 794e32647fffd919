"""``genoviz geno pca``: principal components of genotypes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, SeedOption, examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import (
    numbered_columns,
    sample_columns,
    variant_columns,
    write_table,
)
from genoviz.cli.output_kinds import TableOption, table_only
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_notes

EXAMPLES = examples(
    "genoviz geno pca cohort.bed --maf 0.01 -o pca.tsv",
    "genoviz geno pca cohort.bed -k 4 --loadings loadings.tsv.gz",
)


def pca(
    genotypes: io.GenotypesArgument,
    output: TableOption = None,
    components: Annotated[
        int, typer.Option("-k", "--components", min=1, max=10_000, help="How many.")
    ] = 10,
    iterations: Annotated[
        int,
        typer.Option(min=1, max=10_000, help="Products with the relationship matrix at most."),
    ] = 100,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Residual of a component, |Gu - lu| / l, with which to stop."
        ),
    ] = 1e-4,
    loadings: Annotated[
        Path | None, typer.Option(help="Also write the loadings of the variants.")
    ] = None,
    maf: io.MafOption = 0.0,
    max_missing: io.MissingOption = 1.0,
    max_sample_missing: io.SampleMissingOption = 1.0,
    hwe: io.HweOption = 0.0,
    region: io.RegionOption = None,
    keep: io.KeepOption = None,
    autosomes: io.AutosomesOption = None,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Compute the main axes along which samples differ, by block Lanczos on packed genotypes.

    The eigenvalues, what they explain of the variance, and how exact they are go to standard
    error. If the tolerance is not reached, the exit status is 3.
    """
    from genoviz.analyses.genotypes.components import iter_principal_components
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out

    table_only(loadings, option="--loadings")
    filters = io.Filters(maf, max_missing, max_sample_missing, hwe, region, keep, autosomes)
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_left_out(found, contigs.value))
        steps = iter_principal_components(
            found,
            n_components=components,
            n_iterations=iterations,
            tolerance=tolerance,
            contigs=contigs.value,
            seed=seed,
            backend=backend.value,
        )
        result = io.last_result(steps, bar)
    write_table(sample_columns(found.samples) | numbered_columns("PC", result.scores), output)
    if loadings is not None:
        columns = variant_columns(found.variants)
        write_table(columns | numbered_columns("PC", result.loadings), loadings)
    pairs = zip(result.eigenvalues, result.explained, strict=True)
    print_notes(*(f"PC{k}: eigenvalue {value:.4g}, {part:.2%} of the variance"
                  for k, (value, part) in enumerate(pairs, 1)))  # fmt: skip
    remedy = "raise --iterations or --tolerance"
    io.tell_end(result.sentence, is_converged=result.is_converged, remedy=remedy)
