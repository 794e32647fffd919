"""Guides from files: FASTA, CSV or TSV with or without a header, or one guide per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from genoviz.errors import FileFormatError
from genoviz.io.text.encoding import read_utf8, words_of
from genoviz.io.text.line_errors import show
from genoviz.io.text.tables import find_separator, split_fields

GUIDE_LETTERS = "ACGTURYSWKMBDHVN"
_GUIDE_COLUMNS = (
    "guide", "guides", "guideseq", "guidesequence", "sequence", "seq", "spacer", "spacersequence",
    "spacerseq", "protospacer", "protospacerseq", "protospacersequence", "crrna", "grna", "grnaseq",
    "grnasequence", "sgrna", "sgrnaseq", "sgrnasequence", "target", "targetseq", "targetsequence",
)  # fmt: skip
_NAME_COLUMNS = ("name", "id", "guideid", "guidename", "label", "sgrnaid", "grnaid")
_LIMIT_COLUMNS = ("mismatches", "maxmismatches", "mismatch", "mm")
SHORTEST_GUIDE = 8
LONGEST_LINE = 10_000
"""Shorter nucleotide words may be names or column titles, and match everywhere."""
# Nucleotide words longer than this beside a guide are not names.
_LONGEST_NAME = 16
_LINE_ENDS = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class GuideList:
    """Guides of a file.

    Parameters
    ----------
    names
        Name of each guide; ``guide_1`` and so on by default.
    guides
        Upper-case IUPAC letters, T for U.
    max_mismatches
        Allowed mismatches of each guide, None if the file does not give them.
    notes
        How untitled columns were interpreted, one sentence each.
    """

    names: tuple[str, ...]
    guides: tuple[str, ...]
    max_mismatches: tuple[int | None, ...]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.guides)


def read_guides(path: str | PathLike[str]) -> GuideList:
    """Return the guides of a file, plain or gzipped.

    FASTA begins with ``>``; the first word of a header is the name. Otherwise each line has one
    guide, in columns separated by tabs, commas, semicolons or blanks. A header may name the columns
    (guide, name, mismatches, and common synonyms). Without a header, the guide is the column with
    the most nucleotide letters, a column of integers up to its length is the allowed mismatches (a
    note says so), and the first other column is the name. Blank lines and lines that begin with
    ``#`` are skipped.

    Raises
    ------
    FileFormatError
        If the file cannot be read or has no guide, a line without a header has two guides, or a
        guide has fewer than ``SHORTEST_GUIDE`` letters or a letter that is not a nucleotide; the
        message names the line.
    """
    path = Path(path)
    lines = _LINE_ENDS.split(read_utf8(path))
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    notes: tuple[str, ...] = ()
    if filled and filled[0][1].lstrip().startswith(">"):
        found = _read_fasta(path, filled)
    else:
        found, notes = _read_table(path, filled)
    if not found:
        raise FileFormatError(path, "has no guide, needs one at least")
    names, guides, limits = zip(*found, strict=True)
    names = tuple(name or f"guide_{row}" for row, name in enumerate(names, start=1))
    return GuideList(names, guides, limits, notes)


def _read_fasta(path: Path, lines: Sequence[tuple[int, str]]) -> list[tuple[str, str, None]]:
    records: list[tuple[int, str, list[str]]] = []
    for number, line in lines:
        if line.lstrip().startswith(">"):
            records.append((number, (words_of(line.strip()[1:]) or [""])[0], []))
        else:
            records[-1][2].append(_check_letters(path, number, "".join(line.split())))
    for number, _, letters in records:
        if not letters:
            raise FileFormatError(
                path, "has a name and no guide, needs letters below it", line=number
            )
    return [
        (name, _check_length(path, number, "".join(letters)), None)
        for number, name, letters in records
    ]


def _read_table(
    path: Path, lines: Sequence[tuple[int, str]]
) -> tuple[list[tuple], tuple[str, ...]]:
    if not lines:
        return [], ()
    first = _check_line(path, *lines[0])
    separator = find_separator(first)
    header = _find_header(split_fields(first.lstrip().lstrip("#"), separator))
    rows = [
        (number, split_fields(_check_line(path, number, line), separator))
        for number, line in lines[header is not None :]
        if not line.lstrip().startswith("#")
    ]
    if not rows:
        return [], ()
    guide_at, name_at, limit_at = header or _find_columns(path, rows)
    notes: tuple[str, ...] = ()
    if header is None:
        _refuse_two_guides(path, rows, guide_at)
        if limit_at is not None and any(_cell(row, limit_at) for _, row in rows):
            notes = (f"{path.name} has no header: column {limit_at + 1} is taken for the "
                     "mismatches that each guide may have",)  # fmt: skip
    found = [
        (
            _cell(row, name_at),
            _check_length(path, number, _check_letters(path, number, _cell(row, guide_at))),
            _read_limit(path, number, _cell(row, limit_at)),
        )
        for number, row in rows
    ]
    return found, notes


def _refuse_two_guides(path: Path, rows: list[tuple[int, list[str]]], guide_at: int) -> None:
    for number, row in rows:
        others = " ".join(cell for column, cell in enumerate(row) if column != guide_at)
        for word in re.split(r"[\s,;]+", others):
            if len(word) >= _LONGEST_NAME and _is_guide(word):
                raise FileFormatError(
                    path,
                    f"has two guides, {word[:40]} and {_cell(row, guide_at)[:40]}; needs one a "
                    "line, or a header that names the columns",
                    line=number,
                )


def _check_line(path: Path, number: int, line: str) -> str:
    if len(line) > LONGEST_LINE:
        found = f"has {len(line):,} characters, needs a guide and at most {LONGEST_LINE:,}"
        raise FileFormatError(path, found, line=number)
    return line


def _cell(row: list[str], column: int | None) -> str:
    return row[column] if column is not None and column < len(row) else ""


def _find_header(cells: list[str]) -> tuple[int, int | None, int | None] | None:
    """Return the columns of guides, names and mismatches if the cells are a header."""
    # guide1 and sgRNA_2 are names of guides, not titles.
    words = [
        "" if re.fullmatch(r"[A-Za-z]+[\W_]*\d+", cell) else re.sub("[^a-z]", "", cell.lower())
        for cell in cells
    ]
    guide, name, limit = (
        next((words.index(word) for word in known if word in words), None)
        for known in (_GUIDE_COLUMNS, _NAME_COLUMNS, _LIMIT_COLUMNS)
    )
    has_guide = any(_is_guide(cell) and len(cell) >= SHORTEST_GUIDE for cell in cells)
    return None if guide is None or has_guide else (guide, name, limit)


def _find_columns(
    path: Path, rows: list[tuple[int, list[str]]]
) -> tuple[int, int | None, int | None]:
    """Guess the columns of guides, names and mismatches from their content."""
    n_columns = max(len(row) for _, row in rows)
    columns = [[_cell(row, k) for _, row in rows] for k in range(n_columns)]
    guide = max(range(n_columns), key=lambda k: _n_letters(columns[k]))
    if not any(len(cell) >= SHORTEST_GUIDE for cell in filter(_is_guide, columns[guide])):
        # No column has guides; choose the widest, so that the error explains its problem.
        guide = max(range(n_columns), key=lambda k: max(map(len, columns[k])))
    for (number, _), cell in zip(rows, columns[guide], strict=True):
        _check_length(path, number, _check_letters(path, number, cell))
    others = [k for k in range(n_columns) if k != guide]
    limit = next((k for k in others if _are_limits(columns[k], columns[guide])), None)
    name = next((k for k in others if k != limit), None)
    return guide, name, limit


def _n_letters(cells: list[str]) -> int:
    """Return the number of guide letters in cells."""
    return sum(len(cell) for cell in cells if _is_guide(cell) and len(cell) >= SHORTEST_GUIDE)


def _is_guide(cell: str) -> bool:
    return bool(cell) and set(cell.upper()) <= set(GUIDE_LETTERS)


def _is_limit(cell: str) -> bool:
    return not cell or (cell.isascii() and cell.isdigit() and len(cell) <= 3)


def _are_limits(cells: list[str], guides: list[str]) -> bool:
    """Return whether cells may be mismatch limits; numbers above the guide length are scores."""
    return all(map(_is_limit, cells)) and all(
        int(cell or 0) <= len(guide) for cell, guide in zip(cells, guides, strict=True)
    )


def _read_limit(path: Path, line: int, cell: str) -> int | None:
    if not _is_limit(cell):
        raise FileFormatError(
            path, f"{cell!r} stands for the mismatches, needs a whole number from 0", line=line
        )
    return int(cell) if cell else None


def _check_letters(path: Path, line: int, letters: str) -> str:
    if not letters:
        raise FileFormatError(path, "has no guide, needs its letters", line=line)
    for place, letter in enumerate(letters.upper(), start=1):
        if letter not in GUIDE_LETTERS:
            raise FileFormatError(
                path,
                f"letter {place} of the guide {letters[:40]} is {show(letter.encode())}, needs one "
                f"of {GUIDE_LETTERS}",
                line=line,
            )
    return letters.upper().replace("U", "T")


def _check_length(path: Path, line: int, guide: str) -> str:
    if len(guide) < SHORTEST_GUIDE:
        raise FileFormatError(
            path,
            f"the guide {guide} has {len(guide)} nt, needs {SHORTEST_GUIDE} at least in a file",
            line=line,
        )
    return guide
