"""The list of k-mers, when several were asked for: counts, and which one is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import panel_material_ui as pmui

from genoviz_app.pages.kmers.counting import CountAnswer
from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.parts.remote_table import MAX_ROWS, Column, RemoteTable, TableRows

WIDTH, SHOWN_LETTERS = 310, 28
COLUMNS = (
    Column("K-mer", share=5),
    Column("Name", share=3),
    Column("Hits", is_number=True, share=2),
)


class KmerList:
    """A narrow table beside the hits; hidden for a single k-mer."""

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self.table = RemoteTable(
            COLUMNS, placeholder="Find a k-mer or name", on_row=self._on_row, min_width=50
        )
        self.panel = pmui.Column(
            self.table.panel, width=WIDTH, sizing_mode="stretch_height", margin=0, visible=False
        )
        state.param.watch(self._follow, "answer")
        self._follow()

    def poll(self) -> None:
        """Nothing: the list has its answers from the state."""

    def _follow(self, *_events: Any) -> None:
        answer = self._state.answer
        is_list = answer is not None and len(answer.kmers) > 1
        self.panel.visible = is_list
        if is_list:
            self.table.show(list_rows(answer))

    def _on_row(self, row: int) -> None:
        self._state.chosen = row


def shorten_kmer(letters: str) -> str:
    """Return a k-mer that has room in a line.

    Examples
    --------
    >>> shorten_kmer("GATTACA" * 9)
    'GATTACAGATTACAGATTACAGATTAC…'
    """
    return letters if len(letters) <= SHOWN_LETTERS else f"{letters[: SHOWN_LETTERS - 1]}…"


def list_rows(answer: CountAnswer) -> TableRows:
    """Return the k-mers as rows, at most as many as a table holds."""
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
