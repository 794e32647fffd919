"""The program ``genoviz``: how its commands are called, what their values go through, its end.

Numbers are finite, ``-`` is standard input or output, and nothing that is read is written over.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from genoviz.backend import find_fault_of_layer
from genoviz.cli.commands import COMMANDS, Group
from genoviz.cli.common_options import examples, import_command, option
from genoviz.cli.results import (
    STANDARD_OUTPUT,
    as_file,
    is_dash,
    quietly,
    remove_copies,
    take_standard_output,
    until_nobody_reads,
)
from genoviz.cli.stopping import (
    Terminated,
    end_on_signals,
    forget_interrupts,
    forgo_garbage,
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
OUTPUTS = (
    "output", "output_file", "tsv", "gaps", "samples", "pairs", "effects", "loadings", "removed",
    "unrelated", "credible_sets", "absent",
)  # fmt: skip
# These are read by their commands, which look at other values first.
READ_LATER = ("sequences",)
# It hears signals itself.
IN_MAIN_THREAD = ("serve",)
BY_DEFAULT = "standard output"
# What is read beside a file of the same stem, and by a prefix.
COMPANIONS = (".bed", ".bim", ".fam", ".pgen", ".pvar", ".psam", ".bgen", ".sample")
RELATIONSHIPS = (".grm.bin", ".grm.id", ".grm.N.bin")


class LateGroup(TyperGroup):
    """A group whose commands are known by their sentences until one is asked for."""

    def offer(
        self, commands: Mapping[str, tuple[str, str] | Group], prepare: Callable[[Any], None]
    ) -> None:
        """Take commands in; ``prepare`` is called with each one that is imported."""
        self._late, self._prepare = dict(commands), prepare
        for name, late in commands.items():
            summary = late.summary if isinstance(late, Group) else late[1]
            self.commands[name] = TyperCommand(name, help=summary)

    def load(self, name: str) -> Any:
        """Return a command as it is called; None if there is none of this name."""
        if name in self._late:
            self.commands[name] = self._make(name, self._late.pop(name))
        return self.commands.get(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments begin with, and the others."""
        self.load(args[0])
        return super().resolve_command(ctx, args)

    def _make(self, name: str, late: tuple[str, str] | Group) -> Any:
        if isinstance(late, Group):
            command = LateGroup(
                name=name,
                help=late.summary,
                epilog=examples(*late.examples),
                no_args_is_help=True,
                rich_markup_mode="rich",
            )
            command.offer(late.commands, self._prepare)
        else:
            command = import_command(name, late[0])
        self._prepare(command)
        return command


