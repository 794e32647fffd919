from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genoviz import FileFormatError, ParameterError
from genoviz.io.intervals import rows as interval_rows
from genoviz.io.intervals.intervals import iter_read_intervals, read_intervals
from genoviz.io.text.text_file import BGZF_END, compress_blocks
from genoviz.model import Intervals, PathRegion
from tests.conftest import real_data
from tests.oracles.interval_text import read_rows

REAL = {
    "exons_hg19.bed.gz": "bed",
    "fBrain-DS14718_hg19.bed.gz": "bed",
    "refseq.chr1.exons.bed.gz": "bed",
    "simpleRepeats.chr1.bed.gz": "bed",
    "dbsnp_chr21_22.bed.gz": "bed",
    "CTCF_SE_ChIP_chr22_50k.bed.gz": "bed",
    "contigs50k.bed.gz": "bed",
    "run_callpeak_narrow4_peaks.narrowPeak": "narrowpeak",
    "chr9_4-6Mb/bed_chr9_4000000_6000000_chromstates.bed": "bed",
    "chr9_4-6Mb/gtf_chr9_4000000_6000000.gtf": "gff",
    "Saccharomyces_cerevisiae.SGD1.01.56.gtf.gz": "gff",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("intervals")


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def contigs_of(found: Intervals) -> list[str]:
    return [found.contigs[rank] for rank in found.contig_ids]


def assert_as_by_hand(found: Intervals, rows: list[dict]) -> None:
    assert contigs_of(found) == [row["contig"] for row in rows]
    assert found.starts.tolist() == [row["start"] for row in rows]
    assert found.ends.tolist() == [row["end"] for row in rows]
    if found.names is not None:
        assert list(found.names) == [row["name"] for row in rows]
    for values, name in ((found.strands, "strand"), (found.scores, "score")):
        if values is not None:
            np.testing.assert_array_equal(values, [row[name] for row in rows])


@pytest.mark.parametrize("name", REAL)
def test_real_files_are_read_as_by_hand(name):
    path = real_data(f"intervals/{name}")
    rows = read_rows(path, REAL[name])
    found = read_intervals(path)
    assert len(found) > 500
    assert found.contigs == tuple(dict.fromkeys(row["contig"] for row in rows))
    assert_as_by_hand(found, rows)


def test_parts_of_a_file_are_read_as_the_whole(monkeypatch):
    path = real_data("intervals/contigs50k.bed.gz")
    whole = read_intervals(path)
    monkeypatch.setattr(interval_rows, "PART", 100_000)
    parts = read_intervals(path)
    assert parts.contigs == whole.contigs
    assert len(whole.contigs) == 50_000
    for name in ("contig_ids", "starts", "ends"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\t\r\n"), max_size=6)
CONTIGS = st.from_regex(r"[A-Za-z0-9_*.#:-]{1,9}", fullmatch=True).filter(
    lambda name: not name.startswith("#") and name not in ("track", "browser")
)
PLACES = st.tuples(st.integers(0, 2**60), st.integers(0, 2**57)).map(
    lambda p: (p[0] % 10**17, p[1])
)
BED_ROWS = st.lists(
    st.tuples(
        CONTIGS,
        PLACES,
        WORDS,
        st.floats(allow_nan=False) | st.integers(0, 1000),
        st.sampled_from("+-."),
    ),
    max_size=12,
)
OTHER_LINES = st.sampled_from(["", "#x\ty", "track name=a b", "browser position chr1:1-2", " \t"])


@given(
    rows=BED_ROWS,
    others=st.lists(st.tuples(st.integers(0, 12), OTHER_LINES), max_size=4),
    end=st.sampled_from(["\n", "\r\n"]),
    ends_open=st.booleans(),
    packing=st.sampled_from(["", ".gz", ".bgz"]),
)
@example(rows=[], others=[], end="\n", ends_open=True, packing="")
@example(rows=[], others=[(0, "#x\ty")], end="\r\n", ends_open=False, packing=".gz")
def test_what_is_written_comes_back(folder, rows, others, end, ends_open, packing):
    lines = [
        f"{contig}\t{start}\t{start + length}\t{name}\t{score!r}\t{strand}"
        for contig, (start, length), name, score, strand in rows
    ]
    for place, line in others:
        lines.insert(place, line)
    text = (end.join(lines) + ("" if ends_open else end)).encode()
    if packing:
        text = gzip.compress(text) if packing == ".gz" else compress_blocks(text) + BGZF_END
    found = read_intervals(write(folder, f"rows.bed{packing}", text))
    assert contigs_of(found) == [row[0] for row in rows]
    assert found.starts.tolist() == [row[1][0] for row in rows]
    assert found.lengths.tolist() == [row[1][1] for row in rows]
    if rows:
        assert list(found.names) == [row[2] for row in rows]
        assert found.scores.tolist() == [float(row[3]) for row in rows]
        assert found.strands.tolist() == ["-.+".index(row[4]) - 1 for row in rows]


@pytest.mark.parametrize("n", [1, 300, 5000])
def test_contigs_are_numbered_as_they_first_appear(folder, n):
    rng = np.random.default_rng(n)
    contigs = [f"contig_{k}" for k in rng.integers(0, n, 3 * n)]
    text = "".join(f"{contig}\t{k}\t{k}\n" for k, contig in enumerate(contigs))
    found = read_intervals(write(folder, "many.bed", text))
    assert found.contigs == tuple(dict.fromkeys(contigs))
    assert contigs_of(found) == contigs


def test_columns_may_be_set_apart_by_spaces(folder):
    found = read_intervals(write(folder, "a.bed", "chr1  10 20\tx 0 -\n chr2 5 5 y 1.5 + \n"))
    assert contigs_of(found) == ["chr1", "chr2"]
    assert found.starts.tolist() == [10, 5]
    assert found.strands.tolist() == [-1, 1]
    assert found.scores.tolist() == [0, 1.5]


def test_gff_becomes_0_based_half_open(folder):
    text = (
        "##gff-version 3\nchr%201\tx\tgene\t1\t9\t.\t+\t.\tID=a\n"
        "c\tx\texon\t5\t5\t2\t-\t.\tID=b\n##FASTA\n>c\nACGT\n"
    )
    found = read_intervals(write(folder, "a.gff3", text))
    assert contigs_of(found) == ["chr 1", "c"]
    assert found.starts.tolist() == [0, 4]
    assert found.ends.tolist() == [9, 5]
    assert found.strands.tolist() == [1, -1]
    exons = read_intervals(write(folder, "unnamed", text), features=["exon", "CDS"])
    assert exons.starts.tolist() == [4]
    assert exons.contigs == ("c",)


def test_bedgraph_values_are_scores(folder):
    text = "track type=bedGraph\nchr1\t0\t10\t-1.5e-3\nchr1\t10\t20\tnan\nchr1\t20\t30\t7\n"
    found = read_intervals(write(folder, "a.txt", text))
    np.testing.assert_array_equal(found.scores, [-1.5e-3, np.nan, 7])
    assert found.names is None


def test_peaks_have_their_signal_as_score(folder):
    text = "c\t1\t9\tp\t84\t.\t6.5\t10.9\t8.4\t142\n"
    assert read_intervals(write(folder, "a.narrowPeak", text)).scores.tolist() == [6.5]
    assert read_intervals(write(folder, "a.bed", text)).scores.tolist() == [84]


def test_blocks_of_bed12_become_intervals(folder):
    text = (
        "c\t100\t200\ta\t1\t+\t0\t0\t0\t2\t10,20,\t0,80\n"
        "d\t7\t9\tb\t2\t-\t0\t0\t0\t1\t2\t0,\n"
        "c\t5\t6\tc\t3\t.\n"
    )
    found = read_intervals(write(folder, "a.bed12", text), blocks=True)
    assert found.starts.tolist() == [100, 180, 7, 5]
    assert found.ends.tolist() == [110, 200, 9, 6]
    assert list(found.names) == ["a", "a", "b", "c"]
    assert found.strands.tolist() == [1, 1, -1, 0]
    assert len(read_intervals(folder / "a.bed12")) == 3


def test_a_block_may_end_with_its_row_and_no_base_later(folder):
    text = "c\t100\t200\ta\t1\t+\t0\t0\t0\t2\t10,{}\t0,80\n"
    found = read_intervals(write(folder, "fits.bed", text.format(20)), blocks=True)
    assert found.ends.tolist() == [110, 200]
    with pytest.raises(FileFormatError, match=r"line 1: has the blocks .*, needs a number of"):
        read_intervals(write(folder, "beyond.bed", text.format(21)), blocks=True)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.bed", "c\t1\t2\nc\t5\n", "a.bed, line 2: has 2 columns, BED needs 3$"),
        ("a.bed", "c\t1\t2\nc 5 6\n", "line 2: has 1 column, BED needs 3, set apart by tabs"),
        ("a.bed", "#\n\nc\t-1\t2\n", "line 3: the start is '-1', needs a whole number from 0 on"),
        ("a.bed", "c\t1\t1e6\n", "line 1: the end is '1e6', needs a whole number"),
        ("a.bed", "c\t9\t8\n", "line 1: starts at 9 and ends at 8, needs an end that is not"),
        (
            "a.bed",
            "c\t1\t2\n" * 9 + "c\t1\t" + "9" * 19,
            "line 10: the end is .* at most 18 digits",
        ),
        ("a.bed", "c\t1\t2\n\t1\t2\n", "line 2: has an empty contig, needs a name"),
        ("a.bed", "\ufeffc\t1\tx\n", "line 1: the end is 'x'"),
        ("a.bed", "c\t1\t2\rc\t5\t9\r", "a.bed: has lines that end in CR alone, needs LF"),
        ("a.bed", "##fileformat=VCFv4.2\nc\t5\t7\tA\n", "is VCF, whose variants are not intervals"),
        ("a", ">c\nACGT\n", "is FASTA, whose sequences are not intervals"),
        ("a.fq", "@r 1\nACGT\n+\nIIII\n", "is FASTQ, whose reads have no places"),
        ("a.gfa", "H\tVN:Z:1.0\nS\t1\tACGT\n", "is a graph, not intervals"),
        ("a.bed", "# made\nS\ts1\tAC\tLN:i:2\n", "is a graph, not intervals"),
        ("a.gbz", b"GBZ \1\0\0\0" + bytes(8), "is a graph, not intervals"),
        ("a.wig", "track x\nfixedStep chrom=c start=1\n", "is wiggle, needs to be bedGraph or"),
        ("a.bdg", "c\t1\t2\t3\nc\t1\t2\tx\n", "line 2: the value is 'x', bedGraph needs a number"),
        ("a.bdg", "c\t1\t2\n", "line 1: has 3 columns, bedGraph needs 4"),
        ("a.gff", "c\tx\tgene\t0\t9\t.\t+\t.\tID=a\n", "the start is 0, but GFF counts from 1"),
        ("a.gff", "c\tx\tgene\t9\t8\t.\t+\t.\tID=a\n", "starts at 9 and ends at 8"),
        ("a.gff", "c\tx\tgene\t1\t0\t.\t+\t.\tID=a\n", "starts at 1 and ends at 0"),
        ("a.gff", "c x gene 1 9\n", "line 1: has 1 column, GFF needs 8, set apart by tabs"),
        ("a.bed", b"c\t1\t2\n\xff\t1\t2\n", "line 2: has a letter that is not UTF-8 "),
        ("a.bed.gz", gzip.compress(b"c\t1\t2\nc\t2\t1\n", mtime=0), "line 2: starts at 2"),
        ("a.bam", "c\t1\t2\n", "is not BAM, as its name says"),
    ],
)
def test_the_first_bad_row_is_named(folder, name, text, words):
    with pytest.raises(FileFormatError, match=words):
        read_intervals(write(folder, name, text))


