from __future__ import annotations

import collections
import gzip
import os
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import FileFormatError, GenovizError
from genoviz.io.files import optional
from genoviz.io.intervals.intervals import iter_read_intervals, read_intervals
from genoviz.io.intervals.read_blocks import cut_cigar
from tests.conftest import real_data

pysam = pytest.importorskip("pysam")

READS = ["fly_x.bam", "paired_chr2L.bam", "chr9_4-6Mb/bam_chr9_4000000_6000000.bam"]
CHR9 = READS[2]


def depths(found):
    """Return the depth of each covered base by contig and place, as one would by hand."""
    depth = collections.Counter()
    rows = zip(found.contig_ids.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True)
    for contig, start, end in rows:
        name = found.contigs[contig]
        depth.update((name, place) for place in range(start, end))
    return depth


def samtools_depths(path, *options):
    depth = {}
    for line in pysam.samtools.depth(*options, str(path)).splitlines():
        contig, place, n = line.split("\t")
        if n != "0":
            depth[contig, int(place) - 1] = int(n)
    return depth


@pytest.mark.parametrize("name", READS)
def test_depth_of_blocks_is_that_of_samtools(name):
    path = real_data(f"intervals/{name}")
    assert depths(read_intervals(path)) == samtools_depths(path)


def test_depth_of_all_placed_reads_is_that_of_samtools():
    path = real_data(f"intervals/{CHR9}")
    found = read_intervals(path, exclude_flags=0)
    assert len(found) > len(read_intervals(path))
    assert depths(found) == samtools_depths(path, "-g", "1796")


def test_whole_reads_are_as_pysam_has_them():
    path = real_data(f"intervals/{CHR9}")
    found = read_intervals(path, blocks=False, names=True, min_quality=10)
    with pysam.AlignmentFile(str(path)) as file:
        reads = [r for r in file if not r.flag & 1796 and r.mapping_quality >= 10]
        assert found.contigs == file.references
        assert found.contig_lengths.tolist() == list(file.lengths)
    assert found.starts.tolist() == [read.reference_start for read in reads]
    assert found.ends.tolist() == [read.reference_end for read in reads]
    assert found.strands.tolist() == [-1 if read.is_reverse else 1 for read in reads]
    assert list(found.names) == [read.query_name for read in reads]
    assert any("-q 10" in note for note in found.notes)


def test_blocks_know_how_many_reads_they_are_of():
    path = real_data(f"intervals/{CHR9}")
    found = read_intervals(path)
    n_reads = int(pysam.samtools.view("-c", "-F", "1796", str(path)))
    assert found.n_reads == n_reads < len(found)
    assert found.select(found.strands > 0).n_reads is None, "some of the blocks are of no number"


def test_cram_and_sam_are_read_as_bam(tmp_path):
    bam = real_data("intervals/paired_chr2L.bam")
    sam = tmp_path / "reads.sam"
    sam.write_text(pysam.samtools.view("-h", str(bam)))
    wanted = read_intervals(bam)
    for path in (real_data("intervals/paired_chr2L.cram"), sam):
        found = read_intervals(path)
        np.testing.assert_array_equal(found.starts, wanted.starts)
        np.testing.assert_array_equal(found.ends, wanted.ends)
        np.testing.assert_array_equal(found.strands, wanted.strands)


def test_sam_is_known_by_its_header_or_its_name(tmp_path):
    lines = "@SQ\tSN:c\tLN:99\nr\t16\tc\t5\t9\t3M2D4M\t*\t0\t0\t*\t*\n"
    for name, text in (("reads.txt", lines), ("reads.sam", f"@CO\tx\n{lines}")):
        (tmp_path / name).write_text(text)
        found = read_intervals(tmp_path / name)
        assert (found.starts.tolist(), found.ends.tolist()) == ([4, 9], [7, 13])
        assert found.strands.tolist() == [-1, -1]


