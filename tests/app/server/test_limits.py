"""Who is over a limit of the server is told so in a sentence, and nobody else notices."""

from __future__ import annotations

import gc
import itertools
import os
import sys
from types import SimpleNamespace

import pytest
from bokeh.document import Document
from panel.io.state import set_curdoc

from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.backend import limit_gpu_memory
from genoviz.cli.main import main
from genoviz.errors import FileFormatError
from genoviz.io.sequences.reader import read_sequences
from genoviz_app.opening.files import FileCache
from genoviz_app.opening.genome_files import Genome, OpenGenome
from genoviz_app.opening.graph_files import OpenGraph, iter_open_graph
from genoviz_app.opening.memory import MEMORY
from genoviz_app.pages.offtargets.search.query import OffTargetQuery, Pam, parse_guides
from genoviz_app.pages.offtargets.search.words import left_out_words
from genoviz_app.pages.offtargets.state import OffTargetState
from genoviz_app.parts import picker_fields
from genoviz_app.parts.picker_fields import may_take
from genoviz_app.server.jobs import JobPool, JobState
from genoviz_app.server.lab_file import read_lab
from genoviz_app.server.limits import GB, TAB, Limits, Quota
from genoviz_app.server.passwords import add_person
from genoviz_app.server.serving import offer_files
from genoviz_app.server.settings import SETTINGS, ServerSettings
from genoviz_app.session.session import Session
from tests.waiting import PATIENCE, wait_until

LAB = """
[server]
scheduler = "tcp://head:8786"
[files]
folders = ["graphs"]
[people]
passwords = "people.txt"
[groups.plants]
people = ["ada", "grace"]
folders = ["graphs"]
upload_megabytes = 2
memory_gigabytes = 3
jobs = 1
job_minutes = 5
rows = 70
[limits]
upload_megabytes = 20
tab_gigabytes = 2
gpu_gigabytes = 6
job_minutes = 60
rows = 1000
"""


@pytest.fixture
def settings(monkeypatch):
    """The settings of the server, as they were afterwards."""
    for name, value in vars(ServerSettings()).items():
        monkeypatch.setattr(SETTINGS, name, value)
    return SETTINGS


@pytest.fixture
def pool():
    pool = JobPool("test-limits", slice_seconds=0.005)
    yield pool
    pool.close()


@pytest.fixture
def tab():
    """What makes tabs, which end with the test."""
    tabs = []

    def make(**params):
        tabs.append(Session(**params))
        return tabs[-1]

    yield make
    for each in tabs:
        each.close()


def plants(**limits):
    return Quota("plants", frozenset({"ada", "grace"}), Limits(**limits))


# What a lab writes down.


def test_a_lab_writes_down_what_tabs_and_groups_may_take(tmp_path, settings):
    (tmp_path / "graphs").mkdir()
    add_person(tmp_path / "people.txt", "ada", "correct horse")
    (tmp_path / "lab.toml").write_text(LAB)
    offer_files(read_lab(tmp_path / "lab.toml"))
    assert settings.gpu_memory == 6 * GB
    assert settings.scheduler == "tcp://head:8786"
    assert settings.tab == Limits(20, 2, None, 60, 1000)
    quota = plants(
        upload_megabytes=2, memory_gigabytes=3, jobs=1, job_minutes=5, rows=70
    )  # fmt: skip
    assert settings.quota_of("ada") == quota
    assert settings.quota_of("eve") is None
    assert settings.limits_of("ada") == Limits(20, 2, None, 5, 70)
    assert settings.limits_of("eve") == settings.tab


def test_options_of_the_command_count_more_than_the_lab(monkeypatch):
    given = {}
    monkeypatch.setattr(
        "genoviz_app.server.serving.serve", lambda _files, **others: given.update(others)
    )
    command = "serve --tab-memory 4 --gpu-memory 5 --job-minutes 6 --rows 700"
    with pytest.raises(SystemExit, match=r"^0$"):
        main(command.split())
    assert given["gpu_gigabytes"] == 5
    of_lab = Limits(20, 2, None, 60, 1000)
    assert given["limits"].over(of_lab) == Limits(20, 4, None, 6, 700)
    assert Limits(rows=3).over(of_lab) == Limits(20, 2, None, 60, 3)


