"""Layouts as tab-separated text, in both dialects of odgi.

``odgi layout -T`` writes ``idx X Y component`` and groups the rows by component, ``odgi draw -T``
writes ``idx X Y`` in order. There is one row for each node end: ``idx`` is ``2 i`` for the start of
node ``i`` and ``2 i + 1`` for its end.
"""

from __future__ import annotations

import gzip
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.file_bytes import read_bytes
from genoviz.io.files.replace_file import replace_file
from genoviz.io.graph import layout_tsv_text
from genoviz.model import GraphLayout

HEADER = b"idx\tX\tY"
MAX_LINE = 1000
_ROWS_PER_WRITE = 1 << 18
_INTEGER_LIMITS = {"idx": 2**32, "component": 2**31}


def read_layout_tsv(path: str | PathLike[str]) -> GraphLayout:
    """Return the layout of an odgi TSV file, plain or gzipped.

    Rows may come in any order. The components are kept when the file has them.

    Raises
    ------
    FileFormatError
        If the header, a row, or the set of ``idx`` is not as it must be.
    """
    path = Path(path)
    text = read_bytes(path)
    start, has_components = _read_header(path, text)
    n_rows = layout_tsv_text.count_rows(text, start)
    indices = np.empty(n_rows, np.int64)
    points = np.empty((n_rows, 2), np.float64)
    components = np.empty(n_rows, np.int32)
    row = 0
    while True:
        start, row = layout_tsv_text.parse_rows(
            text, start, row, has_components, indices, points, components
        )
        if start == len(text):
            break
        line = bytes(text[start : start + MAX_LINE]).split(b"\n")[0]
        if line in (b"", b"\r") and row == n_rows - 1:
            break
        fields = _parse_row(path, line.rstrip(b"\r"), row + 2, has_components)
        indices[row], points[row, 0], points[row, 1], components[row] = fields
        start = min(start + len(line) + 1, len(text))
        row += 1
    order = _order_points(path, indices[:row])
    coordinates = np.empty((row, 2), np.float64)
    coordinates[order] = points[:row]
    if not has_components:
        return GraphLayout(coordinates.reshape(-1, 2, 2))
    return GraphLayout(
        coordinates.reshape(-1, 2, 2), _node_components(path, order, components[:row])
    )


def write_layout_tsv(layout: GraphLayout, path: str | PathLike[str]) -> None:
    """Write a layout as TSV, gzipped when the name ends in ``.gz``.

    Rows are sorted by ``idx``; there is a column of components when the layout has them. Numbers
    have the digits that they need to be read back as the same doubles.

    Raises
    ------
    ParameterError
        If a coordinate is not finite.
    """
    points = layout.points
    if not np.isfinite(points).all():
        node = int(np.argmin(np.isfinite(points).all(axis=1))) // 2
        raise ParameterError(f"node {node:,} has a coordinate that is not finite")
    with replace_file(path) as raw:
        if Path(path).suffix == ".gz":
            with gzip.GzipFile("", "wb", 4, raw, mtime=0) as file:
                _write_rows(file, points, layout.components)
        else:
            _write_rows(raw, points, layout.components)


def _write_rows(file: BinaryIO, points: np.ndarray, node_components: np.ndarray | None) -> None:
    """Write the header and all rows; ``node_components`` are those of nodes, not of points."""
    has_components = node_components is not None
    components = np.repeat(node_components if has_components else np.empty(0, np.int32), 2)
    file.write(HEADER + (b"\tcomponent\n" if has_components else b"\n"))
    n_rows_per_write = min(len(points), _ROWS_PER_WRITE)
    text = np.empty(n_rows_per_write * layout_tsv_text.MAX_ROW_BYTES, np.uint8)
    row = 0
    while row < len(points):
        last_row = min(row + n_rows_per_write, len(points))
        row, n_bytes = layout_tsv_text.format_rows(
            points, components, has_components, row, last_row, text
        )
        file.write(text[:n_bytes].data)
        if row < last_row:
            x, y = points[row].tolist()
            component = f"\t{components[row]}" if has_components else ""
            file.write(f"{row}\t{x!r}\t{y!r}{component}\n".encode())
            row += 1


def _read_header(path: Path, text: np.ndarray) -> tuple[int, bool]:
    """Return where the second line starts, and whether there is a column of components."""
    line = bytes(text[:MAX_LINE]).split(b"\n")[0]
    if line.rstrip() == HEADER:
        return min(len(line) + 1, len(text)), False
    if line.rstrip() == HEADER + b"\tcomponent":
        return min(len(line) + 1, len(text)), True
    raise FileFormatError(
        path, "the header is not 'idx X Y' or 'idx X Y component', separated by tabs", line=1
    )


def _parse_row(
    path: Path, row: bytes, line: int, has_components: bool
) -> tuple[int, float, float, int]:
    """Return the fields of one row, or say what is wrong with it."""
    fields = row.decode(errors="replace").split("\t")
    columns = ("idx", "X", "Y", "component") if has_components else ("idx", "X", "Y")
    if not row:
        raise FileFormatError(path, "is empty, needs a row for a node end", line=line)
    if len(row) == MAX_LINE:
        raise FileFormatError(path, f"is longer than {MAX_LINE - 1} bytes", line=line)
    if len(fields) != len(columns):
        needs = f"{len(columns)} ({', '.join(columns)})"
        raise FileFormatError(path, f"has {len(fields)} columns, needs {needs}", line=line)
    values: list[float] = []
    for name, field in zip(columns, fields, strict=True):
        limit = _INTEGER_LIMITS.get(name)
        value = _parse_number(field, float if limit is None else int)
        if value is None or (limit is not None and not 0 <= value < limit):
            needs = "a finite number" if limit is None else f"an integer from 0 to {limit - 1}"
            raise FileFormatError(path, f"{name} is {field[:40]!r}, needs {needs}", line=line)
        values.append(value)
    return (*values, 0)[:4]


def _parse_number(field: str, kind: type) -> float | None:
    """Return a finite number, or None."""
    try:
        value = kind(field.replace("_", "?"))
    except ValueError:
        return None
    return value if np.isfinite(value) else None


def _order_points(path: Path, indices: np.ndarray) -> np.ndarray:
    """Return ``indices`` after checking that they are all of 0 to n - 1."""
    n_points = len(indices)
    counts = np.bincount(indices[indices < n_points], minlength=n_points)
    if (counts > 1).any():
        index = int(np.argmax(counts > 1))
        first, second = np.flatnonzero(indices == index)[:2].tolist()
        raise FileFormatError(
            path, f"idx {index} was already given in line {first + 2}", line=second + 2
        )
    if (counts == 0).any():
        index = int(np.argmax(counts == 0))
        raise FileFormatError(
            path, f"idx {index} is missing, needs each of 0 to {n_points - 1} in {n_points:,} rows"
        )
    if n_points % 2:
        raise FileFormatError(
            path, f"has {n_points:,} rows, needs two for each node; the last is missing"
        )
    return indices


def _node_components(path: Path, order: np.ndarray, components: np.ndarray) -> np.ndarray:
    """Return the component of each node; int32, shape (n_nodes,)."""
    by_point = np.empty_like(components)
    by_point[order] = components
    differs = by_point[0::2] != by_point[1::2]
    if differs.any():
        node = int(np.argmax(differs))
        row = int(np.flatnonzero(order == 2 * node + 1)[0])
        raise FileFormatError(
            path, f"the two ends of node {node} are in different components", line=row + 2
        )
    return by_point[0::2].copy()
