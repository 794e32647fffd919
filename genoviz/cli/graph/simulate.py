"""``genoviz simulate``: make a random variation graph."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import MAX_COUNT, JsonOption, SeedOption, examples, help_of
from genoviz.cli.output_kinds import check_output
from genoviz.cli.progress import show_progress
from genoviz.cli.results import describe_graph, print_results
from genoviz.cli.streams import name_of_output

EXAMPLES = examples(
    "genoviz simulate -n 100000 -p 40 -o graph.gfa.gz",
    "genoviz simulate --preset mhc -o mhc.gfa --seed 7",
    "genoviz simulate -n 5000 -p 12 --sequences -o small.gfa",
)


class Preset(StrEnum):
    """Sizes of graphs by name."""

    small = "small"
    million = "million"
    mhc = "mhc"
    chr20 = "chr20"
    chr1 = "chr1"


def register(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("simulate", help=help_of(simulate), epilog=EXAMPLES, no_args_is_help=True)(simulate)


def simulate(
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Graph to write: .gfa, or .gfa.gz to gzip it.")
    ],
    nodes: Annotated[
        int | None, typer.Option("-n", "--nodes", min=1, max=MAX_COUNT, help="Nodes.")
    ] = None,
    paths: Annotated[
        int | None, typer.Option("-p", "--paths", min=1, max=MAX_COUNT, help="Paths.")
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MAX_COUNT,
            help="Steps of all paths, within 5 %.",
            show_default="by the paths",
        ),
    ] = None,
    preset: Annotated[
        Preset | None,
        typer.Option(help="Sizes of a known graph; chr1 has 1.1e7 nodes and 6e8 steps."),
    ] = None,
    sequences: Annotated[
        bool, typer.Option("--sequences/--no-sequences", help="Make up bases, or write lengths.")
    ] = False,
    contig: Annotated[str, typer.Option(help="Contig in the names of the paths.")] = "chr1",
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Make a random graph with the statistics of the human pangenome, and write it as GFA.

    It has SNPs, indels, nested structural variants, inversions and tandem duplications, and its
    haplotypes share blocks.
    """
    if preset is None and (nodes is None or paths is None):
        raise typer.BadParameter("give -n and -p, or a --preset")
    check_output(output, {"graph": (".gfa",)}, default="graph")
    from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS, iter_simulate_pangenome
    from genoviz.io.graph.gfa_writer import iter_write_gfa

    given = {"n_nodes": nodes, "n_paths": paths, "n_steps": steps}
    sizes = dict(SIMULATION_PRESETS[preset.value]) if preset else {}
    sizes |= {name: size for name, size in given.items() if size is not None}
    began = time.perf_counter()
    with show_progress() as bar:
        for progress in iter_simulate_pangenome(
            **sizes, seed=seed, sequences=sequences, contig=contig
        ):
            bar.update(progress.stage, progress.n_done, progress.n_total, "")
        graph = progress.graph
        simulated = time.perf_counter()
        for progress in iter_write_gfa(graph, output):
            bar.update("Writing", progress.n_done, progress.n_total, "")
    written = time.perf_counter()
    found, words = describe_graph(graph)
    results = {
        "graph": found,
        "files": [str(output)],
        "seconds": simulated - began,
        "seconds_writing": written - simulated,
    }
    print_results(results, [words, f"wrote {name_of_output(output)}"], as_json=as_json)
