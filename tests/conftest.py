"""Fixtures that all tests share: the real data, and the backends that can run here."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from pathlib import Path

import pytest

from genoviz.backend import cuda_is_available

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("GENOVIZ_TEST_DATA", ROOT.parent / "shared" / "data"))

# Few, for the tests run on two cores; HYPOTHESIS_EXAMPLES=1000 searches longer.
MAX_EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "40"))
# A kernel is compiled in the first example, which takes longer than Hypothesis expects of one.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    settings.register_profile("genoviz", deadline=None, max_examples=MAX_EXAMPLES)
    settings.load_profile("genoviz")


# A GPU machine may have the kernels' packages alone.
HAS_PANEL = importlib.util.find_spec("panel") is not None
collect_ignore = [] if HAS_PANEL else ["app", "browser"]


def pytest_report_header() -> str | None:
    """Say what is left out."""
    return None if HAS_PANEL else "Panel is not installed: tests/app and tests/browser are left out"


# Several processes take a file of tests after the other, and of these files a test.
OF_LONG_TESTS = ("tests/test_docs.py", "tests/test_notebooks.py")
MAX_CORES = 4


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return a process for the browser, which waits most of the time, and some for the rest."""
    return 1 + min(os.cpu_count() or 1, MAX_CORES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Share out files, the single tests of some files, and all of the browser as one."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            if file.startswith("tests/browser/"):
                return "tests/browser"
            return nodeid if file in OF_LONG_TESTS else file

    return Scheduling(config, log)


def pytest_collection_modifyitems(items):
    """Begin with the browser, which takes longest."""
    items.sort(key=lambda item: "browser" not in item.path.parts)


REAL_GRAPHS = (
    "DRB1-3123",
    "DRB1-3123_unsorted",
    "LPA",
    "chr6.C4",
    "chr5.yeast",
    "micb-kir3dl1",
    "MHC_4",
    "hprc_RHCE",
    "hprc_chrY.noseq",
)


def real_data(name: str) -> Path:
    """Return a file of real data, or skip the test, visibly, where it is absent."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"real data {name} is not here (GENOVIZ_TEST_DATA names its folder)")
    return path


@pytest.fixture(
    scope="session",
    params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)],
)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn; the GPU is skipped, visibly, on a machine without one."""
    if request.param == "cuda" and not cuda_is_available():
        pytest.skip("no NVIDIA GPU can be used here")
    return request.param
