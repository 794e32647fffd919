"""The field in which a sample is chosen by its name, and which shows what is open."""

from __future__ import annotations

from typing import Any

import panel_material_ui as pmui

from genoviz.samples import list_samples
from genoviz_app.parts.picker_fields import WIDE
from genoviz_app.session.session import Session

NOTHING = "nothing"


class SampleSelect:
    """Samples of one kind, in groups, with what is open above them unless it is one of them.

    Parameters
    ----------
    session
        Where problems are told; after one the field shows again what is open.
    files
        What opens them: has ``open(source)`` and the param ``opened``.
    kind
        The kind of the samples, as in `genoviz.samples`.
    what
        What they are, in words: "a genome".
    label
        Title of the field.
    with_served
        Whether files that the server was started with are among them.

    Attributes
    ----------
    field
        The Panel object.
    """

    def __init__(
        self,
        session: Session,
        files: Any,
        kind: str,
        what: str,
        label: str,
        *,
        with_served: bool = False,
    ) -> None:
        self._session, self._files, self._kind = session, files, kind
        self._with_served = with_served
        self._nothing = {"Nothing is open": {f"Choose {what}": NOTHING}}
        self._shown = NOTHING
        self.field = pmui.Select(
            label=label, groups=self._nothing, value=NOTHING, size="small",
            description="Bundled samples open at once; public ones are downloaded on first use.",
            **WIDE,
        )  # fmt: skip
        self.field.param.watch(self._open, "value")
        files.param.watch(self._show_opened, "opened")
        session.param.watch(lambda event: event.new and self._show_opened(), "problem")
        self._show_opened()

    def _open(self, event: Any) -> None:
        if event.new and event.new != self._shown:
            self._shown = event.new
            self._files.open(event.new)

    def _show_opened(self, *_events: Any) -> None:
        opened = self._files.opened
        groups = self._groups()
        known = {source for group in groups.values() for source in group.values()}
        if opened is None:
            self._shown = NOTHING
            groups = self._nothing | groups
        elif opened.source in known:
            self._shown = opened.source
        else:
            self._shown = opened.source or f"upload of {opened.title}"
            groups = {"Open": {opened.title: self._shown}} | groups
        self.field.param.update(groups=groups, value=self._shown)

    def _groups(self) -> dict[str, dict[str, str]]:
        """Return what can be chosen by name: titles and sources, in groups."""
        groups: dict[str, dict[str, str]] = {}
        if self._with_served and self._session.files:
            groups["Files of this server"] = {
                served.path.name: str(served.path) for served in self._session.files
            }
        for sample in list_samples():
            if sample.kind == self._kind:
                group = "Public, downloaded once" if sample.is_public else "Bundled"
                groups.setdefault(group, {})[sample.title] = sample.name
        return groups
