"""read_gfa on real files and on small texts of every dialect, against the slow reader."""

from __future__ import annotations

import gzip
import threading
from itertools import pairwise

import numpy as np
import pytest

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.gfa import iter_read_gfa, read_gfa
from genoviz.io.text import text_file
from genoviz.io.text.text_file import BGZF_END, compress_blocks, find_blocks
from genoviz.model import ByteStrings, PangenomeGraph
from tests.conftest import real_data
from tests.oracles.gfa import OracleGraph, read_gfa_text

# Nodes, edges, paths and steps as published with the files, or counted with grep.
REAL_COUNTS = {
    "DRB1-3123": (4_955, 6_777, 12, 35_059),
    "DRB1-3123_unsorted": (3_214, 6_243, 12, 21_882),
    "LPA": (3_751, 5_195, 13, 202_806),
    "MHC_4": (111_805, 151_740, 5, 355_853),
    "chr5.yeast": (26_234, 35_381, 5, 84_062),
    "chr6.C4": (1_748, 2_366, 90, 171_208),
    "hprc_RHCE": (17_966, 24_831, 91, 1_024_575),
    "hprc_chrY.noseq": (163_806, 226_807, 1, 78_341),
    "micb-kir3dl1": (2_889, 3_930, 169, 153_622),
}


def as_oracle(graph: PangenomeGraph) -> OracleGraph:
    names = list(graph.node_names)

    def handles(values):
        return [(names[value >> 1], bool(value & 1)) for value in values.tolist()]

    paths = [(name, handles(graph.path_steps(p))) for p, name in enumerate(graph.path_names)]
    edges = list(zip(handles(graph.edges[:, 0]), handles(graph.edges[:, 1]), strict=True))
    left_out = {
        note.split()[1]: int(note.split()[0].replace(",", ""))
        for note in graph.notes
        if note.endswith("left out.")
    }
    lengths, sequences = graph.node_lengths.tolist(), list(graph.node_sequences)
    tags = texts_of(graph.node_tags, graph.n_nodes), texts_of(graph.link_tags, graph.n_edges)
    return OracleGraph(names, lengths, sequences, edges, paths, left_out, *tags)


def texts_of(tags: ByteStrings | None, n: int) -> list[bytes]:
    """Return the tags of each node or link; they may be in any encoding."""
    if tags is None:
        return [b""] * n
    data, offsets = tags.data.tobytes(), tags.offsets.tolist()
    return [data[a:b] for a, b in pairwise(offsets)]


def read_text(tmp_path, text: bytes) -> PangenomeGraph:
    path = tmp_path / "graph.gfa"
    path.write_bytes(text)
    return read_gfa(path, cache=False)


@pytest.mark.parametrize("name", REAL_COUNTS)
def test_real_files_read_as_the_slow_reader_reads_them(name):
    path = real_data(f"gfa/{name}.gfa.gz")
    graph = read_gfa(path, cache=False)
    assert (graph.n_nodes, graph.n_edges, graph.n_paths, graph.n_steps) == REAL_COUNTS[name]
    assert as_oracle(graph) == read_gfa_text(gzip.decompress(path.read_bytes()))


def gfa(*lines: str, end: str = "\n") -> bytes:
    """Return lines as GFA text; a space stands for a tab."""
    return "".join(line.replace(" ", "\t") + end for line in lines).encode()


