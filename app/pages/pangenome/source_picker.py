"""Where graphs, layouts and annotations come from: samples, files on the server, uploads."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from app.parts.opening_bar import OpeningBar
from app.session import Session
from genoviz.samples import list_samples

NOTHING = "nothing"
UPLOAD_MEGABYTES = 500
FULL_WIDTH: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": (14, 0, 6, 0)}


class SourcePicker:
    """Three ways to open a file, and how far the opening is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown = NOTHING
        self.sample = pmui.Select(
            label="Sample graph",
            groups={"Nothing is open": {"Choose a graph": NOTHING}},
            value=NOTHING,
            size="small",
            description="Bundled samples open at once; public ones are downloaded on first use.",
            **FULL_WIDTH,
        )
        self.path = pmui.TextInput(
            label="Path on the server",
            placeholder="/data/graph.gfa.gz",
            size="small",
            description="A graph (.gfa, .gfa.gz) that the server can read; or, for the open graph, "
            "a layout (.lay, .tsv, Bandage's) or annotations (.bed, .gff3, .gtf). Enter opens it.",
            **FULL_WIDTH,
        )
        self.open_button = pmui.Button(
            label="Open", icon="folder_open", size="small", variant="outlined", margin=(2, 0)
        )
        self.upload = pn.widgets.FileDropper(
            multiple=False,
            max_file_size=f"{UPLOAD_MEGABYTES}MB",
            layout="compact",
            height=92,
            **FULL_WIDTH,
        )
        self.progress = OpeningBar(session, session.cancel_opening, FULL_WIDTH)
        self.sample.param.watch(self._open_sample, "value")
        self.path.param.watch(self._open_path, "enter_pressed")
        self.open_button.on_click(self._open_path)
        self.upload.param.watch(self._open_upload, "value")
        session.param.watch(self._show_opened, "opened")
        session.param.watch(self._show_problem, "problem")
        self._show_opened()
        self.tabs = pmui.Tabs(
            ("Samples", pmui.Column(self.sample, margin=0, sizing_mode="stretch_width")),
            ("Server", pmui.Column(self.path, self.open_button, margin=0)),
            (
                "Upload",
                pmui.Column(
                    pmui.Typography(
                        f"A graph (GFA), its layout (.lay, TSV) or annotations (BED, GFF3, GTF), "
                        f"up to {UPLOAD_MEGABYTES} MB",
                        variant="caption",
                    ),
                    self.upload,
                    margin=0,
                ),
            ),
            dynamic=True,
            sizing_mode="stretch_width",
            margin=0,
        )
        self.panel = pmui.Column(
            self.tabs, self.progress.panel, sizing_mode="stretch_width", margin=0
        )

    def _open_sample(self, event: Any) -> None:
        if event.new and event.new != self._shown:
            self._shown = event.new
            self._session.open(event.new)

    def _open_path(self, _event: Any) -> None:
        self._session.open(self.path.value_input or self.path.value)

    def _open_upload(self, event: Any) -> None:
        for name, content in event.new.items():
            self._session.open_upload(name, content)
        if event.new:
            self.upload.value = {}  # the session has it now; here it would stay in memory

    def _show_problem(self, event: Any) -> None:
        if event.new:
            self._show_opened()

    def _show_opened(self, *_events: Any) -> None:
        """Show what is open, among the samples or above them."""
        opened = self._session.opened
        groups = sample_groups(self._session)
        known = {source for group in groups.values() for source in group.values()}
        if opened is None:
            groups, self._shown = (
                {"Nothing is open": {"Choose a graph": NOTHING}, **groups},
                NOTHING,
            )
        elif opened.source in known:
            self._shown = opened.source
        else:
            self._shown = opened.source or f"upload of {opened.title}"
            groups = {"Open": {opened.title: self._shown}, **groups}
        self.sample.param.update(groups=groups, value=self._shown)


def sample_groups(session: Session) -> dict[str, dict[str, str]]:
    """Return what can be chosen by name: titles and sources, in groups."""
    groups: dict[str, dict[str, str]] = {}
    if session.files:
        groups["Files of this server"] = {
            served.path.name: str(served.path) for served in session.files
        }
    for sample in list_samples():
        if sample.kind != "gfa":
            continue
        group = "Public, downloaded once" if sample.is_public else "Bundled"
        groups.setdefault(group, {})[sample.title] = sample.name
    return groups
