"""Compressed text of more bytes, of longer lines or packed tighter than is taken is refused."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import numpy as np
import pytest

from genoviz.errors import FileFormatError
from genoviz.io.files.reading_rules import RULES
from genoviz.io.genotypes.phenotypes import read_phenotypes
from genoviz.io.genotypes.reader import read_genotypes
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.intervals.intervals import read_intervals
from genoviz.io.sequences.fastq import iter_fastq_blocks
from genoviz.io.sequences.reader import read_sequences
from genoviz.io.text import text_file
from genoviz.io.text.text_file import compress_blocks

MB = 1_000_000
VCF = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts\n"
READERS = {
    "a.gfa.gz": (read_gfa, "S\ts1\t", "\n"),
    "a.fa.gz": (read_sequences, ">a\n", "\n"),
    "a.bed.gz": (read_intervals, "chr1\t1\t2\t", "\n"),
    "a.gff3.gz": (read_annotations, "chr1\ta\tgene\t1\t2\t.\t+\t.\tName=", "\n"),
    "a.tsv.gz": (read_phenotypes, "IID\tx\ns1\t", "\n"),
}


def bgzip(text):
    return compress_blocks(text) + text_file.BGZF_END


@pytest.fixture(autouse=True)
def _small_memory(monkeypatch):
    monkeypatch.setattr(text_file, "MAX_BYTES_IN_MEMORY", 4 * MB)


@pytest.fixture(params=[gzip.compress, bgzip], ids=["gzip", "bgzip"])
def write(request, tmp_path):
    def write(name, start, end, n_bytes):
        path = tmp_path / name
        text = start + "A" * (n_bytes - len(start) - len(end)) + end
        path.write_bytes(request.param(text.encode()))
        return path

    return write


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("limit", "value", "words"),
    [
        ("max_ratio", 100, r"of text in its first [\d.]+ .B, more than 100 times as much"),
        ("max_text_bytes", 20 * MB, "holds more than 20 MB of text once decompressed"),
        ("max_line_bytes", 20 * MB, "has a line of more than 20 MB once decompressed"),
    ],
)
def test_every_reader_of_text_refuses_too_much(write, name, limit, value, words, monkeypatch):
    read, start, end = READERS[name]
    path = write(name, start, end, 30 * MB)
    monkeypatch.setattr(RULES, limit, value)
    with pytest.raises(FileFormatError, match=f"{name}: .*{words}.* or have the limit {limit}"):
        read(path)


@pytest.mark.parametrize("is_gzipped", [False, True])
@pytest.mark.parametrize("name", READERS)
def test_zeros_that_hide_lines_are_refused(name, is_gzipped, tmp_path):
    """They begin in one name and end in another, and between them was a whole number of lines."""
    read, start, end = READERS[name]
    text = f"{start}A{end}{start}A\0\0\0\0\0A{end}".encode()
    path = tmp_path / (name if is_gzipped else name.removesuffix(".gz"))
    path.write_bytes(gzip.compress(text) if is_gzipped else text)
    with pytest.raises(FileFormatError, match=r"byte of zero|bytes that no text has"):
        read(path)


def read_reads(path):
    return [text.copy() for _, text in iter_fastq_blocks(path)]


@pytest.mark.parametrize(
    ("name", "read", "line", "text"),
    [
        ("a.fq", read_reads, 5, "@a\nAC\n+\nII\n@b\0\0\0b\nAC\n+\nII\n"),
        ("a.vcf", read_genotypes, 3, VCF + "1\t5\ta\0\0\0b\tA\tC\t.\t.\t.\tGT\t0/1\n"),
        ("a.sam", read_intervals, 2, "@SQ\tSN:c\tLN:9\na\0\0a\t0\tc\t1\t9\t1M\t*\t0\t0\t*\t*\n"),
        ("a.csv", read_intervals, 2, "contig,start,end\nc\0,1,2\n"),
    ],
)
def test_zeros_are_refused_by_readers_of_their_own(name, read, line, text, tmp_path):
    (tmp_path / name).write_text(text)
    with pytest.raises(FileFormatError, match=f"line {line}: has a byte of zero"):
        read(tmp_path / name)


def test_little_memory_is_taken_before_it_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.gfa.gz"
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(b"S\t1\t"), *(packer.compress(b"A" * MB) for _ in range(300))]
    path.write_bytes(b"".join(parts) + packer.flush())
    monkeypatch.setattr(RULES, "max_ratio", 400)
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="no genomic file does"):
        read_gfa(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40 * MB


def test_what_stays_below_the_limits_is_read(write, monkeypatch):
    path = write("a.fa.gz", ">a\n", "\n", 10 * MB)
    for limit in ("max_text_bytes", "max_line_bytes"):
        monkeypatch.setattr(RULES, limit, 20 * MB)
    monkeypatch.setattr(RULES, "max_ratio", 2000)
    assert read_sequences(path).total_length == 10 * MB - 4


def test_many_lines_are_no_long_line(tmp_path, monkeypatch):
    path = tmp_path / "a.fa.gz"
    path.write_bytes(gzip.compress(b">a\n" + (b"A" * (5 * MB) + b"\n") * 6))
    monkeypatch.setattr(RULES, "max_line_bytes", 8 * MB)
    assert read_sequences(path).total_length == 30 * MB


def test_an_archive_that_holds_too_much_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, dosages=np.zeros((100, 100_000), np.int8))
    monkeypatch.setattr(RULES, "max_text_bytes", MB)
    with pytest.raises(FileFormatError, match=r"a\.npz: holds 10,000,128 bytes once decompressed"):
        read_genotypes(path)