# Time.


def test_a_job_that_computes_too_long_is_ended_and_others_go_on(tab, pool):
    limited = tab(limits=Limits(job_minutes=0))
    job = limited.submit(itertools.count(), title="count", pool=pool)
    other = tab().submit(iter(range(1000)), title="count", pool=pool)
    assert job.wait(PATIENCE)
    assert other.wait(PATIENCE)
    assert (job.state, other.state) == (JobState.FAILED, JobState.FINISHED)
    assert str(job.error) == (
        "This was ended as it had computed for 0 minutes, and a job on this server may take no "
        "longer: ask for less, or have whoever runs it raise job_minutes."
    )
    assert job.snapshot == 0, "what it had found until then stays"


def test_time_that_a_job_waits_is_not_counted(pool):
    rests = itertools.repeat(None, 5)
    job = pool.submit(itertools.chain(rests, [1]), max_minutes=PATIENCE / 60)
    assert job.wait(PATIENCE)
    assert job.state is JobState.FINISHED


# Jobs at once.


def test_a_group_has_as_many_jobs_at_once_as_it_may(tab, pool):
    quota = plants(jobs=1)
    ada, grace, eve = tab(quota=quota), tab(quota=quota), tab()
    first = ada.submit(itertools.count(), title="layout", pool=pool)
    second = grace.submit(itertools.count(), title="layout", pool=pool)
    foreign = eve.submit(itertools.count(), title="layout", pool=pool)
    n_before = first.n_snapshots
    wait_until(lambda: first.n_snapshots > n_before + 3 and foreign.n_snapshots > 3)
    assert second.n_snapshots == 0
    for each in (ada, grace, eve):
        each.poll()
    assert (ada.waiting, eve.waiting) == ("", "")
    assert grace.waiting == "waiting for other jobs of the group plants"
    first.pause()
    wait_until(lambda: second.n_snapshots > 0)
    wait_until(lambda: "group" not in grace.waiting, grace.poll)
    first.resume()  # it came first
    wait_until(lambda: first.n_snapshots > n_before + 6)
    ada.close()
    n_before = second.n_snapshots
    wait_until(lambda: second.n_snapshots > n_before + 3)


def test_a_job_that_waits_for_its_group_can_be_taken_back(tab, pool):
    quota = plants(jobs=1)
    one, other = tab(quota=quota), tab(quota=quota)
    one.submit(itertools.count(), title="layout", pool=pool)
    job = other.submit(itertools.count(), title="layout", pool=pool)
    job.cancel()
    assert job.wait(PATIENCE)
    assert job.n_snapshots == 0


# Memory.


@pytest.fixture
def graphs(tmp_path, monkeypatch):
    """Graphs that are said to need 600 MB each, and what opens one in a tab."""
    FileCache.forget_all()
    gc.collect()
    monkeypatch.setattr(MEMORY, "total", 10 * GB)
    monkeypatch.setattr(MEMORY, "_claims", set())
    monkeypatch.setattr(
        "genoviz_app.opening.graph_files.GRAPHS._estimate", lambda _path: 600_000_000
    )
    for name in ("a", "b"):
        (tmp_path / f"{name}.gfa").write_text(f"S\t{name}\tACGT\n")

    def open_graph(tab, name, pool):
        job = tab.submit(
            iter_open_graph(tmp_path / f"{name}.gfa", title=name), title="x", pool=pool
        )
        assert job.wait(PATIENCE)
        if job.error is not None:
            raise job.error
        tab.opened = job.snapshot.opened
        return tab.opened

    return open_graph


