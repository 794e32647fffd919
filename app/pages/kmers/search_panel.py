"""The tab that shows how an FM-index searches: backward, base by base."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.sequences.kmers import Kmer
from genoviz_app.pages.kmers.search_steps import STYLE, SearchStep, find_step, sizes_svg, step_html
from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.parts.questions import Question

LONGEST = 2000
NOTHING = """<div class="steps"><p>Write a k-mer above: its search is shown here, base by base.</p>
<p>An FM-index keeps the suffixes of a genome in alphabetical order, so those that begin with the
same bases are neighbours, and all it stores is the base before each: the Burrows–Wheeler
transform (BWT). A k-mer is searched from its last base to its first; each base narrows the rows
down, and how many are left at the end is the count.</p></div>"""
AMBIGUOUS = """<div class="steps"><p>A k-mer with letters for several bases branches into several
searches; write one of A, C, G and T to see its steps.</p></div>"""
TOO_LONG = f"""<div class="steps"><p>The steps of k-mers of up to {LONGEST:,} bases are shown; this
one is longer.</p></div>"""


class SearchPanel:
    """A tab of the page."""

    title = "How it works"
    has_figure = False

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self.is_shown = False
        self._asked: tuple = ()
        self.shown: SearchStep | None = None
        self._question = Question(state.session, "a step of a search", self._on_answer)
        self.step = pmui.IntSlider(
            label="Bases taken", value=1, start=1, end=2, size="small", width=340,
            margin=(10, 16, 0, 6),
        )  # fmt: skip
        self.back = self._icon("skip_previous", "One base back", -1)
        self.forward = self._icon("skip_next", "Take the next base", 1)
        self.sizes = pn.pane.HTML("", stylesheets=[STYLE], width=310, margin=(8, 8, 0, 8))
        self.words = pn.pane.HTML(
            "Rows that are left after each base, on a logarithmic scale",
            sizing_mode="stretch_width",
            margin=(30, 8, 0, 4),
            stylesheets=[":host { font-size: 12px; opacity: 0.75; }"],
        )
        self.bar = pmui.Row(
            self.back, self.step, self.forward, self.sizes, self.words,
            sizing_mode="stretch_width", margin=(0, 0, 2, 8), visible=False,
        )  # fmt: skip
        self.drawing = pn.pane.HTML(NOTHING, stylesheets=[STYLE], sizing_mode="stretch_width")
        self.panel = pmui.Column(
            self.bar,
            self.drawing,
            sizing_mode="stretch_both",
            styles={"overflow": "auto", "min-height": "0"},
            margin=0,
        )
        self.step.param.watch(lambda _: self._ask(), "value")

    def _icon(self, icon: str, description: str, change: int) -> pmui.IconButton:
        button = pmui.IconButton(icon=icon, description=description, size="24px", margin=(14, 0))
        button.on_click(lambda _: self._move(change))
        return button

    def poll(self) -> None:
        """Bring the tab up to date."""
        if not self.is_shown:
            return
        kmer, index = self._state.kmer, self._state.index
        wanted = (id(index), kmer)
        if wanted != self._asked:
            self._asked = wanted
            self._begin(kmer)

    def _begin(self, kmer: Kmer | None) -> None:
        letters = kmer.letters if kmer is not None else ""
        why_not = NOTHING if kmer is None else AMBIGUOUS if kmer.is_ambiguous else ""
        if len(letters) > LONGEST:
            why_not = TOO_LONG
        self.bar.visible = not why_not
        if why_not:
            self.shown = None
            self.drawing.object = why_not
            return
        step = min(self.step.value, len(letters))
        self.step.param.update(end=max(len(letters), 2), value=step)
        self._ask()

    def _move(self, change: int) -> None:
        kmer = self._state.kmer
        if kmer is not None:
            self.step.value = min(max(self.step.value + change, 1), len(kmer.letters))

    def _ask(self) -> None:
        kmer, index = self._state.kmer, self._state.index
        if kmer is not None and index is not None and self.bar.visible:
            self._question.ask(find_step, index.built.index, kmer, self.step.value)

    def _on_answer(self, step: SearchStep) -> None:
        self.shown = step
        kmer: Any = self._state.kmer
        if kmer is None:
            return
        with pn.io.hold():
            self.drawing.object = step_html(step, kmer.letters)
            self.sizes.object = sizes_svg(step.sizes, step.step)
            self.back.disabled = step.step <= 1
            self.forward.disabled = step.step >= len(kmer.letters)
