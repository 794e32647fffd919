"""``genoviz geno grm``: the genomic relationship matrix."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from genoviz.cli.common_options import BackendName, BackendOption, examples
from genoviz.cli.genotypes import inputs as io
from genoviz.cli.genotypes.tables import write_table
from genoviz.cli.output_kinds import choose_kind, table_only
from genoviz.cli.progress import show_progress
from genoviz.cli.results import print_notes, print_results
from genoviz.cli.streams import name_of_output

if TYPE_CHECKING:
    from genoviz.analyses.genotypes.relationships import RelationshipMatrix

EXAMPLES = examples(
    "genoviz geno grm herd.bed -o herd.grm.bin",
    "genoviz geno grm cohort.bed --method gcta --maf 0.01 -o grm.npy --pairs relatives.tsv",
)


class GrmMethod(StrEnum):
    """How relationships are scaled."""

    vanraden = "vanraden"
    gcta = "gcta"


def grm(
    genotypes: io.GenotypesArgument,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help="File to write: .grm.bin (GCTA's, with .grm.id, and .grm.N.bin: how many variants "
            "each pair has), .npy, or .tsv; .npy and .tsv have the order of the samples.",
        ),
    ],
    method: Annotated[
        GrmMethod,
        typer.Option(help="VanRaden's first, or the mean over standardised variants (GCTA)."),
    ] = GrmMethod.vanraden,
    pairs: Annotated[
        Path | None, typer.Option(help="Also write the pairs of relatives, as a table.")
    ] = None,
    at_least: Annotated[
        float, typer.Option(min=-10, max=10, help="Smallest relationship of such a pair.")
    ] = 0.05,
    maf: io.MafOption = 0.0,
    max_missing: io.MissingOption = 1.0,
    max_sample_missing: io.SampleMissingOption = 1.0,
    hwe: io.HweOption = 0.0,
    region: io.RegionOption = None,
    keep: io.KeepOption = None,
    autosomes: io.AutosomesOption = None,
    contigs: io.ContigsOption = io.Contigs.autosomes,
    backend: BackendOption = BackendName.auto,
) -> None:
    """Compute how related the samples are over the variants of autosomes."""
    from genoviz.analyses.genotypes.relationships import iter_relationship_matrix
    from genoviz.analyses.genotypes.relatives import relatives
    from genoviz.analyses.genotypes.sex_chromosomes import note_left_out
    from genoviz.io.genotypes.relationship_files import ENDINGS, write_relationships

    choose_kind(output, {ending: (ending,) for ending in ENDINGS}, default=None, binary=ENDINGS)
    table_only(pairs, option="--pairs")
    filters = io.Filters(maf, max_missing, max_sample_missing, hwe, region, keep, autosomes)
    with show_progress() as bar:
        found = io.open_genotypes(genotypes, bar, filters)
        print_notes(*note_left_out(found, contigs.value))
        steps = iter_relationship_matrix(
            found, method=method.value, contigs=contigs.value, backend=backend.value
        )
        matrix = io.last_result(steps, bar)
        write_relationships(matrix.values, matrix.samples, matrix.pair_variants, output)
    sentences = [
        f"{len(matrix.samples):,} samples, {matrix.n_variants:,} variants{_shared(matrix)}",
        f"wrote {name_of_output(output)}",
    ]
    if pairs is not None:
        related = relatives(matrix, at_least=at_least)
        ids = matrix.samples.ids
        columns = {"#IID1": ids[related.first], "IID2": ids[related.second]}
        write_table(columns | {"RELATIONSHIP": related.relationship}, pairs)
        sentences.append(
            f"{len(related.first):,} pairs of at least {at_least:g} in {name_of_output(pairs)}"
        )
    print_results({}, sentences, as_json=False)


def _shared(matrix: RelationshipMatrix) -> str:
    """Return how many variants the pairs have, where that differs."""
    if matrix.n_shared is None:
        return ""
    return f", of which a pair has {matrix.n_shared.min():,} to {matrix.n_shared.max():,}"
