"""A step of a backward search: the rows before and after it, and their drawing with arrows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

import numpy as np

from genoviz.analyses.sequences.kmer_trace import bwt_window, trace_kmer
from genoviz.analyses.sequences.kmers import Kmer
from genoviz.model.sequences.fm_index import FMIndex

SHOWN_BASES = 24
N_SCANNED = 512
FEW_ROWS, N_ENDS = 12, 3
SYMBOLS = "ACGT$"
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


@dataclass(frozen=True)
class Row:
    """A row of the sorted suffixes.

    Attributes
    ----------
    row
        Its number.
    suffix
        How the suffix begins; ``$`` is the end of a contig or what is no base.
    before
        The base before the suffix: that of the BWT.
    next_row
        The row of the suffix that begins one base earlier.
    is_inside
        Whether the row is within the interval.
    """

    row: int
    suffix: str
    before: str
    next_row: int
    is_inside: bool


@dataclass(frozen=True)
class SearchStep:
    """The rows before and after a base is taken.

    Attributes
    ----------
    step
        How many bases were taken; the last one ``base``.
    base, taken, matched
        The base that is taken, and what was matched before and is matched now.
    before, after
        First and last row of the interval, half-open.
    rows_before, rows_after
        The rows that are shown.
    sizes
        How many rows are left after 0, 1, 2, ... bases, of the whole search.
    """

    step: int
    base: str
    taken: str
    matched: str
    before: tuple[int, int]
    after: tuple[int, int]
    rows_before: tuple[Row, ...]
    rows_after: tuple[Row, ...]
    sizes: tuple[int, ...]


def find_step(index: FMIndex, kmer: Kmer, step: int) -> SearchStep:
    """Return a step of the search of a k-mer; the first step is 1, and takes its last base."""
    letters = kmer.letters
    trace = trace_kmer(index, letters)
    firsts, lasts = (np.asarray(rows, np.int64).tolist() for rows in (trace.firsts, trace.lasts))
    step = min(max(step, 1), len(letters))
    matched = letters[len(letters) - step :]
    before = (firsts[step - 1], lasts[step - 1])
    after = (firsts[step], lasts[step])
    leading = _rows_with(index, before, SYMBOLS.index(matched[0]))
    return SearchStep(
        step,
        matched[0],
        matched[1:],
        matched,
        before,
        after,
        _read_rows(index, before, leading[0]),
        _read_rows(index, after, leading[1]),
        tuple(last - first for first, last in zip(firsts, lasts, strict=True)),
    )


def _rows_with(index: FMIndex, rows: tuple[int, int], symbol: int) -> tuple[list[int], list[int]]:
    """Return a few rows at both ends of an interval that have a symbol before, and where to."""
    found, leads = [], []
    first, last = rows
    for low, high, is_end in (
        (first, min(first + N_SCANNED, last), False),
        (max(last - N_SCANNED, first), last, True),
    ):
        if low >= high:
            continue
        window = bwt_window(index, low, high)
        places = np.flatnonzero(np.asarray(window.last_column) == symbol)
        places = places[-N_ENDS:] if is_end else places[:N_ENDS]
        found += [low + place for place in places.tolist()]
        leads += np.asarray(window.next_rows)[places].tolist()
    return found, leads


def _read_rows(index: FMIndex, rows: tuple[int, int], wanted: Iterable[int]) -> tuple[Row, ...]:
    """Return the rows of an interval that are shown, and its neighbours."""
    first, last = rows
    if last <= first:
        return ()
    if last - first <= FEW_ROWS:
        chosen = set(range(first, last))
    else:
        chosen = {*range(first, first + N_ENDS), *range(last - N_ENDS, last)}
        chosen |= {row for row in wanted if first <= row < last}
    chosen |= {row for row in (first - 1, last) if 0 <= row < index.text.n_symbols}
    return tuple(_read_row(index, row, first <= row < last) for row in sorted(chosen))


def _read_row(index: FMIndex, row: int, is_inside: bool) -> Row:
    window = bwt_window(index, row, row + 1)
    start = int(window.positions[0])
    symbols = index.text.symbols(start, min(start + SHOWN_BASES, index.text.n_symbols))
    suffix = "".join(SYMBOLS[symbol] for symbol in symbols.tolist())
    before = SYMBOLS[int(window.last_column[0])]
    return Row(row, suffix, before, int(window.next_rows[0]), is_inside)


def step_html(step: SearchStep, kmer: str) -> str:
    """Return a step as HTML: the k-mer, what happens, and the drawing."""
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
        start = f"{n_before:,} suffixes begin with {_short(step.taken)}: they are neighbours"
    else:
        start = f"All {n_before:,} suffixes of the genome, sorted"
    if n_after:
        end = (
            f"The last column, the <b>BWT</b>, has the base before each. Its {step.base}s, in "
            f"order, lead to the rows that begin with {_short(step.matched)}: "
            f"<b>{n_after:,} {'row' if n_after == 1 else 'rows'}</b>"
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
        f'<svg width="{RIGHT + BLOCK_WIDTH}" height="{height}" '
        'role="img" aria-label="Rows before and after the step">'
        f"{_block(0, step.rows_before, left, len(step.taken), step.base, step.before)}"
        f"{_block(RIGHT, step.rows_after, right, len(step.matched), '', step.after)}"
        f"{''.join(arrows)}</svg>"
    )


def _places(rows: tuple[Row, ...]) -> dict[int, float]:
    """Return the height of each row; rows that are left out leave a gap."""
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
                f'style="font-size:10px">⋮ {n:,} more {"row" if n == 1 else "rows"}</text>'
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
    """Return how many rows are left after each base, as small bars on a logarithmic scale."""
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
            f"<title>after {place:,} bases: {size:,} rows</title></rect>"
        )
    return (
        f'<svg width="{SIZES_WIDTH}" height="{SIZES_HEIGHT}" role="img" '
        f'aria-label="Rows left after each base">{"".join(bars)}</svg>'
    )
