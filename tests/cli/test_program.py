from __future__ import annotations

import dataclasses
import errno
import importlib.metadata
import inspect
import json
import math
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
import types
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import genoviz
from genoviz import backend as backends
from genoviz.analyses.graph.layout.options import LayoutOptions
from genoviz.analyses.simulation.graphs import SIMULATION_PRESETS
from genoviz.cli import commands
from genoviz.cli import samples as simulate_command
from genoviz.cli.common_options import BackendName, spread_records
from genoviz.cli.graph import draw as draw_command
from genoviz.cli.graph import layout as layout_command
from genoviz.cli.main import main
from genoviz.cli.results import describe_stress, print_results, quantity
from genoviz.io.files import file_source
from genoviz.io.graph.cache import peek_sizes
from tests.conftest import ROOT, real_data
from tests.signals import hear_signals
from tests.waiting import PATIENCE

COMMANDS = [
    "layout",
    "stress",
    "draw",
    "similarity",
    "matrix",
    "presence",
    "growth",
    "simulate",
    "serve",
]
COMMANDS += ["samples", "samples get"]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def run(capsys):
    """Run a command; return its exit code, standard output and standard error."""

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return exit_.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def graph_path():
    return genoviz.get_sample("simulated")


def sentence(text):
    """Return an error message without the box that Typer draws around it."""
    return re.sub(r"[\s│╭╮╰╯─]+", " ", text)


def test_layout_is_written_measured_and_goes_on_from_a_file(run, graph_path, tmp_path):
    lay, tsv = tmp_path / "a.lay", tmp_path / "a.tsv.gz"
    code, out, err = run("layout", graph_path, "-o", lay, "--tsv", tsv, "--seed", 3)
    assert (code, err) == (0, "")
    assert out.startswith("3,500 nodes, ")
    assert f"wrote {lay}\nwrote {tsv}\npath stress by steps 0." in out
    layout = genoviz.read_layout(lay)
    np.testing.assert_allclose(genoviz.read_layout(tsv).coordinates, layout.coordinates, rtol=1e-15)

    _, out, _ = run("stress", graph_path, lay, "--json", "--samples", 20_000)
    measured = json.loads(out)
    assert 0 < measured["stress"]["ci_low"] < measured["stress"]["ci_high"] < 2
    assert measured["stress"]["n_terms"] + measured["stress"]["n_skipped"] == 20_000
    assert measured["graph"]["n_nodes"] == 3_500

    more = ["--start", tsv, "--first-iteration", 28, "--json", "--path", "REFA#0#chr1"]
    _, out, err = run("layout", graph_path, "-o", tmp_path / "b.lay", *more)
    again = json.loads(out)
    assert "nodes lie only on paths that do not guide and stay where they began" in err
    assert again["note"] in err
    assert again["options"]["first_iteration"] == 28
    assert again["n_updates"] < 3 * 10 * 3_500
    moved = genoviz.read_layout(tmp_path / "b.lay").coordinates - layout.coordinates
    assert np.median(np.abs(moved - np.median(moved, axis=0))) < 1_000


