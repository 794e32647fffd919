"""The mutants themselves: which there are, which are drawn, and what is said of them."""

from __future__ import annotations

import ast
import re
import shutil
import signal
import subprocess
from contextlib import closing

import pytest

from tests.conftest import ROOT
from tests.mutants.__main__ import Verdicts, confirm_kills, ending_after, try_mutant
from tests.mutants.mutations import find_mutants
from tests.mutants.nearest_tests import TestMap
from tests.mutants.report import read_equivalents, write_report
from tests.mutants.sample import count_code_lines, draw_mutants, share_out
from tests.mutants.trial import Copy, list_files

SOURCE = b'''"""Ages, 18 and more."""
from numba import njit

__all__ = ["is_adult"]
TEXT_WIDTH = 80
SMALL = {"margin": (8, 0)}


@njit(nogil=True, cache=True)
def inner(values: list[int], i: int):
    return values[i] + 1


def is_adult(age: int | None = None, *, strict: bool = False) -> bool:
    """Return whether 18 have passed."""
    if age is None:
        raise ValueError(f"age {age + 1} is missing" + "?")
    logging.info(age + 1)
    bar.update("Reading", 0)
    show(age, width=3, deep=True)
    return not strict and age >= 18
'''


def test_every_kind_of_bug_is_found_and_what_is_only_said_is_left_alone():
    found = {(m.before, m.after) for m in find_mutants("ages.py", SOURCE)}
    call = "show(age, width=3, deep=True)"
    assert found == {
        ("values[i] + 1", "values[i] - 1"),
        ("i", "i + 1"),
        ("1", "2"),
        ("False", "True"),
        ("age is None", "age is not None"),
        ("raise ValueError(f'age {age + 1} is missing' + '?')", "pass"),
        (call, "pass"),
        (call, "show(age, width=3)"),
        ("True", "False"),
        ("return not strict and age >= 18", "return None"),
        ("not strict and age >= 18", "not strict or age >= 18"),
        ("not strict", "strict"),
        ("age >= 18", "age > 18"),
        ("18", "19"),
    }


def test_a_mutant_differs_from_its_source_in_its_own_place_alone():
    source = "# ä, two bytes\nx = 'ä' if  y < 3 else (5)\nz = f(  a, b )\n".encode()
    texts = {m.applied_to(source).decode() for m in find_mutants("x.py", source)}
    assert "# ä, two bytes\nx = 'ä' if  (y <= 3) else (5)\nz = f(  a, b )\n" in texts
    for mutant in find_mutants("ages.py", SOURCE):
        changed = ast.dump(ast.parse(mutant.applied_to(SOURCE)))
        assert changed != ast.dump(ast.parse(SOURCE)), mutant


def test_lines_of_code_are_those_that_do_something():
    assert count_code_lines(SOURCE) == 15


def test_each_layer_has_its_share_and_a_small_one_some():
    shares = share_out(200, {"large": 9000, "middle": 1000, "small": 1})
    assert shares == {"large": 169, "middle": 19, "small": 12}


