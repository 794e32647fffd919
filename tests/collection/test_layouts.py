"""Layouts of a collection, against each graph laid out alone."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from genoviz.analyses.graph.layout.multilevel import multilevel_layout
from genoviz.analyses.graph.layout.stress import sampled_path_stress
from genoviz.analyses.simulation.graphs import simulate_pangenome
from genoviz.backend import cuda_is_available
from genoviz.collection.layouts import iter_layout_collection, layout_collection
from genoviz.collection.members import read_collection
from genoviz.collection.reading import read_member
from genoviz.collection.records import LayoutPlan, find_layout_files
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.io.graph.lay import read_lay
from tests.conftest import ROOT, count_gpus, real_data
from tests.waiting import PATIENCE

SIZES = {"chr1": 400, "chr2": 300, "chr3": 200}
ONE_THREAD = LayoutPlan(options={"n_rounds": 4, "seed": 3, "n_threads": 1}, stress_samples=20_000)


@pytest.fixture
def genome(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("genome").mkdir()
    for seed, (name, n_nodes) in enumerate(SIZES.items()):
        graph = simulate_pangenome(n_nodes, 6, seed=seed, contig=name)
        write_gfa(graph, f"genome/{name}.gfa")
    return read_collection("genome")


def lay_out(collection, plan=ONE_THREAD, folder="layouts", **options):
    return layout_collection(collection, folder, plan, backend="cpu", **options)


def check_alone(collection, layouts):
    """Each layout is to the bit that of its graph alone, and so is its stress."""
    for member, found in zip(collection, layouts, strict=True):
        graph = read_member(member, cache=False)
        alone = multilevel_layout(graph, backend="cpu", **ONE_THREAD.options)
        np.testing.assert_array_equal(read_lay(found.path).coordinates, alone.coordinates)
        stress = sampled_path_stress(graph, alone, n_samples=20_000, seed=3, backend="cpu")
        assert (found.stress, found.stress_low) == (stress.mean, stress.ci_low)
        assert (found.n_nodes, found.n_steps) == (graph.n_nodes, graph.n_steps)
        assert (found.length, found.problem) == (graph.total_length, "")


@pytest.mark.parametrize("n_workers", [1, 2, 5])
def test_each_is_laid_out_as_alone(genome, n_workers):
    layouts = lay_out(genome, n_workers=n_workers)
    assert [each.name for each in layouts] == list(SIZES)
    assert all(each.is_new for each in layouts)
    check_alone(genome, layouts)


def test_parts_of_a_file_too(genome):
    path = real_data("gbz/micb-kir3dl1.gbz")
    collection = read_collection(path)
    layouts = lay_out(collection)
    assert [each.path.name for each in layouts] == ["chr6.lay", "chr19.lay"]
    check_alone(collection, layouts)
    assert not any(each.is_new for each in lay_out(collection))


def test_the_largest_comes_first_and_the_share_rises(genome):
    seen = list(iter_layout_collection(genome, "layouts", ONE_THREAD, backend="cpu"))
    order = [each.name for each in seen if each.name]
    assert list(dict.fromkeys(order)) == ["chr1", "chr2", "chr3"]
    shares = [each.share for each in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert {each.stage for each in seen} >= {"Reading", "Layout", "Path stress"}
    assert len(seen[-1].layouts) == seen[-1].n_members == 3


def test_what_is_done_is_not_done_again(genome):
    first = lay_out(genome)
    states = {path: path.stat().st_mtime_ns for path in Path("layouts").glob("*.lay")}
    again = lay_out(genome)
    assert again == tuple(replace(each, is_new=False) for each in first)
    assert states == {path: path.stat().st_mtime_ns for path in Path("layouts").glob("*.lay")}
    # How many threads there are beyond one changes no plan, a seed does, and so does one thread.
    many = replace(ONE_THREAD, options=dict(ONE_THREAD.options, n_threads=2))
    assert all(each.is_new for each in lay_out(genome, many))
    more = replace(ONE_THREAD, options=dict(ONE_THREAD.options, n_threads=None))
    assert not any(each.is_new for each in lay_out(genome, more))
    other = replace(ONE_THREAD, options=dict(ONE_THREAD.options, n_threads=2, seed=4))
    assert all(each.is_new for each in lay_out(genome, other))


def test_a_moved_folder_keeps_its_layouts(genome):
    lay_out(genome)
    Path("lab").mkdir()
    Path("genome").rename("lab/graphs")
    Path("layouts").rename("lab/layouts")
    moved = read_collection("lab/graphs")
    assert not any(each.is_new for each in lay_out(moved, folder="lab/layouts"))
    Path("lab/graphs/chr1.gfa").write_bytes(Path("lab/graphs/chr2.gfa").read_bytes())
    again = lay_out(read_collection("lab/graphs"), folder="lab/layouts")
    assert [each.is_new for each in again] == [True, False, False]


def cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def swap_letter(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("layouts/chr2.lay", Path.unlink),
        ("layouts/chr2.lay", cut),
        ("layouts/chr2.lay", swap_letter),
        ("layouts/chr2.json", Path.unlink),
        ("layouts/chr2.json", cut),
        ("layouts/chr2.json", lambda path: path.write_text("[]")),
        ("genome/chr2.gfa", lambda path: path.write_text(path.read_text() + "# more\n")),
    ],
)
def test_what_is_no_more_what_it_was_is_done_again(genome, name, spoil):
    first = lay_out(genome)
    spoil(Path(name))
    again = lay_out(genome)
    assert [each.is_new for each in again] == [False, True, False]
    assert again[1].stress == first[1].stress
    check_alone(genome, again)


def test_one_that_fails_is_told_and_the_others_are_done(genome):
    Path("genome/chr1.gfa").write_text("S\t1\tACGT\nL\t1\t+\t2\n")
    layouts = lay_out(genome)
    assert layouts[0].problem.startswith("chr1.gfa, line 2: link has 4 fields, needs")
    assert [bool(each.problem) for each in layouts] == [True, False, False]
    assert not Path("layouts/chr1.lay").exists()
    lines = Path("layouts/layouts.tsv").read_text().splitlines()
    rows = list(csv.DictReader(lines, delimiter="\t"))
    assert [row["name"] for row in rows] == list(SIZES)
    assert (rows[0]["problem"], rows[0]["stress"]) == (layouts[0].problem, ".")
    assert (rows[1]["problem"], rows[1]["nodes"]) == ("", "300")
    assert float(rows[1]["stress"]) == pytest.approx(layouts[1].stress, rel=1e-5)
    summary = json.loads(Path("layouts/layouts.json").read_text())
    assert [row["steps"] for row in summary["layouts"]] == [None, *(e.n_steps for e in layouts[1:])]
    # It is tried again, and once it is whole it is done.
    write_gfa(simulate_pangenome(50, 3, contig="chr1"), "genome/chr1.gfa")
    assert [each.is_new for each in lay_out(genome)] == [True, False, False]


def test_an_error_that_nobody_foresaw_is_of_one_graph(genome, monkeypatch):
    def fail(graph, *_, **__):
        if graph.n_nodes == SIZES["chr2"]:
            raise ZeroDivisionError("by nothing")
        return graph

    monkeypatch.setattr("genoviz.collection.one_layout.graph_to_measure", fail)
    layouts = lay_out(genome)
    assert layouts[1].problem == "an error that should not be: ZeroDivisionError: by nothing"
    assert [bool(each.problem) for each in layouts] == [False, True, False]


def test_a_graph_that_changes_meanwhile_is_not_kept(genome, monkeypatch):
    def change(graph):
        if graph.n_nodes == SIZES["chr2"]:
            path = Path("genome/chr2.gfa")
            path.write_text(path.read_text() + "# more\n")
        return graph

    monkeypatch.setattr("genoviz.collection.one_layout.graph_to_measure", change)
    layouts = lay_out(genome)
    assert layouts[1].problem == "chr2.gfa: changed while it was laid out; do that again"
    assert not Path("layouts/chr2.lay").exists()


def test_a_method_paths_and_no_stress(genome):
    plan = LayoutPlan("path-sgd", {"n_iterations": 2}, ("REFA",), 0)
    layouts = lay_out(genome, plan)
    assert [each.stress for each in layouts] == [None] * 3
    assert {each.problem for each in layouts} == {""}
    with pytest.raises(ParameterError, match="method is 'odgi', needs one of multilevel, path-sgd"):
        LayoutPlan("odgi")


def test_names_become_names_of_files(genome):
    Path("list.toml").write_text(
        "[graphs]\n"
        + "".join(f'"{name}" = "genome/chr3.gfa"\n' for name in ("a/b", "a:b", "A_b", "..", ".x"))
    )
    files = find_layout_files(read_collection("list.toml"), "out")
    assert [path.name for path in files.values()] == [
        "a_b.lay", "a_b-2.lay", "A_b-3.lay", "_.lay", "x.lay",
    ]  # fmt: skip


def test_wrong_options_are_refused(genome):
    with pytest.raises(ParameterError, match="n_workers is 0, needs at least 1"):
        lay_out(genome, n_workers=0)
    with pytest.raises(ParameterError, match="devices are numbers of GPUs"):
        lay_out(genome, devices=[0])
    Path("file").write_text("")
    with pytest.raises(FileFormatError, match="file: is a file, needs to be a folder"):
        lay_out(genome, folder="file")


DYING = """
import os, signal, time
from genoviz.collection import layouts
from genoviz.cli.main import main
from genoviz.io.files.replace_file import replace_file

