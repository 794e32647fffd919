"""Reading of pangenome graphs from GBZ files, versions 1 to 3.

References
----------
SERIALIZATION.md of jltsiren/gbwtgraph and of jltsiren/gbwt.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import numpy as np

from genoviz.backend import Backend, load_kernel, to_host
from genoviz.errors import FileFormatError
from genoviz.generators import in_one_go, report
from genoviz.io.files.content import open_content
from genoviz.io.files.file_source import Source, find_source
from genoviz.io.graph import gbz_loops
from genoviz.io.graph.cache import load_graph, store_graph
from genoviz.io.graph.gbz_parts import (
    NAME_TAG,
    ZSTD_GRAPH,
    GbwtIndex,
    PathFields,
    Segments,
    find_slots,
    fit_segments,
    name_paths,
    read_graph_header,
    read_index,
    read_path_fields,
    read_segments,
    read_start,
)
from genoviz.io.graph.gfa import GfaProgress
from genoviz.io.graph.gfa_names import RepeatedNameError, build_node_table
from genoviz.io.graph.simple_sds import ElementReader
from genoviz.kernels.gbwt import FAULTS, NO_STEP, DecodedPaths
from genoviz.model import ByteStrings, PangenomeGraph
from genoviz.model.columns import expand_counts
from genoviz.model.graph.pangenome import MAX_NODES

_LETTERS = ord("A"), ord("z")

Progress = tuple[str, int, int]


def iter_read_gbz(
    path: str | PathLike[str],
    *,
    sequences: bool = True,
    segments: bool = True,
    cache: bool = True,
    backend: Backend = "cpu",
) -> Iterator[GfaProgress]:
    """Yield the progress of reading a GBZ file; the last report has the graph.

    Versions 1 to 3 are supported. Paths have the names of the corresponding GFA: haplotypes are
    walks, ``sample#haplotype#contig:start-end``, and generic paths have their own name. Links are
    those that paths use. The file is checked against its own counts, the reverse paths, and, with
    sequences, its stable name; information without redundancy cannot be checked.

    Parameters
    ----------
    path
        The file.
    sequences
        Whether to keep the sequences of the nodes, one byte per base.
    segments
        Whether nodes are the original segments, as in the GFA, or the stored nodes of up to
        1,024 bp, which aligned reads refer to. Without a node-to-segment translation in the file,
        there is no difference.
    cache
        Whether to cache the graph in the user's cache folder, and to reuse it if the file is
        unchanged.
    backend
        Where to decode the paths: ``"auto"``, ``"cpu"`` or ``"cuda"``.

    Raises
    ------
    FileFormatError
        If the file cannot be read, does not follow the format, or is damaged.
    BackendError
        If the backend is unknown or cannot be used.

    References
    ----------
    Sirén, Paten 2022: GBZ file format for pangenome graphs.
    https://doi.org/10.1093/bioinformatics/btac656
    """
    path, kernel = Path(path), load_kernel("gbwt", backend)
    source = find_source(path) if cache and segments else None
    parsing = _parse_file(path, sequences, segments, kernel)
    yield from iter_read_saved(path, source, parsing, sequences=sequences)


def iter_read_saved(
    path: Path,
    source: Source | None,
    parsing: Generator[Progress, None, PangenomeGraph],
    *,
    sequences: bool,
) -> Iterator[GfaProgress]:
    """Load the cached graph of a source, or read and cache it; yields the progress.

    Without a source, the cache is not used.
    """
    if source:
        loading = load_graph(source, sequences=sequences)
        graph = yield from report(
            loading, lambda step: GfaProgress("Opening the saved graph", *step)
        )
        if graph:
            yield GfaProgress("Done", source.size, source.size, graph)
            return
    try:
        graph = yield from report(parsing, lambda step: GfaProgress(*step))
    except MemoryError as error:
        raise FileFormatError(path, "holds more than this machine has memory for") from error
    if source:
        storing = store_graph(source, graph)
        yield from report(
            storing, lambda step: GfaProgress("Saving the graph for next time", *step)
        )
    n_bytes = path.stat().st_size if path.is_file() else 1
    yield GfaProgress("Done", n_bytes, n_bytes, graph)


@in_one_go(iter_read_gbz)
def read_gbz(last: GfaProgress) -> PangenomeGraph:
    """Return the graph of a GBZ file; see :func:`iter_read_gbz`."""
    return last.graph


def _parse_file(
    path: Path, sequences: bool, segments: bool, kernel: ModuleType
) -> Generator[Progress, None, PangenomeGraph]:
    content = yield from report(open_content(path), lambda step: ("Copying", *step))
    n_bytes = len(content)
    if n_bytes % 8:
        raise FileFormatError(
            path, f"has {n_bytes:,} bytes, needs a multiple of 8 (truncated or damaged file)"
        )
    reader = ElementReader(path, content)
    tags = read_start(reader)
    yield "Reading the index", 0, n_bytes
    index = read_index(reader)
    names = read_path_fields(reader, index)
    yield "Reading nodes", 8 * reader.at, n_bytes
    version, n_nodes, flags = read_graph_header(reader)
    bases = reader.strings(
        "the list of sequences", is_compressed=version >= ZSTD_GRAPH, wants=sequences
    )
    offsets = bases.offsets if sequences else bases[1]
    translation = read_segments(reader, flags, len(offsets) - 1)
    if reader.at != len(reader.words):
        raise reader.refuse(
            f"goes on after its end at byte {8 * reader.at:,} (damaged file), needs to end there"
        )
    yield "Reading the index", n_bytes, n_bytes
    record_starts = measure_visits(reader, index, kernel)
    slots = find_slots(reader, index, n_nodes, offsets)
    edges, ends = gbz_loops.list_edges(index.data, index.record_bytes, index.offset)
    if edges is None:
        raise reader.refuse("has a link in one direction alone in its GBWT (damaged file)")
    if sequences:
        data = bases.data
        yield from check_name(reader, tags, index, slots, edges, data, offsets)
    else:
        data = None
    del bases
    notes = []
    if translation is not None:
        kept = fit_segments(index, translation, slots, edges, ends) if segments else None
        if segments and kept is None:
            notes.append(
                "Paths begin, end or branch within segments: nodes are shown as they are stored."
            )
        translation = kept
    nodes = yield from make_nodes(reader, index, slots, edges, data, offsets, translation)
    # Before the paths take most of the memory.
    del slots, edges, data, offsets, translation
    graph = yield from build_graph(reader, index, names, record_starts, nodes, notes, kernel)
    return graph


def measure_visits(reader: ElementReader, index: GbwtIndex, kernel: ModuleType) -> np.ndarray:
    """Return the start of the visits of each record."""
    sizes = np.zeros(2 * index.n_slots, np.int64)
    wrong = kernel.measure_records(index.data, index.record_bytes, index.offset, sizes)
    if wrong >= 0:
        raise reader.refuse(f"has a damaged record in its GBWT, that of its node {wrong:,}")
    # Damaged sizes may overflow 64 bits.
    about = float(sizes.sum(dtype=np.float64))
    n_visits = index.size - index.n_sequences if index.size else int(sizes.sum())
    is_close = abs(about - n_visits) <= 1e-6 * n_visits
    if not is_close or int(sizes.sum()) != n_visits or (sizes != sizes[::-1]).any():
        raise reader.refuse(
            f"has other than {n_visits:,} visits in the records of its GBWT, which its header "
            "counts, or not the same in both directions (damaged file)"
        )
    if int(sizes.max(initial=0)) > MAX_NODES:
        raise reader.refuse(f"has a node that paths visit more than {MAX_NODES:,} times")
    reader.check_ratio(2 * n_visits, len(reader.content))
    return np.append(0, np.cumsum(sizes))


def check_name(
    reader: ElementReader,
    tags: dict[str, str],
    index: GbwtIndex,
    slots: np.ndarray,
    edges: np.ndarray,
    data: np.ndarray,
    offsets: np.ndarray,
) -> Generator[Progress, None, None]:
    """Reject invalid letters, and a graph that does not match its stable name.

    The name is the SHA-256 of all nodes, sequences and links as GFA lines.
    """
    if not (_LETTERS[0] <= data.min() and data.max() <= _LETTERS[1]):
        raise reader.refuse("has a sequence with a character that is not a letter (damaged file)")
    expected = tags.get(NAME_TAG)
    if expected is None:
        return
    naming = gbz_loops.iter_stable_name(data, offsets, slots, edges, index.first_node)
    name = yield from report(naming, lambda step: ("Checking nodes", *step))
    if name != expected.lower():
        raise reader.refuse(
            "has other nodes, sequences or links than its stable name (pggname) was made of "
            "(damaged file)"
        )


class GraphNodes(NamedTuple):
    """The nodes of a graph, and the handle that each visit of a record writes, by place."""

    names: ByteStrings
    lengths: np.ndarray
    edges: np.ndarray
    bases: ByteStrings | None
    handles: np.ndarray


def make_nodes(
    reader: ElementReader,
    index: GbwtIndex,
    slots: np.ndarray,
    edges: np.ndarray,
    data: np.ndarray | None,
    offsets: np.ndarray,
    translation: Segments | None,
) -> Generator[Progress, None, GraphNodes]:
    """Return the nodes of the graph: stored nodes, or segments."""
    n_slots = index.n_slots
    ranks, handles = (np.full(n, NO_STEP, np.uint32) for n in (n_slots, 2 * n_slots))
    if translation is None:
        ranks[slots] = np.arange(len(slots), dtype=np.uint32)
        first, last = slots, slots
        names = ByteStrings.from_integers(index.first_node, n_slots)
        names = names if len(slots) == n_slots else names.take(slots)
    else:
        is_there = np.zeros(n_slots, np.bool_)
        is_there[slots] = True
        kept = np.flatnonzero(is_there[translation.bounds[:-1]])
        first, last = translation.bounds[:-1][kept], translation.bounds[1:][kept] - 1
        owners, within = expand_counts(last - first + 1)
        ranks[first[owners] + within] = owners
        names = translation.names.take(kept)
        yield from _check_segment_names(reader, names)
        is_inner = (ranks[edges[:, 0] >> 1] == ranks[edges[:, 1] >> 1]) & (
            edges[:, 1] == edges[:, 0] + 2
        )
        if is_inner.any():
            edges = edges[~is_inner]
    handles[first] = ranks[first] << 1
    handles[2 * n_slots - 1 - last] = ranks[last] << 1 | 1
    edges = (ranks[edges >> 1] << 1 | (edges & 1)).astype(np.uint32)
    lengths = offsets[last + 1] - offsets[first]
    bases = None if data is None else _take_bases(data, offsets, first, last, lengths)
    return GraphNodes(names, lengths, edges, bases, handles)


def build_graph(
    reader: ElementReader,
    index: GbwtIndex,
    names: PathFields | None,
    record_starts: np.ndarray,
    nodes: GraphNodes,
    notes: list[str],
    kernel: ModuleType,
) -> Generator[Progress, None, PangenomeGraph]:
    """Return the graph: decode the paths."""
    source = index.data, index.record_bytes, index.offset, record_starts
    starts = index.starts
    if starts is None:
        starts = gbz_loops.read_starts(*source, index.n_sequences)
    if starts is None:
        raise reader.refuse("has damaged starts of paths in its GBWT")
    decoding = kernel.iter_decode_paths(*source, nodes.handles, starts)
    n_bytes = len(reader.content)
    decoded = yield from report(
        decoding, lambda step: (step[0], n_bytes * step[1] // max(step[2], 1), n_bytes)
    )
    if decoded.fault:
        raise reader.refuse(f"is damaged: {FAULTS[decoded.fault]}")
    decoded = DecodedPaths(*map(to_host, decoded))
    path_names, walks = name_paths(reader, names, decoded, nodes.lengths)
    references = index.tags.get("reference_samples", "").split()
    if references:
        notes.append(f"Reference samples of the file: {', '.join(references)}.")
    return PangenomeGraph(
        nodes.names,
        nodes.lengths,
        nodes.edges,
        path_names,
        decoded.path_offsets,
        decoded.steps,
        nodes.bases,
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


def _take_bases(
    data: np.ndarray, offsets: np.ndarray, first: np.ndarray, last: np.ndarray, lengths: np.ndarray
) -> ByteStrings:
    """Return the sequences of runs of nodes, as a view if they are contiguous."""
    if int(lengths.sum()) == len(data):
        return ByteStrings(data, np.append(offsets[first], len(data)))
    starts = np.zeros(2 * len(first) + 1, np.int64)
    starts[:-1:2], starts[1::2] = offsets[first], offsets[last + 1]
    starts[-1] = len(data)
    return ByteStrings(data, starts).take(np.arange(0, 2 * len(first), 2))
