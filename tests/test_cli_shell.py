"""The program in a shell: signals, pipes, and ``-`` for standard input and output."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ROOT

PROGRAM = [sys.executable, "-m", "genoviz"]
WAIT_SECONDS = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a graph, its layout, intervals, sequences and genotypes."""
    folder = tmp_path_factory.mktemp("shell")
    commands = (
        "simulate -n 300 -p 4 --sequences -o g.gfa",
        "layout g.gfa -o g.lay --iterations 3 --stress-samples 0 --backend cpu",
        "geno simulate -o g -n 40 -m 60",
    )
    for command in commands:
        finish(start(folder, command), 0)
    (folder / "a.bed").write_text("chr1\t1\t5\tx\t0\t+\nchr1\t3\t9\ty\t0\t-\n")
    (folder / "b.bed").write_text("chr1\t2\t4\n")
    (folder / "s.fa").write_text(">chr1\nGATTACAGATTACAGGGCCCATTAGATTACAGGTT\n")
    return folder


def start(folder: Path, command: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [*PROGRAM, *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "GENOVIZ_CACHE_DIR": str(folder / "cache")},
        **{
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        },
    )


def finish(process: subprocess.Popen, code: int, given: bytes | None = None) -> tuple[bytes, bytes]:
    """Return standard output and error of a process that ends with a code."""
    out, err = process.communicate(given, timeout=WAIT_SECONDS)
    assert process.returncode == code, err.decode()
    return out, err


def run(folder: Path, command: str, code: int = 0, given: bytes | None = None):
    stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
    return finish(start(folder, command, stdin=stdin), code, given)


def wait_until(condition) -> None:
    end = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGTERM, 143, b"genoviz: terminated by SIGTERM\n"),
        (signal.SIGHUP, 129, b"genoviz: terminated by SIGHUP\n"),
        (signal.SIGINT, 130, b""),
    ],
)
def test_a_signal_leaves_nothing_half_written(folder, tmp_path, number, code, words):
    """The depth of each base of 10^12 takes hours to write; the signal comes when it has begun."""
    (tmp_path / "long.bed").write_text("chr1\t0\t1000000000000\n")
    before = [file.name for file in tmp_path.iterdir()]
    process = start(tmp_path, "depth long.bed --per-base -o out.bedgraph")
    wait_until(lambda: len(list(tmp_path.glob(".out.bedgraph.*.part"))) == 1)
    process.send_signal(number)
    if number == signal.SIGTERM:  # as timeout sends it
        process.send_signal(number)
    assert finish(process, code) == (b"", words)
    assert [file.name for file in tmp_path.iterdir() if file.name != "cache"] == before


def test_a_signal_that_is_ignored_stays_ignored(folder):
    process = start(
        folder,
        "depth -",
        stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    process.send_signal(signal.SIGHUP)
    assert finish(process, 0, b"chr1\t1\t5\n")[0] == b"chr1\t1\t5\t1\n"
