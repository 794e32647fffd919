"""Hits as rows of a table, with the bases around them."""

from __future__ import annotations

import itertools
from html import escape

import numpy as np
import pandas as pd

from genoviz_app.opening.index_data import BuiltIndex
from genoviz_app.pages.kmers.hits import GenomeAxis, HitSet
from genoviz_app.parts.remote_table import Column, TableRows

BLOCK = 10_000
MARGIN = 20
LONGEST_MATCH = 60
MAX_NODES = 6
COLUMNS = (
    Column("Contig or path", share=4),
    Column("Start", is_number=True, share=3),
    Column("Strand", share=2),
    Column("Context", share=14, is_html=True),
    Column("Masked", share=2),
    Column("Nodes", share=7),
)
STRAND_COLOURS = {
    1: "rgba(63, 159, 214, 0.42)",
    -1: "rgba(255, 180, 84, 0.42)",
}
MASKED = ("", "in part", "yes")


def hit_rows(built: BuiltIndex, hits: HitSet, first: int) -> TableRows:
    """Return a block of hits as rows; positions are written from 1, both ends included."""
    axis = GenomeAxis.of(built)
    block = slice(first, first + BLOCK)
    ids, starts, strands = hits.ids[block], hits.starts[block], hits.strands[block]
    k = len(hits.kmer.letters)
    found, codes = np.unique(ids, return_inverse=True)
    names = np.array([axis.names[i] for i in found.tolist()], dtype=object)
    contexts, masks = [], []
    for contig, start, strand in zip(ids.tolist(), starts.tolist(), strands.tolist(), strict=True):
        if built.graph is None:
            html, mask = _context(built, contig, start, k, strand)
            contexts.append(html)
            masks.append(mask)
    has_context = built.graph is None
    frame = pd.DataFrame(
        {
            "Contig or path": names[codes] if len(codes) else [],
            "Start": starts + 1,
            "Strand": np.where(strands > 0, "+", "−"),
            "Context": contexts if has_context else "",
            "Masked": np.array(MASKED, object)[masks] if has_context else "",
        }
    )
    words = np.array([str(name).lower() for name in names], dtype=np.str_)
    frame["Nodes"] = "" if has_context else node_texts(built, hits, block)
    hidden = ["Nodes"] if has_context else ["Context", "Masked"]
    if has_context and not any(masks):
        hidden = ["Masked", "Nodes"]
    return TableRows(frame, words, codes, "", tuple(hidden))


def node_texts(built: BuiltIndex, hits: HitSet, block: slice) -> list[str]:
    """Return the nodes of hits, in the order of the path, as far as there is room."""
    names, texts = built.graph.node_names, []
    offsets = hits.node_offsets[block.start : block.stop + 1].tolist()
    for first, last in itertools.pairwise(offsets):
        shown = [names[node] for node in hits.nodes[first : min(last, first + MAX_NODES)].tolist()]
        more = last - first - len(shown)
        texts.append(" › ".join(shown) + (f" and {more:,} more" if more else ""))
    return texts


def _context(built: BuiltIndex, contig: int, start: int, k: int, strand: int) -> tuple[str, int]:
    """Return the bases around a hit with the match marked, and how far it is soft-masked."""
    text = built.index.text
    length = int(text.contig_lengths[contig])
    low, high = max(start - MARGIN, 0), min(start + k + MARGIN, length)
    letters = text.cut(contig, low, high, soft_masked=True).tobytes().decode()
    before, match = letters[: start - low], letters[start - low : start - low + k]
    after = letters[start - low + k :]
    n_masked = sum(map(str.islower, match))
    mask = 0 if n_masked == 0 else 2 if n_masked == k else 1
    if len(match) > LONGEST_MATCH:
        half = LONGEST_MATCH // 2
        match = f"{match[:half]}…{match[-half:]}"
    gap = "&nbsp;" * (MARGIN - len(before))
    return (
        f'<code>{gap}{escape(before)}<b style="background:{STRAND_COLOURS[strand]}">{escape(match)}'
        f"</b>{escape(after)}</code>",
        mask,
    )
