"""Data to try things with: ``genoviz samples`` by name, and graphs of ``genoviz simulate``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    MAX_COUNT,
    JsonOption,
    SeedOption,
    examples,
    option,
    with_examples,
)
from genoviz.cli.output_kinds import check_output
from genoviz.cli.results import (
    ProgressBar,
    describe_graph,
    name_of_output,
    print_results,
    quantity,
    refuse_standard_output,
    show_progress,
)

if TYPE_CHECKING:
    from genoviz.model import PangenomeGraph

EXAMPLES = examples(
    "genoviz samples",
    "genoviz samples get drb1",
    "genoviz layout $(genoviz samples get drb1) -o drb1.lay",
)

samples = typer.Typer(
    help="List sample files, or download one.",
    epilog=EXAMPLES,
    rich_markup_mode="rich",
    add_completion=False,
)


@samples.callback(invoke_without_command=True)
def list_all(context: typer.Context, as_json: JsonOption = False) -> None:
    """List sample files, or download one."""
    if context.invoked_subcommand is not None:
        return
    from genoviz.samples import list_samples, samples_folder

    folder = samples_folder()
    rows: list[dict[str, Any]] = []
    for sample in list_samples():
        path = folder / sample.file_name
        is_here = not sample.is_public or path.exists()
        fields = ("name", "title", "kind", "n_bytes", "sha256", "url", "source", "licence")
        rows.append({name: getattr(sample, name) for name in fields} | {"is_here": is_here})
    results = {"samples": rows, "folder": str(folder)}
    width = max(len(row["name"]) for row in rows)
    sentences = [
        f"{row['name']:{width}}  {quantity(row['n_bytes'], 'B'):>8}  "
        f"{'here' if row['is_here'] else 'to fetch':8}  {row['title']} ({row['source']})"
        for row in rows
    ]
    sentences.append(f"Fetched files are kept in {folder}")
    print_results(results, sentences, as_json=as_json)


@samples.command("get", epilog=EXAMPLES, no_args_is_help=True)
def get(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME", help="Names of samples in the list.")
    ],
    base_url: Annotated[
        str | None,
        option(
            "URL of a mirror that serves the files by name.", "--url", envvar="GENOVIZ_SAMPLES_URL"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Fetch samples, and print where each file is."""
    from genoviz.samples import find_sample, iter_get_sample

    found: dict[str, str] = {}
    for name in names:
        find_sample(name)
    for name in names:
        with show_progress() as bar:
            for progress in iter_get_sample(name, base_url=base_url):
                bar.update(f"Fetching {name}", progress.n_bytes_done, progress.n_bytes_total, "B")
        found[name] = str(progress.path)
    print_results({"files": found}, found.values(), as_json=as_json)


class Preset(StrEnum):
    """Sizes of graphs by name."""

    small = "small"
    million = "million"
    mhc = "mhc"
    chr20 = "chr20"
    chr1 = "chr1"


class Genome(StrEnum):
    """Whole genomes by name."""

    hprc_v10_pggb = "hprc-v1.0-pggb"
    hprc_v11_mc = "hprc-v1.1-mc"
    hprc_v2_mc = "hprc-v2-mc"


