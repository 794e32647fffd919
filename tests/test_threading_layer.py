"""Parallel kernels run on a layer that two threads may use at once."""

import os
import subprocess
import sys

import pytest

from genoviz.threading_layer import TBB

SCRIPT = """
import threading
{imports}
import numpy as np
from genoviz.analyses.path_records import build_path_records
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


def test_the_users_choice_is_kept():
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "omp"}
    script = SCRIPT.format(imports="import genoviz")
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "omp"
