"""Bad GFA files: one sentence with the file, the line, what was found and what is needed."""

from __future__ import annotations

import gzip
import os
import re

import numpy as np
import pytest

from genoviz.errors import FileFormatError
from genoviz.io.graph import gfa_lines
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.text import line_errors
from genoviz.io.text.text_file import compress_blocks
from tests.io.graph.test_gfa import gfa
from tests.oracles.gfa import RefusedError, read_gfa_text

BAD_TEXTS = {
    "nothing but a newline": (b"\n", "has no segment (S line), needs at least one"),
    "no segment": (gfa("H VN:Z:1.0", "P x  *"), "has no segment (S line), needs at least one"),
    "binary junk": (
        b"\x01\x93NUMPY\xff\n\n",
        "line 1: starts with '\\x01\\x93NUMPY\\xff', needs a record type (S, L, P or W) and a tab",
    ),
    "text that is no GFA": (
        b">chr1\nACGT\n",
        "line 1: starts with '>chr1', needs a record type (S, L, P or W) and a tab",
    ),
    "spaces for tabs": (
        b"S\t1\tA\nS 2 A\n",
        "line 2: starts with 'S 2 A', needs a record type (S, L, P or W) and a tab",
    ),
    "two byte order marks": (
        b"\xef\xbb\xbf\xef\xbb\xbfS\t1\tA\n",
        "line 1: starts with '\\ufeffS\\t1\\tA', needs a record type (S, L, P or W) and a tab",
    ),
    "GFA 2": (gfa("H VN:Z:2.0", "S 1 5 ACGTA"), "line 1: is GFA version '2.0', needs 1.x"),
    "short segment": (
        gfa("S 1 A", "S 2"),
        "line 2: segment has 2 fields, needs 3 (S, name, sequence)",
    ),
    "a name that ends a step": (
        gfa("S a,+b A", "S a+,b A"),
        "line 2: segment name 'a+,b' has a sign before a comma, which path lines cannot hold",
    ),
    "another name that ends a step": (
        gfa("S a-,b A"),
        "line 1: segment name 'a-,b' has a sign before a comma, which path lines cannot hold",
    ),
    "two paths of one name": (
        gfa("S 1 A", "P x 1+ *", "P y 1+ *", "P x 1-,1+ *"),
        "line 4: path 'x' is there already on line 2, needs a name of its own",
    ),
    "two walks of one name": (
        gfa("W s 0 c * * >1", "S 1 A", "W s 0 c * * >1"),
        "line 3: path 's#0#c' is there already on line 1, needs a name of its own",
    ),
    "a walk named as a path": (
        gfa("W s 0 c 3 4 >1", "S 1 A", "P s#0#c:3-4 1+ *"),
        "line 3: path 's#0#c:3-4' is there already on line 1, needs a name of its own",
    ),
    "nameless segment": (gfa("S  A"), "line 1: segment has an empty name, needs a name"),
    "sign and comma in a name": (
        gfa("S a+ A", "S a-,b A"),
        "line 2: segment name 'a-,b' has a sign before a comma, which path lines cannot hold",
    ),
    "control character in a name": (
        b"S\ta\x07\tA\n",
        "line 1: segment name 'a\\x07' has a control character, needs text",
    ),
    "name in another encoding": (
        b"S\t1\tC\nS\t\xe9\tA\n",
        "line 2: segment name '\\xe9' is not UTF-8 text",
    ),
    "no sequence": (
        gfa("S 1 ", "S 2 A"),
        "line 1: segment '1' has no bases, needs a sequence or '*'",
    ),
    "GFA 2 segment": (
        gfa("S 1 5 ACGTA"),
        "line 1: the sequence of segment '1' has '5', needs letters only",
    ),
    "text behind a sequence": (
        gfa("S 1 A", "S 2 *x"),
        "line 2: the sequence of segment '2' has '*', needs letters only",
    ),
    "length zero": (
        gfa("S 1 * LN:i:0"),
        "line 1: segment '1' has the tag 'LN:i:0', needs LN:i: and a length from 1 to "
        "1,000,000,000,000",
    ),
    "length of another type": (
        gfa("S 1 A LN:Z:1"),
        "line 1: segment '1' has the tag 'LN:Z:1', needs LN:i: and a length from 1 to "
        "1,000,000,000,000",
    ),
    "length that is not so": (
        gfa("S 1 ACGT LN:i:5"),
        "line 1: segment '1' has 4 bases and the tag 'LN:i:5', needs one length",
    ),
    "repeated segment": (
        gfa("S 1 A", "S 12 A", "# x", "S 1 G"),
        "line 4: segment '1' is there already on line 1, needs a name of its own",
    ),
    "repeated segment with a text name": (
        gfa("S x A", "S y A", "S y A"),
        "line 3: segment 'y' is there already on line 2, needs a name of its own",
    ),
    "short link": (gfa("S 1 A", "L 1 + 1"), "line 2: link has 4 fields, needs 5 or 6"),
    "short jump": (gfa("S 1 A", "J x"), "line 2: jump has 2 fields, needs 5 or 6"),
    "jump without distance": (
        gfa("S 1 A", "J 1 + 1 + "),
        "line 2: jump has an empty distance, needs '*' or a number",
    ),
    "jump to nowhere": (
        gfa("S 1 A", "J 1 + 2 + *"),
        "line 2: jump names segment '2', which has no S line",
    ),
    "empty overlap": (
        gfa("S 1 A", "L 1 + 1 + "),
        "line 2: link has an empty overlap, needs '*' or a CIGAR such as 0M",
    ),
    "link orientation": (
        gfa("S 1 A", "L 1 + 1 * 0M"),
        "line 2: link has the orientation '*', needs + or -",
    ),
    "link to nowhere": (
        gfa("S 1 A", "L 1 + 2 + 0M"),
        "line 2: link names segment '2', which has no S line",
    ),
    "path of two fields": (gfa("S 1 A", "P x"), "line 2: path has 2 fields, needs 3"),
    "nameless path": (gfa("S 1 A", "P  1+ *"), "line 2: path has an empty name, needs a name"),
    "step without orientation": (
        gfa("S 1 A", "P x 1+,1 *"),
        "line 2: path 'x' has the step '1', needs + or - at its end",
    ),
    "step without a name": (
        gfa("S 1 A", "P x 1+,- *"),
        "line 2: path 'x' has a step without a segment name",
    ),
    "empty step": (
        gfa("S 1 A", "P x 1+,,1+ *"),
        "line 2: path 'x' has an empty step, needs a segment name and + or -",
    ),
    "comma at the end": (
        gfa("S 1 A", "P x 1+,1+, *"),
        "line 2: path 'x' ends with a comma after '1+', needs another step or none",
    ),
    "comma at the end, text names": (
        gfa("S a A", "P x a+,a-, *"),
        "line 2: path 'x' ends with a comma after 'a-', needs another step or none",
    ),
    "step without orientation, text names": (
        gfa("S a A", "P x a,a+ *"),
        "line 2: path 'x' has the step 'a', needs + or - at its end",
    ),
    "empty step, text names": (
        gfa("S a A", "P x ,a+ *"),
        "line 2: path 'x' has an empty step, needs a segment name and + or -",
    ),
    "step without a name, text names": (
        gfa("S a A", "P x a+,- *"),
        "line 2: path 'x' has a step without a segment name",
    ),
    "walk with two arrows, text names": (
        gfa("S a A", "W s 0 c 0 1 >a<"),
        "line 2: walk 's#0#c:0-1' has a step without a segment name",
    ),
    "walk without arrow, text names": (
        gfa("S a A", "W s 0 c 0 1 a>a"),
        "line 2: walk 's#0#c:0-1' starts with 'a>a', needs > or <",
    ),
    "step to nowhere": (
        gfa("S 1 A", "P x 1+,999+ *"),
        "line 2: path 'x' names segment '999', which has no S line",
    ),
    "number beyond 64 bits": (
        gfa("S 1 A", "P x 18446744073709551617+ *"),
        "line 2: path 'x' names segment '18446744073709551617', which has no S line",
    ),
    "leading zero": (
        gfa("S 1 A", "W s 0 c 0 1 >01"),
        "line 2: walk 's#0#c:0-1' names segment '01', which has no S line",
    ),
    "jump": (
        gfa("S 1 A", "P x 1+;1+ *"),
        "line 2: path 'x' has a jump (';') in '1+;1+', but the file has no J line",
    ),
    "short walk": (gfa("S 1 A", "W s 0 c 0 1"), "line 2: walk has 6 fields, needs 7"),
    "walk without arrow": (
        gfa("S 1 A", "W s 0 c 0 1 1>1"),
        "line 2: walk 's#0#c:0-1' starts with '1>1', needs > or <",
    ),
    "walk with two arrows": (
        gfa("S 1 A", "W s 0 c 0 1 >1<>1"),
        "line 2: walk 's#0#c:0-1' has a step without a segment name",
    ),
    "walk to nowhere": (
        gfa("S a A", "W s 0 c 0 1 >a<b"),
        "line 2: walk 's#0#c:0-1' names segment 'b', which has no S line",
    ),
    "walk haplotype": (
        gfa("S 1 A", "W s x c 0 1 >1"),
        "line 2: walk has the haplotype 'x', needs an integer of at least 0",
    ),
    "walk range": (
        gfa("S 1 A", "W s 0 c -1 1 >1"),
        "line 2: walk has the range position '-1', needs an integer or '*'",
    ),
    "walk range backwards": (
        gfa("S 1 A", "W s 0 c 7 1 >1"),
        "line 2: walk 's#0#c' starts at 7, after its end 1",
    ),
}


