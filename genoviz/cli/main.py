"""The program ``genoviz``: its commands, and how it ends."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from genoviz.cli import samples, serve
from genoviz.cli.checked_values import check_values
from genoviz.cli.genotypes import geno
from genoviz.cli.graph import draw, extract, layout, position, simulate, sites, stats, stress
from genoviz.cli.intervals import count, coverage, depth
from genoviz.cli.offtargets import offtarget
from genoviz.cli.sequences import bwt
from genoviz.cli.stopping import Terminated, end_on_signals, leave_stuck, tidied
from genoviz.cli.streams import remove_copies, silence_broken_streams, until_nobody_reads
from genoviz.errors import GenovizError
from genoviz.threading_layer import find_fault_of_layer

EXIT_CODES = (
    "Exit codes: 0 done, 1 failed (one sentence says why), 2 wrong usage, "
    "3 written, but an iteration has not converged, 130 interrupted, 143 terminated."
)

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
    command = typer.main.get_command(cli)
    check_values(command)
    # The program ends in peace where nobody reads on, be it what a command writes or its help.
    command.make_context = _quietly(command.make_context)
    command.invoke = _quietly(command.invoke)
    try:
        with end_on_signals(), tidied(remove_copies):
            _run(command, arguments)
    except Terminated as end:
        _say(end.sentence)
        leave_stuck(end.code)
        raise
    except SystemExit as end:
        leave_stuck(end.code)
        raise


def _quietly(function: Callable) -> Callable:
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except (BrokenPipeError, SystemExit) as error:
            # rich makes an end of its own of a broken pipe
            broken = (type(error), type(error.__context__))
            if BrokenPipeError not in broken:
                raise
            silence_broken_streams()
            raise typer.Exit from None

    return call


def _run(command: Any, arguments: list[str] | None) -> None:
    try:
        fault = find_fault_of_layer()
        if fault is not None:
            raise GenovizError(fault)
        command(arguments, prog_name="genoviz")
    except GenovizError as error:
        _fail(str(error))
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        _fail(f"{what}{error.strerror or error}")
    except MemoryError as error:
        _fail(f"this needs more memory than the machine has ({error})")


def _fail(sentence: str) -> None:
    _say(sentence)
    sys.exit(1)


def _say(sentence: str) -> None:
    with until_nobody_reads():
        typer.echo(f"genoviz: {sentence}", err=True)
