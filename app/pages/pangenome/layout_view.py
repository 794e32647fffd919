"""The live layout of one graph with controls and stress chart, independent of a page."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from genoviz.model import PangenomeGraph
from genoviz_app.pages.pangenome.controls import RunControls
from genoviz_app.pages.pangenome.picture.colour_bar import ColourBar, strip_html
from genoviz_app.pages.pangenome.picture.fitting import SHAPES, Shape, shape_text
from genoviz_app.pages.pangenome.picture.live_picture import LivePicture
from genoviz_app.parts.styles import (
    CARD,
    LEGEND,
    PICTURE_CARD,
    STACKS,
    WRAPS,
    in_narrow_window,
)
from genoviz_app.plots.graph_picture import StressFigure
from genoviz_app.server.jobs import KERNELS, Submit
from genoviz_app.session.layout_run import LayoutRun, RunState
from genoviz_app.session.layout_settings import LayoutSettings

POLL_MILLISECONDS = 40
LOOK_SECONDS = 0.5
ZOOM_STEP = 1.6
# In narrow pages, the controls are below the picture, and the chart is omitted.
BELOW_PICTURE = """
@media (min-width: 900px) { @container (max-width: 720px) {
  .MuiBox-root { flex-direction: column !important; }
  .child-wrapper > * { width: auto !important; min-width: 0 !important; }
  .child-wrapper > .beside-picture { flex: 0 0 auto !important; height: auto !important; }
} }
"""
WITHOUT_CHART = """
@media (min-width: 900px) { @container (max-width: 720px) {
  .column { width: auto !important; }
  .child-wrapper:last-child > * { display: none !important; }
} }
@media (min-width: 900px) and (max-height: 1150px) {
  :host(.low) .child-wrapper:last-child > * { display: none !important; }
  :host(.low) { overflow: hidden auto; scrollbar-width: thin; }
}
@media (min-width: 900px) and (max-height: 700px) {
  .child-wrapper:last-child > * { display: none !important; }
}
"""
# Hides buttons in little room; wheel, touch and keys zoom too.
IN_LITTLE_ROOM = "@media (min-width: 900px) { @container (max-width: 480px) { :host { %s } } }"
WHERE_THERE_IS_ROOM = IN_LITTLE_ROOM % "display: none !important;"


class LayoutView(pn.viewable.Viewer):
    """A graph with its layout controls, as a component of a Panel page.

    In a notebook cell, it is displayed as the `LayoutWidget` of its run.

    Parameters
    ----------
    graph
        The graph, or None.
    submit
        Submits a generator to a job thread; required without ``run``.
    run
        An existing layout run of the graph; by default, one is created.
    height
        CSS height of the component.

    Examples
    --------
    >>> from genoviz_app import LayoutView                           # doctest: +SKIP
    >>> LayoutView(genoviz.read_gfa("graph.gfa")).servable()        # doctest: +SKIP
    """

    def __init__(
        self,
        graph: PangenomeGraph | None = None,
        *,
        submit: Submit = KERNELS.submit,
        run: LayoutRun | None = None,
        height: str = "600px",
        **params: Any,
    ) -> None:
        super().__init__(**params)
        self.run = run or LayoutRun(LayoutSettings(), submit)
        self.settings = self.run.settings
        self._widget: Any = None
        self.picture = LivePicture(self.run)
        self.bar = PictureBar(self.picture)
        self.controls = RunControls(self.run)
        self.chart = StressChart(self.run)
        self.settings.param.watch(self._show_start, ["initialisation", "seed", "paths"])
        self.panel = self._arrange(height)
        if run is None:
            self.set_graph(graph)
        else:
            self.follow_graph()

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Set another graph and show its initial layout."""
        self.run.set_graph(graph)
        self.follow_graph()

    def follow_graph(self) -> None:
        """Show the new graph of the run."""
        self.picture.follow_graph()
        self.bar.set_graph(self.run.graph)
        self.fit()

    def fit(self) -> None:
        """Show the whole of a new layout, in a suitable shape."""
        self.picture.fitting.wish = None
        self.picture.fit()

    def poll(self) -> None:
        """Update everything from the run; called some twenty times per second."""
        self.run.poll()
        self.picture.poll()
        self.bar.poll()
        self.controls.poll()
        self.chart.poll()

    def start_polling(self) -> None:
        """Keep the view up to date without a page that polls it."""
        pn.state.add_periodic_callback(self.poll, period=POLL_MILLISECONDS)

    def __panel__(self) -> Any:
        pn.state.onload(self.start_polling)
        return self.panel

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """Return the representation in a notebook cell, which needs no server."""
        try:
            from genoviz_app.pages.pangenome.layout_widget import LayoutWidget
        except ModuleNotFoundError as error:
            install = "pip install 'genoviz[app,notebook]'"
            return {"text/plain": f"A LayoutView in a cell needs {error.name}: {install}"}
        if self._widget is None:
            self._widget = LayoutWidget(run=self.run)
        return self._widget._repr_mimebundle_(**options)

    def stay_low(self, is_low: bool) -> None:
        """Reduce the height; the chart is then hidden unless the window is high."""
        self._side.css_classes = ["beside-picture", *(["low"] if is_low else [])]

    def _show_start(self, *_events: Any) -> None:
        if self.run.state is RunState.READY:
            self.run.reset()

    def _arrange(self, height: str) -> pmui.Row:
        picture = pmui.Paper(
            self.bar.top,
            self.picture.pane,
            self.bar.legend,
            **PICTURE_CARD,
            styles={"container-type": "inline-size"},
            stylesheets=in_narrow_window("min(120vw, 68vh)"),
        )
        layout = pmui.Paper(self.controls.panel, **{**CARD, "sizing_mode": "stretch_width"})
        chart = pmui.Paper(
            pmui.Typography("Sampled path stress", variant="subtitle2", margin=(3, 10, 1, 10)),
            self.chart.pane,
            **PICTURE_CARD,
            stylesheets=in_narrow_window("240px"),
        )
        self._side = pmui.Column(
            layout,
            chart,
            css_classes=["beside-picture"],
            width=336,
            sizing_mode="stretch_height",
            stylesheets=[WITHOUT_CHART, *in_narrow_window("auto")],
        )
        return pmui.Row(
            picture,
            self._side,
            sizing_mode="stretch_both",
            styles={"height": height, "min-height": "0", "container-type": "inline-size"},
            stylesheets=[BELOW_PICTURE, *in_narrow_window("auto")],
            sx=STACKS,
            margin=0,
        )


