"""Fixtures shared by all tests: real data, available backends, and the distribution of tests."""

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
from types import ModuleType

import pytest
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher

from genoviz.backend import cuda_is_available
from genoviz.io.files.reading_rules import RULES, ReadingRules
from genoviz.kernels.genotype_product.cpu_amx import has_amx
from genoviz.numba_start import on_one_piece
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("GENOVIZ_TEST_DATA", ROOT.parent / "shared" / "data"))

# Few and deterministic examples, for two cores and reproducible failures; HYPOTHESIS_EXAMPLES=1000
# searches longer, with random examples.
EXAMPLES = os.environ.get("HYPOTHESIS_EXAMPLES")
# No deadline, because the first example compiles a kernel.
with contextlib.suppress(ImportError):
    from hypothesis import settings

    settings.register_profile(
        "genoviz", deadline=None, max_examples=int(EXAMPLES or 40), derandomize=not EXAMPLES
    )
    settings.load_profile("genoviz")


@pytest.fixture(autouse=True)
def _rules_of_a_command():
    """Restore the reading rules, which are global, after tests that change them."""
    RULES.__dict__.update(vars(ReadingRules()))
    yield
    RULES.__dict__.update(vars(ReadingRules()))


# A GPU machine may have only the packages for kernels.
HAS_PANEL = importlib.util.find_spec("panel") is not None
NEED_PANEL = ["app", "browser", "soak", "test_house.py", "test_project.py"]
collect_ignore = [] if HAS_PANEL else NEED_PANEL


def pytest_report_header() -> list[str]:
    """Report what is tested on which machine, for the logs in ``benchmarks/``, and omissions."""
    unit = "with" if has_amx() else "without"
    lines = [f"commit {commit()}; {processor()}, {unit} a matrix unit (AMX); {graphics_card()}"]
    if not HAS_PANEL:
        left_out = ", ".join(f"tests/{name}" for name in NEED_PANEL)
        lines.append(f"Panel is not installed: {left_out} are left out")
    return lines


def commit() -> str:
    """Return the tested commit; GENOVIZ_COMMIT names it where git cannot."""
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
    """Return the name of the tested GPU."""
    if not cuda_is_available():
        return "no GPU"
    import cupy

    return cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()


# Workers take one file after the other, but single tests of these files.
OF_LONG_TESTS = ("tests/test_docs.py",)
MAX_CORES = 4
# Browsers wait most of the time. Two are driven at once, each for about half of the files.
BROWSERS = {"tests/browser": 0, "tests/browser of data": 1}
OF_DATA = ("genotypes", "history", "kmers", "lit", "offtargets", "track", "tracks")


def of_browser(file: str) -> str:
    """Return the name of the browser for a test file, or ""."""
    folder, _, name = file.rpartition("/")
    if folder != "tests/browser":
        return ""
    return list(BROWSERS)[name.split("_")[1].removesuffix(".py") in OF_DATA]


def place_in_order(file: str) -> tuple[int, str]:
    """Return a sort key: slow browser tests first, then tests of programs; short files last.

    The others are in the order of their names, which mixes tests that wait, as of pages, with tests
    that compute: workers that all wait, or all compute, would take longer.
    """
    if browser := of_browser(file):
        return BROWSERS[browser], ""
    folder, _, name = file.rpartition("/")
    return len(BROWSERS) + (folder not in ("tests", "tests/soak")), f"{name} of {folder}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Return one more worker than cores, because those that drive browsers often wait.

    Each worker imports and collects all tests first, which takes as long as hundreds of tests.
    """
    return 1 + min(os.cpu_count() or 1, MAX_CORES)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Distribute whole files, single tests of some files, and all tests of a browser together."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            file = super()._split_scope(nodeid)
            return of_browser(file) or (nodeid if file in OF_LONG_TESTS else file)

    return Scheduling(config, log)


REPEATED: list[str] = []
"""What the present test did twice, because the first time nothing came of it."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Send what a test did twice with its report, from the worker to the summary."""
    report = yield
    report.user_properties = [*report.user_properties, *(("repeated", text) for text in REPEATED)]
    REPEATED.clear()
    return report


def pytest_terminal_summary(terminalreporter):
    """Print why tests were run again, or did something twice; pytest shows failed ones only."""
    for report in terminalreporter.stats.get("rerun", ()):
        terminalreporter.section(f"why {report.nodeid} was run again")
        terminalreporter.write_line(report.longreprtext[-12000:])
    for report in (each for reports in terminalreporter.stats.values() for each in reports):
        for name, text in getattr(report, "user_properties", ()):
            if name == "repeated":
                terminalreporter.section(f"what {report.nodeid} did twice")
                terminalreporter.write_line(text[-12000:])


COMPILE_ALONE = on_one_piece(Dispatcher.compile)
KERNELS = str(ROOT / "genoviz")


