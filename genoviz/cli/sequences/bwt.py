"""``genoviz bwt``: exact search of k-mers of any length, by an index of a genome."""

from __future__ import annotations

import typer

from genoviz.cli.common_options import examples, help_of
from genoviz.cli.sequences import bwt_build, bwt_queries, bwt_spectrum

EXAMPLES = examples(
    "genoviz bwt build genome.fa.gz -o genome.gvfm",
    "genoviz bwt count genome.gvfm TTAGGGTTAGGG",
    "genoviz bwt locate genome.gvfm --file primers.fa -o hits.bed",
    "genoviz bwt spectrum genome.gvfm -k 21",
)


def register(cli: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Search k-mers of any length in genomes and graphs, exactly.",
        epilog=EXAMPLES,
        rich_markup_mode="rich",
        no_args_is_help=True,
    )
    for command, lines in (
        (bwt_build.build, bwt_build.EXAMPLES),
        (bwt_queries.count, bwt_queries.COUNT_EXAMPLES),
        (bwt_queries.locate, bwt_queries.LOCATE_EXAMPLES),
        (bwt_spectrum.spectrum, bwt_spectrum.SPECTRUM_EXAMPLES),
        (bwt_spectrum.multiplicity, bwt_spectrum.MULTIPLICITY_EXAMPLES),
    ):
        group.command(help=help_of(command), epilog=lines, no_args_is_help=True)(command)
    cli.add_typer(group, name="bwt")
