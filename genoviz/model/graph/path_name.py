"""Names of paths and walks: PanSN fields, and the ranges that tell where a sub-path lies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

_COLON = re.compile(r"^(?P<name>.+):(?P<start>\d{1,18})-(?P<end>\d{1,18})$")
_BRACKET = re.compile(r"^(?P<name>.+)\[(?P<start>\d{1,18})(?:-(?P<end>\d{1,18}))?\]$")
_INNER_BRACKETS = re.compile(r"((?:\[\d{1,18}(?:-\d{1,18})?\])+)#")
_ONE_BRACKET = re.compile(r"\[(\d{1,18})(?:-(\d{1,18}))?\]")

_Range = tuple[int, int | None]


@dataclass(frozen=True)
class PathName:
    """A path's name in its parts; coordinates are 0-based half-open, in bp of the contig.

    A name may carry several ranges, as ``chr1[100-900][20]#0#0:0-50`` that vg writes: each lies
    within the one before it, so their starts add up.

    Attributes
    ----------
    text
        The name as the file has it.
    sample, haplotype, contig
        PanSN fields (``sample#haplotype#contig``) without ranges; a name without ``#`` is all
        contig.
    start, end
        Where the path lies on its contig: ``start`` is 0 and ``end`` None when not given.

    References
    ----------
    PanSN-spec, https://github.com/pangenome/PanSN-spec
    """

    text: str
    sample: str | None
    haplotype: str | None
    contig: str
    start: int = 0
    end: int | None = None

    @classmethod
    def parse(cls, text: str) -> PathName:
        """Return the parts of a path name.

        Examples
        --------
        >>> PathName.parse("HG002#1#chr6:100-250").contig
        'chr6'
        >>> PathName.parse("chm13#chr6:100-250").start
        100
        >>> name = PathName.parse("HG1.1.J37[500-9000][20]#0#0:0-633")
        >>> name.whole, name.start, name.end
        ('HG1.1.J37#0#0', 520, 1153)
        """
        name, ranges = _take_ranges(text)
        start = sum(range_start for range_start, _ in ranges)
        end = None
        if ranges and ranges[-1][1] is not None:
            end = start + ranges[-1][1] - ranges[-1][0]
        sample, haplotype, contig = _split(name)
        return cls(text, sample, haplotype, contig, start, end)

    @cached_property
    def whole(self) -> str:
        """The name without its ranges: that of the whole contig of this sample."""
        fields = (self.sample, self.haplotype, self.contig)
        return "#".join(field for field in fields if field is not None)

    def cut(self, start: int, end: int) -> str:
        """Return the name of the part from ``start`` to ``end``, bp from the path's first base.

        The range at the end of the name is replaced, so that the new one counts from where the
        old one did; after brackets a range is added.

        Examples
        --------
        >>> PathName.parse("grch38#chr6:1000-2000").cut(10, 30)
        'grch38#chr6:1010-1030'
        >>> PathName.parse("chr1[700]").cut(10, 30)
        'chr1[700]:10-30'
        """
        name, first = self.text, 0
        match = _COLON.match(name)
        if match and int(match["start"]) <= int(match["end"]):
            name, first = match["name"], int(match["start"])
        return f"{name}:{first + start}-{first + end}"


def _split(name: str) -> tuple[str | None, str | None, str]:
    fields = name.split("#", 2)
    if len(fields) == 3:
        return fields[0], fields[1], fields[2]
    if len(fields) == 2:
        return fields[0], None, fields[1]
    return None, None, name


def _take_ranges(text: str) -> tuple[str, list[_Range]]:
    """Return a name without its ranges, and the ranges, the outermost first."""
    name, outer, inner = text, [], []
    while match := _COLON.match(name) or _BRACKET.match(name):
        start, end = int(match["start"]), match["end"]
        if end is not None and int(end) < start:
            break
        inner.insert(0, (start, None if end is None else int(end)))
        name = match["name"]

    def take(match: re.Match) -> str:
        for start, end in _ONE_BRACKET.findall(match[1]):
            outer.append((int(start), int(end) if end else None))
        return "#"

    return _INNER_BRACKETS.sub(take, name), outer + inner
