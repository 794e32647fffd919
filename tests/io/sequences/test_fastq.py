"""Reads of FASTQ are those that splitting the file at its lines gives."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.errors import FileFormatError
from genoviz.io.sequences import fastq
from genoviz.io.sequences.fastq import is_fastq, iter_fastq_blocks
from genoviz.io.text.text_file import read_start, write_text

records = st.lists(
    st.tuples(
        st.text("@+>ab 1", max_size=5),
        st.text("ACGTNacgtu.", max_size=12),
        st.text("@+I!\t", min_size=12, max_size=12),
    ),
    min_size=1,
    max_size=8,
)


def read(path):
    blocks = list(iter_fastq_blocks(path))
    shares = [share for share, _ in blocks]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    return b"".join(letters.tobytes() for _, letters in blocks).decode()


@given(records, st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 9))
def test_reads_are_those_of_the_lines(tmp_path_factory, found, end, has_end, n_bytes):
    text = "".join(
        f"@{name}{end}{bases}{end}+{name}{end}{qualities[: len(bases)]}{end}"
        for name, bases, qualities in found
    )
    if not has_end:
        text = text.removesuffix(end)
    folder = tmp_path_factory.mktemp("reads")
    (folder / "reads.fq").write_text(text, newline="")
    (folder / "reads.fq.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fastq, "BLOCK_BYTES", n_bytes)
        for name in ("reads.fq", "reads.fq.gz"):
            assert is_fastq(folder / name)
            assert read(folder / name) == "".join(f"{bases}\n" for _, bases, _ in found)


def test_bgzip_and_empty_lines_at_the_end(tmp_path):
    text = b"@one\nACGT\n+\nIIII\n" * 30_000
    write_text(tmp_path / "reads.fq.gz", [text, b"\n\n"])
    assert read(tmp_path / "reads.fq.gz") == "ACGT\n" * 30_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@a\nACGT\n+\nIII\n", "reads.fq, line 4: has another number of qualities than its read"),
        ("@a\nACGT\n+\nIIIII\n@b", "line 4: has another number of qualities"),
        ("@a\nACGT\n+\nIIII\nb\n", "line 5: begins with 'b', needs '@' and a name"),
        ("@a\nACGT\nACGT\n+\nIIII\n", r"line 3: begins with 'ACGT', needs '\+'"),
        ("@a\nACGT\n\nIIII\n", r"line 3: begins with '', needs '\+'"),
        ("@a\nAC*T\n+\nIIII\n", r"line 2: has '\*', needs A C G T N"),
        ("@a\nACGT\n", "line 3: the file ends within a record, needs four lines for each"),
        ("@a\nACGT\n+\nII", "line 4: the file ends within a record"),
        ("@a\nAC", "line 2: the file ends within a record"),
        ("@a", "line 1: the file ends within a record"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, text, words):
    (tmp_path / "reads.fq").write_text(text)
    with pytest.raises(FileFormatError, match=words):
        read(tmp_path / "reads.fq")


@pytest.mark.parametrize("n_bytes", [0, 1, 7])
def test_the_first_gzip_member_may_be_empty_or_short(tmp_path, n_bytes):
    text = b"@one\nACGT\n+\nIIII\n"
    path = tmp_path / "reads.fq.gz"
    parts = (b"", text[:n_bytes], text[n_bytes:])
    path.write_bytes(b"".join(map(gzip.compress, parts)))
    assert is_fastq(path)
    assert read_start(path, 12) == text[:12]
    assert read_start(path, 100) == text
    assert read(path) == "ACGT\n"


def test_damaged_gzip_is_refused(tmp_path):
    content = gzip.compress(b"@one\nACGT\n+\nIIII\n" * 1000)
    (tmp_path / "reads.fq.gz").write_bytes(content[:-20])
    with pytest.raises(FileFormatError, match=r"reads.fq.gz: "):
        read(tmp_path / "reads.fq.gz")
    with pytest.raises(FileFormatError, match=r"no.fq"):
        read(tmp_path / "no.fq")


@pytest.mark.parametrize(
    "text",
    [
        # An empty line, and reads of four lines that are not where records begin.
        "@a\nACGT\n+\nIIII\n\n@b\nGG\n+\n@I\n@c\nTT\n+\n@+\n" * 3,
        # Names and qualities like headers, reads without bases, and a long read.
        "@+\n\n+@\n\n@@\nA\n+\n@\n" * 5 + "@\n" + "ACGT" * 40 + "\n+\n" + "@" * 160 + "\n",
    ],
)
@pytest.mark.parametrize("n_bytes", range(1, 24))
def test_what_is_read_ahead_is_what_is_read_in_order(tmp_path, monkeypatch, text, n_bytes):
    monkeypatch.setattr(fastq, "BLOCK_BYTES", n_bytes)
    (tmp_path / "reads.fq").write_text(text)
    lines = iter(text.splitlines())
    expected = ""
    for header in lines:
        if header:
            expected += f"{next(lines)}\n"
            assert next(lines).startswith("+")
            next(lines)
    assert read(tmp_path / "reads.fq") == expected


@pytest.mark.parametrize("n_bytes", range(1, 24))
def test_a_fault_far_on_is_said_with_its_line(tmp_path, monkeypatch, n_bytes):
    monkeypatch.setattr(fastq, "BLOCK_BYTES", n_bytes)
    (tmp_path / "reads.fq").write_text("@a\nACGT\n+\n@III\n" * 9 + "@a\nACGT\n+\nI\x00II\n")
    with pytest.raises(FileFormatError, match="line 40"):
        read(tmp_path / "reads.fq")
    (tmp_path / "reads.fq").write_text("@a\nACGT\n+\n@III\n" * 9 + "@a\nAC*T\n+\nIIII\n" * 9)
    with pytest.raises(FileFormatError, match=r"line 38: has '\*'"):
        read(tmp_path / "reads.fq")
