"""Pangenome graphs written as GBZ files of version 1: the GBWT of their paths, and sequences."""

from __future__ import annotations

from os import PathLike

import numpy as np

from genoviz.errors import ParameterError
from genoviz.generators import finish
from genoviz.io.files.replace_file import replace_file
from genoviz.io.graph import gbz_loops
from genoviz.io.graph.gbwt_builder import GbwtRecords, build_gbwt
from genoviz.io.graph.gbz_parts import (
    GBWT_TAG,
    GBZ_TAG,
    GENERIC_SAMPLE,
    GRAPH_TAG,
    METADATA_TAG,
    NAME_TAG,
    NO_PHASE,
)
from genoviz.io.graph.gfa_writer import WALK_NAME
from genoviz.io.graph.simple_sds import (
    sds_bytes,
    sds_element,
    sds_header,
    sds_integer_set,
    sds_integers,
    sds_strings,
)
from genoviz.model import ByteStrings, PangenomeGraph

_MAX_DIGITS, _MAX_SPARSE = 9, 4
_SOURCE = "genoviz"


def write_gbz(graph: PangenomeGraph, path: str | PathLike[str]) -> None:
    """Write a graph as a GBZ file of version 1, which vg and its kin read too.

    A GBZ has nodes, sequences, paths, and the links that paths take. Names of nodes that are no
    rising integers become names of segments. Paths that are walks are named by sample, haplotype,
    contig and start, all others are generic paths. The file is there only once it is complete.

    Raises
    ------
    ParameterError
        If there are no sequences, or a node is on no path.
    FileFormatError
        If the file cannot be written.
    """
    if graph.node_sequences is None or (graph.node_sequences.lengths == 0).any():
        raise ParameterError("a graph without sequences cannot be written as GBZ, needs them all")
    lonely = np.flatnonzero(graph.node_depths == 0)
    if len(lonely):
        name = graph.node_names[int(lonely[0])]
        raise ParameterError(f"node {name!r} is on no path; a GBZ has nodes of paths alone")
    first, slots, has_names = _find_ids(graph.node_names)
    n_slots = int(slots[-1]) + 1
    records = build_gbwt(graph, slots, first)
    parts: list[bytes] = [sds_header(GBZ_TAG, 1), sds_element(0)]
    sequences = _spread(graph.node_sequences, slots, n_slots)
    parts += _tags({NAME_TAG: _stable_name(records, sequences, slots, first), "source": _SOURCE})
    parts += _gbwt_parts(graph, records)
    parts += [
        sds_header(GRAPH_TAG, 3),
        sds_element(graph.n_nodes),
        sds_element(3 if has_names else 2),
    ]
    parts += sds_strings(sequences)
    parts += sds_strings(graph.node_names if has_names else ByteStrings.from_texts(()))
    parts += sds_integer_set(np.arange(n_slots * has_names) + 1, (n_slots + 1) * has_names)
    with replace_file(path) as file:
        for part in parts:
            file.write(part)


def _find_ids(names: ByteStrings) -> tuple[int, np.ndarray, bool]:
    """Return the smallest number of a node, each node's place from there, and whether names stay.

    Names that rise and are numbers are the numbers of the nodes.
    """
    digits = (names.data >= ord("0")) & (names.data <= ord("9"))
    lengths = names.lengths
    is_plain = digits.all() and lengths.min() > 0 and lengths.max() <= _MAX_DIGITS
    if is_plain and (names.data[names.offsets[:-1]] != ord("0")).all():
        ids = np.array([int(name) for name in names], np.int64)
        if (np.diff(ids) > 0).all() and ids[-1] - ids[0] < _MAX_SPARSE * len(ids):
            return int(ids[0]), ids - ids[0], False
    return 1, np.arange(len(names)), True


def _spread(sequences: ByteStrings, slots: np.ndarray, n_slots: int) -> ByteStrings:
    lengths = np.zeros(n_slots, np.int64)
    lengths[slots] = sequences.lengths
    return ByteStrings(sequences.data, np.append(0, np.cumsum(lengths)))


def _stable_name(
    records: GbwtRecords, sequences: ByteStrings, slots: np.ndarray, first: int
) -> str:
    """Return the SHA-256 of nodes and links as lines of a GFA."""
    edges, _ = gbz_loops.list_edges(*records)
    return finish(
        gbz_loops.iter_stable_name(sequences.data, sequences.offsets, slots, edges, first)
    )


def _gbwt_parts(graph: PangenomeGraph, records: GbwtRecords) -> list[bytes]:
    n_records = len(records.record_bytes) - 1
    size = 2 * (graph.n_steps + graph.n_paths)
    alphabet_size = n_records + records.alphabet_offset
    numbers = (2 * graph.n_paths, size, records.alphabet_offset, alphabet_size, 7)
    parts = [sds_header(GBWT_TAG, 5), *map(sds_element, numbers), *_tags({"source": _SOURCE})]
    parts += sds_integer_set(records.record_bytes[:-1], len(records.data))
    parts += sds_bytes(records.data.tobytes())
    metadata = b"".join(_metadata_parts(graph))
    return [*parts, sds_element(0), sds_element(len(metadata) // 8), metadata]


def _metadata_parts(graph: PangenomeGraph) -> list[bytes]:
    samples: dict[str, int] = {}
    contigs: dict[str, int] = {}
    rows = np.zeros((graph.n_paths, 4), np.uint32)
    for path, name in enumerate(graph.path_names):
        is_walk = graph.walks is not None and graph.walks[path]
        found = WALK_NAME.match(name) if is_walk else None
        fields = (GENERIC_SAMPLE, NO_PHASE, name, 0, None) if found is None else found.groups()
        sample, phase, contig, start, _ = fields
        rows[path, 0] = samples.setdefault(sample, len(samples))
        rows[path, 1] = contigs.setdefault(contig, len(contigs))
        rows[path, 2:] = int(phase), int(start or 0)
    counts = (len(samples), len({tuple(row) for row in rows[:, [0, 2]].tolist()}), len(contigs))
    parts = [sds_header(METADATA_TAG, 2), *map(sds_element, counts), sds_element(7)]
    parts += [sds_element(graph.n_paths), rows.tobytes()]
    for names in (samples, contigs):
        order = sorted(range(len(names)), key=lambda k: list(names)[k].encode())
        parts += sds_strings(ByteStrings.from_texts(names)) + sds_integers(
            np.array(order, np.uint64)
        )
    return parts


def _tags(tags: dict[str, str]) -> list[bytes]:
    return sds_strings(
        ByteStrings.from_texts(text for pair in sorted(tags.items()) for text in pair)
    )
