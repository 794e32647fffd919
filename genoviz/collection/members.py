"""Collections of graphs: a folder, a file pattern, a TOML list, or the parts of one file."""

from __future__ import annotations

import glob
import re
import tomllib
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from genoviz.analyses.graph.query.chromosomes import (
    find_chromosomes,
)
from genoviz.collection.gbz_file import GbzFile
from genoviz.errors import FileFormatError, ParameterError
from genoviz.generators import in_one_go, report
from genoviz.io.files.content import unreadable
from genoviz.io.files.file_source import file_at, find_source
from genoviz.io.graph.cache import peek_sizes
from genoviz.io.graph.gbz_parts import count_gbz
from genoviz.io.graph.reader import iter_read_graph

ENDINGS = (".gfa", ".gbz", ".rgfa")
PACKED = (".gz", ".bgz")
GRAPHS = "graphs"
_NUMBERS = re.compile(r"(\d+)")
_STEPS_PER_BYTE, _STEPS_PER_PACKED_BYTE = 0.1, 0.4


@dataclass(frozen=True)
class GraphMember:
    """One graph of a collection.

    Attributes
    ----------
    name
        Unique name in the collection: the file name without its endings, the chromosome, or the
        name in the list.
    path
        The file.
    part
        Chromosome or component within the file, as named by `find_chromosomes`; None for the whole
        file.
    n_nodes, n_steps, length
        Numbers of nodes and steps, and length in bp; None if unknown before reading the file.
    n_bytes
        Size of the file.
    """

    name: str
    path: Path
    part: str | None = None
    n_nodes: int | None = None
    n_steps: int | None = None
    length: int | None = None
    n_bytes: int = 0

    @classmethod
    def at(cls, address: Path) -> GraphMember:
        """Return the graph at an address: a file, or a file followed by one of its parts.

        Examples
        --------
        >>> GraphMember.at(Path("missing/chr6.gfa.gz"))
        GraphMember(name='chr6', path=PosixPath('missing/chr6.gfa.gz'), part=None, ...)
        """
        file = file_at(address)
        if file == address:
            return cls(_stem(address), address)
        part = unquote(address.name)
        return cls(part, file, part)

    @property
    def address(self) -> Path:
        """What names the graph among all files; see `at`.

        Examples
        --------
        >>> str(GraphMember("6", Path("all.gbz"), "chr6").address)
        'all.gbz/chr6'
        """
        if self.part is None:
            return self.path
        # Without dots, as an ending is that of a file format; and / would begin another name.
        return self.path / quote(self.part, safe="").replace(".", "%2E")

    @property
    def title(self) -> str:
        """What users read: the name of the file, and of the part if it is one."""
        return self.path.name if self.part is None else f"{self.part} of {self.path.name}"

    @property
    def weight(self) -> float:
        """Number of steps, or an estimate if it is unknown."""
        if self.n_steps is not None:
            return float(self.n_steps)
        is_packed = self.path.suffix.lower() in PACKED
        return self.n_bytes * (_STEPS_PER_PACKED_BYTE if is_packed else _STEPS_PER_BYTE)


@dataclass(frozen=True, repr=False)
class GraphCollection:
    """Graphs that belong together, such as the chromosomes of a genome.

    Attributes
    ----------
    source
        Where the collection was read from.
    members
        The graphs, in list order or in natural order of their names (chr2 before chr10).
    """

    source: str
    members: tuple[GraphMember, ...]

    def __len__(self) -> int:
        return len(self.members)

    def __iter__(self) -> Iterator[GraphMember]:
        return iter(self.members)

    def __getitem__(self, name: str) -> GraphMember:
        """Return the member with this name.

        Raises
        ------
        ParameterError
            If there is no such member.
        """
        for member in self.members:
            if member.name == name:
                return member
        some = ", ".join(self.names[:4])
        raise ParameterError(f"the collection has no graph named {name!r}; it has {some}")

    def __repr__(self) -> str:
        return f"GraphCollection({len(self)} graphs: {', '.join(self.names[:3])}, ...)"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(member.name for member in self.members)

    @property
    def largest_first(self) -> tuple[GraphMember, ...]:
        """The members, those with the most steps first, as far as the numbers are known."""
        return tuple(sorted(self.members, key=lambda member: -member.weight))


@dataclass(frozen=True)
class CollectionProgress:
    """Progress of reading a collection; the last report has the collection."""

    stage: str
    n_bytes_done: int
    n_bytes_total: int
    collection: GraphCollection | None = None


def iter_read_collection(
    source: str | PathLike[str], *, cache: bool = True
) -> Iterator[CollectionProgress]:
    """Yield the progress of reading a collection; the last report has the collection.

    Graphs are not read, except if the collection is a single file; its chromosomes are then
    searched (see `find_chromosomes`). Sizes come from the cache or from the header of a GBZ file.

    Parameters
    ----------
    source
        One of

        - a folder: each GFA and GBZ file in it is a graph;
        - a file pattern: ``graphs/chr*.gfa.gz``;
        - a TOML file with a table ``[graphs]`` of names and files, relative to the TOML file:
          ``chr1 = "chr1.gfa.gz"``, or ``chr6 = {file = "all.gbz", part = "chr6"}`` for a part of
          a file;
        - one GFA or GBZ file: each chromosome in it is a graph.
    cache
        Whether to use the user's cache folder for parsed graphs.

    Raises
    ------
    FileFormatError
        If there is no graph, or the list or a file is invalid.
    ParameterError
        If two graphs have the same name.
    """
    path = Path(source)
    if path.is_dir():
        members = _name_files(_list_folder(path), path)
    elif not path.exists() and glob.has_magic(str(source)):
        found = [Path(name) for name in glob.glob(str(source), recursive=True)]  # noqa: PTH207
        members = _name_files([each for each in found if each.is_file()], path)
    elif path.suffix.lower() == ".toml":
        members = _read_list(path)
    else:
        members = yield from _read_parts(path, cache)
    members = tuple(map(_add_sizes, members))
    yield CollectionProgress("Done", 1, 1, GraphCollection(str(source), members))


