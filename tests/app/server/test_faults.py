"""Faults while serving: folders that vanish, a GPU that is gone, a full disk, a clock set back."""

from __future__ import annotations

import ast
import asyncio
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import util
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from tornado.httputil import HTTPHeaders, HTTPServerRequest, RequestStartLine
from tornado.web import create_signed_value

from benchmarks.tab_client import Tab, ask
from genoviz import backend
from genoviz.errors import BackendError, GenovizError
from genoviz.io.graph.gfa import read_gfa
from genoviz.samples import get_sample
from genoviz_app.opening.apart import READERS, iter_apart
from genoviz_app.opening.graph_files import _iter_graph
from genoviz_app.server.jobs import JobPool, describe_problem
from genoviz_app.server.people import COOKIE, People
from genoviz_app.server.serving import STOPPING
from genoviz_app.session import layout_settings
from genoviz_app.session.layout_run import LayoutRun, RunState
from genoviz_app.session.layout_settings import LayoutSettings
from tests.app.conftest import GFA, poll_until
from tests.conftest import ROOT
from tests.waiting import wait_until

GONE = "cudaErrorLaunchFailure: unspecified launch failure"


@pytest.fixture
def pool():
    pool = JobPool("test-faults", slice_seconds=0.005)
    yield pool
    pool.close()


# The GPU is gone.


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that works until `fail` is called; there need not be one."""
    cupy = pytest.importorskip("cupy")
    monkeypatch.setattr(backend, "_GPU_IS_LOST", threading.Event())
    monkeypatch.setattr(backend, "_sees_gpu", lambda: True)
    monkeypatch.setattr(backend, "_gpu_name", lambda: "H200")
    monkeypatch.setattr(cupy.cuda.runtime, "deviceSynchronize", lambda: None)

    class Gpu:
        @staticmethod
        def error():
            return cupy.cuda.runtime.CUDARuntimeError(719)

        def fail(self):
            def synchronize():
                raise self.error()

            monkeypatch.setattr(cupy.cuda.runtime, "deviceSynchronize", synchronize)
            raise self.error()

    return Gpu()


def test_what_fails_with_the_gpu_says_so_and_the_next_runs_on_the_cpu(gpu, pool):
    def compute():
        yield 1
        gpu.fail()

    assert (backend.resolve_backend("auto"), backend.describe_backend("auto")) == (
        "cuda",
        "GPU H200",
    )
    job = pool.submit(compute())
    wait_until(lambda: job.has_ended)
    assert job.snapshot == 1
    assert describe_problem(job.error) == (
        f"The GPU has failed ({GONE}): what it was computing is lost, all else goes on, and what "
        "is started from now on runs on the CPU."
    )
    assert backend.resolve_backend("auto") == "cpu"
    assert backend.describe_backend("auto").startswith("CPU")  # a new tab says it at the top
    with pytest.raises(BackendError, match="the GPU has failed and is not used any more"):
        backend.resolve_backend("cuda")


def test_too_little_memory_on_the_gpu_is_not_its_end(gpu, pool):
    cupy = pytest.importorskip("cupy")

    def compute():
        yield 1
        raise cupy.cuda.memory.OutOfMemoryError(10, 5, 0)

    job = pool.submit(compute())
    wait_until(lambda: job.has_ended)
    assert describe_problem(job.error).startswith("There is not enough memory on the GPU for this")
    assert backend.resolve_backend("auto") == "cuda"


def test_other_errors_are_not_the_gpus():
    assert backend.explain_gpu_failure(ValueError("cupy")) == ""
    assert backend.explain_gpu_failure(None) == ""


class OnGpu:
    """Positions in the memory of a GPU."""

    def __init__(self, gpu):
        self._gpu = gpu

    def get(self):
        self._gpu.fail()


def test_a_layout_that_was_on_the_gpu_begins_anew_on_the_cpu(gpu, pool, monkeypatch):
    graph = read_gfa(get_sample("simulated"))
    run = LayoutRun(LayoutSettings(backend="cpu", method="path_sgd", n_iterations=2), pool.submit)
    run.is_paced = False
    run.set_graph(graph)
    poll_until(run.poll, lambda: run.snapshot is not None)
    start = run.snapshot

    with monkeypatch.context() as patch:

        def compute(*_arguments, **_options):
            patch.undo()  # what begins anew after the failure is a layout again
            yield replace(start, coordinates=OnGpu(gpu), iteration=1)
            gpu.fail()

        patch.setattr(layout_settings, "iter_path_sgd_layout", compute)
        run.run()
        poll_until(run.poll, lambda: run.error is not None)
    assert "The GPU has failed" in describe_problem(run.error)
    poll_until(run.poll, lambda: run.snapshot is not None)
    assert (run.state, run.snapshot.iteration) == (RunState.READY, 0)
    assert isinstance(run.layout.coordinates, np.ndarray)
    run.run()
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    assert run.error is None


def test_a_picture_that_the_gpu_does_not_give_any_more_is_drawn_anew(gpu, pool):
    run = LayoutRun(LayoutSettings(backend="cpu", method="path_sgd", n_iterations=2), pool.submit)
    run.set_graph(read_gfa(get_sample("simulated")))
    poll_until(run.poll, lambda: run.snapshot is not None)
    run.snapshot = replace(run.snapshot, coordinates=OnGpu(gpu), iteration=2)
    with pytest.raises(RuntimeError) as caught:
        _ = run.layout
    run.lose_positions(BackendError(backend.explain_gpu_failure(caught.value)))
    assert "The GPU has failed" in str(run.error)
    poll_until(run.poll, lambda: run.snapshot is not None)
    assert run.snapshot.iteration == 0


# Folders vanish, and disks are full.


def test_an_upload_is_taken_after_the_folder_of_uploads_was_removed(session):
    first = session.upload_path("")
    session.open_upload("first.gfa", GFA)
    poll_until(session.poll, lambda: session.opened is not None)
    shutil.rmtree(first)
    session.open_upload("second.gfa", GFA)
    poll_until(session.poll, lambda: session.opened.title == "second.gfa")
    assert session.problem == ""
    assert session.opened.graph.n_nodes == 4
    second = session.upload_path("")
    session.close()
    assert not second.exists()


def test_a_full_disk_is_told_whatever_was_being_written(session, monkeypatch):
    def write(_path, _content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write)
    session.open_upload("first.gfa", GFA)
    poll_until(session.poll, lambda: session.problem)
    assert session.problem == "The server's disk is full."
    monkeypatch.undo()
    session.open_upload("second.gfa", GFA)
    poll_until(session.poll, lambda: session.opened is not None)


def test_readers_are_loaded_where_no_cache_can_be_written(monkeypatch, tmp_path):
    """Else all files would be read in the server's own process."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr("genoviz.samples.BUNDLED_FOLDER", tmp_path)  # as in an installed wheel
    from genoviz_app.opening import loaded_readers  # which reads them, to be forked

    with pytest.raises(GenovizError, match=r"sample 'reads' was not made: .* cannot be written"):
        get_sample("reads")
    loaded_readers.read_samples()


