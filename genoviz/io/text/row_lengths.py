"""Whether all rows of a table of text have as many fields as the first."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError


def check_row_lengths(path: Path, text: bytes, separator: str, n_before: int = 0) -> None:
    """See that all rows are of one length; quotes are heeded where there are any.

    Parameters
    ----------
    path
        The file, for errors.
    text
        Rows with ``separator`` between their fields; those without any character are passed over.
    n_before
        Lines of the file before this text.

    Raises
    ------
    FileFormatError
        If a row has another number of fields than the first.
    """
    if b'"' in text:
        lines = io.StringIO(text.decode(errors="replace"), newline="")
        rows = csv.reader(lines, delimiter=separator)
        counts = np.array([(len(row), rows.line_num) for row in rows if row])
        n_fields, numbers = counts.T
    else:
        data = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        separators = np.flatnonzero(data == ord(separator))
        n_fields = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
        is_empty = np.diff(ends, prepend=-1) <= 1 + (data[np.maximum(ends - 1, 0)] == ord("\r"))
        numbers = np.flatnonzero(~is_empty) + 1
        n_fields = n_fields[~is_empty]
    wrong = np.flatnonzero(n_fields != n_fields[0])
    if len(wrong):
        row = int(wrong[0])
        raise FileFormatError(
            path,
            f"has {n_fields[row]} fields, and the first row has {n_fields[0]}",
            line=int(numbers[row]) + n_before,
        )