def test_a_tab_may_take_its_share_of_memory_and_no_more(graphs, tab, pool):
    one, other = tab(limits=Limits(memory_gigabytes=1)), tab()
    assert isinstance(graphs(one, "a", pool), OpenGraph)
    assert graphs(one, "a", pool), "the same file again takes nothing"
    words = (
        r"^b\.gfa: needs about 600 MB of memory to be opened, and this tab has files of 600 MB "
        r"open of the 1 GB that it may have; open it in a tab of its own, or close files in this "
        r"one$"
    )
    with pytest.raises(FileFormatError, match=words):
        graphs(one, "b", pool)
    graphs(other, "b", pool)
    with pytest.raises(FileFormatError, match=words):  # though the server has it already
        graphs(one, "b", pool)
    one.opened = None
    graphs(one, "b", pool)


def test_the_tabs_of_a_group_share_their_memory(graphs, tab, pool):
    quota = plants(memory_gigabytes=1)
    ada, grace, eve = tab(quota=quota), tab(quota=quota), tab()
    graphs(ada, "a", pool)
    graphs(grace, "a", pool)
    graphs(eve, "b", pool)
    words = "the group plants has files of 600 MB open of the 1 GB .*; close files or tabs of"
    with pytest.raises(FileFormatError, match=words):
        graphs(grace, "b", pool)
    ada.close()
    grace.opened = None
    graphs(grace, "b", pool)


# Uploads.


def test_the_tabs_of_a_group_share_what_they_may_upload(monkeypatch, settings):
    told = []
    notifications = SimpleNamespace(error=lambda text, **_: told.append(text))
    monkeypatch.setattr(type(picker_fields.pn.state), "notifications", notifications)
    monkeypatch.setattr(settings, "quotas", (plants(upload_megabytes=1),))
    documents = [Document() for _ in range(3)]

    def upload(person, document, n_bytes):
        monkeypatch.setattr(picker_fields, "current_person", lambda: person)
        with set_curdoc(document):
            return may_take(None, n_bytes)

    assert upload("ada", documents[0], 600_000)
    assert not upload("grace", documents[1], 600_000)
    assert upload("eve", documents[2], 2_000_000)
    (sentence,) = told
    assert sentence.startswith("More than 1 MB were uploaded in the open tabs of the group plants")
    del documents[0]
    gc.collect()
    assert upload("grace", documents[0], 1)


# Rows.


def test_a_search_with_more_rows_than_it_may_have_keeps_some(tab, tmp_path):
    genome = tmp_path / "genome.fa"
    genome.write_text(">c\n" + "GATTACAGATTACAGATTACAGG" * 40 + "\n")
    planes = make_genome_planes(read_sequences(genome))
    query = OffTargetQuery(parse_guides("GATTACAGATTACAGATTAC")[:1], Pam("NGG"), 0, 0, 0)

    def search(rows):
        session = tab(limits=Limits(rows=rows))
        state = OffTargetState(session)
        state.genome = OpenGenome("", "genome", Genome(planes))
        state.run(query)
        wait_until(lambda: not state.is_searching, session.poll)
        assert session.problem == ""
        return len(state.result), left_out_words(state.result)

    words = "too many to keep all: 39 hits with 0 differences at most are listed and scored; "
    assert search(39) == (39, f"{words}1 more is counted")
    assert search(None) == (40, "")


def test_rows_are_what_a_page_can_show_unless_less_is_said(tab):
    assert tab().max_rows(20) == 20
    assert tab(limits=Limits(rows=5)).max_rows(20) == 5
    assert tab(limits=Limits(rows=50)).max_rows(20) == 20
    assert TAB.rows is None


# The GPU.


def test_the_gpu_has_a_budget_whether_or_not_it_is_used_yet(monkeypatch):
    monkeypatch.setenv("CUPY_GPU_MEMORY_LIMIT", "0")
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    limit_gpu_memory(6 * GB)
    assert os.environ["CUPY_GPU_MEMORY_LIMIT"] == "6000000000"
    limits = []
    cupy = SimpleNamespace(
        cuda=SimpleNamespace(is_available=lambda: True),
        get_default_memory_pool=lambda: SimpleNamespace(
            set_limit=lambda *, size: limits.append(size)
        ),
    )
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    limit_gpu_memory(5 * GB)
    assert limits == [5 * GB]
    cupy.cuda.is_available = lambda: False
    limit_gpu_memory(4 * GB)
    assert limits == [5 * GB]