write = layouts.write_lay

def write_half(layout, path):
    if path.name == "chr2.lay":
        with replace_file(path) as file:
            file.write(b"half of it")
            file.flush()
            os.kill(os.getpid(), signal.{signal})
            while True:  # until the process ends, whichever thread hears the signal
                time.sleep(1)
    write(layout, path)

layouts.write_lay = write_half
main("layout --all genome -o layouts --threads 1 --rounds 4 --seed 3 --stress-samples 20000 "
     "--backend cpu --workers {workers}".split())
"""


@pytest.mark.parametrize(("signal", "workers", "code"), [("SIGKILL", 1, -9), ("SIGTERM", 2, 143)])
def test_a_killed_process_loses_what_it_was_at(genome, signal, workers, code):
    program = DYING.format(signal=signal, workers=workers)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=environment, timeout=PATIENCE, check=False, capture_output=True,
    )  # fmt: skip
    assert ended.returncode == code, ended.stderr.decode()
    assert not Path("layouts/chr2.lay").exists()
    if signal == "SIGTERM":
        assert not list(Path("layouts").glob(".*"))
        assert b"terminated by SIGTERM" in ended.stderr
    done = {path.stem for path in Path("layouts").glob("chr*.json")}
    assert done >= {"chr1"} if workers == 1 else "chr2" not in done
    plan = LayoutPlan(
        options={
            "eps": 0.1, "initialisation": "d", "seed": 3, "n_threads": 1, "n_rounds": 4,
        },
        stress_samples=20_000,
    )  # fmt: skip
    layouts = lay_out(genome, plan)
    assert {each.name for each in layouts if not each.is_new} == done
    assert not list(Path("layouts").glob(".*"))  # what was half-written is gone
    check_alone(genome, layouts)


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_is_available(), reason="no NVIDIA GPU can be used here")
def test_each_gpu_has_graphs_of_its_own(genome):
    devices = list(range(count_gpus()))
    layouts = layout_collection(genome, "layouts", devices=devices, backend="cuda")
    assert [each.problem for each in layouts] == [""] * 3
    for member, found in zip(genome, layouts, strict=True):
        graph = read_member(member, cache=False)
        alone = multilevel_layout(graph, backend="cpu")
        stress = sampled_path_stress(graph, alone, backend="cpu").mean
        assert found.stress < 2 * stress
        again = sampled_path_stress(graph, read_lay(found.path), backend="cpu")
        assert again.ci_low <= found.stress <= again.ci_high
    with pytest.raises(ParameterError, match="needs numbers of GPUs"):
        layout_collection(genome, "layouts", devices=[99], backend="cuda")
