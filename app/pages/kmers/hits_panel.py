"""The Hits tab: the requested k-mers, and a table of the hits of one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError
from genoviz_app.pages.kmers.counting import CountAnswer
from genoviz_app.pages.kmers.hits import (
    BLOCK,
    COLUMNS,
    GenomeAxis,
    HitSet,
    highlight_of,
    hit_rows,
    iter_write_hits,
    share_place,
    shorten_kmer,
)
from genoviz_app.pages.kmers.state import LONG_SECONDS, KmerState
from genoviz_app.parts.file_button import ExportMenu, file_stem
from genoviz_app.parts.lighting import light_button
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.remote_table import MAX_ROWS, Column, RemoteTable, TableRows
from genoviz_app.parts.styles import NARROW_WRAPS, STACKS, in_narrow_window
from genoviz_app.parts.words import n_words
from genoviz_app.session.lit_sets import Highlight

NO_HITS, NO_KMER = "no hits", "Enter a k-mer above to list its hits."
FINDING = "searching …"
ICON: dict[str, Any] = {"size": "20px", "margin": (4, 0, 0, 0)}

LIST_WIDTH = 310
LIST_COLUMNS = (
    Column("K-mer", share=5),
    Column("Name", share=3),
    Column("Hits", is_number=True, share=2),
)


class KmerList:
    """A narrow table of k-mers next to the hits; hidden for a single k-mer."""

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self.table = RemoteTable(
            LIST_COLUMNS, placeholder="K-mer or name", on_row=self._on_row, min_width=50
        )
        self.panel = pmui.Column(
            self.table.panel, width=LIST_WIDTH, sizing_mode="stretch_height", margin=0,
            visible=False, stylesheets=in_narrow_window("210px", or_page=True),
        )  # fmt: skip
        state.param.watch(self._follow, "answer")
        self._follow()

    def _follow(self, *_events: Any) -> None:
        answer = self._state.answer
        is_list = answer is not None and len(answer.kmers) > 1
        self.panel.visible = is_list
        if is_list:
            self.table.show(list_rows(answer))

    def _on_row(self, row: int) -> None:
        self._state.chosen = row


def list_rows(answer: CountAnswer) -> TableRows:
    """Return the k-mers as rows, up to the table's limit."""
    kmers = answer.kmers[:MAX_ROWS]
    letters = [kmer.letters for kmer in kmers]
    frame = pd.DataFrame(
        {
            "K-mer": [shorten_kmer(text) for text in letters],
            "Name": [kmer.name for kmer in kmers],
            "Hits": answer.counts[: len(kmers)],
        }
    )
    words = np.array([f"{kmer.name} {kmer.letters}".lower()[:200] for kmer in kmers], dtype=np.str_)
    more = len(answer.kmers) - len(kmers)
    note = f"{int(np.count_nonzero(answer.counts)):,} have hits"
    if more:
        note = f"the first of {len(answer.kmers):,}, of which {note}"
    hidden = () if any(kmer.name for kmer in kmers) else ("Name",)
    return TableRows(frame, words, np.arange(len(kmers)), note, hidden)


