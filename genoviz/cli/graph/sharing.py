"""``genoviz similarity``, ``matrix``, ``presence`` and ``growth``: what paths and samples share."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from genoviz.cli.common_options import (
    MAX_COUNT,
    CacheOption,
    GraphArgument,
    SeedOption,
    option,
    with_examples,
)
from genoviz.cli.graph.reading import GroupBy, read_graph
from genoviz.cli.output_kinds import check_output
from genoviz.cli.results import name_of_output, print_results, show_progress

if TYPE_CHECKING:
    from genoviz.analyses.graph.query.sharing import NodePresence
    from genoviz.model import PangenomeGraph

By = Annotated[GroupBy, option("Compare paths, or groups of paths by name.", "--by")]
Table = Annotated[
    Path | None,
    option("Output table: .tsv or .tsv.gz.", "-o", "--output", show_default="standard output"),
]


class Shade(StrEnum):
    """What the cells of a picture of rows show."""

    presence = "presence"
    depth = "depth"
    strand = "strand"
    position = "position"


class RowOrder(StrEnum):
    """In which order the rows of a picture stand."""

    file = "file"
    name = "name"
    similarity = "similarity"


class Counted(StrEnum):
    """What a pangenome's size is counted in."""

    bp = "bp"
    nodes = "nodes"


@with_examples(
    "genoviz similarity graph.gfa.gz --by sample > similarity.tsv",
    "genoviz similarity graph.gfa.gz -o similarity.tsv.gz",
)
def similarity(
    graph: GraphArgument, by: By = GroupBy.path, output: Table = None, cache: CacheOption = True
) -> None:
    """Compare all pairs of paths or groups by shared nodes and bp, like odgi similarity.

    Each node counts once, even if it is visited several times. The Jaccard index is the size of the
    intersection divided by the size of the union.
    """
    from genoviz.analyses.graph.query.sharing import path_similarity

    _, presence = _read(graph, by, output, cache=cache)
    found = path_similarity(presence)
    columns = ("shared_nodes", "jaccard_nodes", "shared_bp", "jaccard_bp")
    matrices = [getattr(found, name) for name in columns]
    rows = (
        (a, b, *(_cell(matrix[i, j].item()) for matrix in matrices))
        for i, a in enumerate(found.names)
        for j, b in enumerate(found.names)
    )
    _write(("#a", "b", *columns), rows, output)


@with_examples(
    "genoviz matrix graph.gfa.gz -o matrix.png",
    "genoviz matrix graph.gfa.gz -o depth.svg --by sample --shade depth --order similarity",
)
def matrix(
    graph: GraphArgument,
    output: Annotated[
        Path, option("Output file: .png, .svg, .pdf or .html; - writes PNG.", "-o", "--output")
    ],
    by: By = GroupBy.path,
    shade: Annotated[
        Shade,
        option("Values of cells: presence, copy number, strand, or position on the path."),
    ] = Shade.presence,
    order: Annotated[
        RowOrder, option("Order of rows; similarity places similar rows next to each other.")
    ] = RowOrder.file,
    start: Annotated[
        int, option("First base along the nodes, 0-based.", within=(0, MAX_COUNT))
    ] = 0,
    end: Annotated[
        int | None,
        option(
            "End of the range along the nodes, in bp (exclusive).",
            within=(1, MAX_COUNT),
            show_default="all nodes",
        ),
    ] = None,
    width: Annotated[int, option("Width in pixels.", within=(300, 20_000))] = 1200,
    row_height: Annotated[
        float | None,
        option("Height of a row in pixels.", within=(0.5, 200), show_default="up to 14"),
    ] = None,
    light: Annotated[bool, option("Use a white background.", "--light")] = False,
    title: Annotated[str, option("Title.")] = "",
    cache: CacheOption = True,
) -> None:
    """Draw the nodes that each path or group visits, one row each, like odgi viz.

    Nodes are drawn end to end in file order, which for a sorted graph is the order along the
    genome.
    """
    from genoviz.analyses.figures import TRACK_FIGURE_ENDINGS, make_path_figure, track_figure_bytes
    from genoviz.analyses.graph.picture.palettes import DARK, LIGHT
    from genoviz.analyses.graph.query.path_groups import group_paths
    from genoviz.analyses.graph.query.path_rows import find_path_rows
    from genoviz.analyses.graph.query.sharing import order_groups
    from genoviz.io.files.replace_file import replace_file

    endings = {ending: (ending,) for ending in TRACK_FIGURE_ENDINGS}
    ending = check_output(output, endings, binary=tuple(endings))
    with show_progress() as bar:
        pangenome = read_graph(graph, bar, cache=cache)
        bar.update("Drawing", 0, None, "")
        groups = order_groups(pangenome, group_paths(pangenome, by.value), order.value)
        rows = find_path_rows(pangenome, by=groups, start=start, end=end, n_bins=width)
        figure = make_path_figure(
            rows,
            shade=shade.value,
            title=title,
            width=width,
            row_height=row_height,
            theme=LIGHT if light else DARK,
        )
        with replace_file(output) as file:
            file.write(track_figure_bytes(figure, ending))
    results = [f"wrote {name_of_output(output)}, {figure.width} x {figure.height}"]
    print_results({}, results, as_json=False)


