"""``genoviz draw``: a picture of a layout as PNG, SVG, PDF or HTML."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from genoviz.cli.common_options import (
    BackendName,
    BackendOption,
    CacheOption,
    GraphArgument,
    JsonOption,
    ignores,
    option,
    with_examples,
)
from genoviz.cli.graph.reading import (
    AnnotateBy,
    ColourBy,
    GroupBy,
    Wish,
    make_labels,
    make_marks,
    read_annotations,
    read_drawing,
    read_graph,
    read_table,
    region_box,
)
from genoviz.cli.output_kinds import check_output
from genoviz.cli.results import name_of_output, print_notes, print_results, show_progress
from genoviz.errors import n_words

if TYPE_CHECKING:
    from genoviz.analyses.figures import Figure
    from genoviz.analyses.graph.picture.colouring import ColourChoice
    from genoviz.analyses.graph.picture.drawing import LayoutDrawing
    from genoviz.analyses.graph.query.annotate import PlacedAnnotations
    from genoviz.model import PangenomeGraph
    from genoviz.model.graph.node_table import NodeTable

MAX_PIXELS = 10**6
N_PARTS = 5  # the layout, what colours it, the colours, the figure, its file
ENDINGS = {ending: (ending,) for ending in (".png", ".svg", ".pdf", ".html")}
_OF_GROUPS = (ColourBy.paths, ColourBy.sharing, ColourBy.class_)
_OF_PATHS = (ColourBy.position, *_OF_GROUPS)
_COLOURS, _SHAPE, _FILE = "What is coloured", "What is shown", "The file"


@ignores("without --table", lambda given: not given["table"], "column")
@ignores("without --annotations", lambda given: not given["annotations"], "annotate_by", "labels")
@with_examples(
    "genoviz draw graph.gfa graph.lay -o graph.png",
    "genoviz draw graph.gfa graph.lay -o chrY.png --folded --width 3000 --dpi 300",
    "genoviz draw graph.gfa graph.lay -o c4.svg --annotations genes.bed --light",
    "genoviz draw graph.gfa graph.lay -o c4.pdf --region 'grch38#chr6:31985101-31991058' --light",
    "genoviz draw graph.gfa graph.lay -o core.html --colour-by class --group-by sample",
    "genoviz draw graph.gfa graph.lay -o mine.png --table values.tsv --column coverage",
)
def draw(
    graph: GraphArgument,
    layout: Annotated[
        Path,
        typer.Argument(
            metavar="LAYOUT", help="Layout of the graph: odgi's .lay or TSV, or Bandage's."
        ),
    ],
    output: Annotated[
        Path, option("Output file: .png, .svg, .pdf or .html; - writes PNG.", "-o", "--output")
    ],
    colour_by: Annotated[
        ColourBy | None,
        option(
            "Colour mode of nodes.",
            "--colour-by",
            "--color-by",
            show_default="density, or what --annotations, --table or --path suggest",
            panel=_COLOURS,
        ),
    ] = None,
    path: Annotated[
        list[str] | None,
        option(
            "Path for colouring by position, or path, sample, ... to colour (repeatable).",
            metavar="NAME",
            panel=_COLOURS,
        ),
    ] = None,
    group_by: Annotated[
        GroupBy, option("Groups for the modes paths, sharing and class.", panel=_COLOURS)
    ] = GroupBy.path,
    table: Annotated[
        Path | None,
        option("CSV or TSV table: node, then values, colours or labels.", panel=_COLOURS),
    ] = None,
    column: Annotated[str, option("Column of the table.", panel=_COLOURS)] = "",
    annotations: Annotated[
        Path | None,
        option(
            "Annotations (BED, GFF3 or GTF) on the paths, drawn with labels and colours.",
            panel=_COLOURS,
        ),
    ] = None,
    annotate_by: Annotated[
        AnnotateBy | None,
        option(
            "Colour mode of annotations.",
            show_default="the file's colours, or names",
            panel=_COLOURS,
        ),
    ] = None,
    labels: Annotated[bool, option("Draw the names of annotations.", panel=_COLOURS)] = True,
    light: Annotated[bool, option("Use a white background.", "--light", panel=_COLOURS)] = False,
    region: Annotated[
        str | None,
        option(
            "Draw only this region; 0-based, half-open.", metavar="PATH:START-END", panel=_SHAPE
        ),
    ] = None,
    nodes: Annotated[
        list[str] | None, option("Node to mark (repeatable).", metavar="NAME", panel=_SHAPE)
    ] = None,
    only_paths: Annotated[
        bool, option("Draw only nodes of the given paths.", "--only-paths", panel=_SHAPE)
    ] = False,
    folded: Annotated[
        bool, option("Fold a long layout into rows.", "--folded", panel=_SHAPE)
    ] = False,
    stretched: Annotated[
        bool, option("Stretch the layout to fill the figure.", "--stretched", panel=_SHAPE)
    ] = False,
    width: Annotated[int, option("Width in pixels.", within=(100, MAX_PIXELS), panel=_FILE)] = 1600,
    height: Annotated[
        int | None,
        option(
            "Height in pixels.",
            within=(100, MAX_PIXELS),
            show_default="by the layout's shape",
            panel=_FILE,
        ),
    ] = None,
    dpi: Annotated[
        float, option("Dots per inch; scales texts and lines.", within=(20, 1200), panel=_FILE)
    ] = 144.0,
    line_width: Annotated[
        float | None,
        option(
            "Width of nodes, in pixels at 96 dpi.",
            within=(0.01, 1000),
            show_default="one that fits",
            panel=_FILE,
        ),
    ] = None,
    title: Annotated[str, option("Title.", panel=_FILE)] = "",
    transparent: Annotated[
        bool, option("Use a transparent background.", "--transparent", panel=_FILE)
    ] = False,
    backend: BackendOption = BackendName.auto,
    cache: CacheOption = True,
    as_json: JsonOption = False,
) -> None:
    """Draw a layout as a picture with legend and scale bar.

    SVG and PDF draw up to 100,000 nodes as lines, and HTML (one file in which you can pan, zoom and
    point at nodes) up to 30,000. Larger views are drawn as pixels.
    """
    ending = check_output(output, ENDINGS, binary=tuple(ENDINGS))
    wish = Wish(path or [], region, nodes or [], only_paths, labels)
    began = time.perf_counter()
    with show_progress() as bar:
        from genoviz.analyses.figures import FigureOptions, figure_bytes, make_figure
        from genoviz.analyses.figures.files import MAX_LINES
        from genoviz.analyses.graph.picture.palettes import DARK, LIGHT
        from genoviz.io.files.replace_file import replace_file

        pangenome = read_graph(graph, bar, cache=cache, sequences=colour_by is ColourBy.gc)
        bar.update("Drawing", 0, N_PARTS, "")
        drawing, note = read_drawing(layout, pangenome, wish, group_by, backend)
        bar.update("Drawing", 1, N_PARTS, "")
        placed = read_annotations(annotations, pangenome)
        values = read_table(table, pangenome)
        choice = _choose(colour_by, wish, group_by, column, annotate_by, placed, values)
        bar.update("Drawing", 2, N_PARTS, "")
        colouring = _make_colouring(pangenome, choice, placed, values, drawing)
        bar.update("Drawing", 3, N_PARTS, "")
        figure = make_figure(
            pangenome,
            drawing,
            colouring.on(LIGHT if light else DARK),
            FigureOptions(
                width=width,
                height=height,
                dpi=dpi,
                title=title,
                is_stretched=stretched,
                is_folded=folded,
                is_transparent=transparent,
                max_lines=MAX_LINES[ending],
                line_width=line_width,
            ),
            box=region_box(pangenome, drawing, wish.region),
            marks=make_marks(pangenome, wish),
            labels=make_labels(pangenome, placed) if labels and placed else (),
        )
        bar.update("Drawing", 4, N_PARTS, "")
        with replace_file(output) as file:
            file.write(figure_bytes(figure, ending))
    print_notes(note, *(placed.notes if placed is not None else ()))
    print_notes(*(values.notes if values is not None else ()))
    print_notes(*figure.notes, _note_of_pixels(ending, figure, MAX_LINES[ending]))
    results = {
        "files": [str(output)],
        "width": figure.width,
        "height": figure.height,
        "colour_by": choice.mode,
        "is_lines": figure.lines is not None,
        "seconds": time.perf_counter() - began,
    }
    print_results(results, [_describe(output, ending, figure)], as_json=as_json)


def _choose(
    colour_by: ColourBy | None,
    wish: Wish,
    group_by: GroupBy,
    column: str,
    annotate_by: AnnotateBy | None,
    placed: PlacedAnnotations | None,
    table: NodeTable | None,
) -> ColourChoice:
    from genoviz.analyses.graph.picture.colouring import ColourChoice

    if colour_by is None:
        colour_by = ColourBy.density
        if placed is not None:
            colour_by = ColourBy.annotation
        elif table is not None:
            colour_by = ColourBy.table
        elif wish.paths:
            colour_by = ColourBy.paths
    unused = {
        "--path": bool(wish.paths) and not (colour_by in _OF_PATHS or wish.only_paths),
        "--group-by": group_by is not GroupBy.path
        and not (colour_by in _OF_GROUPS or wish.only_paths),
        "--table": table is not None and colour_by is not ColourBy.table,
        "--annotate-by": annotate_by is not None and colour_by is not ColourBy.annotation,
    }
    wrong = [flag for flag, is_unused in unused.items() if is_unused]
    if wrong:
        raise typer.BadParameter(
            f"{wrong[0]} has no effect with --colour-by {colour_by}; leave it out"
        )
    if colour_by is ColourBy.table and table is None:
        raise typer.BadParameter("--colour-by table needs --table")
    if colour_by is ColourBy.annotation and placed is None:
        raise typer.BadParameter("--colour-by annotation needs --annotations")
    return ColourChoice(
        mode=colour_by.value,
        paths=tuple(wish.paths),
        group_by=group_by.value,
        column=column,
        annotate_by=annotate_by.value if annotate_by else "",
    )


def _make_colouring(
    graph: PangenomeGraph,
    choice: ColourChoice,
    placed: PlacedAnnotations | None,
    table: NodeTable | None,
    drawing: LayoutDrawing,
) -> Any:
    from genoviz.analyses.graph.picture.colouring import make_colouring
    from genoviz.backend import to_host
    from genoviz.model import GraphLayout

    layout = None
    if choice.mode == "stress":
        layout = GraphLayout(to_host(drawing.coordinates).copy())
    return make_colouring(graph, choice, annotations=placed, table=table, layout=layout)


def _note_of_pixels(ending: str, figure: Figure, max_lines: int) -> str:
    if ending == ".png" or figure.lines is not None:
        return ""
    return (
        f"The view has more than {n_words(max_lines, 'node')}, so the graph is pixels in this "
        "file; a "
        "--region of it can be lines."
    )


def _describe(output: Path, ending: str, figure: Figure) -> str:
    how = "as lines" if figure.lines is not None else "in pixels"
    if ending == ".png":
        how = f"{figure.dpi:g} dpi"
    return f"wrote {name_of_output(output)}, {figure.width} x {figure.height}, {how}"
