"""Layout of all graphs of a collection into a folder; finished layouts are reused.

A layout and its record (see `genoviz.collection.records`) are each written atomically, the layout
first. A killed process loses only the graph that it was working on.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from genoviz.backend import (
    Backend,
    Scheduler,
    check_devices,
    resolve_backend,
    use_device,
)
from genoviz.collection.members import GraphCollection, GraphMember
from genoviz.collection.one_layout import (
    LayoutStep,
    explain,
    iter_lay_out,
    lay_out_at_worker,
    reader_for_layouts,
)
from genoviz.collection.overview import keep_overview
from genoviz.collection.records import (
    LayoutPlan,
    MemberLayout,
    find_layout_files,
    read_record,
    write_record,
    write_tables,
)
from genoviz.errors import FileFormatError, GenovizError, ParameterError, check_minimum
from genoviz.generators import in_one_go, iter_side_by_side
from genoviz.io.files.file_source import Source
from genoviz.io.files.replace_file import make_folder
from genoviz.io.graph.lay import write_lay
from genoviz.model import GraphLayout


@dataclass(frozen=True)
class CollectionLayouts:
    """Progress of laying out a collection.

    Attributes
    ----------
    name, stage
        The current graph and the current stage of work.
    share
        Share of the work done, 0 to 1, weighted by the steps of the graphs.
    layouts
        Finished and failed layouts, in order of completion.
    n_members
        Number of graphs in the collection.
    """

    name: str
    stage: str
    share: float
    layouts: tuple[MemberLayout, ...]
    n_members: int


def iter_layout_collection(
    collection: GraphCollection,
    folder: str | PathLike[str],
    plan: LayoutPlan | None = None,
    *,
    cache: bool = True,
    n_workers: int = 1,
    devices: Sequence[int] | None = None,
    backend: Backend = "auto",
    scheduler: Scheduler = None,
) -> Iterator[CollectionLayouts]:
    """Yield the progress of laying out a collection; the last report has all layouts.

    Graphs are processed from the largest to the smallest, one in memory for each worker. If a
    graph cannot be read or laid out, its `MemberLayout` says why and the others continue. The
    folder gets a layout and a record for each graph, and the summary tables ``layouts.tsv`` and
    ``layouts.json``.

    Parameters
    ----------
    collection
        The graphs.
    folder
        Output folder, created if missing. Layouts in it are reused if their files and plan are
        unchanged.
    plan
        Layout options; the default is that of `genoviz.multilevel_layout`.
    cache
        Whether to use the user's cache folder for parsed graphs.
    n_workers
        Number of graphs laid out at the same time, if no devices are given.
    devices
        GPU numbers; each GPU lays out one graph at a time.
    backend
        ``"auto"``, ``"cpu"`` or ``"cuda"``.
    scheduler
        Address of a Dask scheduler, or a client. Each worker lays out one graph at a time and
        reads it under the same path. Layouts are sent back and written here.

    Raises
    ------
    ParameterError
        If devices are given for the CPU, do not exist or are combined with a scheduler, or if
        there is no worker.
    ClusterError
        If the scheduler does not answer or disconnects; finished layouts are kept.
    FileFormatError
        If the folder cannot be created or written.
    """
    if devices is not None:
        check_devices(devices, backend)
    check_minimum("n_workers", n_workers, 1)
    if scheduler is None:
        resolve_backend(backend)
    elif devices is not None or n_workers > 1:
        raise ParameterError("n_workers or devices, or a scheduler, whose workers have theirs")
    folder = Path(folder)
    make_folder(folder)
    work = _Work(collection, folder, plan or LayoutPlan(), cache, backend)
    return _iterate(work, list(devices or [None] * n_workers), scheduler)


@in_one_go(iter_layout_collection)
def layout_collection(last: CollectionLayouts) -> tuple[MemberLayout, ...]:
    """Return the layouts of all graphs of a collection; see :func:`iter_layout_collection`."""
    return last.layouts


class _Work:
    """The graphs to lay out, and how to process one."""

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
        self.cache = cache
        self.waiting = [m for m in collection.largest_first if m.name not in self.done]
        self.weights = {member.name: max(member.weight, 1.0) for member in self.waiting}
        self._lock = threading.Lock()
        self._reader = reader_for_layouts(cache)

    def run(self, device: int | None) -> Iterator[LayoutStep]:
        """Lay out one graph after another until none is left."""
        with use_device(device):
            while True:
                with self._lock:
                    if not self.waiting:
                        return
                    member = self.waiting.pop(0)
                yield from self._run_one(member)

    def _run_one(self, member: GraphMember) -> Iterator[LayoutStep]:
        file = self.files[member.name]
        try:
            layout = yield from self._lay_out(member, file)
        except Exception as error:  # a failure of one graph must not stop the others
            layout = MemberLayout(member.name, file, problem=explain(error))
        yield LayoutStep(member, "Done", 1.0, layout)

    def _lay_out(
        self, member: GraphMember, file: Path
    ) -> Generator[LayoutStep, None, MemberLayout]:
        source = Source.of(member.path)
        made = yield from iter_lay_out(member, self.plan, self._reader, self.backend)
        return self.keep(member, file, source, *made)

    def keep(
        self,
        member: GraphMember,
        file: Path,
        source: Source,
        found: MemberLayout,
        layout: GraphLayout,
    ) -> MemberLayout:
        """Write a layout, its record and overview, unless the graph's file has changed."""
        if Source.of(member.path) != source:
            raise FileFormatError(member.path, "changed while it was laid out; do that again")
        found = replace(found, path=file)
        write_lay(layout, file)
        write_record(member, source, self.plan, found)
        if self.cache and found.facts is not None:
            keep_overview(member, file, found.facts, layout)
        return found


