"""A short simulated day with few users; ``python -m tests.soak`` runs a long one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from genoviz.io.graph.gfa import read_gfa
from tests.conftest import ROOT
from tests.soak.day import share
from tests.soak.heavy import HEAVY, UNIT, Sizes, graph_of

KINDS = (
    "open a tab", "run a layout", "zoom a layout", "type a k-mer", "drag tracks", "see a page",
    *HEAVY,
)  # fmt: skip


@pytest.mark.timeout(1200)
def test_people_work_while_files_change_and_processes_die():
    short = ("--minutes", "0.05", "--people", "4", "--bases", "50000", "--share", "100")
    command = [sys.executable, "-m", "tests.soak", *short]
    day = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert day.returncode == 0, day.stdout + day.stderr
    assert "errors: 0, in the log: 0" in day.stdout
    for kind in KINDS:
        assert kind in day.stdout, f"nobody did: {kind}"


def test_a_share_is_a_percentile():
    assert share([3.0], 95) == 3
    assert share(list(range(101)), 95) == 95


def test_what_is_uploaded_is_a_graph_of_that_size(tmp_path):
    (tmp_path / "a.gfa").write_bytes(graph_of(200_000))
    graph = read_gfa(tmp_path / "a.gfa")
    assert (graph.n_nodes, graph.n_edges, graph.n_paths) == (20, 19, 1)
    assert abs(len(graph_of(200_000)) - 200_000) < 1000


def test_each_site_of_a_repeat_is_one_guide():
    """So the number of hits is known."""
    other = UNIT[::-1].translate(str.maketrans("ACGT", "TGCA"))
    turns = {UNIT[at:] + UNIT[:at] for at in range(len(UNIT))}
    assert len(turns) == len(UNIT)
    assert other not in turns
    assert Sizes().over(100).rows == 100_000