DIALECTS = {
    "walk before link before segment": gfa(
        "H VN:Z:1.1",
        "W HG002 1 chr6 100 108 >s2<s1",
        "L s2 + s1 - 0M",
        "S s1 ACGT",
        "S s2 GGCC",
    ),
    "crlf, comments, empty lines": gfa(
        "# a b", "", "S 1 ACGT", "S 2 * LN:i:7", "L 1 + 2 - *", "P x 1+,2- *", "#", end="\r\n"
    ),
    "no last newline": b"S\t1\tACGT\r\nW\ts\t0\tc\t*\t*\t>1\r",
    "numbers far apart": gfa("S 5 A", "S 900000000000 C", "S 0 G", "P x 900000000000-,5+,0+ 0M,*"),
    "leading zeros are other names": gfa("S 7 A", "S 07 C", "P x 7+,07- *"),
    "names with a common prefix": gfa(
        "S utg12 A", "S utg3 C", "P x utg3+,utg12- *", "W s 1 c 0 2 <utg12>utg3"
    ),
    "odd names": gfa("S a,b A", "S é:1-2# C", "S a+b G", "P é é:1-2#+,a+b- *"),
    "other records": gfa("S 1 A", "C 1 + 1 + 0 1M", "A r", "C 1 + 1 + 9", "H"),
    "jumps": gfa("J 1 + 2 - *", "S 1 A", "J 1 - 2 + 9 SC:i:1", "S 2 A", "P x 1+;2-,1-;2+ *"),
    "jumps and text names": gfa("J a; + b + 1", "S a; A", "S b A", "P x a;+;b+,a;- 0M,*", "P y  *"),
    "links and paths without overlaps": gfa("S 1 A", "L 1 + 1 -", "P x 1+,1-", end="\r\n"),
    "no length": gfa("S 1 *", "S 2 * DP:i:5", "S 3 ACG", "P x 1+,2+,3+ *"),
    "byte order mark": b"\xef\xbb\xbf" + gfa("H VN:Z:1.0", "S 1 ACG", "P x 1+ *"),
    "byte order mark before a segment": b"\xef\xbb\xbf" + gfa("S 1 ACG", "P x 1+ *"),
    "byte order mark before a comment": b"\xef\xbb\xbf" + gfa("# x", "S 1 ACG"),
    "tags": gfa(
        "S 1 ACG DP:i:3 LN:i:3", "S 2 * SN:Z:LN:i:9 LN:i:02", "L 1 + 2 + 5M R:i:2", "P p 1+ 3M x"
    ),
    "tags of links": gfa(
        "S 1 A",
        "L 1 + 1 - 0M SR:i:1 L1:i:30",
        "L 1 + 1 +",
        "L 1 - 1 + *",
        "J 1 + 1 + 9 SC:i:1",
        "L 1 - 1 - 0M ",
        "L 1 - 1 - 0M  x",
        end="\r\n",
    ),
    "a tag of the last link": b"S\t1\tA\nL\t1\t+\t1\t+\t0M\tSR:i:0",
    "paths without steps": gfa("S 1 A", "P a  *", "P b * ", "W s 1 c 0 0 *", "W s 1 d 0 0 "),
    "walks with a start or an end alone": gfa(
        "W s 1 c 7 * >1>1", "S 1 ACG", "W s 2 c * 9 <1", "W s 3 c] 0 * *"
    ),
    "one segment": b"S\tx\tN",
}


@pytest.mark.parametrize("text", DIALECTS.values(), ids=DIALECTS)
def test_dialects_read_as_the_slow_reader_reads_them(tmp_path, text):
    assert as_oracle(read_text(tmp_path, text)) == read_gfa_text(text)


def test_walks_are_named_as_pansn_with_their_range(tmp_path):
    text = b"S\t1\tACG\nW\tHG002\t1\tchr6\t100\t103\t>1\nW\tHG002\t2\tchr6\t*\t*\t<1\n"
    graph = read_text(tmp_path, text)
    assert graph.path_names == ("HG002#1#chr6:100-103", "HG002#2#chr6")
    assert graph.parsed_path_names[0].start == 100


def test_a_walk_with_a_start_alone_lies_there_on_its_contig(tmp_path):
    text = gfa("S 1 ACG", "S 2 GG", "W HG002 1 chr6 100 * >1<2>1", "W HG002 2 chr6 * 900 >2")
    graph = read_text(tmp_path, text)
    assert graph.path_names == ("HG002#1#chr6:100-108", "HG002#2#chr6")
    assert graph.path_starts.tolist() == [100, 0]
    with pytest.raises(FileFormatError, match=r"line 2: path .* is there already on line 1"):
        read_text(tmp_path, gfa("W s 1 c 5 * >1", "W s 1 c 5 8 >1", "S 1 ACG"))


