"""Folders and lists of graphs that a server is started with, and their layouts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from genoviz.collection.members import (
    CollectionProgress,
    GraphCollection,
    GraphMember,
    iter_list_chromosomes,
    read_collection,
)
from genoviz.collection.records import SUMMARY, find_layout_files, read_record
from genoviz.errors import FileFormatError
from genoviz.generators import report
from genoviz.io.graph.gbz_parts import count_gbz
from genoviz_app.opening.apart import iter_apart
from genoviz_app.opening.memory import server_memory

MIN_STEPS = 1 << 24
"""A GBZ file with fewer steps opens at once, with its chromosomes side by side."""
SECONDS_BETWEEN_WORDS, SECONDS_BETWEEN_LOOKS = 5, 0.02


class InCollection(NamedTuple):
    """Membership of a graph in a collection.

    Attributes
    ----------
    name
        Its name in the collection, such as a chromosome.
    place
        Path of its layout, existing or not.
    source
        Where the collection was read from.
    """

    name: str
    place: Path
    source: Path


NO_MEMBERS: Mapping[Path, InCollection] = MappingProxyType({})


class ExpandedFiles(NamedTuple):
    """Files that a server is started with, and the collection members among them."""

    paths: tuple[Path, ...]
    members: Mapping[Path, InCollection]


def expand_collections(
    paths: Iterable[Path], say: Callable[[str], None] = lambda _: None
) -> ExpandedFiles:
    """Replace each collection by its graphs, each followed by its layout.

    A collection is a folder of graphs, a TOML list, or a GBZ file of several chromosomes. Its
    layouts are those that ``genoviz layout --all`` makes: in the folder itself, or in a following
    folder that has layouts or is empty.

    Parameters
    ----------
    paths
        The files and folders.
    say
        Called with a sentence from time to time while the chromosomes of a file are searched,
        which takes minutes the first time.

    Raises
    ------
    FileFormatError
        If a folder has no graphs, or a list is invalid.
    """
    found: list[Path] = []
    members: dict[Path, InCollection] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop(0)
        if path.is_dir() or path.suffix.lower() == ".toml":
            collection = read_collection(path)
        elif (collection := _chromosomes_of(path, say)) is None:
            found.append(path)
            continue
        folder = path if path.is_dir() else path.parent
        if waiting and _is_for_layouts(waiting[0]):
            folder = waiting.pop(0)
        layouts = find_layout_files(collection, folder)
        for member in collection:
            found.append(member.address)
            layout = layouts[member.name]
            known = InCollection(member.name, layout.resolve(), path.resolve())
            members[member.address.resolve()] = known
            if read_record(member, layout) is not None:
                found.append(layout)
    return ExpandedFiles(tuple(found), members)


def _chromosomes_of(path: Path, say: Callable[[str], None]) -> GraphCollection | None:
    """Return the chromosomes of a large GBZ file; None for other files, which are opened whole."""
    counts = count_gbz(path)
    if counts is None or counts[1] < MIN_STEPS:
        return None
    last, members = time.monotonic(), ()
    try:
        for step in iter_apart(_iter_list, path, max_bytes=server_memory()):
            if step is None:
                time.sleep(SECONDS_BETWEEN_LOOKS)
            elif step.opened is not None:
                members = step.opened
            elif time.monotonic() - last >= SECONDS_BETWEEN_WORDS:
                last = time.monotonic()
                say(f"{path.name}: {step.text}, {step.percent} %")
    except FileFormatError as error:
        say(f"{error}; it is opened as a whole")
        return None
    return GraphCollection(str(path), members) if members else None


@dataclass(frozen=True)
class _Listing:
    """How far the search for chromosomes is; the last one has them."""

    text: str
    percent: int
    opened: tuple[GraphMember, ...] | None = None


def _iter_list(path: Path) -> Iterator[_Listing]:
    def tell(step: CollectionProgress) -> _Listing:
        percent = 100 * step.n_bytes_done // max(step.n_bytes_total, 1)
        return _Listing(f"{step.stage[0].lower()}{step.stage[1:]}", percent)

    members = yield from report(iter_list_chromosomes(path), tell)
    yield _Listing("ready", 100, members)


def _is_for_layouts(path: Path) -> bool:
    return (path / SUMMARY).is_file() or (path.is_dir() and not any(path.iterdir()))