@pytest.fixture
def tree(tmp_path):
    """A project whose tests do not look at an age of 18."""
    root = tmp_path / "project"
    files = {
        "app/__init__.py": "",
        "app/ages.py": "def is_adult(age):\n    return age >= 18\n",
        "app/loops.py": "def count(n):\n    while n > 0:\n        n -= 1\n    return n\n",
        "app/inner.py": "from numba import njit\n\n\n@njit(cache=True)\n"
        "def double(x):\n    return x * 2\n",
        "app/outer.py": "from numba import njit\n\nfrom genoviz_app.inner import double\n\n\n"
        "@njit(cache=True)\ndef quadruple(x):\n    return double(double(x))\n",
        "tests/__init__.py": "",
        "tests/test_ages.py": "from genoviz_app.ages import is_adult\n\n\n"
        "def test_ages():\n    assert is_adult(30)\n    assert is_adult(5) is False\n",
        "tests/test_loops.py": "from genoviz_app.loops import count\n\n\n"
        "def test_loops():\n    assert count(3) == 0\n",
        "tests/test_outer.py": "from genoviz_app.outer import quadruple\n\n\n"
        "def test_outer():\n    assert quadruple(3) == 12\n",
        "tests/test_broken.py": "from genoviz_app import ages\n\n\n"
        "def test_broken():\n    assert not ages\n",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def find_mutant(root, path, before, after):
    found = find_mutants(path, (root / path).read_bytes())
    return next(m for m in found if (m.before, m.after) == (before, after))


def judge(tree, tmp_path, mutant, chosen=None, broken=()):
    tests = TestMap(tree, packages=("app", "tests"))
    chosen = chosen or tests.nearest(mutant.path, mutant.function)
    with closing(Copy(tree, tmp_path / "work", libraries=())) as copy:
        row = try_mutant(copy, tests, mutant, chosen, longest=60, seconds=600, broken=broken)
    original = (tree / mutant.path).read_bytes()
    assert (copy.root / mutant.path).read_bytes() == original
    return row


def test_a_bug_that_the_tests_see_is_killed_and_another_survives(tree, tmp_path):
    (tree / "tests/test_broken.py").unlink()
    path = "app/ages.py"
    dropped = find_mutant(tree, path, "return age >= 18", "return None")
    row = judge(tree, tmp_path, dropped)
    assert (row["verdict"], row["by"]) == ("killed", "tests/test_ages.py::test_ages")
    row = judge(tree, tmp_path, find_mutant(tree, path, "age >= 18", "age > 18"))
    assert (row["verdict"], row["by"]) == ("survived", "")


def test_a_module_that_a_table_names_is_near_the_tests_of_the_table(tree):
    table = '{"adult": ("genoviz_app.ages", "Say who is an adult.")}'
    (tree / "app/table.py").write_text(f"COMMANDS = {table}\n")
    (tree / "tests/test_table.py").write_text("from genoviz_app import table\n")
    nearest = TestMap(tree, packages=("app", "tests")).nearest("app/ages.py", "is_adult")
    assert "tests/test_table.py" in nearest


def test_a_loop_without_end_is_told_apart(tree, tmp_path):
    tests = TestMap(tree, packages=("app", "tests"))
    mutant = find_mutant(tree, "app/loops.py", "n -= 1", "n += 1")
    chosen = tests.nearest(mutant.path, mutant.function)
    with closing(Copy(tree, tmp_path / "work", libraries=())) as copy:
        row = try_mutant(copy, tests, mutant, chosen, longest=3, seconds=600)
    assert (row["verdict"], row["by"]) == ("timed out", "tests/test_loops.py::test_loops")


def test_what_numba_has_stored_of_a_caller_does_not_hide_a_mutant(tree, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "elsewhere"))
    mutant = find_mutant(tree, "app/inner.py", "x * 2", "x + 2")
    outer = ["tests/test_outer.py"]
    with closing(Copy(tree, tmp_path / "work", libraries=())) as copy:
        before, _ = copy.run(outer, longest=60, seconds=600)
    assert before.word == "survived"
    assert list(copy.root.rglob("outer.quadruple*.nbc"))
    assert judge(tree, tmp_path, mutant)["verdict"] == "killed"
    with closing(Copy(tree, tmp_path / "work", libraries=())) as copy:
        after, _ = copy.run(outer, longest=60, seconds=600)
    assert after.word == "survived"


def test_a_tree_without_git_is_copied_without_what_was_made_in_it(tree, tmp_path):
    own = list_files(tree)
    assert "app/ages.py" in own
    shutil.rmtree(tree / ".git")
    for name in (".venv/bin/x", ".mutants/0/tree/y.py", "app/__pycache__/z.pyc", ".ruff_cache/w"):
        (tree / name).parent.mkdir(parents=True)
        (tree / name).write_text("")
    (tree / "genoviz_app").symlink_to("app")
    assert list_files(tree) == own
    (tree / ".git").write_text("gitdir: /nowhere")
    assert list_files(tree) == own


def test_what_is_given_up_is_not_judged_and_ends_at_once(tree, tmp_path):
    (tree / "tests/test_loops.py").write_text("def test_loops():\n    while True:\n        pass\n")
    tests = TestMap(tree, packages=("app", "tests"))
    mutant = find_mutant(tree, "app/ages.py", "18", "19")
    limits = {"longest": 3600, "seconds": 3600}
    with closing(Copy(tree, tmp_path / "work", libraries=())) as copy:
        with ending_after(1, [copy]):
            row = try_mutant(copy, tests, mutant, ["tests/test_loops.py"], **limits)
            assert copy.is_given_up
        later = try_mutant(copy, tests, mutant, ["tests/test_ages.py"], **limits)
        assert (copy.root / mutant.path).read_bytes() == (tree / mutant.path).read_bytes()
    assert (row["verdict"], later["verdict"]) == ("unsure", "unsure")
    with closing(Copy(tree, tmp_path / "work", libraries=())) as copy:
        with ending_after(1e9, [copy]):
            signal.raise_signal(signal.SIGTERM)
        assert copy.is_given_up


