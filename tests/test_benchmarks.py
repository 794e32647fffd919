"""The tables that benchmarks leave behind."""

from __future__ import annotations

import ast

import pytest

from benchmarks import results
from benchmarks.results import (
    SCOPES,
    Run,
    keep_runs,
    load_runs,
    render_page,
    render_speed,
    write_tables,
)
from benchmarks.rows import make_row, median_seconds
from tests.conftest import ROOT


@pytest.fixture(autouse=True)
def scopes(monkeypatch):
    alike, other = ("call", "call"), ("call", "command")
    known = {"Layout": alike, "Drawing": alike, "Searching": other}
    monkeypatch.setattr(results, "SCOPES", SCOPES | known)


RATE = make_row("Layout", "small", ours=30.0, peer=10.0, unit="M/s", in_readme=True)
TIME = make_row("Drawing", "big", ours=2.0, peer=5.0, unit="ms", higher_is_better=False)


def test_ratio_says_how_many_times_better_we_are():
    assert RATE["ratio"] == 3.0
    assert TIME["ratio"] == 2.5
    assert make_row("a", "b", ours=1.0, unit="s")["ratio"] is None


def test_a_run_on_the_gpu_keeps_the_tables_of_the_cpu(tmp_path):
    store, page, readme = tmp_path / "r.json", tmp_path / "R.md", tmp_path / "README.md"
    readme.write_text("above\n<!-- speed -->\nold\n<!-- /speed -->\nbelow\n")
    keep_runs([Run("bench_a", "cpu", "two cores", "2026-01-01", [RATE])], store)
    keep_runs([Run("bench_a", "cuda", "two cores; GPU NVIDIA X1", "2026-01-02", [TIME])], store)
    runs = keep_runs([Run("bench_a", "cpu", "two cores", "2026-01-03", [RATE])], store)
    assert [(run.backend, run.date) for run in runs] == [
        ("cpu", "2026-01-03"),
        ("cuda", "2026-01-02"),
    ]
    assert load_runs(store) == runs
    write_tables(runs, page, readme)
    assert page.read_text().index("## CPU") < page.read_text().index("## GPU")
    assert "| small | 30 | 10 | M/s | 3x |  |" in page.read_text()
    assert readme.read_text() == (
        "above\n<!-- speed -->\n| | on | scope | genoviz | peer | unit | ratio |\n"
        "|---|---|---|---:|---:|---|---:|\n| Layout: small | CPU | call | 30 | 10 | M/s | 3x |\n"
        "<!-- /speed -->\nbelow\n"
    )


def test_runs_on_other_gpus_stand_beside_each_other(tmp_path):
    store, page, readme = tmp_path / "r.json", tmp_path / "R.md", tmp_path / "README.md"
    readme.write_text("<!-- speed -->\n<!-- /speed -->\n")
    for name, day in (("X2", "2"), ("X1", "3"), ("X2", "4")):
        machine = f"two cores; GPU NVIDIA {name}"
        runs = keep_runs([Run("bench_a", "cuda", machine, f"2026-01-0{day}", [RATE])], store)
    assert [run.date[-1] for run in runs] == ["3", "4"]
    write_tables(runs, page, readme)
    assert [line.split(" | ")[1] for line in readme.read_text().splitlines()[3:-1]] == ["X1", "X2"]


def test_there_is_a_ratio_only_of_what_is_alike():
    options = {"ours": 0.04, "peer": 50.0, "unit": "s", "higher_is_better": False}
    row = make_row("Searching", "100 guides", **options, in_readme=True)
    run = Run("bench_a", "cpu", "two cores", "2026-01-01", [row])
    assert "| Searching: 100 guides | CPU | call | 0.04 |  | s |  |" in render_speed([run])
    assert "| 100 guides | 0.04 | 50 | s |  |  |" in render_page([run])


def test_every_row_of_the_readme_names_its_scope():
    for run in load_runs():
        for row in run.rows:
            if row.get("in_readme"):
                assert row["benchmark"] in SCOPES, row["case"]
                assert (row["peer"] is None) == (SCOPES[row["benchmark"]][1] is None), row["case"]
    speed = (ROOT / "README.md").read_text(encoding="utf-8").split("<!-- speed -->\n")[1]
    lines = [line.split(" | ") for line in speed.split("<!-- /speed -->")[0].splitlines()[2:]]
    assert {line[2] for line in lines} <= {"kernel", "call", "command", "page"}
    for line in lines:
        if line[-1].endswith("x |"):
            ours, peer = SCOPES[next(name for name in SCOPES if line[0].startswith(f"| {name}: "))]
            assert ours == peer == line[2]


def test_median_leaves_warm_ups_out():
    calls = []
    assert median_seconds(lambda: calls.append(1), n_runs=3, n_warm_ups=2) >= 0
    assert len(calls) == 5


@pytest.mark.parametrize(
    "path", sorted((ROOT / "benchmarks").glob("bench_*.py")), ids=lambda p: p.stem
)
def test_every_benchmark_has_the_function_that_is_called(path):
    functions = {
        node.name: [argument.arg for argument in node.args.args]
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    assert functions["measure"] == ["backend"]


def _root(node):
    """Return the name that an expression of attributes begins with; None for any other one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def find_patches(source):
    """Return the lines that change what a module has, or take what a module of ours hides."""
    tree = ast.parse(source)
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {(alias.asname or alias.name).split(".")[0] for node in imports for alias in node.names}
    names = {name for name in names if not name.isupper()}  # An object that is there to be set.
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            is_ours = (node.module or "").split(".")[0] in ("genoviz", "genoviz_app")
            found = is_ours and any(alias.name.startswith("_") for alias in node.names)
        elif isinstance(node, ast.Attribute):
            is_changed = not isinstance(node.ctx, ast.Load)
            found = _root(node) in names and (is_changed or node.attr == "_" + node.attr.strip("_"))
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            patches = called in ("patch", "mock.patch") or called.endswith((".object", ".multiple"))
            sets = called.endswith(("setattr", "delattr")) and _root(node.args[0]) in names
            found = patches or sets
        else:
            found = False
        if found:
            lines.add(node.lineno)
    return sorted(lines)


@pytest.mark.parametrize(
    "name", sorted(path.name for path in (ROOT / "benchmarks").glob("*.py")), ids=str
)
def test_no_benchmark_patches_a_module(name):
    """What a benchmark compares are options that anybody has."""
    assert find_patches((ROOT / "benchmarks" / name).read_text()) == []


def test_patches_are_found():
    source = """from unittest.mock import patch
from genoviz.kernels.path_sgd import cpu
import numba
with patch.object(cpu, "run"), patch("genoviz.errors.x"), patch.dict("os.environ", A="b"):
    cpu.WINDOW = 3
setattr(cpu, "WINDOW", 3)
numba.config.NUMBA_NUM_THREADS = 1
cpu._hidden()
from genoviz.io.graph.gbz import _parse
own = object()
own.value = cpu.run(cpu.WINDOW)
setattr(own, "value", 3)
"""
    assert find_patches(source) == [4, 5, 6, 7, 8, 9]
