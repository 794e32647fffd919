"""Files that are no tracks: each is one sentence, and the page goes on."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz.errors import FileFormatError
from genoviz.io.intervals.bigwig_writer import write_bigwig
from genoviz.model import Intervals
from genoviz_app.opening.track_data import iter_read_track
from genoviz_app.pages.tracks import TracksPage
from tests.app.conftest import poll_until
from tests.conftest import real_data

BAM = "intervals/chr9_4-6Mb/bam_chr9_4000000_6000000.bam"
BAD = {
    "binary.bed": (bytes(range(256)) * 9, "holds bytes that no text has"),
    "reversed.bed": (b"c\t5\t3\n", "line 1: BED feature ends at 3, before its start 5"),
    "short.narrowPeak": (b"c\t5\t9\n", "line 1"),
    "zero.gff3": (b"c\tx\tgene\t0\t5\t.\t+\t.\tID=a\n", "line 1: GFF feature has the start '0'"),
    "overlaps.bedgraph": (b"c\t0\t50\t1\nc\t20\t60\t2\n", "two stretches overlap at c:20"),
    "noise.bw": (b"noise" * 99, "is not bigWig, as its name says"),
    "noise.bam": (b"noise" * 99, "is not BAM, as its name says"),
    "empty.sam": (b"", "the file is empty, needs to be SAM with a header"),
    "empty.bam": (b"", "the file is empty, needs to be BAM"),
    "empty.bw": (b"", "the file is empty, needs to be bigWig"),
    "empty.parquet": (b"", "the file is empty, needs to be a Parquet table"),
    **{
        f"empty.{ending}": (b"", "the file is empty, needs to be BED, GFF, BAM or the like")
        for ending in ("2bit", "gbz", "vcf", "fa.gz", "GFA", "lay")
    },
    "cut.bed.gz": (b"\x1f\x8b\x08\x00", "cut.bed.gz: "),
    "header.sam": (b"@HD\tVN:1.6\nfoo\n", "cannot be read as SAM"),
    "bad.parquet": (b"PAR1junkPAR1", "is no parquet table that can be read"),
}


@pytest.fixture
def page(session):
    return TracksPage(session)


def open_one(session, page, path):
    session.tracks.open(str(path))

    def poll():
        session.poll()
        page.poll()

    poll_until(poll, lambda: not session.tracks.is_opening)
    for _ in range(3):
        poll()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence_and_the_page_goes_on(session, page, tmp_path, name):
    content, words = BAD[name]
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.bed").write_text("c\t0\t9\tg\n")
    open_one(session, page, tmp_path / name)
    assert words in session.problem
    assert name in session.problem
    assert "\n" not in session.problem
    assert len(page.tracks) == 0
    open_one(session, page, tmp_path / "good.bed")
    assert session.problem == ""
    assert page.browser.contig == "c"


@pytest.mark.parametrize("content", [b"", b"# a comment\n", b"\n"])
@pytest.mark.parametrize("name", ["empty.bed", "empty.bedgraph", "empty.gtf"])
def test_an_empty_file_is_a_track_that_is_said_to_be_empty(session, page, tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    open_one(session, page, tmp_path / name)
    assert session.problem == f"{name} is open, and has no intervals to show."
    assert "The file has no " in page.tracks.tracks[0].data.notes[-1]
    page.complete()
    page.poll()
    assert "What is open has no intervals" in page.nothing[0].object
    (tmp_path / "good.bed").write_text("c\t0\t9\tg\n")
    open_one(session, page, tmp_path / "good.bed")
    page.poll()
    assert not page.nothing.visible
    assert [row.note for row in page.browser.drawing.rows] == ["has no intervals", ""]


def test_a_bigwig_that_is_cut_off_is_named(tmp_path):
    starts = np.arange(0, 400_000, 2)
    steps = Intervals.from_columns(["c"] * len(starts), starts, starts + 1, scores=starts * 0.37)
    write_bigwig(tmp_path / "whole.bw", steps)
    cut = tmp_path / "cut.bw"
    cut.write_bytes((tmp_path / "whole.bw").read_bytes()[:30_000])
    with pytest.raises(FileFormatError, match=r"cut\.bw: .*(cut off or damaged|can be read)"):
        list(iter_read_track(cut))


class PanicException(BaseException):
    """As the one of Rust's libraries, which is not an Exception."""


@pytest.mark.parametrize("error", [OSError("no space"), PanicException("no space")])
def test_what_the_library_of_bigwig_fails_with_is_said(tmp_path, monkeypatch, error):
    def fail(*_arguments):
        raise error

    steps = Intervals.from_columns(["c"], [0], [9], scores=[1.0])
    target = tmp_path / "x.bw"
    write_bigwig(target, steps)
    before = target.read_bytes()
    monkeypatch.setattr("pybigtools.open", fail)
    with pytest.raises(FileFormatError, match=r"x\.bw: cannot be written: no space"):
        write_bigwig(target, steps)
    assert target.read_bytes() == before
    with pytest.raises(FileFormatError, match=r"x\.bw: is no .* file that can be read: no space"):
        list(iter_read_track(target))


def test_an_interrupt_within_the_library_of_bigwig_is_no_bad_file(tmp_path, monkeypatch):
    def interrupt(*_arguments):
        raise KeyboardInterrupt

    steps = Intervals.from_columns(["c"], [0], [9], scores=[1.0])
    write_bigwig(tmp_path / "x.bw", steps)
    monkeypatch.setattr("pybigtools.open", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_bigwig(tmp_path / "y.bw", steps)
    with pytest.raises(KeyboardInterrupt):
        list(iter_read_track(tmp_path / "x.bw"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.bw"]


def test_reads_that_are_cut_off_are_named_and_an_index_is_not_needed(session, page, tmp_path):
    content = real_data(BAM).read_bytes()
    (tmp_path / "cut.bam").write_bytes(content[:60_000])
    (tmp_path / "whole.bam").write_bytes(content)
    open_one(session, page, tmp_path / "cut.bam")
    assert "cut.bam: cannot be read" in session.problem
    open_one(session, page, tmp_path / "whole.bam")
    assert (session.problem, page.browser.contig) == ("", "chr9")


def test_a_file_that_vanishes_stays_open_and_is_missed_when_opened_again(session, page, tmp_path):
    path = tmp_path / "here.bed"
    path.write_text("c\t0\t9\tg\n")
    open_one(session, page, path)
    path.unlink()
    page.navigation.go("c:1-5")
    page.poll()
    assert page.browser.drawing.rows
    open_one(session, page, path)
    assert "here.bed does not exist on the server" in session.problem
    assert len(page.tracks) == 1


def test_a_file_that_vanishes_before_it_is_read_is_said(tmp_path):
    with pytest.raises(FileFormatError, match=r"gone\.bed: "):
        list(iter_read_track(tmp_path / "gone.bed"))


def test_names_of_many_features_are_sorted_before_the_page_has_them(session, page, tmp_path):
    rows = "".join(f"c\t{k}\t{k + 5}\tname{k}\n" for k in range(200_000))
    (tmp_path / "many.bed").write_text(rows)
    open_one(session, page, tmp_path / "many.bed")
    assert page.navigation.place._filter_options("name19999")[0] == "name19999"
    page.navigation.go("name123456")
    assert page.browser.region.start < 123_456 < page.browser.region.end