@pytest.mark.parametrize(("text", "sentence"), BAD_TEXTS.values(), ids=BAD_TEXTS)
def test_a_bad_text_is_refused_in_one_sentence(tmp_path, text, sentence):
    path = tmp_path / "bad.gfa"
    path.write_bytes(text)
    with pytest.raises(FileFormatError) as caught:
        read_gfa(path, cache=False)
    between = ", " if sentence.startswith("line") else ": "
    assert str(caught.value) == f"bad.gfa{between}{sentence}"
    line = re.match(r"line (\d+)", sentence)
    assert caught.value.line == (int(line[1]) if line else None)
    with pytest.raises(RefusedError):
        read_gfa_text(text)


COMPRESSED = gzip.compress(gfa("S 1 ACGT", "P x 1+ *"), mtime=0)

BAD_FILES = {
    "empty": (b"", "the file is empty, needs at least one line"),
    "empty gzip": (
        gzip.compress(b"", mtime=0),
        "the file is empty once decompressed, needs at least one",
    ),
    "truncated gzip": (COMPRESSED[:-9], "the gzip data end too early (truncated file), need the"),
    "gzip header only": (COMPRESSED[:2], "the gzip data end too early (truncated file), need the"),
    "damaged gzip": (
        COMPRESSED[:-8] + b"\0\0\0\0" + COMPRESSED[-4:],
        "the gzip data are damaged near byte",
    ),
    "truncated after a gzip block": (
        compress_blocks(gfa("S 1 ACGT")),
        "the gzip blocks end without an end mark (truncated file), need the whole file",
    ),
    "junk after gzip": (COMPRESSED + b"junk", "starts neither gzip data nor padding, needs one"),
    "zstd": (b"\x28\xb5\x2f\xfd\0\0", "is compressed with zstd, needs to be plain or gzip"),
}