def _last(steps):
    *_, last = steps
    return last


@pytest.mark.skipif(sys.platform == "win32", reason="there readers are not forked")
def test_files_are_read_apart_again_after_all_temporary_files_were_removed(monkeypatch, tmp_path):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path))
    READERS.start()
    sample = get_sample("simulated")
    _last(iter_apart(_iter_graph, sample))
    shutil.rmtree(util.get_temp_dir())
    shutil.rmtree(tmp_path)
    assert _last(iter_apart(_iter_graph, sample)).opened is not None
    assert READERS.are_apart


async def _open_graph(url, path):
    """Return the sentences of a tab once it shows the name of its file, or a problem."""
    tab = await Tab.open(url, "?" + urlencode({"file": str(path)}))

    def said():
        texts = [str(part.get("object", "")) for part in tab.parts.values()]
        found = [text for text in texts if re.search(rf"{path.name}&lt;|{path.name}:", text)]
        return found or None

    try:
        return await tab.until(said), tab.errors
    finally:
        await tab.close()


@contextmanager
def server(folder, **variables):
    """Serve the dashboard; give its process and address. It is gone in the end."""
    log = folder / "log"
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "genoviz", "serve", "--no-browser", "--port", "0"],
            cwd=ROOT, stdout=file, stderr=file, start_new_session=True,
            env={**os.environ, **variables},
        )  # fmt: skip
    try:
        wait_until(lambda: re.search(r"http://\S+:\d+", log.read_text()) or process.poll())
        yield process, re.search(r"http://\S+:\d+", log.read_text())[0] + "/"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_server_goes_on_without_its_cache_and_its_temporary_files(tmp_path):
    folders = {"GENOVIZ_CACHE_DIR": tmp_path / "cache", "TMPDIR": tmp_path / "tmp"}
    for folder in folders.values():
        folder.mkdir()
    graphs = [tmp_path / f"{number}.gfa" for number in range(2)]
    for graph in graphs:  # large enough to be kept in the cache
        graph.write_text("".join(f"S\t{n}\t{'ACGT' * 20}\n" for n in range(20_000)))
    variables = {name: str(folder) for name, folder in folders.items()}
    with server(tmp_path, **variables) as (process, url):
        for graph in graphs:
            said, errors = asyncio.run(_open_graph(url, graph))
            assert errors == []
            assert not [text for text in said if f"{graph.name}:" in text], said
            for folder in folders.values():
                shutil.rmtree(folder, ignore_errors=True)
        process.send_signal(signal.SIGTERM)
        wait_until(lambda: process.poll() is not None)
        assert process.returncode == 0