def test_a_test_that_always_fails_kills_nothing(tree, tmp_path):
    mutant = find_mutant(tree, "app/ages.py", "age >= 18", "age > 18")
    row = judge(tree, tmp_path, mutant, ["tests/test_broken.py"])
    assert row["verdict"] == "killed"
    verdicts = Verdicts(tmp_path / "verdicts.jsonl")
    verdicts.add(row)
    assert verdicts.of([mutant]) == [row]
    with closing(Copy(tree, tmp_path / "work", libraries=())) as copy:
        confirm_kills([copy], verdicts, [mutant], 60)
    read = Verdicts(tmp_path / "verdicts.jsonl")
    assert (read.of([mutant]), read.broken) == ([], {"tests/test_broken.py::test_broken"})
    chosen = ["tests/test_broken.py", "tests/test_ages.py"]
    row = judge(tree, tmp_path, mutant, chosen, broken=read.broken)
    assert row["verdict"] == "survived"
    dropped = find_mutant(tree, "app/ages.py", "return age >= 18", "return None")
    row = judge(tree, tmp_path, dropped, chosen, broken=read.broken)
    assert (row["verdict"], row["by"]) == ("killed", "tests/test_ages.py::test_ages")


def test_a_crash_is_of_the_test_that_ran(tree, tmp_path):
    test = "import os\n\n\ndef test_ages():\n    os.kill(os.getpid(), 11)\n"
    (tree / "tests/test_ages.py").write_text(test)
    mutant = find_mutant(tree, "app/ages.py", "age >= 18", "age > 18")
    row = judge(tree, tmp_path, mutant, ["tests/test_ages.py"])
    assert (row["verdict"], row["by"]) == ("crashed", "tests/test_ages.py::test_ages")


def test_a_verdict_holds_until_its_function_changes(tree, tmp_path):
    path = tree / "app/ages.py"
    mutant = find_mutant(tree, "app/ages.py", "18", "19")
    verdicts = Verdicts(tmp_path / "verdicts.jsonl")
    verdicts.add({"key": mutant.key, "digest": mutant.digest, "verdict": "survived"})
    path.write_text("FIRST = 1\n" + path.read_text())
    moved = find_mutant(tree, "app/ages.py", "18", "19")
    assert len(verdicts.of([moved])) == 1
    path.write_text(path.read_text().replace("return age", "return +age"))
    assert verdicts.of([find_mutant(tree, "app/ages.py", "18", "19")]) == []


def test_the_sample_is_that_of_its_seed_and_hardly_changes_with_the_code(tree):
    layers = ("app",)
    keys = [m.key for m in draw_mutants(tree, 6, 1, layers)]
    assert keys == [m.key for m in draw_mutants(tree, 6, 1, layers)]
    assert keys != [m.key for m in draw_mutants(tree, 6, 2, layers)]
    (tree / "app/more.py").write_text("def more(x):\n    return x + 1\n")
    assert len({*keys} & {m.key for m in draw_mutants(tree, 6, 1, layers)}) >= 2
    assert {m.path for m in draw_mutants(tree, 3, 1, layers, "app/loops")} == {"app/loops.py"}


def test_the_page_counts_equivalent_mutants_apart(tmp_path):
    rows = [
        {"path": "app/a.py", "function": "f", "before": b, "after": "x", "verdict": verdict}
        for b, verdict in (("1", "killed"), ("2", "survived"), ("3", "survived"), ("4", "crashed"))
    ]
    named = tmp_path / "equivalent.toml"
    named.write_text(
        '[[mutant]]\npath = "app/a.py"\nfunction = "f"\nbefore = "3"\nafter = "x"\n'
        'reason = "Faster only."\n'
    )
    page = write_report(rows, read_equivalents(named), seed=1, n_drawn=9, commit="c0ffee")
    assert "Commit c0ffee, seed 1, 4 of 9 drawn are tried: of 4 mutants 2 were killed" in page
    assert "**2 of 3, 66.7 %**" in page
    assert "| `app` | 4 | 2 | 1 | 1 |" in page
    survivors, equivalent = page.split("## Equivalent")
    assert "``2`` → ``x``" in survivors
    assert "``3`` → ``x``" in equivalent
    assert "Faster only." in equivalent


def test_the_page_names_files_that_there_are():
    page = (ROOT / "docs/mutants.md").read_text(encoding="utf-8")
    named = re.findall(r"^- `([^`]+\.py)`", page, re.MULTILINE)
    assert [name for name in named if not (ROOT / name).exists()] == []
