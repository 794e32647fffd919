"""A kernel is the same functions twice: for the CPU and for the GPU."""

from __future__ import annotations

import ast

import pytest

from genoviz.kernels import CPU_ONLY
from tests.conftest import ROOT

KERNELS = ROOT / "genoviz" / "kernels"
PAIRED = sorted(path.parent.name for path in KERNELS.glob("*/cuda.py"))


def public_functions(kernel: str, pattern: str) -> dict[str, list[str]]:
    """Return the public functions of a kernel's modules with their positional arguments.

    Keyword-only arguments are a backend's own: options that a benchmark or a test turns.
    """
    return {
        node.name: [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        for path in (KERNELS / kernel).glob(pattern)
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    }


@pytest.mark.parametrize("kernel", PAIRED)
@pytest.mark.parametrize(("backend", "other"), [("cpu", "cuda"), ("cuda", "cpu")])
def test_backends_have_the_same_functions_and_arguments(kernel, backend, other):
    functions = public_functions(kernel, f"{backend}.py")
    others = public_functions(kernel, f"{other}*.py")
    assert functions == {name: others.get(name) for name in functions}


def test_the_list_of_kernels_without_a_pair_is_complete():
    unpaired = {path.parent.name for path in KERNELS.glob("*/cpu.py")} - {*PAIRED}
    assert unpaired == CPU_ONLY.keys()
