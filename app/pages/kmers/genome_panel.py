"""The Genome tab: hits on both strands, k-mer counts, contigs and the region."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import panel as pn
import panel_material_ui as pmui
from bokeh.events import Tap

from genoviz.model import PathRegion
from genoviz_app.pages.kmers.choosing_k import KField
from genoviz_app.pages.kmers.genome_bins import GenomeBins, GenomeView, iter_make_bins
from genoviz_app.pages.kmers.hits import GenomeAxis, share_place, shorten_kmer
from genoviz_app.pages.kmers.state import WAITING, KmerState, RepeatsOf
from genoviz_app.parts.questions import Question, Watched
from genoviz_app.parts.styles import WORDS_BELOW
from genoviz_app.parts.turn import Turn
from genoviz_app.parts.words import n_words
from genoviz_app.plots.kmer_genome import (
    FORWARD_COLOUR,
    MAX_COLOUR,
    MEAN_COLOUR,
    REVERSE_COLOUR,
    GenomeFigures,
)
from genoviz_app.plots.kmer_matrix import shorten
from genoviz_app.plots.lit_stretches import Lit, lit_bars

ALL = "All in a row"
MAX_OPTIONS = 2000
REST_SECONDS = 0.05
NO_WIDTH = 1000
SMALLEST_VIEW = 40
STYLE = """
:host { font-size: 12.5px; line-height: 1.5; font-variant-numeric: tabular-nums; }
p { margin: 0; } p + p { opacity: 0.8; }
span { white-space: nowrap; margin-right: 10px; }
i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
"""
LIT_LEVEL, LIT_HEIGHT = 0.01, 0.045
"""Lower edge of highlight bars, and height of each set, relative to the figure."""
MAX_SEEN, LETTER_PIXELS, BORDER_PIXELS, RIGHT_PIXELS = 2000, 7, 4, 20


class GenomePanel:
    """A tab of the page.

    Attributes
    ----------
    title, panel
        Title and Panel object.
    figures
        The figures.
    shown
        The bins drawn last, or None.
    """

    title = "Along the genome"
    has_figure = True

    def __init__(self, state: KmerState, repeats: RepeatsOf) -> None:
        self._state, self._repeats = state, repeats
        self._axis: GenomeAxis | None = None
        self._labels: list[str] = []
        self.shown: GenomeBins | None = None
        self.is_shown = False
        self._wanted: tuple[float, float] | None = None
        self._width = NO_WIDTH
        self._waiting: GenomeBins | None = None
        self.figures = GenomeFigures()
        self._turn = Turn(self.figures.hits, self._draw)
        self._bins = Question(state.session, "bins along the genome", self._on_bins)
        self._stale = Watched(state.session, self._ask, self._can_ask, view=self)
        self._lit = Question(state.session, "highlights along the genome", self._on_lit)
        self._lit_bars: dict[str, Any] | None = None
        self._lit_turn = Turn(self.figures.hits, self._draw_lit)
        self.contig = pmui.Select(
            label="Contig or path", options=[ALL], value=ALL, searchable=True, size="small",
            width=220, margin=(8, 8, 0, 10),
        )  # fmt: skip
        self.k = KField(state)
        self.said = pn.pane.HTML(
            "",
            sizing_mode="stretch_width",
            margin=(8, 8, 0, 4),
            stylesheets=[STYLE],
        )
        bar = pmui.Row(
            self.contig,
            self._icon("width_full", "Show the whole genome", self.show_whole),
            self._icon("zoom_in", "Zoom in twofold", lambda: self.zoom(0.5)),
            self._icon("zoom_out", "Zoom out twofold", lambda: self.zoom(2.0)),
            self.k.panel,
            self.said,
            sizing_mode="stretch_width", margin=(0, 0, 4, 0), sx=WORDS_BELOW,
        )  # fmt: skip
        self.hit_pane = pn.pane.Bokeh(self.figures.hits, sizing_mode="stretch_both", margin=0)
        self.count_pane = pn.pane.Bokeh(self.figures.counts, sizing_mode="stretch_both", margin=0)
        self.panel = pmui.Column(
            bar, self.hit_pane, self.count_pane, sizing_mode="stretch_both", margin=0
        )
        self._listen()
        self._follow_index()

    def _icon(self, icon: str, description: str, act: Any) -> pmui.IconButton:
        button = pmui.IconButton(icon=icon, description=description, size="22px", margin=(8, 0))
        button.on_click(lambda _: act())
        return button

    def _listen(self) -> None:
        state = self._state
        state.param.watch(self._follow_index, "index")
        self._stale.follow(state, "k", "hits")
        self._stale.follow(state.session, "region")
        self._stale.follow(state.session.highlights, "sets")
        self.contig.param.watch(lambda _: self.show_whole(), "value")
        for name in ("start", "end"):
            self.figures.x_range.on_change(name, self._on_change)
        self.figures.hits.on_change("inner_width", self._on_width)
        for plot in (self.figures.hits, self.figures.counts):
            plot.on_event(Tap, self._on_tap)

    @property
    def contig_id(self) -> int:
        """Index of the displayed contig; -1 for all."""
        if self._axis is None or self.contig.value in (ALL, None):
            return -1
        return self._labels.index(self.contig.value)

    @property
    def length(self) -> int:
        """Length of the whole axis, bp."""
        if self._axis is None:
            return 1
        contig = self.contig_id
        return max(self._axis.total if contig < 0 else int(self._axis.lengths[contig]), 1)

    @property
    def view(self) -> GenomeView:
        """Displayed contig, visible interval, and width in pixels."""
        x_range = self.figures.x_range
        start, end = self._wanted or (float(x_range.start), float(x_range.end))
        return GenomeView(self.contig_id, start, end, self._width)

    @property
    def _strand(self) -> str:
        return "forward" if self._state.strand == "forward" else "canonical"

    def show_whole(self) -> None:
        """Show the whole contig, or all contigs."""
        self._wanted = (0.0, float(self.length))
        self._stale.start()

    def zoom(self, factor: float) -> None:
        """Change the visible length by ``factor`` around the same centre."""
        view = self.view
        half = max((view.end - view.start) * factor, SMALLEST_VIEW) / 2
        middle = (view.start + view.end) / 2
        self._wanted = (max(middle - half, 0.0), min(middle + half, float(self.length)))
        self._stale.start()

    def poll(self) -> None:
        """Update the figures; called some twenty times per second."""
        if self.is_shown and self._axis is not None:
            self._repeats.want(self._state.index.built.graph is None)
            if self._repeats.has_changed(self):
                self._stale.start()

    def _can_ask(self) -> bool:
        return self._axis is not None and not self._bins.is_open

    def _ask(self) -> None:
        """Ask for the bins of the view."""
        repeats = self._repeats.value if self._state.index.built.graph is None else None
        view = self.view
        if view.start < view.end:
            self._bins.ask(
                iter_make_bins, self._axis, view, self._state.hits, repeats, self._state.k,
                self._strand,
            )  # fmt: skip
            self._lit.ask(lit_of_view, self._state.session.highlights.shown, self._axis, view)

    def _follow_index(self, *_events: Any) -> None:
        self._bins.drop()
        self._waiting, self.said.object = None, ""
        index = self._state.index
        self.figures.wait(WAITING if index is None else "")
        self._axis = GenomeAxis.of(index.built) if index is not None else None
        names = list(self._axis.names)[:MAX_OPTIONS] if self._axis is not None else []
        self._labels = labels = tell_apart(names)
        options = labels if len(labels) == 1 else [ALL, *labels]
        self.contig.param.update(options=options, value=options[0])
        has_counts = index is None or index.built.graph is None
        self.count_pane.visible = self.k.panel.visible = has_counts
        self.figures.hits.xaxis[0].visible = not has_counts
        self.show_whole()

    def _on_bins(self, bins: GenomeBins) -> None:
        self._waiting = bins
        self._turn.ask()

    def _on_lit(self, bars: dict[str, Any]) -> None:
        self._lit_bars = bars
        self._lit_turn.ask()

    def _draw_lit(self) -> None:
        if self._lit_bars is not None:
            self.figures.show_lit(self._lit_bars)

    def _draw(self) -> None:
        bins, self._waiting = self._waiting, None
        if bins is None or self._axis is None:
            return
        with pn.io.hold():
            self._move()
            self.shown = bins
            size = f"{bins.bin_bp:,} bp"
            if bins.hits is not None:
                self.figures.show_hits(bins.hits, f"Hits per {size}")
            else:
                empty = {name: [] for name in self.figures.hit_source.data}
                self.figures.show_hits(empty, f"Hits per {size}")
            self.figures.show_counts(bins.counts, f"Count of {self._state.k}-mers")
            show_contigs(self.figures, self._axis, bins.view)
            show_region(self.figures, self._axis, bins.view, self._state.session.region)
            self.said.object = self._words(bins)

    def _move(self) -> None:
        if self._wanted is None:
            return
        (start, end), self._wanted = self._wanted, None
        x_range, bounds = self.figures.x_range, (0.0, float(self.length))
        if x_range.bounds != bounds:
            x_range.update(bounds=None, min_interval=None)
            x_range.update(start=start, end=end)
            x_range.update(bounds=bounds, min_interval=min(SMALLEST_VIEW, self.length))
        else:
            x_range.update(start=start, end=end)

    def _words(self, bins: GenomeBins) -> str:
        view = bins.view
        words = f"{view.end - view.start:,.0f} bp in bins of {bins.bin_bp:,} bp"
        answer, hits = self._state.answer, self._state.hits
        if answer is not None and len(answer.kmers) > 1 and hits is not None:
            words = f"{shorten_kmer(hits.kmer.letters)} on {words}"
        if hits is not None and hits.is_cut:
            words += f"; the first {len(hits):,} of {n_words(hits.n_hits, 'hit')}"
        if self._repeats.is_making:
            words += f" · {self._repeats.text}"
        keys = [(FORWARD_COLOUR, "forward"), (REVERSE_COLOUR, "reverse")]
        if bins.counts is not None:
            keys += [(MEAN_COLOUR, "mean count"), (MAX_COLOUR, "highest")]
        squares = "".join(f'<span><i style="background:{c}"></i>{key}</span> ' for c, key in keys)
        return f"<p>{squares}</p><p>{words}</p>"

    def _on_change(self, _attr: str, _old: Any, _new: Any) -> None:
        self._stale.start(REST_SECONDS)

    def _on_width(self, _attr: str, _old: Any, new: int) -> None:
        if new and new > 0:
            self._width = int(new)
            self._stale.start()

    def _on_tap(self, event: Any) -> None:
        """Make the clicked bin, or its hit, the current position on all pages."""
        axis, bins = self._axis, self.shown
        if axis is None or bins is None or not 0 <= event.x < self.length:
            return
        contig, position = bins.view.contig, int(event.x)
        if contig < 0:
            contig = int(np.searchsorted(axis.offsets, position, side="right")) - 1
            position -= int(axis.offsets[contig])
        start = position // bins.bin_bp * bins.bin_bp
        end = min(start + max(bins.bin_bp, 1), int(axis.lengths[contig]))
        share_place(self._state.session, self._state.index.built, contig, start, end)


def tell_apart(names: list[str]) -> list[str]:
    """Return names with duplicates numbered, so that all are unique.

    Examples
    --------
    >>> tell_apart(["a", "b", "a", "a (2)"])
    ['a', 'b', 'a (2)', 'a (2) (2)']
    """
    labels: dict[str, None] = {}
    for name in names:
        label, n = name, 1
        while label in labels or label == ALL:
            n += 1
            label = f"{name} ({n})"
        labels[label] = None
    return list(labels)


def show_contigs(figures: GenomeFigures, axis: GenomeAxis, view: GenomeView) -> None:
    """Draw contig borders and the names that fit, if all contigs are concatenated."""
    if view.contig >= 0 or len(axis.names) < 2:
        figures.show_contigs(np.empty(0), {})
        return
    per_pixel = (view.end - view.start) / max(view.width, 1)
    starts, ends = axis.offsets[:-1], axis.offsets[1:]
    middles = (np.maximum(starts, view.start) + np.minimum(ends, view.end)) / 2
    seen = np.flatnonzero((ends > view.start) & (starts < view.end))
    names, last = {}, -np.inf
    for contig in seen[:: -(-len(seen) // MAX_SEEN) or 1].tolist():
        name = shorten(axis.names[contig])
        half = len(name) * LETTER_PIXELS * per_pixel / 2
        has_room = middles[contig] + half < view.end + RIGHT_PIXELS * per_pixel
        if has_room and middles[contig] - half > last:
            names[float(middles[contig])] = name
            last = middles[contig] + half
    borders = axis.offsets[(axis.offsets > view.start) & (axis.offsets < view.end)]
    if len(borders) * BORDER_PIXELS > view.width:
        borders = borders[:0]
    figures.show_contigs(borders.astype(float), names)


def lit_of_view(sets: Iterable[Lit], axis: GenomeAxis, view: GenomeView) -> dict[str, Any]:
    """Return the highlight bars of a view, at the bottom of the figure."""
    if view.contig >= 0:
        rows = [(axis.names[view.contig], 0.0, LIT_LEVEL)]
    else:
        is_seen = (axis.offsets[1:] > view.start) & (axis.offsets[:-1] < view.end)
        seen = np.flatnonzero(is_seen)[:MAX_SEEN].tolist()
        rows = [(axis.names[contig], float(axis.offsets[contig]), LIT_LEVEL) for contig in seen]
    per_pixel = (view.end - view.start) / max(view.width, 1)
    return lit_bars(sets, rows, (view.start, view.end), per_pixel, LIT_HEIGHT)


def show_region(
    figures: GenomeFigures, axis: GenomeAxis, view: GenomeView, region: PathRegion | None
) -> None:
    """Draw the region as a band if it is on the displayed axis."""
    if region is None or region.path not in axis.names:
        figures.show_region(None)
        return
    contig = list(axis.names).index(region.path)
    if view.contig not in (-1, contig):
        figures.show_region(None)
        return
    shift = int(axis.offsets[contig]) if view.contig < 0 else 0
    figures.show_region((region.start + shift, region.end + shift))
