"""Annotations are read from files as they are, and what is wrong with one is said."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from genoviz.errors import FileFormatError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.text import text_file
from tests.conftest import real_data
from tests.oracles.annotations import read_bed_text, read_gff_text


def bed_rows(annotations):
    columns = (
        annotations.contigs,
        annotations.starts.tolist(),
        annotations.ends.tolist(),
        annotations.names,
        annotations.strands.tolist(),
    )
    rows = zip(*columns, strict=True)
    return [
        (*row, [tuple(block) for block in annotations.blocks_of(k).tolist()])
        for k, row in enumerate(rows)
    ]


def gff_rows(annotations):
    columns = (
        annotations.contigs,
        annotations.starts.tolist(),
        annotations.ends.tolist(),
        annotations.names,
        annotations.strands.tolist(),
        annotations.types,
    )
    return list(zip(*columns, strict=True))


BED = """browser position chr6:1-100
track name="a b" itemRgb="On"
# comment
chr6\t10\t30\tfirst\t960\t+\t10\t30\t255,128,0\t2\t5,6,\t0,14,

chr6\t7\t7\t.\t.\t-\t7\t7\t0\t1\t0\t0
6\t0\t9\tn\t0\t.\t0\t9\t0,0,0\t1\t9\t0
"""


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write_file


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("ending", ["", ".gz", ".bgz"])
def test_all_columns_of_bed(write, newline, ending):
    text = BED.replace("\n", newline).encode()
    if ending == ".gz":
        text = gzip.compress(text[:90]) + gzip.compress(text[90:])
    elif ending == ".bgz":
        text = text_file.compress_blocks(text) + text_file.BGZF_END
    read = read_annotations(write(f"a.bed{ending}", text))
    assert bed_rows(read) == read_bed_text(BED)
    assert bed_rows(read)[0] == ("chr6", 10, 30, "first", 1, [(10, 15), (24, 30)])
    assert [read.colour_of(k) for k in range(3)] == ["#ff8000", None, None]
    assert read.scores[0] == 960
    assert np.isnan(read.scores[1])
    assert list(read.types) == ["", "", ""]
    assert read.notes == ()


@pytest.mark.parametrize("n_columns", range(3, 13))
def test_bed_of_any_number_of_columns(write, n_columns):
    fields = "chr6 10 30 first 960 + 10 30 255,128,0 2 5,6 0,14".split()[:n_columns]
    for separator in ("\t", " ", "   "):
        read = read_annotations(write("a.bed", separator.join(fields)))
        assert bed_rows(read) == read_bed_text("\t".join(fields))
        assert (read.colour_of(0) is not None) == (n_columns >= 9)


def test_colour_in_the_name_as_odgi_takes_it(write):
    read = read_annotations(write("a.bed", "c\t1\t2\tC4A#Ff0080\nc\t1\t2\tHG1#2#c\n"))
    assert (list(read.names), read.colour_of(0)) == (["C4A", "HG1#2#c"], "#ff0080")
    assert read.colours[1] == -1


@pytest.mark.parametrize("header", ["chrom\tstart\tend\tname", "chrom start end"])
def test_names_of_columns_are_passed_over_with_a_note(write, header):
    between = "\t" if "\t" in header else " "
    row = between.join(["chr1", "1", "5"])
    found = read_annotations(write("named.bed", f"{header}\n{row}\n"))
    assert (found.starts.tolist(), found.ends.tolist()) == ([1], [5])
    shown = header.replace("\t", " ")
    assert found.notes == (f"The first row, '{shown}', was taken for names.",)


def test_a_single_row_of_words_is_not_taken_for_names(write):
    for between in "\t ":
        path = write("a.bed", "# words\n" + between.join(["chr1", "ten", "twenty"]) + "\n\n")
        with pytest.raises(FileFormatError, match="line 2: BED feature has the start 'ten', needs"):
            read_annotations(path)
    named = read_annotations(write("a.bed", "#none\nchrom\tchromStart\tchromEnd\n"))
    assert (len(named), named.notes[0][-31:]) == (0, "chromEnd', was taken for names.")


def test_columns_that_are_no_bed12_are_left_out(write):
    read = read_annotations(write("a.narrowPeak", real_text("run_callpeak")))
    assert bed_rows(read) == read_bed_text(real_text("run_callpeak"))
    text = "c\t1\t9\tn\t0\t+\t1\t9\t0\t2\t4\t0\nc\t1\t9\tn\t0\t+\t1\t9\t0\tx\ty\tz\n"
    read = read_annotations(write("a.bed", text))
    assert len(read.blocks) == 0
    assert read.notes == ("Block columns of 2 features do not fit: left out.",)


def test_blocks_that_reach_beyond_their_row_are_left_out(write):
    row = "c\t100\t200\t{}\t0\t+\t100\t200\t0\t2\t10,{}\t{},80\n"
    text = row.format("fits", 20, 0) + row.format("beyond", 21, 0) + row.format("before", 20, -1)
    read = read_annotations(write("a.bed", text + row.format("fits", 10, 5)))
    assert read.block_offsets.tolist() == [0, 2, 2, 2, 4]
    assert read.blocks.tolist() == [[100, 110], [180, 200], [105, 115], [180, 190]]
    assert read.notes == ("Block columns of 2 features do not fit: left out.",)


def real_text(name):
    return real_data(f"intervals/{name}_narrow4_peaks.narrowPeak").read_text()


GFF3 = """##gff-version 3
# comment
chr%206\tHAVANA\tgene\t11\t30\t.\t+\t.\tID=g1;Name=C4A%3B1;color=#00FF80
chr6\t.\tmRNA\t1\t9\t0.5\t-\t.\tParent=g1;ID=t1
chr6\t.\texon\t1\t9\t.\t?\t0\tParent=t1
##FASTA
>chr6
ACGT
"""


def test_gff3(write):
    read = read_annotations(write("a.gff3", GFF3))
    assert gff_rows(read) == read_gff_text(GFF3)
    assert gff_rows(read)[0] == ("chr 6", 10, 30, "C4A;1", 1, "gene")
    assert [read.colour_of(k) for k in range(3)] == ["#00ff80", None, None]
    assert read.scores[1] == 0.5


@pytest.mark.parametrize("name", ["a.txt", "a", "a.gtf.gz"])
def test_real_gtf_under_any_name(write, name):
    text = gzip.decompress(
        real_data("intervals/Saccharomyces_cerevisiae.SGD1.01.56.gtf.gz").read_bytes()
    )
    content = gzip.compress(text) if name.endswith("gz") else text
    read = read_annotations(write(name, content))
    assert len(read) == 28_001
    assert gff_rows(read) == read_gff_text(text.decode())


keys = st.sampled_from(["gene_id", "gene_name", "Name", "ID", "note", "tag"])
texts = st.text("ab;= ", min_size=1, max_size=6).filter(str.strip)


@given(st.lists(st.lists(st.tuples(keys, texts), min_size=1, max_size=5), min_size=1, max_size=6))
@example([[("note", "x; Name=y; Parent=z"), ("gene_id", "a;b")], [("gene_id", "a;c")]])
def test_quotes_of_gtf_protect_what_they_enclose(tmp_path_factory, rows):
    text = "".join(
        f"c\tx\texon\t{k + 1}\t{k + 1}\t.\t+\t.\t"
        + " ".join(f'{key} "{value}";' for key, value in attributes)
        + "\n"
        for k, attributes in enumerate(rows)
    )
    path = tmp_path_factory.mktemp("gtf") / "a.gtf"
    path.write_text(text)
    read = read_annotations(path)
    of_rows = [dict(reversed(attributes)) for attributes in rows]
    names = ("Name", "gene_name", "ID", "gene_id")
    assert list(read.names) == [next((own[n] for n in names if n in own), "") for own in of_rows]
    genes = [own.get("gene_id") for own in of_rows]
    firsts = [-1 if gene is None else genes.index(gene) for gene in genes]
    assert read.genes.tolist() == firsts


@pytest.mark.parametrize(
    "name",
    ["refseq.chr1.exons", "dbsnp_chr21_22", "contigs50k", "fBrain-DS14718_hg19"],
)
def test_real_bed(name):
    path = real_data(f"intervals/{name}.bed.gz")
    expected = read_bed_text(gzip.decompress(path.read_bytes()).decode())
    assert bed_rows(read_annotations(path)) == expected


words = st.text("abcXYZ#.:_-é\"'", min_size=1, max_size=6)


@given(
    st.lists(
        st.tuples(words, st.integers(0, 10**12), st.integers(0, 99), words, st.sampled_from("+-.")),
        min_size=1,
    )
)
def test_random_bed(tmp_path_factory, rows):
    lines = [
        f"{contig}\t{start}\t{start + length}\t{name}\t0\t{strand}"
        for contig, start, length, name, strand in rows
        if not contig.startswith("#")
    ]
    path = tmp_path_factory.mktemp("bed") / "a.bed"
    path.write_text("\n".join(lines))
    assert bed_rows(read_annotations(path)) == read_bed_text("\n".join(lines))


fields = st.sampled_from(
    [
        "c",
        "",
        "0",
        "7",
        "-3",
        "9e9",
        " 5",
        "+",
        ".",
        "0,0",
        "1,2,",
        "9,9,9",
        "ID=a;Name=",
        "%",
        "\xe9",
    ]
)
lines = st.lists(fields, max_size=13).map("\t".join) | st.sampled_from(["#", "track", ">x", "\r"])


@given(st.lists(lines, max_size=5), st.sampled_from(["bed", "gff", "txt"]), st.binary(max_size=9))
def test_any_text_is_read_or_refused_with_its_line(tmp_path_factory, texts, ending, rest):
    path = tmp_path_factory.mktemp("any") / f"a.{ending}"
    path.write_bytes("\n".join(texts).encode() + rest)
    try:
        read = read_annotations(path)
    except FileFormatError as error:
        n_lines = error.line or 1
    else:
        n_lines = len(read)
        assert len(list(read.names)) == len(list(read.contigs)) == n_lines
    assert n_lines <= len(texts) + 10


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# nothing\n", gzip.compress(b"", mtime=0)])
@pytest.mark.parametrize("name", ["a.bed", "a.gff3"])
def test_a_file_without_annotations(write, name, content):
    read = read_annotations(write(name, content))
    assert (len(read), len(read.blocks), list(read.names)) == (0, 0, [])
    assert read.notes == ("The file has no annotations.",)


GOOD_BED, GOOD_GFF = "c\t1\t5\n", "c\t.\tgene\t1\t5\t.\t+\t.\tID=x\n"


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("a.bed", "c\t1", "BED feature has 2 columns, needs 3 at least (contig, start, end)"),
        (
            "a.bed",
            "c\tx\t5",
            "BED feature has the start 'x', needs an integer of at least 0 and below 2^63",
        ),
        (
            "a.bed",
            "c\t-1\t5",
            "BED feature has the start '-1', needs an integer of at least 0 and below 2^63",
        ),
        (
            "a.bed",
            "c\t1\t5.5",
            "BED feature has the end '5.5', needs an integer of at least 0 and below 2^63",
        ),
        (
            "a.bed",
            "c\t1\t",
            "BED feature has the end '', needs an integer of at least 0 and below 2^63",
        ),
        ("a.bed", "c\t1\t99999999999999999999", "has the end '99999999999999999999', needs an"),
        ("a.bed", "c\t9\t5", "BED feature ends at 5, before its start 9"),
        ("a.bed", "\t9\t15", "BED feature names no contig, needs one in its first column"),
        (
            "a.gff",
            "c\t.\tgene\t0\t5\t.\t+\t.\t",
            "has the start '0', needs an integer of at least 1",
        ),
        ("a.gff", "c\t.\tgene\t7\t5\t.\t+\t.\t", "GFF feature ends at 5, before its start 7"),
        ("a.gff", "c\t.\tgene\t7", "GFF feature has 4 columns, needs 8 at least (contig, source"),
    ],
)
def test_first_wrong_line_is_named(write, name, line, message):
    good = GOOD_BED if name == "a.bed" else GOOD_GFF
    text = f"# one\n\n{good}{line}\n{good}{line}{line}\n"
    with pytest.raises(FileFormatError) as error:
        read_annotations(write(name, text))
    assert str(error.value).startswith(f"{name}, line 4: ")
    assert message in str(error.value)
    assert error.value.line == 4


def test_other_files_are_refused(write, tmp_path):
    with pytest.raises(FileFormatError, match="needs to be BED, GFF3 or GTF"):
        read_annotations(write("a.bw", b"\x26\xfc\x8f\x88\x00\x01\x02"))
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_annotations(tmp_path / "no.bed")
    with pytest.raises(FileFormatError, match="truncated"):
        read_annotations(write("a.bed.gz", gzip.compress(b"c\t1\t2\n" * 999)[:-20]))
