"""Names of paths and walks: PanSN fields, and the ranges of sub-paths."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from genoviz.errors import ParameterError, n_words

_COLON = re.compile(r"^(?P<name>.+):(?P<start>\d{1,18})-(?P<end>\d{1,18})$")
_BRACKET = re.compile(r"^(?P<name>.+)\[(?P<start>\d{1,18})(?:-(?P<end>\d{1,18}))?\]$")
_INNER_BRACKETS = re.compile(r"((?:\[\d{1,18}(?:-\d{1,18})?\])+)#")
_ONE_BRACKET = re.compile(r"\[(\d{1,18})(?:-(\d{1,18}))?\]")
_Range = tuple[int, int | None]
_N_EXAMPLES = 4


@dataclass(frozen=True)
class PathName:
    """The parts of a path name; coordinates are 0-based half-open, in bp of the contig.

    A name may have several ranges, such as ``chr1[100-900][20]#0#0:0-50`` from vg. Each is relative
    to the one before, so their starts add up.

    Attributes
    ----------
    text
        The name as in the file.
    sample, haplotype, contig
        PanSN fields (``sample#haplotype#contig``) without ranges; a name without ``#`` is a contig.
    start, end
        Position of the path on its contig: ``start`` is 0 and ``end`` None if not given.

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
        """The name without its ranges, which is that of the whole contig of this sample."""
        fields = (self.sample, self.haplotype, self.contig)
        return "#".join(field for field in fields if field is not None)

    @property
    def is_of_reference(self) -> bool:
        """Whether it may be of a reference: haplotype 0 or none; 1, 2, ... are those of a sample.

        Examples
        --------
        >>> PathName.parse("GRCh38#0#chr6").is_of_reference
        True
        >>> PathName.parse("HG002#1#chr6").is_of_reference
        False
        """
        return self.haplotype in (None, "0")

    def cut(self, start: int, end: int) -> str:
        """Return the name of the part from ``start`` to ``end``, bp from the path's first base.

        A range at the end of the name is replaced by the new one, with the same origin; after
        brackets a range is appended.

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


class PathDirectory:
    """Lookup of paths by full name, or by sample and contig.

    Parameters
    ----------
    names
        Names of all paths, in their order.
    """

    def __init__(self, names: Sequence[PathName]) -> None:
        self._names = names
        self._exact: dict[str, list[int]] = defaultdict(list)
        self._contigs: dict[str, list[int]] = defaultdict(list)
        for path, name in enumerate(names):
            self._exact[name.text].append(path)
            self._contigs[name.whole].append(path)
        self._short: dict[str, dict[str, None]] = defaultdict(dict)
        for whole, paths in self._contigs.items():
            for short in _short_names(names[paths[0]]):
                self._short[short][whole] = None

    @property
    def contigs(self) -> tuple[str, ...]:
        """Names of the contigs, without ranges, in the order of their first paths."""
        return tuple(self._contigs)

    def exact(self, name: str) -> tuple[int, ...]:
        """Return the paths with exactly this name."""
        return tuple(self._exact.get(name, ()))

    def sub_paths(self, name: str, *, sample: str | None = None) -> tuple[int, ...]:
        """Return the paths of a contig; empty if no contig has this name.

        A contig is named like its paths, without their ranges. If that is unambiguous in the graph,
        or within the given ``sample``, it may be abbreviated to ``sample#contig``, contig,
        ``sample#haplotype`` or sample.

        Raises
        ------
        ParameterError
            If the name is ambiguous.
        """
        wholes = self.meanings(name, sample=sample)
        if len(wholes) > 1:
            raise ParameterError(self.explain(name, wholes))
        return tuple(self._contigs[wholes[0]]) if wholes else ()

    def meanings(self, name: str, *, sample: str | None = None) -> tuple[str, ...]:
        """Return the contigs that a name may refer to, as read by `sub_paths`."""
        if name in self._contigs:
            return (name,)
        wholes = tuple(self._short.get(name, ()))
        if sample is None:
            return wholes
        return tuple(whole for whole in wholes if self._sample_of(whole) == sample)

    def explain(self, name: str, wholes: Sequence[str]) -> str:
        """Return the message for an ambiguous name."""
        return (
            f"{name!r} could be any of {n_words(len(wholes), 'contig')}, needs one of "
            f"{_some(wholes)}"
        )

    def _sample_of(self, whole: str) -> str | None:
        return self._names[self._contigs[whole][0]].sample

    def unknown(self, name: str) -> ParameterError:
        """Return the error for an unknown name."""
        known = _some(self.contigs) or "none at all"
        return ParameterError(f"no path or contig is named {name!r}; the graph has {known}")


def _short_names(name: PathName) -> Iterator[str]:
    if name.sample is None:
        return
    yield from dict.fromkeys(
        (
            f"{name.sample}#{name.contig}",
            name.contig,
            f"{name.sample}#{name.haplotype}",
            name.sample,
        )
    )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_N_EXAMPLES])
    return shown if len(names) <= _N_EXAMPLES else f"{shown} and {len(names) - _N_EXAMPLES:,} more"
