"""What a server tells those who look after it: its health, its numbers, and who did what."""

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
"""How often each kind of event came, and errors that nobody expected (``error``)."""


def record(event: str, **facts: str | int) -> None:
    """Count an event, and write it as a line of JSON where a lab's server keeps a log.

    The facts say who did it and which file it was about, never what is in the file.
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
    """Write the events of this process to standard error from now on."""
    if not EVENTS.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        EVENTS.addHandler(handler)
        EVENTS.setLevel(logging.INFO)
        EVENTS.propagate = False


def show_threads_on_signal(file: TextIO | None = None) -> None:
    """Have ``kill -USR1`` write what each thread is doing, to standard error by default.

    It tells of a server that hangs what it waits for, also when its event loop stands still.
    """
    with suppress(AttributeError, OSError):  # no such signal, or no such file
        faulthandler.register(signal.SIGUSR1, file or sys.stderr, all_threads=True)


class _CountErrors(logging.Handler):
    """Counts what was logged as an error."""

    def emit(self, _record: logging.LogRecord) -> None:
        """Count one."""
        COUNTS["error"] += 1


class HealthHandler(RequestHandler):
    """Answers 200 while the server takes people, and 503 once it is being stopped."""

    def initialize(self, health: Health) -> None:
        """Keep what knows."""
        self._health = health

    def get(self) -> None:
        """Write the state."""
        self.set_status(503 if self._health.is_stopping else 200)
        self.write({"status": "stopping" if self._health.is_stopping else "ok"})


class MetricsHandler(RequestHandler):
    """Answers with the numbers of the server as Prometheus reads them."""

    def initialize(self, health: Health) -> None:
        """Keep what knows."""
        self._health = health

    def get(self) -> None:
        """Write the numbers."""
        numbers = self._health.numbers
        if numbers is None:
            self.set_status(501)
            self.finish("Metrics need prometheus-client, which is not installed.\n")
            return
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        self.set_header("Content-Type", CONTENT_TYPE_LATEST)
        self.finish(generate_latest(numbers))


class Health:
    """The state and the numbers of one server.

    Attributes
    ----------
    is_stopping
        Whether the server takes no new tabs.
    tornado
        Bokeh's application, which knows its tabs; set once it listens.
    numbers
        Prometheus's collection of them; None where its client is not installed.
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
        """The addresses at which it is asked."""
        return [
            ("/healthz", HealthHandler, {"health": self}),
            ("/metrics", MetricsHandler, {"health": self}),
        ]

    def watch(self, tornado: Any) -> None:
        """Begin to count the errors and to measure the loop of a server."""
        self.tornado = tornado
        logging.getLogger().addHandler(_CountErrors(logging.ERROR))
        if self._lag is not None:
            self._set_timer()

    @property
    def n_tabs(self) -> int:
        """How many tabs are open."""
        if self.tornado is None:
            return 0
        return sum(len(self.tornado.get_sessions(path)) for path in self.tornado.app_paths)

    def collect(self) -> Iterator[Any]:
        """Yield the numbers of this moment; Prometheus's registry calls it."""
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
    """Return the used and the total memory of the GPU; None where no GPU has been used."""
    cupy = sys.modules.get("cupy")
    try:
        if cupy is None or not cupy.cuda.is_available():
            return None
        free, total = cupy.cuda.runtime.memGetInfo()
    except Exception:  # whatever a driver throws that goes away
        return None
    return total - free, total
