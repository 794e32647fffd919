"""The index: sources, facts, saving, and how it was built."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from html import escape
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError, ParameterError
from genoviz.io.sequences.fm_index import IndexFileProgress, iter_write_fm_index
from genoviz.io.sequences.pangenome_index import iter_write_pangenome_index
from genoviz_app.opening.files import resolve_below
from genoviz_app.opening.index_data import (
    INDEX_ENDING,
    READING,
    BuildingProgress,
    BuildReport,
    BuiltIndex,
)
from genoviz_app.opening.index_files import IndexFiles, OpenIndex
from genoviz_app.pages.kmers.counting import say_seconds
from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.parts.file_button import file_button, file_stem
from genoviz_app.parts.file_picker import SequencePicker
from genoviz_app.parts.questions import Question, allow
from genoviz_app.parts.styles import NUMBERS
from genoviz_app.parts.words import n_words
from genoviz_app.session.session import Session

FORMATS = "FASTA (.fa, .fna, also .gz), .2bit, or an index (.gvfm)"
LARGEST_DOWNLOAD = 300_000_000
LONG_SECONDS = 2.0
NOTHING = (
    "<p>Open sequences in the sidebar to build an index. Suffixes are sorted "
    "in blocks, and each round shows how many are still tied.</p>"
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


class IndexPicker(SequencePicker):
    """Four ways to open or build an index, and the progress of building.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self, session: Session) -> None:
        super().__init__(session, session.indexes, FORMATS)
        self.graph_button = pmui.Button(
            label="Index the open graph",
            icon="hub",
            description="Index the open graph: finds k-mers on its paths",
            size="small",
            variant="outlined",
            sizing_mode="stretch_width",
            margin=(10, 0, 4, 0),
        )
        self.graph_button.on_click(lambda _: self.open_graph())
        self.panel.insert(1, self.graph_button)
        session.param.watch(self._show_graph, "opened")
        self._show_graph()

    def open_graph(self) -> None:
        """Build the index of the open graph."""
        if self._session.opened is None:
            self._session.problem = "No graph is open. Open one on the Pangenome page first."
        else:
            self._session.indexes.open_graph(self._session.opened)

    def _show_graph(self, *_events: Any) -> None:
        is_open = self._session.opened is not None
        allow(self.graph_button, "" if is_open else "open a graph on the Pangenome page first")


class SaveIndex:
    """The sidebar section on the open index, with buttons to save it."""

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self._writing = Question(state.session, "saving an index", self._on_written)
        self.facts = pn.pane.HTML("", stylesheets=[NUMBERS], sizing_mode="stretch_width")
        self.download = file_button(
            state.session, "Download", self._file, margin=(4, 6, 4, 0),
            description="Download: the index, to open it faster next time",
        )  # fmt: skip
        self.path = pmui.TextInput(
            label="Save on the server as", size="small", sizing_mode="stretch_width",
            margin=(12, 0, 2, 0),
            description="Press Enter to save the index, to open it faster next time.",
        )  # fmt: skip
        self.save = pmui.Button(label="Save", size="small", variant="outlined", margin=(4, 8, 4, 0))
        self.said = pmui.Typography("", variant="caption", margin=(4, 0))
        self.buttons = pmui.Row(self.save, self.download, margin=0)
        self.panel = pmui.Column(
            pmui.Typography("Index", variant="subtitle2", margin=(14, 0, 4, 0)),
            self.facts,
            self.path,
            self.buttons,
            self.said,
            sizing_mode="stretch_width",
            margin=0,
            visible=False,
        )
        self.path.param.watch(self._save, "enter_pressed")
        self.save.on_click(self._save)
        state.param.watch(self._follow, "index")
        self._follow()

    def _follow(self, *_events: Any) -> None:
        index = self._state.index
        with pn.io.hold():
            self.panel.visible = index is not None
            self.said.object = ""
            if index is None:
                return
            self.facts.object = facts_html(index)
            is_file = index.source.startswith("/") and not index.source.endswith(INDEX_ENDING)
            self.path.value = self.path.value_input = (
                f"{index.source}{INDEX_ENDING}" if is_file else ""
            )
            n_bytes = index.built.n_bytes
            too_large = f"{n_bytes / 1e6:,.0f} MB are too many; save it on the server"
            allow(self.download, too_large if n_bytes > LARGEST_DOWNLOAD else "")

    def _save(self, _event: Any) -> None:
        index, text = self._state.index, (self.path.value_input or self.path.value or "").strip()
        if index is None:
            return
        try:
            path = check_target(text, self._state.session.folders)
        except ParameterError as error:
            self._state.session.problem = f"The index was not saved: {error}."
            return
        self.said.object = "Saving …"
        self._writing.ask(iter_write_and_say, index, path)

    def _on_written(self, words: str) -> None:
        self.said.object = words

    def _file(self) -> tuple[str, Any]:
        index = self._state.index
        if index is None:
            raise GenovizError("no index is open")

        name = f"{file_stem(index.title)}{INDEX_ENDING}"
        return name, lambda path: _iter_write(index.built, path)