def test_a_region_has_the_blocks_that_touch_it(tmp_path):
    path = real_data(f"intervals/{CHR9}")
    whole = read_intervals(path).within("chr9", 4_500_000, 4_600_000)
    bare = tmp_path / "no_index.bam"
    bare.write_bytes(path.read_bytes())
    assert len(whole) > 100
    for file in (path, bare):
        found = read_intervals(file, region="chr9:4,500,000-4,600,000")
        assert found.starts.tolist() == whole.starts.tolist()
        assert found.ends.tolist() == whole.ends.tolist()
    with pytest.raises(FileFormatError, match="has no contig '99', it has chr"):
        read_intervals(path, region="99:1-2")


SAM = """@SQ\tSN:c\tLN:100
@SQ\tSN:d\tLN:50
r1\t0\tc\t11\t30\t10M\t*\t0\t0\tAAAAAAAAAA\t*
insertion\t0\tc\t15\t30\t10I\t*\t0\t0\tAAAAAAAAAA\t*
clip\t0\tc\t20\t30\t10S\t*\t0\t0\tAAAAAAAAAA\t*
deletion\t0\tc\t30\t30\t5S3D5S\t*\t0\t0\tAAAAAAAAAA\t*
over\t0\tc\t96\t30\t10M\t*\t0\t0\tAAAAAAAAAA\t*
unmapped\t4\tc\t96\t0\t*\t*\t0\t0\tAAAAAAAAAA\t*
d1\t0\td\t1\t30\t5M\t*\t0\t0\tAAAAA\t*
"""


def test_reads_without_an_aligned_base_are_empty_intervals(tmp_path):
    path = tmp_path / "a.sam"
    path.write_text(SAM)
    # What `bedtools bamtobed` 2.30.0 gives.
    found = read_intervals(path, blocks=False, names=True)
    rows = zip(list(found.names), found.starts.tolist(), found.ends.tolist(), strict=True)
    assert list(rows) == [
        ("r1", 10, 20),
        ("insertion", 14, 14),
        ("clip", 19, 19),
        ("deletion", 29, 32),
        ("over", 95, 105),
        ("d1", 0, 5),
    ]
    assert found.notes[0].endswith(
        "6 of 7 reads are taken, of which 2 have no aligned base and are empty intervals."
    )
    blocks = read_intervals(path)
    assert blocks.ends.tolist() == [20, 105, 5]
    assert blocks.notes[0].endswith("of which 3 have no aligned base and cover nothing.")
    assert read_intervals(path, region="c:14-15", blocks=False).starts.tolist() == [10, 14]


@pytest.mark.parametrize(
    ("region", "starts"),
    [
        ("d", [0]),
        ("chrd", [0]),
        (" c ", [10, 95]),
        ("c:19", [10]),
        ("c:20", []),
        ("chrc:95-1,000", [95]),
        ("c:100-110", [95]),
    ],
)
@pytest.mark.parametrize("kind", ["sam", "bam", "indexed"])
def test_a_region_is_a_contig_a_base_or_a_stretch(tmp_path, region, starts, kind):
    pysam = pytest.importorskip("pysam")
    path = tmp_path / "a.sam"
    path.write_text(SAM)
    if kind != "sam":
        path = tmp_path / "a.bam"
        path.write_bytes(b"")
        pysam.view("-b", "-o", str(path), str(tmp_path / "a.sam"), catch_stdout=False)
        if kind == "indexed":
            pysam.index(str(path))
    if region == "c:100-110" and kind == "indexed":
        starts = []  # An index knows of nothing beyond the contig.
    assert read_intervals(path, region=region).starts.tolist() == starts


def test_what_is_left_out_is_said():
    reports = list(iter_read_intervals(real_data(f"intervals/{CHR9}")))
    assert reports[-1].intervals.notes == (
        "Reads: -F 1796, CIGAR cut at D and N, mates not merged; 20,131 of 22,830 reads are taken.",
    )


CIGARS = st.lists(st.tuples(st.integers(1, 9), st.sampled_from("MIDNSHP=X")), max_size=9)


