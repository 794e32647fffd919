"""Delimited text tables: comments, fields, and consistency of row lengths."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from genoviz.errors import FileFormatError, n_words
from genoviz.io.text.encoding import check_text, check_utf8, words_of
from genoviz.io.text.text_file import read_bytes

if TYPE_CHECKING:
    import polars

_QUOTED = re.compile(r'"[^"]*"')
_QUOTED_OR_BLANK = re.compile(rb'("[^"\n]*")|[ \t]+')


def check_row_lengths(path: Path, text: bytes, separator: str, n_before: int = 0) -> int:
    """Return the number of fields that all rows have, respecting quotes if there are any.

    It is 0 if there are no rows.

    Parameters
    ----------
    path
        The file, for errors.
    text
        Rows with fields separated by ``separator``; empty rows are skipped.
    n_before
        Number of lines in the file before this text.

    Raises
    ------
    FileFormatError
        If a row differs from the first in its number of fields.
    """
    if b'"' in text:
        lines = io.StringIO(text.decode(errors="replace"), newline="")
        rows = csv.reader(lines, delimiter=separator)
        try:
            counts = [(len(row), rows.line_num) for row in rows if row]
        except csv.Error as error:  # a field of more than 131,072 characters
            found = "has a very long field, perhaps behind a quote that is never closed"
            raise FileFormatError(path, found, line=rows.line_num + n_before) from error
        n_fields, numbers = np.array(counts, np.int64).reshape(-1, 2).T
    else:
        data = np.frombuffer(text if text.endswith(b"\n") else text + b"\n", np.uint8)
        ends = np.flatnonzero(data == ord("\n"))
        separators = np.flatnonzero(data == ord(separator))
        n_fields = np.diff(np.searchsorted(separators, ends), prepend=0) + 1
        is_empty = np.diff(ends, prepend=-1) <= 1 + (data[np.maximum(ends - 1, 0)] == ord("\r"))
        numbers = np.flatnonzero(~is_empty) + 1
        n_fields = n_fields[~is_empty]
    if not len(n_fields):
        return 0
    wrong = np.flatnonzero(n_fields != n_fields[0])
    if len(wrong):
        row = int(wrong[0])
        raise FileFormatError(
            path,
            f"has {n_words(int(n_fields[row]), 'field')}, and the first row has {n_fields[0]}",
            line=int(numbers[row]) + n_before,
        )
    return int(n_fields[0])


def strip_comments(text: bytes) -> tuple[bytes, int]:
    """Return a text without its leading ``##`` and empty lines, and their number."""
    n_comments = 0
    while text.startswith((b"##", b"\n", b"\r\n")):
        text = text.partition(b"\n")[2]
        n_comments += 1
    return text, n_comments


def unify_separator(text: bytes) -> tuple[bytes, str]:
    """Return a text with a single kind of field separator, and that separator."""
    separator = find_separator(text.split(b"\n", 1)[0].decode("utf-8", "replace"))
    if separator is None:
        text = re.sub(rb"(?m)^ +| +(?=\r?$)", b"", text)
        if b'"' in text:
            text = _QUOTED_OR_BLANK.sub(lambda found: found[1] or b"\t", text)
        else:
            text = re.sub(rb"[ \t]+", b"\t", text)
    return text, separator or "\t"


def find_separator(line: str) -> str | None:
    """Return the tab, comma or semicolon between the fields of a line, or None for blanks."""
    bare = _QUOTED.sub("", line) if '"' in line else line
    return next((mark for mark in "\t,;" if mark in bare), None)


def split_fields(line: str, separator: str | None) -> list[str]:
    """Return the fields of one line without blanks around them; quotes protect separators.

    The separator None stands for any blanks.
    """
    if '"' in line:
        is_blank = separator is None
        line = " ".join(words_of(line)) if is_blank else line.strip("\r\n")
        fields = next(csv.reader([line], delimiter=separator or " ", skipinitialspace=True), [])
    else:
        fields = words_of(line) if separator is None else line.split(separator)
    return [field.strip() for field in fields]


def read_fields(
    path: Path, text: bytes, separator: str, n_before: int, *, n_skipped: int = 0, if_empty: str
) -> polars.DataFrame:
    """Return all fields as text, after a number of skipped rows; see `check_row_lengths`.

    Raises
    ------
    FileFormatError
        If it is not a table, rows differ in length, or there are no rows (with the message
        ``if_empty``).
    """
    import polars

    check_utf8(path, text, n_before)
    n_fields = check_row_lengths(path, text, separator, n_before)
    try:
        frame = polars.read_csv(
            io.BytesIO(text),
            has_header=False,
            skip_rows=n_skipped,
            separator=separator,
            infer_schema=False,
        )
    except polars.exceptions.NoDataError:
        raise FileFormatError(path, if_empty) from None
    except polars.exceptions.PolarsError as error:
        raise FileFormatError(path, f"is not a table: {str(error).splitlines()[0]}") from error
    if frame.width != n_fields:  # rows below the first are empty
        raise FileFormatError(path, if_empty)
    return frame


def drop_empty_rows(
    frame: polars.DataFrame, first_line: int
) -> tuple[polars.DataFrame, np.ndarray]:
    """Return the rows with any non-empty field, and the line number of each."""
    import polars

    has_fields = ~frame.select(polars.all_horizontal(polars.all().is_null())).to_series()
    return frame.filter(has_fields), np.flatnonzero(has_fields.to_numpy()) + first_line


def is_number(text: str) -> bool:
    """Return whether Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def read_numbers(path: Path, *, are_finite: bool = True) -> np.ndarray:
    """Return a blank-separated table of numbers: float64, shape (n, m).

    Raises
    ------
    FileFormatError
        If a line has something else, or another number of fields; if one is NaN or infinite,
        unless ``are_finite`` is false.
    """
    check_text(path)
    text = read_bytes(path).tobytes()
    if not text.strip():
        raise FileFormatError(path, "has blank lines only, needs lines of numbers between blanks")
    try:
        found = np.loadtxt(io.BytesIO(text), ndmin=2, comments=None)
    except ValueError as error:
        _refuse_line(path, text)
        raise FileFormatError(path, "needs lines of numbers between blanks") from error
    if not found.size or (are_finite and not np.isfinite(found).all()):
        raise FileFormatError(path, "needs lines of numbers")
    return found


def _refuse_line(path: Path, text: bytes) -> None:
    """Raise an error for the first line that differs from the first in its number of fields."""
    n = None
    for number, line in enumerate(text.decode("utf-8", "replace").splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        n = n or len(words)
        if len(words) != n:
            raise FileFormatError(
                path, f"has {n_words(len(words), 'number')}, others have {n}", line=number
            )
        for word in words:
            try:
                float(word)
            except ValueError:
                found = f"has {word!r}, needs numbers between blanks, without header and names"
                raise FileFormatError(path, found, line=number) from None


def refuse_number(path: Path, row: int, column: int, needed: str) -> NoReturn:
    """Say on which line a number that `read_numbers` has found is not what is needed."""
    lines = read_bytes(path).tobytes().decode("utf-8", "replace").splitlines()
    numbers = [number for number, line in enumerate(lines, start=1) if line.strip()]
    word = lines[numbers[row] - 1].split()[column]
    found = f"column {column + 1} has {word}, needs {needed}"
    raise FileFormatError(path, found, line=numbers[row])
