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

By = Annotated[GroupBy, option("What is compared: paths, or groups of them by name.", "--by")]
Table = Annotated[
    Path | None,
    option("Table to write: .tsv or .tsv.gz.", "-o", "--output", show_default="standard output"),
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
    """Compare each two paths or groups by the nodes and bp that they share, as odgi similarity.

    A node counts once, however often it is visited. Jaccard is what both have by what either has.
    """
    from genoviz.analyses.graph.query.sharing import path_similarity

    _, presence = _read(graph, by, output, cache=cache)
    found = path_similarity(presence)
    columns = ("shared_nodes", "jaccard_nodes", "shared_bp", "jaccard_bp")
    matrices = [getattr(found, name) for name in columns]
    rows = (
        (a, b, *(f"{matrix[i, j]:.10g}" for matrix in matrices))
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
        Path, option("File to write: .png, .svg, .pdf or .html; - writes PNG.", "-o", "--output")
    ],
    by: By = GroupBy.path,
    shade: Annotated[
        Shade,
        option(
            "What cells show: what is visited, how often, on which strand, or where on its path."
        ),
    ] = Shade.presence,
    order: Annotated[
        RowOrder, option("Of the rows; the similar ones side by side.")
    ] = RowOrder.file,
    start: Annotated[int, option("First base of the nodes, 0-based.", within=(0, MAX_COUNT))] = 0,
    end: Annotated[
        int | None,
        option("Behind the last one, bp.", within=(1, MAX_COUNT), show_default="all nodes"),
    ] = None,
    width: Annotated[int, option("Pixels on a screen.", within=(300, 20_000))] = 1200,
    row_height: Annotated[
        float | None,
        option("Of a row, pixels on a screen.", within=(0.5, 200), show_default="up to 14"),
    ] = None,
    light: Annotated[bool, option("On white ground.", "--light")] = False,
    title: Annotated[str, option("Above the picture.")] = "",
    cache: CacheOption = True,
) -> None:
    """Draw which path or group visits which nodes: a row for each, as odgi viz.

    The nodes lie end to end in the order of the file, which a sorted graph has from left to right.
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
    """Write which nodes each path or group visits: a row for each node, 1 for presence."""
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
    counted: Annotated[Counted, option("What is counted.", "--count")] = Counted.bp,
    orders: Annotated[
        int, option("Orders to draw for median, 5 % and 95 %.", within=(0, MAX_COUNT))
    ] = 100,
    seed: SeedOption = 0,
    output: Table = None,
    cache: CacheOption = True,
) -> None:
    """Write how the pangenome grows, and its core shrinks, with each path or group.

    Expected and core are exact means over all choices of groups (hypergeometric, as Panacus has
    them); median, low and high are of drawn orders.
    """
    from genoviz.analyses.graph.query.sharing import pangenome_growth

    _, presence = _read(graph, by, output, cache=cache)
    found = pangenome_growth(presence, counted=counted.value, n_orders=orders, seed=seed)
    columns = ("expected", "core", "median", "low", "high")
    values = [getattr(found, name).tolist() for name in columns]
    rows = (
        (str(k + 1), *("." if value != value else f"{value:.12g}" for value in row))
        for k, row in enumerate(zip(*values, strict=True))
    )
    _write(("#n_groups", *columns), rows, output)


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