@with_examples(
    "genoviz simulate -n 100000 -p 40 -o graph.gfa.gz",
    "genoviz simulate --preset mhc -o mhc.gfa --seed 7",
    "genoviz simulate -n 5000 -p 12 --sequences -o small.gfa",
    "genoviz simulate --genome hprc-v1.1-mc --scale 0.001 -o genome",
)
def simulate(
    output: Annotated[
        Path,
        option(
            "Output graph: .gfa or .gfa.gz; with --genome, a folder.",
            "-o",
            "--output",
        ),
    ],
    nodes: Annotated[
        int | None, option("Number of nodes.", "-n", "--nodes", within=(1, MAX_COUNT))
    ] = None,
    paths: Annotated[
        int | None, option("Number of paths.", "-p", "--paths", within=(1, MAX_COUNT))
    ] = None,
    steps: Annotated[
        int | None,
        option(
            "Number of steps of all paths, within 5 %.",
            within=(1, MAX_COUNT),
            show_default="by the paths",
        ),
    ] = None,
    preset: Annotated[
        Preset | None, option("Sizes of a known graph; chr1 has 1.1e7 nodes and 6e8 steps.")
    ] = None,
    genome: Annotated[
        Genome | None,
        option(
            "All 24 chromosomes with the sizes of a Human Pangenome Reference Consortium "
            "graph, one file each.",
        ),
    ] = None,
    scale: Annotated[
        float | None,
        option(
            "Fraction of the nodes and steps of a --genome.", within=(1e-9, 1), show_default="1"
        ),
    ] = None,
    sequences: Annotated[
        bool, option("Write random bases, or only lengths.", "--sequences/--no-sequences")
    ] = False,
    contig: Annotated[str | None, option("Contig name in path names.", show_default="chr1")] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Make a random graph with the statistics of the human pangenome, and write it as GFA.

    The graph has SNPs, indels, nested structural variants, inversions and tandem duplications, and
    its haplotypes share blocks. --genome makes one graph per chromosome; the
    published numbers of nodes and steps are divided among them by length in T2T-CHM13.
    """
    given = {"n_nodes": nodes, "n_paths": paths, "n_steps": steps}
    given = {name: size for name, size in given.items() if size is not None}
    if genome is not None:
        if given or preset is not None or contig is not None:
            raise typer.BadParameter(
                "--genome has the sizes and contigs of its chromosomes; leave out -n, -p, --steps, "
                "--preset and --contig"
            )
        refuse_standard_output("-o", output, "a genome is a folder of files")
        _simulate_genome(genome, 1.0 if scale is None else scale, output, sequences, seed, as_json)
        return
    if scale is not None:
        raise typer.BadParameter("--scale needs a --genome")
    if preset is None and (nodes is None or paths is None):
        raise typer.BadParameter("give -n and -p, a --preset or a --genome")
    check_output(output, {"graph": (".gfa",)}, default="graph")
    from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS

    sizes = dict(SIMULATION_PRESETS[preset.value]) if preset else {}
    with show_progress() as bar:
        graph, seconds = _simulate(
            sizes | given, {"seed": seed, "sequences": sequences, "contig": contig or "chr1"},
            output, bar,
        )  # fmt: skip
    found, words = describe_graph(graph)
    results = {"graph": found, "files": [str(output)], **seconds}
    print_results(results, [words, f"wrote {name_of_output(output)}"], as_json=as_json)


def _simulate(
    sizes: Mapping[str, int], options: Mapping[str, Any], output: Path, bar: ProgressBar
) -> tuple[PangenomeGraph, dict[str, float]]:
    """Make and write a graph; return it, and how long both took."""
    from genoviz.analyses.simulation.graphs import iter_simulate_pangenome
    from genoviz.io.graph.gfa_writer import iter_write_gfa

    began = time.perf_counter()
    for progress in iter_simulate_pangenome(**sizes, **options):
        bar.update(progress.stage, progress.n_done, progress.n_total, "")
    graph = progress.graph
    simulated = time.perf_counter()
    for progress in iter_write_gfa(graph, output):
        bar.update("Writing", progress.n_done, progress.n_total, "")
    seconds = {"seconds": simulated - began, "seconds_writing": time.perf_counter() - simulated}
    return graph, seconds


def _simulate_genome(
    genome: Genome, scale: float, folder: Path, sequences: bool, seed: int, as_json: bool
) -> None:
    """Write the graph of each chromosome to a folder, one after the other."""
    from genoviz.analyses.simulation.genomes import iter_chromosome_sizes
    from genoviz.io.files.replace_file import make_folder

    make_folder(folder)
    chromosomes = list(iter_chromosome_sizes(genome.value, scale=scale, seed=seed))
    results: dict[str, Any] = {"graphs": {}, "files": []}
    sentences = []
    with show_progress() as bar:
        for sizes in chromosomes:
            output = folder / f"{sizes.name}.gfa.gz"
            graph, seconds = _simulate(
                {"n_nodes": sizes.n_nodes, "n_paths": sizes.n_paths, "n_steps": sizes.n_steps},
                {"seed": sizes.seed, "sequences": sequences, "contig": sizes.name},
                output,
                bar,
            )
            found, words = describe_graph(graph)
            results["graphs"][sizes.name] = found | seconds
            results["files"].append(str(output))
            sentences.append(f"wrote {output}: {words}")
    print_results(results, sentences, as_json=as_json)