@given(CIGARS)
def test_blocks_of_a_cigar_are_its_aligned_bases(operations):
    text = "".join(f"{length}{operation}" for length, operation in operations)
    covered, at = set(), 0
    for length, operation in operations:
        if operation in "M=X":
            covered |= set(range(at, at + length))
        at += length if operation in "M=XDN" else 0
    blocks = cut_cigar(text)
    bases = [place for start, length in blocks for place in range(start, start + length)]
    assert bases == sorted(covered)
    has_gap = {a + b for a, b in blocks} & {a for a, _ in blocks}
    assert not has_gap or any(operation in "DN" for _, operation in operations)
    assert cut_cigar(text, blocks=False) == [(0, at)]


DAMAGE = """
import random, sys
from genoviz import FileFormatError
from genoviz.io.intervals.intervals import read_intervals
whole = open(sys.argv[1], "rb").read()
for seed in range(60):
    at = random.Random(seed).randrange(100, len(whole) - 600)
    zeros, missing = whole[:at] + bytes(20) + whole[at + 20:], whole[:at] + whole[at + 500:]
    with open(sys.argv[2], "wb") as file:
        file.write([zeros, missing, whole[:at], whole[:at] + whole[-28:]][seed % 4])
    try:
        read_intervals(sys.argv[2])
    except FileFormatError:
        continue
    sys.exit(f"seed {seed}: nothing was said")
"""


