"""Hits of a k-mer on contigs or paths, as table rows, files and regions."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from genoviz.analyses.sequences.kmer_hits import cut_around, iter_locate_kmers
from genoviz.analyses.sequences.kmers import Kmer, parse_kmers
from genoviz.analyses.sequences.pangenome_queries import iter_locate_on_paths
from genoviz.generators import finish
from genoviz.model import Intervals, PangenomeGraph, PathRegion
from genoviz_app.opening.index_data import BuiltIndex
from genoviz_app.parts.column_widths import POSITION
from genoviz_app.parts.remote_table import Column, TableRows
from genoviz_app.parts.words import n_words
from genoviz_app.session.graph_places import on_graph
from genoviz_app.session.lit_sets import Highlight
from genoviz_app.session.session import Session

MAX_LOCATED = 20_000_000
BLOCK = 10_000
MARGIN = 20
LONGEST_MATCH = 60
FLANK = "flex:0 1 auto;overflow:hidden"
"""Style of the flanks of a hit: in a narrow column they are cut off at both ends, not the hit."""
SHOWN_LETTERS = 28
MAX_NODES = 6
COLUMNS = (
    Column("Contig or path", share=4),
    Column("Start", is_number=True, share=3, min_width=POSITION),
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
ROWS = 100_000
HEAD = "contig\tstart\tend\tstrand\tkmer\n"


@dataclass(frozen=True, eq=False)
class GenomeAxis:
    """Contigs or paths, concatenated.

    Attributes
    ----------
    names
        Their names.
    lengths
        int64, shape (n,), bp.
    offsets
        int64, shape (n + 1,): start of each on the concatenated axis.
    """

    names: Sequence[str]
    lengths: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, built: BuiltIndex) -> GenomeAxis:
        """Return the contigs of a genome, or the paths of a graph."""
        if built.graph is not None:
            names, lengths = built.graph.path_names, built.graph.path_lengths
        else:
            names, lengths = built.index.text.contig_names, built.index.text.contig_lengths
        return cls(names, lengths, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    @property
    def total(self) -> int:
        """Total length, bp."""
        return int(self.offsets[-1])


@dataclass(frozen=True, eq=False)
class HitSet:
    """The hits of one k-mer, in genome order unless there are very many.

    Attributes
    ----------
    kmer
        The k-mer.
    n_hits
        Number of hits; larger than the number of located hits if `is_cut`.
    ids
        int32, shape (n,): contig or path of each hit.
    starts
        int64, shape (n,): first base of each hit, 0-based.
    strands
        int8, shape (n,): 1 forward, -1 reverse.
    forward, reverse
        int64, ascending: first bases of the hits on a strand, on the concatenated axis.
    node_offsets, nodes
        For a graph: hit ``i`` is on ``nodes[node_offsets[i] : node_offsets[i + 1]]``.
    """

    kmer: Kmer
    n_hits: int
    ids: np.ndarray
    starts: np.ndarray
    strands: np.ndarray
    forward: np.ndarray
    reverse: np.ndarray
    node_offsets: np.ndarray | None = None
    nodes: np.ndarray | None = None

    @property
    def is_cut(self) -> bool:
        """Whether only some of the hits were located."""
        return len(self.ids) < self.n_hits

    def __len__(self) -> int:
        return len(self.ids)


def iter_find_hits(
    built: BuiltIndex, kmer: Kmer, strand: str, limit: int = MAX_LOCATED
) -> Generator[Any, None, HitSet]:
    """Return the hits of a k-mer, at most ``limit``; yields repeatedly."""
    if built.pangenome is not None:
        found = yield from iter_locate_on_paths(built.pangenome, kmer, strand=strand, limit=limit)
        ids, nodes = found.paths, (found.node_offsets, found.nodes)
    else:
        found = yield from iter_locate_kmers(built.index, [kmer], strand=strand, limit=limit)
        ids, nodes = found.contig_ids, (None, None)
    joint, strands = GenomeAxis.of(built).offsets[ids] + found.starts, found.strands
    forward, reverse = (np.sort(joint[strands == sign]) for sign in (1, -1))
    return HitSet(kmer, int(found.n_hits), ids, found.starts, strands, forward, reverse, *nodes)


def bin_hits(positions: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return the number of ascending positions in each bin; int64, exact."""
    return np.diff(np.searchsorted(positions, edges))


def hit_rows(built: BuiltIndex, hits: HitSet, first: int) -> TableRows:
    """Return a block of hits as rows; positions are 1-based, both ends included."""
    axis = GenomeAxis.of(built)
    block = slice(first, first + BLOCK)
    ids, starts, strands = hits.ids[block], hits.starts[block], hits.strands[block]
    k = len(hits.kmer.letters)
    found, codes = np.unique(ids, return_inverse=True)
    names = np.array([axis.names[i] for i in found.tolist()], dtype=object)
    has_context = built.graph is None
    contexts, masks = [], []
    if has_context:
        cut = cut_around(built.index.text, ids, starts, k, MARGIN)
        for texts, strand in zip(cut, strands.tolist(), strict=True):
            html, mask = _context(*texts, strand)
            contexts.append(html)
            masks.append(mask)
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
    shares = () if has_context else (("Contig or path", 9),)  # names of paths are long
    return TableRows(frame, words, codes, "", tuple(hidden), shares=shares)


