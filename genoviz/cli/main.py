"""The program ``genoviz``: its commands, and how it ends."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from genoviz.cli import (
    bwt,
    count,
    coverage,
    depth,
    draw,
    extract,
    geno,
    layout,
    offtarget,
    position,
    samples,
    serve,
    simulate,
    sites,
    stats,
    stress,
)
from genoviz.errors import GenovizError

EXIT_CODES = "Exit codes: 0 done, 1 failed (one sentence says why), 2 wrong usage, 130 interrupted."

cli = typer.Typer(
    name="genoviz",
    help="Genomics kernels for CPU and GPU, and a dashboard that shows them at work.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
layout.register(cli)
stress.register(cli)
draw.register(cli)
position.register(cli)
extract.register(cli)
stats.register(cli)
sites.register(cli)
count.register(cli)
coverage.register(cli)
depth.register(cli)
bwt.register(cli)
offtarget.register(cli)
geno.register(cli)
simulate.register(cli)
samples.register(cli)
serve.register(cli)


def _print_version(wanted: bool) -> None:
    if wanted:
        import genoviz

        typer.echo(f"genoviz {genoviz.__version__}")
        raise typer.Exit


@cli.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    del version


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    try:
        cli(arguments, prog_name="genoviz")
    except GenovizError as error:
        _fail(str(error))
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        _fail(f"{what}{error.strerror or error}")
    except MemoryError as error:
        _fail(f"this needs more memory than the machine has ({error})")


def _fail(sentence: str) -> None:
    typer.echo(f"genoviz: {sentence}", err=True)
    sys.exit(1)