@pytest.mark.parametrize("options", [("layout", "-o", "x.lay"), ("layout", "--all", "-o", "all")])
def test_a_graph_that_was_laid_out_opens_in_the_dashboard_from_the_cache(
    run, options, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", "cache")
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    Path("g.gfa").write_text("S\t1\tACGT\nS\t2\tGG\nL\t1\t+\t2\t+\t0M\nP\tp\t1+,2+\t*\n")
    assert run(options[0], "g.gfa", *options[1:])[0] == 0
    # The page shows sequences, without which it would read the file again.
    source = file_source.find_source(Path("g.gfa"))
    assert peek_sizes(source, sequences=True) == (2, 2, 6)


def test_a_layout_from_coarse_to_fine_is_written_and_mended(run, graph_path, tmp_path):
    lay, options = tmp_path / "a.lay", ["--json"]
    code, out, err = run("layout", graph_path, "-o", lay, *options, "--quality", "converged")
    found = json.loads(out)
    assert (code, err) == (0, f"note: {found['note']}\n")
    assert found["method"] == "multilevel"
    assert found["options"] == {
        "eps": 0.1,
        "initialisation": "d",
        "seed": 0,
        "n_threads": None,
        "n_rounds": 12,
        "max_passes": 10,
    }
    assert "more: sampled stress 0." in found["note"]
    assert found["stress"]["mean"] < 0.2  # that of path-guided SGD is 0.245
    more = ["--start", lay, "--rounds", 4]
    _, out, _ = run("layout", graph_path, "-o", tmp_path / "b.lay", *options, *more)
    again = json.loads(out)
    assert again["stress"]["mean"] < 2 * found["stress"]["mean"]
    assert again["n_updates"] < found["n_updates"] / 6


def test_one_thread_and_one_seed_give_one_layout(run, graph_path, tmp_path):
    for name in ("a.lay", "b.lay"):
        options = ["--threads", 1, "--seed", 5, "--iterations", 3, "--stress-samples", 0]
        run("layout", graph_path, "-o", tmp_path / name, "--backend", "cpu", *options)
    assert (tmp_path / "a.lay").read_bytes() == (tmp_path / "b.lay").read_bytes()


def test_exact_stress_of_a_known_layout(run):
    graph = real_data("gfa/DRB1-3123.gfa.gz")
    code, out, _ = run("stress", graph, real_data("layouts/DRB1-3123_29.lay"), "--exact")
    first, second = out.splitlines()
    assert (code, first) == (0, "path stress by pairs 0.0691853 (exact, 205,880,013 terms)")
    assert second.startswith("torn joints 0 of 35,047, folds ")


def test_simulated_graph_is_written(run, tmp_path):
    path = tmp_path / "s.gfa"
    code, out, err = run("simulate", "-n", 2_000, "-p", 6, "--seed", 2, "-o", path)
    assert (code, err) == (0, "")
    assert out.endswith(f"wrote {path}\n")
    graph = genoviz.read_gfa(path, cache=False)
    assert (graph.n_nodes, graph.n_paths) == (2_000, 6)
    assert out.startswith(f"2,000 nodes, {graph.n_edges:,} edges, 6 paths, {graph.n_steps:,} steps")


def test_preset_gives_the_sizes_that_are_not_given(run, tmp_path):
    _, out, _ = run("simulate", "--preset", "small", "-p", 4, "--json", "-o", tmp_path / "s.gfa")
    assert json.loads(out)["graph"]["n_nodes"] == 5_000
    assert json.loads(out)["graph"]["n_paths"] == 4


def test_all_graphs_of_a_collection_are_laid_out(run, tmp_path):
    folder, layouts = tmp_path / "genome", tmp_path / "layouts"
    folder.mkdir()
    for name in ("chr1", "chr2"):
        run("simulate", "-n", 200, "-p", 4, "--contig", name, "-o", folder / f"{name}.gfa")
    options = ["--rounds", 4, "--threads", 1, "--seed", 5, "--backend", "cpu"]
    code, out, err = run("layout", "--all", folder, "-o", layouts, *options, "--workers", 2)
    assert (code, err) == (0, "")
    first, second, last = out.splitlines()
    assert re.fullmatch(r"chr1: 200 nodes, \d+ steps, laid out in .* s, path stress .*", first)
    assert (second[:5], last) == ("chr2:", f"wrote {layouts / 'layouts.tsv'}")
    run("layout", folder / "chr2.gfa", "-o", tmp_path / "alone.lay", *options)
    assert (layouts / "chr2.lay").read_bytes() == (tmp_path / "alone.lay").read_bytes()

    (folder / "chr3.gfa").write_text("S\t1\n")
    code, out, err = run("layout", "--all", folder, "-o", layouts, *options, "--json")
    assert code == 1
    assert "note: chr3: chr3.gfa, line 1: segment has" in err
    assert "1 of 3 graphs could not be laid out: chr3" in err
    rows = json.loads(out)["layouts"]
    assert [row["is_new"] for row in rows[:2]] == [False, False]
    assert [row["layout"] for row in rows] == ["chr1.lay", "chr2.lay", ""]
    assert json.loads(out)["files"][0] == str(layouts / "chr1.lay")


def test_a_genome_is_simulated_chromosome_by_chromosome(run, tmp_path):
    folder = tmp_path / "genome"
    code, out, err = run(
        "simulate", "--genome", "hprc-v1.1-mc", "--scale", "1e-5", "-o", folder, "--json"
    )
    assert (code, err) == (0, "")
    graphs = json.loads(out)["graphs"]
    assert list(graphs) == [f"chr{k}" for k in (*range(1, 23), "X", "Y")]
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{n}.gfa.gz" for n in graphs)
    graph = genoviz.read_gfa(folder / "chrX.gfa.gz", cache=False)
    assert graph.n_steps == graphs["chrX"]["n_steps"]
    assert graph.path_names[0] == "REFA#0#chrX"


def test_samples_are_listed_and_had(run):
    code, out, _ = run("samples")
    assert code == 0
    assert re.search(r"^simulated +125 kB  here ", out, re.MULTILINE)
    assert re.search(r"^drb1 +463 kB  to fetch +HLA-DRB1", out, re.MULTILINE)
    listed = json.loads(run("samples", "--json")[1])
    assert [sample["name"] for sample in listed["samples"]][:6] == [
        "simulated",
        "exons",
        "reads",
        "genome",
        "genotypes",
        "drb1",
    ]
    assert run("samples", "get", "simulated")[1] == f"{genoviz.get_sample('simulated')}\n"


def test_version_is_that_of_the_package(run):
    assert run("--version")[:2] == (0, f"genoviz {genoviz.__version__}\n")
    assert importlib.metadata.version("genoviz") == genoviz.__version__


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_examples_and_exit_is_zero(run, command):
    code, out, _ = run(*command.split(), "--help")
    assert code == 0
    assert f"genoviz {command} " in sentence(out).split("Examples")[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layout", "GRAPH"], "give -o or --tsv"),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--workers", "2"],
            "--workers and --scheduler need --all",
        ),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--devices", "0,0"],
            "--devices is '0,0', needs each GPU once",
        ),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--devices", "0,1", "--method", "path-sgd"],
            "--devices needs --method multilevel, or --all",
        ),
        (["layout", "--all", "GRAPH"], "--all needs -o with a folder, and neither --tsv nor"),
        (["layout", "--all", "GRAPH", "-o", "-"], "-o - is standard output, but --all writes a"),
        (
            ["layout", "--all", "GRAPH", "-o", "x", "--devices", "G0"],
            "--devices is 'G0', needs numbers of GPUs such as 0,1,2,3",
        ),
        (
            ["layout", "GRAPH", "-o", "x.png"],
            "-o x.png needs one of the endings .lay, .tsv (.tsv also with .gz)",
        ),
        (["layout", "GRAPH", "--tsv", "x.lay"], "--tsv x.lay needs one of the endings .tsv,"),
        (["layout", "GRAPH", "-o", "no/x.lay"], "there is no folder no"),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--iterations", "0"],
            "'--iterations': Input should be greater",
        ),
        (["layout", "GRAPH", "-o", "x.lay", "--backend", "tpu"], "'tpu' is not one of"),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--rounds", "9", "--method", "path-sgd"],
            "--rounds needs --method multilevel",
        ),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--rounds", "9", "--theta", "0.5"],
            "--theta is of --method path-sgd and --rounds of multilevel",
        ),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--rounds", "9", "--quality", "draft"],
            "give --quality or --rounds, not both",
        ),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--method", "multilevel", "--updates-per-step", "1"],
            "--updates-per-step needs --method path-sgd; see --quality",
        ),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--method", "multilevel", "--iterations", "9"],
            "--iterations needs --method path-sgd",
        ),
        (["stress", "GRAPH", "x.lay", "--exact", "--samples", "9"], "--exact takes all pairs"),
        (
            ["stress", "GRAPH", "x.lay", "--samples-per-step", "9", "--samples", "9"],
            "give --samples or --samples-per-step",
        ),
        (["simulate", "-n", "5", "-o", "x.gfa"], "give -n and -p, a --preset or a --genome"),
        (["simulate", "--scale", "0.1", "-o", "x.gfa"], "--scale needs a --genome"),
        (
            ["simulate", "--genome", "hprc-v2-mc", "-p", "9", "-o", "x"],
            "--genome has the sizes and contigs of its chromosomes; leave out -n, -p",
        ),
        (
            ["simulate", "--genome", "hprc-v2-mc", "-o", "-"],
            "-o - is standard output, but a genome is a folder of files",
        ),
        (["simulate", "-n", "5", "-p", "2", "-o", "no/x.gfa"], "there is no folder no"),
        (["paint"], "No such command 'paint'"),
    ],
)
def test_wrong_usage_exits_with_2(run, graph_path, arguments, message):
    code, out, err = run(*[graph_path if word == "GRAPH" else word for word in arguments])
    assert (code, out) == (2, "")
    assert message in sentence(err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layout", "no.gfa", "-o", "x.lay"], "no.gfa: there is no such file in "),
        (
            ["layout", "GRAPH", "-o", "x.lay", "--start", "no.lay"],
            "no.lay: there is no such file in",
        ),
        (["layout", "GRAPH", "-o", "x.lay", "--path", "z"], "no path is named 'z'; the graph has "),
        (["layout", "GRAPH", "-o", "x.lay", "--window", "3"], "window is 3, needs one of 1, 2, "),
        (["stress", "GRAPH", "GRAPH"], r"line 1: has 2 columns, needs 3 \(name, x, y\)"),
        (
            ["samples", "get", "drb2"],
            "no sample is named 'drb2'; there are simulated, exons, reads, genome, genotypes,",
        ),
        (["simulate", "-n", "5", "-p", "2", "--steps", "999", "-o", "x.gfa"], "n_steps is 999"),
    ],
)
def test_failure_is_one_sentence_and_exit_code_1(
    run, graph_path, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*[graph_path if word == "GRAPH" else word for word in arguments])
    assert (code, out) == (1, "")
    assert re.match(rf"genoviz: .*({message}).*\n\Z", err)
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "x.lay"),
            "x.lay: No space left on device",
        ),
        (MemoryError("1 TB"), "this needs more memory than the machine has (1 TB)"),
    ],
)
def test_machine_at_its_limits_is_said_in_one_sentence(
    run, graph_path, tmp_path, monkeypatch, error, message
):
    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr("genoviz.analyses.graph.layout.multilevel.iter_multilevel_layout", fail)
    code, _, err = run("layout", graph_path, "-o", tmp_path / "x.lay")
    assert (code, err) == (1, f"genoviz: {message}\n")


