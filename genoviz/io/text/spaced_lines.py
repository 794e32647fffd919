"""Lines of blank-separated fields, such as .bim and .fam files, as columns of arrays.

The loops that find and parse fields in the bytes of a text are at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
from numba import njit

from genoviz.errors import FileFormatError
from genoviz.io.text.encoding import explain_utf8

MAX_FIXED_BYTES = 1 << 30
"""Columns that need more than this as fixed-width text get texts of variable length."""

_NEWLINE, _RETURN, _SPACE, _TAB = 10, 13, 32, 9
_MINUS, _PLUS, _ZERO, _POINT = 45, 43, 48, 46
_MAX_DIGITS = 18
_POWERS = 10.0 ** np.arange(_MAX_DIGITS + 1)


@dataclass(frozen=True, eq=False)
class SpacedLines:
    """The places of the fields of a text, one row for each line that is not blank.

    Parameters
    ----------
    path
        The file, for errors.
    data
        uint8, shape (n_bytes,): its text.
    starts
        int64, shape (n_rows, n_fields): where each field begins.
    lengths
        int32, shape (n_rows, n_fields): its bytes.
    n_before
        Lines of the file before this text.
    """

    path: Path
    data: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    n_before: int = 0

    def __len__(self) -> int:
        return len(self.starts)

    def texts(self, column: int) -> np.ndarray:
        """Return a column as texts, shape (n_rows,): NumPy's fixed-width str.

        If few long texts among many would take more than 1 GiB, it is a ``StringDType``.
        """
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        width = max(int(lengths.max(initial=0)), 1)
        if 4 * width * len(starts) > MAX_FIXED_BYTES:
            return np.array(self._decoded(column), np.dtypes.StringDType())
        letters = np.zeros((len(starts), width), np.uint32)
        if copy_ascii(self.data, starts, lengths, letters):
            return letters.view(f"=U{width}").reshape(-1)
        return np.array(self._decoded(column), np.str_)

    def integers(self, column: int, what: str) -> np.ndarray:
        """Return a column of whole numbers: int64, shape (n_rows,)."""
        numbers = np.empty(len(self), np.int64)
        wrong = parse_integers(self.data, self.starts[:, column], self.lengths[:, column], numbers)
        if wrong >= 0:
            self.refuse(wrong, f"{what} is {self.field(wrong, column)!r}, needs a whole number")
        return numbers

    def numbers(self, column: int, what: str) -> np.ndarray:
        """Return a column of numbers: float64, shape (n_rows,)."""
        values = np.empty(len(self))
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        row = parse_decimals(self.data, starts, lengths, values, 0)
        while row < len(self):
            try:
                values[row] = float(self.field(row, column))
            except ValueError:
                self.refuse(row, f"{what} is {self.field(row, column)!r}, needs a number")
            row = parse_decimals(self.data, starts, lengths, values, row + 1)
        return values

    def categories(self, column: int) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the distinct texts of a column by first use, and their indices, int32 (n_rows,).

        Optimised for columns in which neighbours are mostly equal.
        """
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        changes = np.ones(len(starts), np.bool_)
        find_changes(self.data, starts, lengths, changes)
        first_rows = np.flatnonzero(changes)
        ranks: dict[str, int] = {}
        of_run = np.fromiter(
            (ranks.setdefault(self.field(row, column), len(ranks)) for row in first_rows.tolist()),
            np.int32,
            len(first_rows),
        )
        return tuple(ranks), np.repeat(of_run, np.diff(first_rows, append=len(self)))

    def field(self, row: int, column: int) -> str:
        """Return one field; raises `FileFormatError` if it is not UTF-8."""
        start = self.starts[row, column]
        content = self.data[start : start + self.lengths[row, column]].tobytes()
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            self.refuse(row, explain_utf8(error))

    def refuse(self, row: int, found: str) -> NoReturn:
        """Raise the error for a wrong row."""
        n_here = np.count_nonzero(self.data[: self.starts[row, 0]] == _NEWLINE)
        raise FileFormatError(self.path, found, line=self.n_before + int(n_here) + 1)

    def _decoded(self, column: int) -> list[str]:
        return [self.field(row, column) for row in range(len(self))]


