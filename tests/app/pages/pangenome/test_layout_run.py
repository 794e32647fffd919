"""A run starts, pauses, goes on, stops, is re-heated and reset; its numbers add up."""

from __future__ import annotations

import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from genoviz.analyses.graph.layout import multilevel
from genoviz.analyses.graph.layout.multilevel import MultilevelOptions
from genoviz.analyses.graph.layout.options import LayoutOptions
from genoviz.io.graph.gfa import read_gfa
from genoviz.samples import get_sample
from genoviz_app.pages.pangenome.controls import RunControls, SettingsForm
from genoviz_app.server.jobs import JobPool
from genoviz_app.session.layout_run import LayoutRun, RunState
from genoviz_app.session.layout_settings import WATCHABLE_SECONDS, LayoutSettings
from tests.app.conftest import poll_until
from tests.waiting import PATIENCE


@pytest.fixture(scope="module")
def sample():
    return read_gfa(get_sample("simulated"))


@pytest.fixture
def run(sample):
    thread = JobPool("test-layout", slice_seconds=0.005)
    run = LayoutRun(LayoutSettings(backend="cpu", method="path_sgd", n_iterations=6), thread.submit)
    run.is_paced = False
    run.set_graph(sample)
    poll_until(run.poll, lambda: run.snapshot is not None)
    yield run
    thread.close()


def test_a_new_graph_shows_where_its_nodes_start(run, sample):
    assert run.state is RunState.READY
    assert run.progress is None
    assert run.snapshot.iteration == 0
    assert run.snapshot.coordinates.shape == (sample.n_nodes, 2, 2)


def test_a_run_finishes_with_a_lower_stress_and_all_iterations_in_its_history(run):
    run.settings.n_iterations = 20
    run.run()
    assert run.state is RunState.RUNNING
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    assert [iteration for iteration, _ in run.history] == list(range(21))
    assert run.history[-1][1].mean < 0.1 * run.history[0][1].mean
    progress = run.progress
    assert (progress.iteration, progress.fraction, progress.seconds_left) == (20, 1.0, None)
    assert progress.updates_per_second == pytest.approx(
        run.snapshot.n_updates / run.snapshot.seconds
    )
    assert run.snapshot.is_final


def test_a_run_from_coarse_to_fine_shows_each_round_and_mends_what_is_there(run, monkeypatch):
    monkeypatch.setattr(multilevel, "QUICK_SHARE", math.inf)  # else after some rounds only
    run.settings.param.update(method="multilevel", quality="draft")
    assert run.n_iterations == 6, "as long as nothing has run, of the other method"
    run.run()
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    n_rounds = run.snapshot.n_iterations
    assert run.n_iterations == n_rounds > 6 + 15
    assert [iteration for iteration, _ in run.history] == list(range(n_rounds + 1))
    stress = run.history[-1][1].mean
    assert stress < 0.1 * run.history[0][1].mean
    run.reheat()
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    assert [iteration for iteration, _ in run.history] == [0, 1, 2, 3, 4, 5, 6]
    assert run.history[-1][1].mean < 2 * stress


def test_a_paused_run_stands_still_and_goes_on(run):
    run.settings.n_iterations = 10_000
    run.run()
    poll_until(run.poll, lambda: run.snapshot.n_updates > 0)
    run.pause()
    poll_until(run.poll, lambda: run.state is RunState.PAUSED)
    version = run.version
    assert run._job.pool.submit(iter([1])).wait(PATIENCE)
    for _ in range(5):
        run.poll()
    assert run.version == version
    n_updates = run.snapshot.n_updates
    run.resume()
    poll_until(run.poll, lambda: run.snapshot.n_updates > n_updates)
    assert run.progress.seconds_left is None or run.progress.seconds_left > 0
    run.stop()
    assert run.state is RunState.STOPPED
    assert run.snapshot.n_updates > n_updates, "the positions stay"


def test_a_field_says_its_default(run):
    form = SettingsForm(run)
    said = {name: field.description for name, field in form.of_sgd.items()}
    for name in ("n_iterations", "updates_per_step", "theta", "cooling_start"):
        assert said[name].endswith(f" Default: {run.settings.param[name].default}.")
    for text in (said["eta_max"], said["space"], form.paths.description):
        assert "Default:" not in text, "there is none, or it is no value"
    assert form.quality.description.endswith(" Default: normal.")


def test_a_run_is_paused_when_its_last_step_has_ended_and_is_shown(run):
    began, goes_on = threading.Event(), threading.Event()
    first = run.snapshot

    def steps():
        yield first
        began.set()
        assert goes_on.wait(PATIENCE)
        yield replace(first, iteration=2)
        raise AssertionError("it is paused")

    run._iter_layout = steps
    controls = RunControls(run)
    run.run()
    assert began.wait(PATIENCE)
    run.pause()
    run.poll()
    controls.poll()
    assert run.state is RunState.PAUSING
    assert "Pausing" in controls.numbers.object
    assert controls.pause_button.label == "Resume"
    goes_on.set()
    poll_until(run.poll, lambda: run.state is RunState.PAUSED)
    assert run.snapshot.iteration == 2
    controls.poll()
    assert "Paused" in controls.numbers.object
    assert "2 of " in controls.numbers.object


