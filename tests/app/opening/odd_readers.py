"""Readers that do what readers of damaged files may do, for processes that load nothing else."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection

import numpy as np

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.files.reading_rules import RULES
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.graph_files import _iter_graph


def end_process(number):
    """End the process of a reader; never that of the tests, where no reader has one of its own."""
    assert multiprocessing.parent_process() is not None, "files are not opened apart"
    if number:
        os.kill(os.getpid(), number)
    os._exit(3)


def die(path):
    yield OpeningProgress("Reading", 0.5)
    end_process(int(path.name) if path.name.isdigit() else 0)


def take_memory(path):
    yield OpeningProgress("Reading", 0.1)
    kept = [np.ones(1 << 20, np.uint8) for _ in range(int(path.name))]
    yield OpeningProgress("Ready", 1.0, np.array([len(kept)]))


def fail(path):
    yield OpeningProgress("Reading", 0.1)
    if path.name == "format":
        raise FileFormatError(path, "has none, needs one", line=7)
    if path.name == "parameter":
        raise ParameterError("k is 0, needs 1")
    raise RuntimeError("nobody expected this")


def go_on(path):
    while True:
        yield OpeningProgress(str(os.getpid()), 0.1)


def rules(path):
    yield OpeningProgress("Ready", 1.0, np.array([RULES.snapshots, RULES.max_ratio == 77]))


def die_while_saving(path):
    for progress in _iter_graph(path):
        yield progress
        if progress.text.startswith("Saving"):
            end_process(signal.SIGKILL)


def die_at_the_end(path):
    """Be killed before, in the midst of or after the sending of what was opened."""
    yield OpeningProgress("Reading", 0.5)
    share = {"before": 0.0, "amid": 0.5, "after": 1.0}[path.name]

    def send(self, message):
        os.write(self._handle, message[: int(share * len(message))])
        end_process(signal.SIGKILL)

    Connection._send = send
    yield OpeningProgress("Ready", 1.0, np.arange(10))
