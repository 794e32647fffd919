"""Folders and lists of graphs that a server is started with, and their layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from genoviz.collection.members import read_collection
from genoviz.collection.records import SUMMARY, find_layout_files, read_record
from genoviz.errors import ParameterError


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


def expand_collections(paths: Iterable[Path]) -> ExpandedFiles:
    """Replace each collection by its graphs, each followed by its layout.

    A collection is a folder of graphs or a TOML list. Its layouts are those that ``genoviz layout
    --all`` makes: in the folder itself, or in a following folder that has layouts or is empty.

    Raises
    ------
    FileFormatError
        If a folder has no graphs, or a list is invalid.
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
                    "can be served; genoviz split writes each to a file of its own"
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
