"""Counts of tracks in regions are those of adding up base by base."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz.analyses.graph.query.annotate import place_annotations
from genoviz.analyses.intervals.depth_steps import iter_depth_steps
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.intervals.intervals import read_intervals
from genoviz.model import Intervals, PathRegion
from genoviz_app.opening.track_data import features_of, iter_read_track, prepare
from genoviz_app.pages.tracks import TracksPage
from genoviz_app.pages.tracks.counting.counts_table import table_rows
from genoviz_app.pages.tracks.counting.region_counts import count_regions, count_view, write_counts
from genoviz_app.pages.tracks.drawing.feature_packing import View
from genoviz_app.pages.tracks.drawing.track_drawer import TrackDrawer
from genoviz_app.pages.tracks.track import Track, new_look
from genoviz_app.pages.tracks.track_list import annotation_data
from tests.app.conftest import poll_until
from tests.conftest import real_data
from tests.graphs import make_graph

CHR9 = "intervals/chr9_4-6Mb"


def random_intervals(rng, n, contigs, span, scores=False):
    starts = rng.integers(0, span, n)
    ends = starts + rng.integers(1, 40, n)
    chosen = [contigs[i] for i in rng.integers(0, len(contigs), n)]
    return Intervals.from_columns(chosen, starts, ends, scores=np.ones(n) if scores else None)


def test_counts_are_those_of_adding_up(tmp_path):
    rng = np.random.default_rng(5)
    reads = random_intervals(rng, 300, ["chr1", "2"], 900)
    regions = random_intervals(rng, 60, ["1", "2", "none"], 1000)
    found = count_regions(regions, [("reads", prepare(reads, "bam"))])
    track = found.tracks[0]
    names = {"1": "chr1", "2": "2", "none": ""}
    for row in range(len(regions)):
        contig = names[regions.contigs[regions.contig_ids[row]]]
        start, end = int(regions.starts[row]), int(regions.ends[row])
        on = [reads.contigs[i] == contig for i in reads.contig_ids]
        depth = np.zeros(end - start)
        n = 0
        for first, last in zip(reads.starts[on].tolist(), reads.ends[on].tolist(), strict=True):
            if first < end and last > start:
                n += 1
                depth[max(first - start, 0) : last - start] += 1
        assert track.counts[row] == n
        assert track.covered_bases[row] == (depth > 0).sum()
        assert track.means[row] == pytest.approx(depth.mean())
    path = tmp_path / "counts.tsv"
    write_counts(path, found)
    lines = path.read_text().splitlines()
    assert len(lines) == 1 + len(regions)
    assert lines[1].split("\t")[6] == str(track.counts[0])


def test_the_mean_of_a_signal_is_over_bases_that_have_a_value():
    steps = Intervals.from_columns(["c"] * 3, [10, 20, 40], [20, 30, 50], scores=[1.0, 3.0, -2.0])
    regions = Intervals.from_columns(["c"] * 4, [0, 15, 30, 45], [60, 25, 40, 100])
    found = count_regions(regions, [("signal", prepare(steps, "bedgraph"))]).tracks[0]
    assert found.means[[0, 1, 3]].tolist() == pytest.approx([2 / 3, 2.0, -2.0])
    assert np.isnan(found.means[2])
    assert found.covered_bases.tolist() == [30, 10, 0, 5]


def test_a_stretch_without_a_number_says_nothing_of_other_regions():
    steps = Intervals.from_columns(
        ["1"] * 4, [0, 10, 20, 30], [10, 20, 30, 40], scores=[np.inf, np.nan, 1e30, 0.5]
    )
    regions = Intervals.from_columns(["chr1"] * 4, [0, 10, 25, 30], [5, 20, 30, 45])
    found = count_regions(regions, [("signal", prepare(steps, "bedgraph"))]).tracks[0]
    np.testing.assert_array_equal(found.means, [np.inf, np.nan, 1e30, 0.5])
    assert found.counts.tolist() == [1, 0, 1, 1]
    assert found.covered_bases.tolist() == [5, 0, 5, 10]


BED12 = (
    "c\t10\t60\ta\t0\t+\t10\t60\t0\t3\t5,10,4\t0,20,46\n"
    "c\t30\t45\tb\t0\t-\t30\t45\t0\t1\t15\t0\n"
    "c\t70\t90\tc\t0\t-\t70\t90\t0\t2\t5,5\t0,15\n"
)


@pytest.mark.parametrize("is_large", [False, True])
def test_features_of_bed12_cover_their_blocks_as_in_genoviz_depth(tmp_path, monkeypatch, is_large):
    (tmp_path / "a.bed").write_text(BED12)
    if is_large:
        monkeypatch.setattr("genoviz_app.opening.track_data.ANNOTATION_BYTES", 1)
    data = [*iter_read_track(tmp_path / "a.bed")][-1].opened
    blocks = read_intervals(tmp_path / "a.bed", blocks=True)
    steps = [*iter_depth_steps(blocks)][-1].found
    expected = np.zeros(100)
    for start, end, depth in zip(steps.starts, steps.ends, steps.scores, strict=True):
        expected[start:end] = depth
    assert expected.sum() == 19 + 15 + 10
    bins = data.coverage.bins("c", np.arange(101))
    assert bins.means.tolist() == expected.tolist()
    strands = [index.bins("c", np.arange(101)).means for index in data.strands]
    assert (strands[0] + strands[1]).tolist() == expected.tolist()
    found = count_view(PathRegion("c", 15, 35), [("a", data)]).tracks[0]
    assert (found.counts[0], found.covered_bases[0]) == (2, 5)
    assert found.means[0] == pytest.approx(expected[15:35].mean())
    found = count_view(PathRegion("c", 0, 100), [("a", data)]).tracks[0]
    assert (found.counts[0], data.counts["c"], data.features.count_within("c", 0, 61)) == (3, 3, 2)
    track = Track("a", data, new_look(data.kind, 0))
    track.look.as_depth = True
    (row,) = TrackDrawer().draw([track], View("c", 0, 100, 500), 100).rows
    assert row.note == "0 to 2, depth of blocks"


def test_bed12_on_the_paths_of_a_graph_covers_its_blocks(tmp_path):
    (tmp_path / "a.bed").write_text(BED12)
    annotations = read_annotations(tmp_path / "a.bed")
    graph = replace(make_graph([60, 40], [(1, -2)]), path_names=("c",))
    data, alone = annotation_data(place_annotations(graph, annotations)), features_of(annotations)
    bins = [track.coverage.bins("c", np.arange(101)).means.tolist() for track in (data, alone)]
    assert bins[0] == bins[1]
    assert sum(bins[0]) == 19 + 15 + 10
    assert data.features.blocks_of(0).tolist() == alone.features.blocks_of(0).tolist()


def test_a_path_of_a_graph_is_counted_at_its_place_on_the_contig():
    genes = Intervals.from_columns(["chr6"] * 2, [1005, 1500], [1010, 1600])
    region = PathRegion("s#0#chr6:1000-1100", 0, 20)
    found = count_view(region, [("genes", prepare(genes, "bed"))])
    assert found.tracks[0].counts.tolist() == [1]
    assert found.tracks[0].covered_bases.tolist() == [5]


@pytest.mark.parametrize(("name", "first"), [("gi|6:1000-1100", 1000), ("gi|6:1001-1100", 1000)])
def test_a_path_named_by_a_closed_range_begins_one_base_earlier(name, first):
    """The second range is one shorter than the path: 1-based and closed, as NCBI's."""
    graph = replace(make_graph([60, 40], [(1, 2)]), path_names=(name,))
    data = prepare(Intervals.from_columns(["gi|6"], [first], [first + 9]), "bed")
    found = count_view(PathRegion(name, 0, 20), [("genes", data)], graph)
    assert found.tracks[0].covered_bases.tolist() == [9]
    track = Track("genes", data, new_look(data.kind, 0), graph=graph)
    assert track.find_contig(name) == ("gi|6", first)


