"""The tab of the build: how the index came about, as it does."""

from __future__ import annotations

from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz_app.opening.index_data import READING, BuildingProgress, BuildReport, BuiltIndex
from genoviz_app.opening.index_files import IndexFiles, OpenIndex
from genoviz_app.pages.kmers.counting import say_seconds
from genoviz_app.parts.words import n_words

NOTHING = (
    "<p>Open sequences at the left: their suffixes are sorted in blocks, and each round shows how "
    "many are still tied.</p>"
)
COLOURS = ("#4fb3e8", "#8fe3b0", "#ffb454", "#ff7ac6", "#b9a2f5", "#e8e06f", "#7fd1c7", "#f08d6c")
STYLE = """
:host { font-size: 13px; line-height: 1.5; font-variant-numeric: tabular-nums; }
.build { max-width: 900px; padding: 12px 18px; }
h4 { margin: 16px 0 6px; font-size: 13px; font-weight: 600; }
.bar { display: flex; height: 22px; border-radius: 4px; overflow: hidden;
  background: rgba(127, 150, 180, 0.18); }
.bar span { display: block; min-width: 1px; }
table { border-collapse: collapse; margin: 8px 0; }
td { padding: 2px 18px 2px 0; } td.n { text-align: right; }
td i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 7px; }
.tied { display: grid; grid-template-columns: max-content 1fr max-content; gap: 3px 12px;
  align-items: center; max-width: 640px; }
.tied .level { height: 12px; background: #4fb3e8; border-radius: 2px; min-width: 1px; }
p { margin: 6px 0; opacity: 0.85; }
"""


class BuildPanel:
    """A tab of the page."""

    title = "Build"
    has_figure = False

    def __init__(self, indexes: IndexFiles) -> None:
        self._indexes = indexes
        self.is_shown = False
        self.text = pn.pane.HTML(NOTHING, stylesheets=[STYLE], sizing_mode="stretch_width")
        self.panel = pmui.Column(
            self.text,
            sizing_mode="stretch_both",
            styles={"overflow-y": "auto", "min-height": "0"},
            margin=0,
        )
        indexes.param.watch(self._show, ["opening", "opened"])
        self._show()

    def _show(self, *_events: Any) -> None:
        opening, opened = self._indexes.opening, self._indexes.opened
        if isinstance(opening, BuildingProgress) and opening.report is not None:
            self.text.object = build_html(opening.report, None)
        elif opened is not None:
            self.text.object = build_html(opened.built.report, opened)
        else:
            self.text.object = NOTHING


def build_html(report: BuildReport, opened: OpenIndex | None) -> str:
    """Return how an index came about, or how far it is."""
    parts = ['<div class="build">']
    if opened is not None:
        parts.append(f"<p><b>{escape(opened.title)}</b>: {_memory_text(opened.built)}</p>")
    if report.stage:
        percent = f", {100 * report.fraction:.0f} % done" if report.fraction is not None else ""
        parts.append(f"<p>Now: {escape(report.stage)}{percent}</p>")
    parts += [_stages_html(report), _blocks_html(report), _tied_html(report), "</div>"]
    return "".join(parts)


def _stages_html(report: BuildReport) -> str:
    total = max(report.total_seconds, 1e-9)
    if not report.seconds:
        return ""
    bars, rows = [], []
    for place, (stage, seconds) in enumerate(report.seconds.items()):
        colour, name = COLOURS[place % len(COLOURS)], escape(stage)
        share = 100 * seconds / total
        title = f"{name}: {say_seconds(seconds)}"
        bars.append(f'<span title="{title}" style="width:{share}%;background:{colour}"></span>')
        rows.append(
            f'<tr><td><i style="background:{colour}"></i>{name}</td>'
            f'<td class="n">{say_seconds(seconds)}</td><td class="n">{share:.0f} %</td></tr>'
        )
    speed = ""
    building = total - report.seconds.get(READING, 0.0)
    is_done = not report.stage and not report.is_read
    if is_done and report.n_symbols and building > 1e-6:
        speed = (
            f"; {report.n_symbols:,} bases, built at {report.n_symbols / building / 1e6:.2f} "
            "million a second"
        )
    verb = "Read" if report.is_read else "Time by stage"
    return (
        f"<h4>{verb}: {say_seconds(total)} {'so far' if report.stage else 'in all'}{speed}</h4>"
        f'<div class="bar">{"".join(bars)}</div><table>{"".join(rows)}</table>'
    )


def _blocks_html(report: BuildReport) -> str:
    blocks = report.blocks
    if blocks is None:
        return ""
    words = f"{blocks.n_suffixes:,} suffixes were sorted in "
    if blocks.n_blocks > 1:
        sizes = f"{blocks.median:,} in the median one, {blocks.largest:,} in the largest"
        words += f"{blocks.n_blocks:,} blocks: {sizes}"
    else:
        words += "1 block"
    if blocks.n_suffixes < report.n_symbols:
        words += "; the order of all others follows from theirs"
    return f"<h4>Blocks of suffixes with the same first bases</h4><p>{words}.</p>"


def _tied_html(report: BuildReport) -> str:
    if not report.tied_fractions:
        return ""
    highest = max(*report.tied_fractions, 1e-9)
    rows = "".join(
        f"<span>round {place}</span>"
        f'<span class="level" style="width:{max(100 * share / highest, 0.2)}%"></span>'
        f"<span>{100 * share:.4g} %</span>"
        for place, share in enumerate(report.tied_fractions, start=1)
    )
    return (
        "<h4>Suffixes that are still tied after each round</h4>"
        f'<div class="tied">{rows}</div>'
        "<p>Repeats keep suffixes tied: they agree for longer than what was compared. Here they "
        "are sorted to the end, so that every row of the index is right.</p>"
    )


def _memory_text(built: BuiltIndex) -> str:
    text = built.index.text
    n_bytes = built.n_bytes
    each = n_bytes / max(text.n_symbols, 1)
    contigs = n_words(text.n_contigs, "contig")
    return (
        f"{contigs}, {int(text.contig_lengths.sum()):,} bp; the index takes "
        f"{n_bytes / 1e6:,.1f} MB ({each:.1f} bytes a base)"
    )
