"""Reading of pangenome graphs from GBZ-base databases (``.gbz.db``), a GBZ as SQLite tables.

================== ===============================================================================
``Tags``           key and value: the version of the schema, counts, the tags of the GBZ
``Nodes``          a row for each orientation of a node, by its handle (2 id, 2 id + 1): the
                   record of the GBWT in two parts, edges and runs, and the sequence, three bases
                   a byte in base 6 (1 to 5 for ACGTN; 0 after the last one)
``Paths``          names, and the first visit of each path in both directions as handle and offset
``ReferenceIndex`` about every 1,000 bp of each indexed path: the bp, and the visit that begins
================== ===============================================================================

References
----------
README.md, and the schema in src/db.rs and src/utils.rs, of jltsiren/gbz-base
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import numpy as np

from genoviz.backend import Backend, load_kernel
from genoviz.errors import FileFormatError
from genoviz.generators import in_one_go
from genoviz.io.files.file_source import find_source
from genoviz.io.graph import gbz_loops
from genoviz.io.graph.gbz import iter_read_saved
from genoviz.io.graph.gbz_graph import (
    Progress,
    build_graph,
    check_name,
    make_nodes,
    measure_visits,
)
from genoviz.io.graph.gbz_parts import GbwtIndex, PathFields, StoredPath, find_slots
from genoviz.io.graph.gfa import GfaProgress
from genoviz.io.graph.simple_sds import ElementReader
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.sequences.bases import reverse_complement

SQLITE_MAGIC = b"SQLite format 3\0"
WHOLE_BYTES = 64 << 20
_VERSIONS = ("GBZ-base version 4", "GBZ-base v0.4.0", "0.2.0")
_ROWS = 1 << 16
_SPARSE, _FREE_SLOTS = 64, 1 << 20
_MAX_FIELD = (1 << 32) - 1
_BASES = np.frombuffer(b"\0ACGTN", np.uint8)
_CODES = np.arange(216)
_TRIPLES = _BASES[np.stack([_CODES % 6, _CODES // 6 % 6, _CODES // 36], axis=1)]


class GbzBase(contextlib.AbstractContextManager):
    """An open database; the constructor reads its tags and checks its version.

    Raises
    ------
    FileFormatError
        If it is missing, not a GBZ-base database, of another version, or damaged. All methods raise
        it if the data that they read are damaged.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileFormatError(self.path, "does not exist or is no file, needs a database")
        name = f"file:{quote(str(self.path.resolve()))}?mode=ro"
        self._connection = sqlite3.connect(name, uri=True, check_same_thread=False)
        try:
            self.tags = self._read_tags()
        except FileFormatError:
            self._connection.close()
            raise

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def refuse(self, found: str) -> FileFormatError:
        """Return an error with this finding."""
        return FileFormatError(self.path, found)

    def rows(self, command: str, values: Sequence[int] = ()) -> Iterator[list[tuple]]:
        """Yield the rows of a query in batches."""
        try:
            cursor = self._connection.execute(command, values)
            while rows := cursor.fetchmany(_ROWS):
                yield rows
        except (sqlite3.Error, UnicodeError, OverflowError) as error:
            raise self.refuse(
                f"cannot be read as a database of GBZ-base ({error}; damaged, or another database)"
            ) from error

    def _read_tags(self) -> dict[str, str]:
        tags = dict(row for rows in self.rows("SELECT key, value FROM Tags") for row in rows)
        version = tags.get("version")
        if version not in _VERSIONS:
            raise self.refuse(
                f"is a database of version {version!r}, needs GBZ-base with one of "
                f"{', '.join(map(repr, _VERSIONS))}"
            )
        if not all(isinstance(each, str) for pair in tags.items() for each in pair):
            raise self.refuse("has a damaged table of tags")
        return tags

    def count(self, key: str) -> int:
        """Return a count of the header."""
        text = self.tags.get(key, "")
        if not (text.isascii() and text.isdigit() and len(text) < 16):
            raise self.refuse(f"has no number of {key} in its table of tags (damaged file)")
        return int(text)

    def paths(self) -> list[StoredPath]:
        """Return all paths in their order."""
        columns = (
            "handle, fw_node, fw_offset, rev_node, rev_offset, sample, contig, haplotype, "
            "fragment, is_indexed"
        )
        found = []
        for rows in self.rows(f"SELECT {columns} FROM Paths ORDER BY handle"):
            for row in rows:
                handle, *numbers, sample, contig, haplotype, fragment, is_indexed = row
                fields = (*numbers, haplotype, fragment, is_indexed)
                if (
                    handle != len(found)
                    or not all(isinstance(field, int) and field >= 0 for field in fields)
                    or not (isinstance(sample, str) and isinstance(contig, str))
                    or max(haplotype, fragment) > _MAX_FIELD
                ):
                    raise self.refuse(f"has a damaged row in its table of paths, its {handle!r}")
                starts = tuple(numbers[:2]), tuple(numbers[2:])
                names = sample, contig, haplotype, fragment
                found.append(StoredPath(handle, starts, *names, is_indexed != 0))
        if len(found) != self.count("paths"):
            raise self.refuse(
                f"has {len(found):,} paths, and counts {self.count('paths'):,} (damaged file)"
            )
        return found

    def decode(self, texts: Sequence[object]) -> ByteStrings:
        """Decode sequences stored as three bases per byte."""
        if not all(isinstance(text, bytes) and text for text in texts):
            raise self.refuse("has a node without a sequence (damaged file)")
        ends = np.cumsum([len(text) for text in texts])
        codes = np.frombuffer(b"".join(texts), np.uint8)
        wrong = codes >= len(_TRIPLES)
        bases = _TRIPLES[np.where(wrong, 0, codes)]
        counts = (bases != 0).sum(axis=1)
        wrong |= (counts == 0) | ((bases[:, 1] == 0) & (bases[:, 2] != 0)) | (bases[:, 0] == 0)
        is_last = np.zeros(len(codes), np.bool_)
        is_last[ends - 1] = True
        if wrong.any() or ((counts < 3) & ~is_last).any():
            raise self.refuse("has a damaged sequence")
        offsets = np.append(0, np.cumsum(counts)[ends - 1]).astype(np.int64)
        return ByteStrings(bases[bases != 0], offsets)


