"""The form of the layout's parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import panel_material_ui as pmui

from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.layout.layout_run import LayoutRun
from genoviz_app.pages.pangenome.layout.layout_settings import backend_options
from genoviz_app.pages.pangenome.paths.path_choice import choose_paths, listed_paths

SMALL: dict[str, Any] = {
    "size": "small",
    "sizing_mode": "stretch_width",
    "margin": (8, 0, 4, 0),
}


class SettingsForm:
    """A field for each parameter, with its default and its explanation."""

    def __init__(self, run: LayoutRun) -> None:
        self._settings = settings = run.settings
        numbers = [
            self._number("n_iterations", step=10),
            self._number("updates_per_step", step=1.0),
            self._optional_number("eta_max", float),
            self._number("eps", step=0.01),
            self._number("theta", step=0.01),
            self._optional_number("space", int),
            self._number("cooling_start", step=0.1),
            self._number("seed", step=1),
        ]
        self.paths = self._bound(choose_paths, "paths", size=None)
        start = self._bound(
            pmui.Select, "initialisation", options=dict(settings.param.initialisation.names)
        )
        self.backend = self._bound(pmui.Select, "backend", options=backend_options())
        self.restore_button = pmui.Button(
            label="Restore defaults", variant="text", size="small", icon="settings_backup_restore"
        )
        self.restore_button.on_click(lambda _: settings.restore())
        self.pace = pmui.Switch(
            label="At most 10 iterations a second",
            value=run.is_paced,
            description="So that a small graph can be watched unfolding; off for full speed.",
            size="small",
            margin=(4, 0),
        )
        self.pace.param.watch(lambda event: setattr(run, "is_paced", event.new), "value")
        self.panel = pmui.Column(
            self.backend,
            self.pace,
            *numbers[:2],
            start,
            self.paths,
            *numbers[2:],
            self.restore_button,
            sizing_mode="stretch_width",
            margin=0,
        )

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Offer the paths of another graph."""
        names = listed_paths(graph)
        self._settings.paths = [name for name in self._settings.paths if name in names]
        self.paths.options = names

    def _number(self, name: str, **more: Any) -> Any:
        parameter = self._settings.param[name]
        kind = pmui.IntInput if type(parameter).__name__ == "Integer" else pmui.FloatInput
        low, high = parameter.bounds
        return self._bound(kind, name, start=low, end=high, **more)

    def _optional_number(self, name: str, kind: type) -> pmui.TextInput:
        """Return a field that may be left empty; pmui's number fields show None as 0."""
        settings, parameter = self._settings, self._settings.param[name]
        widget = pmui.TextInput(
            label=f"{parameter.label} (empty: automatic)",
            description=parameter.doc,
            **SMALL,
        )

        def take(event: Any) -> None:
            text = event.new.strip().replace(",", "")
            try:
                setattr(settings, name, kind(text) if text else None)
                widget.error_state = False
            except ValueError:
                widget.error_state = True

        def show(event: Any) -> None:
            if event.new is None:
                widget.param.update(value="", error_state=False)

        widget.param.watch(take, "value")
        settings.param.watch(show, name)
        return widget

    def _bound(self, kind: Callable, name: str, **more: Any) -> Any:
        """Return a widget that shows and changes one parameter."""
        settings, parameter = self._settings, self._settings.param[name]
        default = f" Default: {parameter.default}." if parameter.default not in (None, []) else ""
        widget = kind(
            label=parameter.label,
            description=parameter.doc + default,
            value=getattr(settings, name),
            **{**SMALL, **more},
        )

        def take(event: Any) -> None:
            try:
                setattr(settings, name, event.new)
            except ValueError:
                widget.value = parameter.default

        widget.param.watch(take, "value")
        settings.param.watch(lambda event: setattr(widget, "value", event.new), name)
        return widget
