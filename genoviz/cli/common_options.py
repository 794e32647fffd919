"""Arguments and options that several commands have."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

# Every option that takes a number says from where to where, well within what 64 bits hold; a test
# looks for one that does not. What is not a finite number is refused for all.
MAX_SEED = 2**63 - 1
MAX_COUNT = 10**12
MAX_LENGTH = 10**12


def option(
    text: str, *flags: str, within: tuple[Any, Any] = (None, None), panel: str | None = None,
    **more: Any,
) -> Any:  # fmt: skip
    """Return an option: its help, its flags where its name does not say them, and its range."""
    low, high = within
    return typer.Option(*flags, help=text, min=low, max=high, rich_help_panel=panel, **more)


class BackendName(StrEnum):
    """Where kernels run."""

    auto = "auto"
    cpu = "cpu"
    cuda = "cuda"


GraphArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GRAPH",
        help="Graph: GFA, plain or gzipped, or GBZ; FILE/chr6 is one chromosome; - is standard "
        "input.",
    ),
]
BackendOption = Annotated[
    BackendName, option("Backend; auto uses a GPU if there is one.", "--backend")
]
SchedulerOption = Annotated[
    str | None,
    option(
        "Share the work out to the workers of this scheduler of Dask, as tcp://head:8786; needs "
        r"genoviz\[cluster].",
        "--scheduler",
        metavar="ADDRESS",
        show_default="none: this machine alone",
    ),
]
SeedOption = Annotated[int, option("Seed of all random numbers.", "--seed", within=(0, MAX_SEED))]
JsonOption = Annotated[bool, option("Print the results as JSON.", "--json")]
CacheOption = Annotated[
    bool, option("Cache the parsed graph, so that it opens faster next time.", "--cache/--no-cache")
]


def with_examples(*lines: str, no_args_is_help: bool = True) -> Callable:
    """Return a decorator that gives a command the examples that end its help.

    Without arguments the help is shown, unless ``no_args_is_help`` is false.
    """

    def give(function: Callable) -> Callable:
        function.examples = examples(*lines)
        function.no_args_is_help = no_args_is_help
        return function

    return give


def ignores(circumstance: str, when: Callable[[Mapping[str, Any]], Any], *names: str) -> Callable:
    """Return a decorator that has options refused where a command would not use them.

    Parameters
    ----------
    circumstance
        Where they have no effect, as the message says it: ``"with --path"``.
    when
        Returns whether this is so, from the values of all options and arguments by name.
    names
        Parameters of the command; one is refused if its value is not the default.
    """

    def give(function: Callable) -> Callable:
        function.ignored = ((circumstance, when, names), *getattr(function, "ignored", ()))
        return function

    return give


def examples(*lines: str) -> str:
    """Return the examples that end a command's help."""
    return "[bold]Examples[/bold]\n\n" + "\n\n".join(f"  {line}" for line in lines)


def spread_records(function: Callable) -> Callable:
    """Return a command that takes an option for each field of its parameters that are dataclasses.

    So what several commands have in common is listed once, and handed on as a whole.
    """
    hints = get_type_hints(function, include_extras=True)
    records = {name: kind for name, kind in hints.items() if is_dataclass(kind)}
    if not records:
        return function
    parameters = [
        each
        for parameter in signature(function).parameters.values()
        for each in _iter_options(parameter, hints[parameter.name])
    ]

    @functools.wraps(function)
    def call(**values: Any) -> Any:
        for name, kind in records.items():
            own = {field.name: values.pop(field.name) for field in fields(kind)}
            values[name] = kind(**own)
        return function(**values)

    call.__signature__ = Signature(parameters)
    call.__annotations__ = {each.name: each.annotation for each in parameters}
    return call


def import_command(name: str, module: str) -> Any:
    """Return a function as the command of its name; its docstring and its examples are the help."""
    found = getattr(importlib.import_module(module), name)
    cli = found
    if not isinstance(found, typer.Typer):
        cli = typer.Typer(add_completion=False, rich_markup_mode="rich")
        paragraphs = inspect.cleandoc(found.__doc__).split("\n\n")
        cli.command(
            name,
            help="\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs),
            epilog=found.examples,
            no_args_is_help=found.no_args_is_help,
        )(spread_records(found))
    command = typer.main.get_command(cli)
    command.name = name
    return command


def _iter_options(parameter: Parameter, hint: Any) -> Iterator[Parameter]:
    if not is_dataclass(hint):
        yield parameter.replace(annotation=hint, kind=Parameter.KEYWORD_ONLY)
        return
    hints = get_type_hints(hint, include_extras=True)
    for field in fields(hint):
        yield Parameter(
            field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name]
        )


def devices_option(text: str, panel: str | None = None) -> Any:
    """Return the option ``--devices``, which ``parse_devices`` reads."""
    more = {"metavar": "NUMBERS", "show_default": "one GPU"}
    return option(f"Numbers of GPUs, 0,1,2,3{text}", "--devices", panel=panel, **more)


def parse_devices(text: str | None) -> list[int] | None:
    """Return the numbers of GPUs that ``--devices`` names."""
    if text is None:
        return None
    numbers = text.split(",")
    if not all(number.strip().isdecimal() for number in numbers):
        raise typer.BadParameter(f"--devices is {text!r}, needs numbers of GPUs such as 0,1,2,3")
    found = [int(number) for number in numbers]
    if len(set(found)) < len(found):
        raise typer.BadParameter(f"--devices is {text!r}, needs each GPU once")
    return found