def pytest_configure(config):
    """Compile each kernel in one worker, while others wait for Numba's cache.

    Neighbouring test files run at the same time and need the same kernels, so in a fresh checkout
    all workers would compile them.
    """
    if importlib.util.find_spec("fcntl"):
        Dispatcher.compile = compile_in_turn


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session):
    """Fill the caches of pytest and Hypothesis before pytest-xdist starts its workers.

    Workers collect all tests at the same time, so in a fresh checkout each would do all of this.
    """
    config = session.config
    starts_others = getattr(config.option, "numprocesses", None) and not hasattr(
        config, "workerinput"
    )
    if starts_others and hasattr(os, "fork") and not sys.dont_write_bytecode:
        for work in (rewrite_assertions, find_constants):
            with contextlib.suppress(ImportError, AttributeError, OSError, Warning):
                share_out(*work(config))


def share_out(act, files):
    """Call ``act(file)`` for all files, in one process per core."""
    children, n_processes = [], os.cpu_count() or 1
    for number in range(n_processes):
        children.append(os.fork())
        if children[-1] == 0:
            with contextlib.suppress(Exception):
                for file in files[number::n_processes]:
                    act(file)
            os._exit(0)
    for child in children:
        os.waitpid(child, 0)


def rewrite_assertions(config):
    """Return what writes pytest's version of a test file to its cache, and all test files."""
    rewrite = importlib.import_module("_pytest.assertion.rewrite")  # not a public name of pytest
    state = config.stash[rewrite.assertstate_key]

    def write(file):
        kept = rewrite.get_cache_dir(file) / f"{file.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(file, kept) is None:
            kept.parent.mkdir(exist_ok=True)
            stat, code = rewrite._rewrite_test(file, config)
            rewrite._write_pyc(state, code, stat, kept)

    return write, sorted((ROOT / "tests").rglob("test_*.py"))


def find_constants(config):
    """Return what writes the constants of a module to Hypothesis' cache, and all modules.

    Hypothesis also draws these numbers and texts. There are no modules if the cache exists.
    """
    finder = importlib.import_module("hypothesis.internal.constants_ast")  # not a public name
    is_cached = finder.storage_directory("constants").path.exists()
    folders = () if is_cached else ("app", "benchmarks", "genoviz")

    def write(file):
        module = ModuleType(file.stem)
        module.__file__ = str(file)
        finder.constants_from_module(module)

    return write, sorted(file for name in folders for file in (ROOT / name).rglob("*.py"))


def compile_in_turn(self, sig):
    """Compile or load a function while no other process compiles functions of its file."""
    path = self.py_func.__code__.co_filename
    if not path.startswith(KERNELS):
        return COMPILE_ALONE(self, sig)
    # Take Numba's own lock first, so that only its owner waits for other processes.
    with global_compiler_lock, turn_of(path):
        return COMPILE_ALONE(self, sig)


TURNS: set[str] = set()
"""Files for which this process holds the lock, so that nested compilations do not wait for it."""


@contextlib.contextmanager
def turn_of(path):
    """Hold an inter-process lock on a file."""
    if path in TURNS:
        yield
        return
    import fcntl

    TURNS.add(path)
    try:
        with Path(path).open("rb") as file:
            end = time.monotonic() + PATIENCE  # after that, compile in parallel
            while time.monotonic() < end:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(0.02)
            try:
                yield
            finally:
                fcntl.flock(file, fcntl.LOCK_UN)  # forked processes share the open file
    finally:
        TURNS.discard(path)


# Modules and tests live until the end; repeated garbage collection of them took a fifth of the time
# of the dashboard's tests. Collections of new objects are also made less frequent.
OBJECTS_BEFORE_A_COLLECTION = (20_000, 20, 20)


KERNELS_IN_COLLECTION: list[str] = []
"""Kernels that had run when all tests were collected; test_project checks that there are none."""


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
    """Exclude imported modules from garbage collection."""
    gc.disable()
    try:
        yield
        KERNELS_IN_COLLECTION.extend(loaded_kernels())
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(*OBJECTS_BEFORE_A_COLLECTION)


def pytest_collection_modifyitems(items):
    """Run the slowest tests first, each on one piece of Python's stack."""
    for item in items:
        if isinstance(item, pytest.Function):
            item.obj = on_one_piece(item.obj)
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
    """Return the path of real data, or skip the test with a message if it is missing."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"real data {name} is not here (GENOVIZ_TEST_DATA names its folder)")
    return path


def count_gpus() -> int:
    """Return the number of usable GPUs."""
    if not cuda_is_available():
        return 0
    import cupy

    return cupy.cuda.runtime.getDeviceCount()


@pytest.fixture(
    scope="session",
    params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)],
)
def backend(request: pytest.FixtureRequest) -> str:
    """Each backend in turn; the GPU is skipped with a message on a machine without one."""
    if request.param == "cuda" and not cuda_is_available():
        pytest.skip("no NVIDIA GPU can be used here")
    return request.param