@with_examples(
    "genoviz presence graph.gfa.gz --by haplotype -o presence.tsv.gz",
    "genoviz presence graph.gfa | head",
)
def presence(
    graph: GraphArgument, by: By = GroupBy.path, output: Table = None, cache: CacheOption = True
) -> None:
    """Write the presence of each node in each path or group: one row per node."""
    pangenome, found = _read(graph, by, output, cache=cache)
    lengths = found.node_lengths
    rows = (
        (pangenome.node_names[first + k], str(lengths[first + k]), *row)
        for first, block in found.iter_blocks()
        for k, row in enumerate(block.astype("i1").astype("U1").tolist())
    )
    _write(("#node", "length", *found.groups.names), rows, output)


@with_examples(
    "genoviz growth graph.gfa.gz --by haplotype > growth.tsv",
    "genoviz growth graph.gfa.gz --by sample --count nodes --orders 1000 --seed 7 -o growth.tsv",
)
def growth(
    graph: GraphArgument,
    by: By = GroupBy.path,
    counted: Annotated[Counted, option("Count nodes or bp.", "--count")] = Counted.bp,
    orders: Annotated[
        int,
        option(
            "Number of random orders for the median and the 5 % and 95 % quantiles.",
            within=(0, MAX_COUNT),
        ),
    ] = 100,
    seed: SeedOption = 0,
    output: Table = None,
    cache: CacheOption = True,
) -> None:
    """Compute growth curves of the pangenome and its core, by number of paths or groups.

    expected and core are exact means over all subsets of groups (hypergeometric, as in Panacus);
    median, low and high are from random orders.
    """
    from genoviz.analyses.graph.query.sharing import pangenome_growth

    _, presence = _read(graph, by, output, cache=cache)
    found = pangenome_growth(presence, counted=counted.value, n_orders=orders, seed=seed)
    columns = ("expected", "core", "median", "low", "high")
    values = [getattr(found, name).tolist() for name in columns]
    rows = (
        (str(k + 1), *(_cell(value, 12) for value in row))
        for k, row in enumerate(zip(*values, strict=True))
    )
    _write(("#n_groups", *columns), rows, output)


def _cell(value: float, n_digits: int = 10) -> str:
    """Return a number for a table, whole ones with all digits; "." if there is none."""
    if value != value:
        return "."
    return str(int(value)) if value == int(value) else f"{value:.{n_digits}g}"


def _read(
    path: Path, by: GroupBy, output: Path | None, *, cache: bool
) -> tuple[PangenomeGraph, NodePresence]:
    from genoviz.analyses.graph.query.sharing import find_presence

    check_output(output, {"tsv": (".tsv",)})
    with show_progress() as bar:
        graph = read_graph(path, bar, cache=cache)
        bar.update("Comparing", 0, None, "")
        return graph, find_presence(graph, by.value)


def _write(header: Iterable[str], rows: Iterable[Iterable[str]], output: Path | None) -> None:
    from genoviz.cli.intervals.options import write_output

    lines = ("\t".join(row) + "\n" for row in chain([header], rows))
    write_output((line.encode() for line in lines), output)