@pytest.mark.parametrize(("content", "words"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_is_refused_in_one_sentence(tmp_path, content, words):
    path = tmp_path / "bad.gfa"
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=re.escape(words)) as caught:
        read_gfa(path)
    assert str(caught.value).startswith("bad.gfa: ")


def test_what_is_no_file_is_refused_in_one_sentence(tmp_path):
    with pytest.raises(FileFormatError, match="there is no such file in"):
        read_gfa(tmp_path / "absent.gfa")
    with pytest.raises(FileFormatError, match="is a folder, needs to be a file"):
        read_gfa(tmp_path)
    with pytest.raises(FileFormatError, match=r"^\.: is a folder"):
        read_gfa(".")
    with pytest.raises(FileFormatError, match=r"^/: is a folder"):
        read_gfa("/")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="is not a regular file, needs to be a file"):
        read_gfa(tmp_path / "pipe")
    if os.geteuid():
        (tmp_path / "secret").write_bytes(b"S\t1\tA\n")
        (tmp_path / "secret").chmod(0)
        with pytest.raises(FileFormatError, match="cannot be read: Permission denied"):
            read_gfa(tmp_path / "secret")


def test_the_line_is_right_in_a_long_file(tmp_path):
    path = tmp_path / "long.gfa"
    lines = [f"S\t{k}\tACGT\n" for k in range(200_000)]
    lines[177_777] = "S\t1,2\t\n"
    path.write_text("".join(lines))
    with pytest.raises(FileFormatError, match="line 177778: segment '1,2' has no bases"):
        read_gfa(path, cache=False)


@pytest.mark.parametrize("record", [b"S\t1\tA\n", b"L\t1\t+\t1\t+\t0M\n", b"P\tx\t1+\t*\n"])
def test_lines_that_came_after_the_count_are_written_nowhere(record):
    data = np.frombuffer(record * 5 + b"#" * (-5 * len(record) % 8), np.uint8)
    lines = np.full((3, 5), -1)
    slots = [row[:2] for row in lines]
    ranks = np.zeros(3, np.int64)
    gfa_lines.find_lines(data, data.view(np.uint64), 0, len(data), *slots, ranks)
    kind = "SLP".index(chr(record[0]))
    expected = np.full((3, 5), -1)
    expected[kind, :2] = 0, len(record)
    assert lines.tolist() == expected.tolist()
    assert ranks[kind] == 2


@pytest.mark.parametrize("length", [0, 1, 4095, 4096, 4097, 12_287, 12_288, 50_000])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\nmore\n"])
def test_a_line_is_found_whatever_its_length(length, end):
    data = np.frombuffer(b"first\n" + b"A" * length + end, np.uint8)
    assert line_errors.line_at(data, 6) == b"A" * length
