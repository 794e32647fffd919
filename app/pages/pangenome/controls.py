"""Controls of a layout run: parameters, buttons, progress and statistics."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from html import escape
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.errors import short_number
from genoviz_app.pages.pangenome.paths.choice import choose_paths
from genoviz_app.parts.questions import allow
from genoviz_app.parts.styles import NUMBERS
from genoviz_app.session.layout_run import LayoutRun, RunProgress, RunState, say_terms
from genoviz_app.session.layout_settings import backend_options

LOOK_SECONDS = 0.25
STATE_NAME = "State"
PAUSE = "pause the layout"
STATE_TEXT = {
    RunState.EMPTY: "No graph is open",
    RunState.OPENING: "Opening the graph",
    RunState.READY: "Ready to run",
    RunState.LOADED: "Read from a file",
    RunState.RUNNING: "Running",
    RunState.PAUSING: "Pausing",
    RunState.PAUSED: "Paused",
    RunState.STOPPED: "Stopped",
    RunState.FINISHED: "Finished",
    RunState.FAILED: "Stopped by an error",
}
SMALL: dict[str, Any] = {
    "size": "small",
    "sizing_mode": "stretch_width",
    "margin": (8, 0, 4, 0),
}


# In narrow pages the controls are below the picture (see layout_view.py) and must be low.
BUTTONS_IN_A_LINE = """
@media (min-width: 900px) { @container (max-width: 720px) {
  .MuiBox-root { flex-flow: row wrap !important; gap: 0 6px; }
  .child-wrapper > * { margin-top: 0 !important; margin-bottom: 6px !important; }
} }
"""
NUMBERS_IN_LINES = """
@media (min-width: 900px) { @container (max-width: 720px) {
  .numbers { display: block; }
  .numbers dt, .numbers dd { display: inline; white-space: nowrap; }
  .numbers dd { margin: 0 12px 0 6px; }
} }
"""


class RunControls:
    """Buttons Run, Pause or Resume, Stop, Re-heat and Reset, and the progress of the run."""

    def __init__(self, run: LayoutRun) -> None:
        self._run = run
        self._seen_version = -1
        self._seen_state: RunState | None = None
        self._next_look = 0.0
        self.run_button = _button("Run", "play_arrow", "run the layout", color="primary")
        self.pause_button = _button("Pause", "pause", PAUSE)
        self.stop_button = _button("Stop", "stop", "stop the layout and keep the current positions")
        self.reheat_button = _button(
            "Re-heat",
            "local_fire_department",
            "continue from the current layout, late in the schedule",
        )
        self.reset_button = _button(
            "Reset", "restart_alt", "reset all nodes to their initial positions"
        )
        self.run_button.on_click(lambda _: self._do(run.run))
        self.pause_button.on_click(lambda _: self._do(self._pause_or_resume))
        self.stop_button.on_click(lambda _: self._do(run.stop))
        self.reheat_button.on_click(lambda _: self._do(run.reheat))
        self.reset_button.on_click(lambda _: self._do(run.reset))
        self.bar = pmui.LinearProgress(
            value=0,
            variant="determinate",
            sizing_mode="stretch_width",
            margin=(2, 0, 6, 0),
        )
        self.numbers = pn.pane.HTML(
            "", stylesheets=[NUMBERS, NUMBERS_IN_LINES], sizing_mode="stretch_width", margin=0
        )
        self.panel = pmui.Column(
            pmui.Row(self.run_button, self.pause_button, self.stop_button, margin=0),
            pmui.Row(self.reheat_button, self.reset_button, margin=(6, 0, 8, 0)),
            self.bar,
            self.numbers,
            stylesheets=[BUTTONS_IN_A_LINE],
            sizing_mode="stretch_width",
            margin=0,
        )
        self.poll()

    def poll(self) -> None:
        """Show the state of the run."""
        run = self._run
        now = time.monotonic()
        is_new_state = run.state is not self._seen_state
        if not is_new_state and (run.version == self._seen_version or now < self._next_look):
            return
        self._seen_version, self._seen_state = run.version, run.state
        self._next_look = now + LOOK_SECONDS
        state, progress = run.state, run.progress
        has_graph, has_layout = run.graph is not None, run.snapshot is not None
        with pn.io.hold():
            no_graph = "" if has_graph else "open a graph first"
            is_under_way = "a layout is running" if state.is_active else ""
            at_rest = no_graph or ("" if state.is_active else "no layout is running")
            at_start = "run a layout first" if state is RunState.READY or not has_layout else ""
            allow(self.run_button, no_graph or is_under_way)
            word, icon = ("Resume", "play_arrow") if state.can_resume else ("Pause", "pause")
            self.pause_button.param.update(label=word, icon=icon)
            does = "continue from here" if state.can_resume else PAUSE
            allow(self.pause_button, at_rest, does=f"{word}: {does}")
            allow(self.stop_button, at_rest)
            allow(self.reheat_button, no_graph or is_under_way or at_start)
            is_at_start = (
                "all nodes are at their initial positions" if state is RunState.READY else ""
            )
            allow(self.reset_button, no_graph or is_at_start)
            self.bar.value = round(100 * progress.fraction) if progress else 0
            self.numbers.object = numbers_html(state, progress)

    def _do(self, action) -> None:
        action()
        self.poll()

    def _pause_or_resume(self) -> None:
        if self._run.state.can_resume:
            self._run.resume()
        else:
            self._run.pause()


def _button(label: str, icon: str, explanation: str, *, color: str = "default") -> pmui.Button:
    return pmui.Button(
        label=label,
        icon=icon,
        description=f"{label}: {explanation}",
        color=color,
        variant="contained" if color == "primary" else "outlined",
        size="small",
        margin=(0, 6, 0, 0),
    )


def numbers_html(state: RunState, progress: RunProgress | None) -> str:
    """Return the statistics of a run as an HTML table."""
    rows = [(STATE_NAME, STATE_TEXT[state], "")]
    if progress is None:
        rows += [(name, "–", "") for name in ("Iteration", "Speed", "Time left", "Path stress")]
        return _table(rows)
    rate = progress.updates_per_second
    if state is RunState.LOADED:
        rows.append(("Path stress", *_stress_text(progress)))
        return _table(rows)
    rows.append(("Iteration", f"{progress.iteration} of {progress.n_iterations}", ""))
    rows.append(("Speed", f"{short_number(rate)} updates/s" if rate else "–", ""))
    if state.is_active:
        left = progress.seconds_left
        rows.append(("Time left", "–" if left is None else duration(left), ""))
    else:
        rows.append(("Computed in", duration(progress.seconds), ""))
    rows.append(("Path stress", *_stress_text(progress)))
    return _table(rows)


def _stress_text(progress: RunProgress) -> tuple[str, str]:
    stress = progress.stress
    if stress is None or not math.isfinite(stress.mean):
        return "–", ""
    half = (stress.ci_high - stress.ci_low) / 2
    is_known = half < stress.mean or half == 0
    text = f"{plain(stress.mean, 3)} ± {plain(half, 2)}"
    text = text if is_known else f"below {plain(stress.ci_high, 2)}"
    interval = f"{plain(stress.ci_low, 3)} to {plain(stress.ci_high, 3)}"
    return text, f"{say_terms(stress)}; 95 % confidence interval {interval}"


def plain(value: float, digits: int) -> str:
    """Format a number with this many significant digits, without an exponent where readable.

    Examples
    --------
    >>> [plain(x, 2) for x in (0.00123, 0.0641, 262.0, 9160.0, 3e8)]
    ['0.0012', '0.064', '260', '9,200', '3e+08']
    """
    if not 1e-4 <= abs(value) < 1e6:
        return f"{value:.{digits}g}"
    n_decimals = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, n_decimals):,.{max(n_decimals, 0)}f}"


def _table(rows: list[tuple[str, str, str]]) -> str:
    cells = " ".join(
        f'<dt>{escape(name)}</dt><dd title="{escape(hint)}">{_cell(name, text)}</dd>'
        for name, text, hint in rows
    )
    return f'<dl class="numbers">{cells}</dl>'


def _cell(name: str, text: str) -> str:
    """Return a value as HTML; screen readers announce changes of the state."""
    return f'<span role="status">{escape(text)}</span>' if name == STATE_NAME else escape(text)


def duration(seconds: float) -> str:
    """Format a duration.

    Examples
    --------
    >>> [duration(s) for s in (0.04, 3.21, 75, 4000)]
    ['0.04 s', '3.2 s', '1 min 15 s', '1 h 6 min']
    """
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


class SettingsForm:
    """A field for each parameter, with default and explanation."""

    def __init__(self, run: LayoutRun) -> None:
        self._settings = settings = run.settings
        self.of_sgd = {
            "n_iterations": self._number("n_iterations", step=10),
            "updates_per_step": self._number("updates_per_step", step=1.0),
            "eta_max": self._optional_number("eta_max", float),
            "theta": self._number("theta", step=0.01),
            "space": self._optional_number("space", int),
            "cooling_start": self._number("cooling_start", step=0.1),
        }
        of_sgd = list(self.of_sgd.values())
        self.paths = self._bound(choose_paths, "paths", size=None)
        start = self._bound(
            pmui.Select, "initialisation", options=dict(settings.param.initialisation.names)
        )
        self.backend = self._bound(pmui.Select, "backend", options=backend_options())
        method = self._bound(pmui.Select, "method", options=dict(settings.param.method.names))
        self.quality = self._bound(
            pmui.Select, "quality", options=dict(settings.param.quality.names)
        )
        settings.param.watch(self._show_fields, "method")
        self._show_fields()
        self.restore_button = pmui.Button(
            label="Restore defaults", variant="text", size="small", icon="settings_backup_restore"
        )
        self.restore_button.on_click(lambda _: settings.restore())
        self.pace = pmui.Switch(
            label="At most 20 iterations a second",
            value=run.is_paced,
            description="Slow down, to watch the layout of a small graph; off for full speed.",
            size="small",
            margin=(4, 0),
        )
        self.pace.param.watch(lambda event: setattr(run, "is_paced", event.new), "value")
        self.panel = pmui.Column(
            self.backend,
            method,
            self.quality,
            self.pace,
            *of_sgd[:2],
            start,
            self.paths,
            *of_sgd[2:],
            self._number("eps", step=0.01),
            self._number("seed", step=1),
            self.restore_button,
            sizing_mode="stretch_width",
            margin=0,
        )

    def _show_fields(self, _event: Any = None) -> None:
        """Show the parameters of the selected method."""
        is_sgd = self._settings.method == "path_sgd"
        self.quality.visible = not is_sgd
        for field in self.of_sgd.values():
            field.visible = is_sgd

    def offer(self, paths: list[str]) -> None:
        """Offer the paths of another graph."""
        self.paths.options = paths

    def _number(self, name: str, **more: Any) -> Any:
        parameter = self._settings.param[name]
        kind = pmui.IntInput if type(parameter).__name__ == "Integer" else pmui.FloatInput
        low, high = parameter.bounds
        return self._bound(kind, name, start=low, end=high, **more)

    def _optional_number(self, name: str, kind: type) -> pmui.TextInput:
        """Return an optional number field; pmui's number fields show None as 0."""
        settings, parameter = self._settings, self._settings.param[name]
        value = getattr(settings, name)
        widget = pmui.TextInput(
            label=f"{parameter.label} (empty: automatic)",
            description=parameter.doc,
            value="" if value is None else str(value),
            **SMALL,
        )

        def on_edit(event: Any) -> None:
            text = event.new.strip().replace(",", "")
            try:
                setattr(settings, name, kind(text) if text else None)
                widget.error_state = False
            except ValueError:
                widget.error_state = True

        def on_setting(event: Any) -> None:
            if event.new is None:
                widget.param.update(value="", error_state=False)

        widget.param.watch(on_edit, "value")
        settings.param.watch(on_setting, name)
        return widget

    def _bound(self, kind: Callable, name: str, **more: Any) -> Any:
        """Return a widget that is bound to one parameter."""
        settings, parameter = self._settings, self._settings.param[name]
        default = f" Default: {parameter.default}." if parameter.default not in (None, []) else ""
        widget = kind(
            label=parameter.label,
            description=parameter.doc + default,
            value=getattr(settings, name),
            **{**SMALL, **more},
        )

        def on_edit(event: Any) -> None:
            try:
                setattr(settings, name, event.new)
            except ValueError:
                widget.value = parameter.default

        widget.param.watch(on_edit, "value")
        settings.param.watch(lambda event: setattr(widget, "value", event.new), name)
        return widget
