"""Hashes of the functions in other files that a file's compiled functions call.

Numba caches compiled functions under the hash of their own file, and does not detect changes in
other files. Files that call such functions therefore end with a line that has their hash, and that
changes with them. ``python -m tests.stamps`` writes these lines.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.sources import iter_statements

STAMP = re.compile(r"\n+# Compiled with .*\n\Z")


def compiled_names(tree: ast.Module) -> set[str]:
    """Return the functions of a module that Numba compiles or inlines."""
    return {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(re.match(r"(n?jit|intrinsic)\b", ast.unparse(each)) for each in node.decorator_list)
    }


class Stamps:
    """The files of a tree whose compiled functions call functions of other files."""

    def __init__(self, root: Path = ROOT, package: str = "genoviz") -> None:
        self.root = root
        self._paths = paths = sorted((root / package).rglob("*.py"))
        modules = {_module_of(path, root): path for path in paths}
        trees = {path: ast.parse(path.read_text()) for path in paths}
        compiled = {module: compiled_names(trees[path]) for module, path in modules.items()}
        self.called: dict[Path, tuple[Path, ...]] = {}
        for path, tree in trees.items():
            names = _imported(tree, compiled)
            own = compiled[_module_of(path, root)]
            used = {
                inner.id
                for node in tree.body
                if isinstance(node, ast.FunctionDef) and node.name in own
                for inner in ast.walk(node)
                if isinstance(inner, ast.Name)
            }
            found = sorted({modules[names[name]] for name in used & names.keys()})
            if found:
                self.called[path] = tuple(found)

    def stale(self) -> list[Path]:
        """Return the files whose line is missing, outdated or superfluous."""
        return [path for path in self._paths if self._is_stale(path)]

    def write(self) -> None:
        """Write the lines; in a chain of calls, called files come first."""
        while stale := self.stale():
            for path in stale:
                path.write_text(self._stamped(path))

    def _is_stale(self, path: Path) -> bool:
        text = path.read_text()
        return (path in self.called or STAMP.search(text) is not None) and (
            text != self._stamped(path)
        )

    def _stamped(self, path: Path) -> str:
        text = STAMP.sub("", path.read_text())
        called = self.called.get(path)
        if called is None:
            return text if text.endswith("\n") else text + "\n"
        names = ", ".join(each.relative_to(self.root).as_posix() for each in called)
        digest = hashlib.sha256(b"".join(each.read_bytes() for each in called)).hexdigest()[:16]
        line = f"# Compiled with {names}: {digest}"
        if len(line) > 100:
            names = ", ".join(each.name for each in called)
            line = f"# Compiled with {names}: {digest}"
        ends_with_block = isinstance(ast.parse(text).body[-1], ast.FunctionDef | ast.ClassDef)
        blank = "\n" * (3 if ends_with_block else 2)
        return f"{text.rstrip()}{blank}{line}\n"


def _module_of(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _imported(tree: ast.Module, compiled: dict[str, set[str]]) -> dict[str, str]:
    """Return the origin of each compiled function that a module imports, by its local name."""
    return {
        alias.asname or alias.name: node.module
        for node in iter_statements(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in compiled.get(node.module or "", ())
    }


if __name__ == "__main__":
    stamps = Stamps()
    old = stamps.stale()
    stamps.write()
    for path in old:
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
