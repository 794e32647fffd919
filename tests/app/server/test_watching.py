"""A server tells its memory and who did what; stopped, it ends by itself."""

from __future__ import annotations

import faulthandler
import io
import json
import os
import platform
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from genoviz_app.opening.memory import MEMORY
from genoviz_app.server import watching
from tests.app.conftest import GFA
from tests.app.server.test_doors import ask
from tests.conftest import ROOT
from tests.waiting import PATIENCE, wait_until


def test_the_memory_of_open_files_is_one_of_the_numbers(monkeypatch):
    pytest.importorskip("prometheus_client")
    monkeypatch.setattr(MEMORY, "total", None)
    health, before = watching.Health(), MEMORY.taken

    def shown():
        families = {family.name: family for family in health.collect()}
        return families["genoviz_file_bytes"].samples[0].value

    claim = MEMORY.claim(Path("a.gfa"), 123_456, lambda: None)
    assert shown() == before + 123_456
    claim.release()
    assert shown() == before


def test_a_name_cannot_make_a_line_of_its_own(caplog):
    watching.EVENTS.addHandler(caplog.handler)
    caplog.set_level("INFO", watching.EVENTS.name)
    try:
        watching.record("opened", person="ada", file='x\n{"event": "logged in"}' + "y" * 1000)
    finally:
        watching.EVENTS.removeHandler(caplog.handler)
    line = caplog.records[-1].getMessage()
    assert "\n" not in line
    assert len(line) < 1000
    assert json.loads(line)["event"] == "opened"


def test_the_file_that_somebody_opens_is_recorded(tmp_path):
    from genoviz_app.opening.files import check_path
    from genoviz_app.server.settings import Reach

    path = tmp_path / "a.gfa"
    path.write_text(GFA)
    before = watching.COUNTS["opened"]
    check_path(str(path), Reach((tmp_path,), "ada"))
    assert watching.COUNTS["opened"] == before + 1


def test_a_server_that_is_told_to_stop_ends_by_itself(tmp_path):
    # What the machine says of its allocator goes before what the server would choose.
    environment = {name: value for name, value in os.environ.items() if "MALLOC" not in name}
    process = subprocess.Popen(
        [sys.executable, "-m", "genoviz", "serve", "--no-browser", "--port", "0"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, env={**environment, "MALLOC_MMAP_THRESHOLD_": "2097152"},
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        port = int(re.search(r":(\d+)", line)[1])
        assert ask(port, "/")[0] == 200  # a tab is open
        assert json.loads(ask(port, "/healthz")[1]) == {"status": "ok"}
        if platform.libc_ver()[0] == "glibc":  # it has begun anew, as the same process
            variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            assert b"PYTHONMALLOC=malloc" in variables
            assert b"MALLOC_TRIM_THRESHOLD_=1048576" in variables
            assert b"MALLOC_MMAP_THRESHOLD_=2097152" in variables
            assert b"ARROW_DEFAULT_MEMORY_POOL=system" in variables
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert "Traceback" not in errors
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def test_what_goes_wrong_in_a_server_is_counted_and_printed():
    code = (
        "import logging; from genoviz_app.server import watching; watching.count_errors()\n"
        "log = logging.getLogger('genoviz_app.server.jobs')\n"
        "try: 1 / 0\n"
        "except ZeroDivisionError: log.exception('a job failed')\n"
        "log.warning('a scheduler is gone')\n"
        "logging.getLogger('tornado.access').warning('404 GET /favicon.ico')\n"
        "print(watching.COUNTS['error'])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "1\n"
    assert re.fullmatch(
        r"a job failed\nTraceback .*\nZeroDivisionError: division by zero\na scheduler is gone\n",
        done.stderr,
        re.DOTALL,
    )


def test_the_tabs_are_told_and_the_jobs_ended(monkeypatch):
    import asyncio

    from genoviz_app.server import serving

    done = []

    class Pool:
        def close(self, seconds):
            done.append(("closed", seconds))

    class Loop:
        def stop(self):
            done.append("stopped")

    monkeypatch.setattr(serving, "POOLS", [Pool(), Pool()])
    monkeypatch.setattr(serving, "TELL_SECONDS", 0)
    monkeypatch.setattr(serving, "tell_tabs", lambda _tornado, sentence: done.append(sentence))
    health = watching.Health()
    asyncio.run(serving.end_jobs_and_stop(Loop(), health))
    assert done == [serving.STOPPING, ("closed", 5.0), ("closed", 5.0), "stopped"]
    assert health.is_stopping
    asyncio.run(serving.end_jobs_and_stop(Loop(), health))
    assert len(done) == 4  # a second signal changes nothing


def test_a_signal_has_the_server_tell_what_its_threads_are_doing(tmp_path):
    told, test = tmp_path / "stacks.txt", "test_a_signal_has_the_server_tell"
    before = signal.getsignal(signal.SIGUSR1)
    with told.open("w") as file:
        watching.show_threads_on_signal(file)
        try:
            os.kill(os.getpid(), signal.SIGUSR1)
            wait_until(lambda: f"in {test}" in told.read_text())
        finally:
            faulthandler.unregister(signal.SIGUSR1)
    assert signal.getsignal(signal.SIGUSR1) == before


def test_a_server_without_a_stream_for_it_starts_all_the_same(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    watching.show_threads_on_signal()