def _iter_shared(work: _Work, scheduler: Scheduler) -> Iterator[LayoutStep]:
    """Have Dask workers lay out the graphs, the largest first, and keep the results.

    Each layout is written here as soon as it arrives, so an interruption loses no finished one.
    """
    from genoviz.cluster.blocks import iter_results

    blocks = []
    for member in work.waiting:
        try:
            blocks.append((replace(member, path=member.path.resolve()), Source.of(member.path)))
        except OSError as error:
            problem = MemberLayout(member.name, work.files[member.name], problem=explain(error))
            yield LayoutStep(member, "Done", 1.0, problem)
    common = (work.plan, work.cache, work.backend)
    for block, (found, coordinates) in iter_results(
        lay_out_at_worker, blocks, scheduler=scheduler, common=common
    ):
        member, source = blocks[block]
        file = work.files[member.name]
        found = replace(found, path=file)
        if coordinates is not None:
            try:
                found = work.keep(member, file, source, found, GraphLayout(coordinates))
            except (GenovizError, OSError) as error:
                found = MemberLayout(member.name, file, problem=explain(error))
        yield LayoutStep(member, "Done", 1.0, found)


def _iterate(
    work: _Work, devices: list[int | None], scheduler: Scheduler
) -> Iterator[CollectionLayouts]:
    layouts = list(work.done.values())
    n_members = len(work.collection)
    shares = dict.fromkeys(work.weights, 0.0)
    total = sum(work.weights.values())
    write_tables(work.collection, work.folder, work.plan, layouts)  # says early what the folder is
    yield CollectionLayouts("", "Beginning", 0.0, tuple(layouts), n_members)
    if work.weights:
        devices = devices[: len(work.weights)]
        runs = [work.run(device) for device in devices]
        # One thread for each, because the current GPU and stream belong to a thread.
        steps = iter_side_by_side(runs) if len(runs) > 1 else runs[0]
        steps = steps if scheduler is None else _iter_shared(work, scheduler)
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
