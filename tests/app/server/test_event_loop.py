"""The event loop's lag is what a request that comes at any time has to wait."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref

import numpy as np
import pytest

from genoviz_app.server.event_loop import (
    MIDDLE,
    NEVER,
    YOUNG,
    Lag,
    LoopLag,
    Turns,
    collect_if_due,
    collect_seldom,
    collections_put_off,
)
from genoviz_app.server.quick_models import keep_what_is_loaded
from tests.waiting import PATIENCE


def test_nothing_measured_is_no_lag():
    assert LoopLag().measure() == Lag(0.0, 0.0, 0.0)


def test_a_long_hold_counts_for_each_moment_that_fell_into_it():
    """Against requests that come every millisecond to a loop that was held thrice."""
    lag, holds, tick = LoopLag(tick_seconds=0.1), [0.45, 2.0, 0.06], 0.1
    for hold in holds:
        for _ in range(20):
            lag.note(0.0)
        lag.note(hold)
    waits = np.concatenate([np.zeros(60 * 100), *(np.arange(0, hold, 0.001) for hold in holds)])
    found = lag.measure()
    assert found.longest == 2.0
    assert found.p50 == pytest.approx(np.percentile(waits, 50), abs=tick)
    assert found.p99 == pytest.approx(np.percentile(waits, 99), abs=tick)


def test_what_is_long_ago_is_forgotten():
    lag = LoopLag(tick_seconds=0.1)
    lag.note(9.0)
    for _ in range(3000):
        lag.note(0.0)
    assert lag.measure().longest == 0.0


def test_a_loop_that_is_held_is_late():
    lag = LoopLag(tick_seconds=0.01)

    async def hold():
        lag.start()
        lag.start()
        end = time.monotonic() + PATIENCE
        while lag.measure().longest < 0.2 and time.monotonic() < end:
            await asyncio.sleep(0.02)
            time.sleep(0.25)  # as a callback that computes

    asyncio.run(hold())
    assert lag.measure().longest >= 0.2


def test_turns_come_one_by_one_with_everything_else_between():
    turns, done = Turns(), []

    async def work():
        def piece(name):
            done.append(name)
            asyncio.get_running_loop().call_soon(done.append, "else")

        turns.take(lambda: piece("a"))
        turns.take(lambda: piece("b"))
        async with asyncio.timeout(PATIENCE):
            await turns.wait()
        done.append("last")

    asyncio.run(work())
    assert done == ["a", "else", "b", "else", "last"]


def test_a_turn_that_fails_or_is_given_up_does_not_stop_the_others(caplog):
    turns = Turns()

    async def work():
        given_up = asyncio.create_task(turns.wait())
        await asyncio.sleep(0)
        given_up.cancel()
        turns.take(lambda: 1 / 0)
        async with asyncio.timeout(PATIENCE):
            await turns.wait()
        return given_up

    assert asyncio.run(work()).cancelled()
    assert "ZeroDivisionError" in caplog.text


@pytest.fixture
def collections():
    """How many whole collections of garbage there were."""
    whole, thresholds, callbacks = [], gc.get_threshold(), tuple(gc.callbacks)

    def note(phase, facts):
        if phase == "start" and facts["generation"] == 2:
            whole.append(facts)

    gc.callbacks.append(note)
    gc.set_threshold(700, 10, 10)  # as Python has it
    yield whole
    gc.callbacks[:] = callbacks
    gc.set_threshold(*thresholds)


def test_pages_that_are_made_bring_no_whole_collection_about(collections):
    async def serve():
        collect_seldom()
        collect_seldom()
        return [[number] for number in range(300_000)]

    gc.freeze()  # as a server does with what it began with
    gc.collect()
    collections.clear()
    assert len(asyncio.run(serve())) == 300_000
    assert collections == []


class Knot:
    """Refers to itself."""

    def __init__(self):
        self.itself = self


def test_a_whole_collection_is_due_when_something_has_come(collections):
    gc.set_threshold(700, 10, NEVER)
    gc.collect()
    collections.clear()
    knot = weakref.ref(Knot())
    collect_if_due()
    assert collections == []
    kept = [[number] for number in range(100_000)]
    collect_if_due()
    assert (len(kept), len(collections), knot()) == (100_000, 1, None)


def test_a_server_collects_as_seldom_and_as_little_whatever_its_command_does(collections):
    async def serve():
        gc.set_threshold(250_000, 10, 10)
        collect_seldom()

    asyncio.run(serve())
    assert gc.get_threshold() == (YOUNG, MIDDLE, NEVER) == (700, 10, NEVER)


def test_collections_are_put_off_and_come_back_after_an_error_too(collections):
    n_exempt = gc.get_freeze_count()
    with collections_put_off():
        assert not gc.isenabled()
        made = [[number] for number in range(100_000)]
        keep_what_is_loaded()
    assert gc.isenabled()
    assert gc.get_freeze_count() > n_exempt + len(made)
    assert gc.get_count()[0] < 700  # none is due
    assert collections == []
    with pytest.raises(ZeroDivisionError), collections_put_off():
        raise ZeroDivisionError
    assert gc.isenabled()
