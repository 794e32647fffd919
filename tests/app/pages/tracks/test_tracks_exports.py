"""What is saved of tracks is read again by the library, with the values that are there."""

from __future__ import annotations

import asyncio
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from genoviz.errors import ParameterError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.intervals.intervals import read_intervals
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.files import OpeningProgress
from genoviz_app.opening.track_data import features_of, prepare
from genoviz_app.pages.tracks import TracksPage, track_values
from genoviz_app.pages.tracks import exports as ex
from genoviz_app.pages.tracks.exports import FileJob
from genoviz_app.pages.tracks.track import Track, new_look
from genoviz_app.pages.tracks.track_values import (
    iter_values,
    iter_write_bedgraph,
    iter_write_bigwig,
    iter_write_bins,
    iter_write_features,
)
from tests.app.conftest import poll_until
from tests.conftest import real_data

CHR9 = "intervals/chr9_4-6Mb"
BED12 = (
    "chr9\t100\t200\tg1\t7\t+\t100\t200\t255,0,10\t2\t10,20\t0,80\n"
    "chr9\t150\t400\tg2\t0\t-\t150\t400\t0\t1\t250\t0\n"
)


def track_of(data, title="a track"):
    return Track(title, data, new_look(data.kind, 0))


@pytest.fixture
def reads():
    rng = np.random.default_rng(3)
    starts = rng.integers(0, 5000, 400)
    intervals = Intervals.from_columns(["c"] * 400, starts, starts + rng.integers(1, 90, 400))
    return track_of(prepare(intervals, "bam"))


@pytest.fixture
def signal():
    steps = Intervals.from_columns(["c"] * 3, [10, 20, 40], [20, 30, 50], scores=[1.5, 3.0, -2.0])
    return track_of(prepare(steps, "bedgraph"), "signal")


def depth_of(intervals, start, end):
    depth = np.zeros(end - start)
    for first, last in zip(intervals.starts.tolist(), intervals.ends.tolist(), strict=True):
        if first < end and last > start:
            depth[max(first - start, 0) : max(last - start, 0)] += 1
    return depth


def painted(steps, start, end):
    values = np.zeros(end - start)
    for first, last, value in zip(steps.starts, steps.ends, steps.scores, strict=True):
        values[first - start : last - start] = value
    return values


def run_all(steps):
    return [step.fraction for step in steps]


@pytest.mark.parametrize("bases", [1 << 22, 97])
@pytest.mark.parametrize("ending", [".bedgraph", ".bedgraph.gz", ".bw"])
def test_depth_is_saved_exactly(reads, tmp_path, monkeypatch, bases, ending):
    monkeypatch.setattr("genoviz_app.pages.tracks.track_values.BASES_PER_SLICE", bases)
    region, path = PathRegion("c", 100, 4000), tmp_path / f"depth{ending}"
    if ending == ".bw":
        run_all(iter_write_bigwig(path, reads, region, 6000))
    else:
        run_all(iter_write_bedgraph(path, reads, region))
    found = read_intervals(path)
    expected = depth_of(reads.data.intervals, 100, 4000)
    assert (painted(found, 100, 4000) == expected).all()
    goes_on = (found.ends[:-1] == found.starts[1:]) & (found.scores[:-1] == found.scores[1:])
    assert not goes_on.any(), "a depth that goes on is one step, in whatever slices it was made"


def test_a_signal_is_cut_to_its_region_and_moved_to_a_path(signal):
    shown = Track("x", signal.data, signal.look)
    shown._found["s#0#c:15-60"] = ("c", 15)
    parts = [part for part, _ in iter_values(shown, PathRegion("s#0#c:15-60", 0, 30))]
    rows = [
        (start, end, value)
        for part in parts
        for start, end, value in zip(part.starts, part.ends, part.scores, strict=True)
    ]
    assert rows == [(0, 5, 1.5), (5, 15, 3.0), (25, 30, -2.0)]


@pytest.mark.parametrize("kind", ["bedgraph", "bed"])
def test_the_share_done_is_that_of_the_bases(kind, monkeypatch):
    steps = Intervals.from_columns(["c"] * 3, [10, 20, 40], [20, 30, 50], scores=[1.5, 3.0, -2.0])
    track = track_of(prepare(steps, kind), "steps")
    monkeypatch.setattr(track_values, "BASES_PER_SLICE", 10)
    assert [share for _, share in iter_values(track, PathRegion("c", 20, 45))] == [0.4, 0.8, 1, 1]


