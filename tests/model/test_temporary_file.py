"""Temporary files have no name, give back what was written, and tell of a full disk."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from genoviz.errors import FileFormatError, GenovizError
from genoviz.model import temporary_file
from genoviz.model.temporary_file import TemporaryFile, TemporaryFolder


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The temporary folder, empty."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_what_is_written_is_read_and_mapped_and_leaves_nothing(folder):
    columns = np.arange(12, dtype=np.uint16).reshape(3, 4)
    with TemporaryFile() as file:
        assert file.map(np.int64).tolist() == []
        file.append(columns.T)
        file.append(columns[:0])
        file.append(bytes(2))
        assert file.read(3, 4, np.uint16).tolist() == columns.T.ravel()[3:7].tolist()
        mapped = file.map(np.uint16)
        # Without a name, nothing is left when the process is killed here.
        assert not any(folder.iterdir())
    assert mapped.tolist() == [*columns.T.ravel(), 0]
    assert not mapped.flags.writeable
    with pytest.raises(ValueError, match="closed"):
        file.fileno()


def test_a_file_is_closed_with_its_last_user(folder):
    file = TemporaryFile(cache=folder / "cache" / "part")
    number = file.fileno()
    os.fstat(number)
    del file
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)
    assert not any((folder / "cache" / "part").iterdir())


@pytest.mark.parametrize("access", [mmap.ACCESS_WRITE, mmap.ACCESS_COPY])
def test_a_reserved_file_is_filled_as_an_array(folder, access):
    file = TemporaryFile(80)
    found = file.map(np.int64, access)
    found[:] = range(10)
    is_kept = access == mmap.ACCESS_WRITE
    assert file.map(np.int64).tolist() == (list(range(10)) if is_kept else [0] * 10)
    assert not any(folder.iterdir())


@pytest.mark.parametrize(
    ("patched", "of_cache", "variable"),
    [
        ("os.posix_fallocate", False, "TMPDIR"),
        ("tempfile.TemporaryFile", True, "GENOVIZ_CACHE_DIR"),
    ],
)
def test_a_full_disk_is_told_in_a_sentence(folder, monkeypatch, patched, of_cache, variable):
    def refuse(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(patched, refuse)
    cache = folder / "cache" if of_cache else None
    words = f"fit in {cache or folder}: No space left on device; {variable} names another folder"
    with pytest.raises(GenovizError, match=f"^1,000 bytes do not {words}"):
        TemporaryFile(1000, cache=cache)
    with pytest.raises(FileFormatError, match=f"^x.vcf: needs 1,000 bytes, which do not {words}"):
        TemporaryFile(1000, cache=cache, path="x.vcf")


def test_a_disk_that_becomes_full_is_told_in_a_sentence(folder):
    with TemporaryFile() as file:
        file.append(b"abc")
        # /dev/full refuses each write, as a full disk.
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, file.fileno())
        os.close(full)
        with pytest.raises(GenovizError, match=r"bytes do not fit in .*: No space left on device"):
            file.append(np.arange(2))


MAKE_ONE = """
import sys
from genoviz.model import temporary_file
from genoviz.model.temporary_file import TemporaryFolder
folder = TemporaryFolder("kind")
(folder.path / "upload.gfa").write_text("S")
print(folder.path, flush=True)
sys.stdin.read()
"""


def test_folders_of_killed_processes_go_and_those_in_use_stay(folder):
    killed, alive = (
        subprocess.Popen(
            [sys.executable, "-c", MAKE_ONE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(folder)},
        )
        for _ in range(2)
    )
    with killed, alive:
        left, used = (Path(process.stdout.readline().strip()) for process in (killed, alive))
        killed.kill()
        killed.wait()
        for name in ("kindred", "kind-file"):
            (folder / name).touch()
        (folder / "kind-link").symlink_to(folder)
        own, other = TemporaryFolder("kind"), TemporaryFolder("kind")
        assert not left.exists()
        assert [file.name for file in used.iterdir()] == ["upload.gfa"]
        assert own.path.is_dir()
        own.remove()
        alive.stdin.close()
        alive.wait()
        assert not used.exists(), "it was removed at the end"
    names = {"kindred", "kind-file", "kind-link", other.path.name}
    assert {path.name for path in folder.iterdir()} == names


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files cannot be listed")
def test_a_folder_that_was_taken_for_left_is_not_held(folder, monkeypatch):
    """Another process removed it after it was made, and before it was locked."""
    lock_folder, removed = temporary_file._lock_folder, []

    def lock_too_late(path, *, waits=False):
        lock = lock_folder(path, waits=waits)
        if not removed:
            path.rmdir()
            removed.append(path)
        return lock

    monkeypatch.setattr(temporary_file, "_lock_folder", lock_too_late)
    made = TemporaryFolder("kind")
    assert temporary_file._lock_folder(made.path) is None
    places = list(Path("/proc/self/fd").iterdir())
    held = [str(place.readlink()) for place in places if place.is_symlink()]
    assert made.path.is_dir()
    assert made.path not in removed
    assert not any(str(removed[0]) in name for name in held)
    assert held.count(str(made.path)) == 1
    made.remove()
