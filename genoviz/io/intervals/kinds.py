"""Which kind of file holds intervals, and where its rows have what."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.text.text_file import read_start


@dataclass(frozen=True)
class RowFormat:
    """How a kind of text writes intervals; columns from 0 on, -1 for none.

    Attributes
    ----------
    title
        What people call it.
    first_base
        What the first base of a contig is called; with 1, ends are closed.
    n_needed
        Columns that a row needs.
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
    rb"|(?P<wiggle>((#|track|browser)[^\n]*\n|[ \t\r]*\n)*(fixed|variable)Step[ \t])"
)
_NEEDS = {
    "vcf": "is VCF, whose variants are no intervals, needs to be BED, GFF, BAM or the like",
    "fasta": "is FASTA, whose sequences are no intervals, needs to be BED, GFF, BAM or the like",
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


def find_kind(path: Path, kind: str | None = None) -> str:
    """Return the kind of a file: as given, by its first bytes, its name, or its first row.

    Raises
    ------
    ParameterError
        If ``kind`` is not one of ``KINDS``.
    FileFormatError
        If the file cannot be read, or is of a kind that has no intervals.
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
    by_name = _ENDINGS.get(_ending(path))
    if by_name in ("bam", "cram", *SIGNAL_KINDS, "parquet", "arrow") and start:
        raise FileFormatError(
            path, f"is not {by_name}, as its name says, needs the name of what it is"
        )
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
