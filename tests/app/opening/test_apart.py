"""Files are opened in processes of their own, which may die without a word of harm to others."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import forkserver
from pathlib import Path

import numpy as np
import pytest

from genoviz.errors import FileFormatError, GenovizError, ParameterError
from genoviz.io.files.reading_rules import RULES
from genoviz.samples import get_sample
from genoviz_app.opening import apart
from genoviz_app.opening.apart import READERS, iter_apart
from genoviz_app.opening.files import FileCache
from genoviz_app.opening.genome_files import iter_read_genome
from genoviz_app.opening.genotype_files import _iter_genotypes
from genoviz_app.opening.graph_files import GRAPHS, _iter_graph
from genoviz_app.opening.track_data import iter_read_track
from genoviz_app.session.session import Session
from tests.app.opening.odd_readers import (
    die,
    die_at_the_end,
    die_while_saving,
    fail,
    go_on,
    rules,
    take_memory,
)
from tests.conftest import ROOT
from tests.waiting import PATIENCE, wait_until

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="processes are forked and limited on Linux alone"
)


@pytest.fixture(scope="module", autouse=True)
def _readers():
    READERS.start()
    yield
    READERS.are_apart = False


@pytest.fixture(autouse=True)
def _cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    FileCache.forget_all()


def finish(steps):
    """Return what was opened, and all texts of the progress."""
    texts = []
    for progress in steps:
        if progress is None:
            time.sleep(0.001)
        else:
            texts.append(progress.text)
            last = progress
    return last.opened, texts


def same(one, other):
    """Compare what two readers made, arrays by values and types, all else by equality."""
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif dataclasses.is_dataclass(one):
        for field in dataclasses.fields(one):
            same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            same(*pair)
    else:
        assert one == other


def write_vcf(path):
    head = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\n"
    rows = (f"1\t{k}\tv{k}\tA\tC\t.\t.\t.\tGT\t0/1\t1/1\n" for k in range(1, 50))
    path.write_text(head + "".join(rows))
    return path


@pytest.mark.parametrize("name", ["graph", "track", "genome", "genotypes"])
def test_what_comes_back_is_what_the_reader_made(name, tmp_path):
    steps, path = {
        "graph": lambda: (_iter_graph, get_sample("simulated")),
        "track": lambda: (iter_read_track, get_sample("exons")),
        "genome": lambda: (iter_read_genome, get_sample("genome")),
        "genotypes": lambda: (_iter_genotypes, write_vcf(tmp_path / "a.vcf")),
    }[name]()
    opened, texts = finish(iter_apart(steps, path))
    here, texts_here = finish(steps(path))
    same(opened, here)
    assert texts == texts_here


def test_arrays_of_the_cache_are_mapped_from_there(tmp_path):
    path = tmp_path / "a.gfa"
    path.write_text("".join(f"S\t{k}\tACGTACGTAC\n" for k in range(70_000)))
    parsed, _ = finish(iter_apart(_iter_graph, path))
    cached, texts = finish(iter_apart(_iter_graph, path))
    assert "Opening the saved graph" in texts
    same(cached.node_names, parsed.node_names)
    assert "graphs/a.gfa" in Path("/proc/self/maps").read_text()
    assert not any((tmp_path / "cache" / "snapshots").iterdir())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGBUS, signal.SIGSEGV, 0])
def test_a_process_that_dies_is_told_of_in_a_sentence(number):
    why = f"by {signal.Signals(number).name}" if number else "with code 3"
    words = f"the process that read it was ended {why}, as when memory runs out"
    with pytest.raises(FileFormatError, match=words):
        finish(iter_apart(die, Path(str(int(number)) if number else "none")))
    opened, _ = finish(iter_apart(_iter_graph, get_sample("simulated")))
    assert opened.n_nodes > 0


@pytest.mark.parametrize("moment", ["before", "amid"])
def test_what_was_not_sent_whole_is_not_opened(moment):
    with pytest.raises(FileFormatError, match=r"the process that read it was ended by SIGKILL"):
        finish(iter_apart(die_at_the_end, Path(moment)))


def test_what_was_sent_is_opened_though_its_process_is_killed_before_it_ends():
    opened, _ = finish(iter_apart(die_at_the_end, Path("after")))
    assert opened.tolist() == list(range(10))


def test_a_tab_hears_of_a_reader_that_is_killed_while_it_saves(monkeypatch, tmp_path):
    path = tmp_path / "a.gfa"
    path.write_text("".join(f"S\t{k}\tACGTACGTAC\n" for k in range(70_000)))
    with monkeypatch.context() as patch:
        patch.setattr(GRAPHS, "_iter_content", die_while_saving)
        one = Session()
        one.open(str(path))
        said = []
        one.graphs.param.watch(lambda event: said.append(event.new and event.new.text), "opening")
        wait_until(lambda: not one.graphs.is_opening, one.poll)
    assert "a.gfa: the process that read it was ended by SIGKILL" in one.problem
    assert said[-1] is None
    assert one.opened is None
    one.open(str(path))
    wait_until(lambda: not one.graphs.is_opening, one.poll)
    assert one.problem == ""
    assert one.opened.graph.n_nodes == 70_000
    one.close()


def test_a_process_takes_no_more_memory_than_it_may():
    taken, _ = finish(iter_apart(take_memory, Path("100"), max_bytes=300 << 20))
    assert taken.tolist() == [100]
    with pytest.raises(FileFormatError, match=r"400: needs more memory than .* server, 0.315 GB"):
        finish(iter_apart(take_memory, Path("400"), max_bytes=300 << 20))


def test_errors_are_those_of_the_reader():
    with pytest.raises(FileFormatError, match=r"^format, line 7: has none, needs one$") as found:
        finish(iter_apart(fail, Path("format")))
    assert (found.value.line, found.value.path) == (7, Path("format"))
    with pytest.raises(ParameterError, match=r"^k is 0, needs 1$"):
        finish(iter_apart(fail, Path("parameter")))
    with pytest.raises(GenovizError, match=r"Something unexpected went wrong \(RuntimeError\)"):
        finish(iter_apart(fail, Path("other")))


def test_who_gives_an_opening_up_ends_its_process():
    steps = iter_apart(go_on, Path("a"))
    while (progress := next(steps)) is None:
        pass
    pid = int(progress.text)
    steps.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_rules_of_the_server_hold_in_its_processes(monkeypatch):
    monkeypatch.setattr(RULES, "snapshots", True)
    monkeypatch.setattr(RULES, "max_ratio", 77)
    assert finish(iter_apart(rules, Path("a")))[0].all()


def test_readers_are_loaded_anew_when_their_process_is_gone():
    from multiprocessing import forkserver

    finish(iter_apart(_iter_graph, get_sample("simulated")))
    os.kill(forkserver._forkserver._forkserver_pid, signal.SIGKILL)
    opened, _ = finish(iter_apart(_iter_graph, get_sample("simulated")))
    assert opened.n_nodes > 0
    assert READERS.are_apart


def test_readers_are_loaded_when_they_could_not_be_at_first(monkeypatch):
    begin, n_refused = READERS.begin, 2

    def begin_at_the_third_time(function, *arguments):
        nonlocal n_refused
        if n_refused > 0:
            n_refused -= 1
            raise ConnectionResetError
        return begin(function, *arguments)

    monkeypatch.setattr(READERS, "begin", begin_at_the_third_time)
    READERS.reload()
    wait_until(lambda: READERS.are_loaded)
    assert n_refused == 0
    assert READERS.are_apart


def test_a_file_that_is_read_here_waits_for_no_other_process(monkeypatch):
    monkeypatch.setattr(READERS, "are_apart", False)
    monkeypatch.setattr(READERS, "_loading", threading.current_thread())
    assert not READERS.are_loaded
    assert next(iter_apart(_iter_graph, get_sample("simulated"))) is not None


def test_what_the_processes_are_forked_from_has_no_threads_of_libraries():
    """Threads that are not forked with the rest are waited for until the end of time."""
    script = (
        f"import sys, {apart.PRELOADED}\n"
        "print([name for name in ('polars', 'pyarrow', 'panel', 'cupy') if name in sys.modules])"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout == "[]\n"


def test_how_a_process_ended_is_known_though_another_one_starts(monkeypatch, tmp_path):
    """A start asks all processes how they ended, and each answer can be read once."""
    wait_until(lambda: READERS.are_loaded)
    begin, read_signed = READERS.begin, forkserver.read_signed
    is_asked, is_started = threading.Event(), threading.Event()

    def begin_and_kill(function, *arguments):
        process = begin(function, *arguments)
        os.kill(process.pid, signal.SIGKILL)
        monkeypatch.setattr(READERS, "begin", begin)
        monkeypatch.setattr(forkserver, "read_signed", read_slowly)
        return process

    def read_slowly(place):
        monkeypatch.setattr(forkserver, "read_signed", read_signed)
        others_wait = apart._STARTING.locked()
        is_asked.set()
        if not others_wait:
            is_started.wait(PATIENCE)
        return read_signed(place)

    def start_another():
        is_asked.wait(PATIENCE)
        READERS.begin(apart._do_nothing).join()
        is_started.set()

    monkeypatch.setattr(READERS, "begin", begin_and_kill)
    thread = threading.Thread(target=start_another)
    thread.start()
    with pytest.raises(FileFormatError, match="was ended by SIGKILL"):
        list(iter_apart(go_on, tmp_path / "x.gfa"))
    thread.join()


def test_one_tab_is_told_and_the_other_opens_its_file(monkeypatch, tmp_path):
    """The reader of one tab's file is killed, as by the system when memory is short."""
    from genoviz_app.opening import graph_files

    path = tmp_path / "large.gfa"
    path.write_text("".join(f"S\t{k}\tACGT\n" for k in range(1_000_000)))
    begun = []
    begin = READERS.begin

    def begin_and_note(function, *arguments):
        process = begin(function, *arguments)
        if path in arguments:
            begun.append(process)
            os.kill(process.pid, signal.SIGKILL)
        return process

    monkeypatch.setattr(READERS, "begin", begin_and_note)
    one, other = Session(), Session()
    try:
        one.open(str(path))
        other.open(str(get_sample("simulated")))

        def poll():
            one.poll()
            other.poll()

        wait_until(lambda: not one.graphs.is_opening and not other.graphs.is_opening, poll)
        assert "large.gfa: the process that read it was ended by SIGKILL" in one.problem
        assert other.opened.graph.n_nodes > 0
        assert graph_files.GRAPHS._being_read == set()
        assert len(begun) == 1
        assert threading.active_count() < 50
    finally:
        one.close()
        other.close()