def is_large_base(path: str | PathLike[str]) -> bool:
    """Return whether a file is a database too large to be read completely for a part of it."""
    path = Path(path)
    if not path.is_file() or path.stat().st_size <= WHOLE_BYTES:
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC


def iter_read_gbz_base(
    path: str | PathLike[str],
    *,
    sequences: bool = True,
    cache: bool = True,
    backend: Backend = "cpu",
) -> Iterator[GfaProgress]:
    """Yield the progress of reading a GBZ-base database; the last report has the graph.

    The result is the original GBZ graph with its stored nodes, because a database has no segments.
    It is read completely; see :mod:`genoviz.io.graph.gbz_base_part` for parts.

    Parameters
    ----------
    path
        The database.
    sequences
        Whether to keep the sequences of the nodes, one byte per base.
    cache
        Whether to cache the graph in the user's cache folder, and to reuse it if the file is
        unchanged.
    backend
        Where to decode the paths: ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    FileFormatError
        If the file cannot be read, is not a GBZ-base database, or is damaged.
    BackendError
        If the backend is unknown or cannot be used.
    """
    path, kernel = Path(path), load_kernel("gbwt", backend)
    source = find_source(path) if cache else None
    parsing = _parse(path, sequences, kernel)
    yield from iter_read_saved(path, source, parsing, sequences=sequences)


@in_one_go(iter_read_gbz_base)
def read_gbz_base(last: GfaProgress) -> PangenomeGraph:
    """Return the graph of a GBZ-base database; see :func:`iter_read_gbz_base`."""
    return last.graph


