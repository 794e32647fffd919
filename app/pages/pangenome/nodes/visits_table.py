"""Path visits to nodes as table rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

from genoviz.analyses.graph.query.path_positions import NodeVisits
from genoviz.model import PangenomeGraph, PathRegion
from genoviz_app.parts.column_widths import POSITION
from genoviz_app.parts.remote_table import MAX_ROWS, Column, TableRows
from genoviz_app.parts.words import n_words

COLUMNS = (
    Column("Node", share=10),
    Column("Path", share=28),
    Column("Sample", share=10),
    Column("Copies", is_number=True, share=8),
    Column("Start (bp)", is_number=True, share=12, min_width=POSITION),
    Column("End (bp)", is_number=True, share=11, min_width=POSITION),
    Column("Strand", share=9),
    Column("On its contig", share=22),
)


def visit_rows(
    graph: PangenomeGraph, visits: NodeVisits, *, n_visits: int, has_nodes: bool
) -> TableRows:
    """Return one row per visit, up to the table's limit.

    Parameters
    ----------
    n_visits
        Total number of visits.
    has_nodes
        Whether the visits are to several nodes.
    """
    kept = slice(0, MAX_ROWS)
    paths, codes = np.unique(visits.paths[kept], return_inverse=True)
    starts = visits.positions[kept]
    ends = starts + graph.node_lengths[visits.nodes[kept]]
    parsed = [graph.parsed_path_names[path] for path in paths.tolist()]
    names = np.array([graph.path_names[path] for path in paths.tolist()], dtype=object)
    copies = np.bincount(codes)[codes]
    samples = np.array([name.sample or "" for name in parsed], dtype=object)
    frame = pd.DataFrame(
        {
            "Node": _node_names(graph, visits.nodes[kept]) if has_nodes else "",
            "Path": names[codes],
            "Sample": samples[codes],
            "Copies": copies,
            "Start (bp)": starts + 1,
            "End (bp)": ends,
            "Strand": np.where(visits.is_reverse[kept], "-", "+"),
            "On its contig": _contig_texts(graph, paths, codes, starts, ends),
        }
    )
    words = np.array([name.lower() for name in names], dtype=np.str_)
    n_more = n_visits - len(frame)
    note = f"the first of {n_words(n_visits, 'visit')}" if n_more > 0 else ""
    tells_nothing = has_nodes or n_more > 0 or (copies == 1).all()
    hidden = ["Copies"] if tells_nothing else []
    hidden += [title for title in ("Node", "Sample", "On its contig") if (frame[title] == "").all()]
    return TableRows(frame, words, codes, note, tuple(hidden))


def visited_region(rows: TableRows, row: int) -> PathRegion:
    """Return the path interval of a row."""
    visit = rows.frame.iloc[row]
    return PathRegion(visit["Path"], int(visit["Start (bp)"]) - 1, int(visit["End (bp)"]))


def _node_names(graph: PangenomeGraph, nodes: np.ndarray) -> np.ndarray:
    found, codes = np.unique(nodes, return_inverse=True)
    return np.array([graph.node_names[node] for node in found.tolist()], dtype=object)[codes]


def _contig_texts(
    graph: PangenomeGraph,
    paths: np.ndarray,
    codes: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
) -> np.ndarray | str:
    """Return the contig coordinates of visits; all "" if no path is a part of a contig."""
    offsets = graph.path_starts[paths]
    if not offsets.any():
        return ""
    contigs = [graph.parsed_path_names[path].contig for path in paths.tolist()]
    firsts = offsets[codes]
    return np.array(
        [
            f"{contigs[code]}:{start + 1:,}-{end:,}" if offsets[code] else ""
            for code, start, end in zip(
                codes.tolist(), (starts + firsts).tolist(), (ends + firsts).tolist(), strict=True
            )
        ],
        dtype=object,
    )
