"""The input for k-mers and strands, with counts that update while typing."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.pages.kmers.counting import MAX_LETTERS, CountAnswer, say_seconds
from genoviz_app.pages.kmers.state import STRANDS, KmerState
from genoviz_app.parts.questions import Watched, allow
from genoviz_app.parts.styles import WRAPS
from genoviz_app.parts.words import n_words

REST_SECONDS = 0.12
LONGEST_LINK = 1500
"""Letters of k-mers that a link has at most."""
EXAMPLE_LENGTH = 21
STRAND_WORDS = (
    "Both: the k-mer and its reverse complement. Forward: only the k-mer as "
    "entered. Canonical: same as both, as in k-mer counters. A k-mer that "
    "is its own reverse complement counts once."
)
STYLE = """
:host { font-size: 12.5px; line-height: 1.35; font-variant-numeric: tabular-nums; }
p { margin: 0; }
.hits { font-size: 22px; font-weight: 600; opacity: 1; white-space: nowrap; }
.hits small { font-size: 12.5px; font-weight: 400; opacity: 0.8; margin-left: 7px; }
i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
.forward i { background: #4fb3e8; } .reverse i { background: #ffb454; }
.problem { padding-left: 8px; border-left: 3px solid #f2604c; }
"""
NO_INDEX = "<p>Open a genome first, in the sidebar.</p>"
COMING = "<p>The index is being built. K-mers are counted when it is ready.</p>"
AWAITED = "<p>The graph is being opened. Then its paths are indexed, and k-mers are counted.</p>"
NOT_LINKED = "<p>These k-mers are too long for a link, which leaves them out.</p>"
NO_QUERY = "<p>Enter a k-mer; its hits are counted as you type.</p>"


class QueryBox:
    """The toolbar above the views.

    Attributes
    ----------
    field, strand, readout
        The k-mers, the menu of strands, and the counts.
    panel
        The Panel object.
    """

    def __init__(self, state: KmerState, write_example: Callable[[], None]) -> None:
        self._state = state
        self._seen = ""
        self._typed = Watched(state.session, self._count)
        self.field = pmui.TextAreaInput(
            label="K-mers",
            placeholder="GATTACA or IUPAC codes; several on lines or with commas; or FASTA",
            description="Any length. R Y S W K M B D H V N match several bases, U matches T.",
            rows=1,
            max_rows=4,
            auto_grow=True,
            size="small",
            sizing_mode="stretch_width",
            min_width=280,
            max_length=MAX_LETTERS,
            margin=(10, 8, 0, 10),
        )
        self.strand = pmui.RadioButtonGroup(
            label="",
            options=STRANDS,
            value=state.strand,
            description=STRAND_WORDS,
            size="small",
            margin=(12, 6, 0, 4),
        )
        self.example = pmui.Button(
            label="Example",
            icon="casino",
            description=f"Example: {EXAMPLE_LENGTH} bases from a place by chance",
            size="small",
            variant="text",
            margin=(12, 6, 0, 0),
        )
        self.example.on_click(lambda _: write_example())
        self.readout = pn.pane.HTML(
            NO_INDEX, stylesheets=[STYLE], margin=(6, 8, 0, 6), styles={"flex": "0 1 345px"}
        )
        self.panel = pmui.Row(
            self.field, self.example, self.strand, self.readout,
            sizing_mode="stretch_width", margin=(0, 0, 6, 0), sx=WRAPS,
        )  # fmt: skip
        self.field.param.watch(self._on_typing, "value_input")
        self.field.param.watch(self._on_typing, "value")
        self.strand.param.watch(self._on_strand, "value")
        state.param.watch(self._show, ["answer", "index", "is_awaited"])
        state.session.indexes.param.watch(self._show, "opening")
        state.param.watch(self._follow, ["text", "strand"])
        self._show()

    def write(self, text: str) -> None:
        """Set the k-mers and count them at once."""
        self._seen = text
        self.field.param.update(value=text, value_input=text)
        self._state.param.update(text=text, chosen=0)

    def _count(self) -> None:
        if self._seen != self._state.text:
            self._state.param.update(text=self._seen, chosen=0)

    def _on_typing(self, event: Any) -> None:
        """Count typed k-mers once typing pauses; pasted or cleared input at once."""
        text = event.new or ""
        if text != self._seen:
            is_one_letter = abs(len(text) - len(self._seen)) == 1
            self._seen = text
            self._typed.start(REST_SECONDS if is_one_letter else 0.0)

    def _on_strand(self, event: Any) -> None:
        self._state.strand = event.new

    def _follow(self, *_events: Any) -> None:
        if self._state.strand != self.strand.value:
            self.strand.value = self._state.strand
        if self._state.text != self._seen:
            self._seen = self._state.text
            self.field.param.update(value=self._seen, value_input=self._seen)

    def _show(self, *_events: Any) -> None:
        state = self._state
        has_index = state.index is not None
        problem = state.answer.problem if state.answer is not None else ""
        with pn.io.hold():
            self.field.error_state = bool(problem)
            allow(self.example, "" if has_index else "open a genome or a graph first")
            if not has_index:
                is_coming = state.session.indexes.is_opening
                missing = AWAITED if state.is_awaited else NO_INDEX
                self.readout.object = COMING if is_coming else missing
            elif state.answer is None:
                self.readout.object = NO_QUERY
            else:
                is_linked = len(state.text) <= LONGEST_LINK
                self.readout.object = readout_html(state.answer) + NOT_LINKED * (not is_linked)


def readout_html(answer: CountAnswer) -> str:
    """Return the counts as HTML, or what is wrong with the k-mers."""
    if answer.problem:
        return f'<p class="problem" role="alert">{escape(answer.problem)}.</p>'
    n_hits, n_forward = int(answer.counts.sum()), int(answer.forward.sum())
    took = f'<span title="How long the index took to count">{say_seconds(answer.seconds)}</span>'
    parts = (
        f'<span class="forward"><i></i>{n_forward:,} forward</span> &ensp;'
        f'<span class="reverse"><i></i>{n_hits - n_forward:,} reverse</span>'
        if answer.strand != "forward"
        else "forward strand only"
    )
    if len(answer.n_with) == 1:
        parts += f" &ensp;on {int(answer.n_with[0]):,} of {n_words(answer.n_paths, 'path')}"
    what = n_words(n_hits, "hit")
    return f'<p class="hits"><span>{what}</span><small>{took}</small></p><p>{parts}</p>'
