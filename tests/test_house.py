"""The tree stays easy to find one's way in: its numbers may fall, and not rise."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.house.rooms import LIMITS, find_importers, measure_rooms, read_modules
from tests.house.walks import WALKS, find_files


@pytest.fixture(scope="module")
def numbers():
    return measure_rooms(ROOT)


@pytest.mark.parametrize("what", [what for what in LIMITS if not what.startswith("files entered")])
def test_the_tree_has_no_more_doors_than_it_had(numbers, what):
    assert numbers[what] <= LIMITS[what]


@pytest.mark.parametrize("name", WALKS)
def test_a_command_or_a_click_enters_no_more_files_than_it_did(name):
    files = find_files()[name]
    assert len(files) == len(set(files)) > 5
    assert len(files) <= LIMITS[f"files entered: {name}"], "\n".join(files)


def test_importers_are_counted_by_hand(tmp_path):
    """Of a small tree all is known: who imports whom, also lazily by a package."""
    sources = {
        "genoviz/__init__.py": "_MODULES = {'genoviz.io.read': ('read',)}\n",
        "genoviz/io/__init__.py": "",
        "genoviz/io/read.py": "from genoviz.io import text\nfrom genoviz.io.text import lines\n",
        "genoviz/io/text.py": "def lines():\n    import genoviz.io.bytes\n",
        "genoviz/io/bytes.py": "",
        "app/__init__.py": "",
        "app/text.py": "from genoviz.io.read import read\n",
        "genoviz/cli/count.py": "def count(a, b, c, d, e):\n    pass\n",
        "genoviz/kernels/add/cpu.py": "class A:\n    def add(self, x, y, *, z):\n        pass\n",
        "genoviz/kernels/add/cuda.py": "kernel((1,), (32,), (a, b, c, d))\n",
    }
    for name, text in sources.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    modules = read_modules(tmp_path)
    assert sorted(modules) == [
        "genoviz", "genoviz.cli.count", "genoviz.io", "genoviz.io.bytes", "genoviz.io.read",
        "genoviz.io.text", "genoviz.kernels.add.cpu", "genoviz.kernels.add.cuda", "genoviz_app",
        "genoviz_app.text",
    ]  # fmt: skip
    assert {name: sorted(found) for name, found in find_importers(modules).items()} == {
        "genoviz.io.bytes": ["genoviz.io.text"],
        "genoviz.io.read": ["genoviz", "genoviz_app.text"],
        "genoviz.io.text": ["genoviz.io.read"],
    }
    assert measure_rooms(tmp_path) == {
        "modules": 10,
        "modules loaded by name": 4,
        "lines": 12,
        "modules over 350 lines": 0,
        "modules with one importer": 2,
        "files in the largest folder": 4,
        "times that one file name stands": 2,
        "arguments of a function of arrays": 2,
        "arguments of a launch on a GPU": 4,
    }