@pytest.fixture
def served(monkeypatch):
    """Calls of a dashboard that only remembers how it was called, or raises ``error``."""
    calls = types.SimpleNamespace(given=[], error=None)

    def serve(files, *, port, address, show, **others):
        if calls.error:
            raise calls.error
        calls.given.append((files, port, address, show, *others.items()))

    fake = types.SimpleNamespace(serve=serve)
    monkeypatch.setitem(sys.modules, "genoviz_app.server.serving", fake)
    return calls


def test_dashboard_is_served_with_the_given_options(run, served):
    assert run("serve")[0] == 0
    assert run("serve", "a.gfa", "b.gfa", "--port", 0, "--address", "::", "--no-browser")[0] == 0
    assert run("serve", "--prefix", "/lab", "--scheduler", "tcp://head:8786")[0] == 0
    assert served.given == [
        ([], 5006, "127.0.0.1", True),
        ([Path("a.gfa"), Path("b.gfa")], 0, "::", False),
        ([], 5006, "127.0.0.1", True, ("prefix", "/lab"), ("scheduler", "tcp://head:8786")),
    ]


def test_what_a_lab_writes_down_counts_unless_an_option_says_otherwise(run, served):
    lab = ("lab", Path("lab.toml"))
    assert run("serve", "--lab", "lab.toml")[0] == 0
    assert run("serve", "--lab", "lab.toml", "--port", 5006, "--host", "a", "--host", "b")[0] == 0
    assert served.given == [
        ([], None, None, True, lab),
        ([], 5006, None, True, ("hosts", ["a", "b"]), lab),
    ]


