"""Input files of Cas-OFFinder: a genome, a pattern, and guides with their mismatch limits.

References
----------
Bae et al., Cas-OFFinder, Bioinformatics 30 (2014), doi:10.1093/bioinformatics/btu048
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from genoviz.errors import FileFormatError, n_words
from genoviz.io.offtargets.genome_sequences import iter_read_genome, read_genome
from genoviz.io.offtargets.guide_files import GuideList, read_guides
from genoviz.io.text.encoding import check_utf8
from genoviz.io.text.line_errors import show
from genoviz.io.text.text_file import read_bytes

__all__ = [
    "GuideList",
    "OffTargetInput",
    "iter_read_genome",
    "read_genome",
    "read_guides",
    "read_offtarget_input",
]

PATTERN_LETTERS = "ACGTRYSWKMBDHVN"
_LINE_ENDS = re.compile(r"\r\n|\n|\r")
_PRINTABLE = re.compile(r"[!-~]+")


@dataclass(frozen=True)
class OffTargetInput:
    """Parameters of a search from an input file.

    Parameters
    ----------
    genome
        File or folder of sequences.
    pattern
        Upper-case IUPAC letters that a site must match.
    dna_bulge, rna_bulge
        Largest bulges, nt; 0 if the file has none.
    guides
        Upper-case guides, each as long as the pattern; duplicates are allowed.
    max_mismatches
        Mismatch limit of each guide.
    ids
        ID of each guide, or None if the file has none.
    has_bulges
        Whether the file gives bulge sizes, even 0; the output then has columns for them.
    notes
        What was skipped, one sentence each.
    """

    genome: Path
    pattern: str
    dna_bulge: int
    rna_bulge: int
    guides: tuple[str, ...]
    max_mismatches: tuple[int, ...]
    ids: tuple[str, ...] | None
    has_bulges: bool = False
    notes: tuple[str, ...] = ()


def read_offtarget_input(path: str | PathLike[str], *, needs_genome: bool = True) -> OffTargetInput:
    """Read an input file of Cas-OFFinder (version 2 or 3).

    The first line is the genome: a file or folder, relative to the working folder or else to the
    input file. The second is the pattern, optionally followed by the largest DNA and RNA bulge.
    Each further line is a guide, its mismatch limit, and an ID, which all lines have or none. A
    blank line ends the guides. Case is ignored, and blanks may be tabs.

    Parameters
    ----------
    path
        The file, plain or gzipped.
    needs_genome
        Whether the genome must exist.

    Raises
    ------
    FileFormatError
        If the file cannot be read or violates the format; the message names the line.
    """
    path = Path(path)
    text = read_bytes(path).tobytes().decode("utf-8", "surrogateescape")
    lines = [line.strip() for line in _LINE_ENDS.split(text)]
    genome = _find_genome(path, lines[0], needs_genome)
    pattern, bulges = _read_pattern(path, lines[1] if len(lines) > 1 else "")
    stop = next((row for row, line in enumerate(lines) if row > 1 and not line), len(lines))
    check_utf8(path, "\n".join(lines[1:stop]).encode("utf-8", "surrogateescape"), 1)
    rows = [line.split() for line in lines[2:stop]]
    if not rows:
        raise FileFormatError(
            path,
            "has no guide, needs one at least: its letters, then how many mismatches it may have",
            line=3,
        )
    for line, row in enumerate(rows, start=3):
        _check_guide(path, line, row, len(rows[0]), pattern)
    n_left = sum(bool(line) for line in lines[stop:])
    notes = ()
    if n_left:
        lines_are = n_words(n_left, "line behind it is", "lines behind it are")
        notes = (f"line {stop + 1} of {path.name} is blank and ends the guides; {lines_are} "
                 "passed over",)  # fmt: skip
    return OffTargetInput(
        genome,
        pattern,
        *(bulges or (0, 0)),
        tuple(row[0].upper() for row in rows),
        tuple(int(row[1]) for row in rows),
        tuple(row[2] for row in rows) if len(rows[0]) == 3 else None,
        bulges is not None,
        notes,
    )


def _find_genome(path: Path, line: str, needed: bool) -> Path:
    if not line:
        raise FileFormatError(path, "is blank, needs the genome: a file or folder", line=1)
    # A string that cannot be a file name is not an existing file.
    with contextlib.suppress(OSError, ValueError):
        for found in (Path(line), path.parent / line):
            if found.exists():
                return found
    if needed:
        shown = show(line.encode("utf-8", "surrogateescape"), 200)
        raise FileFormatError(
            path,
            f"there is no file or folder {shown}, neither in {Path.cwd()} nor beside the input "
            "file; needs the genome",
            line=1,
        )
    return Path(line)


def _read_pattern(path: Path, line: str) -> tuple[str, tuple[int, int] | None]:
    words = line.split()
    if len(words) not in (1, 3):
        found = f"has {n_words(len(words), 'word')}" if words else "is blank"
        raise FileFormatError(
            path, f"{found}, needs a pattern, with the largest DNA and RNA bulge or alone", line=2
        )
    pattern = words[0].upper()
    for place, letter in enumerate(pattern, start=1):
        if letter not in PATTERN_LETTERS:
            raise FileFormatError(
                path,
                f"letter {place} of the pattern is {show(letter.encode('utf-8', 'replace'))}, "
                f"needs one of {PATTERN_LETTERS}",
                line=2,
            )
    if len(words) == 1:
        return pattern, None
    for kind, word in zip(("DNA", "RNA"), words[1:], strict=True):
        if not _is_count(word):
            raise FileFormatError(
                path, f"the largest {kind} bulge is {word!r}, needs a whole number from 0", line=2
            )
    return pattern, (int(words[1]), int(words[2]))


def _check_guide(path: Path, line: int, row: list[str], n_columns: int, pattern: str) -> None:
    found = None
    if len(row) == 1:
        found = "has a guide alone, needs how many mismatches it may have behind it"
    elif len(row) > 3:
        found = (
            f"has {n_words(len(row), 'column')}, needs 2 or 3: guide, mismatches and perhaps an id"
        )
    elif not _PRINTABLE.fullmatch(row[0]):
        found = f"the guide {row[0]!r} has a letter that is not ASCII, needs letters of IUPAC"
    elif len(row[0]) != len(pattern):
        found = (
            f"guide {row[0]} has {n_words(len(row[0]), 'letter')} and the pattern {len(pattern)}; "
            "they need "
            "to be as long as each other, with N where the PAM is"
        )
    elif not _is_count(row[1]):
        found = f"{row[1]!r} stands for the mismatches, needs a whole number from 0"
    elif len(row) != n_columns:
        found = (
            f"has {'an' if len(row) == 3 else 'no'} id and line 3 has "
            f"{'one' if n_columns == 3 else 'none'}, needs ids on all lines or on none"
        )
    if found:
        raise FileFormatError(path, found, line=line)


def _is_count(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) <= 9
