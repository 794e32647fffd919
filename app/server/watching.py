"""Monitoring of a server: health, metrics, and an event log."""

from __future__ import annotations

import faulthandler
import json
import logging
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

from tornado.ioloop import IOLoop
from tornado.web import RequestHandler

from genoviz_app.opening.memory import MEMORY
from genoviz_app.server.jobs import POOLS

EVENTS = logging.getLogger("genoviz.events")
TICK_SECONDS = 0.25
LAGS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
MAX_SHOWN = 300

COUNTS: Counter[str] = Counter()
"""Number of events of each kind, and of unexpected errors (``error``)."""


def record(event: str, **facts: str | int) -> None:
    """Count an event, and log it as a JSON line if a lab's server keeps a log.

    The facts identify the user and the file, never the content of the file.
    """
    COUNTS[event] += 1
    if EVENTS.handlers:
        short = {
            key: value if isinstance(value, int) else value[:MAX_SHOWN]
            for key, value in facts.items()
        }
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        EVENTS.info(json.dumps({"time": now, "event": event, **short}))


def write_events() -> None:
    """Log the events of this process to standard error from now on."""
    if not EVENTS.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        EVENTS.addHandler(handler)
        EVENTS.setLevel(logging.INFO)
        EVENTS.propagate = False


def show_threads_on_signal(file: TextIO | None = None) -> None:
    """Let ``kill -USR1`` write the stacks of all threads, to standard error by default.

    This shows what a hanging server waits for, even if its event loop is blocked.
    """
    with suppress(AttributeError, OSError):  # no such signal, or no file descriptor
        faulthandler.register(signal.SIGUSR1, file or sys.stderr, all_threads=True)


class _CountErrors(logging.Handler):
    """Counts logged errors."""

    def emit(self, _record: logging.LogRecord) -> None:
        """Count one."""
        COUNTS["error"] += 1


def count_errors() -> None:
    """Count errors that are logged from now on, and go on printing them and warnings."""
    root = logging.getLogger()
    if not root.handlers:  # Python prints only if there is no handler at all
        root.addHandler(logging.lastResort)
        logging.getLogger("tornado.access").setLevel(logging.ERROR)
    root.addHandler(_CountErrors(logging.ERROR))


class HealthHandler(RequestHandler):
    """Answers 200 while the server accepts users, and 503 during shutdown."""

    def initialize(self, health: Health) -> None:
        """Keep the health."""
        self._health = health

    def get(self) -> None:
        """Write the state."""
        self.set_status(503 if self._health.is_stopping else 200)
        self.write({"status": "stopping" if self._health.is_stopping else "ok"})


class MetricsHandler(RequestHandler):
    """Answers with the server's metrics in Prometheus's format."""

    def initialize(self, health: Health) -> None:
        """Keep the health."""
        self._health = health

    def get(self) -> None:
        """Write the metrics."""
        numbers = self._health.numbers
        if numbers is None:
            self.set_status(501)
            self.finish("Metrics need prometheus-client, which is not installed.\n")
            return
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(generate_latest(numbers))


class Health:
    """State and metrics of one server.

    Attributes
    ----------
    is_stopping
        Whether the server accepts no new tabs.
    tornado
        Bokeh's application, which knows its tabs; set once it listens.
    numbers
        Prometheus's metrics registry; None if its client is not installed.
    """

    def __init__(self) -> None:
        self.is_stopping = False
        self.tornado: Any = None
        self.numbers: Any = None
        self._lag: Any = None
        self._due = 0.0
        try:
            from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
        except ModuleNotFoundError:
            return
        self.numbers = CollectorRegistry()
        self.numbers.register(self)
        ProcessCollector(registry=self.numbers)
        self._lag = Histogram(
            "genoviz_loop_lag_seconds",
            "Seconds by which the event loop is late",
            buckets=LAGS,
            registry=self.numbers,
        )

    @property
    def patterns(self) -> list[tuple]:
        """The routes of the health and metrics handlers."""
        return [
            ("/healthz", HealthHandler, {"health": self}),
            ("/metrics", MetricsHandler, {"health": self}),
        ]

    def watch(self, tornado: Any) -> None:
        """Start counting errors and measuring the loop of a server."""
        self.tornado = tornado
        count_errors()
        if self._lag is not None:
            self._set_timer()

    @property
    def n_tabs(self) -> int:
        """Number of open tabs."""
        if self.tornado is None:
            return 0
        return sum(len(self.tornado.get_sessions(path)) for path in self.tornado.app_paths)

    def collect(self) -> Iterator[Any]:
        """Yield the current metrics; called by Prometheus's registry."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        yield GaugeMetricFamily("genoviz_tabs", "Tabs that are open", value=self.n_tabs)
        jobs = GaugeMetricFamily("genoviz_jobs", "Jobs that run or wait", labels=["pool"])
        for pool in sorted(POOLS, key=lambda pool: pool.name):
            jobs.add_metric([pool.name], pool.n_active)
        yield jobs
        events = CounterMetricFamily("genoviz_events", "What happened", labels=["event"])
        for event in sorted({"error", "opened", "refused", *COUNTS}):
            events.add_metric([event], COUNTS[event])
        yield events
        yield GaugeMetricFamily(
            "genoviz_file_bytes",
            "Memory of the files that are open, or kept for who opens them again, estimated",
            value=MEMORY.taken,
        )
        used = gpu_bytes()
        if used is not None:
            gpu = GaugeMetricFamily("genoviz_gpu_bytes", "Memory of the GPU", labels=["state"])
            gpu.add_metric(["used"], used[0])
            gpu.add_metric(["total"], used[1])
            yield gpu

    def _set_timer(self) -> None:
        self._due = time.monotonic() + TICK_SECONDS
        IOLoop.current().call_later(TICK_SECONDS, self._on_tick)

    def _on_tick(self) -> None:
        self._lag.observe(max(0.0, time.monotonic() - self._due))
        self._set_timer()


def gpu_bytes() -> tuple[int, int] | None:
    """Return used and total GPU memory; None if no GPU has been used."""
    cupy = sys.modules.get("cupy")
    try:
        if cupy is None or not cupy.cuda.is_available():
            return None
        free, total = cupy.cuda.runtime.memGetInfo()
    except Exception:  # a failing driver may raise anything
        return None
    return total - free, total
