"""A server for `bench_live_view`: one simulated graph, in the dashboard and in stock HoloViews.

``python -m benchmarks.live_server N_NODES METHOD`` prints its address; ``/`` is the dashboard with
the graph open, ``/stock`` shows a layout as ``rasterize(hv.Segments)`` with a Pipe. The method is
that of the dashboard, path-guided SGD unless it is named.
"""

from __future__ import annotations

import sys
from typing import Any

import holoviews as hv
import panel as pn
from bokeh.models import ColumnDataSource, CustomJS
from holoviews.operation.datashader import rasterize

from genoviz.analyses.graph.layout.path_sgd import iter_path_sgd_layout
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.model import PangenomeGraph
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening.graph_files import OpenGraph
from genoviz_app.server.jobs import KERNELS
from genoviz_app.server.setup import prepare_server
from genoviz_app.theme import UNFINISHED_VIEWS

N_PATHS = 12
SLICE_SECONDS = 0.025
POLL_MILLISECONDS = 20
ACK_NAME = "painted"
FIGURE_NAME = "stock-figure"
# As in the canvas: a task after the animation frame runs once the frame is painted.
PAINTED_CODE = """
requestAnimationFrame(() => {
  const channel = new MessageChannel()
  channel.port1.onmessage = () => { ack.data = {n: [ack.data.n[0] + 1]} }
  channel.port2.postMessage(null)
})
"""


def main() -> None:
    """Serve until terminated."""
    n_nodes, method = [*sys.argv[1:], "path_sgd"][:2]
    graph = simulate_pangenome(int(n_nodes), N_PATHS)
    prepare_server()
    server = pn.serve(
        {"/": lambda: dashboard_page(graph, method), "/stock": lambda: StockPage(graph).pane},
        port=0,
        show=False,
        start=False,
        verbose=False,
    )
    print(f"serving at http://127.0.0.1:{server.port}", flush=True)
    server.start()
    server.io_loop.start()


def dashboard_page(graph: PangenomeGraph, method: str) -> Any:
    """Return the dashboard with the graph open."""
    pn.extension("filedropper", "tabulator", notifications=True, js_files=UNFINISHED_VIEWS)
    dashboard = Dashboard("")
    dashboard.session.runs.run.settings.method = method
    opened = OpenGraph("", "Simulated", graph)
    pn.state.onload(lambda: setattr(dashboard.session, "opened", opened))
    pn.state.on_session_destroyed(dashboard.close)
    pn.state.onload(dashboard.start_polling)
    return dashboard.root


class StockPage:
    """A layout that runs, drawn by HoloViews and Datashader as their documentation has it.

    One frame is in flight, as with our own canvas; the next is sent when one has been painted.
    """

    def __init__(self, graph: PangenomeGraph) -> None:
        hv.extension("bokeh")
        steps = iter_path_sgd_layout(graph, slice_seconds=SLICE_SECONDS)
        self.job = KERNELS.submit(steps, title="stock layout")
        self.pipe = hv.streams.Pipe(data=None)
        self.ack = ColumnDataSource(name=ACK_NAME, data={"n": [0]})
        self.n_sent = self.n_seen = 0
        picture = rasterize(hv.DynamicMap(self.segments, streams=[self.pipe]))
        picture = picture.opts(width=740, height=610, cnorm="log", hooks=[self.prepare])
        self.pane = pn.pane.HoloViews(picture)
        pn.state.add_periodic_callback(self.pump, period=POLL_MILLISECONDS)
        pn.state.on_session_destroyed(lambda _context: self.job.cancel())

    def segments(self, data: Any) -> hv.Segments:
        """Return all nodes as segments."""
        if data is None:
            return hv.Segments(([0.0], [0.0], [1.0], [1.0]))
        x, y = data[:, :, 0], data[:, :, 1]
        return hv.Segments((x[:, 0], y[:, 0], x[:, 1], y[:, 1]))

    def prepare(self, plot: Any, _element: Any) -> None:
        """Let the browser tell of what it has painted."""
        if plot.state.name != FIGURE_NAME:
            plot.state.name = FIGURE_NAME
            models = {"ack": self.ack}
            plot.handles["source"].js_on_change("data", CustomJS(args=models, code=PAINTED_CODE))
            plot.state.js_on_change("name", CustomJS(args=models, code=""))

    def pump(self) -> None:
        """Send the newest positions when the last ones are painted."""
        n_snapshots = self.job.n_snapshots
        if self.ack.data["n"][0] >= self.n_sent and n_snapshots > self.n_seen:
            self.n_seen = n_snapshots
            self.pipe.send(self.job.snapshot.coordinates)
            self.n_sent = self.ack.data["n"][0] + 1


if __name__ == "__main__":
    main()
