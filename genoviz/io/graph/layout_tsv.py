"""Layouts as tab-separated text, in both dialects of odgi.

``odgi layout -T`` writes ``idx X Y component`` and groups the rows by component, ``odgi draw -T``
writes ``idx X Y`` in order. There is one row for each node end: ``idx`` is ``2 i`` for the start of
node ``i`` and ``2 i + 1`` for its end.

Polars reads the rows. It silently skips or misinterprets malformed input (empty lines,
missing fields), so unusual text is reread row by row, which locates the faulty line.
"""

from __future__ import annotations

import gzip
import io
import math
from os import PathLike
from pathlib import Path
from typing import BinaryIO

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.files.replace_file import replace_file
from genoviz.io.text.columns import integer_column, join_columns
from genoviz.io.text.numbers import shortest_column
from genoviz.io.text.text_file import read_bytes
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
        If the header, a row, or the set of ``idx`` is invalid.
    """
    path = Path(path)
    text = read_bytes(path)
    start, columns = _read_header(path, text)
    rows = text[start:].tobytes()
    values = _parse_rows(rows, columns)
    if values is None:
        values = _parse_odd_rows(path, rows, columns)
    order, x, y = _order_points(path, values[0]), values[1], values[2]
    coordinates = np.empty((len(order), 2), np.float64)
    coordinates[order, 0], coordinates[order, 1] = x, y
    components = None
    if len(columns) == 4:
        components = _node_components(path, order, values[3].astype(np.int32))
    return GraphLayout(coordinates.reshape(-1, 2, 2), components)


def write_layout_tsv(layout: GraphLayout, path: str | PathLike[str]) -> None:
    """Write a layout as TSV, gzipped when the name ends in ``.gz``.

    Rows are sorted by ``idx``; there is a component column if the layout has components. Numbers
    have enough digits to be read back as the same doubles.

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


def _write_rows(file: BinaryIO, points: np.ndarray, components: np.ndarray | None) -> None:
    """Write the header and all rows; ``components`` are per node, not per point."""
    file.write(HEADER + (b"\n" if components is None else b"\tcomponent\n"))
    for first in range(0, len(points), _ROWS_PER_WRITE):
        stop = min(first + _ROWS_PER_WRITE, len(points))
        rows = np.arange(first, stop)
        # Integral values are written as integers, as odgi does.
        places = [shortest_column(column, zero="") for column in points[first:stop].T]
        columns = [integer_column(rows), *places]
        if components is not None:
            columns.append(integer_column(components[rows >> 1]))
        file.write(join_columns(columns))


def _read_header(path: Path, text: np.ndarray) -> tuple[int, tuple[str, ...]]:
    """Return where the second line starts, and the names of the columns."""
    line = bytes(text[:MAX_LINE]).split(b"\n")[0]
    for header in (HEADER, HEADER + b"\tcomponent"):
        if line.rstrip() == header:
            return min(len(line) + 1, len(text)), tuple(header.decode().split("\t"))
    raise FileFormatError(
        path, "the header is not 'idx X Y' or 'idx X Y component', separated by tabs", line=1
    )


def _parse_rows(rows: bytes, columns: tuple[str, ...]) -> list[np.ndarray] | None:
    """Return the values of each column; None if Polars may have misread a row."""
    import polars

    n_rows = rows.count(b"\n") + (not rows.endswith(b"\n"))
    kinds = {name: polars.Int64 if name in _INTEGER_LIMITS else polars.Float64 for name in columns}
    try:
        frame = polars.read_csv(
            io.BytesIO(rows), has_header=False, separator="\t", quote_char=None, schema=kinds
        )
    except polars.exceptions.PolarsError:
        return None
    if frame.height != n_rows or any(frame.null_count().row(0)):
        return None
    values = [column.to_numpy() for column in frame]
    for name, column in zip(columns, values, strict=True):
        low, high = column.min(initial=0), column.max(initial=0)
        limit = _INTEGER_LIMITS.get(name)
        if not (np.isfinite([low, high]).all() if limit is None else 0 <= low <= high < limit):
            return None
    return values


def _parse_odd_rows(path: Path, rows: bytes, columns: tuple[str, ...]) -> list[np.ndarray]:
    """Return the values of each column, parsed row by row; raises for the first bad row."""
    lines = rows.split(b"\n")
    for _ in range(2):
        if lines and lines[-1] in (b"", b"\r"):
            lines.pop()
    parsed = [
        _parse_row(path, line.rstrip(b"\r"), number, columns)
        for number, line in enumerate(lines, start=2)
    ]
    kinds = [np.int64 if name in _INTEGER_LIMITS else np.float64 for name in columns]
    by_column = zip(*parsed, strict=True) if parsed else [()] * len(columns)
    return [np.array(values, kind) for values, kind in zip(by_column, kinds, strict=True)]


def _parse_row(path: Path, row: bytes, line: int, columns: tuple[str, ...]) -> list[float]:
    """Return the fields of one row; raises if it is malformed."""
    fields = row[:MAX_LINE].decode(errors="replace").split("\t")
    if not row:
        raise FileFormatError(path, "is empty, needs a row for a node end", line=line)
    if len(row) >= MAX_LINE:
        raise FileFormatError(path, f"is longer than {MAX_LINE - 1} bytes", line=line)
    if len(fields) != len(columns):
        needs = f"{len(columns)} ({', '.join(columns)})"
        raise FileFormatError(
            path, f"has {n_words(len(fields), 'column')}, needs {needs}", line=line
        )
    values: list[float] = []
    for name, field in zip(columns, fields, strict=True):
        limit = _INTEGER_LIMITS.get(name)
        value = _parse_number(field, float if limit is None else int)
        if value is None or (limit is not None and not 0 <= value < limit):
            needs = "a finite number" if limit is None else f"an integer from 0 to {limit - 1}"
            raise FileFormatError(path, f"{name} is {field[:40]!r}, needs {needs}", line=line)
        values.append(value)
    return values


def _parse_number(field: str, kind: type) -> float | None:
    """Return a finite number, or None."""
    try:
        value = kind(field.replace("_", "?"))
    except ValueError:
        return None
    return value if abs(value) < math.inf else None


def _order_points(path: Path, indices: np.ndarray) -> np.ndarray:
    """Return ``indices`` after checking that they are a permutation of 0 to n - 1."""
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
            path,
            f"idx {index} is missing, needs each of 0 to {n_points - 1} in "
            f"{n_words(n_points, 'row')}",
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
