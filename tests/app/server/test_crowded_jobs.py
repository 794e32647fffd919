"""Whatever many tabs do at once, each gets the answer to its last question, and nothing is left."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from genoviz.errors import GenovizError
from genoviz_app.opening.files import FileCache, OpeningProgress
from genoviz_app.opening.index_files import MadeOnce
from genoviz_app.opening.memory import MEMORY
from genoviz_app.parts.questions import Question
from genoviz_app.server import jobs
from genoviz_app.server.jobs import JobPool, JobState
from genoviz_app.server.limits import Limits, Quota
from genoviz_app.session.session import Session
from tests.waiting import PATIENCE, wait_until

N_TABS, N_ACTS = 8, 250
GROUP = Quota("plants", frozenset(), Limits(jobs=1))


class Content:
    """What is read from a file, or made of it."""


class Crowd:
    """Tabs that share two pools and two caches, and do what chance wants of them."""

    def __init__(self, folder, seed):
        self.chance = random.Random(seed)
        self.pools = [JobPool(f"crowd-{n}", n_threads=n, slice_seconds=0.001) for n in (1, 3)]
        self.files = FileCache(self.read, n_kept=2, estimate=lambda _: self.chance.choice((1, 9)))
        self.made = MadeOnce(self.make, holds_owner=False)
        self.paths = [folder / name for name in "abc"]
        for path in self.paths:
            path.touch()
        self.numbers = itertools.count()
        self.tabs = [Tab(self, GROUP if n % 2 else None) for n in range(N_TABS)]

    def read(self, _path):
        for _ in range(self.chance.randrange(3)):
            yield OpeningProgress("Reading")
        self.stumble()
        yield OpeningProgress("Ready", 1.0, Content())

    def make(self, _owner):
        for _ in range(self.chance.randrange(3)):
            yield OpeningProgress("Making")
        self.stumble()
        yield OpeningProgress("Ready", 1.0, Content())

    def stumble(self):
        """Fail now and then, expectedly or not."""
        error = self.chance.choice([None] * 8 + [GenovizError, ValueError, KeyboardInterrupt])
        if error is not None:
            raise error("by chance")

    def answer(self, number):
        """Return a number after some steps, for which files are read and things are made."""
        for _ in range(self.chance.randrange(5)):
            yield self.chance.choice((None, number))
            time.sleep(self.chance.choice((0, 0, 0.0005)))
        *_, content = yield from take_all(self.files.iter_read(self.chance.choice(self.paths)))
        yield from self.made.iter_make(content)
        self.stumble()
        return number

    def act(self):
        """Do one thing."""
        tab = self.chance.choice(self.tabs)
        kinds = [tab.ask] * 6 + [tab.question.drop, tab.pause, tab.resume, tab.reload]
        self.chance.choice([*kinds, *[tab.session.poll] * 6, FileCache.forget_all])()
        time.sleep(self.chance.choice((0, 0, 0, 0.001)))

    def close(self):
        """End all tabs and pools."""
        for tab in self.tabs:
            tab.session.close()
        for pool in self.pools:
            pool.close(PATIENCE)


def take_all(steps):
    """Yield for each step; return the steps."""
    taken = []
    for step in steps:
        taken.append(step)
        yield None
    return taken


class Tab:
    """A session with one question, reloaded now and then."""

    def __init__(self, crowd, quota):
        self.crowd, self.quota = crowd, quota
        self.begin()

    def begin(self):
        self.session, self.asked, self.answers = Session(quota=self.quota), None, []
        pool = self.crowd.chance.choice(self.crowd.pools)
        self.question = Question(self.session, "a question", self.answers.append, pool=pool)

    def ask(self):
        self.asked = next(self.crowd.numbers)
        self.session.problem = ""
        self.answers.clear()
        self.question.ask(self.crowd.answer, self.asked)

    def pause(self):
        if self.question.is_open:
            self.question._job.pause()

    def resume(self):
        if self.question.is_open:
            self.question._job.resume()

    def reload(self):
        self.session.close()
        self.begin()


@pytest.mark.parametrize("seed", range(6))
def test_each_tab_gets_the_answer_to_its_last_question(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(MEMORY, "total", 30)
    monkeypatch.setattr(MEMORY, "_claims", set())
    crowd = Crowd(tmp_path, seed)
    for _ in range(N_ACTS):
        crowd.act()
    for tab in crowd.tabs:
        tab.ask()

    def poll():
        for tab in crowd.tabs:
            tab.session.poll()

    wait_until(lambda: not any(tab.question.is_open for tab in crowd.tabs), poll)
    for tab in crowd.tabs:
        answered = tab.answers == [tab.asked] and not tab.session.problem
        failed = tab.answers == [] and tab.session.problem
        assert answered or failed, (tab.asked, tab.answers, tab.session.problem)
    assert any(tab.answers for tab in crowd.tabs)
    crowd.close()
    for pool in crowd.pools:
        assert (pool._lines, pool._current, pool.n_active) == ({}, {}, 0)
    assert (crowd.files._being_read, crowd.made._being_made) == (set(), set())


def test_a_job_whose_error_cannot_be_told_ends_and_its_thread_goes_on(monkeypatch, caplog):
    def fail(_error):
        raise ModuleNotFoundError("cupy")

    monkeypatch.setattr(jobs, "explain_gpu_failure", fail)
    pool = JobPool("crowd")
    error = ValueError("of a kernel")
    job = pool.submit((_ for _ in [1] if fail_with(error)), owner="one", title="a layout")
    assert job.wait(PATIENCE)
    assert (job.state, job.error) == (JobState.FAILED, error)
    after = pool.submit(iter([1]), owner="one")
    assert after.wait(PATIENCE)
    assert after.state is JobState.FINISHED
    assert "job 'a layout' failed" in caplog.text
    pool.close()


def fail_with(error):
    """Raise an error."""
    raise error
