"""Reading of collection members: a whole graph file or one part of it."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path

from genoviz.analyses.graph.query.chromosomes import (
    Chromosomes,
    find_chromosomes,
    take_chromosome,
)
from genoviz.collection.gbz_file import GbzFile, estimate_chromosome
from genoviz.collection.members import GraphMember
from genoviz.errors import FileFormatError, ParameterError
from genoviz.generators import in_one_go
from genoviz.io.graph.cache import estimate_cached
from genoviz.io.graph.gbz_parts import count_gbz, estimate_gbz
from genoviz.io.graph.gfa import GfaProgress
from genoviz.io.graph.reader import iter_read_graph
from genoviz.model import PangenomeGraph


class MemberReader:
    """Reads members; keeps the whole graph of a file that has several members.

    That graph is memory-mapped from the cache if the cache is used and the file is large enough. Of
    a GBZ file, only the chromosomes that are read are in memory. Safe for use by several threads.

    Parameters
    ----------
    sequences, cache
        As for `iter_read_graph`.
    """

    def __init__(self, *, sequences: bool = True, cache: bool = True) -> None:
        self._options = {"sequences": sequences, "cache": cache}
        self._lock = threading.Lock()
        self._gbz: GbzFile | None = None
        self._whole: tuple[Path, PangenomeGraph, Chromosomes] | None = None

    def iter_read(self, member: GraphMember) -> Iterator[GfaProgress]:
        """Yield the progress of reading a member; the last report has its graph.

        Raises
        ------
        FileFormatError
            If the file cannot be read.
        ParameterError
            If the file has no such part.
        """
        if member.part is None:
            yield from iter_read_graph(member.path, **self._options)
            return
        with self._lock:
            if (yield from self._has_parts(member.path)):
                yield from self._gbz.iter_read(member.part)
                return
            if self._whole is None or self._whole[0] != member.path:
                self._whole = None
                self._whole = yield from self._read_whole(member.path)
            _, graph, chromosomes = self._whole
        yield GfaProgress("Taking its part", 0, 1)
        try:
            part = take_chromosome(graph, chromosomes, member.part)
        except ParameterError as error:
            raise FileFormatError(member.path, str(error)) from None
        yield GfaProgress("Done", 1, 1, part)

    def _has_parts(self, path: Path) -> Generator[GfaProgress, None, bool]:
        """Open a file if it is a GBZ; return whether it has chromosomes to be read one by one."""
        if self._gbz is None or self._gbz.path != path:
            is_gbz = count_gbz(path) is not None
            self._gbz = GbzFile(path, **self._options) if is_gbz else None
        return self._gbz is not None and len((yield from self._gbz.iter_list())) > 0

    def _read_whole(
        self, path: Path
    ) -> Generator[GfaProgress, None, tuple[Path, PangenomeGraph, Chromosomes]]:
        graph = None
        for progress in iter_read_graph(path, **self._options):
            graph = progress.graph
            yield replace(progress, graph=None)
        return path, graph, find_chromosomes(graph)


def estimate_member(member: GraphMember) -> int:
    """Return the approximate memory of opening a member, bytes; 0 if only the file's text says it.

    Of a file other than a GBZ, all is opened for a part of it.
    """
    path = member.path
    if member.part is not None and (estimated := estimate_chromosome(path, member.part)):
        return estimated
    return estimate_cached(path) or estimate_gbz(path)


def iter_read_member(
    member: GraphMember, *, sequences: bool = True, cache: bool = True
) -> Iterator[GfaProgress]:
    """Yield the progress of reading a member of a collection; the last report has its graph.

    Use `MemberReader` to read many members of one file.
    """
    return MemberReader(sequences=sequences, cache=cache).iter_read(member)


@in_one_go(iter_read_member)
def read_member(last: GfaProgress) -> PangenomeGraph:
    """Return the graph of a member of a collection; see :func:`iter_read_member`."""
    return last.graph
