"""Tabs take turns: whoever asks little is answered, however much others ask."""

from __future__ import annotations

import asyncio
import json
import threading
from itertools import pairwise
from types import SimpleNamespace

import pytest

from genoviz_app.parts.file_button import WRITERS, hand_over, iter_content
from genoviz_app.parts.questions import Question
from genoviz_app.server import jobs
from genoviz_app.server import tab as tab_module
from genoviz_app.server.jobs import FILES, N_FILE_THREADS, JobPool, JobState
from genoviz_app.server.serving import StatusHandler
from genoviz_app.session.session import Session
from tests.waiting import PATIENCE, wait_until


@pytest.fixture
def make_session():
    sessions = []

    def make():
        sessions.append(Session())
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()


class Gate:
    """A step that stands until somebody lets it go on."""

    def __init__(self):
        self.entered, self.opened = threading.Event(), threading.Event()

    def stand(self):
        self.entered.set()
        assert self.opened.wait(PATIENCE)
        return "done"


@pytest.fixture
def make_gate():
    gates = []

    def make():
        gates.append(Gate())
        return gates[-1]

    yield make
    for gate in gates:
        gate.opened.set()


def ask(session, answer):
    """Ask a question; return a list that gets the answer."""
    answers = []
    question = Question(session, "a question", answers.append)
    question.ask(answer)
    return question, answers


def await_answer(session, answers):
    wait_until(lambda: answers, session.poll)
    return answers[0]


def test_a_question_is_answered_while_that_of_another_tab_stands_in_a_step(make_session, make_gate):
    gate = make_gate()
    slow, quick = make_session(), make_session()
    question, slow_answers = ask(slow, gate.stand)
    assert gate.entered.wait(PATIENCE)
    _, answers = ask(quick, lambda: "GATTACA")
    assert await_answer(quick, answers) == "GATTACA"
    assert question.is_open
    gate.opened.set()
    assert await_answer(slow, slow_answers) == "done"


def test_a_tab_with_many_questions_leaves_turns_to_others(make_session, make_gate):
    gates = [make_gate() for _ in range(3 * N_FILE_THREADS)]
    greedy, modest = make_session(), make_session()
    for gate in gates:
        ask(greedy, gate.stand)
    assert gates[0].entered.wait(PATIENCE)
    _, answers = ask(modest, lambda: "here")
    assert await_answer(modest, answers) == "here"
    assert [gate.entered.is_set() for gate in gates] == [True] + [False] * (len(gates) - 1)


def test_a_question_that_is_taken_back_frees_its_turn_at_the_next_slice(make_session):
    """However long the answer would have been, and in one thread for all."""
    pool, steps_done, is_closed = JobPool("test-turns"), [], threading.Event()

    def endless():
        try:
            while True:
                steps_done.append(1)
                yield len(steps_done)
        finally:
            is_closed.set()

    long = pool.submit(endless(), owner="one")
    wait_until(lambda: steps_done)
    long.cancel()
    assert is_closed.wait(PATIENCE)
    assert pool.submit(iter([1]), owner="two").wait(PATIENCE)
    assert long.state is JobState.CANCELLED
    pool.close()


def test_a_job_cancelled_in_a_step_ends_with_it_and_does_no_other(make_gate):
    pool, gate, others = JobPool("test-turns"), make_gate(), []

    def steps():
        yield gate.stand()
        others.append("another step")
        yield

    job = pool.submit(steps(), owner="one")
    assert gate.entered.wait(PATIENCE)
    job.cancel()
    after = pool.submit(iter([1]), owner="two")
    gate.opened.set()
    assert after.wait(PATIENCE)
    assert (job.state, others) == (JobState.CANCELLED, [])
    pool.close()


def test_owners_take_turns_and_not_their_jobs():
    """Ten jobs of one tab have as many slices as the one job of another."""
    pool, log = JobPool("test-turns", slice_seconds=0.0), []

    def steps(name):
        while len(log) < 100:
            log.append(name)
            yield 1

    with pool.changed:  # all are there before the first slice
        jobs = [pool.submit(steps("many"), owner="many") for _ in range(10)]
        jobs.append(pool.submit(steps("one"), owner="one"))
    assert all(job.wait(PATIENCE) for job in jobs)
    assert log[:100].count("one") == 50
    pool.close()


