"""Interval file formats: detection, column layouts, and column conversion.

Error messages about rows are made here too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import numpy as np

from genoviz.errors import FileFormatError, ParameterError, n_words
from genoviz.io.intervals.file_loops import copy_fields, copy_words, count_blocks, fill_blocks
from genoviz.io.intervals.parser import MAX_DIGITS, Columns, Rows
from genoviz.io.text import line_errors
from genoviz.io.text.encoding import explain_utf8, find_not_utf8
from genoviz.io.text.line_errors import show
from genoviz.io.text.text_file import read_start
from genoviz.model import ByteStrings, Intervals


@dataclass(frozen=True)
class RowFormat:
    """Column layout of a text format; columns count from 0, -1 for none.

    Attributes
    ----------
    title
        Name shown to users.
    first_base
        Coordinate of a contig's first base; with 1, ends are closed.
    n_needed
        Number of required columns.
    """

    title: str
    start: int = 1
    end: int = 2
    name: int = -1
    score: int = -1
    strand: int = -1
    feature: int = -1
    blocks: int = -1
    first_base: int = 0
    n_needed: int = 3
    may_have_spaces: bool = True


ROW_FORMATS = {
    "bed": RowFormat("BED", name=3, score=4, strand=5, blocks=9),
    "narrowpeak": RowFormat("narrowPeak", name=3, score=6, strand=5, n_needed=10),
    "broadpeak": RowFormat("broadPeak", name=3, score=6, strand=5, n_needed=9),
    "bedgraph": RowFormat("bedGraph", score=3, n_needed=4),
    "gff": RowFormat(
        "GFF",
        start=3,
        end=4,
        score=5,
        strand=6,
        feature=2,
        first_base=1,
        n_needed=8,
        may_have_spaces=False,
    ),
}
READ_KINDS = ("bam", "cram", "sam")
SIGNAL_KINDS = ("bigwig", "bigbed")
TABLE_KINDS = ("parquet", "arrow", "csv", "tsv")
KINDS = (*ROW_FORMATS, *READ_KINDS, *SIGNAL_KINDS, *TABLE_KINDS)
_ENDINGS = {
    "bed": "bed",
    **dict.fromkeys(("bed3", "bed4", "bed5", "bed6", "bed9", "bed12"), "bed"),
    "narrowpeak": "narrowpeak",
    "broadpeak": "broadpeak",
    **dict.fromkeys(("bedgraph", "bdg", "bg"), "bedgraph"),
    **dict.fromkeys(("gff", "gff2", "gff3", "gtf"), "gff"),
    **{kind: kind for kind in READ_KINDS},
    **dict.fromkeys(("bw", "bigwig"), "bigwig"),
    **dict.fromkeys(("bb", "bigbed"), "bigbed"),
    "parquet": "parquet",
    **dict.fromkeys(("arrow", "feather", "ipc"), "arrow"),
    "csv": "csv",
}
_OTHERS = re.compile(
    rb"(?P<vcf>##fileformat=VCF|BCF\x02)|(?P<fasta>>[^\t\n]*\n)"
    rb"|(?P<fastq>@[^\n]*\n[A-Za-z.]+\r?\n\+)"
    # A GFF contig may be named S; a GFA segment has its sequence third, then tags or the end.
    rb"|(?P<graph>(#[^\n]*\n)*(H\tVN:Z:|S\t[^\t\n]+\t([A-Za-z]+|\*)(\t\w\w:[AifZJHB]:|\r?\n|$))"
    rb"|GBZ [\1-\10]\0\0\0)"
    rb"|(?P<wiggle>((#|track|browser)[^\n]*\n|[ \t\r]*\n)*(fixed|variable)Step[ \t])"
)
_NEEDS = {
    "vcf": "is VCF, whose variants are not intervals, needs to be BED, GFF, BAM or the like",
    "fasta": "is FASTA, whose sequences are not intervals, needs to be BED, GFF, BAM or the like",
    "fastq": "is FASTQ, whose reads have no places, needs to be BED, GFF, BAM or the like",
    "graph": "is a graph, not intervals, needs to be BED, GFF, BAM or the like",
    "wiggle": "is wiggle, needs to be bedGraph or bigWig (wigToBigWig makes it so)",
}
_COMPRESSIONS = (".gz", ".bgz", ".bgzf")
_MAGICS = {
    b"BAM\1": "bam",
    b"CRAM": "cram",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x26\xfc\x8f\x88": "bigwig",
    b"\x88\x8f\xfc\x26": "bigwig",
    b"\xeb\xf2\x89\x87": "bigbed",
    b"\x87\x89\xf2\xeb": "bigbed",
    b"@HD\t": "sam",
    **dict.fromkeys((b"@SQ\t", b"@RG\t", b"@PG\t", b"@CO\t"), "sam"),
    b"##gff": "gff",
}
_NEVER_EMPTY = {
    "bam": "BAM",
    "cram": "CRAM",
    "sam": "SAM with a header",
    "bigwig": "bigWig",
    "bigbed": "bigBed",
    "parquet": "a Parquet table",
    "arrow": "an Arrow table",
}
_NEVER_INTERVALS = (
    *("2bit", "fa", "fasta", "fna", "fastq", "fq", "gvfm"),
    *("gfa", "gbz", "db", "lay", "vcf", "bcf", "pgen", "bgen", "npy", "npz"),
)
"""Endings of other formats; an empty file has no bytes that would tell."""
_ODD_SCORES = 1 << 16
_MAX_SCORE_BYTES = 400


def find_kind(path: Path, kind: str | None = None) -> str:
    """Return the format of a file: as given, or from its first bytes, name, or first row.

    Raises
    ------
    ParameterError
        If ``kind`` is not one of ``KINDS``.
    FileFormatError
        If the file cannot be read, or its format has no intervals.
    """
    if kind is not None:
        found = _ENDINGS.get(kind.lower(), kind.lower())
        if found not in KINDS:
            raise ParameterError(f"kind is {kind!r}, needs one of {', '.join(KINDS)}")
        return found
    start = read_start(path, 1 << 16) if path.is_file() else b""
    other = _OTHERS.match(start)
    if other is not None:
        raise FileFormatError(path, _NEEDS[other.lastgroup])
    for magic, found in _MAGICS.items():
        if start.startswith(magic):
            return found
    ending = _ending(path)
    by_name = _ENDINGS.get(ending)
    if not start and path.is_file() and (by_name in _NEVER_EMPTY or ending in _NEVER_INTERVALS):
        needed = _NEVER_EMPTY.get(by_name, "BED, GFF, BAM or the like")
        raise FileFormatError(path, f"the file is empty, needs to be {needed}")
    if by_name in ("bam", "cram", *SIGNAL_KINDS, "parquet", "arrow") and start:
        wrong = f"is not {_NEVER_EMPTY[by_name]}, as its name says"
        raise FileFormatError(path, f"{wrong}, needs the ending of what it is")
    return by_name or _find_text_kind(start)


def _ending(path: Path) -> str:
    name = path.name.lower()
    for compression in _COMPRESSIONS:
        name = name.removesuffix(compression)
    return Path(name).suffix.removeprefix(".")


def _find_text_kind(start: bytes) -> str:
    for line in start.splitlines():
        if line.startswith(b"track") and b"type=bedGraph" in line:
            return "bedgraph"
        if not line.strip() or line.startswith((b"#", b"track", b"browser")):
            continue
        fields = line.split(b"\t")
        is_gff = len(fields) >= 8 and fields[3].isdigit() and fields[4].isdigit()
        return "gff" if is_gff and not fields[1].isdigit() else "bed"
    return "bed"


class RowColumns:
    """Column values of rows that have been parsed and located.

    Attributes
    ----------
    notes
        Notes on missing values.
    """

    def __init__(
        self, path: Path, text: np.ndarray, rows: RowFormat, columns: Columns, read: Rows
    ) -> None:
        self._path, self._text, self._rows = path, text, rows
        self._columns, self._read = columns, read
        self.notes: list[str] = []

    def contig_names(self, places: dict[bytes, int]) -> tuple[str, ...]:
        """Decode contig names, given where each is in the text; GFF3 may escape letters as %XX."""
        is_escaped = self._rows.title == "GFF"
        texts = [self._decode(name, at) for name, at in places.items()]
        return tuple(unquote(text) if is_escaped and "%" in text else text for text in texts)

    def strands(self, n_odd: int) -> np.ndarray | None:
        """Return the strands, ``n_odd`` of which are invalid; None if no row has one."""
        column = self._columns.strand
        if column < 0 or self._lack(column, n_odd, "strand (+, - or .), so they have none"):
            return None
        return self._read.strands

    def scores(self) -> np.ndarray | None:
        """Return the scores, None if no row has one; also parses those that the loop skipped."""
        column, score_at = self._columns.score, self._read.score_at
        if column < 0:
            return None
        self._read_odd_scores()
        wrong = np.flatnonzero(score_at < -1)
        if len(wrong) and self._rows.n_needed > column:
            self._refuse_value(-2 - int(score_at[wrong[0]]))
        if self._lack(column, len(wrong), "number, so they have no score"):
            return None
        return self._read.scores

    def _lack(self, column: int, n: int, what: str) -> bool:
        """Note that ``n`` values of a column are invalid; return whether all are."""
        n_rows = len(self._read.starts)
        if n:
            self.notes.append(
                f"Column {column + 1} of {n:,} of {n_words(n_rows, 'row')} is no {what}."
            )
        return n > 0 and n == n_rows

    def _read_odd_scores(self) -> None:
        """Parse scores that the loop skipped: exponents, many digits, nan."""
        odd = np.flatnonzero(self._read.score_at >= 0)
        for rows in np.array_split(odd, len(odd) // _ODD_SCORES + 1):
            words = np.empty((len(rows), _MAX_SCORE_BYTES), np.uint8)
            copy_words(self._text, self._read.score_at[rows], words)
            texts = words.view(f"S{_MAX_SCORE_BYTES}").ravel()
            try:
                self._read.scores[rows] = texts.astype(np.float64)
            except ValueError:
                for row, text in zip(rows.tolist(), texts.tolist(), strict=True):
                    try:
                        self._read.scores[row] = float(text)
                    except ValueError:
                        self._read.score_at[row] = -2 - self._read.score_at[row]

    def _refuse_value(self, position: int) -> None:
        found = line_errors.show(line_errors.line_at(self._text, position).split()[0])
        raise FileFormatError(
            self._path,
            f"the value is {found}, {self._rows.title} needs a number",
            line=line_errors.line_number(self._text, position),
        )

    def names(self) -> ByteStrings | None:
        """Return the names, None if not requested."""
        if self._columns.name < 0:
            return None
        offsets = np.zeros(len(self._read.starts) + 1, np.int64)
        np.cumsum(self._read.name_lengths, out=offsets[1:])
        data = np.empty(offsets[-1], np.uint8)
        copy_fields(self._text, self._read.name_at, offsets, data)
        wrong = find_not_utf8(data, offsets)
        if wrong >= 0:
            name = data[offsets[wrong] : offsets[wrong + 1]].tobytes()
            self._decode(name, int(self._read.name_at[wrong]))
        return ByteStrings(data, offsets)

    def _decode(self, name: bytes, position: int) -> str:
        """Return a name, which is at a position of the text."""
        try:
            return name.decode()
        except UnicodeDecodeError as error:
            line = line_errors.line_number(self._text, position)
            raise FileFormatError(self._path, explain_utf8(error), line=line) from error

    def expand_blocks(self, intervals: Intervals) -> tuple[Intervals, np.ndarray]:
        """Return one interval per block, and the row of each."""
        counts = np.empty(len(intervals), np.int64)
        wrong = count_blocks(self._text, self._read.block_at, self._columns.any_blank, counts)
        starts = ends = np.empty(0, np.int64)
        if wrong < 0:
            starts, ends = (np.empty(counts.sum(), np.int64) for _ in range(2))
            wrong = fill_blocks(
                self._text,
                self._read.block_at,
                self._columns.any_blank,
                counts,
                intervals.starts,
                intervals.ends,
                starts,
                ends,
            )
        if wrong >= 0:
            explain = partial(explain_blocks, any_blank=self._columns.any_blank)
            at = int(self._read.line_at[wrong])
            raise line_errors.wrong_line(self._path, self._text, at, explain)
        row_of = np.repeat(np.arange(len(intervals)), counts)
        return replace(intervals.select(row_of), starts=starts, ends=ends), row_of


def explain_row(line: bytes, rows: RowFormat, *, any_blank: bool) -> str:
    """Return why a row was rejected."""
    fields = line.split() if any_blank else line.split(b"\t")
    if len(fields) < rows.n_needed:
        by = "" if any_blank or len(line.split()) < 3 else ", set apart by tabs"
        return f"has {n_words(len(fields), 'column')}, {rows.title} needs {rows.n_needed}{by}"
    if not fields[0]:
        return "has an empty contig, needs a name"
    start, end = fields[rows.start], fields[rows.end]
    for text, what in ((start, "start"), (end, "end")):
        if not text.isdigit() or len(text) > MAX_DIGITS:
            needs = f"a whole number from {rows.first_base} on, of at most {MAX_DIGITS} digits"
            return f"the {what} is {show(text)}, needs {needs}"
    if int(start) < rows.first_base:
        return f"the start is 0, but {rows.title} counts from 1"
    return (
        f"starts at {int(start):,} and ends at {int(end):,}, needs an end that is not before "
        "the start"
    )


def explain_blocks(line: bytes, *, any_blank: bool) -> str:
    """Return why the blocks of a BED12 row were rejected."""
    fields = line.split() if any_blank else line.split(b"\t")
    shown = ", ".join(show(field, 24) for field in fields[9:12])
    return (
        f"has the blocks {shown}, needs a number of blocks, as many sizes and starts, "
        "and none beyond the end"
    )
