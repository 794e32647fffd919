"""All graphs of a collection laid out into a folder, so that what is done is not done again.

A layout and its record (see `genoviz.collection.records`) appear as a whole or not at all, first
the layout. A process that is killed loses what it was at, and nothing else.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from genoviz.analyses.graph.layout.guides import graph_to_measure
from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.graph.layout.stress import iter_sampled_path_stress
from genoviz.backend import (
    Backend,
    check_devices,
    explain_gpu_failure,
    resolve_backend,
    use_device,
)
from genoviz.collection.members import GraphCollection, GraphMember
from genoviz.collection.overview import measure_graph
from genoviz.collection.reading import MemberReader
from genoviz.collection.records import (
    STRESS,
    LayoutPlan,
    MemberLayout,
    find_layout_files,
    read_record,
    write_record,
    write_tables,
)
from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz.generators import in_one_go, iter_side_by_side
from genoviz.io.files.file_source import Source
from genoviz.io.graph.lay import write_lay

_ITERATORS = {"multilevel": iter_multilevel_layout, "path-sgd": iter_path_sgd_layout}
_SHARES = {"Reading": (0.0, 0.2), "Layout": (0.2, 0.7), "Path stress": (0.7, 1.0)}


@dataclass(frozen=True)
class CollectionLayouts:
    """How far the layouts of a collection are.

    Attributes
    ----------
    name, stage
        What is being done with which graph.
    share
        How much of what is to be done is done, 0 to 1, by steps of graphs.
    layouts
        Those that are there or have failed, in the order in which they came.
    n_members
        Graphs of the collection.
    """

    name: str
    stage: str
    share: float
    layouts: tuple[MemberLayout, ...]
    n_members: int


@dataclass(frozen=True)
class _Step:
    member: GraphMember
    stage: str
    share: float
    layout: MemberLayout | None = None


def iter_layout_collection(
    collection: GraphCollection,
    folder: str | PathLike[str],
    plan: LayoutPlan | None = None,
    *,
    cache: bool = True,
    n_workers: int = 1,
    devices: Sequence[int] | None = None,
    backend: Backend = "auto",
) -> Iterator[CollectionLayouts]:
    """Yield how far the layouts of a collection are; the last report has all of them.

    The largest graph comes first. Each worker has one graph in memory. A graph that cannot be read
    or laid out is told of in its `MemberLayout`, and the others go on. The folder gets a layout
    and a record for each graph, and a table of all of them, ``layouts.tsv`` and ``layouts.json``.

    Parameters
    ----------
    collection
        The graphs.
    folder
        Where layouts go; made where it is not there. Layouts in it of the same files by the same
        plan are kept.
    plan
        How graphs are laid out; by default as `genoviz.multilevel_layout` does it.
    cache
        Whether to keep graphs that are read in the user's cache folder, and to use it.
    n_workers
        Graphs laid out at the same time, where no devices are named.
    devices
        Numbers of GPUs, each of which has one graph at a time.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    ParameterError
        If devices are named for the CPU or are not there, or there is no worker.
    FileFormatError
        If the folder cannot be made or written.
    """
    if devices is not None:
        check_devices(devices, backend)
    if n_workers < 1:
        raise ParameterError(f"n_workers is {n_workers}, needs one at least")
    resolve_backend(backend)
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(folder, f"cannot be made: {error.strerror or error}") from error
    work = _Work(collection, folder, plan or LayoutPlan(), cache, backend)
    return _iterate(work, list(devices or [None] * n_workers))


@in_one_go(iter_layout_collection)
def layout_collection(last: CollectionLayouts) -> tuple[MemberLayout, ...]:
    """Return the layouts of all graphs of a collection; see :func:`iter_layout_collection`."""
    return last.layouts


def slice_seconds(n_nodes: int, n_threads: int | None) -> float | None:
    """Return how often to look at a layout that runs, which copies it.

    Slices end by the clock, and each has random numbers of its own; so a run that is to be
    repeated to the bit has none.
    """
    return None if n_threads == 1 else max(0.2, n_nodes * 5e-7)


class _Work:
    """What is to be done, and how one of it is done."""

    def __init__(
        self,
        collection: GraphCollection,
        folder: Path,
        plan: LayoutPlan,
        cache: bool,
        backend: Backend,
    ) -> None:
        self.collection, self.folder = collection, folder
        self.plan, self.backend = plan, backend
        self.files = find_layout_files(collection, folder)
        self.done = {
            member.name: found
            for member in collection
            if (found := read_record(member, self.files[member.name], plan))
        }
        self._waiting = [m for m in collection.largest_first if m.name not in self.done]
        self.weights = {member.name: max(member.weight, 1.0) for member in self._waiting}
        self._lock = threading.Lock()
        self._reader = MemberReader(sequences=False, cache=cache)

    def run(self, device: int | None) -> Iterator[_Step]:
        """Lay one graph out after the other until none waits."""
        with use_device(device):
            while True:
                with self._lock:
                    if not self._waiting:
                        return
                    member = self._waiting.pop(0)
                yield from self._run_one(member)

    def _run_one(self, member: GraphMember) -> Iterator[_Step]:
        file = self.files[member.name]
        try:
            layout = yield from self._lay_out(member, file)
        except Exception as error:  # of one graph, and the others go on
            layout = MemberLayout(member.name, file, problem=_explain(error))
        yield _Step(member, "Done", 1.0, layout)

    def _lay_out(self, member: GraphMember, file: Path) -> Generator[_Step, None, MemberLayout]:
        def say(stage: str, n_done: float, n_total: float) -> _Step:
            low, high = _SHARES[stage]
            return _Step(member, stage, low + (high - low) * min(n_done / max(n_total, 1), 1.0))

        source = Source.of(member.path)
        graph = None
        for progress in self._reader.iter_read(member):
            graph = progress.graph
            yield say("Reading", progress.n_bytes_done, progress.n_bytes_total)
        options = dict(self.plan.options)
        snapshots = _ITERATORS[self.plan.method](
            graph,
            paths=None if self.plan.paths is None else list(self.plan.paths),
            slice_seconds=slice_seconds(graph.n_nodes, options.get("n_threads")),
            backend=self.backend,
            **options,
        )
        for snapshot in snapshots:
            yield say("Layout", snapshot.n_updates, snapshot.n_updates_total)
        final, layout = snapshot, snapshot.layout
        del snapshots, snapshot
        found = MemberLayout(
            member.name,
            file,
            graph.n_nodes,
            graph.n_steps,
            graph.total_length,
            final.seconds,
            final.n_updates,
            note=final.note,
            facts=measure_graph(graph),
        )
        if self.plan.stress_samples != 0:
            measured = graph_to_measure(graph)
            for progress in iter_sampled_path_stress(
                measured,
                layout,
                n_samples=self.plan.stress_samples,
                seed=options.get("seed", 0),
                backend=self.backend,
            ):
                yield say("Path stress", progress.n_done, progress.n_total)
            stress = progress.stress
            means = (
                value if math.isfinite(value) else None
                for value in (stress.mean, stress.ci_low, stress.ci_high)
            )
            found = replace(found, **dict(zip(STRESS, means, strict=True)))
        if Source.of(member.path) != source:
            raise FileFormatError(member.path, "changed while it was laid out; do that again")
        write_lay(layout, file)
        write_record(member, source, self.plan, found)
        return found


def _iterate(work: _Work, devices: list[int | None]) -> Iterator[CollectionLayouts]:
    layouts = list(work.done.values())
    n_members = len(work.collection)
    shares = dict.fromkeys(work.weights, 0.0)
    total = sum(work.weights.values())
    write_tables(work.collection, work.folder, work.plan, layouts)  # who looks sees what it is for
    yield CollectionLayouts("", "Beginning", 0.0, tuple(layouts), n_members)
    if work.weights:
        devices = devices[: len(work.weights)]
        runs = [work.run(device) for device in devices]
        # Several in threads of their own, as the current GPU and stream are of a thread.
        steps = iter_side_by_side(runs) if len(runs) > 1 else runs[0]
        for step in steps:
            name = step.member.name
            shares[name] = max(shares[name], step.share)  # reading has several stages
            if step.layout is not None:
                layouts.append(step.layout)
            share = sum(shares[each] * work.weights[each] for each in shares) / total
            yield CollectionLayouts(name, step.stage, share, tuple(layouts), n_members)
    ranks = {name: rank for rank, name in enumerate(work.collection.names)}
    layouts.sort(key=lambda layout: ranks[layout.name])
    write_tables(work.collection, work.folder, work.plan, layouts)
    yield CollectionLayouts("", "Done", 1.0, tuple(layouts), n_members)


def _explain(error: Exception) -> str:
    """Return what went wrong with one graph, in a sentence."""
    said = explain_gpu_failure(error)
    if said:
        return said
    if isinstance(error, GenovizError):
        return str(error)
    if isinstance(error, MemoryError):
        return f"this needs more memory than the machine has ({error})"
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return f"an error that should not be: {type(error).__name__}: {error}"
