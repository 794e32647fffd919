from __future__ import annotations

import json
import struct
import zlib
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import Sequences, read_fm_index, verify_fm_index, write_fm_index
from genoviz.analyses.sequences.fm_index import build_fm_index, invert_bwt
from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.sequences.fm_index import (
    is_fm_index,
    iter_verify_fm_index,
    read_extra_arrays,
    read_index_in_parts,
)
from genoviz.io.sequences.gvfm_file import BLOCK_BYTES, BLOCKS, PAGE

RECORDS = [("chr1", "ACGTNNRacgtACGGTCA" * 30), ("chr2", ""), ("chr 1", "N"), ("chr4", "ttTGA")]
HEAD = struct.Struct("=8sHHIQQQI16xI")


@pytest.fixture(scope="module")
def index():
    return build_fm_index(Sequences.from_records(RECORDS), backend="cpu")


@pytest.fixture(scope="module")
def content(index, tmp_path_factory):
    path = tmp_path_factory.mktemp("index") / "good.gvfm"
    write_fm_index(index, path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("damaged")


def same_index(found, expected):
    for part, other in ((found, expected), (found.text, expected.text)):
        for name, value in vars(other).items():
            if isinstance(value, np.ndarray):
                assert getattr(part, name).dtype == value.dtype
                np.testing.assert_array_equal(getattr(part, name), value)
            elif isinstance(value, int | tuple):
                assert getattr(part, name) == value


def describe(content):
    """Return the description of a file, and where it begins."""
    _, _, _, _, _, place, n_bytes, _, _ = HEAD.unpack(content[: HEAD.size])
    return json.loads(content[place : place + n_bytes]), place


def with_head(content, **changes):
    """Return the file with other numbers in its head, and a checksum that fits."""
    names = ("magic", "major", "minor", "order", "size", "place", "n_bytes", "crc")
    values = dict(zip(names, HEAD.unpack(content[: HEAD.size]), strict=False)) | changes
    head = HEAD.pack(*values.values(), 0)[:-4]
    return head + struct.pack("=I", zlib.crc32(head)) + content[HEAD.size :]


def with_description(content, change):
    """Return the file with another description, and checksums that fit."""
    description, place = describe(content)
    change(description)
    text = json.dumps(description).encode()
    changed = content[:place] + text
    return with_head(changed, size=len(changed), n_bytes=len(text), crc=zlib.crc32(text))


def section_of(description, name):
    return next(section for section in description["sections"] if section["name"] == name)


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("sample_rate", [1, 8])
def test_an_index_comes_back(tmp_path, mmap, sample_rate):
    made = build_fm_index(
        Sequences.from_records(RECORDS), sample_rate=sample_rate, super_shift=0, backend="cpu"
    )
    path = tmp_path / "genome.gvfm"
    write_fm_index(made, path)
    found = read_fm_index(path, mmap=mmap)
    same_index(found, made)
    assert found.lines.ctypes.data % 64 == 0
    assert invert_bwt(found, backend="cpu").tolist() == made.text.symbols().tolist()
    verify_fm_index(path)


def test_an_index_of_nothing_comes_back(tmp_path):
    made = build_fm_index(Sequences.from_records([]), backend="cpu")
    write_fm_index(made, tmp_path / "none.gvfm")
    same_index(read_fm_index(tmp_path / "none.gvfm"), made)
    verify_fm_index(tmp_path / "none.gvfm")


def test_further_arrays_are_kept(index, tmp_path):
    path = tmp_path / "genome.gvfm"
    lcp = np.arange(index.n_symbols, dtype=np.uint32)
    write_fm_index(index, path, extra={"lcp": lcp, "empty": np.empty((0, 2), np.int64)})
    same_index(read_fm_index(path), index)
    extra = read_extra_arrays(path)
    assert set(extra) == {"lcp", "empty"}
    assert extra["lcp"].tolist() == lcp.tolist()
    assert extra["empty"].shape == (0, 2)
    with pytest.raises(ParameterError, match="'lines' is an array of the index itself"):
        write_fm_index(index, path, extra={"lines": lcp})
    with pytest.raises(ParameterError, match=f"'{BLOCKS}' is an array of the index itself"):
        write_fm_index(index, path, extra={BLOCKS: lcp})


def test_a_file_is_replaced_as_a_whole(index, tmp_path, monkeypatch):
    path = tmp_path / "genome.gvfm"
    write_fm_index(index, path)
    before, mapped = path.read_bytes(), read_fm_index(path)
    monkeypatch.setattr("os.fsync", _fail)
    with pytest.raises(RuntimeError):
        write_fm_index(index, path)
    assert [file.name for file in tmp_path.iterdir()] == ["genome.gvfm"]
    assert path.read_bytes() == before
    monkeypatch.undo()
    write_fm_index(build_fm_index(Sequences.from_records([("a", "A")]), backend="cpu"), path)
    same_index(mapped, index)
    assert read_fm_index(path).text.contig_names == ("a",)


def test_a_later_minor_version_is_read(index, content, tmp_path):
    path = tmp_path / "later.gvfm"
    path.write_bytes(with_head(content, minor=7))
    same_index(read_fm_index(path), index)


def test_progress_of_checking_ends_at_all_bytes(content, tmp_path):
    path = tmp_path / "genome.gvfm"
    path.write_bytes(content)
    *_, last = iter_verify_fm_index(path)
    assert last.n_bytes_done == last.n_bytes_total > 0


def test_an_index_is_told_from_other_files(content, tmp_path):
    path = tmp_path / "genome"
    assert not is_fm_index(path)
    path.write_bytes(content)
    assert is_fm_index(path)
    path.write_bytes(b">chr1\n")
    assert not is_fm_index(path)
    assert is_fm_index(tmp_path / "none.GVFM")


def _fail(*arguments):
    raise RuntimeError


def change_section(name, **changes):
    return lambda text: section_of(text, name).update(changes)


def remove_section(name):
    return lambda text: text["sections"].remove(section_of(text, name))


DAMAGES = {
    "nothing": (lambda c: c[:0], "the file is empty"),
    "another file": (lambda c: b">chr1\n" + c, "is not an index of k-mers, needs to be a .gvfm"),
    "a short file": (lambda c: c[:40], "ends after 40 bytes, needs 64"),
    "cut short": (lambda c: c[:-1], r"has [\d,]+ bytes instead of [\d,]+ \(damaged file\)"),
    "cut in half": (lambda c: c[: len(c) // 2], r"has [\d,]+ bytes instead of"),
    "too long": (lambda c: c + b"\0", r"has [\d,]+ bytes instead of"),
    "head": (lambda c: c[:20] + bytes([c[20] ^ 1]) + c[21:], "the head is not what was"),
    "description": (lambda c: c[:-3] + b"x" + c[-2:], "the description is not what"),
    "description beyond": (
        lambda c: with_head(c, n_bytes=len(c) - describe(c)[1] + 1),
        "the description is not what",
    ),
    "to come": (lambda c: with_head(c, major=2, minor=3), "has version 2.3, needs 1.x; build"),
    "other order": (lambda c: with_head(c, order=0x04030201), "machine of the other byte order"),
    "no sections": (lambda c: with_description(c, dict.clear), "does not say where the sections"),
    "other kind": (
        lambda c: with_description(c, lambda text: text.update(kind="seeds")),
        "holds 'seeds', needs an FM-index",
    ),
    "no numbers": (
        lambda c: with_description(c, lambda text: text.update(sample_rate="1")),
        "does not say what it is of",
    ),
    "no names": (
        lambda c: with_description(c, lambda text: text.update(contig_names=[1, 2, 3, 4])),
        "does not say what it is of",
    ),
    "fewer names": (
        lambda c: with_description(c, lambda text: text["contig_names"].pop()),
        r"contig_lengths is int64 \(4,\), needs int64 \(3,\)",
    ),
    "text too long": (
        lambda c: with_description(c, lambda text: text.update(n_symbols=9)),
        "the text of 9 symbols does not end with an exception",
    ),
    "rate": (
        lambda c: with_description(c, lambda text: text.update(sample_rate=2)),
        r"samples is uint32 .*, needs uint32",
    ),
    "missing": (lambda c: with_description(c, remove_section("lines")), "has no section 'lines'"),
    "dtype": (
        lambda c: with_description(c, change_section("samples", dtype="int32")),
        "samples is int32 .* needs uint32",
    ),
    "odd dtype": (
        lambda c: with_description(c, change_section("samples", dtype="object")),
        "section 'samples' is of 'object', needs one of uint8",
    ),
    "shape": (
        lambda c: with_description(c, change_section("samples", shape=[3])),
        r"section 'samples' has [\d,]+ bytes for shape \(3,\)",
    ),
    "negative": (
        lambda c: with_description(c, change_section("lines", shape=[-1, -8])),
        "section 'lines' has",
    ),
    "beyond": (
        lambda c: with_description(c, change_section("samples", offset=PAGE * 1000)),
        "section 'samples' lies at bytes 4,096,000 to",
    ),
    "between pages": (
        lambda c: with_description(c, change_section("samples", offset=PAGE + 64)),
        "needs to begin at a multiple of 4,096",
    ),
    "in the head": (
        lambda c: with_description(c, change_section("packed", offset=0)),
        "section 'packed' lies at bytes 0 to",
    ),
    "overlap": (
        lambda c: with_description(c, change_section("exceptions", offset=PAGE)),
        "sections '(packed|exceptions)' and '(packed|exceptions)' overlap",
    ),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_refused(content, tmp_path, kind):
    damage, words = DAMAGES[kind]
    path = tmp_path / "damaged.gvfm"
    path.write_bytes(damage(content))
    with pytest.raises(FileFormatError, match=f"^damaged.gvfm: .*{words}"):
        read_fm_index(path)


def test_a_changed_byte_of_any_section_is_found(content, tmp_path, monkeypatch):
    path = tmp_path / "damaged.gvfm"
    monkeypatch.setattr("genoviz.io.sequences.gvfm_file._CHECKED_AT_ONCE", 0)
    for section in describe(content)[0]["sections"]:
        if section["n_bytes"]:
            changed = bytearray(content)
            changed[section["offset"] + section["n_bytes"] // 2] ^= 4
            path.write_bytes(changed)
            with pytest.raises(FileFormatError, match=f"'{section['name']}' is not what|ascend"):
                verify_fm_index(path)
            with pytest.raises(FileFormatError, match=f"'{section['name']}' is not what"):
                read_fm_index(path, mmap=False)


@pytest.fixture(scope="module")
def long_index():
    """Its lines fill four blocks and a part of one."""
    bases = np.random.default_rng(5).integers(0, 4, 140_000)
    text = np.frombuffer(b"ACGT", np.uint8)[bases].tobytes().decode()
    return build_fm_index(Sequences.from_records([("chr1", text)]), backend="cpu")


def test_a_line_is_refused_if_a_byte_of_its_block_has_changed(long_index, tmp_path, monkeypatch):
    monkeypatch.setattr("genoviz.io.sequences.gvfm_file._CHECKED_AT_ONCE", 0)
    path = tmp_path / "long.gvfm"
    write_fm_index(long_index, path)
    content = path.read_bytes()
    lines = section_of(describe(content)[0], "lines")
    n_lines, in_block = len(long_index.lines), BLOCK_BYTES // 64
    assert n_lines > 4 * in_block
    assert lines["n_bytes"] % BLOCK_BYTES
    for wrong in (None, 0, in_block - 1, in_block, 2 * in_block + 7, n_lines - 1):
        changed = bytearray(content)
        if wrong is not None:
            changed[lines["offset"] + 64 * wrong + 5] ^= 1
        path.write_bytes(changed)
        found, check_line = read_index_in_parts(path)
        assert found.n_symbols == long_index.n_symbols
        for line in (0, in_block - 1, in_block, 2 * in_block, 3 * in_block, n_lines - 1):
            if wrong is not None and line // in_block == wrong // in_block:
                with pytest.raises(FileFormatError, match="'lines' is not what was written"):
                    check_line(line)
            else:
                check_line(line)


def test_other_damage_of_an_index_in_parts_is_found(long_index, tmp_path, monkeypatch):
    monkeypatch.setattr("genoviz.io.sequences.gvfm_file._CHECKED_AT_ONCE", 0)
    path = tmp_path / "long.gvfm"
    write_fm_index(long_index, path)
    content = path.read_bytes()
    for name in (BLOCKS, "super_counts"):
        changed = bytearray(content)
        changed[section_of(describe(content)[0], name)["offset"]] ^= 1
        path.write_bytes(changed)
        with pytest.raises(FileFormatError, match="is not what was written"):
            read_index_in_parts(path)[1](0)
    path.write_bytes(with_description(content, lambda text: cut_blocks(text, 1)))
    with pytest.raises(FileFormatError, match="checksums of blocks, needs uint32"):
        read_index_in_parts(path)


def cut_blocks(text, n):
    """Let a file say that it has fewer checksums of blocks than it needs."""
    section = section_of(text, BLOCKS)
    section["shape"][0] -= n
    section["n_bytes"] -= 4 * n


def test_a_file_of_version_1_0_is_read_as_before(index, content, tmp_path):
    """It has no checksums of blocks, which were the last section."""
    old = with_description(content, remove_section(BLOCKS))
    old = with_head(old, minor=0)
    path = tmp_path / "old.gvfm"
    path.write_bytes(old)
    same_index(read_fm_index(path, mmap=False), index)
    assert read_index_in_parts(path) is None


@settings(max_examples=200)
@given(st.data())
def test_no_damage_does_more_than_a_sentence(content, index, folder, data):
    changed = bytearray(content)
    _, place = describe(content)
    places = st.one_of(st.integers(0, 63), st.integers(place, len(content) - 1))
    for _ in range(data.draw(st.integers(0, 2))):
        changed[data.draw(places)] = data.draw(st.integers(0, 255))
    changed = changed[: data.draw(st.integers(1, len(changed)))]
    path = folder / "damaged.gvfm"
    path.write_bytes(changed)
    with suppress(FileFormatError):
        same_index(read_fm_index(path), index)
        assert changed == content


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(FileFormatError, match=r"no.gvfm: there is no such file"):
        read_fm_index(tmp_path / "no.gvfm")
    with pytest.raises(FileFormatError, match="is a folder, needs to be a file"):
        read_fm_index(tmp_path)
