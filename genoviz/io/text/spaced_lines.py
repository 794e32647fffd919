"""Lines of fields between blanks, such as .bim and .fam files, as columns of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.text import spaced_fields

MAX_FIXED_BYTES = 1 << 30
"""A column that needs more than this as texts of one width gets texts of their own lengths."""

_NEWLINE = 10


@dataclass(frozen=True, eq=False)
class SpacedLines:
    """Where the fields of a text are, one row a line that is not blank.

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

        Where a few long texts among many would take more than 1 GiB it is a ``StringDType``.
        """
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        width = max(int(lengths.max(initial=0)), 1)
        if 4 * width * len(starts) > MAX_FIXED_BYTES:
            return np.array(self._decoded(column), np.dtypes.StringDType())
        letters = np.zeros((len(starts), width), np.uint32)
        if spaced_fields.copy_ascii(self.data, starts, lengths, letters):
            return letters.view(f"=U{width}").reshape(-1)
        return np.array(self._decoded(column), np.str_)

    def integers(self, column: int, what: str) -> np.ndarray:
        """Return a column of whole numbers: int64, shape (n_rows,)."""
        numbers = np.empty(len(self), np.int64)
        wrong = spaced_fields.parse_integers(
            self.data, self.starts[:, column], self.lengths[:, column], numbers
        )
        if wrong >= 0:
            self.refuse(wrong, f"{what} is {self.field(wrong, column)!r}, needs a whole number")
        return numbers

    def numbers(self, column: int, what: str) -> np.ndarray:
        """Return a column of numbers: float64, shape (n_rows,)."""
        values = np.empty(len(self))
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        row = spaced_fields.parse_decimals(self.data, starts, lengths, values, 0)
        while row < len(self):
            try:
                values[row] = float(self.field(row, column))
            except ValueError:
                self.refuse(row, f"{what} is {self.field(row, column)!r}, needs a number")
            row = spaced_fields.parse_decimals(self.data, starts, lengths, values, row + 1)
        return values

    def categories(self, column: int) -> tuple[tuple[str, ...], np.ndarray]:
        """Return the different texts of a column by first use, and int32 (n_rows,): which one.

        Made for columns in which neighbours are mostly the same.
        """
        starts, lengths = self.starts[:, column], self.lengths[:, column]
        first_rows = np.flatnonzero(spaced_fields.find_changes(self.data, starts, lengths))
        ranks: dict[str, int] = {}
        of_run = np.fromiter(
            (ranks.setdefault(self.field(row, column), len(ranks)) for row in first_rows.tolist()),
            np.int32,
            len(first_rows),
        )
        return tuple(ranks), np.repeat(of_run, np.diff(first_rows, append=len(self)))

    def field(self, row: int, column: int) -> str:
        """Return one field."""
        start = self.starts[row, column]
        content = self.data[start : start + self.lengths[row, column]].tobytes()
        return content.decode("utf-8", "replace")

    def refuse(self, row: int, found: str) -> None:
        """Raise the error that a row has something wrong."""
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
        What they are, for errors.
    n_before
        Lines of the file before this text.

    Raises
    ------
    FileFormatError
        If a line has another number of fields.
    """
    n_rows = spaced_fields.count_lines(data)
    starts = np.empty((n_rows, n_fields), np.int64)
    lengths = np.empty((n_rows, n_fields), np.int32)
    wrong, n_found = spaced_fields.find_fields(data, starts, lengths)
    if wrong >= 0:
        line = int(np.count_nonzero(data[:wrong] == _NEWLINE)) + n_before + 1
        found = f"has {n_found} field{'s' * (n_found != 1)}, needs {n_fields}: {names}"
        raise FileFormatError(path, found, line=line)
    return SpacedLines(path, data, starts, lengths, n_before=n_before)
