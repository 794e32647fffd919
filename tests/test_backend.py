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


def test_a_program_is_spared_scipy_until_it_asks_for_it():
    script = (
        "import sys; from genoviz.backend import forgo_blas; forgo_blas()\n"
        "import numba.np.arraymath\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "import scipy.linalg.cython_blas"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


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


FROM_CACHE = """
import sys
from genoviz.backend import forgo_blas, forgo_registries

forgo_blas()
forgo_registries()
from genoviz.analyses.intervals.count import count_overlaps
from genoviz.model import Intervals
import numba

rows = Intervals.from_columns(["c", "c"], [0, 10], [10, 30])
print(*count_overlaps(rows, rows, backend="cpu"), "numba.np.linalg" in sys.modules)
print(numba.njit(lambda n: n + 1)(3), "numba.np.linalg" in sys.modules)
"""


def test_a_program_loads_compiled_functions_without_what_compiles_them():
    """The first run compiles them, if they are not in the cache yet."""
    runs = [
        subprocess.run([sys.executable, "-c", FROM_CACHE], capture_output=True, text=True)
        for _ in range(2)
    ]
    assert [run.stderr for run in runs] == ["", ""]
    assert runs[1].stdout.split() == ["1", "1", "False", "4", "True"]


FIRST_FUNCTION = """
import sys
from genoviz.analyses.intervals.count import count_overlaps
from genoviz.backend import load_compiler
from genoviz.model import Intervals

rows = Intervals.from_columns(["c", "c"], [0, 10], [10, 30])
load_compiler()
before = set(sys.modules)
count_overlaps(rows, rows, backend="cpu")
print(len(before), *(name for name in set(sys.modules) - before if name.startswith("numba.")))
"""


def test_the_first_function_finds_all_of_the_compiler_loaded():
    """But for the threads, whose layer is chosen when they are needed."""
    command = [sys.executable, "-c", FIRST_FUNCTION]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    n_before, *loaded = text.split()
    assert int(n_before) > 500
    assert [name for name in loaded if not name.endswith("pool")] == []
