"""Folders and lists of graphs that a server is started with, and their layouts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from genoviz.collection.members import (
    CollectionProgress,
    GraphCollection,
    iter_list_chromosomes,
    read_collection,
)
from genoviz.collection.records import SUMMARY, find_layout_files, read_record
from genoviz.errors import FileFormatError
from genoviz.generators import finish, report
from genoviz.io.graph.gbz_parts import count_gbz

MIN_STEPS = 1 << 24
"""A GBZ file with fewer steps opens at once, with its chromosomes side by side."""
SECONDS_BETWEEN_WORDS = 5


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
    last = time.monotonic()

    def say_seldom(progress: CollectionProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_WORDS:
            last = time.monotonic()
            percent = 100 * progress.n_bytes_done // max(progress.n_bytes_total, 1)
            say(f"{path.name}: {progress.stage[0].lower()}{progress.stage[1:]}, {percent} %")

    try:
        members = finish(report(iter_list_chromosomes(path), say_seldom))
    except FileFormatError:  # the page says it where the file is opened
        return None
    return GraphCollection(str(path), members) if members else None


def _is_for_layouts(path: Path) -> bool:
    return (path / SUMMARY).is_file() or (path.is_dir() and not any(path.iterdir()))
