"""A copy of a file is the file as it was, or a sentence says why there is none."""

from __future__ import annotations

import errno
import os

import numpy as np
import pytest

from genoviz.errors import FileFormatError
from genoviz.generators import finish
from genoviz.io.files import content
from genoviz.io.files.content import forget, open_content, open_for_library
from genoviz.io.files.reading_rules import RULES


@pytest.fixture(params=["mapped", "in memory", "on disk", "on disk of another kind"])
def way(request, monkeypatch, tmp_path):
    """Each way to the bytes of a file; a slice is small, so that there are several."""
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(RULES, "snapshots", request.param != "mapped")
    monkeypatch.setattr(content, "_SLICE", 1000)
    if request.param.startswith("on disk"):
        monkeypatch.setattr(content, "MAX_BYTES_IN_MEMORY", 0)
    if request.param.endswith("kind"):
        monkeypatch.setattr(os, "copy_file_range", _refuse(errno.EXDEV))
    return request.param


def _refuse(number):
    def refuse(*args):
        raise OSError(number, os.strerror(number))

    return refuse


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(np.arange(12_345, dtype=np.uint16).tobytes())
    return path


def test_the_bytes_are_those_of_the_file(way, path):
    found = finish(open_content(path))
    assert found.tobytes() == path.read_bytes()
    assert not found.flags.writeable
    assert found.ctypes.data % 4096 == 0
    with open_for_library(path) as readable:
        assert readable.read_bytes() == path.read_bytes()


def test_forgotten_bytes_can_be_read_again(way, path):
    found = finish(open_content(path))
    for first in (0, 4_100, 9_000):
        forget(found, first, min(first + 5_000, len(found)))
        assert found.tobytes() == path.read_bytes()


def test_progress_ends_at_all_bytes(way, path):
    reports = list(open_content(path))
    if way == "mapped":
        assert reports == []
    else:
        assert len(reports) > 20
        assert reports[-1] == (path.stat().st_size, path.stat().st_size)


def test_what_is_no_file_with_a_byte_is_refused(way, tmp_path):
    (tmp_path / "empty").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, words in (
        ("empty", "the file is empty, needs a header"),
        ("pipe", "is not a regular file"),
        (".", "is a folder"),
        ("none", "there is no such file in"),
    ):
        with pytest.raises(FileFormatError, match=words):
            finish(open_content(tmp_path / name, needs="a header"))
    assert len(finish(open_content(tmp_path / "empty", may_be_empty=True))) == 0


@pytest.mark.parametrize("size", [0, 500, 24_690, 99_999], ids=str)
@pytest.mark.parametrize("way", ["in memory", "on disk"], indirect=True)
def test_a_file_that_changes_meanwhile_is_refused(way, path, size):
    steps = open_content(path)
    next(steps)
    with path.open("r+b") as file:
        file.truncate(size)
    os.utime(path, ns=(0, 1))
    with pytest.raises(FileFormatError, match=r"a\.bin: changed while it was read; open it again"):
        finish(steps)


@pytest.mark.parametrize("way", ["in memory", "on disk"], indirect=True)
def test_a_file_that_takes_the_place_of_another_changes_nothing(way, path, tmp_path):
    before = path.read_bytes()
    steps = open_content(path)
    next(steps)
    (tmp_path / "new").write_bytes(b"new")
    (tmp_path / "new").replace(path)
    assert finish(steps).tobytes() == before


@pytest.mark.parametrize("way", ["on disk"], indirect=True)
def test_a_full_disk_is_told_of_in_a_sentence(way, path, monkeypatch):
    monkeypatch.setattr(os, "copy_file_range", _refuse(errno.ENOSPC))
    words = r"a\.bin: needs 24,690 bytes, which do not fit in .*snapshots: No space left on device"
    with pytest.raises(FileFormatError, match=words + "; GENOVIZ_CACHE_DIR names another folder"):
        finish(open_content(path))
    with pytest.raises(FileFormatError, match=words), open_for_library(path):
        pass