def split_lines(
    path: Path, data: np.ndarray, n_fields: int, names: str, n_before: int = 0
) -> SpacedLines:
    """Return the fields of a text of which every line has ``n_fields``.

    Parameters
    ----------
    path
        The file, for errors.
    data
        uint8, shape (n_bytes,): its text. Fields lie between spaces or tabs.
    n_fields
        Fields of each line.
    names
        The names of the fields, for errors.
    n_before
        Lines of the file before this text.

    Raises
    ------
    FileFormatError
        If a line has another number of fields.
    """
    n_rows = count_lines(data)
    starts = np.empty((n_rows, n_fields), np.int64)
    lengths = np.empty((n_rows, n_fields), np.int32)
    wrong, n_found = find_fields(data, starts, lengths)
    if wrong >= 0:
        line = int(np.count_nonzero(data[:wrong] == _NEWLINE)) + n_before + 1
        found = f"has {n_found} field{'s' * (n_found != 1)}, needs {n_fields}: {names}"
        raise FileFormatError(path, found, line=line)
    return SpacedLines(path, data, starts, lengths, n_before=n_before)


@njit(nogil=True, cache=True)
def count_lines(data):
    """Return the number of lines that are not blank."""
    n_lines = 0
    has_text = False
    for byte in data:
        if byte == _NEWLINE:
            n_lines += has_text
            has_text = False
        elif byte != _SPACE and byte != _TAB and byte != _RETURN:
            has_text = True
    return n_lines + has_text


@njit(nogil=True, cache=True)
def find_fields(data, starts, lengths):
    """Find all fields; return the first line with another number of them, and that number."""
    n_bytes, n_fields = len(data), starts.shape[1]
    row = n_found = at = line_at = 0
    while at <= n_bytes:
        byte = data[at] if at < n_bytes else np.uint8(_NEWLINE)
        if byte == _NEWLINE:
            if n_found != 0 and n_found != n_fields:
                return line_at, n_found
            row += n_found != 0
            n_found = 0
            line_at = at + 1
        elif byte != _SPACE and byte != _TAB and byte != _RETURN:
            start = at
            while at + 1 < n_bytes and data[at + 1] > _SPACE:
                at += 1
            if n_found < n_fields:
                starts[row, n_found] = start
                lengths[row, n_found] = at + 1 - start
            n_found += 1
        at += 1
    return -1, 0


@njit(nogil=True, cache=True)
def copy_ascii(data, starts, lengths, letters):
    """Copy texts as code points; return whether all were ASCII."""
    highest = np.uint8(0)
    for row in range(len(starts)):
        for k in range(lengths[row]):
            byte = data[starts[row] + k]
            highest |= byte
            letters[row, k] = byte
    return highest < 128


@njit(nogil=True, cache=True)
def parse_integers(data, starts, lengths, numbers):
    """Parse integers; return the first row without one, or -1."""
    for row in range(len(starts)):
        start, stop = starts[row], starts[row] + lengths[row]
        is_negative = data[start] == _MINUS
        start += is_negative
        if start == stop or stop - start > _MAX_DIGITS:
            return row
        number = np.int64(0)
        for k in range(start, stop):
            digit = np.int64(data[k]) - _ZERO
            if digit < 0 or digit > 9:
                return row
            number = 10 * number + digit
        numbers[row] = -number if is_negative else number
    return -1


@njit(nogil=True, cache=True)
def parse_decimals(data, starts, lengths, values, first):
    """Parse short decimals from a row on; return the first row that needs Python's parser.

    Up to 15 digits and powers of ten below 10^22 are exact, so the quotient is rounded only once.
    """
    for row in range(first, len(starts)):
        start, stop = starts[row], starts[row] + lengths[row]
        is_negative = data[start] == _MINUS
        start += is_negative
        number = np.int64(0)
        n_digits = n_decimals = 0
        has_point = False
        for k in range(start, stop):
            digit = np.int64(data[k]) - _ZERO
            if 0 <= digit <= 9:
                number = 10 * number + digit
                n_digits += 1
                n_decimals += has_point
                if n_digits > 15:
                    return row
            elif data[k] == _POINT and not has_point:
                has_point = True
            else:
                return row
        if n_digits == 0:
            return row
        value = number / _POWERS[n_decimals]
        values[row] = -value if is_negative else value
    return len(starts)


@njit(nogil=True, cache=True)
def find_changes(data, starts, lengths, changes):
    """Clear those of rows whose field is that of the row before."""
    for row in range(1, len(starts)):
        if lengths[row] == lengths[row - 1]:
            k = 0
            while k < lengths[row] and data[starts[row] + k] == data[starts[row - 1] + k]:
                k += 1
            changes[row] = k < lengths[row]