def test_the_view_and_the_features_of_a_track_are_counted_on_the_page(session):
    pysam = pytest.importorskip("pysam")
    page = TracksPage(session)
    bed = real_data(f"{CHR9}/bed_chr9_4000000_6000000_chromstates.bed")
    bam = real_data(f"{CHR9}/bam_chr9_4000000_6000000.bam")
    for path in (bed, bam):
        session.tracks.open(str(path))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: not session.tracks.is_opening)
    poll()
    poll()
    page.navigation.go("chr9:4,700,001-4,720,000")
    page.counts.count()
    poll_until(poll, lambda: page.counts.found is not None)
    reads = read_intervals(bam).within("chr9", 4_700_000, 4_720_000)
    frame = page.counts.table.table.value
    assert frame["Region"].tolist() == ["chr9:4,700,001-4,720,000"] * 2
    with pysam.AlignmentFile(str(bam)) as file:
        there = [
            any(start < 4_720_000 and end > 4_700_000 for start, end in read.get_blocks())
            for read in file.fetch("chr9", 4_700_000, 4_720_000)
            if not read.flag & 1796
        ]
    assert frame.set_index("Track").loc[bam.name, "Intervals"] == sum(there)
    assert 0 < sum(there) < len(reads), "some reads have several blocks there"
    page.counts.found = None
    page.counts.fields.regions.value = bed.name
    page.counts.count()
    poll_until(poll, lambda: page.counts.found is not None)
    rows = table_rows(page.counts.found)
    assert len(rows.frame) == len(read_intervals(bed))
    assert set(rows.frame["Track"]) == {bam.name}


