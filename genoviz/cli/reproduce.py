"""``genoviz reproduce``: figures and tables of the papers, from a run on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from genoviz.cli.common_options import (
    BackendName,
    BackendOption,
    JsonOption,
    SeedOption,
    with_examples,
)
from genoviz.cli.output_kinds import TABLE, check_output
from genoviz.cli.results import name_of_output, print_notes, print_results, show_progress


@with_examples(
    "genoviz reproduce",
    "genoviz reproduce layout-sampled --small -o sampled.svg",
    "genoviz reproduce layout-stress --graph drb1.gfa -o stress.png",
    "genoviz reproduce interval-exome -o exome.tsv",
    no_args_is_help=False,
)
def reproduce(
    figure: Annotated[
        str | None,
        typer.Argument(metavar="FIGURE", help="Name of the figure; without it, list all figures."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Output file: .png, .svg, .pdf, .html, or .tsv for the numbers.",
            show_default="the numbers on standard output",
        ),
    ] = None,
    small: Annotated[
        bool,
        typer.Option("--small", help="Use small sizes, which take seconds instead of minutes."),
    ] = False,
    graph: Annotated[
        Path | None,
        typer.Option(
            help="Graph for figures about layouts (layout-...).",
            show_default="simulated ones",
        ),
    ] = None,
    seed: SeedOption = 0,
    backend: BackendOption = BackendName.auto,
    as_json: JsonOption = False,
) -> None:
    """Recompute a figure or a table of the papers on this machine.

    Measurements are made now; values printed in the papers are shown next to them in grey. With
    --backend auto, the CPU is measured, and the GPU if there is one.
    """
    from genoviz.analyses.reproduce.figures import (
        FIGURES,
        check_takes_graph,
        find_figure,
        iter_reproduce,
    )

    if figure is None:
        rows = [{"name": e.name, "shows": e.shows, "source": e.source} for e in FIGURES]
        width = max(len(row["name"]) for row in rows)
        sentences = [f"{row['name']:{width}}  {row['shows']} ({row['source']})" for row in rows]
        print_results({"figures": rows}, sentences, as_json=as_json)
        return
    entry = find_figure(figure)
    if graph is not None:
        check_takes_graph(entry)
    writes = {"figure": (".png", ".svg", ".pdf", ".html"), "table": TABLE}
    kind = check_output(output, writes, default="table", binary=tuple(writes))
    from genoviz.cli.graph.reading import read_graph

    with show_progress() as bar:
        given = None if graph is None else read_graph(graph, bar, cache=True)
        for progress in iter_reproduce(
            figure, small=small, graph=given, seed=seed, backend=backend.value
        ):
            bar.update(progress.what, progress.fraction, 1.0, "")
    found = progress.result
    lines = found.lines
    results = {"figure": figure, "caption": found.caption, "rows": found.rows, "files": []}
    print_notes(found.caption)
    if output is None:
        print_results(results, lines, as_json=as_json)
        return
    from genoviz.analyses.figures import track_figure_bytes
    from genoviz.io.files.replace_file import replace_file

    content = "\n".join([f"# {found.caption}", *lines, ""]).encode()
    if kind == "figure":
        content = track_figure_bytes(found.draw(), output.suffix.lower())
    with replace_file(output) as file:
        file.write(content)
    results["files"] = [str(output)]
    print_results(results, [f"wrote {name_of_output(output)}"], as_json=as_json)
