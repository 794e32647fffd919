"""The options of ``genoviz layout`` that are those of `genoviz.LayoutOptions`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

_SCHEDULE, _SAMPLING = "Schedule", "Sampling"


class Initialisation(StrEnum):
    """Where nodes begin."""

    d = "d"
    u = "u"
    g = "g"
    r = "r"
    h = "h"


Iterations = Annotated[
    int,
    typer.Option(
        min=1, max=10**6, help="Iterations, each with its own rate.", rich_help_panel=_SCHEDULE
    ),
]
UpdatesPerStep = Annotated[
    float,
    typer.Option(
        min=1e-6,
        max=1e6,
        help="Updates in an iteration for each step of the paths.",
        rich_help_panel=_SCHEDULE,
    ),
]
EtaMax = Annotated[
    float | None,
    typer.Option(
        min=1e-12,
        max=1e18,
        help="First learning rate, bp.",
        show_default="longest path in steps, squared",
        rich_help_panel=_SCHEDULE,
    ),
]
Eps = Annotated[
    float,
    typer.Option(min=1e-12, max=1e18, help="Last learning rate, bp.", rich_help_panel=_SCHEDULE),
]
CoolingStart = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        help="Share of the iterations after which all jumps are local.",
        rich_help_panel=_SCHEDULE,
    ),
]
FirstIteration = Annotated[
    int,
    typer.Option(
        min=0,
        max=10**6,
        help="Where in the schedule to begin; above 0 re-heats --start gently.",
        rich_help_panel=_SCHEDULE,
    ),
]
Theta = Annotated[
    float,
    typer.Option(
        min=0.001, max=0.999, help="Zipf exponent of local jumps.", rich_help_panel=_SAMPLING
    ),
]
Space = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=2**40,
        help="Longest local jump, steps.",
        show_default="longest path",
        rich_help_panel=_SAMPLING,
    ),
]
FirstPlaces = Annotated[
    Initialisation,
    typer.Option(
        "--initialisation",
        help="First places: d in graph order, u, g, r random, h on a Hilbert curve.",
        rich_help_panel=_SAMPLING,
    ),
]
Window = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=32,
        help="Neighbouring steps that share a jump: 1, 2, 4, 8, 16 or 32.",
        show_default="by size of the graph",
        rich_help_panel=_SAMPLING,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        min=1, max=4096, help="CPU threads; with 1, a seed gives the same bits.", show_default="all"
    ),
]