def test_a_bigwig_of_nothing_and_a_contig_that_is_not_there_are_refused(signal, tmp_path):
    with pytest.raises(ParameterError, match=r"has no value in c:61-90, and a bigWig needs one"):
        run_all(iter_write_bigwig(tmp_path / "x.bw", signal, PathRegion("c", 60, 90), 100))
    with pytest.raises(ParameterError, match="signal has no d; choose a track that has"):
        run_all(iter_write_bedgraph(tmp_path / "x", signal, PathRegion("d", 0, 9)))
    waiting = Track("slow", None, signal.look)
    with pytest.raises(ParameterError, match="slow is not ready yet"):
        run_all(iter_write_bedgraph(tmp_path / "x", waiting, PathRegion("c", 0, 9)))


def test_features_keep_names_strands_colours_and_blocks(tmp_path):
    (tmp_path / "in.bed").write_text(BED12)
    track = track_of(features_of(read_annotations(tmp_path / "in.bed")))
    run_all(iter_write_features(tmp_path / "out.bed", track, PathRegion("chr9", 0, 1000)))
    assert (tmp_path / "out.bed").read_text() == BED12
    for region in (PathRegion("chr9", 250, 300), PathRegion("chr9", 200, 300)):
        run_all(iter_write_features(tmp_path / "out.bed", track, region))
        assert (tmp_path / "out.bed").read_text() == BED12.splitlines(keepends=True)[1]
    run_all(iter_write_features(tmp_path / "out.bed", track, PathRegion("chr9", 90, 100)))
    assert (tmp_path / "out.bed").read_text() == ""


def test_a_track_of_values_has_no_features(signal, tmp_path):
    with pytest.raises(ParameterError, match="signal has no features; save its values instead"):
        run_all(iter_write_features(tmp_path / "x.bed", signal, PathRegion("c", 0, 60)))


def test_bins_of_a_path_are_those_of_its_place_on_the_contig(reads, signal, tmp_path):
    # The path begins at base 15 of the contig, where both tracks have their values.
    path, name = tmp_path / "bins.tsv", "s#0#c:15-60"
    for track in (reads, signal):
        track._found[name] = ("c", 15)
    run_all(iter_write_bins(path, [reads, signal], PathRegion(name, 0, 35), 5))
    rows = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    depth = depth_of(reads.data.intervals, 15, 50).reshape(7, 5)
    values = np.array([1.5, 3, 3, np.nan, np.nan, -2, -2])
    assert [float(row[3]) for row in rows] == pytest.approx(depth.mean(axis=1).tolist())
    assert [int(row[4]) for row in rows] == depth.min(axis=1).tolist()
    assert [int(row[5]) for row in rows] == depth.max(axis=1).tolist()
    for column in (7, 8, 9):
        found = [float(row[column] or "nan") for row in rows]
        np.testing.assert_array_equal(found, values)


def test_bins_have_means_and_extremes_of_all_tracks(reads, signal, tmp_path):
    path, region = tmp_path / "bins.tsv", PathRegion("c", 5, 58)
    run_all(iter_write_bins(path, [reads, signal], region, 10))
    header, *rows = [line.split("\t") for line in path.read_text().splitlines()]
    assert header[3:] == [
        *(f"a track: {name}" for name in ("mean", "min", "max", "intervals")),
        *(f"signal: {name}" for name in ("mean", "min", "max")),
    ]
    assert [int(row[1]) for row in rows] == [5, 15, 25, 35, 45, 55]
    assert rows[-1][2] == "58"
    for row in rows:
        start, end = int(row[1]), int(row[2])
        depth = depth_of(reads.data.intervals, start, end)
        found = [float(value) for value in row[3:6]]
        assert found == pytest.approx([depth.mean(), depth.min(), depth.max()], rel=1e-6)
        of_reads = reads.data.intervals
        assert int(row[6]) == ((of_reads.starts < end) & (of_reads.ends > start)).sum()
    assert rows[1][7:] == ["2.25", "1.5", "3"]
    assert rows[5][7:] == ["", "", ""]


