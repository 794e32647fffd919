"""The Pangenome page in a browser."""

from __future__ import annotations

import json
import re
import urllib.request

import pytest

from tests.browser.conftest import Visit

N_NODES = 300
# How far the upload area extends beyond its list after it has grown.
ROOM_BELOW = """(field) => {
  const list = field.closest(".filepond--root")
  list.style.height = "150px"
  const end = field.getRootNode().host.getBoundingClientRect().bottom
  return end - list.getBoundingClientRect().bottom
}"""
BAD_GFA = "S\ts1\tACGT\nL\ts1\t+\ts9\t+\t0M\n"


def is_local(url):
    return re.match(r"(https?|wss?)://(127\.0\.0\.1|localhost)[:/]|data:|blob:", url) is not None


@pytest.fixture
def running(visit):
    """A tab with a running layout that does not end by itself."""
    visit.run_for_long()
    yield visit
    visit.stop()


def run_to_the_end(visit):
    """Run a layout to its end; a slow browser may not see it running."""
    was_run = {"Running", "Finished"}
    visit.insist(visit.button("Run").click, lambda: visit.number("State") in was_run)
    visit.until(lambda: visit.number("State") == "Finished")


# The first test needs a tab without earlier runs.
def test_a_layout_unfolds_its_stress_falls_and_nothing_leaves_the_machine(visit):
    visit.until(lambda: visit.n_painted > 0)
    assert visit.number("State") == "Ready to run"
    start, n_painted = visit.picture(), visit.n_painted
    run_to_the_end(visit)
    done, of_all = visit.number("Iteration").split(" of ")
    assert done == of_all != "0"
    assert visit.stress < 1
    assert visit.n_painted - n_painted > 1, "pictures of iterations, as many as the machine can"
    visit.until(lambda: visit.picture() != start)
    assert visit.errors == []
    assert [url for url in visit.requests if not is_local(url)] == []


def test_zooming_keeps_the_view_while_the_layout_runs_and_fit_shows_all(running):
    visit = running
    visit.until(lambda: visit.n_painted > 0)
    visit.page.mouse.move(*visit.place())
    before = visit.width
    visit.page.mouse.wheel(0, -400)
    visit.until(lambda: visit.width < 0.9 * before)
    zoomed, n_painted = visit.view, visit.n_painted
    visit.until(lambda: visit.n_painted > n_painted)
    assert visit.view == zoomed
    assert visit.number("State") == "Running"
    visit.stop()
    assert visit.view == zoomed
    visit.settle()
    n_painted = visit.n_painted
    visit.page.mouse.move(*visit.place())
    visit.page.mouse.wheel(0, -200)
    visit.until(lambda: visit.n_painted > n_painted)  # sharp again without a running layout
    own = visit.width
    visit.insist(visit.button("Fit to view").click, lambda: visit.width > own)


def test_pause_holds_the_layout_and_resume_goes_on(running):
    visit = running

    def is_in(state):
        return lambda: visit.number("State") == state

    visit.until(lambda: int(visit.number("Iteration").split()[0]) > 0)
    visit.insist(visit.button("Pause").click, is_in("Paused"))
    iteration = visit.number("Iteration")
    visit.page.wait_for_timeout(1000)
    assert visit.number("State") == "Paused"
    assert visit.number("Iteration") == iteration
    visit.insist(visit.button("Resume").click, is_in("Running"))
    visit.until(lambda: visit.number("Iteration") != iteration)


def test_a_bad_file_is_one_sentence_and_the_page_lives_on(still_visit, tmp_path):
    visit = still_visit
    bad = tmp_path / "bad.gfa"
    bad.write_text(BAD_GFA)
    # The node table's input for other files is further down the page.
    field = visit.page.locator("input.filepond--browser")
    visit.show_tab("Upload")
    message = visit.page.get_by_text("bad.gfa, line 2: ")
    visit.insist(lambda: field.set_input_files(bad), lambda: message.count() > 0)
    assert "\n" not in message.first.inner_text()
    assert field.evaluate(ROOM_BELOW) > -2, "what is below makes room"
    visit.until(visit.button("Run").is_enabled)


def test_the_whole_header_is_in_view(still_visit):
    page = still_visit.page

    def is_in_view():
        box = page.get_by_label("Toggle theme").bounding_box()
        return 0 < box["x"] + box["width"] <= page.viewport_size["width"]

    wide = page.viewport_size
    for width in (1024, wide["width"]):
        page.set_viewport_size({**wide, "width": width})
        still_visit.until(is_in_view)


def test_what_is_made_can_be_saved(still_visit):
    visit = still_visit
    visit.until(lambda: visit.n_painted > 0)
    first = visit.button("Export")
    if not first.is_visible():
        visit.insist(visit.page.get_by_role("button", name="Save").click, first.is_visible)
    starts = {
        "LAY": b"",
        "TSV": b"idx\t",
        "PNG": b"\x89PNG",
        "SVG": b"<svg",
        "PDF": b"%PDF",
        "HTML": b"<!doctype html>",
    }
    for name, start in starts.items():
        download = visit.exported(f"({name})")
        assert download.suggested_filename == f"simulated.{name.lower()}"
        content = download.path().read_bytes()
        assert content.startswith(start)
        assert len(content) > 500


def test_a_file_is_opened_by_path_and_the_link_opens_it_again(tabs, still_visit, tmp_path):
    visit = still_visit
    path = tmp_path / "two.gfa"
    nodes = "".join(f"S\t{n}\tACGT\n" for n in range(N_NODES))
    path.write_text(f"{nodes}P\tp\t{','.join(f'{n}+' for n in range(N_NODES))}\t*\n")
    visit.show_tab("Server")
    field = visit.page.get_by_label("Path on the server")

    def open_it():
        field.fill(str(path))
        field.press("Enter")

    visit.insist(open_it, lambda: visit.page.get_by_text("two.gfa").count() > 0)
    visit.until(lambda: "two.gfa" in visit.page.url)
    again = Visit(tabs.new_page(), visit.page.url)
    again.until(lambda: again.page.get_by_text("two.gfa").count() > 0)


# The previous test has opened a small graph in this tab.
def test_two_tabs_are_served_alike_and_a_closed_one_frees_its_job(tabs, dashboard_url, still_visit):
    def n_running():
        with urllib.request.urlopen(f"{dashboard_url}status") as answer:
            return json.load(answer)["running"]

    endless = Visit(tabs.new_page(), dashboard_url)
    endless.run_for_long()
    short = still_visit
    short.page.bring_to_front()
    run_to_the_end(short)
    short.until(lambda: n_running() == 1)
    assert endless.number("State") == "Running"
    endless.page.close()
    short.until(lambda: n_running() == 0)


def test_the_second_visit_to_a_server_is_like_the_first(still_visit, visit, dashboard):
    for each in (still_visit, visit):
        each.until(lambda each=each: each.n_painted > 0)
        assert each.errors == []
        assert [url for url in each.requests if not is_local(url)] == []
    assert "Traceback" not in "".join(dashboard[1])
