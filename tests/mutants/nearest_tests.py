"""Selects the tests most likely to detect a change, by imports and by names.

Coverage does not see code compiled by Numba, so the map is derived from the sources.
"""

from __future__ import annotations

import ast
import re
from collections import deque
from pathlib import Path

# These check source style, drive a browser, or take minutes.
NOT_ASKED = re.compile(
    r"tests/(browser/|mutants/|kernels/test_kernel_pairs\.py|"
    r"test_(layers|project|mutants|notebooks|benchmarks)\.py)"
)


class TestMap:
    """The imports of all modules and tests below a folder."""

    __test__ = False

    def __init__(self, root: Path, packages: tuple[str, ...] = ("genoviz", "app", "tests")):
        self.root = root
        self.paths: dict[str, str] = {}
        for package in packages:
            for path in sorted((root / package).rglob("*.py")):
                name = path.relative_to(root).as_posix()
                module = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                self.paths[re.sub(r"^app\b", "genoviz_app", module)] = name
        self.modules = {path: module for module, path in self.paths.items()}
        self.texts = {path: (root / path).read_text() for path in self.modules}
        self._public = self._read_public_names()
        self.imports = {path: self._find_imports(path) for path in self.modules}
        self.tests = [
            path
            for path in self.modules
            if Path(path).name.startswith("test_") and not NOT_ASKED.match(path)
        ]
        self._distances = {path: self._measure(path) for path in self.tests}

    def nearest(self, path: str, function: str) -> list[str]:
        """Return the tests that can reach a function of ``path``, the nearest first."""
        faces = self._faces(path, function)
        scores = {}
        for test in self.tests:
            distance = self._distances[test].get(path)
            if distance is not None:
                scores[test] = distance - self._kinship(test, path, faces)
        return sorted(scores, key=lambda test: (scores[test], test))

    def importers(self, path: str) -> set[str]:
        """Return the file and all its direct and indirect importers."""
        found, queue = {path}, deque([path])
        while queue:
            at = queue.popleft()
            for other, imported in self.imports.items():
                if at in imported and other not in found:
                    found.add(other)
                    queue.append(other)
        return found

    # By words

    def _faces(self, path: str, function: str) -> set[str]:
        """Return the names through which other functions, or other files, reach a function."""
        tree = ast.parse(self.texts[path])
        kinds = (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)
        words = {
            node.name: set(re.findall(r"\w+", ast.unparse(node)))
            for node in tree.body
            if isinstance(node, kinds)
        }
        faces = {function.split(".")[0]} if function else set(words)
        for _ in range(3):
            faces |= {name for name, used in words.items() if used & faces}
        return {name for name in faces if not name.startswith("_")}

    def _kinship(self, test: str, path: str, faces: set[str]) -> float:
        text = self.texts[test]
        mentioned = sum(bool(re.search(rf"\b{re.escape(face)}\b", text)) for face in faces)
        words, own = _words(path), _words(test)
        alike = len(words & own) / max(len(words), 1)
        is_same = Path(test).stem == f"test_{Path(path).stem}"
        spoken = all(re.search(rf"\b{word}", text) for word in words)
        return 2 * min(mentioned, 2) + 2 * alike + 3 * is_same + 0.5 * spoken

    # By imports

    def _measure(self, test: str) -> dict[str, int]:
        distances, queue = {test: 0}, deque([test])
        for conftest in ("tests/conftest.py", f"{Path(test).parent.as_posix()}/conftest.py"):
            if conftest in self.imports:
                distances.setdefault(conftest, 1)
                queue.append(conftest)
        while queue:
            at = queue.popleft()
            for other in self.imports[at]:
                if other not in distances:
                    distances[other] = distances[at] + 1
                    queue.append(other)
        return distances

    def _read_public_names(self) -> dict[str, str]:
        """Return the origin of the lazy public names of packages."""
        where = {}
        for path, text in self.texts.items():
            if not path.endswith("__init__.py") or "_MODULES" not in text:
                continue
            package = self.modules[path]
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Dict):
                    for key, names in zip(node.keys, node.values, strict=True):
                        module = self.paths.get(getattr(key, "value", None))
                        if module and isinstance(names, ast.Tuple):
                            where |= {f"{package}.{name.value}": module for name in names.elts}
        return where

    def _find_imports(self, path: str) -> set[str]:
        names: set[str] = set()
        # Commands are found in a table by module name; lazy packages have no imports either.
        has_table = "_MODULES" not in self.texts[path]
        for node in ast.walk(ast.parse(self.texts[path])):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names |= {f"{node.module}.{alias.name}" for alias in node.names}
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                names.add(f"{node.value.id}.{node.attr}")
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("load_kernel"):
                kernel = getattr(node.args[0], "value", None) if node.args else None
                names.add(f"genoviz.kernels.{kernel}.cpu")
            elif isinstance(node, ast.Constant) and node.value in ("-m", "invoke", "genoviz"):
                names.add("genoviz.__main__")
            elif has_table and isinstance(node, ast.Constant) and node.value in self.paths:
                names.add(node.value)
        return {found for name in names for found in self._resolve(name)} - {path}

    def _resolve(self, name: str) -> set[str]:
        if name in self._public:
            return {self._public[name]}
        if name in self.paths:
            return {self.paths[name]}
        parent = name.rpartition(".")[0]
        # A package's names come from its own file unless they are lazy.
        return {self.paths[parent]} if parent in self.paths else set()


def _words(path: str) -> set[str]:
    """Return the words of a path that describe its subject, in the singular."""
    plain = re.sub(r"^(genoviz|app|tests)/|\.py$", "", path)
    words = re.split(r"[/_]", plain)
    common = {
        "test",
        "pages",
        "analyses",
        "kernels",
        "init",
        "cpu",
        "io",
        "model",
        "plots",
        "parts",
    }
    return {word.rstrip("s") for word in words if word} - {word.rstrip("s") for word in common}
