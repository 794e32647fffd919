"""The Paths tab: counts of k-mers by path or contig, also as a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import MouseLeave, MouseMove, Tap

from genoviz.analyses.sequences.kmer_hits import MAX_SORTED, locate_kmers
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.analyses.sequences.pangenome_queries import count_per_path
from genoviz.errors import GenovizError
from genoviz_app.opening.index_data import BuiltIndex
from genoviz_app.pages.kmers.counting import CountAnswer
from genoviz_app.pages.kmers.hits import GenomeAxis
from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.parts.file_button import file_button
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.kmer_matrix import MatrixFigure

MAX_KMERS, MAX_CELLS, MAX_HITS = 500, 1 << 22, 1 << 24
MAX_COLUMNS = 2000
NAME_LETTERS = 40
ENTER = "Enter one or more k-mers to see the count of each on each path or contig."
ALONE, WITH_OTHERS = {"flex": "0 0 200px"}, {"flex": "1 1 0", "min-height": "0"}
LISTS = """
:host { font-size: 12.5px; font-variant-numeric: tabular-nums; overflow-y: auto; }
h3 { font-size: 13px; margin: 4px 10px; }
ul { list-style: none; margin: 0 10px 12px; padding: 0; column-width: 330px; }
li { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; padding: 1px 0; }
"""
TEXT = ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; }"


def iter_path_counts(
    built: BuiltIndex, answer: CountAnswer, n_kmers: int
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the first k-mers of an answer in batches, with their counts by path.

    Counts are int64, shape (n_kmers, n_paths), for the k-mers so far; contigs are the paths of a
    genome. All hits are counted, however many there are.
    """
    n_paths = len(GenomeAxis.of(built).names)
    n_at_once = max(1, min(MAX_KMERS, MAX_CELLS // max(n_paths, 1)))
    ends = np.cumsum(answer.counts)
    first = 0
    while first < n_kmers:
        n_before = int(ends[first - 1]) if first else 0
        fitting = int(np.searchsorted(ends, n_before + MAX_HITS, side="right"))
        stop = min(max(fitting, first + 1), first + n_at_once, n_kmers)
        kmers = answer.kmers[first:stop]
        if built.pangenome is not None:
            yield slice(first, stop), count_per_path(built.pangenome, kmers, strand=answer.strand)
        else:
            yield slice(first, stop), _count_on_contigs(built, kmers, answer.strand)
        first = stop


def _count_on_contigs(built: BuiltIndex, kmers: tuple[Kmer, ...], strand: str) -> np.ndarray:
    n_contigs = built.index.text.n_contigs
    counts = np.zeros(len(kmers) * n_contigs, np.int64)
    n_done, n_hits = 0, 1
    while n_done < n_hits:
        found = locate_kmers(built.index, kmers, strand=strand, limit=MAX_SORTED, offset=n_done)
        cells = found.kmer_ids * n_contigs + found.contig_ids
        counts += np.bincount(cells, minlength=len(counts))
        n_done, n_hits = n_done + len(found), found.n_hits
    return counts.reshape(len(kmers), n_contigs)


def write_path_counts(path: Path, built: BuiltIndex, answer: CountAnswer) -> None:
    """Write the counts of all k-mers by path or contig as TSV."""
    with path.open("w", encoding="utf-8") as file:
        file.write("\t".join(["name", "kmer", "hits", *GenomeAxis.of(built).names]) + "\n")
        for rows, counts in iter_path_counts(built, answer, len(answer.kmers)):
            totals = answer.counts[rows].tolist()
            for kmer, total, row in zip(answer.kmers[rows], totals, counts.tolist(), strict=True):
                name = kmer.name.replace("\t", " ") or "."
                file.write("\t".join([name, kmer.letters, str(total), *map(str, row)]) + "\n")


@dataclass(frozen=True, eq=False)
class Matrix:
    """Counts of k-mers on paths or contigs.

    Attributes
    ----------
    counts
        int64, shape (n_kmers, n_columns).
    rows, columns
        Names of the k-mers and of the paths or contigs.
    n_kmers, n_columns
        Total numbers, which are larger than the shown ones if there are too many.
    """

    counts: np.ndarray
    rows: Sequence[str]
    columns: Sequence[str]
    n_kmers: int
    n_columns: int

    @property
    def is_of_one(self) -> bool:
        """Whether it has all counts of a single k-mer."""
        return len(self.rows) == self.n_kmers == 1 and len(self.columns) == self.n_columns


def count_matrix(built: BuiltIndex, answer: CountAnswer) -> Matrix:
    """Count the first k-mers by path of a graph, or by contig of a genome."""
    kmers, axis = answer.kmers[:MAX_KMERS], GenomeAxis.of(built)
    counts = np.concatenate([part for _, part in iter_path_counts(built, answer, len(kmers))])
    columns = list(axis.names[:MAX_COLUMNS])
    rows = [kmer.name or kmer.letters for kmer in kmers]
    return Matrix(counts[:, : len(columns)], rows, columns, len(answer.kmers), len(axis.names))


class PathsPanel:
    """A tab of the page."""

    title = "Paths"
    has_figure = True

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self.is_shown = False
        self._pointer: tuple[int, int] | None = None
        self.matrix: Matrix | None = None
        self._question = Question(state.session, "k-mers on paths", self._on_answer)
        asking = Watched(state.session, self._ask, view=self)
        asking.follow(state, "answer")
        self._hovering = Watched(state.session, self._say)
        saying = Watched(state.session, self._say, view=self)
        saying.follow(state, "text", "index")
        self.figure = MatrixFigure()
        self._turn = Turn(self.figure.figure, self._draw)
        for event, act in (
            (MouseMove, self._on_pointer),
            (MouseLeave, self._on_pointer),
            (Tap, self._on_tap),
        ):
            self.figure.figure.on_event(event, act)
        self.said = pn.pane.HTML(
            ENTER, sizing_mode="stretch_width", margin=(12, 8, 0, 10), stylesheets=[TEXT]
        )
        self.pane = pn.pane.Bokeh(
            self.figure.figure, sizing_mode="stretch_both", margin=0, styles=WITH_OTHERS
        )
        self.names = pn.pane.HTML(
            "", sizing_mode="stretch_both", margin=0, visible=False, stylesheets=[LISTS],
            styles=WITH_OTHERS,
        )  # fmt: skip
        self.panel = pmui.Column(
            pmui.Row(
                self.said,
                file_button(state.session, "TSV", self._file, margin=(6, 8, 0, 0)),
                sizing_mode="stretch_width",
                margin=(0, 0, 4, 0),
            ),
            self.pane,
            self.names,
            sizing_mode="stretch_both",
            margin=0,
        )

    def _ask(self) -> None:
        answer = self._state.answer
        if answer is None or not answer.kmers:
            self._question.drop()
            self._on_answer(None)
        else:
            self._question.ask(count_matrix, self._state.index.built, answer)

    def _on_answer(self, matrix: Matrix | None) -> None:
        self.matrix, self._pointer = matrix, None
        self._turn.ask()

    def _draw(self) -> None:
        matrix = self.matrix
        with pn.io.hold():
            if matrix is None:
                self.figure.show(np.zeros((0, 0)), [], [])
            else:
                min_rows = {"min_rows": 1} if matrix.is_of_one else {}
                self.figure.show(matrix.counts, matrix.rows, matrix.columns, **min_rows)
            is_alone = matrix is not None and matrix.is_of_one
            self.pane.styles = ALONE if is_alone else WITH_OTHERS
            self.names.object = lists_html(matrix, self._noun) if is_alone else ""
            self.names.visible = is_alone
            self._say()

    def _say(self) -> None:
        matrix = self.matrix
        if matrix is None:
            self.said.object = self._state.without_counts(ENTER)
            return
        if self._pointer is not None:
            row, column = self._pointer
            n_hits = int(matrix.counts[row, column])
            kmer, path = escape(matrix.rows[row][:NAME_LETTERS]), escape(matrix.columns[column])
            self.said.object = f"<b>{n_words(n_hits, 'hit')}</b> of {kmer} on {path}"
            return
        n_rows, n_columns = matrix.counts.shape
        noun = self._noun
        if matrix.is_of_one:
            self.said.object = (
                f"{escape(matrix.rows[0][:NAME_LETTERS])} {where_html(matrix, noun)}. "
                f"Point at a {noun} for its count."
            )
            return
        has = int(np.count_nonzero(matrix.counts))
        words = f"{n_words(n_rows, 'k-mer')} × {n_words(n_columns, noun)}"
        if (n_rows, n_columns) != (matrix.n_kmers, matrix.n_columns):
            words = (
                f"showing {n_rows:,} of {n_words(matrix.n_kmers, 'k-mer')} × "
                f"{n_columns:,} of {n_words(matrix.n_columns, noun)}"
            )
        cells = max(matrix.counts.size, 1)
        self.said.object = (
            f"{words}; {n_words(has, 'pair')} with hits "
            f"({100 * has / cells:.1f} %). "
            "Point at a cell for its count; click to see its hits."
        )

    @property
    def _noun(self) -> str:
        return "path" if self._state.index.built.graph is not None else "contig"

    def _cell(self, event: Any) -> tuple[int, int] | None:
        matrix = self.matrix
        if matrix is None or getattr(event, "x", None) is None:
            return None
        row, column = int(np.floor(-event.y)), int(np.floor(event.x))
        n_rows, n_columns = matrix.counts.shape
        return (row, column) if 0 <= row < n_rows and 0 <= column < n_columns else None

    def _on_pointer(self, event: Any) -> None:
        cell = None if isinstance(event, MouseLeave) else self._cell(event)
        if cell != self._pointer:
            self._pointer = cell
            self._hovering.start()

    def _on_tap(self, event: Any) -> None:
        cell = self._cell(event)
        if cell is not None:
            self._state.chosen = cell[0]

    def _file(self) -> tuple[str, Any]:
        answer, index = self._state.answer, self._state.index
        if answer is None or not answer.kmers or index is None:
            raise GenovizError("no counts on paths yet; enter a k-mer first")

        def write(path: Path) -> None:
            write_path_counts(path, index.built, answer)

        return "kmers_on_paths.tsv", write


def where_html(matrix: Matrix, noun: str) -> str:
    """Return on how many paths the first k-mer is; they are listed below."""
    n, n_there = len(matrix.columns), int(np.count_nonzero(matrix.counts[0]))
    if n_there == n:
        return f"is on all {n:,} {noun}s" if n > 1 else f"is on the only {noun}"
    return f"is on {f'{n_there:,}' if n_there else 'none'} of {n_words(n, noun)}"


def lists_html(matrix: Matrix, noun: str) -> str:
    """Return the names of the paths with the first k-mer, after their counts, and of the others."""
    counts = matrix.counts[0]
    there, others = np.flatnonzero(counts), np.flatnonzero(counts == 0)
    parts = []
    for title, columns in (("On", there), ("Not on", others)):
        if len(columns):
            names = ((matrix.columns[column], int(counts[column])) for column in columns.tolist())
            items = "".join(
                f'<li title="{escape(name)}">{f"{n:,} × " if n > 1 else ""}{escape(name)}</li>'
                for name, n in names
            )
            parts.append(f"<h3>{title} {n_words(len(columns), noun)}</h3><ul>{items}</ul>")
    return "".join(parts)
