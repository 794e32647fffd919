"""``genoviz geno library``: products and predictions for programs in other languages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import with_examples
from genoviz.cli.results import print_notes, refuse_standard_output


@with_examples(
    "genoviz geno library callers",
    "CC=clang genoviz geno library callers",
)
def library(
    output: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="Output folder; created if missing."),
    ],
) -> None:
    """Write and compile a C library of products and predictions, for other languages.

    The library multiplies the packed genotype matrix, and solves SNP-BLUP, GBLUP and single-step,
    from C, Fortran, R and Julia. Each language gets an interface file and an example. The C
    compiler is cc; set CC to use another.
    """
    from genoviz.bindings import FILES, write_library

    refuse_standard_output("FOLDER", output, "the library is several files")
    library = write_library(output)
    typer.echo(library)
    print_notes(f"beside it are {', '.join(FILES)}")
