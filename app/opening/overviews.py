"""Overview of a genome whose graphs a server offers, without opening them.

Most information comes from layout records and the cache. If it is missing, graphs are read one
after another, each in a separate process, whose memory is returned at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from genoviz.collection.members import GraphMember
from genoviz.collection.overview import (
    GraphFacts,
    GraphOverview,
    iter_overview,
    karyotype_order,
    load_overview,
)
from genoviz.collection.records import MemberLayout
from genoviz.errors import GenovizError
from genoviz_app.opening.apart import iter_apart
from genoviz_app.opening.files import FileCache, OpeningProgress
from genoviz_app.opening.memory import MEMORY, graph_bytes
from genoviz_app.opening.served_files import ServedGraph

_LAY_FACTOR = 12


@dataclass(frozen=True, eq=False)
class Chromosome:
    """A graph of the genome, with the information known so far.

    Attributes
    ----------
    served
        The graph.
    layout
        Record of its layout; None if there is none.
    overview
        Its numbers and its picture; None until known.
    problem
        Why they are unknown, in a sentence; "" for no problem.
    """

    served: ServedGraph
    layout: MemberLayout | None = None
    overview: GraphOverview | None = None
    problem: str = ""

    @property
    def facts(self) -> GraphFacts | None:
        """Its numbers, or None."""
        if self.overview is not None:
            return self.overview.facts
        return None if self.layout is None else self.layout.facts


@dataclass(frozen=True, eq=False)
class GenomeOverview:
    """Information on all graphs so far, and the current work.

    Attributes
    ----------
    chromosomes
        In karyotype order.
    n_done
        Number of chromosomes that are complete.
    doing
        The current work; "" at the end.
    """

    chromosomes: tuple[Chromosome, ...]
    n_done: int = 0
    doing: str = ""


def genome_of(files: tuple[ServedGraph, ...]) -> tuple[ServedGraph, ...]:
    """Return the offered graphs that belong to collections, in karyotype order."""
    named = (served for served in files if served.name)
    return tuple(sorted(named, key=lambda served: karyotype_order(served.name)))


def iter_genome_overview(
    genome: tuple[ServedGraph, ...], *, reads: bool = True
) -> Iterator[GenomeOverview | None]:
    """Yield increasingly complete information on all graphs; None if there is no news.

    With ``reads``, graphs are read for missing information.
    """
    found = [_look_at(served) for served in genome]
    yield GenomeOverview(tuple(found), 0, "Looking for what is known")
    for number, chromosome in enumerate(found):
        name = chromosome.served.name
        try:
            for progress in _iter_one(chromosome, reads=reads):
                if progress is None:
                    yield None
                    continue
                if progress.opened is not None:
                    found[number] = replace(chromosome, overview=progress.opened)
                    continue
                yield GenomeOverview(tuple(found), number, f"{name}: {progress.text}")
        except (GenovizError, OSError) as error:  # a failure of one graph must not stop the others
            found[number] = replace(chromosome, problem=str(error))
        yield GenomeOverview(tuple(found), number + 1, name)
    yield GenomeOverview(tuple(found), len(found))


def has_new_layouts(genome: tuple[ServedGraph, ...]) -> bool:
    """Return whether a graph without a layout has got one."""
    return any(served.record() is not None for served in genome if served.layout is None)


def _look_at(served: ServedGraph) -> Chromosome:
    """Return a graph with its current layout and record."""
    record = served.record()
    return Chromosome(served.with_layout(is_there=record is not None), record)


def _iter_one(chromosome: Chromosome, *, reads: bool) -> Iterator[OpeningProgress | None]:
    """Yield the progress of one overview; claims memory for what it reads."""
    path, layout = chromosome.served.path, chromosome.served.layout
    known = load_overview(GraphMember.at(path), layout)
    if known is not None:
        yield OpeningProgress("Ready", 1.0, known)
        return
    if not reads:
        return
    facts = chromosome.facts
    needed = 0 if facts is not None and facts.is_whole else graph_bytes(path)
    needed += 0 if layout is None else _LAY_FACTOR * layout.stat().st_size
    claim = MEMORY.claim(path, needed, FileCache.forget_all)
    try:
        steps = partial(_iter_steps, layout=layout, facts=facts)
        yield from iter_apart(steps, path, max_bytes=claim.max_bytes)
    finally:
        claim.release()


def _iter_steps(
    path: Path, *, layout: Path | None, facts: GraphFacts | None
) -> Iterator[OpeningProgress]:
    for progress in iter_overview(GraphMember.at(path), layout, facts):
        yield OpeningProgress(progress.stage, progress.share, progress.overview)
