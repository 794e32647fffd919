"""The paths of a graph by all names that people call them by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from genoviz.errors import ParameterError
from genoviz.model.graph.path_name import PathName

_N_EXAMPLES = 4


class PathDirectory:
    """Paths by name: as the file has it, or by what it says of sample and contig.

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
        """Return the paths of exactly this name."""
        return tuple(self._exact.get(name, ()))

    def sub_paths(self, name: str, *, sample: str | None = None) -> tuple[int, ...]:
        """Return the paths of a contig; none when no contig has this name.

        A contig is named as its paths are, without their ranges; or, where that leaves one
        contig of the graph, or of the given ``sample``, as ``sample#contig``, contig,
        ``sample#haplotype`` or sample.

        Raises
        ------
        ParameterError
            If several contigs have the name.
        """
        if name in self._contigs:
            return tuple(self._contigs[name])
        wholes = list(self._short.get(name, ()))
        if sample is not None:
            wholes = [whole for whole in wholes if self._sample_of(whole) == sample]
        if len(wholes) > 1:
            raise ParameterError(
                f"{name!r} could be any of {len(wholes):,} contigs, needs one of {_some(wholes)}"
            )
        return tuple(self._contigs[wholes[0]]) if wholes else ()

    def _sample_of(self, whole: str) -> str | None:
        return self._names[self._contigs[whole][0]].sample

    def unknown(self, name: str) -> ParameterError:
        """Return the error that nothing has this name."""
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