def test_a_press_is_answered_while_another_tab_has_its_turn(run):
    controls = RunControls(run)
    run.settings.n_iterations = 10_000
    run.run()
    poll_until(run.poll, lambda: run.snapshot.n_updates > 0)
    began, goes_on = threading.Event(), threading.Event()

    def steps():
        began.set()
        assert goes_on.wait(PATIENCE)
        yield 1

    other = run._job.pool.submit(steps())
    assert began.wait(PATIENCE)
    for word, state in ("Resume", "Paused"), ("Pause", "Running"):
        controls.pause_button.clicks += 1
        assert controls.pause_button.label == word
        assert f">{state}<" in controls.numbers.object
    goes_on.set()
    assert other.wait(PATIENCE)
    run.stop()


def test_reheating_starts_from_the_present_layout_a_third_into_the_schedule(run):
    run.run()
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    before = run.layout.coordinates.copy()
    run.reheat()
    poll_until(run.poll, lambda: run.history and run.snapshot.iteration >= 2)
    assert run.history[0][0] == 2
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    assert [iteration for iteration, _ in run.history] == [2, 3, 4, 5, 6]
    assert not np.array_equal(before, run.layout.coordinates)


def test_reset_goes_back_to_the_start(run):
    start = run.snapshot.coordinates.copy()
    run.run()
    poll_until(run.poll, lambda: run.snapshot is not None and run.snapshot.n_updates > 0)
    run.reset()
    assert (run.state, run.snapshot, run.history) == (RunState.READY, None, [])
    poll_until(run.poll, lambda: run.snapshot is not None)
    np.testing.assert_array_equal(run.snapshot.coordinates, start)


def test_a_paced_run_takes_at_least_a_tenth_of_a_second_for_an_iteration(run):
    """A page that looks in time sees each; the start is not waited for."""
    run.is_paced = True
    begin = time.monotonic()
    run.run()
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    assert time.monotonic() - begin >= 6 * WATCHABLE_SECONDS
    assert [iteration for iteration, _ in run.history] == [0, 1, 2, 3, 4, 5, 6]


def test_an_error_ends_the_run_and_is_kept(run):
    run.settings.param.update(eta_max=1e-6, eps=1.0)
    run.run()
    poll_until(run.poll, lambda: run.state is RunState.FAILED)
    assert "eta_max" in str(run.error)
    run.settings.restore()
    assert run.settings.method == "multilevel"
    run.run()
    poll_until(run.poll, lambda: run.state is RunState.FINISHED)
    assert run.error is None


def test_settings_have_the_defaults_of_the_library(sample):
    for method, defaults in (("path_sgd", LayoutOptions()), ("multilevel", MultilevelOptions())):
        options = LayoutSettings().options(sample, method)
        assert {*options} > {"eps", "seed", "initialisation", "paths", "backend"}
        for name in set(options) - {"paths", "backend"}:
            assert options[name] == getattr(defaults, name), name


def test_settings_are_restored_and_unknown_paths_are_left_out(sample):
    settings = LayoutSettings(n_iterations=3, eta_max=5.0, paths=["chr99", sample.path_names[1]])
    assert settings.options(sample, "path_sgd")["paths"] == [sample.path_names[1]]
    settings.restore()
    assert settings.param.values() == {**LayoutSettings().param.values(), "name": settings.name}


def enabled(controls):
    buttons = {
        "run": controls.run_button,
        "pause": controls.pause_button,
        "stop": controls.stop_button,
        "reheat": controls.reheat_button,
        "reset": controls.reset_button,
    }
    return {name for name, button in buttons.items() if not button.disabled}


def test_only_the_buttons_that_do_something_can_be_pressed(run):
    run.settings.n_iterations = 10_000
    controls = RunControls(run)
    assert enabled(controls) == {"run"}
    controls.run_button.clicks += 1
    assert enabled(controls) == {"pause", "stop", "reset"}
    controls.pause_button.clicks += 1
    assert controls.pause_button.label == "Resume"
    controls.pause_button.clicks += 1
    assert (controls.pause_button.label, run.state) == ("Pause", RunState.RUNNING)
    poll_until(run.poll, lambda: run.snapshot.n_updates > 0)
    controls.stop_button.clicks += 1
    assert enabled(controls) == {"run", "reheat", "reset"}
    assert "Stopped" in controls.numbers.object
    controls.reset_button.clicks += 1
    assert "Ready to run" in controls.numbers.object