@pytest.mark.parametrize(
    "row", ["S\t1\t2\n", "H\t1\t2\n", "GBZ 1\t1\t2\n", "S\tx\tgene\t2\t2\t.\t+\t.\tID=a\n"]
)
def test_contigs_named_as_records_of_graphs_are_intervals(folder, row):
    found = read_intervals(write(folder, "a", row))
    assert (found.contigs, found.ends.tolist()) == ((row.split("\t")[0],), [2])


def test_a_byte_order_mark_is_no_part_of_the_first_contig(folder):
    found = read_intervals(write(folder, "marked.bed", "\ufeffc\t1\t2\r\nc\t3\t4\r\n"))
    assert (found.contigs, found.ends.tolist()) == (("c",), [2, 4])


@pytest.mark.parametrize(
    "row",
    [
        "1\t100\t1",
        "2\t10,51\t0,50",
        "0\t1\t1",
        "2\t10\t0,1",
        "1\t200\t0",
        "2\t10,20\t0",
        "2\t10;20\t0,50",
        "x\t1\t1",
        "2",
        "1\t5",
    ],
)
def test_wrong_blocks_are_named(folder, row):
    text = f"#\nc\t100\t200\ta\t1\t+\t0\t0\t0\t{row}\n"
    with pytest.raises(
        FileFormatError, match=r"line 2: has the blocks .*, needs a number of blocks"
    ):
        read_intervals(write(folder, "wrong.bed", text), blocks=True)


