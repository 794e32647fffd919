"""What the server is doing, for those who look after it: ``/status`` as JSON."""

from __future__ import annotations

from tornado.web import RequestHandler

from genoviz_app.server.jobs import FILES, KERNELS


class StatusHandler(RequestHandler):
    """Answers with the number of jobs that run or wait for their turn."""

    def get(self) -> None:
        """Write ``running`` (layouts and other computations) and ``opening`` (files)."""
        self.write({"running": KERNELS.n_active, "opening": FILES.n_active})
