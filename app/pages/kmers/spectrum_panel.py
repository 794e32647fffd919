"""The Spectrum tab: a histogram of k-mer multiplicities, and the k-mers of its bars."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import panel as pn
import panel_material_ui as pmui
from bokeh.events import SelectionGeometry, Tap

from genoviz.analyses.sequences.kmer_repeats import KmerRepeats
from genoviz.analyses.sequences.kmer_spectrum import KmerSpectrum
from genoviz.errors import GenovizError
from genoviz_app.pages.kmers.choosing_k import KField
from genoviz_app.pages.kmers.query_box import QueryBox
from genoviz_app.pages.kmers.state import WAITING, KmerState, RepeatsOf, stored_words
from genoviz_app.parts.file_button import file_button
from genoviz_app.parts.questions import Question
from genoviz_app.parts.remote_table import Column, RemoteTable, TableRows
from genoviz_app.parts.styles import STACKS, WORDS_BELOW
from genoviz_app.parts.turn import Turn
from genoviz_app.plots.kmer_spectrum import SpectrumFigure, bar_columns

BEHIND = 10_000
COLUMNS = (
    Column("K-mer", share=5),
    Column("Times", is_number=True, share=2),
    Column("GC %", is_number=True, share=2, format="0.0"),
)
CLICK = "Click a bar, or drag over several, to list their k-mers."
TEXT = ":host { font-size: 12.5px; font-variant-numeric: tabular-nums; }"
N_EXACT = 20
BINS_PER_DECADE = 10
LIMITS = {"no limit": 0, "100": 100, "1,000": 1000, "10,000": 10_000, "100,000": 100_000}
TICKS = (1, 2, 3, 5, 10, 15, *(step * 10**power for power in range(1, 12) for step in (2, 5, 10)))


class SpectrumPanel:
    """A tab of the page."""

    title = "Spectrum"
    has_figure = True

    def __init__(self, state: KmerState, repeats: RepeatsOf, query: QueryBox) -> None:
        self._state, self._repeats, self._query = state, repeats, query
        self.is_shown = False
        self._asked: tuple = ()
        self._range = (1, 0)
        self.spectrum: KmerSpectrum | None = None
        self.bins: tuple = ()
        self.kmers: list[str] = []
        session = state.session
        self._spectra = Question(session, "spectrum of k-mers", self._on_spectrum)
        self._behind = Question(session, "k-mers behind a bar", self._on_behind)
        self.figure = SpectrumFigure()
        self.figure.note.show(WAITING)
        self._turn = Turn(self.figure.figure, self._draw)
        self.figure.figure.on_event(Tap, self._on_tap)
        self.figure.figure.on_event(SelectionGeometry, self._on_selection)
        self.k = KField(state)
        self.mode = pmui.Select(
            label="K-mers of",
            options={"both strands": "canonical", "the forward strand": "forward"},
            value="canonical", size="small", width=200, margin=(8, 8, 0, 0),
            description="Both strands: a k-mer and its reverse complement count as one (canonical)",
        )  # fmt: skip
        self.limit = pmui.Select(
            label="Bars up to", options=LIMITS, value=10_000, size="small", width=120,
            margin=(8, 8, 0, 0), description="The last bar includes all higher multiplicities.",
        )  # fmt: skip
        self.said = pn.pane.HTML(
            WAITING, sizing_mode="stretch_width", margin=(10, 8, 0, 4), stylesheets=[TEXT]
        )
        bar = pmui.Row(
            self.k.panel, self.mode, self.limit, self.said,
            file_button(session, "TSV", self._file, margin=(12, 8, 0, 0)),
            sizing_mode="stretch_width", margin=(0, 0, 4, 0), sx=WORDS_BELOW,
        )  # fmt: skip
        self.table = RemoteTable(
            COLUMNS, placeholder="Find in these", on_row=self._on_row, min_width=50
        )
        self.table.clear(CLICK)
        self.table.count.margin = (0, 8, 6, 10)
        self._side = pmui.Column(
            self.table.count,
            sizing_mode="stretch_both",
            margin=0,
            styles={"flex": "0 1 390px", "min-width": "0"},
        )
        self.panel = pmui.Column(
            bar,
            pmui.Row(
                pn.pane.Bokeh(self.figure.figure, sizing_mode="stretch_both", margin=0),
                self._side,
                sizing_mode="stretch_both",
                margin=0,
                sx=STACKS,
            ),
            sizing_mode="stretch_both",
            margin=0,
        )
        self.limit.param.watch(lambda _: self._turn.ask(), "value")
        state.param.watch(self._follow_index, "index")

    def poll(self) -> None:
        """Update the tab."""
        if not self.is_shown or self._state.index is None:
            return
        if len(self._side) == 1 and self._turn.is_laid_out:
            self._side.append(self.table.place)  # a table needs a visible container
        self._repeats.want()
        repeats = self._repeats.value
        if repeats is None:
            self.said.object = self._repeats.text
            return
        wanted = (id(repeats), self._state.k, self.mode.value)
        if wanted != self._asked:
            self._asked = wanted
            self._spectra.ask(repeats.iter_spectrum, self._state.k, self.mode.value)

    def _follow_index(self, *_events: Any) -> None:
        self._spectra.drop()
        self._behind.drop()
        self._asked, self.spectrum = (), None
        self._turn.ask()

    def _on_spectrum(self, spectrum: KmerSpectrum) -> None:
        self.spectrum = spectrum
        self._turn.ask()

    def _draw(self) -> None:
        spectrum, limit = self.spectrum, self.limit.value
        with pn.io.hold():
            self.table.clear(CLICK)
            self.bins, self._range = (), (1, 0)
            self.figure.note.show(self._state.awaited if spectrum is None else "")
            if spectrum is None:
                self.figure.show(bar_columns((), n_positions=0, limit=0), {})
                self.said.object = "" if self._state.index is not None else WAITING
                return
            times, n = spectrum.multiplicities, spectrum.n_kmers
            self.bins = spectrum_bins(times, n, limit=limit)
            n_positions = int((times * n).sum())
            shown = limit or (int(times[-1]) if len(times) else 1)
            self.figure.show(
                bar_columns(self.bins, n_positions=n_positions, limit=shown),
                bin_ticks(self.bins, limit),
            )
            once = int(n[times == 1].sum())
            self.said.object = (
                f"{int(n.sum()):,} distinct k-mers (k = {spectrum.k:,}), {once:,} occur once, "
                f"none more than {int(times[-1]) if len(times) else 0:,} times"
                f"{stored_words(self._state.index)}"
            )

    def _on_tap(self, event: Any) -> None:
        self._list(int(event.x), int(event.x))

    def _on_selection(self, event: Any) -> None:
        geometry = event.geometry
        if event.final and geometry.get("type") == "rect":
            first, last = sorted((geometry["x0"], geometry["x1"]))
            self._list(int(first), int(last))

    def _list(self, first: int, last: int) -> None:
        """List the k-mers of the selected bars."""
        first, last = max(first, 0), min(last, len(self.bins) - 1)
        repeats = self._repeats.value
        if first > last or repeats is None or self.spectrum is None:
            return
        self.figure.mark(first, last)
        low, high = self.bins[first][0], self.bins[last][1]
        self._range = (low, high)
        n = sum(row[2] for row in self.bins[first : last + 1])
        self._behind.ask(iter_kmers_behind, repeats, self.spectrum.k, low, high, n, self.mode.value)

    def _on_behind(self, found: tuple[list[str], TableRows]) -> None:
        self.kmers = found[0]
        self.table.show(found[1])

    def _on_row(self, row: int) -> None:
        """Query the k-mer of a row."""
        self._query.write(self.kmers[row])

    def _file(self) -> tuple[str, Any]:
        spectrum = self.spectrum
        if spectrum is None:
            raise GenovizError("no spectrum yet; open a genome first")

        def write(path: Path) -> None:
            lines = zip(spectrum.multiplicities.tolist(), spectrum.n_kmers.tolist(), strict=True)
            text = "".join(f"{times}\t{n}\n" for times, n in lines)
            path.write_text(f"multiplicity\tkmers\n{text}")

        return f"spectrum_k{spectrum.k}.tsv", write


def iter_kmers_behind(
    repeats: KmerRepeats, k: int, low: int, high: int, n: int, strand: str
) -> Generator[float, None, tuple[list[str], TableRows]]:
    """Return the k-mers with these multiplicities as rows; yields the fraction done."""
    yield from repeats.iter_spectrum(k, strand)  # cached by ``repeats``
    found = repeats.kmers_with(k, low, high, limit=BEHIND, strand=strand)
    letters = list(found.kmers)
    gc = [100 * (text.count("G") + text.count("C")) / max(len(text), 1) for text in letters]
    frame = pd.DataFrame({"K-mer": letters, "Times": found.counts, "GC %": gc})
    words = np.array([text.lower() for text in letters], dtype=np.str_)
    times = f"{low:,} times" if low == high else f"{low:,} to {high:,} times"
    note = f"the first of {n:,} that occur {times}" if n > len(letters) else f"that occur {times}"
    return letters, TableRows(frame, words, np.arange(len(letters)), note)


Bin = tuple[int, int, int, int]


def spectrum_bins(
    multiplicities: np.ndarray, n_kmers: np.ndarray, *, limit: int = 0
) -> tuple[Bin, ...]:
    """Return the bars of a spectrum: lowest and highest count, k-mers, and positions of each.

    Parameters
    ----------
    multiplicities, n_kmers
        int64, ascending: multiplicities, and the number of k-mers with each of them.
    limit
        Larger multiplicities are in the last bar; 0 for no limit.
    """
    if not len(multiplicities):
        return ()
    highest = int(multiplicities[-1])
    top = min(limit, highest) if limit else highest
    edges = [edge for edge in bin_edges(top) if edge <= top]
    edges.append(top + 1)
    if highest > top:
        edges.append(highest + 1)
    bounds = np.searchsorted(multiplicities, edges)
    mass = np.concatenate([[0], np.cumsum(multiplicities * n_kmers)])
    kmers = np.concatenate([[0], np.cumsum(n_kmers)])
    return tuple(
        (low, high - 1, int(kmers[b] - kmers[a]), int(mass[b] - mass[a]))
        for low, high, a, b in zip(edges, edges[1:], bounds, bounds[1:], strict=False)
    )


def bin_edges(top: int) -> list[int]:
    """Return lower bin edges: 1, 2, ..., then a fixed number per decade."""
    edges = list(range(1, N_EXACT + 1))
    exponent = BINS_PER_DECADE * np.log10(N_EXACT)
    step = int(np.floor(exponent)) + 1
    while edges[-1] < top:
        edge = round(10 ** (step / BINS_PER_DECADE))
        if edge > edges[-1]:
            edges.append(edge)
        step += 1
    return edges


def bin_ticks(bins: tuple[Bin, ...], limit: int) -> dict[float, str]:
    """Return tick positions of the axis with their labels."""
    ticks, last = {}, -2
    for place, (low, high, _kmers, _mass) in enumerate(bins):
        if limit and low > limit:
            ticks[place + 0.5] = f">{limit:,}"
            continue
        named = next((value for value in TICKS if low <= value <= high), None)
        if named is not None and (place - last >= 2 or named <= 3):
            ticks[place + 0.5] = f"{named:,}"
            last = place
    return ticks