def test_notes_say_what_was_left_out_or_treated_otherwise(tmp_path):
    text = b"S\t1\tACG\nL\t1\t+\t1\t+\t2M\nJ\t1\t+\t1\t+\t*\nP\tx\t1+\t1M\nP\ty\t1+\t*\n"
    notes = read_text(tmp_path, text).notes
    assert [note[:30] for note in notes] == [
        "1 jump was read as a link; dis",
        "1 of 2 links overlap (neither ",
        "1 of 2 paths state overlaps ot",
    ]
    assert "no paths" in read_text(tmp_path, b"S\t1\tACG\n").notes[0]


def test_a_segment_without_length_is_told_of(tmp_path):
    graph = read_text(tmp_path, gfa("S 1 *", "S 2 *", "S 3 ACG"))
    assert graph.node_lengths.tolist() == [1, 1, 3]
    assert graph.notes[0] == (
        "2 of 3 segments have neither a sequence nor a length (LN); 1 bp is taken for each."
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("sequences", [False, True])
def test_tags_of_segments_are_kept_but_their_lengths(tmp_path, sequences, end):
    text = gfa("S 1 ACG SN:Z:a LN:i:3 SO:i:0", "S b * LN:i:7", "S c A LN:i:1  x:y", end=end)
    (tmp_path / "graph.gfa").write_bytes(text)
    graph = read_gfa(tmp_path / "graph.gfa", sequences=sequences, cache=False)
    assert list(graph.node_tags) == ["SN:Z:a\tSO:i:0", "", "x:y"]
    assert read_text(tmp_path, gfa("S 1 ACG LN:i:3", "S 2 A")).node_tags is None


TAGGED = {
    "one tag": "S 1 ACG SN:Z:a",
    "LN before": "S 1 ACG LN:i:3 SN:Z:a SO:i:0",
    "LN between": "S 1 ACG SN:Z:a LN:i:3 SO:i:0",
    "LN behind": "S 1 ACG SN:Z:a SO:i:0 LN:i:3",
    "LN alone": "S 1 ACG LN:i:3",
    "LN twice": "S 1 ACG LN:i:3 x LN:i:3",
    "LN in the value of a tag": "S 1 ACG SN:Z:LN:i:7 XLN:i:9",
    "star": "S 1 *",
    "star and a tag": "S 1 * SN:Z:a",
    "star and LN before": "S 1 * LN:i:7 SN:Z:a",
    "star and LN behind": "S 1 * SN:Z:a LN:i:1000000",
    "tab behind": "S 1 ACG SN:Z:a ",
    "tab alone": "S 1 ACG ",
    "empty tag first": "S 1 ACG  SN:Z:a",
    "empty tag between": "S 1 ACG SN:Z:a  SO:i:0",
    "empty tags and LN": "S 1 *  SN:Z:a  LN:i:5  SO:i:0  ",
    "return in a tag": "S 1 ACG SN:Z:a\rb SO:i:0",
    "return at the end of a tag": "S 1 ACG SN:Z:a\r\r",
    "long": f"S 1 {'ACGT' * 5000} SN:Z:{'x' * 300} SO:i:0",
    "not UTF-8": "S 1 ACG CO:Z:\udcff\udc80",
}


@pytest.mark.parametrize("with_sequences", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("line", TAGGED.values(), ids=TAGGED)
def test_tags_are_those_of_the_slow_reader(tmp_path, line, end, with_sequences):
    path, line = tmp_path / "graph.gfa", line.replace(" ", "\t")
    plain = "S\t2\tA"
    for lines in ([line], [line, plain], [plain, line], [line, plain, line.replace("1", "3", 1)]):
        for last in ("", end, "\r"):
            text = (end.join(lines) + last).encode(errors="surrogateescape")
            path.write_bytes(text)
            graph = read_gfa(path, sequences=with_sequences, cache=False)
            expected = read_gfa_text(text)
            assert texts_of(graph.node_tags, graph.n_nodes) == expected.tags
            assert graph.node_lengths.tolist() == expected.lengths
            if with_sequences:
                assert list(graph.node_sequences) == expected.sequences


def test_walks_are_known_from_paths(tmp_path):
    lines = ("S 1 A", "P x 1+ *", "W s 0 c 0 1 >1")
    assert read_text(tmp_path, gfa(*lines)).walks.tolist() == [False, True]
    assert read_text(tmp_path, gfa(*lines[:2])).walks is None


def test_a_byte_order_mark_does_not_hide_the_version(tmp_path):
    with pytest.raises(FileFormatError, match=r"line 1: is GFA version '2\.0'"):
        read_text(tmp_path, b"\xef\xbb\xbf" + gfa("H VN:Z:2.0", "S 1 A"))


def test_sequences_are_kept_only_when_asked_for(tmp_path):
    path = tmp_path / "graph.gfa"
    path.write_bytes(b"S\t1\tACG\nS\t2\tT\n")
    assert list(read_gfa(path, cache=False).node_sequences) == ["ACG", "T"]
    graph = read_gfa(path, sequences=False, cache=False)
    assert graph.node_sequences is None
    assert graph.node_lengths.tolist() == [3, 1]


def test_gzip_is_known_by_content_and_may_have_many_members(tmp_path):
    path = tmp_path / "graph.txt"
    path.write_bytes(
        gzip.compress(b"S\t1\tAC") + gzip.compress(b"") + gzip.compress(b"G\n") + bytes(9)
    )
    assert list(read_gfa(path, cache=False).node_sequences) == ["ACG"]


@pytest.mark.parametrize("limit", [1 << 28, 1 << 16])
@pytest.mark.parametrize("compress", [gzip.compress, lambda text: compress_blocks(text) + BGZF_END])
def test_large_texts_are_decompressed_in_memory_or_on_disk(tmp_path, monkeypatch, compress, limit):
    monkeypatch.setattr(text_file, "MAX_BYTES_IN_MEMORY", limit)
    segments = b"".join(b"S\t%d\tACGT\n" % k for k in range(300_000))
    text = segments + b"S\tlong\t" + b"A" * 20_000_000
    path = tmp_path / "graph.gfa"
    path.write_bytes(compress(text))
    graph = read_gfa(path, cache=False)
    assert (graph.n_nodes, graph.total_length) == (300_001, 21_200_000)
    assert graph.node_sequences.data.tobytes() == b"ACGT" * 300_000 + b"A" * 20_000_000


@pytest.mark.parametrize("compress", [bytes, lambda text: compress_blocks(text) + BGZF_END])
def test_as_many_threads_read_as_one_asks_for(tmp_path, compress):
    path = tmp_path / "graph.gfa"
    path.write_bytes(compress(b"".join(b"S\t%d\tACGT\n" % k for k in range(300_000))))
    others, found = set(threading.enumerate()), []
    for _ in iter_read_gfa(path, cache=False, n_threads=1):
        found.append(len(set(threading.enumerate()) - others))
    assert max(found) == 1
    assert read_gfa(path, cache=False, n_threads=5).n_nodes == 300_000
    with pytest.raises(ParameterError, match="n_threads is 0, needs at least 1"):
        read_gfa(path, n_threads=0)


def test_bgzf_is_gzip_to_every_tool():
    text = bytes(range(256)) * 1000
    content = compress_blocks(text) + BGZF_END
    assert gzip.decompress(content) == text
    assert len(find_blocks(np.frombuffer(content, np.uint8), 0, 99)) == 6


def test_progress_ends_with_the_graph_and_never_passes_its_total(tmp_path):
    path = tmp_path / "graph.gfa"
    path.write_bytes(b"S\t1\tACG\nP\tx\t1+,1-\t*\n")
    reports = list(iter_read_gfa(path, cache=False))
    assert reports[-1].graph.n_steps == 2
    assert [report.graph for report in reports[:-1]] == [None] * (len(reports) - 1)
    assert all(0 <= report.n_bytes_done <= report.n_bytes_total for report in reports)
