"""Compiled code that is stored is compiled anew when what it calls has changed."""

from __future__ import annotations

from tests.conftest import ROOT
from tests.stamps import Stamps

SOURCES = {
    "genoviz/__init__.py": "",
    "genoviz/bits.py": "from numba import njit\n\n\n@njit\ndef count(x):\n    return x\n",
    "genoviz/sums.py": (
        "from genoviz.bits import count\nfrom numba import njit\n\n\n"
        "@njit(cache=True)\ndef add(x):\n    return count(x) + 1\n"
    ),
    "genoviz/uses.py": (
        "from genoviz.sums import add\nfrom numba import njit\n\n\n"
        "@njit(cache=True)\ndef twice(x):\n    return 2 * add(x)\n"
    ),
    "genoviz/plain.py": "from genoviz.sums import add\n\n\ndef thrice(x):\n    return 3 * add(x)\n",
}


def test_every_file_tells_of_what_its_compiled_functions_call():
    stale = [path.relative_to(ROOT).as_posix() for path in Stamps().stale()]
    assert stale == [], "run: make stamps"
    assert len(Stamps().called) > 10


def test_a_change_reaches_all_files_that_lead_to_it(tmp_path):
    for name, text in SOURCES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    stamps = Stamps(tmp_path)
    assert [path.name for path in stamps.called] == ["sums.py", "uses.py"]
    assert [path.name for path in stamps.stale()] == ["sums.py", "uses.py"]
    stamps.write()
    assert stamps.stale() == []
    before = {path: path.read_text() for path in stamps.called}
    (tmp_path / "genoviz/bits.py").write_text(SOURCES["genoviz/bits.py"].replace("x\n", "x + 1\n"))
    stamps.write()
    after = {path: path.read_text() for path in stamps.called}
    assert all(before[path] != after[path] for path in before)
    assert (tmp_path / "genoviz/plain.py").read_text() == SOURCES["genoviz/plain.py"]
    (tmp_path / "genoviz/sums.py").write_text(SOURCES["genoviz/sums.py"].replace("count(x)", "x"))
    Stamps(tmp_path).write()
    assert "Compiled with" not in (tmp_path / "genoviz/sums.py").read_text()
