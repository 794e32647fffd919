"""Names of paths and walks: PanSN fields and the ``:start-end`` of a sub-path."""

from __future__ import annotations

import re
from dataclasses import dataclass

_RANGE = re.compile(r"^(?P<name>.+):(?P<start>\d+)-(?P<end>\d+)$")
_BRACKET = re.compile(r"^(?P<name>.+)\[(?P<start>\d+)(?:-(?P<end>\d+))?\]$")


@dataclass(frozen=True)
class PathName:
    """A path's name in its parts; coordinates are 0-based half-open, in bp of the contig.

    Attributes
    ----------
    text
        The name as the file has it.
    sample, haplotype, contig
        PanSN fields (``sample#haplotype#contig``); a name without ``#`` is all contig.
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
        """
        name, start, end = text, 0, None
        for pattern in (_RANGE, _BRACKET):
            match = pattern.match(name)
            if match:
                name, start = match["name"], int(match["start"])
                end = int(match["end"]) if match["end"] else None
                break
        fields = name.split("#", 2)
        if len(fields) == 3:
            sample, haplotype, contig = fields
        elif len(fields) == 2:
            (sample, contig), haplotype = fields, None
        else:
            sample, haplotype, contig = None, None, name
        return cls(text, sample, haplotype, contig, start, end)
