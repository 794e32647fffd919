"""Graphs and sessions for tests of the dashboard; a session is closed with its test."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.model import ByteStrings, PangenomeGraph
from genoviz_app.opening.apart import READERS
from genoviz_app.opening.memory import MEMORY
from genoviz_app.server.quick_models import make_models_quickly
from genoviz_app.session import layout_settings
from genoviz_app.session.session import Session
from tests.waiting import wait_until

GFA = """H\tVN:Z:1.0
S\ts1\tACGT
S\ts2\tAC
S\ts3\tGGGTTT
S\ts4\tA
L\ts1\t+\ts2\t+\t0M
L\ts2\t+\ts4\t+\t0M
L\ts1\t+\ts3\t+\t0M
L\ts3\t+\ts4\t+\t0M
P\tref\ts1+,s2+,s4+\t*
P\talt\ts1+,s3+,s4+\t*
"""


@pytest.fixture(scope="session", autouse=True)
def _models_of_a_server():
    """Make models with the server's fast path, which halves the time."""
    make_models_quickly()


@pytest.fixture(autouse=True)
def _memory_of_no_server():
    with pytest.MonkeyPatch.context() as patch:  # ends before other patches
        patch.setattr(MEMORY, "total", None)
        yield


@pytest.fixture(autouse=True)
def _readers_of_no_server():
    """Files are read apart only by tests that ask for it, not by those that follow them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(READERS, "are_apart", READERS.are_apart)
        yield


@pytest.fixture
def graph_file(tmp_path):
    path = tmp_path / "small.gfa"
    path.write_text(GFA)
    return path


@pytest.fixture
def graph():
    """s1 (4 bp), s2 (2), s3 (6), s4 (1); ref is s1 s2 s4, alt is s1 s3 s4."""
    return PangenomeGraph(
        node_names=ByteStrings.from_texts(["s1", "s2", "s3", "s4"]),
        node_lengths=np.array([4, 2, 6, 1]),
        edges=np.empty((0, 2), np.uint32),
        path_names=("ref", "alt"),
        path_offsets=np.array([0, 3, 6]),
        steps=np.array([0, 2, 6, 0, 4, 6], np.uint32),
    )


@pytest.fixture
def session():
    session = Session()
    yield session
    session.close()


@pytest.fixture
def unwatched(monkeypatch):
    """Layouts are as fast as they can be; on a page, each iteration lasts until it was seen."""
    monkeypatch.setattr(layout_settings, "WATCHABLE_SECONDS", 0.0)


def poll_until(poll, condition):
    """Call ``poll`` until ``condition`` holds, twenty times per second like a page."""
    wait_until(condition, poll)
