"""The program ``genoviz``: its commands, what their values go through first, and how it ends.

Numbers are finite, ``-`` is standard input or output, and nothing that is read is written over.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from genoviz.backend import find_fault_of_layer
from genoviz.cli import samples
from genoviz.cli.common_options import add_command
from genoviz.cli.genotypes import geno
from genoviz.cli.graph.draw import draw
from genoviz.cli.graph.extract import extract
from genoviz.cli.graph.layout import layout
from genoviz.cli.graph.queries import position, sites, stats
from genoviz.cli.graph.sharing import growth, presence, similarity
from genoviz.cli.graph.stress import stress
from genoviz.cli.intervals.count import count
from genoviz.cli.intervals.depth import coverage, depth
from genoviz.cli.offtargets.offtarget import offtarget
from genoviz.cli.results import (
    STANDARD_OUTPUT,
    as_file,
    is_dash,
    remove_copies,
    silence_broken_streams,
    take_standard_output,
    until_nobody_reads,
)
from genoviz.cli.samples import simulate
from genoviz.cli.sequences import bwt
from genoviz.cli.serve import serve
from genoviz.cli.stopping import (
    Terminated,
    end_on_signals,
    forget_interrupts,
    leave_stuck,
    run_stoppable,
    tidied,
)
from genoviz.errors import GenovizError
from genoviz.io.files.replace_file import protect_inputs, refuse_input

EXIT_CODES = (
    "Exit codes: 0 done, 1 failed (one sentence says why), 2 wrong usage, "
    "3 written, but an iteration has not converged, 130 interrupted, 143 terminated."
)

# Parameters that name files to write; all others of type Path are read.
OUTPUTS = ("output", "output_file", "tsv", "gaps", "samples", "pairs", "effects", "loadings")
# These are read by their commands, which look at other values first.
READ_LATER = ("sequences",)
# It hears signals itself.
IN_MAIN_THREAD = ("serve",)
BY_DEFAULT = "standard output"
# What is read beside a file of the same stem, and by a prefix.
COMPANIONS = (".bed", ".bim", ".fam", ".pgen", ".pvar", ".psam")

cli = typer.Typer(
    name="genoviz",
    help="Genomics kernels for CPU and GPU, and a dashboard that shows them at work.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (layout, stress, draw, position, extract, stats, sites):
    add_command(cli, command)
for command in (similarity, presence, growth, count, coverage, depth):
    add_command(cli, command)
bwt.register(cli)
add_command(cli, offtarget)
geno.register(cli)
add_command(cli, simulate)
samples.register(cli)
add_command(cli, serve, no_args_is_help=False)


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
        with end_on_signals(), tidied(remove_copies):
            _run(_make_command(), arguments)
    except Terminated as end:
        _say(end.sentence)
        leave_stuck(end.code)
        raise
    except SystemExit as end:
        leave_stuck(end.code)
        raise
    finally:
        forget_interrupts()


@functools.cache
def _make_command() -> Any:
    """Return the program, once for a process: it is made of some hundred options."""
    command = typer.main.get_command(cli)
    check_values(command)
    # The program ends in peace where nobody reads on, be it what a command writes or its help.
    command.make_context = _quietly(command.make_context)
    command.invoke = _quietly(command.invoke)
    return command


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


def check_values(command: Any) -> None:
    """Let a command, or all of a group, have its values checked first."""
    for inner in getattr(command, "commands", {}).values():
        check_values(inner)
    for param in command.params:
        if param.callback is None:
            param.callback = _refuse_no_number
    if command.callback is not None and not hasattr(command, "commands"):
        command.callback = _checked(command.name, command.callback, command.params)


def _refuse_no_number(context: Any, param: Any, value: Any) -> Any:
    """Refuse nan, which is within any bounds, and inf."""
    if isinstance(value, float) and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is no finite number", ctx=context, param=param)
    return value


def _checked(name_of_command: str, callback: Callable, params: list[Any]) -> Callable:
    """Return a callback that is called with checked values."""
    by_name = {param.name: param for param in params}

    @functools.wraps(callback)
    def call(**values: Any) -> Any:
        hints = get_type_hints(callback)
        paths = [name for name in by_name if name in values and _is_path(hints.get(name))]
        dashes = [name for name in paths if is_dash(values[name])]
        for name in (name for name in dashes if name in OUTPUTS):
            shown = getattr(by_name[name], "show_default", None)
            is_default = shown == BY_DEFAULT or name == "output_file"
            values[name] = None if is_default else STANDARD_OUTPUT
        take_standard_output(STANDARD_OUTPUT in [values[name] for name in dashes])
        _refuse_two([by_name[name] for name in dashes if name in OUTPUTS], "output", "written")
        _refuse_two([by_name[name] for name in dashes if name not in OUTPUTS], "input", "read")
        for name in paths:
            if name not in (*OUTPUTS, *READ_LATER) and values[name] is not None:
                values[name] = as_file(Path(values[name]))
        if name_of_command in IN_MAIN_THREAD:
            return _run_guarded(callback, values)
        return run_stoppable(functools.partial(_run_guarded, callback, values))

    return call


def _run_guarded(callback: Callable, values: dict[str, Any]) -> Any:
    """Run a command that cannot write over a file that it reads."""
    read = [
        path for name, value in values.items() if name not in OUTPUTS for path in _iter_files(value)
    ]
    with protect_inputs(read):
        # Before anything is computed; names made from these are looked at when they are opened.
        for name in OUTPUTS:
            if isinstance(values.get(name), Path):
                refuse_input(values[name])
        return callback(**values)


def _iter_files(value: Any) -> Iterator[Path]:
    """Yield the files that a value may name."""
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _iter_files(inner)
    elif isinstance(value, str | Path) and str(value):
        path = Path(value)
        yield path
        for ending in COMPANIONS:
            yield path.with_name(path.name + ending) if path.name else path
            yield path.with_suffix(ending) if path.suffix in COMPANIONS else path


def _is_path(hint: Any) -> bool:
    """Return whether a parameter is one file, which it may leave out."""
    return hint is Path or Path in [kind for kind in get_args(hint) if isinstance(kind, type)]


def _refuse_two(params: list[Any], stream: str, verb: str) -> None:
    if len(params) > 1:
        raise typer.BadParameter(
            f"{' and '.join(map(_name, params))} are both -, but standard {stream} can be {verb} "
            "only once; name files"
        )


def _name(param: Any) -> str:
    if param.param_type_name == "option":
        return max(param.opts, key=len)
    return param.metavar or param.name.upper()
