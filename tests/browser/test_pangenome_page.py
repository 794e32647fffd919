"""The Pangenome page as a person uses it, in a browser."""

from __future__ import annotations

import json
import re
import urllib.request

from playwright.sync_api import TimeoutError as NothingCame

from tests.browser.conftest import Visit, served
from tests.conftest import ROOT

BAD_GFA = "S\ts1\tACGT\nL\ts1\t+\ts9\t+\t0M\n"


def is_local(url):
    return re.match(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:", url) is not None


# The first test needs a tab in which nothing has run; the others run the layout once more.
def test_a_layout_unfolds_its_stress_falls_and_nothing_leaves_the_machine(visit):
    visit.until(lambda: visit.n_painted > 0)
    assert visit.number("State") == "Ready to run"
    start, n_painted = visit.picture(), visit.n_painted
    visit.button("Run").click()
    visit.until(lambda: visit.number("State") == "Running")
    visit.until(lambda: visit.number("State") == "Finished")
    assert visit.number("Iteration") == "30 of 30"
    assert visit.stress < 1
    assert visit.n_painted - n_painted > 1, "pictures of iterations, as many as the machine can"
    visit.until(lambda: visit.picture() != start)
    assert visit.errors == []
    assert [url for url in visit.requests if not is_local(url)] == []


def test_zooming_keeps_the_view_while_the_layout_runs_and_fit_shows_all(visit):
    visit.until(lambda: visit.n_painted > 0)
    visit.button("Run").click()
    visit.until(lambda: visit.number("State") == "Running")
    visit.page.mouse.move(*visit.place())
    before = visit.width
    visit.page.mouse.wheel(0, -400)
    visit.until(lambda: visit.width < 0.9 * before)
    zoomed, n_painted = visit.view, visit.n_painted
    visit.until(lambda: visit.n_painted > n_painted)
    assert visit.view == zoomed
    visit.until(lambda: visit.number("State") == "Finished")
    n_painted = visit.n_painted
    visit.page.mouse.wheel(0, -200)
    visit.until(lambda: visit.n_painted > n_painted)  # sharp again, though nothing runs
    own = visit.width
    visit.button("Fit to view").click()
    visit.until(lambda: visit.width > own)


def test_pause_holds_the_layout_and_resume_goes_on(visit):
    visit.button("Run").click()
    visit.until(lambda: visit.number("State") == "Running")
    visit.button("Pause").click()
    visit.until(lambda: visit.number("State") == "Paused")
    visit.page.wait_for_timeout(300)
    iteration = visit.number("Iteration")
    visit.page.wait_for_timeout(500)
    assert visit.number("Iteration") == iteration
    visit.button("Resume").click()
    visit.until(lambda: visit.number("State") == "Finished")


def test_a_bad_file_is_one_sentence_and_the_page_lives_on(still_visit, tmp_path):
    visit = still_visit
    bad = tmp_path / "bad.gfa"
    bad.write_text(BAD_GFA)
    inputs = visit.page.locator("input[type=file]")
    n_others = inputs.count()  # tables of colours have one too, further down the page
    visit.page.get_by_role("tab", name="Upload").click()
    visit.until(lambda: inputs.count() > n_others)
    inputs.first.set_input_files(bad)
    message = visit.page.get_by_text("bad.gfa, line 2: ")
    visit.until(lambda: message.count() == 1)
    assert "\n" not in message.inner_text()
    assert visit.button("Run").is_enabled()


def test_a_file_is_opened_by_path_and_the_link_opens_it_again(tabs, dashboard_url, tmp_path):
    visit = Visit(tabs.new_page(), dashboard_url)
    path = tmp_path / "two.gfa"
    path.write_text("S\ta\tACGT\nS\tb\tAC\nP\tp\ta+,b+\t*\n")
    visit.page.get_by_role("tab", name="Server").click()
    field = visit.page.get_by_label("Path on the server")
    field.fill(str(path))
    field.press("Enter")
    visit.until(lambda: visit.page.get_by_text("two.gfa").count() > 0)
    visit.until(lambda: "two.gfa" in visit.page.url)
    again = Visit(tabs.new_page(), visit.page.url)
    again.until(lambda: again.page.get_by_text("two.gfa").count() > 0)


def test_two_tabs_are_served_alike_and_a_closed_one_frees_its_job(tabs, dashboard_url, visit):
    def n_running():
        with urllib.request.urlopen(f"{dashboard_url}status") as answer:
            return json.load(answer)["running"]

    endless = Visit(tabs.new_page(), dashboard_url)
    endless.page.get_by_role("button", name="Parameters").click()
    field = endless.page.get_by_role("textbox", name=re.compile("^Iterations"))

    def run():
        field.fill("100000")
        field.press("Enter")
        endless.button("Run").click()

    # A field that is just coming up may not hear of Enter; the run is then the usual, short one.
    endless.insist(run, lambda: endless.number("Iteration").endswith(" of 100000"))
    short = visit
    short.button("Run").click()
    short.until(lambda: short.number("State") == "Running")
    short.until(lambda: short.number("State") == "Finished")
    assert n_running() == 1
    endless.page.close()
    short.until(lambda: n_running() == 0)


def test_the_whole_header_is_in_view(still_visit):
    theme = still_visit.page.get_by_label("Toggle theme").bounding_box()
    assert 0 < theme["x"] + theme["width"] <= still_visit.page.viewport_size["width"]


def saved(visit, name):
    """Click a button that saves, and once more where nothing comes, as a person would."""
    try:
        with visit.page.expect_download(timeout=120_000) as download:
            visit.button(re.escape(name)).click()
    except NothingCame:
        with visit.page.expect_download() as download:
            visit.button(re.escape(name)).click()
    return download.value


def test_what_is_made_can_be_saved(still_visit):
    visit = still_visit
    visit.until(lambda: visit.n_painted > 0)
    visit.page.get_by_role("button", name="Save").click()
    starts = {
        ".lay (odgi)": b"",
        ".tsv (odgi)": b"idx\t",
        "PNG": b"\x89PNG",
        "SVG": b"<svg",
        "PDF": b"%PDF",
        "HTML": b"<!doctype html>",
    }
    for name, start in starts.items():
        download = saved(visit, name)
        suffix = name.split()[0].lower().lstrip(".")
        assert download.suggested_filename == f"simulated.{suffix}"
        content = download.path().read_bytes()
        assert content.startswith(start)
        assert len(content) > 500


def test_served_by_panel_the_second_visit_is_like_the_first(tabs):
    arguments = ("-m", "panel", "serve", str(ROOT / "app"), "--port", "0")
    with served(*arguments) as (url, lines):
        for _ in range(2):
            visit = Visit(tabs.new_page(), url)
            visit.until(lambda visit=visit: visit.n_painted > 0)
            assert visit.errors == []
            assert [url for url in visit.requests if not is_local(url)] == []
            visit.page.close()
    assert "Traceback" not in "".join(lines)
