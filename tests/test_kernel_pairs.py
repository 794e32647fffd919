"""A kernel is the same functions twice: for the CPU and for the GPU."""

from __future__ import annotations

import ast

import pytest

from tests.conftest import ROOT

KERNELS = ROOT / "genoviz" / "kernels"
PAIRED = sorted(path.parent.name for path in KERNELS.glob("*/cuda.py"))


def public_functions(kernel: str, module: str) -> dict[str, list[str]]:
    """Return the public functions of a kernel's module with their positional arguments.

    Keyword-only arguments are a backend's own: options that a benchmark or a test turns.
    """
    tree = ast.parse((KERNELS / kernel / f"{module}.py").read_text(encoding="utf-8"))
    return {
        node.name: [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


@pytest.mark.parametrize("kernel", PAIRED)
def test_backends_have_the_same_functions_and_arguments(kernel):
    assert public_functions(kernel, "cuda") == public_functions(kernel, "cpu")


def test_only_what_runs_on_the_host_alone_lacks_a_pair():
    unpaired = {path.parent.name for path in KERNELS.glob("*/cpu.py")} - {*PAIRED}
    assert unpaired <= {"pangenome_simulation"}
