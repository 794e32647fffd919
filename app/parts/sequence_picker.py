"""Where sequences come from: samples, files on the server, or uploads."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from app.opening_files import OpeningFiles
from app.parts.opening_bar import OpeningBar
from app.session import Session
from genoviz.samples import list_samples

NOTHING = "nothing"
UPLOAD_MEGABYTES = 500
WIDE: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (12, 0, 4, 0)}
SAMPLE_KIND = "genome"


class SequencePicker:
    """Three ways to sequences, and how far their opening is.

    Parameters
    ----------
    session
        Where problems are told.
    files
        What opens them.
    formats
        The formats that are read, in words.

    Attributes
    ----------
    panel
        The Panel object.
    """

    def __init__(self, session: Session, files: OpeningFiles, formats: str) -> None:
        self._session, self._files, self._formats = session, files, formats
        self._shown = NOTHING
        self.sample = pmui.Select(
            label="Sample genome", groups={"Nothing is open": {"Choose a genome": NOTHING}},
            value=NOTHING, size="small",
            description="Bundled samples open at once; public ones are downloaded on first use.",
            **WIDE,
        )  # fmt: skip
        self.path = pmui.TextInput(
            label="Sequences on the server",
            placeholder="/data/genome.fa.gz",
            description=f"{formats}. Enter opens it.",
            size="small",
            **WIDE,
        )
        self.open_button = pmui.Button(
            label="Open", icon="folder_open", size="small", variant="outlined", margin=(2, 0)
        )
        self.upload = pn.widgets.FileDropper(
            multiple=False, max_file_size=f"{UPLOAD_MEGABYTES}MB", layout="compact", height=92,
            **WIDE,
        )  # fmt: skip
        self.progress = OpeningBar(self._files, self._files.cancel, WIDE)
        self.sample.param.watch(self._open_sample, "value")
        self.path.param.watch(self._open_path, "enter_pressed")
        self.open_button.on_click(self._open_path)
        self.upload.param.watch(self._open_upload, "value")
        self._files.param.watch(self._show_opened, "opened")
        session.param.watch(lambda event: event.new and self._show_opened(), "problem")
        self.panel = self._arrange()
        self._show_opened()

    def _arrange(self) -> pmui.Column:
        upload = pmui.Column(
            pmui.Typography(f"{self._formats}, up to {UPLOAD_MEGABYTES} MB", variant="caption"),
            self.upload,
            margin=0,
        )
        tabs = pmui.Tabs(
            ("Samples", pmui.Column(self.sample, margin=0, sizing_mode="stretch_width")),
            ("Server", pmui.Column(self.path, self.open_button, margin=0)),
            ("Upload", upload),
            dynamic=True,
            sizing_mode="stretch_width",
            margin=0,
        )
        return pmui.Column(tabs, self.progress.panel, sizing_mode="stretch_width", margin=0)

    def open_first_sample(self) -> None:
        """Open the first bundled genome."""
        names = [s.name for s in list_samples() if s.kind == SAMPLE_KIND and not s.is_public]
        if names:
            self._files.open(names[0])

    def _open_sample(self, event: Any) -> None:
        if event.new and event.new != self._shown:
            self._shown = event.new
            self._files.open(event.new)

    def _open_path(self, _event: Any) -> None:
        self._files.open(self.path.value_input or self.path.value)

    def _open_upload(self, event: Any) -> None:
        for name, content in event.new.items():
            self._files.open_upload(name, content)
        if event.new:
            self.upload.value = {}  # the session has it now; here it would stay in memory

    def _show_opened(self, *_events: Any) -> None:
        """Show what is open, among the samples or above them."""
        opened = self._files.opened
        groups = sample_groups()
        known = {source for group in groups.values() for source in group.values()}
        if opened is None:
            self._shown = NOTHING
            groups = {"Nothing is open": {"Choose a genome": NOTHING}, **groups}
        elif opened.source in known:
            self._shown = opened.source
        else:
            self._shown = opened.source or f"upload of {opened.title}"
            groups = {"Open": {opened.title: self._shown}, **groups}
        self.sample.param.update(groups=groups, value=self._shown)


def sample_groups() -> dict[str, dict[str, str]]:
    """Return the genomes that can be chosen by name: titles and sources, in groups."""
    groups: dict[str, dict[str, str]] = {}
    for sample in list_samples():
        if sample.kind == SAMPLE_KIND:
            group = "Public, downloaded once" if sample.is_public else "Bundled"
            groups.setdefault(group, {})[sample.title] = sample.name
    return groups