def node_texts(built: BuiltIndex, hits: HitSet, block: slice) -> list[str]:
    """Return the nodes of hits in path order, as far as they fit."""
    names, texts = built.graph.node_names, []
    offsets = hits.node_offsets[block.start : block.stop + 1].tolist()
    for first, last in itertools.pairwise(offsets):
        shown = [names[node] for node in hits.nodes[first : min(last, first + MAX_NODES)].tolist()]
        more = last - first - len(shown)
        texts.append(" › ".join(shown) + (f" and {more:,} more" if more else ""))
    return texts


def _context(before: str, match: str, after: str, strand: int) -> tuple[str, int]:
    """Return the bases around a hit with the match marked, and how much is soft-masked."""
    mask = 0 if match.isupper() else 2 if match.islower() else 1
    if len(match) > LONGEST_MATCH:
        half = LONGEST_MATCH // 2
        match = f"{match[:half]}…{match[-half:]}"
    gap = "&nbsp;" * (MARGIN - len(before))
    return (
        f'<code style="display:flex"><span style="{FLANK};direction:rtl"><bdi dir="ltr">{gap}'
        f'{escape(before)}</bdi></span><b style="background:{STRAND_COLOURS[strand]};flex:none">'
        f'{escape(match)}</b><span style="{FLANK}">{escape(after)}</span></code>',
        mask,
    )


def iter_write_hits(path: Path, hits: HitSet, axis: GenomeAxis) -> Iterator[int]:
    """Write all located hits: TSV with a header, or BED6; both 0-based, half-open.

    Yields repeatedly.
    """
    with path.open("w", encoding="utf-8") as file:
        if hits.is_cut:
            file.write(f"# the first {len(hits)} of {n_words(hits.n_hits, 'hit')}\n")
        if path.suffix == ".tsv":
            file.write(HEAD)
        for lines in iter_lines(hits, axis, is_bed=path.suffix == ".bed"):
            yield file.write(lines)


def iter_lines(hits: HitSet, axis: GenomeAxis, *, is_bed: bool) -> Iterator[str]:
    """Yield the lines of hits in batches."""
    letters = hits.kmer.letters
    k = len(letters)
    name = (hits.kmer.name or letters[:255]).replace("\t", " ")
    for first in range(0, len(hits), ROWS):
        block = slice(first, first + ROWS)
        rows = zip(
            hits.ids[block].tolist(),
            hits.starts[block].tolist(),
            hits.strands[block].tolist(),
            strict=True,
        )
        lines = []
        for contig, start, strand in rows:
            sign = "+" if strand > 0 else "-"
            head = f"{axis.names[contig]}\t{start}\t{start + k}\t"
            lines.append(head + (f"{name}\t0\t{sign}\n" if is_bed else f"{sign}\t{letters}\n"))
        yield "".join(lines)


def shorten_kmer(letters: str) -> str:
    """Shorten a k-mer to fit into a line.

    Examples
    --------
    >>> shorten_kmer("GATTACA" * 9)
    'GATTACAGATTACAGATTACAGATTAC…'
    """
    return letters if len(letters) <= SHOWN_LETTERS else f"{letters[: SHOWN_LETTERS - 1]}…"


def find_highlight(built: BuiltIndex, question: str, limit: int) -> Highlight:
    """Return the hits of a k-mer of a link: ``strand:letters``; at most ``limit`` are located.

    Raises
    ------
    ParameterError
        If that is no k-mer, or no strand.
    """
    strand, _, letters = question.partition(":")
    (kmer, *_) = parse_kmers(letters)
    return highlight_of(built, finish(iter_find_hits(built, kmer, strand, limit)), strand)


def highlight_of(built: BuiltIndex, hits: HitSet, strand: str) -> Highlight:
    """Return all located hits of a k-mer on some strands as a highlight."""
    starts, ids = np.asarray(hits.starts, np.int64), np.asarray(hits.ids, np.int32)
    letters = hits.kmer.letters
    intervals = Intervals(tuple(GenomeAxis.of(built).names), ids, starts, starts + len(letters))
    return Highlight(
        shorten_kmer(letters),
        "hit",
        intervals,
        n_found=hits.n_hits,
        is_everywhere=built.graph is not None,
        question=f"{strand}:{letters}",
    )


def share_place(session: Session, built: BuiltIndex, contig: int, start: int, end: int) -> None:
    """Make an interval the region of all pages, on a path of the open graph if possible."""
    name = GenomeAxis.of(built).names[contig]
    session.region = on_graph(_graph(session), PathRegion(name, start, end))


def _graph(session: Session) -> PangenomeGraph | None:
    return None if session.opened is None else session.opened.graph
