"""Oracle: converts a GBZ to a GBZ-base database, with the tables of that project's src/db.rs.

Records are copied from the file byte for byte. Path starts are decoded from its endmarker by
`tests.oracles.gbwt`.
"""

from __future__ import annotations

import sqlite3

import numpy as np

from genoviz.io.graph.gbz import read_gbz
from genoviz.io.graph.gbz_parts import read_index, read_path_fields, read_start
from genoviz.io.graph.simple_sds import ElementReader
from tests.oracles.gbwt import read_integers, read_record

VERSION = "GBZ-base version 4"
INTERVAL = 1000
_TABLES = """
CREATE TABLE Tags (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE Nodes (handle INTEGER PRIMARY KEY, edges BLOB NOT NULL, bwt BLOB NOT NULL,
    sequence BLOB NOT NULL, next INTEGER) STRICT;
CREATE TABLE Paths (handle INTEGER PRIMARY KEY, fw_node INTEGER NOT NULL,
    fw_offset INTEGER NOT NULL, rev_node INTEGER NOT NULL, rev_offset INTEGER NOT NULL,
    sample TEXT NOT NULL, contig TEXT NOT NULL, haplotype INTEGER NOT NULL,
    fragment INTEGER NOT NULL, is_indexed INTEGER NOT NULL) STRICT;
CREATE TABLE ReferenceIndex (path_handle INTEGER NOT NULL, path_offset INTEGER NOT NULL,
    node_handle INTEGER NOT NULL, node_offset INTEGER NOT NULL,
    PRIMARY KEY (path_handle, path_offset)) STRICT;
"""


def encode_sequence(bases):
    """Encode bases in base 6, three per byte, the first one lowest, with a 0 after the last one."""
    digits = ["ACGT".find(base) + 1 or 5 for base in bases.upper()]
    digits += [0] * (-len(digits) % 3)
    return bytes(a + 6 * b + 36 * c for a, b, c in zip(*[iter(digits)] * 3, strict=True))


def reverse(bases):
    """Return the reverse complement of upper-case bases."""
    return bases[::-1].translate(str.maketrans("ACGT", "TGCA"))


def write_gbz_base(gbz, path, *, version=VERSION, interval=INTERVAL):
    """Write the database for a GBZ with path names."""
    reader = ElementReader(gbz, np.fromfile(gbz, np.uint8))
    tags = read_start(reader)
    index = read_index(reader)
    fields = read_path_fields(reader, index)
    graph = read_gbz(gbz, segments=False, cache=False)
    bounds, data = index.record_bytes.tolist(), index.data.tobytes()
    bases = dict(zip(map(int, graph.node_names), graph.node_sequences, strict=True))
    nodes = []
    for node, text in bases.items():
        for handle, sequence in ((2 * node, text), (2 * node + 1, reverse(text))):
            record = data[slice(*bounds[handle - index.offset : handle - index.offset + 2])]
            (sigma,), at = read_integers(record, 0, 1)
            cut = read_integers(record, at, 2 * sigma)[1]
            nodes.append((handle, record[:cut], record[cut:], encode_sequence(sequence), None))
    records = {handle: read_record(edges + runs) for handle, edges, runs, *_ in nodes}
    samples, contigs = list(fields.samples), list(fields.contigs)
    references = {"_gbwt_ref", *index.tags.get("reference_samples", "").split()}
    starts, paths, positions = read_record(data[: bounds[1]]), [], []
    for row, (sample, contig, haplotype, fragment) in enumerate(fields.paths.tolist()):
        is_indexed = samples[sample] in references
        begins = *starts[2 * row], *starts[2 * row + 1]
        names = samples[sample], contigs[contig], haplotype, fragment
        paths.append((row, *begins, *names, int(is_indexed)))
        (node, visit), at, due = starts[2 * row], 0, 0
        while is_indexed and node:
            if at >= due:
                positions.append((row, at, node, visit))
                due = at + interval
            at += len(bases[node // 2])
            node, visit = records[node][visit]
    counts = {
        "version": version,
        "nodes": len(bases),
        "chains": 0,
        "chain_links": 0,
        "paths": len(paths),
        "samples": len(samples),
        "haplotypes": len({(row[5], row[7]) for row in paths}),
        "contigs": len(contigs),
    }
    counts |= {f"gbwt_{key}": value for key, value in index.tags.items()}
    counts |= {f"gbz_{key}": value for key, value in tags.items()}
    connection = sqlite3.connect(path)
    with connection:
        connection.executescript(_TABLES)
        tables = {"Tags": [(key, str(value)) for key, value in counts.items()], "Nodes": nodes}
        tables |= {"Paths": paths, "ReferenceIndex": positions}
        for name, rows in tables.items():
            places = ", ".join("?" * len(rows[0])) if rows else ""
            connection.executemany(f"INSERT INTO {name} VALUES ({places})", rows)
    connection.close()
    return path