class StressChart:
    """Sampled path stress of a run by iteration."""

    def __init__(self, run: LayoutRun) -> None:
        self._run = run
        self._seen: tuple = ()
        self._next_look = 0.0
        place: dict[str, Any] = {"sizing_mode": "stretch_both", "min_height": 180, "margin": 0}
        self._figure = StressFigure()
        self.pane = pn.pane.Bokeh(self._figure.figure, **place)

    def poll(self) -> None:
        """Redraw if the run has a new value."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        if self._figure.figure.document is None:
            return  # not visible yet
        history = tuple(self._run.history)
        n_iterations = self._run.n_iterations
        if (id(self._run.history), len(history), n_iterations) != self._seen:
            self._seen = (id(self._run.history), len(history), n_iterations)
            self._show(history, n_iterations)

    def _show(self, history: tuple, n_iterations: int) -> None:
        draw = partial(self._figure.show, history, n_iterations=n_iterations)
        self._figure.figure.document.add_next_tick_callback(draw)


class PictureBar:
    """The toolbar of the picture: colours and view."""

    def __init__(self, picture: LivePicture) -> None:
        self._picture = picture
        self._seen_legend: tuple = ()
        self._next_look = 0.0
        self.colours = ColourBar(picture)
        self.fit_button = _icon_button("fit_screen", "Fit to view", picture.fit)
        self.fit_button.stylesheets = [IN_LITTLE_ROOM % "margin-left: auto !important;"]
        self.zoom_in_button = _icon_button("zoom_in", "Zoom in", lambda: picture.zoom(ZOOM_STEP))
        self.zoom_in_button.styles = {"margin-left": "auto"}
        self.zoom_in_button.stylesheets = [WHERE_THERE_IS_ROOM]
        self.zoom_out_button = _icon_button(
            "zoom_out", "Zoom out", lambda: picture.zoom(1 / ZOOM_STEP)
        )
        self.zoom_out_button.stylesheets = [WHERE_THERE_IS_ROOM]
        self.shape = pmui.Select(
            label="View",
            options=dict(SHAPES),
            value=Shape.TRUE,
            description="True proportions, stretched to the picture, or folded into rows",
            width=138,
            size="small",
            margin=(0, 4, 0, 8),
            stylesheets=[IN_LITTLE_ROOM % "width: 126px !important; margin: 0 !important;"],
        )
        self.legend = pn.pane.HTML("", stylesheets=[LEGEND], sizing_mode="stretch_width", margin=0)
        self.top = pmui.Row(
            self.colours.mode,
            self.colours.details,
            self.zoom_in_button,
            self.zoom_out_button,
            self.fit_button,
            self.shape,
            sizing_mode="stretch_width",
            margin=(10, 8, 6, 8),
            sx=WRAPS,
        )
        self.shape.param.watch(self._on_shape, "value")

    def set_graph(self, graph: PangenomeGraph | None) -> None:
        """Offer the paths of another graph."""
        self.colours.set_graph(graph)

    def poll(self) -> None:
        """Update the legend of the picture and its message on omissions."""
        if self.colours.reading is not None:
            self.colours.poll()
        shown = self._picture.shown
        if shown is None:
            return
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        levels, stride = shown.picture.levels, shown.picture.stride
        self.shape.value = self._picture.fitting.shape
        distortion = shape_text(shown.picture.viewport, shown.picture.fold)
        problem = self.colours.problem or self._picture.colourings.problem
        seen = (
            id(shown.colouring),
            problem,
            stride,
            distortion,
            levels[-1],
            levels[len(levels) // 2],
        )
        if seen == self._seen_legend:
            return
        self._seen_legend = seen
        self.legend.object = strip_html(shown, problem)

    def _on_shape(self, event: Any) -> None:
        if event.new != self._picture.fitting.shape:
            self._picture.fitting.wish = event.new
            self._picture.fit()


def _icon_button(icon: str, description: str, act: Any) -> pmui.IconButton:
    button = pmui.IconButton(
        icon=icon, description=description, size="22px", margin=0, color="default"
    )
    button.on_click(lambda _: act())
    return button