def test_no_damage_makes_reading_wait_for_ever(tmp_path):
    path = str(real_data("intervals/paired_chr2L.bam"))
    done = subprocess.run(
        [sys.executable, "-c", DAMAGE, path, str(tmp_path / "damaged.bam")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")


INDEX_DAMAGE = """
import random, shutil, sys
from genoviz import FileFormatError
from genoviz.io.intervals.intervals import read_intervals
path, index, region = sys.argv[1:4]
whole = open(index, "rb").read()
n_said = 0
for seed in range(80):
    chosen = random.Random(seed)
    content = bytearray(whole)
    for _ in range(1 + seed % 40):
        content[chosen.randrange(len(content))] = chosen.randrange(256)
    with open(index, "wb") as file:
        file.write(content[: chosen.randrange(1, len(content))] if seed % 4 == 3 else content)
    if not path.endswith("gz"):
        read_intervals(path)
    try:
        read_intervals(path, region=region)
    except FileFormatError:
        n_said += 1
print(n_said)
"""


@pytest.mark.parametrize("ending", [".bai", ".csi", ".crai", ".tbi"])
def test_no_damage_of_an_index_ends_the_process(tmp_path, ending):
    name = {".crai": "paired_chr2L.cram", ".tbi": "refseq.chr1.exons.bed.gz"}
    source = real_data(f"intervals/{name.get(ending, 'paired_chr2L.bam')}")
    path, region = tmp_path / source.name, "chr2L:0-1,000,000"
    if ending == ".tbi":
        rows = sorted(gzip.decompress(source.read_bytes()).splitlines(), key=bed_place)
        path, region = tmp_path / "exons.bed", "chr1:0-2,000,000"
        path.write_bytes(b"\n".join(rows[:5000]) + b"\n")
        path = pathlib.Path(pysam.tabix_index(str(path), preset="bed"))
    else:
        path.write_bytes(source.read_bytes())
        index_reads(path, ending)
    index = path.with_name(path.name + ending)
    found = read_intervals(path, region=region)
    assert len(found) > 100
    os.utime(index, (1, 1))
    by_old = read_intervals(path, region=region)
    assert by_old.starts.tolist() == found.starts.tolist()
    assert any(f"The index {index.name} is older than {path.name}" in n for n in by_old.notes)
    done = subprocess.run(
        [sys.executable, "-c", INDEX_DAMAGE, str(path), str(index), region],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert int(done.stdout) > 20


def test_an_index_without_lines_is_not_used(tmp_path):
    """That of a CRAM without reads has none, and neither has one that was cut off."""
    empty, whole = tmp_path / "empty.cram", tmp_path / "whole.cram"
    header = {"SQ": [{"SN": "chr2L", "LN": 90}]}
    with pysam.AlignmentFile(str(empty), "wc", header=header):
        pass
    pysam.index(str(empty))
    assert len(read_intervals(empty, region="chr2L:5-60")) == 0
    whole.write_bytes(real_data("intervals/paired_chr2L.cram").read_bytes())
    whole.with_name("whole.cram.crai").write_bytes(gzip.compress(b""))
    assert len(read_intervals(whole, region="chr2L:0-1,000,000")) > 100


@pytest.mark.parametrize(("begins", "ends"), [(9, 3), (3, 1 << 40), (1 << 40, 1 << 41)])
def test_a_stretch_of_an_index_that_is_none_is_told(tmp_path, begins, ends):
    """That ends before it begins, or lies behind the end of the file; in blocks of BGZF."""
    path, index = tmp_path / "small.bam", tmp_path / "small.bam.bai"
    path.write_bytes(real_data("intervals/paired_chr2L.bam").read_bytes())
    index_reads(path, ".bai")
    content = bytearray(index.read_bytes())
    n_bins, _, n_chunks = struct.unpack_from("<3i", content, 8)
    assert n_bins > 0 < n_chunks
    struct.pack_into("<2Q", content, 20, begins << 16, ends << 16)
    index.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"the index of small.bam is damaged"):
        read_intervals(path, region="chr2L:0-1,000,000")


def index_reads(path, ending):
    options = ["-c"] if ending == ".csi" else []
    pysam.index(*options, "-o", str(path) + ending, str(path))


def bed_place(line):
    contig, start, _ = line.split(b"\t", 2)
    return contig, int(start)


def test_an_index_of_another_file_is_named(tmp_path):
    small, large = tmp_path / "small.bam", tmp_path / "large.bam"
    small.write_bytes(real_data("intervals/paired_chr2L.bam").read_bytes())
    large.write_bytes(real_data("intervals/fly_x.bam").read_bytes())
    index_reads(large, ".bai")
    (tmp_path / "large.bam.bai").rename(tmp_path / "small.bam.bai")
    with pytest.raises(FileFormatError, match=r"small.bam.bai: the index of small.bam is damaged"):
        read_intervals(small, region="chr2L:0-9")


def test_a_damaged_file_is_named(tmp_path):
    content = bytearray(real_data("intervals/fly_x.bam").read_bytes())
    path = tmp_path / "cut.bam"
    path.write_bytes(content[:300_000])
    with pytest.raises(FileFormatError, match=r"cut.bam: cannot be read as BAM: .*truncated"):
        read_intervals(path)
    content[300_000:300_100] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match=r"cut.bam: cannot be read beyond read [\d,]+"):
        read_intervals(path)
    path.write_text("chr1\t1\t2\n")
    with pytest.raises(FileFormatError, match=r"cut.bam: cannot be read as BAM"):
        read_intervals(path, kind="bam")
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_intervals(tmp_path / "none.bam")


def test_what_is_wrong_with_sam_is_named(tmp_path, capfd):
    path, read = tmp_path / "reads.sam", "r\t0\tc\t11\t60\t5M\t*\t0\t0\t*\t*\n"
    path.write_bytes(gzip.compress(f"@SQ\tSN:c\tLN:99\n{read}".encode())[:-20])
    with pytest.raises(FileFormatError, match="cannot be read as SAM: it is damaged, cut off, or"):
        read_intervals(path)
    assert capfd.readouterr().err == ""
    path.write_text(read)
    with pytest.raises(FileFormatError, match="cannot be read as SAM: its header has no @SQ"):
        read_intervals(path)
    path.write_text(f"@SQ\tSN:c\tLN:99\n{read}r\t0\tc\tx\t60\t5M\t*\t0\t0\t*\t*\n")
    with pytest.raises(FileFormatError, match="beyond read 1: the next line is not a whole read"):
        read_intervals(path)


def test_a_missing_package_is_named(monkeypatch):
    def refuse(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(optional, "import_module", refuse)
    with pytest.raises(GenovizError, match="read with pysam, which is not installed: pip"):
        read_intervals(real_data("intervals/fly_x.bam"))
