"""Which backends can run here is found without loading what is not needed."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from genoviz import backend


@pytest.fixture
def looked(monkeypatch):
    """Put a CuPy that sees a GPU in place; the list tells when it was asked."""
    asked = []
    cuda = SimpleNamespace(is_available=lambda: asked.append("asked") or True)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    return asked


def test_without_a_driver_cupy_is_not_asked(looked, monkeypatch):
    def refuse(name):
        raise OSError(name)

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert not backend._sees_gpu.__wrapped__()
    assert looked == []


def test_with_a_driver_cupy_has_the_last_word(looked, monkeypatch):
    loaded = []
    monkeypatch.setattr(ctypes, "CDLL", loaded.append)
    assert backend._sees_gpu.__wrapped__()
    assert looked == ["asked"]
    assert loaded == ["nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"]


def test_threads_of_products_sleep_soon_unless_the_user_says_when():
    script = "import os, genoviz; print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    found = []
    for chosen in ({}, {"OPENBLAS_THREAD_TIMEOUT": "26"}):
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_THREAD_TIMEOUT"}
        run = subprocess.run(
            [sys.executable, "-c", script],
            env=environment | chosen,
            capture_output=True,
            check=True,
        )
        found.append(int(run.stdout))
    assert found == [16, 26]
