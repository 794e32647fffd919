"""Pangenome graphs from GBZ files, versions 1 to 3: haplotypes in a GBWT, and sequences of nodes.

References
----------
SERIALIZATION.md of jltsiren/gbwtgraph and of jltsiren/gbwt; Sirén, Paten 2022: GBZ file format for
pangenome graphs, https://doi.org/10.1093/bioinformatics/btac656
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.generators import report
from genoviz.io.files.content import open_content
from genoviz.io.files.file_source import find_source
from genoviz.io.graph import gbz_loops
from genoviz.io.graph.cache import load_graph, store_graph
from genoviz.io.graph.gfa import GfaProgress
from genoviz.io.graph.gfa_names import RepeatedNameError, build_node_table
from genoviz.io.graph.simple_sds import ElementReader
from genoviz.kernels.gbwt import FAULTS, NO_STEP
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.graph.indexes import PositionIndex
from genoviz.model.graph.pangenome import MAX_NODES

GBZ_MAGIC = b"GBZ "
_GBWT_TAG, _METADATA_TAG, _GRAPH_TAG = 0x6B376B37, 0x6B375E7A, 0x6B3764AF
_GBZ_VERSIONS, _GBWT_VERSIONS, _GRAPH_VERSIONS, _METADATA_VERSIONS = (1, 2, 3), (5, 6), (3, 4), (2,)
_ZSTD_GBWT, _ZSTD_GRAPH = 6, 4
_BIDIRECTIONAL, _HAS_METADATA, _IS_SIMPLE_SDS = 1, 2, 4
_HAS_TRANSLATION, _GRAPH_IS_SIMPLE_SDS = 1, 2
_GENERIC_SAMPLE = "_gbwt_ref"
_NO_PHASE = 0xFFFFFFFF
_NAME_TAG = "pggname"
_LETTERS = ord("A"), ord("z")
_MAX_SIZE = 1 << 48
_START_BYTES = 1 << 16

Progress = tuple[str, int, int]


@dataclass(frozen=True)
class _Index:
    """The GBWT: records and what its header says."""

    n_sequences: int
    size: int
    offset: int
    record_bytes: np.ndarray
    data: np.ndarray
    tags: dict[str, str]

    @property
    def n_slots(self) -> int:
        return (len(self.record_bytes) - 2) // 2

    @property
    def first_node(self) -> int:
        return self.offset // 2 + 1


@dataclass(frozen=True)
class _Names:
    """Names of the paths: four numbers of each path, and the names of samples and contigs."""

    paths: np.ndarray
    samples: ByteStrings
    contigs: ByteStrings


@dataclass(frozen=True)
class _Translation:
    """Segments: their names and the slot of the first node of each, and after the last one."""

    names: ByteStrings
    bounds: np.ndarray


def read_gbz(
    path: str | PathLike[str],
    *,
    sequences: bool = True,
    segments: bool = True,
    cache: bool = True,
    kernel: ModuleType | None = None,
) -> PangenomeGraph:
    """Return the graph of a GBZ file; see :func:`iter_read_gbz`."""
    for progress in iter_read_gbz(
        path, sequences=sequences, segments=segments, cache=cache, kernel=kernel
    ):
        graph = progress.graph
    return graph


def iter_read_gbz(
    path: str | PathLike[str],
    *,
    sequences: bool = True,
    segments: bool = True,
    cache: bool = True,
    kernel: ModuleType | None = None,
) -> Iterator[GfaProgress]:
    """Yield how far the reading of a GBZ file is; the last report has the graph.

    Versions 1 to 3 are read. Paths have the names that they have in a GFA: haplotypes are walks,
    ``sample#haplotype#contig:start-end``, and generic paths have a name of their own. Links are
    those that paths take. What the file does not say twice cannot be checked: it is compared with
    the file's own counts, with the paths' reverses, and, with sequences, with its stable name.

    Parameters
    ----------
    path
        The file.
    sequences
        Whether to keep the sequences of the nodes, one byte a base.
    segments
        Whether nodes are the segments that the graph was made of, as in its GFA, and not the nodes
        as they are stored, of up to 1,024 bp, which aligned reads name. It makes no difference
        where the file does not say which nodes were cut from which.
    cache
        Whether to keep the graph in the user's cache folder, and to use it when the file has not
        changed.
    kernel
        What decodes the paths, ``cpu`` or ``cuda`` of `genoviz.kernels.gbwt`; by default ``cpu``.

    Raises
    ------
    FileFormatError
        If the file cannot be read, does not follow the format, or is damaged.

    References
    ----------
    Sirén, Paten 2022: GBZ file format for pangenome graphs.
    https://doi.org/10.1093/bioinformatics/btac656
    """
    path = Path(path)
    source = find_source(path) if cache and segments else None
    if source:
        loading = load_graph(source, sequences=sequences)
        graph = yield from report(
            loading, lambda step: GfaProgress("Opening the saved graph", *step)
        )
        if graph:
            yield GfaProgress("Done", source.size, source.size, graph)
            return
    content = yield from report(open_content(path), lambda step: GfaProgress("Copying", *step))
    kernel = kernel or import_module("genoviz.kernels.gbwt.cpu")
    try:
        graph = yield from report(
            _parse(path, content, sequences, segments, kernel), lambda step: GfaProgress(*step)
        )
    except MemoryError as error:
        raise FileFormatError(path, "holds more than this machine has memory for") from error
    n_bytes = len(content)
    del content
    if source:
        storing = store_graph(source, graph)
        yield from report(
            storing, lambda step: GfaProgress("Saving the graph for next time", *step)
        )
    yield GfaProgress("Done", n_bytes, n_bytes, graph)


def estimate_gbz(path: Path) -> int:
    """Return about how many bytes the graph of a GBZ file takes, by the counts at its beginning.

    It is 0 for a file that is no GBZ, or whose beginning is damaged.
    """
    with path.open("rb") as file:
        start = np.frombuffer(file.read(_START_BYTES), np.uint8)
    reader = ElementReader(path, start)
    try:
        _read_start(reader)
        _check_header(reader, "a GBWT", _GBWT_TAG, _GBWT_VERSIONS)
        n_sequences, size, offset, alphabet = (reader.element() for _ in range(4))
    except FileFormatError:
        return 0
    n_steps, n_nodes = max(size - n_sequences, 0) // 2, max(alphabet - offset, 0) // 2
    return 5 * n_steps + 120 * n_nodes + 4 * path.stat().st_size


def _parse(
    path: Path, content: np.ndarray, sequences: bool, segments: bool, kernel: ModuleType
) -> Generator[Progress, None, PangenomeGraph]:
    n_bytes = len(content)
    if n_bytes % 8:
        raise FileFormatError(
            path, f"has {n_bytes:,} bytes, needs a multiple of 8 (truncated or damaged file)"
        )
    reader = ElementReader(path, content)
    tags = _read_start(reader)
    yield "Reading the index", 0, n_bytes
    index = _read_index(reader)
    names = _read_names(reader, index)
    yield "Reading nodes", 8 * reader.at, n_bytes
    version, n_nodes, flags = _read_graph_header(reader)
    bases = reader.strings(
        "the list of sequences", is_compressed=version >= _ZSTD_GRAPH, wants=sequences
    )
    offsets = bases.offsets if sequences else bases[1]
    translation = _read_translation(reader, flags, len(offsets) - 1)
    if reader.at != len(reader.words):
        raise reader.refuse(
            f"goes on after its end at byte {8 * reader.at:,} (damaged file), needs to end there"
        )
    yield "Reading the index", n_bytes, n_bytes
    record_starts = _measure(reader, index, kernel)
    slots = _find_slots(reader, index, n_nodes, offsets)
    edges, ends = gbz_loops.list_edges(index.data, index.record_bytes, index.offset)
    if edges is None:
        raise reader.refuse("has a link in one direction alone in its GBWT (damaged file)")
    if sequences:
        data = bases.data
        yield from _check_name(reader, tags, index, slots, edges, data, offsets)
    else:
        data = None
    del bases
    notes = []
    if translation is not None:
        kept = _fit(index, translation, slots, edges, ends) if segments else None
        if segments and kept is None:
            notes.append(
                "Paths begin, end or branch within segments: nodes are shown as they are stored."
            )
        translation = kept
    graph = yield from _build(
        reader, index, names, record_starts, slots, edges, data, offsets, translation, notes, kernel
    )
    return graph


# What is in the file --------------------------------------------------------------------------


def _check_header(reader: ElementReader, name: str, tag: int, versions: tuple[int, ...]) -> int:
    """Return the version of a structure that begins here."""
    found, version = reader.halves()
    if found != tag:
        raise reader.damaged(f"the header of {name}")
    if version not in versions:
        known = " or ".join(str(version) for version in versions)
        raise reader.refuse(f"holds {name} of version {version}, needs version {known}")
    return version


def _read_start(reader: ElementReader) -> dict[str, str]:
    """Return the tags of the file."""
    if reader.content[:4].tobytes() != GBZ_MAGIC:
        raise reader.refuse("does not begin as a GBZ file does")
    version = reader.halves()[1]
    if version not in _GBZ_VERSIONS:
        raise reader.refuse(f"is GBZ version {version}, needs one from 1 to {_GBZ_VERSIONS[-1]}")
    reader.element()
    return _read_tags(reader)


def _read_tags(reader: ElementReader) -> dict[str, str]:
    texts = _texts(reader, reader.strings("the list of tags"), "a tag")
    if len(texts) % 2:
        raise reader.damaged("the list of tags")
    return {key.lower(): value for key, value in zip(texts[::2], texts[1::2], strict=True)}


def _texts(reader: ElementReader, strings: ByteStrings, what: str) -> list[str]:
    try:
        return list(strings)
    except UnicodeDecodeError as error:
        raise reader.refuse(f"has {what} that is not UTF-8") from error


def _read_index(reader: ElementReader) -> _Index:
    version = _check_header(reader, "a GBWT", _GBWT_TAG, _GBWT_VERSIONS)
    n_sequences, size, offset, alphabet, flags = (reader.element() for _ in range(5))
    if not flags & _IS_SIMPLE_SDS:
        raise reader.refuse("holds a GBWT in the SDSL format, needs the simple-sds one")
    if not flags & _BIDIRECTIONAL or n_sequences % 2 or flags >> 3:
        raise reader.refuse(
            "holds a GBWT that is not bidirectional, needs paths in both directions"
        )
    tags = _read_tags(reader)
    starts, n_bytes = reader.integer_set("the index of records")
    if version >= _ZSTD_GBWT:
        data = reader.zstandard_bytes("the GBWT", n_bytes)
    else:
        data = reader.byte_vector()
    if len(data) != n_bytes or len(starts) < 3 or starts[0] != 0 or starts[-1] >= n_bytes:
        raise reader.damaged("the index of records")
    record_bytes = np.append(starts, n_bytes)
    if alphabet - offset != len(starts) or len(starts) % 2 == 0 or offset % 2 == 0:
        raise reader.damaged("the header of a GBWT")
    if (
        len(starts) // 2 > MAX_NODES
        or n_sequences > size
        or size > _MAX_SIZE
        or not (np.diff(record_bytes) > 0).all()
    ):
        raise reader.damaged("the index of records")
    reader.skip_option()
    has_metadata = reader.element() > 0
    if has_metadata != bool(flags & _HAS_METADATA):
        raise reader.damaged("the header of a GBWT")
    return _Index(n_sequences, size, offset, record_bytes, data, tags)


def _read_names(reader: ElementReader, index: _Index) -> _Names | None:
    """Return the names of paths, or None where there are none."""
    if int(reader.words[reader.at - 1]) == 0:
        return None
    stop = reader.at + int(reader.words[reader.at - 1])
    _check_header(reader, "metadata", _METADATA_TAG, _METADATA_VERSIONS)
    n_samples, _, n_contigs, _ = (reader.element() for _ in range(4))
    n_paths = reader.element()
    paths = reader.elements(2 * n_paths).view("<u4").reshape(-1, 4)
    tables = []
    for what, n, column in (("samples", n_samples, 0), ("contigs", n_contigs, 1)):
        table = reader.strings(f"the list of {what}")
        order = reader.integers(f"the list of {what}")
        texts = _texts(reader, table, f"a name of {what}")
        in_order = sorted(range(len(texts)), key=lambda k: texts[k].encode())
        if order.tolist() != in_order or len(texts) not in (0, n):
            raise reader.damaged(f"the list of {what}")
        if n_paths and int(paths[:, column].max()) >= n:
            raise reader.damaged("the list of path names")
        tables.append(table)
    if reader.at != stop or n_paths not in (0, index.n_sequences // 2):
        raise reader.damaged("the list of path names")
    return _Names(paths, *tables) if n_paths else None


def _read_graph_header(reader: ElementReader) -> tuple[int, int, int]:
    """Return version, number of nodes and flags."""
    version = _check_header(reader, "a graph", _GRAPH_TAG, _GRAPH_VERSIONS)
    n_nodes, flags = reader.element(), reader.element()
    if not flags & _GRAPH_IS_SIMPLE_SDS or flags >> 2:
        raise reader.damaged("the header of a graph")
    return version, n_nodes, flags


def _read_translation(reader: ElementReader, flags: int, n_slots: int) -> _Translation | None:
    names = reader.strings("the list of segments")
    firsts, length = reader.integer_set("the list of segments")
    if bool(flags & _HAS_TRANSLATION) != (len(names) > 0) or len(firsts) != len(names):
        raise reader.damaged("the list of segments")
    if not len(names):
        return None
    _texts(reader, names, "a name of a segment")
    if firsts[0] != 1 or length != n_slots + 1 or not (np.diff(firsts) > 0).all():
        raise reader.damaged("the list of segments")
    return _Translation(names, np.append(firsts, length) - 1)


# What of it goes together ---------------------------------------------------------------------


def _measure(reader: ElementReader, index: _Index, kernel: ModuleType) -> np.ndarray:
    """Return where the visits of each record begin."""
    sizes = np.zeros(2 * index.n_slots, np.int64)
    wrong = kernel.measure_records(index.data, index.record_bytes, index.offset, sizes)
    if wrong >= 0:
        raise reader.refuse(f"has a damaged record in its GBWT, that of its node {wrong:,}")
    n_visits = index.size - index.n_sequences
    # Sums of wrong sizes may not fit 64 bits.
    is_close = abs(float(sizes.sum(dtype=np.float64)) - n_visits) <= 1e-6 * n_visits
    if not is_close or int(sizes.sum()) != n_visits or (sizes != sizes[::-1]).any():
        raise reader.refuse(
            f"has other than {n_visits:,} visits in the records of its GBWT, which its header "
            "counts, or not the same in both directions (damaged file)"
        )
    if int(sizes.max(initial=0)) > MAX_NODES:
        raise reader.refuse(f"has a node that paths visit more than {MAX_NODES:,} times")
    reader.check_ratio(2 * n_visits, len(reader.content))
    return np.append(0, np.cumsum(sizes))


def _find_slots(
    reader: ElementReader, index: _Index, n_nodes: int, offsets: np.ndarray
) -> np.ndarray:
    """Return the slots that have a node; int64."""
    if len(offsets) - 1 != index.n_slots:
        raise reader.refuse(
            f"has {len(offsets) - 1:,} sequences for {index.n_slots:,} nodes (damaged file)"
        )
    has_edges = index.data[index.record_bytes[1:-1]] != 0
    if (has_edges[::2] != has_edges[1::2]).any() or int(has_edges.sum()) != 2 * n_nodes:
        raise reader.refuse(f"does not have the {n_nodes:,} nodes that its header counts")
    slots = np.flatnonzero(has_edges[::2])
    if n_nodes == 0:
        raise reader.refuse("has no node, needs at least one")
    lengths = np.diff(offsets)
    empty = slots[lengths[slots] == 0]
    if len(empty):
        raise reader.refuse(f"has no sequence for node {index.first_node + int(empty[0]):,}")
    return slots


def _check_name(
    reader: ElementReader,
    tags: dict[str, str],
    index: _Index,
    slots: np.ndarray,
    edges: np.ndarray,
    data: np.ndarray,
    offsets: np.ndarray,
) -> Generator[Progress, None, None]:
    """Refuse letters that no sequence has, and a graph whose stable name is not its own.

    The name is the SHA-256 of all nodes, sequences and links as lines of a GFA.
    """
    if not (_LETTERS[0] <= data.min() and data.max() <= _LETTERS[1]):
        raise reader.refuse("has a sequence with a character that is no letter (damaged file)")
    expected = tags.get(_NAME_TAG)
    if expected is None:
        return
    naming = gbz_loops.iter_stable_name(data, offsets, slots, edges, index.first_node)
    name = yield from report(naming, lambda step: ("Checking nodes", *step))
    if name != expected.lower():
        raise reader.refuse(
            "has other nodes, sequences or links than its stable name (pggname) was made of "
            "(damaged file)"
        )


def _fit(
    index: _Index,
    translation: _Translation,
    slots: np.ndarray,
    edges: np.ndarray,
    ends: np.ndarray,
) -> _Translation | None:
    """Return the segments that are there, or None where paths take parts of some."""
    first, last = translation.bounds[:-1], translation.bounds[1:] - 1
    is_there = np.zeros(index.n_slots, np.bool_)
    is_there[slots] = True
    n_there = np.add.reduceat(is_there, first, dtype=np.int64)
    whole = n_there == last - first + 1
    if not (whole | (n_there == 0)).all() or (translation.names.lengths[whole] == 0).any():
        return None
    begins, stops = np.zeros(index.n_slots, np.bool_), np.zeros(index.n_slots, np.bool_)
    begins[first], stops[last] = True, True
    leaves, enters = _sides(edges[:, 0], begins, stops, 1), _sides(edges[:, 1], begins, stops, 0)
    forward = (edges[:, 0] & 1 == 0) & (edges[:, 1] == edges[:, 0] + 2)
    is_inner = forward & ~stops[edges[:, 0] >> 1]
    if not (is_inner | (leaves & enters)).all():
        return None
    if not _sides(ends, begins, stops, 1).all():
        return None
    return translation


def _sides(handles: np.ndarray, begins: np.ndarray, stops: np.ndarray, side: int) -> np.ndarray:
    """Tell which sides of nodes are sides of segments: the one that is entered (0) or left (1)."""
    is_right = (handles & 1) != side
    slots = handles >> 1
    return np.where(is_right, stops[slots], begins[slots])


# The graph ------------------------------------------------------------------------------------


def _build(
    reader: ElementReader,
    index: _Index,
    names: _Names | None,
    record_starts: np.ndarray,
    slots: np.ndarray,
    edges: np.ndarray,
    data: np.ndarray | None,
    offsets: np.ndarray,
    translation: _Translation | None,
    notes: list[str],
    kernel: ModuleType,
) -> Generator[Progress, None, PangenomeGraph]:
    """Return the graph of nodes or of segments."""
    n_slots = index.n_slots
    ranks = np.full(n_slots, NO_STEP, np.uint32)
    handles = np.full(2 * n_slots, NO_STEP, np.uint32)
    if translation is None:
        ranks[slots] = np.arange(len(slots), dtype=np.uint32)
        first, last = slots, slots
        node_names = _integer_names(index.first_node, n_slots, slots)
        node_handles = ranks
        is_inner = None
    else:
        is_there = np.zeros(n_slots, np.bool_)
        is_there[slots] = True
        kept = np.flatnonzero(is_there[translation.bounds[:-1]])
        first, last = translation.bounds[:-1][kept], translation.bounds[1:][kept] - 1
        counts = last - first + 1
        ranks[np.repeat(first, counts) + _within(counts)] = np.repeat(
            np.arange(len(kept), dtype=np.uint32), counts
        )
        node_names = translation.names.take(kept)
        yield from _check_segment_names(reader, node_names)
        is_inner = (ranks[edges[:, 0] >> 1] == ranks[edges[:, 1] >> 1]) & (
            edges[:, 1] == edges[:, 0] + 2
        )
        node_handles = ranks
    handles[first] = node_handles[first] << 1
    handles[2 * n_slots - 1 - last] = node_handles[last] << 1 | 1
    if is_inner is not None and is_inner.any():
        edges = edges[~is_inner]
    edges = (ranks[edges >> 1] << 1 | (edges & 1)).astype(np.uint32)
    lengths = offsets[last + 1] - offsets[first]
    bases = None if data is None else _take_bases(data, offsets, first, last, lengths)
    del offsets, data, ranks
    starts = gbz_loops.read_starts(
        index.data, index.record_bytes, index.offset, record_starts, index.n_sequences
    )
    if starts is None:
        raise reader.refuse("has damaged starts of paths in its GBWT")
    decoding = kernel.iter_decode_paths(
        index.data, index.record_bytes, index.offset, record_starts, handles, starts
    )
    n_bytes = len(reader.content)
    decoded = yield from report(
        decoding, lambda step: (step[0], n_bytes * step[1] // max(step[2], 1), n_bytes)
    )
    if decoded.fault:
        raise reader.refuse(f"is damaged: {FAULTS[decoded.fault]}")
    del handles, record_starts
    path_names, walks = _name_paths(reader, names, decoded, lengths)
    references = index.tags.get("reference_samples", "").split()
    if references:
        notes.append(f"Reference samples of the file: {', '.join(references)}.")
    return PangenomeGraph(
        node_names,
        lengths,
        edges,
        path_names,
        decoded.path_offsets,
        decoded.steps,
        bases,
        tuple(notes),
        walks=walks,
    )


def _check_segment_names(
    reader: ElementReader, names: ByteStrings
) -> Generator[Progress, None, None]:
    n_bytes = len(reader.content)
    try:
        indexing = build_node_table(names)
        yield from report(indexing, lambda share: ("Indexing names", int(share * n_bytes), n_bytes))
    except RepeatedNameError as error:
        raise reader.refuse(f"has two segments of the name {names[error.node]!r}") from None


def _within(counts: np.ndarray) -> np.ndarray:
    """Return 0 to count - 1 for each count."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def _integer_names(first: int, n: int, slots: np.ndarray) -> ByteStrings:
    names = ByteStrings.from_integers(first, n)
    return names if len(slots) == n else names.take(slots)