def _parse(
    path: Path, sequences: bool, kernel: ModuleType
) -> Generator[Progress, None, PangenomeGraph]:
    with GbzBase(path) as base:
        paths, n_nodes = base.paths(), base.count("nodes")
        handles, sizes, records, bases = yield from _read_nodes(base, n_nodes)
    tags = {
        prefix: {
            key.removeprefix(prefix).lower(): value
            for key, value in base.tags.items()
            if key.startswith(prefix)
        }
        for prefix in ("gbwt_", "gbz_")
    }
    first, n_slots = int(handles[0]) // 2, (int(handles[-1]) - int(handles[0]) + 1) // 2
    data, record_bytes = _spread_records(handles - 2 * first, sizes, records, 2 * n_slots)
    del records
    index = GbwtIndex(2 * len(paths), 0, 2 * first - 1, record_bytes, data, tags["gbwt_"])
    reader = ElementReader(path, data)
    record_starts = measure_visits(reader, index, kernel)
    starts = _find_starts(reader, index, paths, record_starts)
    index = replace(index, starts=starts)
    lengths = np.zeros(n_slots, np.int64)
    lengths[handles[::2] // 2 - first] = bases.lengths
    offsets = np.append(0, np.cumsum(lengths))
    slots = find_slots(reader, index, n_nodes, offsets)
    edges, _ = gbz_loops.list_edges(data, record_bytes, index.offset)
    if edges is None:
        raise base.refuse("has a link in one direction alone (damaged file)")
    yield from check_name(reader, tags["gbz_"], index, slots, edges, bases.data, offsets)
    fields = _name_fields(paths)
    kept = bases.data if sequences else None
    nodes = yield from make_nodes(reader, index, slots, edges, kept, offsets, None)
    graph = yield from build_graph(reader, index, fields, record_starts, nodes, [], kernel)
    return graph


def _read_nodes(
    base: GbzBase, n_nodes: int
) -> Generator[Progress, None, tuple[np.ndarray, np.ndarray, bytes, ByteStrings]]:
    """Return handles, record sizes, concatenated records, and node sequences."""
    handles, sizes, records, bases = [], [], [], []
    command, n_done = "SELECT handle, edges, bwt, sequence FROM Nodes ORDER BY handle", 0
    for rows in base.rows(command):
        n_done += len(rows)
        yield "Reading nodes", min(n_done, 2 * n_nodes), 2 * n_nodes
        numbers, edges, runs, texts = zip(*rows, strict=True)
        if not all(isinstance(part, bytes) for part in (*edges, *runs)) or len(rows) % 2:
            raise base.refuse("has a damaged row in its table of nodes")
        handles.append(np.array(numbers, np.int64))
        parts = [a + b for a, b in zip(edges, runs, strict=True)]
        sizes.append(np.array([len(part) for part in parts], np.int64))
        records.append(b"".join(parts))
        forward, reverse = base.decode(texts[::2]), base.decode(texts[1::2])
        backwards = reverse.take(np.arange(len(reverse))[::-1])
        if (
            not np.array_equal(backwards.data, reverse_complement(forward.data))
            or (forward.offsets != reverse.offsets).any()
        ):
            raise base.refuse("has a node whose two strands are not each other's (damaged file)")
        bases.append(forward)
    if n_done != 2 * n_nodes or n_nodes == 0:
        raise base.refuse(
            f"has {n_done:,} rows in its table of nodes, needs two for each of {n_nodes:,} nodes"
        )
    numbers = np.concatenate(handles)
    if (numbers[::2] & 1).any() or (numbers[1::2] != numbers[::2] + 1).any() or numbers[0] < 2:
        raise base.refuse("has a node in one orientation alone (damaged file)")
    if int(numbers[-1] - numbers[0]) // 2 > _SPARSE * n_nodes + _FREE_SLOTS:
        raise base.refuse(
            f"has {n_nodes:,} nodes with numbers from {numbers[0] // 2:,} to {numbers[-1] // 2:,}, "
            "needs numbers that are closer together"
        )
    offsets = np.append(0, np.cumsum(np.concatenate([each.lengths for each in bases])))
    together = ByteStrings(np.concatenate([each.data for each in bases]), offsets)
    return numbers, np.concatenate(sizes), b"".join(records), together


def _spread_records(
    places: np.ndarray, sizes: np.ndarray, records: bytes, n_places: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return records and bounds in the form of a GBZ: endmarker first, gaps as empty records."""
    all_sizes = np.ones(1 + n_places, np.int64)
    all_sizes[1 + places] = sizes
    bounds = np.append(0, np.cumsum(all_sizes))
    is_gap = np.ones(1 + n_places, np.bool_)
    is_gap[1 + places] = False
    is_there = np.ones(bounds[-1], np.bool_)
    is_there[bounds[:-1][is_gap]] = False
    data = np.zeros(bounds[-1], np.uint8)
    data[is_there] = np.frombuffer(records, np.uint8)
    data.flags.writeable = False  # as that of a file: else the kernels compile twice
    return data, bounds


def _find_starts(
    reader: ElementReader, index: GbwtIndex, paths: list[StoredPath], record_starts: np.ndarray
) -> np.ndarray:
    """Return the first visit of each sequence, -1 for an empty one."""
    found = np.array([path.starts for path in paths], np.int64).reshape(-1, 2)
    handles, offsets = found[:, 0] - index.offset - 1, found[:, 1]
    n_places = 2 * index.n_slots
    is_empty = found[:, 0] == 0
    if ((handles < 0) | (handles >= n_places))[~is_empty].any():
        raise reader.refuse("has a path that begins at a node that is not there (damaged file)")
    slots = handles >> 1
    places = np.where(is_empty, 0, np.where(handles & 1, n_places - 1 - slots, slots))
    starts = record_starts[places] + offsets
    if (starts >= record_starts[places + 1])[~is_empty].any():
        raise reader.refuse("has a path that begins beyond the visits of a node (damaged file)")
    return np.where(is_empty, -1, starts)


def _name_fields(paths: list[StoredPath]) -> PathFields:
    """Return the names of paths in the form of a GBZ."""
    samples = list(dict.fromkeys(path.sample for path in paths))
    contigs = list(dict.fromkeys(path.contig for path in paths))
    ranks = [{name: rank for rank, name in enumerate(names)} for names in (samples, contigs)]
    rows = [
        (ranks[0][path.sample], ranks[1][path.contig], path.haplotype, path.fragment)
        for path in paths
    ]
    fields = np.array(rows, np.uint32).reshape(-1, 4)
    return PathFields(fields, ByteStrings.from_texts(samples), ByteStrings.from_texts(contigs))
