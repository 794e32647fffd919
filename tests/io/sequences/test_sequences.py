from __future__ import annotations

import gzip
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import Sequences, iter_read_sequences, read_sequences, write_fasta
from genoviz.errors import FileFormatError
from genoviz.io.sequences import fasta, two_bit
from tests.conftest import real_data
from tests.oracles.two_bit import write_two_bit

NAME = st.text("abz019_.|", min_size=1, max_size=8)
LETTERS = st.one_of(
    st.text("ACGT", max_size=300),
    st.text("ACGTNacgtnRYKMSWBDHVry", max_size=200),
    st.lists(st.sampled_from(["ACGTTGCA" * 9, "acgtn" * 12, "N" * 70]), max_size=5).map("".join),
)
RECORDS = st.lists(st.tuples(NAME, LETTERS), min_size=1, max_size=6)


def same(found: Sequences, records) -> None:
    """The sequences are those of the records, which a slow way put together."""
    expected = Sequences.from_records(records)
    assert found.names == expected.names
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.bases.tobytes() == expected.bases.tobytes()
    assert found.masked.tolist() == expected.masked.tolist()


@pytest.fixture
def write(tmp_path):
    """Return a function that writes bytes to a file and returns its path."""

    def write_file(content: bytes, name: str = "genome.fa"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write_file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sequences")


@settings(max_examples=150)
@given(RECORDS, st.integers(1, 90), st.sampled_from([b"\n", b"\r\n", b"\n\n", b" \n"]), st.data())
def test_any_layout_of_lines_is_read(folder, records, width, end_of_line, data):
    text = bytearray()
    for name, letters in records:
        text += b">" + name.encode() + b" more words" + end_of_line
        at = 0
        while at < len(letters):
            n = data.draw(st.integers(1, 90)) if width > 80 else width
            text += letters[at : at + n].encode() + end_of_line
            at += n
    if data.draw(st.booleans()):
        text = text.rstrip()
    path = folder / "any.fa"
    path.write_bytes(gzip.compress(text) if data.draw(st.booleans()) else text)
    found = read_sequences(path)
    same(found, records)
    headers = [header.rstrip(" ") for header in found.descriptions]
    assert headers == [f"{name} more words" for name, _ in records]


@settings(max_examples=100)
@given(RECORDS, st.integers(0, 70), st.sampled_from([17, 64, 129, 200]))
def test_blocks_may_end_anywhere(folder, records, width, block):
    path = folder / "blocks.fa"
    written = [(name, np.frombuffer(letters.encode(), np.uint8)) for name, letters in records]
    write_fasta(written, path, line_width=width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fasta, "BLOCK", block)
        same(read_sequences(path), records)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(NAME, st.text("ACGTNacgtn", max_size=99)), max_size=6),
    st.sampled_from("<>"),
    st.sampled_from([0, 1]),
)
def test_two_bit_comes_back(folder, records, order, version):
    path = folder / "genome.2bit"
    path.write_bytes(write_two_bit(records, order=order, version=version))
    same(read_sequences(path), records)


def test_fasta_as_pysam_reads_it(folder):
    pysam = pytest.importorskip("pysam")
    path = real_data("genomes/human_LPA_pangenome.fa.gz")
    with pysam.FastxFile(str(path)) as file:
        records = [(record.name, record.sequence) for record in file]
    same(read_sequences(path), records)


@pytest.mark.parametrize(
    "name", ["ecoli_k12_mg1655.fna.gz", "human_chr22_20-21M.fa.gz", "saureus_COL.fa.gz"]
)
def test_genomes_as_pysam_reads_them(name):
    pysam = pytest.importorskip("pysam")
    path = real_data(f"genomes/{name}")
    with pysam.FastxFile(str(path)) as file:
        records = [(record.name, record.sequence) for record in file]
    same(read_sequences(path), records)


def test_two_bit_as_py2bit_reads_it():
    py2bit = pytest.importorskip("py2bit")
    path = real_data("genomes/sacCer3.2bit")
    file = py2bit.open(str(path), True)
    same(read_sequences(path), [(name, file.sequence(name)) for name in file.chroms()])


def test_masks_of_a_two_bit_may_be_nested(write):
    stretches = [(2, 8), (3, 1), (9, 4), (20, 0), (15, 2), (15, 1)]
    body = [len("ACGT" * 5), 0, len(stretches), *zip(*stretches, strict=True), 0]
    numbers = np.hstack(body).astype("<u4").tobytes()
    head = struct.pack("<4I", 0x1A412743, 0, 1, 0) + b"\1c" + struct.pack("<I", 22)
    found = read_sequences(write(head + numbers + bytes(5), "genome.2bit"))
    assert found.masked.tolist() == [[2, 13], [15, 17]]


def test_a_two_bit_of_several_blocks_is_whole(write, monkeypatch):
    monkeypatch.setattr(two_bit, "_BLOCK", 3)
    records = [("a", "ACGTTNNACGtacca" * 3), ("b", ""), ("c", "G" * 25)]
    same(read_sequences(write(write_two_bit(records), "g.2bit")), records)


