"""The project's files agree with each other, and its public names exist."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterable
from importlib.metadata import distribution

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import genoviz
import genoviz_app
from tests import pins as writer
from tests.conftest import KERNELS_IN_COLLECTION, ROOT, TURNS, turn_of
from tests.pins import HASHED
from tests.sources import iter_statements
from tests.waiting import PATIENCE, wait_until

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GPU_EXTRAS = ("cuda12", "cuda13")
CONDA_NAMES = {"playwright": "playwright-python", "prometheus-client": "prometheus_client"}
PACKAGE_OF_IMPORT = {
    "PIL": "pillow",
    "cuda": "cupy-cuda12x",
    "cupy": "cupy-cuda12x",
    "cupyx": "cupy-cuda12x",
    "llvmlite": "numba",
    "pyBigWig": "pybigwig",
    "xdist": "pytest-xdist",
    "yaml": "pyyaml",
}
EXTRAS_OF_FOLDER = {
    "genoviz": ("app", "cluster", "cuda12"),  # of [app] only xarray, which `rasterize` returns
    "app": ("app", "notebook", "cuda12"),
    "benchmarks": ("app", "cluster", "test", "peers", "cuda12"),
    "data_samples": (),
    "notebooks": ("app", "notebook", "test"),
    "tests": ("app", "cluster", "notebook", "test", "cuda12"),
}
OURS = {*EXTRAS_OF_FOLDER, "genoviz_app"}


def requirements(*, extras: Iterable[str]) -> list[Requirement]:
    texts = [*PROJECT["dependencies"]]
    for extra in extras:
        texts += PROJECT["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


ALL_EXTRAS = tuple(PROJECT["optional-dependencies"])
CPU_EXTRAS = tuple(extra for extra in ALL_EXTRAS if extra not in GPU_EXTRAS)


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {canonicalize_name(line.split("==")[0]): line.split("==")[1] for line in lines}


def test_constraints_are_plain_pins():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.!+]+", line)] == []
    assert len(lines) == len(pins())


HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}")


def hashed_pins(name: str) -> dict[str, tuple[str, str]]:
    """Return version and marker by package; there are lines of pins and hashes, and no others."""
    found = {}
    for entry in (ROOT / name).read_text().replace(" \\\n", "\0").splitlines():
        pin, *hashes = entry.split("\0")
        assert hashes
        assert [each for each in hashes if not HASH.fullmatch(each)] == []
        package, version, marker = re.fullmatch(r"([\w.-]+)==([\w.!+]+)(?: ; (.+))?", pin).groups()
        found[canonicalize_name(package)] = version, marker or ""
    return found


@pytest.mark.parametrize("name", HASHED)
def test_writerwith_hashes_are_those_of_the_constraints(name):
    found = hashed_pins(name)
    assert {package: version for package, (version, _) in found.items()} == {
        package: pins()[package] for package in found
    }
    served = hashed_pins("requirements-hashed.txt")
    for requirement in requirements(extras=[extra for extra in HASHED[name] if extra]):
        _, marker = (found | served)[canonicalize_name(requirement.name)]
        assert marker == str(requirement.marker or "")


def test_all_that_a_server_needs_has_hashes(monkeypatch):
    monkeypatch.setattr(
        writer, "_ask_pip", lambda *_: pytest.skip("not all of it is installed here")
    )
    extras = HASHED["requirements-hashed.txt"]
    assert writer.needed(extras).keys() - hashed_pins("requirements-hashed.txt").keys() == set()


@pytest.mark.parametrize("requirement", requirements(extras=ALL_EXTRAS), ids=str)
def test_every_dependency_is_pinned_within_its_range(requirement):
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


IMPORT = re.compile(r"^[ \t]*(?:from|import)[ \t]+(\w+)", re.MULTILINE)
"""What may be an import; a line of a text may begin with the same words."""


def imported_packages(folder: str) -> set[str]:
    """Return the packages of others that a folder's modules import, as they are installed."""
    tops = set()
    for path in (ROOT / folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if set(IMPORT.findall(text)) - sys.stdlib_module_names - OURS - tops:
            tops |= imported_tops(text)
    tops = tops - sys.stdlib_module_names - OURS
    return {PACKAGE_OF_IMPORT.get(top, canonicalize_name(top)) for top in tops}


def imported_tops(text: str) -> set[str]:
    """Return the first parts of the names of all modules that a source imports."""
    nodes = list(iter_statements(ast.parse(text)))
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    return {name.split(".")[0] for name in names}


@pytest.mark.parametrize("folder", EXTRAS_OF_FOLDER)
def test_what_is_imported_is_a_dependency(folder):
    declared = {requirement.name for requirement in requirements(extras=EXTRAS_OF_FOLDER[folder])}
    assert imported_packages(folder) - declared == set()


def test_conda_environment_has_the_dependencies_of_pyproject():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["channels"][0] == "conda-forge"
    *from_conda, from_pip = environment["dependencies"]
    in_conda = {
        requirement.name: requirement.specifier
        for requirement in map(Requirement, [*from_conda, *from_pip["pip"]])
    }
    assert in_conda.pop("python") == Requirement(f"python{PROJECT['requires-python']}").specifier
    in_conda.pop("pip")
    assert in_conda == {
        CONDA_NAMES.get(requirement.name, requirement.name): requirement.specifier
        for requirement in requirements(extras=CPU_EXTRAS)
    }


def test_no_file_names_a_package_registry_or_a_folder_of_one_machine():
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if tracked.returncode:
        pytest.skip("this is not a git checkout")
    bad = re.compile(r"index-url|find-links|://\S*/simple\b|registry\.\w|cdn\.\w|/home/\w|/root/")
    found = []
    for name in filter(None, tracked.stdout.split("\0")):
        path = ROOT / name
        if path.suffix in {".bed", ".gz", ".png", ".npy", ".npz", ".lay"} or not path.is_file():
            continue
        if path.samefile(__file__):
            continue
        found += [f"{name}: {line}" for line in path.read_text().splitlines() if bad.search(line)]
    assert found == []


def test_no_package_of_a_common_name_is_installed():
    """A user's own ``app.py`` would hide ours, or ours theirs."""
    installed = distribution("genoviz").read_text("top_level.txt").split()
    assert sorted(installed) == ["genoviz", "genoviz_app"]


def test_a_users_own_app_hides_nothing_of_ours(tmp_path):
    (tmp_path / "app.py").write_text("raise SystemExit('the app of the user')")
    code = (
        "import genoviz_app; print(genoviz_app.serve.__module__, genoviz_app.LayoutView.__name__)"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (shown.stdout, shown.returncode) == ("genoviz_app.server.serving LayoutView\n", 0)


def test_no_kernel_runs_while_tests_are_collected():
    """In a fresh checkout each process would compile it, all of them at the same time."""
    assert KERNELS_IN_COLLECTION == []


def test_a_file_is_compiled_by_one_process_at_a_time(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    path, order = tmp_path / "kernels.py", []
    path.touch()

    def compile_here():
        with turn_of(str(path)), turn_of(str(path)):  # the second is of a function that it calls
            order.append("here")

    thread = threading.Thread(target=compile_here)
    with path.open() as file:  # as another process has it
        fcntl.flock(file, fcntl.LOCK_EX)
        thread.start()
        wait_until(lambda: TURNS == {str(path)})
        order.append("there")
        fcntl.flock(file, fcntl.LOCK_UN)
        thread.join(PATIENCE)
        assert order == ["there", "here"]
        assert TURNS == set()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # it is free again


def test_scripts_can_be_run():
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_public_names_resolve_and_are_documented():
    values = {name: getattr(genoviz, name) for name in genoviz.__all__ if name != "__version__"}
    assert len(values) > 400
    assert [name for name, value in values.items() if not value.__doc__] == []
    assert [name for name, value in values.items() if value.__name__ != name] == []


def test_public_names_are_sorted_and_shown_by_dir():
    assert list(genoviz.__all__) == sorted(genoviz.__all__)
    assert set(genoviz.__all__) <= set(dir(genoviz))
    with pytest.raises(AttributeError, match="genoviz has no 'no_such_name'"):
        _ = genoviz.no_such_name


def test_import_is_quick_because_nothing_else_is_imported():
    code = "import sys, genoviz; print(sorted({'numpy', 'numba', 'typer'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_version_is_that_of_pyproject():
    assert genoviz.__version__ == PROJECT["version"]


BOUND = re.compile(r"(?:timeout=|\.wait\(|\.join\()(\d[\d_.]*)(?=[,)])")


def test_no_wait_of_a_test_ends_early():
    """A machine may be busy: what waits for less than a minute fails without a cause.

    Playwright counts milliseconds.
    """
    assert PATIENCE >= 60
    short = [
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in (ROOT / "tests").rglob("*.py")
        for found in BOUND.finditer(path.read_text(encoding="utf-8"))
        if float(found[1]) < (60_000 if "browser" in path.parts else 60)
    ]
    assert short == []


@pytest.mark.parametrize("name", ["LayoutView", "serve"])
def test_without_the_dashboards_packages_the_sentence_says_what_to_install(name, monkeypatch):
    def find_nothing(_name):
        raise ModuleNotFoundError("No module named 'panel'", name="panel")

    monkeypatch.setattr(genoviz_app, "import_module", find_nothing)
    with pytest.raises(ImportError, match=r"needs panel.*pip install 'genoviz\[app\]'") as raised:
        getattr(genoviz_app, name)
    assert raised.value.__suppress_context__


def replaced_methods(text):
    """Yield class and name of each method that an attribute of the object replaces."""
    for owner in ast.walk(ast.parse(text)):
        if isinstance(owner, ast.ClassDef):
            methods = {
                part.name
                for part in owner.body
                if isinstance(part, ast.FunctionDef) and not part.decorator_list
            }
            for part in ast.walk(owner):
                is_set = isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store)
                if is_set and ast.unparse(part.value) == "self" and part.attr in methods:
                    yield owner.name, part.attr


def test_no_callback_is_kept_under_the_name_of_a_method():
    """A click in a sorted table picked another row: the method that finds it was replaced."""
    wrong = "class Table:\n def __init__(self, f):\n  self._on = f\n def _on(self): self._on()"
    assert list(replaced_methods(wrong)) == [("Table", "_on")]
    files = sorted((ROOT / "app").rglob("*.py"))
    assert {file: found for file in files if (found := [*replaced_methods(file.read_text())])} == {}