def test_a_person_is_added_to_the_file_that_the_lab_names(run, served, tmp_path, monkeypatch):
    pytest.importorskip("panel")
    monkeypatch.setattr("typer.prompt", lambda *_args, **_options: "correct horse")
    lab = tmp_path / "lab.toml"
    lab.write_text("[people]\npasswords = 'people.txt'\n")
    assert run("serve", "--lab", lab, "--add-person", "ada")[0] == 0
    assert (tmp_path / "people.txt").read_text().startswith("ada:$scrypt$")
    code, _, err = run("serve", "--add-person", "ada")
    assert (code, "--add-person needs --lab" in err, served.given) == (1, True, [])


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            ModuleNotFoundError("No module named 'panel'", name="panel"),
            "pip install 'genoviz[app]'",
        ),
        (OSError(errno.EADDRINUSE, "Address already in use"), "port 5006 is taken; give another"),
    ],
)
def test_dashboard_that_cannot_be_served_says_why(run, served, error, message):
    served.error = error
    code, _, err = run("serve")
    assert code == 1
    assert message in err


def test_defaults_are_those_of_the_library():
    parameters = inspect.signature(spread_records(layout_command.layout)).parameters
    names = {"n_iterations": "iterations", "n_threads": "threads"}
    for field in dataclasses.fields(LayoutOptions):
        assert parameters[names.get(field.name, field.name)].default == field.default
    assert tuple(BackendName) == backends.BACKENDS
    assert tuple(simulate_command.Preset) == tuple(SIMULATION_PRESETS)