@in_one_go(iter_read_collection)
def read_collection(last: CollectionProgress) -> GraphCollection:
    """Return the graphs of a genome; see :func:`iter_read_collection`."""
    return last.collection


def _list_folder(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and _is_graph(path)]


def _is_graph(path: Path) -> bool:
    name = path.name.lower()
    for packed in PACKED:
        name = name.removesuffix(packed)
    return name.endswith(ENDINGS) and not name.startswith(".")


def _stem(path: Path) -> str:
    name = path.name
    for ending in (*PACKED, *ENDINGS):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return name or path.name


def _name_files(paths: list[Path], source: Path) -> list[GraphMember]:
    if not paths:
        raise FileFormatError(source, "has no graph, needs files that end in .gfa, .gfa.gz or .gbz")
    by_name: dict[str, Path] = {}
    for path in sorted(paths):
        name = _stem(path)
        if name in by_name:
            raise ParameterError(
                f"{by_name[name].name} and {path.name} would both be named {name!r}, "
                "needs one graph for each name"
            )
        by_name[name] = path
    return [GraphMember(name, by_name[name]) for name in sorted(by_name, key=natural_order)]


def natural_order(name: str) -> list[tuple[int, int | str]]:
    """Return a sort key that orders chr2 before chr10, and both before chrX."""
    parts = _NUMBERS.split(name)
    return [(0, int(part)) if k % 2 else (1, part.lower()) for k, part in enumerate(parts) if part]


def _read_list(path: Path) -> list[GraphMember]:
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FileFormatError(path, "is not text in UTF-8") from error
    except OSError as error:
        raise unreadable(path, error) from error
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(path, f"is not TOML: {error}") from error
    graphs = content.get(GRAPHS)
    if not isinstance(graphs, Mapping) or not graphs:
        raise FileFormatError(
            path, f'has no table [{GRAPHS}], needs one with lines such as chr1 = "chr1.gfa.gz"'
        )
    return [_listed(path, name, entry) for name, entry in graphs.items()]


def _listed(path: Path, name: str, entry: Any) -> GraphMember:
    if isinstance(entry, str):
        entry = {"file": entry}
    if (
        not isinstance(entry, Mapping)
        or not {"file"} <= entry.keys() <= {"file", "part"}
        or not all(isinstance(value, str) and value for value in entry.values())
        or not name
    ):
        raise FileFormatError(
            path,
            f'{name!r} is {entry!r}, needs a file ("chr1.gfa.gz") or '
            '{file = "all.gbz", part = "chr1"}',
        )
    file = path.absolute().parent / entry["file"]
    if not file.is_file():
        raise FileFormatError(path, f"{name!r} names {entry['file']}, and there is no such file")
    return GraphMember(name, file, entry.get("part"))


def iter_list_chromosomes(
    path: Path, *, cache: bool = True
) -> Generator[CollectionProgress, None, tuple[GraphMember, ...]]:
    """Return the chromosomes of a GBZ file in natural order; none if it is read at once.

    The first time, all are decoded.

    Raises
    ------
    FileFormatError
        If the file cannot be read.
    """
    # With sequences in the cache, as those who read its parts want them.
    parts = yield from report(
        GbzFile(path, sequences=cache, cache=cache).iter_list(),
        lambda step: CollectionProgress(step.stage, step.n_bytes_done, step.n_bytes_total),
    )
    members = [GraphMember(part.name, path, part.name, *part[1:4]) for part in parts]
    return tuple(sorted(members, key=lambda member: natural_order(member.name)))


def _read_parts(
    path: Path, cache: bool
) -> Generator[CollectionProgress, None, Iterable[GraphMember]]:
    if count_gbz(path) is not None:
        members = yield from iter_list_chromosomes(path, cache=cache)
        if members:
            return members
    graph = None
    for progress in iter_read_graph(path, sequences=cache, cache=cache):
        graph = progress.graph
        yield CollectionProgress(progress.stage, progress.n_bytes_done, progress.n_bytes_total)
    yield CollectionProgress("Finding chromosomes", 0, 1)
    chromosomes = find_chromosomes(graph)
    names, sizes = chromosomes.names, chromosomes.sizes(graph)
    members = [
        GraphMember(name, path, name if len(names) > 1 else None, *own)
        for name, own in zip(names, sizes, strict=True)
    ]
    return sorted(members, key=lambda member: natural_order(member.name))


def _add_sizes(member: GraphMember) -> GraphMember:
    """Return the member with the sizes that are known without reading the graph."""
    path = member.path
    try:
        member = replace(member, n_bytes=path.stat().st_size)
        if member.part is not None or member.n_nodes is not None:
            return member
        source = find_source(path)
        sizes = peek_sizes(source) if source else None
        if sizes is not None:
            return replace(member, n_nodes=sizes[0], n_steps=sizes[1], length=sizes[2])
        counts = count_gbz(path) if path.suffix.lower() == ".gbz" else None
        return member if counts is None else replace(member, n_steps=counts[1])
    except OSError as error:
        raise unreadable(path, error) from error
