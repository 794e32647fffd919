"""Fixtures that all tests share: the real data, and the backends that can run here."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from genoviz.backend import cuda_is_available
from genoviz.io.files.reading_rules import RULES, ReadingRules
from genoviz.kernels.genotype_product.cpu_amx import has_amx
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("GENOVIZ_TEST_DATA", ROOT.parent / "shared" / "data"))

# Few, and each time the same, for the tests run on two cores and say something of what changed;
# HYPOTHESIS_EXAMPLES=1000 searches longer, and elsewhere each time.
EXAMPLES = os.environ.get("HYPOTHESIS_EXAMPLES")
# A kernel is compiled in the first example, which takes longer than Hypothesis expects of one.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    settings.register_profile(
        "genoviz", deadline=None, max_examples=int(EXAMPLES or 40), derandomize=not EXAMPLES
    )
    settings.load_profile("genoviz")


@pytest.fixture(autouse=True)
def _rules_of_a_command():
    """Let a test that makes a page, and so a server of its process, change no other one's rules."""
    RULES.__dict__.update(vars(ReadingRules()))
    yield
    RULES.__dict__.update(vars(ReadingRules()))


# A GPU machine may have the kernels' packages alone.
HAS_PANEL = importlib.util.find_spec("panel") is not None
NEED_PANEL = ["app", "browser", "soak", "test_house.py", "test_project.py"]
collect_ignore = [] if HAS_PANEL else NEED_PANEL


def pytest_report_header() -> list[str]:
    """Say what is tested where, for the logs in ``benchmarks/``, and what is left out."""
    unit = "with" if has_amx() else "without"
    lines = [f"commit {commit()}; {processor()}, {unit} a matrix unit (AMX); {graphics_card()}"]
    if not HAS_PANEL:
        left_out = ", ".join(f"tests/{name}" for name in NEED_PANEL)
        lines.append(f"Panel is not installed: {left_out} are left out")
    return lines


def commit() -> str:
    """Return the commit that is tested; GENOVIZ_COMMIT names it where git cannot."""
    if named := os.environ.get("GENOVIZ_COMMIT"):
        return named
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        return subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def processor() -> str:
    """Return the processor's name."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def graphics_card() -> str:
    """Return the name of the GPU that the tests use."""
    if not cuda_is_available():
        return "no GPU"
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


# Several processes take a file of tests after the other, and of these files a test.
OF_LONG_TESTS = ("tests/test_docs.py",)
MAX_CORES = 4
# Browsers wait most of the time: two are driven at once, each through about half of the files.
BROWSERS = {"tests/browser": 0, "tests/browser of data": 1}
OF_DATA = ("genotypes", "history", "kmers", "offtargets", "track", "tracks")


def of_browser(file: str) -> str:
    """Return the name of the browser in which a file's tests are, or nothing."""
    folder, _, name = file.rpartition("/")
    if folder != "tests/browser":
        return ""
    return list(BROWSERS)[name.split("_")[1].removesuffix(".py") in OF_DATA]


