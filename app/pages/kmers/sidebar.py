"""The sidebar: where the index comes from, its facts, and buttons that save it."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import GenovizError, ParameterError
from genoviz.io.sequences.fm_index import iter_write_fm_index
from genoviz_app.opening.files import resolve_below
from genoviz_app.opening.index_data import INDEX_ENDING
from genoviz_app.opening.index_files import OpenIndex
from genoviz_app.pages.kmers.state import KmerState
from genoviz_app.parts.file_button import file_button, file_stem
from genoviz_app.parts.questions import Question
from genoviz_app.parts.sequence_picker import SequencePicker
from genoviz_app.parts.styles import NUMBERS
from genoviz_app.session.session import Session

FORMATS = "FASTA (.fa, .fna, also .gz), .2bit, or an index (.gvfm)"
LARGEST_DOWNLOAD = 300_000_000


class IndexPicker(SequencePicker):
    """Four ways to an index, and how far its building is.

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
            description="Index the open graph: k-mers are then found on its paths",
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
        """Build the index of the graph that is open."""
        if self._session.opened is None:
            self._session.problem = "No graph is open: open one on the Pangenome page first."
        else:
            self._session.indexes.open_graph(self._session.opened)

    def _show_graph(self, *_events: Any) -> None:
        self.graph_button.disabled = self._session.opened is None


class SaveIndex:
    """Part of the sidebar: what is open, and buttons that keep it."""

    def __init__(self, state: KmerState) -> None:
        self._state = state
        self._writing = Question(state.session, "saving an index", self._on_written)
        self.facts = pn.pane.HTML("", stylesheets=[NUMBERS], sizing_mode="stretch_width")
        self.download = file_button(state.session, "Download", self._file, margin=(4, 6, 0, 0))
        self.path = pmui.TextInput(
            label="Save on the server as", size="small", sizing_mode="stretch_width",
            margin=(12, 0, 2, 0),
            description="Enter saves it; an index opens in an instant the next time.",
        )  # fmt: skip
        self.save = pmui.Button(label="Save", size="small", variant="outlined", margin=(4, 0))
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
            # The text of a graph's index says nothing without the graph.
            self.path.visible = self.buttons.visible = index.built.graph is None
            is_file = index.source.startswith("/") and not index.source.endswith(INDEX_ENDING)
            self.path.value = self.path.value_input = (
                f"{index.source}{INDEX_ENDING}" if is_file else ""
            )
            self.download.disabled = index.built.n_bytes > LARGEST_DOWNLOAD

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
        if index is None or index.built.graph is not None:
            raise GenovizError("no index of sequences is open")

        name = f"{file_stem(index.title)}{INDEX_ENDING}"
        return name, lambda path: iter_write_fm_index(index.built.index, path)


def iter_write_and_say(index: OpenIndex, path: Path) -> Generator[Any, None, str]:
    """Write an index, and return what to say of it; yields how far it is."""
    try:
        yield from iter_write_fm_index(index.built.index, path)
        size = path.stat().st_size
    except OSError as error:
        raise GenovizError(f"{path} cannot be written: {error.strerror}") from error
    return f"Saved: {path.name}, {size / 1e6:,.1f} MB."


def check_target(text: str, folders: tuple[Path, ...]) -> Path:
    """Return where an index is to be written, or say why it cannot be there.

    Raises
    ------
    ParameterError
        If the name does not end in .gvfm, or lies where the server does not write.
    """
    if not text.endswith(INDEX_ENDING):
        raise ParameterError(f"the name {text!r} needs to end in {INDEX_ENDING}")
    path = resolve_below(text, folders, "write")
    if not path.parent.is_dir():
        raise ParameterError(f"there is no folder {path.parent}")
    return path


def facts_html(index: OpenIndex) -> str:
    """Return the numbers of an index."""
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
