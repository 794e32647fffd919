"""Folders and lists of graphs that a server is started with, and where their layouts are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from genoviz.collection.members import read_collection
from genoviz.collection.records import SUMMARY, find_layout_files, read_record
from genoviz.errors import ParameterError


class InCollection(NamedTuple):
    """What a graph is of its collection.

    Attributes
    ----------
    name
        Its own, such as of a chromosome.
    place
        Where its layout is, or is looked for.
    source
        What the collection was read from.
    """

    name: str
    place: Path
    source: Path


NO_MEMBERS: Mapping[Path, InCollection] = MappingProxyType({})


class ExpandedFiles(NamedTuple):
    """Files that a server is started with, and what those are that are of a collection."""

    paths: tuple[Path, ...]
    members: Mapping[Path, InCollection]


def expand_collections(paths: Iterable[Path]) -> ExpandedFiles:
    """Return files, with the graphs of each collection in its place, each before its layout.

    A collection is a folder of graphs or a list of them in TOML. Its layouts are those that
    ``genoviz layout --all`` made of these files, or will make: in the folder itself, or in one
    that follows it, with layouts or with nothing in it.

    Raises
    ------
    FileFormatError
        If there is no graph in a folder, or a list is not as it needs to be.
    ParameterError
        If a graph of a list is a part of a file.
    """
    found: list[Path] = []
    members: dict[Path, InCollection] = {}
    waiting = list(paths)
    while waiting:
        path = waiting.pop(0)
        if not (path.is_dir() or path.suffix.lower() == ".toml"):
            found.append(path)
            continue
        collection = read_collection(path)
        folder = path if path.is_dir() else path.parent
        if waiting and _is_for_layouts(waiting[0]):
            folder = waiting.pop(0)
        layouts = find_layout_files(collection, folder)
        for member in collection:
            if member.part is not None:
                raise ParameterError(
                    f"{path.name} names {member.part} of {member.path.name}, and only whole files "
                    "can be served; write each graph to a file of its own"
                )
            found.append(member.path)
            layout = layouts[member.name]
            known = InCollection(member.name, layout.resolve(), path.resolve())
            members[member.path.resolve()] = known
            if read_record(member, layout) is not None:
                found.append(layout)
    return ExpandedFiles(tuple(found), members)


def _is_for_layouts(path: Path) -> bool:
    return (path / SUMMARY).is_file() or (path.is_dir() and not any(path.iterdir()))