def place_in_order(file: str) -> int:
    """Browsers first, which take longest, then what starts programs; small files end the run."""
    if browser := of_browser(file):
        return BROWSERS[browser]
    folder = file.rpartition("/")[0]
    return len(BROWSERS) + (folder not in ("tests", "tests/soak"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return two processes more than cores: those that drive browsers wait most of the time."""
    return 2 + min(os.cpu_count() or 1, MAX_CORES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Share out files, the single tests of some files, and all of a browser as one."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return of_browser(file) or (nodeid if file in OF_LONG_TESTS else file)

    return Scheduling(config, log)


COMPILE_ALONE = Dispatcher.compile
KERNELS = str(ROOT / "genoviz")


def pytest_configure(config):
    """Compile each kernel in one process, while others that need it wait for Numba's cache.

    Neighbouring files of tests are run at the same time, and need the same kernels: in a fresh
    checkout all processes compiled these at once.
    """
    if importlib.util.find_spec("fcntl"):
        Dispatcher.compile = compile_in_turn
    starts_others = getattr(config.option, "numprocesses", None) and not hasattr(
        config, "workerinput"
    )
    if starts_others and hasattr(os, "fork") and not sys.dont_write_bytecode:
        with contextlib.suppress(ImportError, AttributeError, OSError):
            write_assertions_once(config)


def write_assertions_once(config):
    """Have pytest rewrite the assertions of all tests, and keep what it has rewritten.

    The processes that run tests collect all of them at the same time: in a fresh checkout each of
    them rewrote all files.
    """
    rewrite = importlib.import_module("_pytest.assertion.rewrite")  # pytest has no public name
    state = config.stash[rewrite.assertstate_key]

    def write(file):
        kept = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(file, kept) is None:
            kept.parent.mkdir(exist_ok=True)
            stat, code = rewrite._rewrite_test(file, config)
            rewrite._write_pyc(state, code, stat, kept)

    files, n_processes = sorted((ROOT / "tests").rglob("test_*.py")), os.cpu_count() or 1
    children = []
    for number in range(n_processes):
        children.append(os.fork())
        if children[-1] == 0:
            with contextlib.suppress(Exception):
                for file in files[number::n_processes]:
                    write(file)
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)


def compile_in_turn(self, sig):
    """Compile a function, or load it, while no other process compiles of its file."""
    path = self.py_func.__code__.co_filename
    if not path.startswith(KERNELS):
        return COMPILE_ALONE(self, sig)
    # Numba's own lock comes first: of two threads only its owner may wait for other processes.
    with global_compiler_lock, turn_of(path):
        return COMPILE_ALONE(self, sig)


TURNS: set[str] = set()
"""Files of which this process compiles; a function that calls others of its file has the turn."""


@contextlib.contextmanager
def turn_of(path):
    """Hold a lock on a file among processes inside the block."""
    if path in TURNS:
        yield
        return
    import fcntl

    TURNS.add(path)
    try:
        with Path(path).open("rb") as file:
            end = time.monotonic() + PATIENCE  # then it is compiled here, too
            while time.monotonic() < end:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.02)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # a forked process has the file open too
    finally:
        TURNS.discard(path)


# Modules and tests stay until the end: to look through them for garbage again and again took a
# fifth of the time of the dashboard's tests. Of what a test leaves behind more comes together.
OBJECTS_BEFORE_A_COLLECTION = (20_000, 20, 20)


KERNELS_IN_COLLECTION: list[str] = []
"""Kernels that had run when all tests were collected; test_project has none of them."""


def loaded_kernels() -> list[str]:
    """Return the names of the package's compiled functions that have run in this process."""
    modules = [(name, module) for name, module in sys.modules.items() if name[:7] == "genoviz"]
    return [
        f"{name}.{function}"
        for name, module in modules
        for function, value in list(vars(module).items())
        if isinstance(value, Dispatcher) and value.__module__ == name and value.signatures
    ]


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Let the garbage collector look at what tests make, and not at all that they import."""
    gc.disable()
    try:
        yield
        KERNELS_IN_COLLECTION.extend(loaded_kernels())
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(*OBJECTS_BEFORE_A_COLLECTION)


def pytest_collection_modifyitems(items):
    """Begin with what takes longest."""
    items.sort(key=lambda item: place_in_order(item.nodeid.split("::")[0]))


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


def count_gpus() -> int:
    """Return how many GPUs can be used here."""
    if not cuda_is_available():
        return 0
    import cupy

    return cupy.cuda.runtime.getDeviceCount()


@pytest.fixture(
    scope="session",
    params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)],
)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn; the GPU is skipped, visibly, on a machine without one."""
    if request.param == "cuda" and not cuda_is_available():
        pytest.skip("no NVIDIA GPU can be used here")
    return request.param
