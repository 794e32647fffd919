"""Placed annotations as rows of a table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from genoviz.analyses.graph.query.annotate import PlacedAnnotations
from genoviz_app.pages.pangenome.paths.annotation_boxes import STRANDS, annotation_name
from genoviz_app.parts.remote_table import MAX_ROWS, Column, TableRows

COLUMNS = (
    Column("Name", share=2),
    Column("Type"),
    Column("Path", share=3),
    Column("Start (bp)", is_number=True),
    Column("End (bp)", is_number=True),
    Column("Length (bp)", is_number=True),
    Column("Strand"),
    Column("On its contig", share=2),
)


def annotation_rows(placed: PlacedAnnotations) -> TableRows:
    """Return one row for each place, at most as many as a table holds; positions on the path."""
    rows, paths = placed.rows[:MAX_ROWS], placed.paths[:MAX_ROWS]
    starts, ends = placed.starts[:MAX_ROWS], placed.ends[:MAX_ROWS]
    annotations, graph = placed.annotations, placed.graph
    names = [annotation_name(placed, row) for row in rows.tolist()]
    types = [annotations.types[row] for row in rows.tolist()]
    firsts = graph.path_starts[paths]
    contigs = [graph.parsed_path_names[path].contig for path in paths.tolist()]
    frame = pd.DataFrame(
        {
            "Name": pd.Series(names, dtype=object),
            "Type": pd.Series(types, dtype=object),
            "Path": pd.Series([graph.path_names[path] for path in paths.tolist()], dtype=object),
            "Start (bp)": starts,
            "End (bp)": ends,
            "Length (bp)": ends - starts,
            "Strand": pd.Series([STRANDS[s] for s in annotations.strands[rows]], dtype=object),
            "On its contig": pd.Series(
                [
                    f"{contig}:{start:,}-{end:,}" if first else ""
                    for contig, first, start, end in zip(
                        contigs,
                        firsts.tolist(),
                        (starts + firsts).tolist(),
                        (ends + firsts).tolist(),
                        strict=True,
                    )
                ],
                dtype=object,
            ),
        }
    )
    words, codes = np.unique(
        np.array([f"{n}\t{t}".lower() for n, t in zip(names, types, strict=True)], dtype=np.str_),
        return_inverse=True,
    )
    n_more = len(placed) - len(frame)
    note = f"the first of {len(placed):,}; Find looks through all" if n_more else ""
    hidden = [title for title in ("Type", "Strand", "On its contig") if (frame[title] == "").all()]
    return TableRows(frame, words, codes, note, tuple(hidden))


def summary_text(placed: PlacedAnnotations) -> str:
    """Return how many annotations lie on paths, as one sentence."""
    n_placed, n_all = len(np.unique(placed.rows)), len(placed.annotations)
    text = f"{n_placed:,} of {n_all:,} annotations lie on paths"
    more = len(placed) - n_placed
    return f"{text}, {len(placed):,} places in all." if more else f"{text}."