def test_lines_of_all_lengths_and_rna(write):
    long = "ACGTNACGTAC" * 819
    text = f">long\n{long}\n>rna x\nacgUUuu\n\n\nAC GT\tA\n>\nGGG\n>empty\n>long\nTT".encode()
    found = read_sequences(write(b"\xef\xbb\xbf" + text))
    same(
        found,
        [
            ("long", long),
            ("rna", "acgUUuuACGTA"),
            ("sequence_3", "GGG"),
            ("empty", ""),
            ("long", "TT"),
        ],
    )
    assert found.descriptions == ("long", "rna x", "", "empty", "long")
    assert found.notes == (
        "1 of 5 sequences have no name; the first of them is called sequence_3",
        "1 name is that of several sequences, which are kept apart; the first is long",
    )


def test_a_header_may_hold_anything(write):
    found = read_sequences(write(b">chr1>2 caf\xe9 > x\tT\nAC\n>\tchr2\nG\n> c 3  \r\nT\n"))
    same(found, [("chr1>2", "AC"), ("chr2", "G"), ("c", "T")])
    assert found.descriptions == ("chr1>2 caf\ufffd > x\tT", "\tchr2", " c 3  ")


def test_progress_ends_with_the_sequences(write):
    text = b">a\n" + b"ACGT" * 800_000 + b"\n"
    reports = list(iter_read_sequences(write(gzip.compress(text), "a.fa.gz")))
    assert {report.stage for report in reports} == {
        "Decompressing",
        "Finding sequences",
        "Reading sequences",
    }
    assert all(report.sequences is None for report in reports[:-1])
    assert all(0 <= report.n_bytes <= report.n_bytes_total for report in reports)
    assert reports[-1].sequences.total_length == 3_200_000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b">a\nACGT\nAC*\n>b\n", r"genome.fa, line 3: the sequence has '\*', needs letters of ACG"),
        (b">a\nACGT\n>b\nA-C\n", "line 4: the sequence has '-', needs letters of"),
        (b">a\nACGT>b\n", "line 2: the sequence has '>', needs letters of"),
        (b">a\n" + b"ACGT\n" * 300_000 + b"AC1\n", "line 300002: the sequence has '1'"),
        (b">a\nAC\x01GT\n", "line 2: the sequence has"),
        (b">a\nACGT\n>b\0\0\0\0\0GT\nAC\n", "line 3: has a byte of zero"),
        (b">a\rACGT\rGG\r>b\rAA\r", "has lines that end in a carriage return alone"),
        (b"\n\nACGT\n>b\n", "line 3: begins with 'ACGT', needs to be FASTA"),
        (b"@r1\nACGT\n+\nIIII\n", "line 1: is FASTQ, needs to be FASTA"),
        (b"H\tVN:Z:1.0\n", r"line 1: is a graph \(GFA\), needs to be FASTA"),
        (b"GBZ \1\0\0\0\0\0", r"line 1: is a graph \(GBZ\), needs to be FASTA"),
        (b"BAM\1\0\0\0\0\0", "line 1: is BAM, needs to be FASTA"),
        # A layout of odgi starts like text in UTF-16.
        (b"\xfe\xff\xff\xff\xff?\x8f@lM\0\0\0\0", r"line 1: begins with .*, needs to be FASTA"),
        (">a\nACGT\n".encode("utf-16"), "genome.fa: is text in UTF-16, needs UTF-8"),
        (">a\nACGT\n".encode("utf-16-be"), "line 1: begins with"),
        (b"\xfe\xff" + ">a\n".encode("utf-16-be"), "is text in UTF-16, needs UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", r"line 1: begins with '.x89PNG', needs to be FASTA"),
        (b"\n \n\n", "genome.fa: has no sequence, needs one at least"),
        (b"", "genome.fa: the file is empty, needs sequences in FASTA or 2bit"),
    ],
)
def test_what_is_no_fasta_is_said(write, content, words):
    with pytest.raises(FileFormatError, match=words):
        read_sequences(write(content))


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileFormatError, match=r"no.fa: there is no such file"):
        read_sequences(tmp_path / "no.fa")


GOOD = write_two_bit([("chr1", "ACGTNNacgt" * 4), ("chr2", "GGC")])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (GOOD[:10], "the head lies at bytes 4 to 16 of a file of 10"),
        (GOOD[:20], "the index of 2 sequences lies at"),
        (GOOD[:40], "sequence 'chr1' lies at"),
        (GOOD[:-1], r"sequence 'chr2' lies at .* \(truncated or damaged file\)"),
        (GOOD[:4] + struct.pack("<I", 2) + GOOD[8:], "is 2bit of version 2, needs 0 or 1"),
        (GOOD[:8] + struct.pack("<I", 1 << 31) + GOOD[12:], "index of 2,147,483,648 sequences"),
        (
            GOOD.replace(struct.pack("<I", 40), struct.pack("<I", 30), 1),
            "beyond its 30 bp",
        ),
    ],
)
def test_a_damaged_two_bit_is_refused(write, content, words):
    with pytest.raises(FileFormatError, match=words):
        read_sequences(write(content, "genome.2bit"))


@settings(max_examples=200)
@given(st.data())
def test_no_damage_of_a_two_bit_does_more_than_a_sentence(folder, data):
    content = bytearray(GOOD)
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = folder / "damaged.2bit"
    path.write_bytes(content[: data.draw(st.integers(4, len(content)))])
    with suppress(FileFormatError):
        assert isinstance(read_sequences(path), Sequences)
