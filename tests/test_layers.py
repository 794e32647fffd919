"""Imports go from left to right only: files, io, model, analyses, pages, plots.

A rule is: modules below this name may import these names of ours, and not those of others.
The longest name that fits a module holds for it; a module may always import its own package
where ``OWN_PACKAGE`` says so.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.sources import iter_statements

UI = frozenset("panel panel_material_ui param holoviews datashader bokeh pandas xarray".split())
ANALYSES = ("genoviz.analyses", "genoviz.errors", "genoviz.generators", "genoviz.model")
BELOW_PAGES = ("opening", "parts", "plots", "server", "session")
LIBRARY = (
    *ANALYSES, "genoviz", "genoviz.backend", "genoviz.collection", "genoviz.io", "genoviz.samples",
)  # fmt: skip
BELOW_ANALYSES = ("genoviz.backend", "genoviz.cluster", "genoviz.kernels")


SHARED_BY_KERNELS = (
    "cuda_copies", "cuda_source", "instructions", "path_records", "sorted_keys", "splitmix",
)  # fmt: skip


@dataclass(frozen=True)
class Rule:
    ours: tuple[str, ...] = ()
    not_theirs: frozenset[str] = UI | {"scipy"}


RULES = {
    "genoviz": Rule(("genoviz.backend",)),
    "genoviz.errors": Rule(),
    "genoviz.generators": Rule(),
    "genoviz.backend": Rule(("genoviz.errors",)),
    "genoviz.model": Rule(("genoviz.errors", "genoviz.model")),
    "genoviz.numba_start": Rule(),
    "genoviz.kernels": Rule(
        (
            "genoviz.generators",
            *(f"genoviz.kernels.{name}" for name in SHARED_BY_KERNELS),
        )
    ),
    "genoviz.io": Rule(
        tuple(
            f"genoviz.{name}"
            for name in ("backend", "errors", "generators", "model", "kernels", "io")
        )
    ),
    "genoviz.samples": Rule((*ANALYSES, "genoviz.io", "genoviz.samples")),
    "genoviz.collection": Rule(
        (*ANALYSES, "genoviz.backend", "genoviz.cluster", "genoviz.collection", "genoviz.io")
    ),
    "genoviz.cluster": Rule(("genoviz", "genoviz.cluster", "genoviz.errors")),
    "genoviz.analyses": Rule((*ANALYSES, *BELOW_ANALYSES)),
    "genoviz.analyses.genotypes": Rule((*ANALYSES, *BELOW_ANALYSES), UI),
    "genoviz.analyses.sequences.genome_model": Rule((*ANALYSES, *BELOW_ANALYSES), UI),
    "genoviz.analyses.graph.picture.rasterize": Rule((*ANALYSES, *BELOW_ANALYSES), UI - {"xarray"}),
    "genoviz.bindings": Rule((*ANALYSES, "genoviz.io")),
    "genoviz.cli": Rule((*LIBRARY, "genoviz.bindings", "genoviz.cli", "genoviz_app")),
    "genoviz.__main__": Rule(("genoviz.cli", "genoviz.numba_start")),
    "genoviz_app": Rule((*LIBRARY, "genoviz_app"), frozenset({"cupy", "numba", "scipy"})),
    "genoviz_app.warm_up": Rule(
        (*LIBRARY, "genoviz.numba_start"), frozenset({"cupy", "numba", "scipy"})
    ),
    "genoviz_app.plots": Rule(
        (*ANALYSES, "genoviz_app.plots"),
        frozenset({"cupy", "numba", "scipy", "panel", "panel_material_ui"}),
    ),
    "genoviz_app.server": Rule(
        (*LIBRARY, "genoviz.cluster", "genoviz.numba_start", "genoviz_app"),
        frozenset({"cupy", "numba", "scipy"}),
    ),
    "genoviz_app.opening": Rule(
        (*LIBRARY, "genoviz_app.opening", "genoviz_app.parts.words", "genoviz_app.server"),
        frozenset({"cupy", "numba", "scipy", "datashader", "panel", "panel_material_ui"}),
    ),
    "genoviz_app.opening.loaded_readers": Rule(
        (*LIBRARY, "genoviz.numba_start", "genoviz_app.opening"),
        frozenset({"cupy", "numba", "scipy", "datashader", "panel", "panel_material_ui"}),
    ),
    "genoviz_app.session": Rule(
        (
            *LIBRARY,
            "genoviz_app.opening",
            "genoviz_app.parts.words",
            "genoviz_app.server",
            "genoviz_app.session",
        ),
        frozenset({"cupy", "numba", "scipy", "datashader", "panel", "panel_material_ui"}),
    ),
    "genoviz_app.parts": Rule(
        (*LIBRARY, *(f"genoviz_app.{name}" for name in BELOW_PAGES)),
        frozenset({"cupy", "numba", "scipy", "datashader"}),
    ),
    "genoviz_app.pages": Rule(
        (*LIBRARY, *(f"genoviz_app.{name}" for name in BELOW_PAGES)),
        frozenset({"cupy", "numba", "scipy", "datashader"}),
    ),
    "genoviz_app.pages.__init__": Rule(("genoviz_app.pages",)),
}
HALF_OF_KERNEL = re.compile(r"genoviz\.kernels\.\w+\.(cpu|cuda)")
"""Modules that other modules may load only through ``load_kernel``."""
OWN_PACKAGE = ("genoviz.kernels", "genoviz_app.pages")


def is_below(name: str, top: str) -> bool:
    return name == top or name.startswith(top + ".")


def fits(name: str, allowed: str) -> bool:
    """The public names come from ``genoviz`` itself; any other name stands for all below it."""
    return name == allowed if allowed == "genoviz" else is_below(name, allowed)


def rule_of(module: str) -> Rule:
    return RULES[max((top for top in RULES if is_below(module, top)), key=len)]


def own_package(module: str) -> str | None:
    for top in OWN_PACKAGE:
        if is_below(module, top) and module.count(".") > top.count("."):
            return ".".join(module.split(".")[: top.count(".") + 2])
    return None


def name_of(function: ast.expr) -> str:
    """Return the last name of a called function, or ""."""
    return getattr(function, "attr", getattr(function, "id", ""))


def imported_names(module: str, source: str, modules: frozenset[str]) -> set[str]:
    """Return the absolute names of all modules that a source imports, wherever it does so."""
    names = set()
    package = module.split(".")[:-1]
    # All other expressions can be passed over: imports are statements.
    iter_nodes = ast.walk if "import_module" in source else iter_statements
    for node in iter_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join(filter(None, [*parents, node.module]))
            inner = {f"{base}.{alias.name}" for alias in node.names}
            is_module = {name for name in inner if name in modules or f"{name}.__init__" in modules}
            names |= is_module | ({base} if is_module != inner else set())
        elif isinstance(node, ast.Call) and name_of(node.func).endswith("import_module"):
            names |= {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
    return names


def violations(module: str, source: str, modules: frozenset[str]) -> list[str]:
    rule, own = rule_of(module), own_package(module)
    found = []
    for name in imported_names(module, source, modules):
        if name.split(".")[0] in ("genoviz", "genoviz_app"):
            allowed = any(fits(name, top) for top in rule.ours) and not HALF_OF_KERNEL.match(name)
            allowed |= own is not None and is_below(name, own)
        else:
            allowed = name.split(".")[0] not in rule.not_theirs
        if not allowed:
            found.append(f"{module} imports {name}")
    return sorted(found)


def module_name(path: Path) -> str:
    """Return the name by which a file is imported; the folder ``app`` is ``genoviz_app``."""
    top, *rest = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(["genoviz_app" if top == "app" else top, *rest])


SOURCES = {
    module_name(path): path.read_text()
    for package in ("genoviz", "app")
    for path in sorted((ROOT / package).rglob("*.py"))
}
MODULES = frozenset(SOURCES)


def test_imports_go_left_to_right():
    assert len(SOURCES) > 700
    found = [violations(module, source, MODULES) for module, source in SOURCES.items()]
    assert list(chain.from_iterable(found)) == []


def test_statements_are_found_wherever_they_are():
    """Of every source here the statements are those that a walk through all nodes finds."""
    for name, source in list(SOURCES.items())[::50]:
        tree = ast.parse(source)
        walked, found = (
            {node for node in nodes if isinstance(node, ast.stmt)}
            for nodes in (ast.walk(tree), iter_statements(tree))
        )
        assert found == walked, name
    odd = "try:\n  a\nexcept B:\n  c\nelse:\n  d\nfinally:\n  e\nmatch f:\n  case g:\n    h\n"
    lines = {node.lineno for node in iter_statements(ast.parse(odd)) if isinstance(node, ast.stmt)}
    assert lines == {1, 2, 4, 6, 8, 9, 11}


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("genoviz.model.graph.pangenome", "import genoviz.backend"),
        ("genoviz.model.graph.pangenome", "from genoviz import io"),
        ("genoviz.model.graph.pangenome", "from ...analyses.graph.layout import stress"),
        ("genoviz.kernels.path_sgd.cpu", "from genoviz.model import PangenomeGraph"),
        ("genoviz.kernels.path_sgd.cpu", "from genoviz.kernels.path_stress import cpu"),
        ("genoviz.kernels.path_sgd.cpu", "from ..path_stress import cpu"),
        ("genoviz.io.graph.gfa", "from genoviz.analyses.graph.layout.stress import path_stress"),
        ("genoviz.analyses.graph.layout.stress", "def f():\n    import pandas as pd"),
        (
            "genoviz.analyses.graph.layout.stress",
            "from importlib import import_module\nimport_module('panel')",
        ),
        ("genoviz.analyses.graph.layout.stress", "from genoviz.io.graph.gfa import read_gfa"),
        ("genoviz.analyses.graph.layout.stress", "import genoviz_app.server.jobs"),
        ("genoviz_app.pages.pangenome", "from genoviz.kernels.path_sgd import cpu"),
        ("genoviz_app.pages.pangenome", "from genoviz.kernels import path_sgd"),
        ("genoviz.analyses.graph.layout.stress", "from genoviz.kernels.path_sgd import cpu"),
        ("genoviz.io.graph.gbz", "from genoviz.kernels.gbwt.cuda import iter_decode_paths"),
        (
            "genoviz.io.graph.gbz",
            "import importlib as loader\nloader.import_module('genoviz.kernels.gbwt.cpu')",
        ),
        ("genoviz_app.pages.pangenome", "import cupy"),
        ("genoviz_app.pages.pangenome", "from genoviz_app.pages.intervals import IntervalsPage"),
        ("genoviz_app.pages.pangenome", "from genoviz_app.pages import PAGES"),
        ("genoviz_app.plots.graph_view", "import panel as pn"),
        ("genoviz_app.plots.graph_view", "from genoviz_app.session.session import Session"),
        ("genoviz_app.dashboard", "import genoviz.kernels.path_sgd"),
    ],
)
def test_a_bad_import_is_found(module, source):
    assert violations(module, source, MODULES | {"genoviz.kernels.path_sgd.__init__"})


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("genoviz.kernels.path_sgd.cuda", "from genoviz.kernels.path_sgd import BLOCK_BITS"),
        ("genoviz.kernels.path_sgd.cuda", "from . import cpu\nimport cupy"),
        (
            "genoviz.analyses.graph.layout.stress",
            "from genoviz.backend import load_kernel\nimport numpy",
        ),
        (
            "genoviz_app.pages.pangenome",
            "from genoviz_app.plots.graph_view import GraphView\nimport panel",
        ),
        ("genoviz_app.pages.pangenome", "from genoviz import read_gfa"),
        ("genoviz_app.pages.__init__", "from genoviz_app.pages.pangenome import PangenomePage"),
    ],
)
def test_a_good_import_is_not(module, source):
    assert violations(module, source, MODULES) == []


BLOCKER = """
import importlib, sys

class Blocker:
    allowed = {*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "tbb", "genoviz"}
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.allowed:
            raise ImportError(f"{name} is blocked")

sys.meta_path.insert(0, Blocker())
try:
    import packaging
except ImportError:
    pass
else:
    sys.exit("the blocker does not block")
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(f"{name}: {error}")
"""


def test_library_imports_with_numpy_and_numba_alone():
    modules = [
        module.removesuffix(".__init__")
        for module in SOURCES
        if is_below(module, "genoviz")
        and not module.startswith(("genoviz.cli", "genoviz.__main__"))
        and not re.match(r"genoviz\.kernels\.\w+\.cuda", module)
    ]
    shown = subprocess.run(
        [sys.executable, "-c", BLOCKER, *modules], capture_output=True, text=True, check=False
    )
    assert (shown.stdout, shown.stderr, shown.returncode) == ("", "", 0)
