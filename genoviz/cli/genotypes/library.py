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
        typer.Argument(metavar="FOLDER", help="Where to write; it is made if it is not there."),
    ],
) -> None:
    """Write a C library of products and predictions, with its callers, and compile it.

    Its header has the calls: multiply the packed matrix of genotypes, and solve the equations of
    SNP-BLUP, GBLUP and the single step, from C, Fortran, R and Julia. Each language has a file to
    use and an example. The C compiler is cc, or what CC names.
    """
    from genoviz.bindings import FILES, write_library

    refuse_standard_output("FOLDER", output, "the library is several files")
    library = write_library(output)
    typer.echo(library)
    print_notes(f"beside it are {', '.join(FILES)}")
