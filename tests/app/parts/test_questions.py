"""A session answers questions and calls what waits when it is polled."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from genoviz.errors import ParameterError
from genoviz.generators import Progress
from genoviz_app.parts import questions
from genoviz_app.parts.questions import Question, Watched
from tests.app.conftest import poll_until
from tests.waiting import PATIENCE


@pytest.fixture
def answers():
    return []


@pytest.fixture
def question(session, answers):
    return Question(session, "a question", answers.append)


def yields_and_returns():
    yield 0.5
    yield None
    return "returned"


def yields_alone():
    yield "first"
    yield "last"


def reports():
    yield Progress("counting", 0.5)
    yield Progress("ready", 1.0, "result")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (lambda: "at once", "at once"),
        (yields_and_returns, "returned"),
        (yields_alone, "last"),
        (reports, "result"),
    ],
)
def test_an_answer_is_handed_over_by_the_session_alone(
    session, question, answers, answer, expected
):
    question.ask(answer)
    job = question._job
    assert job.wait(PATIENCE)
    assert (answers, question.is_open) == ([], True)
    session.poll()
    assert (answers, question.is_open, question.opening) == ([expected], False, None)
    session.poll()
    assert answers == [expected]


def test_all_that_is_yielded_is_handed_over_where_it_is_wanted(session, answers):
    seen = threading.Event()

    def steps():
        yield "first"
        assert seen.wait(PATIENCE)
        yield "last"

    question = Question(session, "a question", answers.append, takes_all=True)
    question.ask(steps)
    poll_until(session.poll, lambda: answers == ["first"])
    seen.set()
    poll_until(session.poll, lambda: not question.is_open)
    assert answers == ["first", "last"]


def test_progress_is_shown_until_the_answer_is_here(session, question, answers):
    may_end = threading.Event()

    def steps():
        yield Progress("counting", 0.25)
        assert may_end.wait(PATIENCE)
        yield Progress("ready", 1.0, 7)

    question.ask(steps)
    assert question.opening.text == "A question"
    poll_until(session.poll, lambda: question.opening.fraction == 0.25)
    assert (question.opening.text, answers) == ("Counting", [])
    may_end.set()
    poll_until(session.poll, lambda: not question.is_open)
    assert answers == [7]


def test_a_new_question_takes_the_place_of_the_one_before(session, question, answers):
    question.ask(lambda: "before")
    before = question._job
    question.ask(lambda: "after")
    poll_until(session.poll, lambda: answers)
    assert before.wait(PATIENCE)
    session.poll()
    assert answers == ["after"]


def test_what_goes_wrong_is_said_and_is_no_answer(session, question, answers):
    def fail():
        raise ParameterError("k is 0, needs to be 1 or more")

    question.ask(fail)
    poll_until(session.poll, lambda: session.problem)
    assert session.problem == "k is 0, needs to be 1 or more."
    assert (answers, question.is_open) == ([], False)


def test_a_question_that_is_dropped_closes_what_works_on_it(session, question, answers):
    is_closed = threading.Event()

    def endless():
        try:
            while True:
                yield 1
        finally:
            is_closed.set()

    question.ask(endless)
    poll_until(session.poll, lambda: question._job.n_snapshots > 0)
    question.drop()
    assert is_closed.wait(PATIENCE)
    session.poll()
    assert (answers, question.opening) == ([], None)


def test_what_waits_is_called_once_when_its_condition_holds(session):
    calls, is_due = [], False
    watched = Watched(session, lambda: calls.append(1), lambda: is_due)
    session.poll()
    is_due = True
    session.poll()
    assert not session.watched, "nothing waits before the start"
    is_due = False
    watched.start()
    watched.start()
    session.poll()
    assert (calls, watched.is_waiting) == ([], True)
    is_due = True
    session.poll()
    session.poll()
    assert (calls, watched.is_waiting) == ([1], False)
    watched.follow(session, "region", "unclear")
    session.param.update(unclear="x", region=None)
    watched.stop()
    session.poll()
    assert calls == [1]
    session.unclear = ""
    session.poll()
    assert calls == [1, 1]
    watched.start()
    session.close()
    assert not session.watched, "a closed tab waits for nothing"


def test_what_rests_is_called_after_the_last_request(session, monkeypatch):
    now, calls = [10.0], []
    monkeypatch.setattr(questions.time, "monotonic", lambda: now[0])
    watched = Watched(session, lambda: (calls.append(now[0]), watched.start(5.0)))
    watched.start(1.0)
    now[0] += 0.75
    watched.start(1.0)
    watched.start()  # leaves the rest as it is
    for _ in range(4):
        now[0] += 0.25
        session.poll()
    assert calls == [11.75]
    now[0] += 4.75
    session.poll()
    assert len(calls) == 1, "an act may wait again"
    now[0] += 0.25
    session.poll()
    assert len(calls) == 2


def test_what_is_of_a_hidden_view_waits_until_it_is_shown(session):
    calls, view = [], SimpleNamespace(is_shown=False)
    Watched(session, lambda: calls.append(1), view=view).start()
    session.poll()
    assert calls == []
    view.is_shown = True
    session.poll()
    session.poll()
    assert calls == [1]