def _iter_write(built: BuiltIndex, path: Path) -> Iterator[IndexFileProgress]:
    if built.pangenome is not None:
        return iter_write_pangenome_index(built.pangenome, path)
    return iter_write_fm_index(built.index, path)


def iter_write_and_say(index: OpenIndex, path: Path) -> Generator[Any, None, str]:
    """Write an index, and return a message on it; yields progress."""
    try:
        yield from _iter_write(index.built, path)
        size = path.stat().st_size
    except OSError as error:
        raise GenovizError(f"{path} cannot be written: {error.strerror}") from error
    return f"Saved: {path.name}, {size / 1e6:,.1f} MB."


def check_target(text: str, folders: tuple[Path, ...]) -> Path:
    """Return the path to write an index to.

    Raises
    ------
    ParameterError
        If the name does not end in .gvfm, or the server does not write to that folder.
    """
    if not text.endswith(INDEX_ENDING):
        raise ParameterError(f"the name {text!r} needs to end in {INDEX_ENDING}")
    path = resolve_below(text, folders, "write")
    if not path.parent.is_dir():
        raise ParameterError(f"there is no folder {path.parent}")
    return path


def facts_html(index: OpenIndex) -> str:
    """Return the statistics of an index as HTML."""
    built, text = index.built, index.built.index.text
    n_bases = int(text.contig_lengths.sum())
    rows = []
    if built.graph is not None:
        rows += [("Paths", f"{built.graph.n_paths:,}")]
        rows += [("Bases of all paths", f"{int(built.graph.path_lengths.sum()):,}")]
        rows += [("Bases in the index", f"{text.n_bases:,}")]
    else:
        masked = int((text.masked[:, 1] - text.masked[:, 0]).sum()) if len(text.masked) else 0
        rows += [("Contigs", f"{text.n_contigs:,}"), ("Bases", f"{n_bases:,}")]
        rows += [("Not A C G T", f"{n_bases - text.n_bases:,}")]
        if masked:
            rows += [("Soft-masked", f"{100 * masked / max(n_bases, 1):.1f} %")]
    rows += [("Memory", f"{built.n_bytes / 1e6:,.1f} MB")]
    cells = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<dl class="numbers">{cells}</dl>'


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
    """Return how an index was built, or the progress of building, as HTML."""
    parts = ['<div class="build">']
    if opened is not None:
        parts.append(f"<p><b>{escape(opened.title)}</b>: {_memory_text(opened.built)}</p>")
    if report.stage:
        percent = f", {100 * report.fraction:.0f} % done" if report.fraction is not None else ""
        stage = report.stage[:1].upper() + report.stage[1:]
        parts.append(f"<p><b>{escape(stage)}</b>{percent}</p>")
    parts += [_stages_html(report), _blocks_html(report), _tied_html(report), "</div>"]
    return "".join(parts)


def _stages_html(report: BuildReport) -> str:
    total = max(report.total_seconds, 1e-9)
    if not report.seconds:
        return ""
    bars, rows = [], []
    for place, (stage, seconds) in enumerate(report.seconds.items()):
        colour, name = COLOURS[place % len(COLOURS)], escape(stage[:1].upper() + stage[1:])
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
        speed = f" for {n_words(report.n_symbols, 'base')}"
        if total >= LONG_SECONDS:  # start-up dominates short jobs
            speed += f", built at {report.n_symbols / building / 1e6:.2f} million a second"
    verb = "Read" if report.is_read else "Time by stage"
    return (
        f"<h4>{verb}: {say_seconds(total)} {'so far' if report.stage else 'in all'}{speed}</h4>"
        f'<div class="bar">{"".join(bars)}</div><table>{"".join(rows)}</table>'
    )


def _blocks_html(report: BuildReport) -> str:
    blocks = report.blocks
    if blocks is None:
        return ""
    words = f"{n_words(blocks.n_suffixes, 'suffix was', 'suffixes were')} sorted in "
    if blocks.n_blocks > 1:
        sizes = f"{blocks.median:,} in the median one, {blocks.largest:,} in the largest"
        words += f"{n_words(blocks.n_blocks, 'block')}: {sizes}"
    else:
        words += "1 block"
    if blocks.n_suffixes < report.n_symbols:
        words += "; the order of all other suffixes is derived from these"
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