def test_a_list_of_commands_imports_none_of_them_and_a_command_its_own_module():
    script = (
        "import sys; from genoviz.cli.main import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: print(*sorted(sys.modules), file=sys.stderr)"
    )

    def imported(*arguments):
        done = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, check=True
        )
        return set(done.stderr.decode().split()) & (modules | heavy)

    heavy = {"numpy", "numba", "pooch", "requests", "panel", "cupy", "genoviz_app"}
    modules = set(re.findall(r'"(genoviz\.cli\.[\w.]+)"', Path(commands.__file__).read_text()))
    assert len(modules) > 12
    assert imported("--help") == set()
    assert imported("bwt", "--help") == set()
    assert imported("bwt", "count", "--help") == {"genoviz.cli.sequences.bwt_queries"}


def test_progress_shows_rate_and_time_left_and_ctrl_c_leaves_nothing(graph_path, tmp_path):
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "genoviz", "layout", str(graph_path), "-o", "x.lay"]
    process = subprocess.Popen(
        [*command, "--iterations", "100000"],
        cwd=tmp_path,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=slave,
        preexec_fn=hear_signals,
    )
    os.close(slave)
    is_complete = re.compile(r"Layout .* 0 % .*M updates/s \d+:\d\d:\d\d")
    shown = ""
    interrupted = False
    deadline = time.monotonic() + PATIENCE
    # What the terminal shows is read to the end, or the process would wait for somebody to read it.
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.1)[0]:
            try:
                shown += re.sub(r"\x1b\[[?\d;]*\w", "", os.read(master, 1 << 16).decode("latin1"))
            except OSError:
                break
        if not interrupted and is_complete.search(shown):
            process.send_signal(signal.SIGINT)
            interrupted = True
    os.close(master)
    try:
        out, _ = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert interrupted, shown
    assert (process.returncode, out) == (130, b"")
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == []


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "B", "0 B"),
        (999.4, "B", "999 B"),
        (999.9, "B", "1 kB"),
        (61.7e6, "updates", "61.7 M updates"),
        (3e12, "B", "3 TB"),
    ],
)
def test_quantities_have_three_digits(value, unit, text):
    assert quantity(value, unit) == text


def test_json_has_no_number_that_is_not_finite(capsys):
    stress = genoviz.PathStress(math.nan, math.nan, math.nan, math.inf, 0, 3, True)
    print_results({"stress": stress, "list": [(1, math.nan)]}, [], as_json=True)
    read = json.loads(capsys.readouterr().out)
    assert read["stress"]["mean"] is None
    assert read["list"] == [[1, None]]
    assert describe_stress(stress).startswith("path stress: none")


@pytest.mark.parametrize(
    ("command", "line", "stages"),
    [
        (
            simulate_command,
            "simulate -n 500 -p 4 -o x.gfa",
            {"Growing sites", "Writing paths", "Done", "Writing"},
        ),
        (draw_command, "draw GRAPH x.lay -o x.png", {"Drawing"}),
    ],
)
def test_each_stage_has_a_percentage(graph_path, tmp_path, monkeypatch, command, line, stages):
    graph = genoviz.read_gfa(graph_path)
    genoviz.write_layout(genoviz.path_sgd_layout(graph, n_iterations=1), tmp_path / "x.lay")
    monkeypatch.chdir(tmp_path)
    shown = []
    bar = types.SimpleNamespace(update=lambda *report: shown.append(report))
    monkeypatch.setattr(command, "show_progress", lambda: nullcontext(bar))
    with pytest.raises(SystemExit) as end:
        main(line.replace("GRAPH", str(graph_path)).split())
    assert not end.value.code
    assert stages <= {stage for stage, *_ in shown}
    assert all(n_total is not None and n_done <= n_total for _, n_done, n_total, _ in shown)


def test_objects_of_libraries_are_not_looked_through_at_the_end():
    program = (
        "import atexit, gc\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 10_000, gc.is_tracked([])))\n"
        "from genoviz.cli.main import main\n"
        "main(['--version'])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"genoviz {genoviz.__version__}\nTrue True\n"