def _take_bases(
    data: np.ndarray, offsets: np.ndarray, first: np.ndarray, last: np.ndarray, lengths: np.ndarray
) -> ByteStrings:
    """Return the sequences of runs of nodes, without a copy where nothing lies between them."""
    if int(lengths.sum()) == len(data):
        return ByteStrings(data, np.append(offsets[first], len(data)))
    starts = np.zeros(2 * len(first) + 1, np.int64)
    starts[:-1:2], starts[1::2] = offsets[first], offsets[last + 1]
    starts[-1] = len(data)
    return ByteStrings(data, starts).take(np.arange(0, 2 * len(first), 2))


def _name_paths(
    reader: ElementReader, names: _Names | None, decoded, lengths: np.ndarray
) -> tuple[tuple[str, ...], np.ndarray | None]:
    """Return the names of paths, and which of them are walks."""
    n_paths = len(decoded.path_offsets) - 1
    if names is None:
        return tuple(str(path) for path in range(n_paths)), None
    samples, contigs = list(names.samples), list(names.contigs)
    spans = PositionIndex.build(decoded.steps, lengths, decoded.path_offsets).path_lengths
    found, walks = [], np.zeros(n_paths, np.bool_)
    rows = zip(names.paths.tolist(), spans.tolist(), strict=True)
    for path, ((sample, contig, phase, start), span) in enumerate(rows):
        sample = samples[sample] if samples else str(sample)
        contig = contigs[contig] if contigs else str(contig)
        if sample == _GENERIC_SAMPLE:
            found.append(contig)
            continue
        walks[path] = True
        haplotype = 0 if phase == _NO_PHASE else phase
        found.append(f"{sample}#{haplotype}#{contig}:{start}-{start + span}")
    if len(set(found)) != len(found):
        raise reader.refuse("has two paths of one name (damaged file), needs a name for each")
    return tuple(found), walks if walks.any() else None
