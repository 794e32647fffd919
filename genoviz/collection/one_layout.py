"""The layout of one graph of a collection: read, laid out and measured; nothing is written."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from genoviz.analyses.graph.layout.guides import graph_to_measure
from genoviz.analyses.graph.layout.multilevel import iter_multilevel_layout
from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.graph.layout.stress import iter_sampled_path_stress
from genoviz.backend import Backend, explain_gpu_failure
from genoviz.collection.members import GraphMember
from genoviz.collection.overview import measure_graph
from genoviz.collection.reading import MemberReader
from genoviz.collection.records import STRESS, LayoutPlan, MemberLayout
from genoviz.errors import FileFormatError, GenovizError
from genoviz.generators import finish
from genoviz.io.files.file_source import Source
from genoviz.model import GraphLayout

_ITERATORS = {"multilevel": iter_multilevel_layout, "path-sgd": iter_path_sgd_layout}
_SHARES = {"Reading": (0.0, 0.2), "Layout": (0.2, 0.7), "Path stress": (0.7, 1.0)}


@dataclass(frozen=True)
class LayoutStep:
    """How far one graph is; at the end what came of it."""

    member: GraphMember
    stage: str
    share: float
    layout: MemberLayout | None = None


def slice_seconds(n_nodes: int, n_threads: int | None) -> float | None:
    """Return how often to look at a layout that runs, which copies it.

    Slices end by the clock, and each has random numbers of its own; so a run that is to be
    repeated to the bit has none.
    """
    return None if n_threads == 1 else max(0.2, n_nodes * 5e-7)


def reader_for_layouts(cache: bool) -> MemberReader:
    """Return a reader of graphs that are laid out.

    A cached graph has its sequences, because a page that opens it next shows them; without them
    the page would have to parse the file again.
    """
    return MemberReader(sequences=cache, cache=cache)


def iter_lay_out(
    member: GraphMember, plan: LayoutPlan, reader: MemberReader, backend: Backend
) -> Generator[LayoutStep, None, tuple[MemberLayout, GraphLayout]]:
    """Return the layout of a graph, and what came of it; nothing is written."""

    def say(stage: str, n_done: float, n_total: float) -> LayoutStep:
        low, high = _SHARES[stage]
        return LayoutStep(member, stage, low + (high - low) * min(n_done / max(n_total, 1), 1.0))

    graph = None
    for progress in reader.iter_read(member):
        graph = progress.graph
        yield say("Reading", progress.n_bytes_done, progress.n_bytes_total)
    del progress
    graph = replace(graph, node_sequences=None)
    options = dict(plan.options)
    snapshots = _ITERATORS[plan.method](
        graph,
        paths=None if plan.paths is None else list(plan.paths),
        slice_seconds=slice_seconds(graph.n_nodes, options.get("n_threads")),
        backend=backend,
        **options,
    )
    for snapshot in snapshots:
        yield say("Layout", snapshot.n_updates, snapshot.n_updates_total)
    final, layout = snapshot, snapshot.layout
    del snapshots, snapshot
    found = MemberLayout(
        member.name,
        Path(),
        graph.n_nodes,
        graph.n_steps,
        graph.total_length,
        final.seconds,
        final.n_updates,
        note=final.note,
        facts=measure_graph(graph),
    )
    if plan.stress_samples != 0:
        measured = graph_to_measure(graph)
        for progress in iter_sampled_path_stress(
            measured,
            layout,
            n_samples=plan.stress_samples,
            seed=options.get("seed", 0),
            backend=backend,
        ):
            yield say("Path stress", progress.n_done, progress.n_total)
        stress = progress.stress
        means = (
            value if math.isfinite(value) else None
            for value in (stress.mean, stress.ci_low, stress.ci_high)
        )
        found = replace(found, **dict(zip(STRESS, means, strict=True)))
    return found, layout


def lay_out_at_worker(
    member: GraphMember, source: Source, plan: LayoutPlan, cache: bool, backend: Backend
) -> tuple[MemberLayout, np.ndarray | None]:
    """Return what came of a graph, and the coordinates of its layout; at a worker."""
    try:
        try:
            own = Source.of(member.path)
        except OSError as error:
            raise FileFormatError(member.path, f"is not there for a worker: {error}") from None
        if (own.size, own.sha256) != (source.size, source.sha256):
            raise FileFormatError(
                member.path, "is another file for a worker, needs one place that all see"
            )
        reader = reader_for_layouts(cache)
        found, layout = finish(iter_lay_out(member, plan, reader, backend))
    except Exception as error:  # of one graph, and the others go on
        return MemberLayout(member.name, Path(), problem=explain(error)), None
    return found, layout.coordinates


def explain(error: Exception) -> str:
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
