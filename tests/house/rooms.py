"""Counts of the tree: modules and their importers, files per folder, file names.

Kernels and commands are loaded by name on demand, so they have no importer.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from tests.sources import iter_statements

# File names that recur in many folders by design.
SHARED_NAMES = {"__init__.py", "page.py", "cpu.py", "cuda.py"}

# Limits may only be lowered; when a count falls, lower its limit.
LIMITS = {
    "modules with one importer": 71,
    "files in the largest folder": 30,
    "times that one file name stands": 3,
    "arguments of a function of arrays": 12,
    "arguments of a launch on a GPU": 12,
    "modules over 350 lines": 13,
    "files entered: genoviz count": 25,
    "files entered: typed k-mer to hits": 22,
    "files entered: Run to first frame": 24,
    "files entered: GWAS click to analysis": 28,
}


def read_modules(root: Path) -> dict[str, Path]:
    """Return the modules of the product by import name."""
    modules = {}
    for top, package in (("genoviz", "genoviz"), ("app", "genoviz_app")):
        for path in sorted((root / top).rglob("*.py")):
            inner = path.relative_to(root / top).with_suffix("").parts
            modules[".".join([package, *inner]).removesuffix(".__init__")] = path
    return modules


class Facts(NamedTuple):
    """What is counted of a file."""

    imports: list[tuple[str, set[str]]]
    """The module after ``from``, or "", and names that are modules or in that module."""
    n_arguments: int
    """Maximum number of positional arguments of a function."""
    n_launch_arguments: int
    """Maximum number of arguments of a GPU launch."""


@functools.cache
def read_facts(path: Path) -> Facts:
    """Return the facts of a file, which is parsed once."""
    imports, functions, launches = [], [0], [0]
    is_package, launches_kernels = path.name == "__init__.py", path.stem.startswith("cuda")
    # All other expressions can be passed over: imports and functions are statements.
    iter_nodes = ast.walk if is_package or launches_kernels else iter_statements
    for node in iter_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imports.append(("", {alias.name for alias in node.names}))
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            imports.append((node.module, inner))
        elif isinstance(node, ast.Constant) and is_package and isinstance(node.value, str):
            imports.append(("", {node.value}))
        elif isinstance(node, ast.FunctionDef):
            names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
            functions.append(len(names) - (names[:1] in (["self"], ["cls"], ["typing_context"])))
        elif isinstance(node, ast.Call) and launches_kernels:
            launches += [len(each.elts) for each in node.args if isinstance(each, ast.Tuple)]
    return Facts(imports, max(functions), max(launches))


def find_importers(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Return the importers of each module, including lazy re-exports."""
    importers = defaultdict(set)
    for name, path in modules.items():
        for base, names in read_facts(path).imports:
            found = {each if each in modules or not base else base for each in names}
            for each in found & modules.keys() - {name}:
                importers[each].add(name)
    return importers


def measure_rooms(root: Path) -> dict[str, int]:
    """Return all counts by description."""
    modules = read_modules(root)
    importers = find_importers(modules)
    rooms = [name for name, path in modules.items() if path.name != "__init__.py"]
    folders = Counter(path.parent for path in modules.values())
    names = Counter(path.name for path in modules.values() if path.name not in SHARED_NAMES)
    lines = [len(path.read_text().splitlines()) for path in modules.values()]
    # Commands have one parameter per option.
    of_arrays = [read_facts(path) for name, path in modules.items() if ".cli." not in name]
    return {
        "modules": len(modules),
        "modules loaded by name": sum(not importers[name] for name in rooms),
        "lines": sum(lines),
        "modules over 350 lines": sum(n > 350 for n in lines),
        "modules with one importer": sum(len(importers[name]) == 1 for name in rooms),
        "files in the largest folder": max(folders.values()),
        "times that one file name stands": max(names.values()),
        "arguments of a function of arrays": max(facts.n_arguments for facts in of_arrays),
        "arguments of a launch on a GPU": max(facts.n_launch_arguments for facts in of_arrays),
    }
