"""The tab that explains the backward search in an FM-index, step by step, with drawings."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.analyses.sequences.kmer_trace import Row, SearchStep, find_step
from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.parts.questions import Question, Watched, allow
from genoviz_app.parts.styles import NARROW_WRAPS, WRAPS
from genoviz_app.parts.words import n_words

LONGEST = 2000
NOTHING = """<div class="steps"><p>Enter a k-mer above to see its search here, base by base.</p>
<p>An FM-index keeps the suffixes of a genome in alphabetical order, so those that begin with the
same bases are neighbours, and all it stores is the base before each: the Burrows–Wheeler
transform (BWT). A k-mer is searched from its last base to its first. Each base reduces the
number of rows; the number left at the end is the count.</p></div>"""
AMBIGUOUS = """<div class="steps"><p>A k-mer with IUPAC codes branches into several
searches. Enter one of A, C, G and T to see its steps.</p></div>"""
TOO_LONG = f"""<div class="steps"><p>The steps of k-mers of up to {LONGEST:,} bases are shown; this
one is longer.</p></div>"""
ROW, TOP, GAP = 19, 44, 12
LETTER = 7.25
NUMBER_WIDTH, BLOCK_WIDTH = 96, 400
RIGHT = 560
SIZES_WIDTH, SIZES_HEIGHT = 300, 74
STYLE = """
:host { font-size: 13px; line-height: 1.5;
  --arrow: #d08322;
  --match: #3391cc; }
.steps { padding: 4px 14px; }
.steps p { margin: 4px 0; max-width: 1000px; }
code, svg text.mono { font-family: "DejaVu Sans Mono", ui-monospace, Menlo, Consolas, monospace; }
svg { overflow: visible; }
svg text { fill: currentColor; font-size: 12px; }
svg text.head { font-weight: 600; }
svg text.faint, svg .out text { opacity: 0.4; }
svg text.number { opacity: 0.6; text-anchor: end; }
svg tspan.match { fill: var(--match); font-weight: 700; }
svg text.lead { fill: var(--arrow); font-weight: 700; }
svg rect.inside { fill: var(--match); opacity: 0.13; }
svg path { stroke: var(--arrow); fill: none; stroke-width: 1.4; }
svg path.head { fill: var(--arrow); stroke: none; }
b.match { color: var(--match); } b.lead { color: var(--arrow); }
.query code { font-size: 15px; letter-spacing: 1px; }
.query .todo { opacity: 0.7; }
"""


def step_html(step: SearchStep, kmer: str) -> str:
    """Return a search step as HTML: the k-mer, an explanation, and a drawing."""
    return (
        f'<div class="steps">{_query_html(step, kmer)}{_words_html(step)}{_drawing_svg(step)}</div>'
    )


def _query_html(step: SearchStep, kmer: str) -> str:
    todo = escape(kmer[: len(kmer) - step.step])
    if len(todo) > 60:
        todo = f"{todo[:20]}…{todo[-30:]}"
    done = escape(step.taken)
    if len(done) > 60:
        done = f"{done[:30]}…{done[-20:]}"
    return (
        f'<p class="query"><code><span class="todo">{todo}</span>'
        f'<b class="lead">{escape(step.base)}</b><b class="match">{done}</b></code></p>'
    )


def _words_html(step: SearchStep) -> str:
    n_before, n_after = (last - first for first, last in (step.before, step.after))
    if step.taken:
        start = (
            f"{n_words(n_before, 'suffix begins', 'suffixes begin')} with {_short(step.taken)}: "
            "they are neighbours"
        )
    else:
        start = f"All {n_before:,} suffixes of the genome, sorted"
    if n_after:
        end = (
            f"The last column, the <b>BWT</b>, has the base before each. Its {step.base}s, in "
            f"order, lead to the rows that begin with {_short(step.matched)}: "
            f"<b>{n_words(n_after, 'row')}</b>"
        )
    else:
        end = f"None has {step.base} before it: {_short(step.matched)} is not in the genome"
    return f"<p>{start}. {end}.</p>"


def _short(letters: str) -> str:
    text = letters if len(letters) <= 24 else f"{letters[:12]}…{letters[-8:]}"
    return f"<code>{escape(text)}</code>"


def _drawing_svg(step: SearchStep) -> str:
    left = _places(step.rows_before)
    right = _places(step.rows_after)
    height = max([*left.values(), *right.values(), TOP]) + ROW + 6
    arrows = []
    for row in step.rows_before:
        if row.is_inside and row.before == step.base and row.next_row in right:
            arrows.append(_arrow(left[row.row], right[row.next_row]))
    return (
        f'<svg viewBox="0 0 {RIGHT + BLOCK_WIDTH} {height}" width="{RIGHT + BLOCK_WIDTH}" '
        'style="max-width: 100%; height: auto" role="img" '
        'aria-label="Rows before and after the step">'
        f"{_block(0, step.rows_before, left, len(step.taken), step.base, step.before)}"
        f"{_block(RIGHT, step.rows_after, right, len(step.matched), '', step.after)}"
        f"{''.join(arrows)}</svg>"
    )


def _places(rows: tuple[Row, ...]) -> dict[int, float]:
    """Return the y coordinate of each row; omitted rows leave a gap."""
    places, y, last = {}, float(TOP), None
    for row in rows:
        if last is not None and row.row != last + 1:
            y += GAP
        places[row.row] = y
        y += ROW
        last = row.row
    return places


def _block(
    x: float,
    rows: tuple[Row, ...],
    places: dict[int, float],
    n_matched: int,
    base: str,
    interval: tuple[int, int],
) -> str:
    first_column, last_column = x + NUMBER_WIDTH + 10, x + BLOCK_WIDTH - 12
    parts = [
        f'<text class="number" x="{x + NUMBER_WIDTH}" y="16">row</text>',
        f'<text class="head" x="{first_column}" y="16">F</text>',
        f'<text class="faint" x="{first_column + 2 * LETTER}" y="16">sorted suffixes</text>',
        f'<text class="head" x="{last_column}" y="16">L</text>',
    ]
    inside = [places[row.row] for row in rows if row.is_inside]
    if inside:
        top = min(inside) - ROW + 5
        parts.append(
            f'<rect class="inside" x="{x + 4}" y="{top}" width="{BLOCK_WIDTH}" '
            f'height="{max(inside) + 5 - top}" rx="4"/>'
        )
    last = None
    for row in rows:
        y = places[row.row]
        if last is not None and row.row != last + 1:
            n = row.row - last - 1
            parts.append(
                f'<text class="faint" x="{first_column}" y="{y - ROW + 3}" '
                f'style="font-size:10px">⋮ {n_words(n, "more row")}</text>'
            )
        parts.append(_row(row, y, x, first_column, last_column, n_matched, base))
        last = row.row
    if not rows:
        parts.append(
            f'<text class="faint" x="{first_column}" y="{TOP}">no rows: [{interval[0]:,}, '
            f"{interval[1]:,})</text>"
        )
    return "".join(parts)


def _row(
    row: Row, y: float, x: float, first_column: float, last_column: float, n: int, base: str
) -> str:
    matched, rest = (row.suffix[:n], row.suffix[n:]) if row.is_inside else ("", row.suffix)
    lead = " lead" if row.is_inside and row.before == base else ""
    return (
        f'<g class="{"" if row.is_inside else "out"}">'
        f'<text class="number" x="{x + NUMBER_WIDTH}" y="{y}">{row.row:,}</text>'
        f'<text class="mono" x="{first_column}" y="{y}">'
        f'<tspan class="match">{matched}</tspan>{rest}…</text>'
        f'<text class="mono{lead}" x="{last_column}" y="{y}">{row.before}</text></g>'
    )


def _arrow(y_from: float, y_to: float) -> str:
    x0, x1 = BLOCK_WIDTH + 8, RIGHT + 6
    middle = (x0 + x1) / 2
    a, b = y_from - 4, y_to - 4
    return (
        f'<path d="M{x0} {a} C{middle} {a} {middle} {b} {x1} {b}"/>'
        f'<path class="head" d="M{x1 + 6} {b} l-8 -4 v8 z"/>'
    )


def sizes_svg(sizes: tuple[int, ...], step: int) -> str:
    """Return the number of remaining rows after each base, as small bars on a log scale."""
    from math import log10

    if not sizes:
        return ""
    top = log10(max(sizes[0], 10))
    width = min(SIZES_WIDTH / len(sizes), 32.0)
    bars = []
    for place, size in enumerate(sizes):
        height = max(SIZES_HEIGHT * (log10(size) + 0.15) / (top + 0.15), 1.5) if size else 0.8
        colour = "var(--arrow)" if place == step else "var(--match)"
        bars.append(
            f'<rect x="{place * width:.1f}" y="{SIZES_HEIGHT - height:.1f}" '
            f'width="{max(width - 1, 0.6):.1f}" height="{height:.1f}" fill="{colour}">'
            f"<title>after {n_words(place, 'base')}: {n_words(size, 'row')}</title></rect>"
        )
    return (
        f'<svg width="{SIZES_WIDTH}" height="{SIZES_HEIGHT}" role="img" '
        f'aria-label="Rows left after each base">{"".join(bars)}</svg>'
    )


class SearchPanel:
    """A tab of the page."""

    title = "How it works"
    has_figure = False

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self.is_shown = False
        self.shown: SearchStep | None = None
        self._question = Question(state.session, "a step of a search", self._on_answer)
        beginning = Watched(state.session, self._begin, view=self)
        beginning.follow(state, "index", "answer", "chosen")
        self.step = pmui.IntSlider(
            label="Bases taken", value=1, start=1, end=2, size="small", width=260,
            margin=(10, 16, 0, 6),
        )  # fmt: skip
        self.back = self._icon("skip_previous", "One base back", -1)
        self.forward = self._icon("skip_next", "Search the next base", 1)
        self.sizes = pn.pane.HTML("", stylesheets=[STYLE], width=310, margin=(8, 8, 0, 8))
        self.words = pn.pane.HTML(
            "Number of rows left after each base, on a logarithmic scale",
            sizing_mode="stretch_width",
            min_width=240,
            margin=(8, 8, 0, 4),
            stylesheets=[":host { font-size: 12px; opacity: 0.75; }"],
        )
        self.bar = pmui.Row(
            self.back, self.step, self.forward, self.sizes, self.words,
            sizing_mode="stretch_width", margin=(0, 0, 2, 8), visible=False,
            sx={**NARROW_WRAPS, **WRAPS},
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

    def _begin(self) -> None:
        kmer = self._state.kmer
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
            allow(self.back, "" if step.step > 1 else "this is the first base")
            is_last = step.step >= len(kmer.letters)
            allow(self.forward, "this is the last base" if is_last else "")