def test_the_first_of_several_bad_rows_is_named_in_parts(folder, monkeypatch):
    monkeypatch.setattr(interval_rows, "PART", 64)
    lines = [f"c\t{k}\t{k + 1}" for k in range(100)]
    lines[40] = lines[80] = "c\t9\t1"
    with pytest.raises(FileFormatError, match="line 41"):
        read_intervals(write(folder, "a.bed", "\n".join(lines)))


FIELDS = st.sampled_from(["c", "", "0", "7", "12", "-1", "x1", "1.5", "+", ".", "#", "track", " "])


@given(
    lines=st.lists(st.lists(FIELDS, min_size=1, max_size=6).map("\t".join), max_size=8),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_any_text_is_read_or_refused_as_by_hand(folder, lines, end):
    lines = ["c\t0\t0\tn\t1\t+", *lines]
    rows, wrong = [], None
    for number, line in enumerate(lines, 1):
        fields = line.split("\t")
        if not line.strip(" \t") or line.startswith(("#", "track")):
            continue
        is_right = len(fields) >= 3 and fields[0] and fields[1].isdigit() and fields[2].isdigit()
        if not is_right or int(fields[2]) < int(fields[1]):
            wrong = number
            break
        rows.append((fields[0], int(fields[1]), int(fields[2])))
    path = write(folder, "any.bed", end.join(lines))
    if wrong:
        with pytest.raises(FileFormatError, match=f"any.bed, line {wrong}: "):
            read_intervals(path)
    else:
        found = read_intervals(path)
        places = zip(contigs_of(found), found.starts.tolist(), found.ends.tolist(), strict=True)
        assert list(places) == rows


@pytest.mark.parametrize("text", ["", "\n\n", "#only\n", "track name=x\r\n"])
def test_a_file_without_rows_is_empty(folder, text):
    found = read_intervals(write(folder, "none.bed", text))
    assert (len(found), found.contigs, found.notes) == (0, (), ())
    packed = read_intervals(write(folder, "none.bed.gz", gzip.compress(text.encode())))
    assert len(packed) == 0


def test_names_of_columns_are_passed_over_with_a_note(folder):
    found = read_intervals(write(folder, "a.bed", "chrom\tstart\tend\r\nc\t1\t2\r\n"))
    assert found.starts.tolist() == [1]
    assert found.notes == ("The first row, 'chrom start end', was taken for names.",)
    only = read_intervals(write(folder, "a.bed", "chrom\tstart\tend\n# none\n"))
    assert (len(only), only.notes) == (0, found.notes)


@pytest.mark.parametrize("between", "\t ")
@pytest.mark.parametrize("name", ["a.bed", "a.bdg", "a.narrowPeak", "a.txt", "a.bed.gz"])
def test_a_single_row_of_words_is_not_taken_for_names(folder, name, between):
    row = ["chr1", "ten", "twenty", *["1"] * (7 * (name == "a.narrowPeak") + (name == "a.bdg"))]
    text = "# words\n\n" + between.join(row) + "\n# none\n"
    content = gzip.compress(text.encode()) if name.endswith(".gz") else text.encode()
    (folder / name).write_bytes(content)
    with pytest.raises(FileFormatError, match=f"{name}, line 3: the start is 'ten', needs a whole"):
        read_intervals(folder / name)


def test_odd_scores_and_strands_are_noted(folder):
    found = read_intervals(write(folder, "a.bed", "c\t1\t2\tx\tno\t*\nc\t1\t2\tx\t5\t+\n"))
    np.testing.assert_array_equal(found.scores, [np.nan, 5])
    assert found.strands.tolist() == [0, 1]
    assert found.notes == (
        "Column 6 of 1 of 2 rows is no strand (+, - or .), so they have none.",
        "Column 5 of 1 of 2 rows is no number, so they have no score.",
    )


def test_a_region_is_cut_out(folder):
    path = write(folder, "a.bed", "c\t1\t5\nd\t1\t5\nc\t5\t9\nc\t9\t20\n")
    for region in ("c:5-9", ("c", 5, 9), PathRegion("c", 5, 9)):
        assert read_intervals(path, region=region).starts.tolist() == [5]
    none = read_intervals(path, region=("x", 5, 9))
    assert (len(none), none.notes) == (0, ("No interval lies on x.",))
    assert read_intervals(path, region="c").starts.tolist() == [1, 5, 9]
    assert read_intervals(path, region="chrc:19").starts.tolist() == [9]
    assert read_intervals(path, region="c:5").starts.tolist() == [5]
    with pytest.raises(ParameterError, match="region is empty, needs CONTIG, CONTIG:POSITION or"):
        read_intervals(path, region=" ")
    with pytest.raises(ParameterError, match="region 'c:9-5' ends at 5, needs an end after its"):
        read_intervals(path, region="c:9-5")


@pytest.mark.parametrize("is_csi", [False, True])
def test_an_index_gives_the_same_region(folder, is_csi):
    pysam = pytest.importorskip("pysam")
    found = read_intervals(real_data("intervals/refseq.chr1.exons.bed.gz"))
    order = np.lexsort((found.ends, found.starts))
    rows = found.select(order)
    text = "".join(f"chr1\t{a}\t{b}\n" for a, b in zip(rows.starts, rows.ends, strict=True))
    path = write(folder, f"exons{is_csi}.bed", text)
    whole = read_intervals(path, region="chr1:1,000,000-1,200,000")
    packed = pysam.tabix_index(str(path), preset="bed", csi=is_csi, force=True)
    by_index = read_intervals(packed, region="chr1:1,000,000-1,200,000")
    assert len(whole) > 100
    assert by_index.starts.tolist() == whole.starts.tolist()
    assert by_index.ends.tolist() == whole.ends.tolist()
    assert len(read_intervals(packed, region="chr2:1-2")) == 0


def test_an_index_gives_contigs_and_names_of_any_letters(folder):
    pysam = pytest.importorskip("pysam")
    path = write(folder, "letters.bed", "chré\t5\t9\tß\nchré\t50\t90\tç\n")
    packed = pysam.tabix_index(str(path), preset="bed")
    found = read_intervals(packed, region="chré:0-20")
    assert (found.contigs, found.ends.tolist(), list(found.names)) == (("chré",), [9], ["ß"])


def test_progress_ends_with_the_intervals():
    path = real_data("intervals/exons_hg19.bed.gz")
    reports = list(iter_read_intervals(path))
    assert {report.stage for report in reports} >= {"Decompressing", "Reading intervals"}
    assert [report.intervals is None for report in reports] == [True] * (len(reports) - 1) + [False]
    assert all(0 <= report.n_bytes_done <= report.n_bytes_total for report in reports)


def test_an_unknown_kind_and_a_missing_file_are_named(folder):
    with pytest.raises(ParameterError, match="kind is 'vcf', needs one of bed, narrowpeak"):
        read_intervals(folder / "a.bed", kind="vcf")
    with pytest.raises(FileFormatError, match="there is no such file in"):
        read_intervals(folder / "not_here.bed")
