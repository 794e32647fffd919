"""A file is replaced as a whole, and what a dead process left behind is removed."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from genoviz.errors import FileFormatError
from genoviz.io.files import replace_file as module
from genoviz.io.files.replace_file import remove_open_parts, replace_file
from tests.conftest import ROOT
from tests.waiting import PATIENCE

WRITER = """
import sys
from genoviz.io.files import replace_file as module
from genoviz.io.files.replace_file import remove_open_parts, replace_file

with replace_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    sys.stdin.readline()
    file.write(b" and half")
"""


def parts(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if file.name.endswith(".part"))


def start_writer(path: Path) -> subprocess.Popen:
    """Return a process that has begun to write a file, and waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout.readline() == b"writing\n"
    return process


def end(process: subprocess.Popen) -> int:
    process.stdin.close()
    process.stdout.close()
    return process.wait(timeout=PATIENCE)


def write(path: Path, content: bytes) -> None:
    with replace_file(path) as file:
        file.write(content)


@pytest.mark.parametrize(
    "name",
    ["a.txt", "x" * 240, "x" * 255, "é" * 120 + ".gfa", "ab" + "語" * 80, "a.part", ".hidden"],
)
def test_any_name_that_a_file_may_have_can_be_written(tmp_path, name):
    path = tmp_path / name
    with replace_file(path) as file:
        file.write(b"new")
        assert len(parts(tmp_path)) == 1
        assert not path.exists()
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert path.read_bytes() == b"new"


def test_a_name_that_no_file_may_have_is_refused(tmp_path):
    with pytest.raises(FileFormatError, match="cannot be written: File name too long"):
        write(tmp_path / ("x" * 256), b"")


def test_a_killed_writer_leaves_a_part_which_the_next_one_removes(tmp_path):
    path = tmp_path / ("genome" * 41)
    process = start_writer(path)
    process.send_signal(signal.SIGKILL)
    assert end(process) == -signal.SIGKILL
    assert len(parts(tmp_path)) == 1
    write(tmp_path / (path.name + "s"), b"another file")
    assert len(parts(tmp_path)) == 1
    write(path, b"new")
    assert parts(tmp_path) == []
    assert path.read_bytes() == b"new"


def test_a_part_that_is_being_written_stays(tmp_path):
    path = tmp_path / "graph.gfa"
    process = start_writer(path)
    (name,) = parts(tmp_path)
    write(path, b"of the other")
    assert parts(tmp_path) == [name]
    process.stdin.write(b"\n")
    assert end(process) == 0
    assert path.read_bytes() == b"half and half"
    assert parts(tmp_path) == []


def test_two_threads_write_one_file(tmp_path):
    path, errors = tmp_path / "both", []

    def run(content):
        try:
            for _ in range(50):
                write(path, content)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(letter * 1000,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert path.read_bytes() in (b"a" * 1000, b"b" * 1000)
    assert parts(tmp_path) == []


def test_content_and_name_are_on_the_disk_before_the_end(tmp_path, monkeypatch):
    path, synced, sync = tmp_path / "file", [], os.fsync

    def note(number):
        synced.append((str(Path(f"/proc/self/fd/{number}").readlink()), path.exists()))
        sync(number)

    monkeypatch.setattr(os, "fsync", note)
    write(path, b"content")
    (part, was_there), folder = synced
    assert part.endswith(".part")
    assert not was_there
    assert folder == (str(tmp_path), True)


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail():
        with replace_file(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert parts(tmp_path) == []


# A file that is interrupted while it is opened is closed by nobody but the garbage collector.
@pytest.mark.filterwarnings("ignore:Exception ignored in:pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_between_any_two_lines_leaves_nothing_that_is_not_removed(tmp_path):
    """A signal's interrupt comes anywhere, such as between a part's making and its note."""
    path, n_interrupts = tmp_path / "file", 0
    path.write_bytes(b"old")
    while interrupted_at_line(n_interrupts, lambda: write(path, b"new")):
        n_interrupts += 1
        remove_open_parts()
        assert parts(tmp_path) == []
        assert path.read_bytes() in (b"old", b"new")
    assert n_interrupts > 20
    assert path.read_bytes() == b"new"
    assert module._open_parts == set()


def interrupted_at_line(number: int, function) -> bool:
    """Interrupt a function before a line of `replace_file`'s module; False if it has fewer."""
    n_lines = 0

    def trace(frame, event, _argument):
        nonlocal n_lines
        if frame.f_code.co_filename != module.__file__:
            return None
        if event == "line":
            n_lines += 1
            if n_lines > number:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False


def test_what_is_open_already_is_written_on(tmp_path):
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.write(b"before, ")
        file.flush()
        write(Path(f"/dev/fd/{file.fileno()}"), b"content, ")
        file.write(b"after")
    assert path.read_bytes() == b"before, content, after"
