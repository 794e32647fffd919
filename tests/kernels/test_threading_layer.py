"""Parallel kernels run on a layer that two threads may use at once."""

import os
import subprocess
import sys

import pytest

import genoviz
from genoviz.backend import TBB
from tests.conftest import ROOT

SCRIPT = """
import threading
{imports}
import numpy as np
from genoviz.analyses.graph.layout.path_records import build_path_records
from genoviz.model import ByteStrings, PangenomeGraph

graph = PangenomeGraph(
    ByteStrings.from_integers(1, 2), np.array([3, 4]), np.zeros((0, 2), np.uint32),
    ("a",), np.array([0, 2]), np.array([0, 2], np.uint32),
)
threads = [threading.Thread(target=build_path_records, args=(graph,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import numba
print(numba.threading_layer())
"""


@pytest.mark.parametrize("imports", ["import genoviz", "import numba; import genoviz"])
def test_the_layer_is_safe_with_several_threads(imports):
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_THREADING_LAYER"}
    script = SCRIPT.format(imports=imports)
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in (["tbb"] if TBB.exists() else ["omp"])


def run_program(**variables) -> subprocess.CompletedProcess:
    graph, coordinates = genoviz.get_sample("simulated"), "no_such.lay"
    return subprocess.run(
        [sys.executable, "-m", "genoviz", "stress", str(graph), coordinates],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("layer", ["tbb", "TBB", "omp"])
def test_the_users_choice_is_kept(layer):
    if layer.lower() == "tbb" and not TBB.exists():
        pytest.skip("TBB is not installed")
    environment = {**os.environ, "NUMBA_THREADING_LAYER": layer}
    script = SCRIPT.format(imports="import genoviz")
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == layer.lower()


def test_a_layer_that_there_is_not_is_refused_in_a_sentence():
    done = run_program(NUMBA_THREADING_LAYER="nonsense")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "genoviz: NUMBA_THREADING_LAYER is 'nonsense', needs to be one of default, safe, "
        "threadsafe, forksafe, tbb, omp, workqueue, or unset\n"
    )


def test_a_layer_that_is_not_installed_is_refused_in_a_sentence(tmp_path):
    hidden = "import sys; sys.modules['numba.np.ufunc.tbbpool'] = None\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    done = run_program(NUMBA_THREADING_LAYER="tbb", PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("genoviz: NUMBA_THREADING_LAYER is 'tbb', but TBB cannot be")
    assert done.stderr.endswith("; unset it\n")
    assert done.stderr.count("\n") == 1