def test_jobs_of_one_owner_never_run_side_by_side():
    pool, within, most = JobPool("test-turns", n_threads=4, slice_seconds=0.0), [], []

    def steps():
        for _ in range(50):
            within.append(1)
            most.append(len(within))
            within.pop()
            yield 1

    with pool.changed:
        jobs = [pool.submit(steps(), owner="one") for _ in range(8)]
    assert all(job.wait(PATIENCE) for job in jobs)
    assert max(most) == 1
    pool.close()


def test_others_that_are_before_an_owner_are_counted(make_gate):
    gate, pool = make_gate(), JobPool("test-turns")
    running = pool.submit(iter(gate.stand, "done"), owner="one")
    assert gate.entered.wait(PATIENCE)
    pool.submit(iter([1]), owner="two", title="second")
    third = pool.submit(iter([1]), owner="three", title="third")
    assert [pool.count_others(owner) for owner in ("one", "two", "three")] == [0, 1, 2]
    assert [job.title for job in pool.active] == ["", "second", "third"]
    running.cancel()
    gate.opened.set()
    assert third.wait(PATIENCE)
    pool.close()


@pytest.fixture
def crowd(make_session, make_gate):
    """Gates that questions of as many tabs as there are threads stand at."""
    gates = [make_gate() for _ in range(N_FILE_THREADS)]
    for gate in gates:
        ask(make_session(), gate.stand)
    for gate in gates:
        assert gate.entered.wait(PATIENCE)
    return gates


def test_a_tab_says_for_how_many_others_it_waits(make_session, crowd, monkeypatch):
    monkeypatch.setattr(jobs, "PATIENCE", 0.0)
    late = make_session()
    _, answers = ask(late, lambda: "at last")
    wait_until(lambda: late.waiting, late.poll)
    assert late.waiting == f"waiting for {N_FILE_THREADS} other jobs"
    for gate in crowd:
        gate.opened.set()
    assert await_answer(late, answers) == "at last"
    wait_until(lambda: late.waiting == "", late.poll)


def test_a_tab_tells_for_whom_it_waits_once_a_second(make_session, monkeypatch):
    """Jobs of several tabs take turns: for how many others one waits changes at every slice."""
    session, told, now = make_session(), [], 0.0
    monkeypatch.setattr(tab_module, "time", SimpleNamespace(monotonic=lambda: now))
    session.param.watch(lambda event: told.append((now, event.new)), "waiting")
    for step in range(100):
        now = step / 25
        session._jobs = [SimpleNamespace(n_before=step % 3)]
        session.poll()
    session._jobs = []
    times = [moment for moment, _ in told]
    assert [words for _, words in told[:2]] == [
        "waiting for 1 other job",
        "waiting for 2 other jobs",
    ]
    assert len(told) == 4
    assert min(later - earlier for earlier, later in pairwise(times)) >= 1


def test_a_tab_that_waits_for_its_own_jobs_waits_for_no_others(make_session, crowd, monkeypatch):
    monkeypatch.setattr(jobs, "PATIENCE", 0.0)
    crowd[0].opened.set()
    own, second = Gate(), Gate()
    session = make_session()
    ask(session, own.stand)
    assert own.entered.wait(PATIENCE)
    ask(session, second.stand)
    session.poll()
    assert session.waiting == ""
    own.opened.set()
    second.opened.set()


def test_the_status_lists_jobs_without_names_of_files(make_session, crowd):
    """Whoever can ask for it learns how busy the server is, and not what others open."""
    session = make_session()
    session.open("/data/secret.gfa")
    question = Question(session, "association", lambda _: None)
    question.ask(lambda: None, title="association with a secret trait")
    written = []
    StatusHandler.get(SimpleNamespace(write=written.append))
    listed = [(job["title"], job["state"]) for job in written[0]["jobs"]]
    assert listed.count(("a question", "running")) == N_FILE_THREADS
    assert ("open a file", "waiting") in listed
    assert ("association", "waiting") in listed
    assert "secret" not in json.dumps(written)


def test_a_file_is_written_while_that_of_another_tab_stands_in_a_step(make_session, make_gate):
    gate, slow = make_gate(), make_session()
    steps = iter_content("slow.txt", lambda _path: gate.stand())
    job = slow.submit(steps, title="write a file", pool=WRITERS)
    assert gate.entered.wait(PATIENCE)
    taken, other = [], make_session()
    other.hand_over = lambda *file: taken.append(file)
    prepare = lambda: ("a.tsv", lambda path: path.write_text("a"))  # noqa: E731
    asyncio.run(hand_over(other, prepare))
    assert taken == [("a.tsv", b"a")]
    assert not job.has_ended


def test_the_threads_of_questions_outnumber_one():
    assert FILES.n_threads == N_FILE_THREADS > 1