# The server is told to stop while it computes.


async def _stop_in_a_layout(process, url, graph):
    """Lay a graph out, and end the server meanwhile; return what was computed then."""

    def running():
        return [job for job in json.loads(ask(url, "status"))["jobs"] if "layout" in job["title"]]

    tab = await Tab.open(url, "?" + urlencode({"file": str(graph)}))
    try:
        run = await tab.wait_for("Button", label="Run")
        await tab.until(lambda: graph.name in str(tab.texts()))
        await tab.until(lambda: not tab.parts[run].get("disabled"))
        await tab.click(run)
        jobs = await tab.until(running)
        process.send_signal(signal.SIGTERM)
        await tab.until(lambda: STOPPING in str(tab.parts))
    finally:
        await tab.close()
    return jobs


def test_a_server_that_is_told_to_stop_in_a_job_tells_the_tab_and_ends(tmp_path):
    nodes = range(200_000)
    graph = tmp_path / "long.gfa"
    lines = [*(f"S\t{n}\tACGT" for n in nodes), "P\tp\t" + ",".join(f"{n}+" for n in nodes) + "\t*"]
    graph.write_text("\n".join(lines) + "\n")
    with server(tmp_path) as (process, url):
        assert asyncio.run(_stop_in_a_layout(process, url, graph))
        wait_until(lambda: process.poll() is not None)
        assert process.returncode == 0
        assert "Traceback" not in (tmp_path / "log").read_text()


# The clock is set back.

READS_THE_CLOCK = {"genoviz/io/files/array_cache.py", "app/server/watching.py"}
"""The age of files, and the time in lines of the log; nothing waits for either."""


def test_nothing_that_waits_looks_at_the_clock_on_the_wall():
    found = set()
    for folder in ("app", "genoviz"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            if not re.search(r"\btime_ns|\btime\b.*\btime\b|datetime", text):
                continue  # parsing takes most of the time
            for node in ast.walk(ast.parse(text)):
                names = (
                    [f"{node.module}.{each.name}" for each in node.names]
                    if isinstance(node, ast.ImportFrom)
                    else [ast.unparse(node)]
                    if isinstance(node, ast.Attribute)
                    else []
                )
                if {"time.time", "datetime.now", "datetime.datetime", "time.time_ns"} & set(names):
                    found.add(str(path.relative_to(ROOT)))
    assert found == READS_THE_CLOCK


def test_who_is_logged_in_stays_so_when_the_clock_goes_back(monkeypatch):
    people = People("secret")
    cookie = create_signed_value("secret", COOKIE, "ada").decode()
    line = RequestStartLine("GET", "/", "HTTP/1.1")
    headers = HTTPHeaders({"Host": "localhost", "Cookie": f"{COOKIE}={cookie}"})
    request = HTTPServerRequest(headers=headers, start_line=line)
    now = time.time()
    for seconds in (-3600, 0, 3600):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: now + seconds)
        assert people.person_of(request) == "ada"
