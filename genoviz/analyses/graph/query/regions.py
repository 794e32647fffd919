"""Parsing of region strings, and their lookup on the paths of a graph."""

from __future__ import annotations

from collections.abc import Iterable

from genoviz.errors import ParameterError
from genoviz.model import PangenomeGraph, PathRegion
from genoviz.model.graph.path_region import split_region


def resolve_region(graph: PangenomeGraph, text: str) -> tuple[PathRegion, ...]:
    """Return the path regions that a text names; 0-based half-open, at least one.

    The forms are ``NAME``, ``NAME:position`` and ``NAME:start-end``; numbers may contain commas. If
    ``NAME`` is exactly the name of a path, positions count from the path's first base. Otherwise it
    names a contig: the path names without their ranges (``:start-end``, ``[start]``), or
    ``sample#contig``, contig or sample if that is unambiguous. Positions are then those of the
    contig, and each sub-path that overlaps the region returns its part. Regions are clipped to the
    paths.

    Raises
    ------
    ParameterError
        If the text is not a region, there is no such path, or the region lies beyond its paths.

    Examples
    --------
    >>> from genoviz import simulate_pangenome
    >>> graph = simulate_pangenome(n_nodes=100, n_paths=2, seed=1)
    >>> name = graph.path_names[0]
    >>> resolve_region(graph, f"{name}:1,000-2,000")[0].length
    1000
    """
    text = text.strip()
    directory = graph.path_directory
    whole = directory.exact(text) or directory.sub_paths(text)
    if whole:
        return tuple(_part(graph, path, 0, int(graph.path_lengths[path])) for path in whole)
    place = split_region(text)
    if place is None:
        if ":" in text or not text:
            raise ParameterError(
                f"region is {text!r}, needs a path, path:position or path:start-end"
            )
        raise directory.unknown(text)
    name, start, end = place
    end = start + 1 if end is None else end
    exact = directory.exact(name)
    paths = exact or directory.sub_paths(name)
    if not paths:
        raise directory.unknown(name)
    found = clip_to_paths(graph, paths, start, end, is_local=bool(exact))
    if not found:
        raise ParameterError(_explain_outside(graph, text, paths, is_local=bool(exact)))
    return found


def clip_to_paths(
    graph: PangenomeGraph, paths: Iterable[int], start: int, end: int, *, is_local: bool
) -> tuple[PathRegion, ...]:
    """Return the parts of ``start`` to ``end`` that lie on paths.

    Positions count from the first base of each path if ``is_local``, otherwise from that of its
    contig.
    """
    found = []
    for path in paths:
        first = 0 if is_local else int(graph.path_starts[path])
        local_start = max(start - first, 0)
        local_end = min(end - first, int(graph.path_lengths[path]))
        if local_start < local_end:
            found.append(_part(graph, path, local_start, local_end))
    return tuple(found)


def _part(graph: PangenomeGraph, path: int, start: int, end: int) -> PathRegion:
    return PathRegion(graph.path_names[path], start, end)


def _explain_outside(
    graph: PangenomeGraph, text: str, paths: tuple[int, ...], *, is_local: bool
) -> str:
    first = paths[0]
    if is_local:
        return (
            f"region {text!r} lies outside its path, which has {graph.path_lengths[first]:,} bp, "
            "counted from 0"
        )
    starts = graph.path_starts[list(paths)]
    there = ", ".join(
        f"{start:,}-{start + length:,}"
        for start, length in sorted(
            zip(starts.tolist(), graph.path_lengths[list(paths)].tolist(), strict=True)
        )[:4]
    )
    return f"region {text!r} is not in the graph, which has {there} of that contig"
