"""A command loads little of Numba, and all of it when there is something to compile."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from genoviz.numba_start import on_one_piece


def test_a_program_is_spared_scipy_until_it_asks_for_it():
    script = (
        "import sys; from genoviz.numba_start import start_light; start_light()\n"
        "import numba.np.arraymath\n"
        "assert 'scipy.linalg' not in sys.modules\n"
        "import scipy.linalg.cython_blas"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


FROM_CACHE = """
import sys
from genoviz.numba_start import start_light

start_light()
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
from genoviz.model import Intervals
from genoviz.numba_start import load_compiler

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


LOOPS = """
import numpy as np
from numba import njit


@njit(cache=True)
def in_rows(numbers, n):
    return numbers.reshape(n, 2)


@njit(cache=True)
def refuse(number):
    if number > 2:
        raise ValueError("more than two", number)
    return number


@njit("int64(int64)", cache=True)
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@njit(cache=True)
def halves(numbers):
    found = [numbers[:1].astype(np.float64)]
    for start in range(0, len(numbers), 2):
        found.append(numbers[start : start + 2].view(np.uint64).astype(np.float64))
    return found


@njit(cache=True)
def tally(numbers):
    known = {numbers[0]}
    for number in numbers:
        known.add(number)
    return len(known)
"""
USE = """
import sys

import numpy as np

from genoviz.numba_start import start_light

start_light()
import loops
import numba

numbers = np.arange(6) % 4
print(loops.in_rows(numbers, 3).tolist(), loops.halves(numbers)[2].tolist())
for wrong in (lambda: loops.in_rows(numbers, 4), lambda: loops.refuse(5)):
    try:
        wrong()
    except ValueError as error:
        print(*error.args)
print(loops.refuse(1), loops.factorial(5), loops.tally(numbers))
is_light = "numba.np.arrayobj" not in sys.modules
print(numba.njit(lambda a: [a[1:], a[::2].copy()])(numbers)[1].shape)
print(is_light, file=sys.stderr)
"""


def test_functions_from_the_cache_do_as_compiled_ones(tmp_path):
    """Views, errors, recursion, lists and sets refer to code of Numba's modules."""
    (tmp_path / "loops.py").write_text(LOOPS)
    (tmp_path / "use.py").write_text(USE)
    runs = [
        subprocess.run(
            [sys.executable, "use.py"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        for _ in range(2)
    ]
    expected = [
        "[[0, 1], [2, 3], [0, 1]] [2.0, 3.0]",
        "total size of new array must be unchanged",
        "more than two 5",
        "1 120 4",
        "(3,)",
    ]
    assert [run.stdout.splitlines() for run in runs] == [expected, expected]
    assert runs[0].stderr.startswith("False")
    assert runs[1].stderr.startswith("True")


def test_the_settings_of_a_user_count(tmp_path):
    pytest.importorskip("yaml")
    (tmp_path / ".numba_config.yaml").write_text('opt: "1"\n')
    script = (
        "from genoviz.numba_start import start_light; start_light(); import numba, scipy, yaml\n"
        "print(numba.config.OPT, scipy.__name__, yaml.__name__)"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    level, *imported = found.stdout.split()
    assert ("1" in level, imported) == (True, ["scipy", "yaml"])


N_CALLS = 1_000


def call_at_each_depth(depth):
    """Call functions from each of ``depth`` frames; the stack's first pieces hold some dozens."""
    for _ in range(N_CALLS):
        _do_nothing()
    if depth:
        call_at_each_depth(depth - 1)


def _do_nothing():
    pass


def page_faults_of(function):
    """Return how often a thread of its own had to be given memory while it ran a function."""
    resource = pytest.importorskip("resource")
    found = []

    def measure():
        before = resource.getrusage(resource.RUSAGE_THREAD).ru_minflt
        function(300)
        found.append(resource.getrusage(resource.RUSAGE_THREAD).ru_minflt - before)

    thread = threading.Thread(target=measure)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.skipif(sys.platform != "linux", reason="faults of a thread are counted on Linux")
def test_calls_at_any_depth_need_no_memory_from_the_system():
    assert page_faults_of(on_one_piece(call_at_each_depth)) < N_CALLS / 2
    if sys.version_info < (3, 13):  # newer releases keep a piece
        assert page_faults_of(call_at_each_depth) > N_CALLS