cli = typer.Typer(
    cls=LateGroup,
    name="genoviz",
    help="Genomics kernels for CPU and GPU, and a dashboard that shows them at work.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        import genoviz

        typer.echo(f"genoviz {genoviz.__version__}")
        raise typer.Exit


@cli.callback()
def _options(
    version: Annotated[
        bool,
        option("Print the version and exit.", "--version", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    del version


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    forgo_garbage()
    try:
        with end_on_signals(), tidied(remove_copies):
            _run(make_program(), arguments)
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
def make_program() -> Any:
    """Return the program, once for a process."""
    _take_plain_values()
    command = typer.main.get_command(cli)
    command.offer(COMMANDS, check_values)
    check_values(command)
    command.make_context = quietly(command.make_context)
    command.invoke = quietly(command.invoke)
    return command


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


@functools.cache
def _take_plain_values() -> None:
    """Have values of plain types converted here.

    Typer has pydantic do so, whose import takes as long as all else of a command line. It is asked
    still for what is not plainly right, and says what is wrong.
    """
    parameter = getattr(typer.core, "_TyperParameter", None)
    if ask_typer := getattr(parameter, "get_runtime_param", None):
        own = SimpleNamespace(coerce=functools.partial(_convert, ask_typer))
        parameter.get_runtime_param = lambda _: own


def _convert(ask_typer: Callable, value: Any, param: Any, ctx: Any) -> Any:
    kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
    is_list = param.multiple or param.nargs == -1
    if value is None:
        return () if is_list else None
    with contextlib.suppress(ValueError):
        if not is_list:
            return _plain_value(value, kind, info)
        if isinstance(value, list | tuple):
            return [_plain_value(each, get_args(kind)[0], info) for each in value]
    return ask_typer(param).coerce(value, param=param, ctx=ctx)


def _plain_value(value: Any, kind: Any, info: Any) -> Any:
    """Return a value as one of a kind; ValueError if that is not plain."""
    is_text = isinstance(value, str)
    if is_text and (kind is str or (isinstance(kind, type) and issubclass(kind, StrEnum))):
        return kind(value)
    if kind in (int, float) and (type(value) in (int, kind) or (is_text and "_" not in value)):
        number = kind(value)
        low, high = -math.inf if info.min is None else info.min, info.max
        if low <= number and (high is None or number <= high):
            return number
    is_path = kind is Path and (is_text or type(value) is type(Path()))
    if is_path and (not os.path.lexists(value) or os.access(value, os.R_OK)):
        return Path(value)
    raise ValueError(value)


def check_values(command: Any) -> None:
    """Have the values of a command, or of each command of a group, checked before it runs."""
    if not isinstance(command, LateGroup):
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
        raise typer.BadParameter(f"{value} is not a finite number", ctx=context, param=param)
    return value


def _checked(name_of_command: str, callback: Callable, params: list[Any]) -> Callable:
    """Return a callback that is called with checked values."""
    by_name, hints = {param.name: param for param in params}, get_type_hints(callback)
    ignored = getattr(callback, "ignored", ())

    @functools.wraps(callback)
    def call(**values: Any) -> Any:
        paths = [name for name in by_name if name in values and _is_path(hints.get(name))]
        dashes = [name for name in paths if is_dash(values[name])]
        for name in (name for name in dashes if name in OUTPUTS):
            shown = getattr(by_name[name], "show_default", None)
            is_default = shown == BY_DEFAULT or name == "output_file"
            values[name] = None if is_default else STANDARD_OUTPUT
        take_standard_output(STANDARD_OUTPUT in [values[name] for name in dashes])
        _refuse_two([by_name[name] for name in dashes if name in OUTPUTS], "output", "written")
        _refuse_two([by_name[name] for name in dashes if name not in OUTPUTS], "input", "read")
        _refuse_ignored(ignored, values, by_name)
        _refuse_one_file({by_name[name]: values[name] for name in paths if name in OUTPUTS})
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
        if path.name.endswith(RELATIONSHIPS[0]):
            stem = path.name.removesuffix(RELATIONSHIPS[0])
            yield from (path.with_name(stem + ending) for ending in RELATIONSHIPS[1:])


def _is_path(hint: Any) -> bool:
    """Return whether a parameter is one file, which it may leave out."""
    kinds = [kind for kind in get_args(hint) if isinstance(kind, type)]
    return hint is Path or (get_origin(hint) is not list and Path in kinds)


def _refuse_two(params: list[Any], stream: str, verb: str) -> None:
    if len(params) > 1:
        raise typer.BadParameter(
            f"{' and '.join(map(_name, params))} are both -, but standard {stream} can be {verb} "
            "only once; name files"
        )


def _refuse_one_file(outputs: dict[Any, Any]) -> None:
    """Refuse two outputs of one name, the first of which would be lost."""
    writers: dict[Path, str] = {}
    for param, path in outputs.items():
        if not isinstance(path, Path) or path == STANDARD_OUTPUT:
            continue
        place = path.resolve()
        if place.exists() and not place.is_file():  # as /dev/null
            continue
        first = writers.setdefault(place, _name(param))
        if first != _name(param):
            raise typer.BadParameter(f"{first} and {_name(param)} are both {path}; name two files")


def _refuse_ignored(ignored: Any, values: dict[str, Any], by_name: dict[str, Any]) -> None:
    """Refuse an option that has no effect beside the others, as the command says by `ignores`."""
    for circumstance, when, names in ignored:
        for name in names:
            param, value = by_name[name], values[name]
            if value not in (param.default, None, [], ()) and when(values):
                flag = param.secondary_opts[-1] if value is False else _name(param)
                raise typer.BadParameter(f"{flag} has no effect {circumstance}; leave it out")


def _name(param: Any) -> str:
    if param.param_type_name == "option":
        return max(param.opts, key=len)
    return param.metavar or param.name.upper()