def test_whole_values_of_bins_have_all_digits(tmp_path):
    steps = Intervals.from_columns(["c", "c"], [0, 5], [5, 10], scores=[123456789.0, -0.5])
    track = track_of(prepare(steps, "bedgraph"))
    run_all(iter_write_bins(tmp_path / "x.tsv", [track], PathRegion("c", 0, 10), 5))
    rows = [line.split("\t")[3:] for line in (tmp_path / "x.tsv").read_text().splitlines()[1:]]
    assert rows == [["123456789"] * 3, ["-0.5"] * 3]


def test_too_many_bins_are_refused(reads, tmp_path):
    region = PathRegion("c", 0, 10_000_000)
    with pytest.raises(ParameterError, match="bins of 1 bp make 10,000,000 rows"):
        run_all(iter_write_bins(tmp_path / "x", [reads], region, 1))


@pytest.fixture
def page(session):
    return TracksPage(session)


def press(page, job):
    """Press a button as a browser does; return the name and content of its file."""
    taken = [(None, None)]
    page._session.hand_over = lambda *file: taken.append(file)
    asyncio.run(job.make())
    return taken[-1]


def open_files(session, page, *paths):
    for path in paths:
        session.tracks.open(str(path))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: not session.tracks.is_opening)
    for _ in range(3):
        poll()


def test_the_picture_is_of_what_is_seen(session, page):
    bam = real_data(f"{CHR9}/bam_chr9_4000000_6000000.bam")
    gtf = real_data(f"{CHR9}/gtf_chr9_4000000_6000000.gtf")
    open_files(session, page, bam, gtf)
    page.navigation.look_at(PathRegion("chr9", 4_850_000, 4_870_000))
    page.poll()
    page.exports.ending.value = ".html"
    name, content = press(page, page.exports.job)
    assert name == "chr9_4850001-4870000.html"
    text = content.decode()
    svg = ElementTree.fromstring(re.search(r"<svg.*</svg>", text, re.DOTALL)[0])
    texts = [element.text for element in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "chr9:4,850,001-4,870,000 (20,000 bp)"
    assert "RCL1 >" in texts
    assert "-F 1796" in " ".join(texts)
    assert set(re.findall(r"https?://[^\"]+", text)) == {"http://www.w3.org/2000/svg"}


def test_the_fields_follow_what_is_wanted_and_make_the_file(session, page, tmp_path):
    (tmp_path / "a.bed").write_text(BED12)
    open_files(session, page, tmp_path / "a.bed")
    exports = page.exports
    exports.what.value = ex.FEATURES
    assert (exports.ending.value, exports.track.visible) == (".bed", True)
    exports.extent.value = ex.CONTIG
    name, content = press(page, exports.job)
    assert (name, content.decode()) == ("a_chr9_1-400.bed", BED12)
    exports.what.value = ex.BINS
    exports.bin_bp.value = 100
    assert press(page, exports.job)[1].count(b"\n") == 5
    exports.what.value = ex.VALUES
    exports.ending.value = ".bw"
    (tmp_path / "out.bw").write_bytes(press(page, exports.job)[1])
    assert painted(read_intervals(tmp_path / "out.bw"), 0, 400)[[170, 190]].tolist() == [1, 2]


def test_nothing_to_save_is_said(session, page):
    page.poll()
    assert press(page, page.exports.job)[1] is None
    assert session.problem == "The file was not made: nothing is shown; open a track first."


def test_a_long_file_shows_its_progress_and_can_be_stopped(session):
    def slow(path):
        for step in range(10_000):
            yield OpeningProgress("Writing", step / 10_000)
            yield None

    job = FileJob(session, "Save", lambda: ("x.txt", slow))

    async def press_and_stop():
        making = asyncio.ensure_future(job.make())
        while job.opening is None or not job.opening.fraction:
            await asyncio.sleep(0.01)
        await job.make()
        assert not making.done(), "one file at a time"
        job.cancel()
        await making

    taken = []
    session.hand_over = lambda *file: taken.append(file)
    asyncio.run(press_and_stop())
    assert (job.opening, session.problem, taken) == (None, "", [])
