"""All graphs of a collection laid out into a folder, so that what is done is not done again.

A layout and its record (see `genoviz.collection.records`) appear as a whole or not at all, first
the layout. A process that is killed loses what it was at, and nothing else.
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
from genoviz.collection.one_layout import LayoutStep, explain, iter_lay_out, lay_out_at_worker
from genoviz.collection.reading import MemberReader
from genoviz.collection.records import (
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
from genoviz.model import GraphLayout


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
    scheduler
        The address of a scheduler of Dask, or a client: its workers lay out one graph each at a
        time, which they read under the same path. Layouts are sent here and written here.

    Raises
    ------
    ParameterError
        If devices are named for the CPU or are not there, or there is no worker; or a scheduler is
        named besides, whose workers have theirs.
    ClusterError
        If the scheduler does not answer or goes away; what was done is kept.
    FileFormatError
        If the folder cannot be made or written.
    """
    if devices is not None:
        check_devices(devices, backend)
    if n_workers < 1:
        raise ParameterError(f"n_workers is {n_workers}, needs one at least")
    if scheduler is None:
        resolve_backend(backend)
    elif devices is not None or n_workers > 1:
        raise ParameterError("n_workers or devices, or a scheduler, whose workers have theirs")
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(folder, f"cannot be made: {error.strerror or error}") from error
    work = _Work(collection, folder, plan or LayoutPlan(), cache, backend)
    return _iterate(work, list(devices or [None] * n_workers), scheduler)


@in_one_go(iter_layout_collection)
def layout_collection(last: CollectionLayouts) -> tuple[MemberLayout, ...]:
    """Return the layouts of all graphs of a collection; see :func:`iter_layout_collection`."""
    return last.layouts


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
        self.cache = cache
        self.waiting = [m for m in collection.largest_first if m.name not in self.done]
        self.weights = {member.name: max(member.weight, 1.0) for member in self.waiting}
        self._lock = threading.Lock()
        self._reader = MemberReader(sequences=False, cache=cache)

    def run(self, device: int | None) -> Iterator[LayoutStep]:
        """Lay one graph out after the other until none waits."""
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
        except Exception as error:  # of one graph, and the others go on
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
        """Write a layout and its record, if the graph is still what it was."""
        if Source.of(member.path) != source:
            raise FileFormatError(member.path, "changed while it was laid out; do that again")
        found = replace(found, path=file)
        write_lay(layout, file)
        write_record(member, source, self.plan, found)
        return found


def _iter_shared(work: _Work, scheduler: Scheduler) -> Iterator[LayoutStep]:
    """Have the workers of a scheduler lay graphs out, the largest first, and keep what they send.

    Layouts are written here, each as it comes, so that what is done stays done.
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
    write_tables(work.collection, work.folder, work.plan, layouts)  # who looks sees what it is for
    yield CollectionLayouts("", "Beginning", 0.0, tuple(layouts), n_members)
    if work.weights:
        devices = devices[: len(work.weights)]
        runs = [work.run(device) for device in devices]
        # Several in threads of their own, as the current GPU and stream are of a thread.
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