def test_regions_of_a_file_that_is_not_open_are_counted_and_gone_to(session, tmp_path):
    page = TracksPage(session)
    reads, regions = tmp_path / "reads.bed", tmp_path / "regions.bed"
    reads.write_text("chr1\t0\t50\nchr1\t40\t60\n2\t0\t1000\n")
    regions.write_text("1\t45\t55\tboth\n1\t900\t950\tnone\nchr2\t10\t20\tother\n")
    session.tracks.open(str(reads))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: not session.tracks.is_opening)
    for _ in range(3):
        poll()
    fields = page.counts.fields
    fields.regions.value = "A file on the server"
    assert fields.path.visible
    page.counts.count()
    assert "no file is named" in session.problem
    fields.path.value = str(regions)
    page.counts.count()
    poll_until(poll, lambda: page.counts.found is not None)
    assert session.problem == ""
    assert page.counts.found.tracks[0].counts.tolist() == [2, 0, 1]
    assert "Contigs are renamed: chr1 to 1, 2 to chr2." in page.counts.table.count.object
    frame = page.counts.table.table.value
    assert frame["Mean"].tolist() == [1.5, 0.0, 1.0]
    page.counts._on_row(2)
    poll()
    assert (page.browser.contig, page.browser.region.start) == ("2", 5)
    fields.path.value = str(tmp_path / "nothing.bed")
    page.counts.count()
    assert "does not exist on the server" in session.problem


def test_an_uploaded_file_is_counted_against_one_track(session, tmp_path):
    page = TracksPage(session)
    for name in ("a.bed", "b.bed"):
        (tmp_path / name).write_text("c\t0\t50\nc\t40\t60\n")
        session.tracks.open(str(tmp_path / name))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: not session.tracks.is_opening)
    for _ in range(3):
        poll()
    fields = page.counts.fields
    fields.regions.value, fields.against.value = "An uploaded file", "b.bed"
    page.counts.count()
    assert "no file is uploaded" in session.problem
    fields.upload.param.update(value=b"c\t5\t", filename="bad.bed")
    page.counts.count()
    poll_until(poll, lambda: "bad.bed, line 1" in session.problem)
    fields.upload.param.update(value=b"c\t5\t45\n", filename="good.bed")
    page.counts.count()
    poll_until(poll, lambda: page.counts.found is not None)
    assert [track.title for track in page.counts.found.tracks] == ["b.bed"]
    assert page.counts.found.tracks[0].counts.tolist() == [2]