class HitsPanel:
    """A tab of the page.

    Attributes
    ----------
    title, panel
        Title and Panel object.
    table
        The table of hits.
    """

    title = "Hits"
    has_figure = False

    def __init__(self, state: KmerState) -> None:
        self._state, session = state, state.session
        self._first = 0
        self._shown: HitSet | None = None
        self.is_shown = False
        self._rows = Question(session, "rows of hits", self._on_rows)
        self.list = KmerList(state)
        self.table = RemoteTable(
            COLUMNS, placeholder="Contig or path", on_row=self._on_row, min_width=84
        )
        self.said = pn.pane.HTML(
            "",
            sizing_mode="stretch_width",
            margin=(9, 8, 0, 4),
            stylesheets=[
                ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; "
                "min-width: 0; overflow-wrap: anywhere; }"
            ],
        )
        self.before = self._icon("chevron_left", f"The {BLOCK:,} hits before", -BLOCK)
        self.after = self._icon("chevron_right", f"The next {BLOCK:,} hits", BLOCK)
        small: dict[str, Any] = {"margin": (5, 4, 0, 0)}
        self.light = light_button(session, self._lit, "all these hits", **small)
        files = {"All hits (TSV)": "tsv", "All hits (BED)": "bed"}
        self.exports = ExportMenu(
            session, {name: partial(self._file, kind) for name, kind in files.items()}, **small
        )
        bar = pmui.Row(
            self.table.search, self.before, self.after, self.said, self.light,
            self.exports,
            sizing_mode="stretch_width", margin=(4, 8, 2, 8), sx=NARROW_WRAPS,
        )  # fmt: skip
        self.panel = pmui.Row(
            self.list.panel,
            pmui.Column(bar, self.table.place, sizing_mode="stretch_both", margin=0),
            sizing_mode="stretch_both",
            margin=0,
            sx=STACKS,
        )
        state.param.watch(self._follow, "hits")
        self._follow()

    def _icon(self, icon: str, description: str, step: int) -> pmui.IconButton:
        button = pmui.IconButton(icon=icon, description=description, **ICON)
        button.on_click(lambda _: self._turn(step))
        return button

    def poll(self) -> None:
        """Show progress if the search for hits is slow."""
        if self._state.hits is None:
            words = self._missing
            if self.said.object != words:
                self.said.object = words
        elif self._shown is not None and self._shown is not self._state.hits:
            if self._rows.seconds_open > LONG_SECONDS:
                self._clear(FINDING)

    @property
    def _missing(self) -> str:
        """What to say while there are no hits to list."""
        if not self._state.is_finding:
            return self._state.without_counts(NO_KMER)
        waiting = self._state.session.waiting
        return f"{FINDING} {waiting}" if waiting else FINDING

    def _lit(self) -> Callable[[], Highlight]:
        """Return a function that makes a highlight of all located hits."""
        hits, index = self._state.hits, self._state.index
        if hits is None or index is None:
            raise GenovizError("there are no hits to highlight; enter a k-mer first")
        strand = self._state.answer.strand if self._state.answer else self._state.strand
        return lambda: highlight_of(index.built, hits, strand)

    def _turn(self, step: int) -> None:
        hits = self._state.hits
        if hits is not None:
            last = max(len(hits) - 1, 0) // BLOCK * BLOCK
            self._first = min(max(self._first + step, 0), last)
            self._ask(hits)

    def _follow(self, *_events: Any) -> None:
        hits, self._first = self._state.hits, 0
        if hits is None or not len(hits):
            self._rows.drop()
            self._clear(self._missing if hits is None else self._no_hits(hits))
            return
        self._ask(hits)

    def _no_hits(self, hits: HitSet) -> str:
        longest = int(GenomeAxis.of(self._state.index.built).lengths.max(initial=0))
        k = len(hits.kmer.letters)
        if k <= longest:
            return NO_HITS
        return f"{NO_HITS}: it has {n_words(k, 'base')}, and the longest sequence {longest:,}"

    def _clear(self, words: str) -> None:
        self._shown = None
        with pn.io.hold():
            allow(self.light, "enter a k-mer that has hits")
            self.table.clear()
            self.before.visible = self.after.visible = False
            self.said.object = words

    def _ask(self, hits: HitSet) -> None:
        self._rows.ask(hit_rows, self._state.index.built, hits, self._first)

    def _on_rows(self, rows: TableRows) -> None:
        hits = self._state.hits
        if hits is None:
            return
        self._shown, last = hits, self._first + len(rows.frame)
        with pn.io.hold():
            allow(self.light)
            self.table.show(rows)
            self.before.visible = self.after.visible = len(hits) > BLOCK
            allow(self.before, "" if self._first else "this is the first page")
            allow(self.after, "" if last < len(hits) else "this is the last page")
            if hits.n_hits > len(rows.frame):
                words = f"showing {self._first + 1:,} to {last:,} of {n_words(hits.n_hits, 'hit')}"
            else:
                words = f"all {n_words(hits.n_hits, 'hit')}" if hits.n_hits > 1 else "1 hit"
            if self._state.answer is not None and len(self._state.answer.kmers) > 1:
                words += f" of {shorten_kmer(hits.kmer.letters)}"
            if hits.is_cut:
                words += f"; only {len(hits):,} were located"
            self.said.object = words

    def _on_row(self, row: int) -> None:
        """Make a hit the current position on all pages."""
        hits, index = self._state.hits, self._state.index
        if hits is None or index is None:
            return
        place = self._first + row
        contig, start = int(hits.ids[place]), int(hits.starts[place])
        end = start + len(hits.kmer.letters)
        share_place(self._state.session, index.built, contig, start, end)

    def _file(self, kind: str) -> tuple[str, Any]:
        hits, index = self._state.hits, self._state.index
        if self._state.is_finding:
            raise GenovizError("the search is still running; press again in a moment")
        if hits is None or index is None:
            raise GenovizError("there are no hits; enter a k-mer first")

        axis = GenomeAxis.of(index.built)
        name = f"{file_stem(hits.kmer.letters[:40])}.{kind}"
        return name, lambda path: iter_write_hits(path, hits, axis)
