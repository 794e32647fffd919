"""User tables of nodes: CSV or TSV with values, colours or labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.graph.node_list import find_nodes
from genoviz.io.text.tables import drop_empty_rows, is_number, read_fields, strip_comments
from genoviz.io.text.text_file import read_bytes
from genoviz.model import PangenomeGraph
from genoviz.model.graph.node_table import NodeColumn, NodeTable

if TYPE_CHECKING:
    import polars

MISSING = ("", ".", "NA", "na", "N/A", "nan", "NaN", "null", "None")
_HEX = r"^#([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"
_COLOUR_COLUMNS = re.compile(r"colou?r", re.IGNORECASE)
_VALUE_COLUMNS = re.compile(r"value", re.IGNORECASE)


def read_node_table(path: str | PathLike[str], graph: PangenomeGraph) -> NodeTable:
    """Return the columns of a table whose first column names nodes.

    Fields are separated by tabs if the first line has one, else by commas or semicolons. A header
    is optional, and lines that begin with ``##`` are skipped. A numeric column has values; a column
    of ``#rgb``, ``#rrggbb`` and CSS names has colours, which is required of a column named
    ``colour`` or ``color``; others are texts. Empty fields, ``.``, ``NA`` and ``nan`` are missing.
    The file may be gzipped.

    Raises
    ------
    FileFormatError
        If the file is not such a table, or names no node of the graph.
    """
    path = Path(path)
    frame, lines = _read_fields(path)
    names = frame.to_series(0).fill_null("").str.strip_chars().to_list()
    nodes = find_nodes(graph, names)
    header = _header(frame, nodes)
    if header is not None:
        frame, nodes, names, lines = frame.slice(1), nodes[1:], names[1:], lines[1:]
    if len(nodes) == 0:
        raise FileFormatError(path, "has no rows below its header, needs one for each node")
    notes = _check_nodes(path, nodes, names, lines)
    titles = header or _default_titles(frame.width)
    columns = tuple(
        _column(path, titles[index], frame.to_series(index), nodes, graph, lines)
        for index in range(1, frame.width)
    )
    return NodeTable(path.name, columns, notes)


def _read_fields(path: Path) -> tuple[polars.DataFrame, np.ndarray]:
    """Return all fields as text, and the line number of each row."""
    text, n_comments = strip_comments(read_bytes(path).tobytes())
    start = text.split(b"\n", 1)[0]
    separator = "\t" if b"\t" in start else ";" if start.count(b";") > start.count(b",") else ","
    if separator.encode() not in start:
        found = "has one column, needs at least two: nodes and a value, colour or label"
        raise FileFormatError(path, found, line=n_comments + 1)
    frame = read_fields(path, text, separator, n_comments, if_empty="is not a table: it has no row")
    return drop_empty_rows(frame, n_comments + 1)


def _header(frame: polars.DataFrame, nodes: np.ndarray) -> list[str] | None:
    """Return the column names if the first row is a header: it has no node and no value."""
    if len(nodes) == 0 or nodes[0] >= 0:
        return None
    first = [str(field or "").strip() for field in frame.row(0)]
    if any(_is_value(field) or re.match(_HEX, field) for field in first[1:]):
        return None
    return [field or f"column {index + 1}" for index, field in enumerate(first)]


def _default_titles(n_columns: int) -> list[str]:
    if n_columns == 2:
        return ["node", "Value"]
    return [f"column {index + 1}" for index in range(n_columns)]


def _check_nodes(
    path: Path, nodes: np.ndarray, names: Sequence[str], lines: np.ndarray
) -> tuple[str, ...]:
    unknown = np.flatnonzero(nodes < 0)
    if len(unknown) == 0:
        return ()
    row = int(unknown[0])
    if len(unknown) == len(nodes):
        raise FileFormatError(path, f"the graph has no node {names[row]!r}", line=int(lines[row]))
    return (
        f"{path.name}: {len(unknown):,} of {n_words(len(nodes), 'row')} name nodes that the graph "
        "lacks, "
        f"the first {names[row]!r} in line {lines[row]}.",
    )


def _column(
    path: Path,
    title: str,
    fields: polars.Series,
    nodes: np.ndarray,
    graph: PangenomeGraph,
    lines: np.ndarray,
) -> NodeColumn:
    import polars

    fields = fields.fill_null("").str.strip_chars()
    has_field = ~fields.is_in(list(MISSING))
    is_known = nodes >= 0
    numbers = fields.cast(polars.Float64, strict=False)
    if (numbers.is_not_null() | ~has_field).all() and has_field.any():
        values = np.full(graph.n_nodes, np.nan, np.float32)
        rows = is_known & has_field.to_numpy()
        values[nodes[rows]] = numbers.to_numpy()[rows]
        values[np.isinf(values)] = np.nan
        return NodeColumn(title, "numbers", values)
    _check_kind(path, title, fields, numbers.is_null() & has_field, _VALUE_COLUMNS, lines)
    texts, codes = _encode(fields, has_field)
    colours = [parse_colour_text(text) for text in texts]
    is_colour = None not in colours and len(colours) > 0
    if not is_colour and _COLOUR_COLUMNS.fullmatch(title):
        wrong = {text for text, colour in zip(texts, colours, strict=True) if colour is None}
        row = int(fields.is_in(list(wrong)).arg_max())
        found = f"{fields[row]!r} is not a colour, needs #rrggbb or a CSS name"
        raise FileFormatError(path, found, line=int(lines[row]))
    placed = np.full(graph.n_nodes, -1, np.int32)
    rows = is_known & (codes >= 0)
    placed[nodes[rows]] = codes[rows]
    kind = "colours" if is_colour else "texts"
    return NodeColumn(title, kind, placed, tuple(colours) if is_colour else tuple(texts))


def _check_kind(
    path: Path,
    title: str,
    fields: polars.Series,
    is_wrong: polars.Series,
    columns: re.Pattern,
    lines: np.ndarray,
) -> None:
    """Reject texts in a numeric column."""
    n_wrong = int(is_wrong.sum())
    if columns.fullmatch(title) and 0 < n_wrong < len(fields) / 2:
        row = int(is_wrong.arg_max())
        raise FileFormatError(path, f"{fields[row]!r} is not a number", line=int(lines[row]))


def _encode(fields: polars.Series, has_field: polars.Series) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts in order, and the index of each field among them, or -1."""
    import polars

    texts = fields.filter(has_field).unique(maintain_order=True)
    places = {text: place for place, text in enumerate(texts.to_list())}
    codes = fields.replace_strict(
        list(places), list(places.values()), default=-1, return_dtype=polars.Int64
    )
    return list(places), codes.to_numpy()


def parse_colour_text(text: str) -> str | None:
    """Return a hexadecimal or CSS colour as ``#rrggbb``, or None if it is neither.

    Examples
    --------
    >>> parse_colour_text("#F00"), parse_colour_text("SteelBlue"), parse_colour_text("gene")
    ('#ff0000', '#4682b4', None)
    """
    if re.match(_HEX, text):
        digits = text[1:].lower()
        return "#" + (digits if len(digits) == 6 else "".join(2 * digit for digit in digits))
    from PIL.ImageColor import colormap

    named = colormap.get(text.lower())
    return named.lower() if isinstance(named, str) else None


def _is_value(text: str) -> bool:
    return is_number(text) and text not in MISSING
