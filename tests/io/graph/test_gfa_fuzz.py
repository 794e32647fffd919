"""read_gfa and write_gfa on generated graphs, and read_gfa on damaged files."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genoviz.errors import FileFormatError
from genoviz.io.graph import gfa, gfa_paths, gfa_threads, gfa_writer
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.graph.gfa_writer import write_gfa
from genoviz.io.text.text_file import BGZF_END, compress_blocks
from tests.conftest import real_data
from tests.io.graph.test_gfa import as_oracle
from tests.oracles.gfa import RefusedError, read_gfa_text

anywhere = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(params=[8, 1 << 16], ids=["tiny pieces", "usual pieces"])
def path(request, monkeypatch, tmp_path):
    """A file to write, read in pieces so small that everything is cut somewhere, and in large."""
    monkeypatch.setattr(gfa, "BLOCK", request.param)
    monkeypatch.setattr(gfa_threads, "BLOCK", request.param)
    monkeypatch.setattr(gfa_paths, "_PIECE", request.param // 2)
    monkeypatch.setattr(gfa_writer, "_BYTES_PER_CHUNK", request.param)
    monkeypatch.setattr(gfa_writer, "_STEPS_PER_CHUNK", request.param // 4)
    return tmp_path / "graph.gfa"


def outcome(path):
    try:
        return as_oracle(read_gfa(path, cache=False))
    except FileFormatError:
        return "refused"


def expected(text: bytes):
    try:
        return read_gfa_text(text)
    except RefusedError:
        return "refused"


NAMES = st.one_of(
    st.integers(0, 30).map(str),
    st.integers(0, 10**17).map(str),
    st.integers(0, 99).map("s{}".format),
    st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="<>,;"), min_size=1),
    st.text("a0,+:*#", min_size=1).filter(lambda name: "+," not in name),
)
TAGS = st.lists(st.sampled_from(["\tDP:i:3", "\tSN:Z:LN:i:7", "\tx", "\t"]), max_size=3).map(
    "".join
)


@st.composite
def texts(draw) -> bytes:
    """A good GFA text with its lines in any order."""
    kind = draw(st.sampled_from([NAMES, st.integers(5, 40).map(str), NAMES.map("n{}".format)]))
    names = draw(st.lists(kind, min_size=1, max_size=12, unique=True))
    lines = ["H\tVN:Z:1.1"] * draw(st.integers(0, 1))
    for name in names:
        sequence = draw(st.text("ACGTNacgt", max_size=9))
        length = draw(st.integers(1, 10**6)) if not sequence else len(sequence)
        tag = f"\tLN:i:{length}" if draw(st.booleans()) else ""
        lines.append(f"S\t{name}\t{sequence or '*'}{draw(TAGS)}{tag}{draw(TAGS)}")
    handles = st.tuples(st.sampled_from(names), st.sampled_from("+-"))
    for (a, sign_a), (b, sign_b) in draw(st.lists(st.tuples(handles, handles), max_size=9)):
        overlap = draw(st.sampled_from(["0M", "*", "12M"]))
        rest = f"\t{overlap}{draw(TAGS)}" if draw(st.booleans()) else ""
        lines.append(f"L\t{a}\t{sign_a}\t{b}\t{sign_b}{rest}")
    jumps = draw(st.lists(st.tuples(handles, handles), max_size=2))
    lines += [f"J\t{a}\t{sign_a}\t{b}\t{sign_b}\t7" for (a, sign_a), (b, sign_b) in jumps]
    plain = {name for name in names if "," not in name}
    for steps in draw(st.lists(st.lists(handles, max_size=30), max_size=4)):
        if draw(st.booleans()):
            steps = [name + sign for name, sign in steps if name in plain]
            overlaps = draw(st.sampled_from(["*", "", "0M,0M", "5M"]))
            rest = f"\t{overlaps}" if draw(st.booleans()) else ""
            separator = draw(st.sampled_from(",;")) if jumps else ","
            lines.append(f"P\tp{len(lines)}\t{separator.join(steps)}{rest}")
        else:
            steps = [("<" if sign == "-" else ">") + name for name, sign in steps]
            place = draw(st.sampled_from(["*\t*", "0\t5", "70\t70"]))
            lines.append(f"W\ts\t{len(lines)}\tc\t{place}\t{''.join(steps) or '*'}")
    lines += draw(st.lists(st.sampled_from(["#", "# c\tx", "", "Q\tx", "C", "X\t"]), max_size=3))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(draw(st.permutations(lines)))
    mark = b"\xef\xbb\xbf" * draw(st.integers(0, 1))
    return mark + (text + end * draw(st.integers(0, 2))).encode()


@anywhere
@given(text=texts())
def test_generated_graphs_read_right_and_are_written_back(path, text):
    path.write_bytes(text)
    graph = read_gfa(path, cache=False)
    truth = read_gfa_text(text)
    assert as_oracle(graph) == truth
    if all("," not in name for name in truth.names):
        write_gfa(graph, path)
        truth.left_out = {}
        assert read_gfa_text(path.read_bytes()) == truth
        assert as_oracle(read_gfa(path, cache=False)) == truth


INTERESTING = b"\x00\t\n\r +-,;<>*#0159:SLPWHJ=.MN\x7f\x80\xc3\xff"


@st.composite
def damaged(draw, texts) -> bytes:
    """A text after a few byte flips, insertions, deletions, repeats and a truncation."""
    text = bytearray(draw(texts))
    for _ in range(draw(st.integers(1, 4))):
        if not text:
            break
        place = draw(st.integers(0, len(text) - 1))
        length = draw(st.integers(1, 12))
        match draw(st.sampled_from(["flip", "any", "insert", "delete", "repeat", "truncate"])):
            case "flip":
                text[place] = draw(st.sampled_from(INTERESTING))
            case "any":
                text[place] = draw(st.integers(0, 255))
            case "insert":
                text.insert(place, draw(st.sampled_from(INTERESTING)))
            case "delete":
                del text[place : place + length]
            case "repeat":
                text[place:place] = text[place : place + length]
            case "truncate":
                del text[place:]
    return bytes(text)


@settings(anywhere, max_examples=150)
@given(text=damaged(texts()))
def test_damaged_texts_are_read_as_the_slow_reader_reads_them_or_refused(path, text):
    path.write_bytes(text)
    is_text = text and b"\0" not in text
    assert outcome(path) == (expected(text) if is_text else "refused")


@settings(anywhere, max_examples=50)
@given(text=st.binary(min_size=1) | st.text("SLPW\t\n1+,>*A", min_size=1).map(str.encode))
def test_junk_is_refused_or_read_as_the_slow_reader_reads_it(path, text):
    path.write_bytes(text)
    if text[:2] != b"\x1f\x8b":
        assert outcome(path) == expected(text)


REAL = ["DRB1-3123_unsorted", "micb-kir3dl1", "hprc_chrY.noseq"]


def head(name: str, n_lines: int = 60, n_steps: int = 300) -> bytes:
    """The first segments of a real file, and paths and links cut down to them."""
    text = gzip.decompress(real_data(f"gfa/{name}.gfa.gz").read_bytes()).decode()
    lines = [line.split("\t") for line in text.splitlines()]
    segments = [line for line in lines if line[0] == "S"][:n_lines]
    known = {line[1] for line in segments}
    kept = [lines[0], *segments]
    for line in lines:
        if line[0] == "L" and line[1] in known and line[3] in known:
            kept.append(line)
        elif line[0] == "P":
            steps = [step for step in line[2].split(",")[:n_steps] if step[:-1] in known]
            kept.append([*line[:2], ",".join(steps), "*"])
        elif line[0] == "W" and len(kept) < 3 * n_lines:
            steps = line[6].replace(">", " >").replace("<", " <").split()[:n_steps]
            kept.append([*line[:6], "".join(step for step in steps if step[1:] in known)])
    return "".join("\t".join(line) + "\n" for line in kept).encode()


@pytest.mark.parametrize("name", REAL)
def test_damaged_real_files_are_read_as_the_slow_reader_reads_them_or_refused(path, name):
    text = head(name)

    @settings(anywhere, max_examples=50)
    @given(damaged(st.just(text)))
    def check(text):
        path.write_bytes(text)
        assert outcome(path) == (expected(text) if text else "refused")

    check()


@anywhere
@given(data=st.data())
def test_damaged_gzip_is_refused_or_holds_what_it_held(tmp_path, data):
    text = b"S\t1\tACGT\nS\t2\tCC\nP\tx\t1+,2-\t*\n"
    blocks = compress_blocks(text[:9]) + compress_blocks(text[9:]) + BGZF_END
    members = gzip.compress(text[:9]) + gzip.compress(text[9:])
    content = data.draw(damaged(st.sampled_from([blocks, members, members[:30] + blocks])))
    path = tmp_path / "graph.gz"
    path.write_bytes(content)
    possible = [read_gfa_text(text), "refused"]
    if content in members:
        possible.append(read_gfa_text(text[:9]))
    assert outcome(path) in possible or content[:2] != b"\x1f\x8b"
