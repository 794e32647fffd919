"""Input files of off-target search: what is read is what was written, and errors name the line."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genoviz.errors import FileFormatError
from genoviz.io.offtargets.cas_offinder_input import read_genome, read_guides, read_offtarget_input
from tests.conftest import real_data
from tests.oracles.two_bit import write_two_bit

WORDS = st.text("abcXYZ019_.-|:", min_size=1, max_size=8)
KEEP_FOLDER = settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def cased(draw, word):
    return "".join(draw(st.sampled_from([c, c.lower()])) for c in word)


@KEEP_FOLDER
@given(data=st.data())
def test_what_is_asked_for_is_what_was_written(tmp_path, data):
    draw = data.draw
    length = draw(st.integers(1, 12))
    pattern = draw(st.text("ACGTRYSWKMBDHVN", min_size=length, max_size=length))
    words = st.text("ACGTUNRX", min_size=length, max_size=length)
    guides = draw(st.lists(words, min_size=1, max_size=5))
    limits = [draw(st.integers(0, 99)) for _ in guides]
    ids = [draw(WORDS) for _ in guides] if draw(st.booleans()) else None
    bulges = draw(st.none() | st.tuples(st.integers(0, 3), st.integers(0, 3)))
    blank = st.sampled_from([" ", "\t", "  ", " \t "])
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = ["no where/genome", cased(draw, pattern)]
    if bulges:
        lines[1] += f"{draw(blank)}{bulges[0]}{draw(blank)}{bulges[1]}"
    for row, (guide, limit) in enumerate(zip(guides, limits, strict=True)):
        line = f"{cased(draw, guide)}{draw(blank)}{limit}"
        lines.append(line + (f"{draw(blank)}{ids[row]}" if ids else ""))
    if draw(st.booleans()):
        lines += ["", "not a guide"]
    text = end.join(lines) + draw(st.sampled_from(["", end, end * 2]))
    path = tmp_path / "input.txt"
    path.write_bytes(text.encode())
    found = read_offtarget_input(path, needs_genome=False)
    assert str(found.genome) == "no where/genome"
    assert (found.pattern, found.guides) == (pattern, tuple(guides))
    assert (found.dna_bulge, found.rna_bulge) == (bulges or (0, 0))
    assert found.has_bulges == (bulges is not None)
    assert found.max_mismatches == tuple(limits)
    assert found.ids == (tuple(ids) if ids else None)
    assert bool(found.notes) == ("not a guide" in lines)


GENOME, PATTERN, GUIDE = "genome.fa", "NNNNNGG", "ACGTANN 3"


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        (["", PATTERN, GUIDE], 1, "is blank, needs the genome"),
        (["nowhere.fa", PATTERN, GUIDE], 1, "no file or folder 'nowhere.fa'"),
        (["x" * 9999, PATTERN, GUIDE], 1, "no file or folder 'xxx.*\\.\\.\\.'"),
        (["a\0b", PATTERN, GUIDE], 1, "has a byte of zero"),
        ([GENOME], 2, "is blank, needs a pattern"),
        ([GENOME, "", GUIDE], 2, "is blank, needs a pattern"),
        ([GENOME, PATTERN + " 1", GUIDE], 2, "has 2 words, needs a pattern"),
        ([GENOME, PATTERN + " 1 x", GUIDE], 2, "largest RNA bulge is 'x'"),
        ([GENOME, PATTERN + " -1 0", GUIDE], 2, "largest DNA bulge is '-1'"),
        ([GENOME, "NNNNNG!", GUIDE], 2, "letter 7 of the pattern is '!'"),
        ([GENOME, PATTERN], 3, "has no guide"),
        ([GENOME, PATTERN, "", GUIDE], 3, "has no guide"),
        ([GENOME, PATTERN, "ACGTAN 3"], 3, "has 6 letters and the pattern 7"),
        ([GENOME, PATTERN, "ACGTANNN 3"], 3, "has 8 letters and the pattern 7"),
        ([GENOME, PATTERN, GUIDE, "ACGTANN"], 4, "has a guide alone"),
        ([GENOME, PATTERN, "ACGTANN x"], 3, "'x' stands for the mismatches"),
        ([GENOME, PATTERN, "ACGTANN -1"], 3, "'-1' stands for the mismatches"),
        ([GENOME, PATTERN, "ACGTANN 3.0"], 3, "'3.0' stands for the mismatches"),
        ([GENOME, PATTERN, "ACGTANN ²"], 3, "'²' stands for the mismatches"),
        ([GENOME, PATTERN, GUIDE + " a", GUIDE], 4, "has no id and line 3 has one"),
        ([GENOME, PATTERN, GUIDE, GUIDE, GUIDE + " a"], 5, "has an id and line 3 has none"),
        ([GENOME, PATTERN, GUIDE + " a b"], 3, "has 4 columns, needs 2 or 3"),
        ([GENOME, PATTERN, "ACGTANÑ 3"], 3, "not ASCII"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path, lines, line, words):
    (tmp_path / GENOME).write_text(">c\nACGT\n")
    path = tmp_path / "input.txt"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(FileFormatError, match=words) as error:
        read_offtarget_input(path)
    assert error.value.line == line
    assert str(error.value).startswith(f"input.txt, line {line}: ")


def test_genomes_lie_in_the_working_folder_or_beside_the_input(tmp_path, monkeypatch):
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    (there / "input.txt").write_text(f"{GENOME}\n{PATTERN}\n{GUIDE}\n")
    (there / GENOME).write_text(">there\nAC\n")
    monkeypatch.chdir(here)
    assert read_genome(read_offtarget_input(there / "input.txt").genome).names == ("there",)
    (here / GENOME).write_text(">here\nAC\n")
    assert read_genome(read_offtarget_input(there / "input.txt").genome).names == ("here",)


@KEEP_FOLDER
@given(data=st.data())
def test_guides_are_those_that_were_written(tmp_path, data):
    draw = data.draw
    words = st.text("ACGTUNRY", min_size=9, max_size=14)
    guides = draw(st.lists(words, min_size=1, max_size=5))
    names = [f"{draw(WORDS)}_{row}" for row in range(len(guides))]
    limits = [draw(st.none() | st.integers(0, 9)) for _ in guides]
    kind = draw(st.sampled_from(["fasta", "csv", "tsv", "header", "text"]))
    if kind == "fasta":
        limits = [None] * len(guides)
        lines = [
            f">{name} of tests\n{guide[:5]}\n{guide[5:]}"
            for name, guide in zip(names, guides, strict=True)
        ]
    elif kind == "text":
        limits = [limit or 0 for limit in limits]
        lines = [f"{g}  {m}\t{n}" for g, m, n in zip(guides, limits, names, strict=True)]
        lines = [line.replace("\t", " ") for line in lines]
    else:
        mark = {"csv": ",", "tsv": "\t", "header": ";"}[kind]
        columns = [guides, ["" if m is None else str(m) for m in limits], names]
        titles = ["gRNA sequence", "Max_mismatches", "Name"]
        order = draw(st.permutations(range(3)))
        lines = [mark.join(row) for row in zip(*(columns[k] for k in order), strict=True)]
        if kind == "header":
            lines.insert(0, mark.join(titles[k] for k in order))
    lines = [cased(draw, line) if kind == "fasta" and line[0] != ">" else line for line in lines]
    path = tmp_path / "guides.txt"
    path.write_bytes(("# of tests\n" * (kind == "text") + "\n".join(lines) + "\n").encode())
    found = read_guides(path)
    assert found.guides == tuple(guide.replace("U", "T") for guide in guides)
    assert found.names == tuple(names)
    assert found.max_mismatches == tuple(limits)


def test_whole_numbers_are_mismatches_only_as_far_as_they_can_be(tmp_path):
    path = tmp_path / "guides.tsv"
    path.write_text("a\tACGTACGTAC\t4\nb\tACGTACGTAG\t10\n")
    found = read_guides(path)
    assert found.max_mismatches == (4, 10)
    assert found.notes == (
        "guides.tsv has no header: column 3 is taken for the mismatches that each guide may have",
    )
    path.write_text("a\tACGTACGTAC\t4\nb\tACGTACGTAG\t11\n")  # scores, such as MIT's
    found = read_guides(path)
    assert (found.max_mismatches, found.names, found.notes) == ((None, None), ("a", "b"), ())
    path.write_text("#guideId\ttargetSeq\tmitSpecScore\n1forw\tACGTACGTAC\t9\n")
    found = read_guides(path)
    assert (found.max_mismatches, found.names, found.notes) == ((None,), ("1forw",), ())


def test_a_guide_a_line_is_enough(tmp_path):
    path = tmp_path / "guides.txt.gz"
    path.write_bytes(gzip.compress(b"acgtuACGTACG\r\n\r\n#\r\nTTTTTTTTTTTT\r\n"))
    found = read_guides(path)
    assert found.guides == ("ACGTTACGTACG", "TTTTTTTTTTTT")
    assert found.names == ("guide_1", "guide_2")
    assert found.max_mismatches == (None, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# nothing\n", "guides.txt: has no guide"),
        ("guide,name\n", "guides.txt: has no guide"),
        ("ACGTACGT\nACGTAXGT\n", "line 2: letter 6 of the guide ACGTAXGT is 'X'"),
        ("a,GATTACAXGATTACA\nc,GATTACAXGATTACA\n", "line 1: letter 8 of the guide GATTACAXGATTACA"),
        ("GATTACA-GATTACA a\n", "line 1: letter 8 of the guide GATTACA-GATTACA is '-'"),
        ("g,GATTACAGATTACA\nc,GATTACAXGATTACA\n", "line 2: letter 8 of the guide GATTACAXGA"),
        ("guide1,GATTACAXGATTACA\n", "line 1: letter 8 of the guide GATTACAXGATTACA is 'X'"),
        ("sgRNA-1\tGATTACAXGATTACA\nsgRNA-2\tGATTACAGATTACA\n", "line 1: letter 8 of the guide"),
        ("a\nc\n", "line 1: the guide A has 1 nt, needs 8 at least in a file"),
        ("guide,name\nACGTACG,a\n", "line 2: the guide ACGTACG has 7 nt, needs 8"),
        ("ACGTACGT,x\nACGT,y\n", "line 2: the guide ACGT has 4 nt, needs 8"),
        ("ACGTACGT,a\n,b\n", "line 2: has no guide"),
        ("guide,name\nACGJ,a\n", "line 2: letter 4 of the guide ACGJ is 'J'"),
        ("guide,mm\nACGTACGT,a\n", "line 2: 'a' stands for the mismatches"),
        ("name,guide\nx\n", "line 2: has no guide"),
        (">a\nACGT\n>b\n", "line 3: has a name and no guide"),
        ("a ACGTACGTACGTACGTA,ACGTACGTACGTACGTAC", "line 1: has two guides, ACGTACGTACGTACGTA and"),
        (">a\nAC-T\n", "line 2: letter 3 of the guide AC-T is '-'"),
        ("guide,name\nACGTACGT," + 200_000 * "a", "line 2: has 200,009 characters, needs a guide"),
    ],
)
def test_what_is_wrong_with_guides_is_told(tmp_path, text, words):
    path = tmp_path / "guides.txt"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=words):
        read_guides(path)


def test_the_guides_of_a_file_of_real_ones_are_read(tmp_path):
    text = real_data("offtarget/guides100.json").read_text()
    guides = [word for word in text.replace('"', " ").split() if set(word) <= set("ACGTN")]
    guides = [guide for guide in guides if len(guide) >= 20]
    path = tmp_path / "guides.csv"
    path.write_text("id,sequence\n" + "".join(f"g{i},{g}\n" for i, g in enumerate(guides)))
    assert read_guides(path).guides == tuple(guides)
    assert len(guides) == 100


def test_a_folder_is_one_genome(tmp_path):
    folder = tmp_path / "genome"
    (folder / "inner.fa").mkdir(parents=True)
    (folder / "inner.fa" / "x.fa").write_text(">x\nA\n")
    (folder / "b.fa").write_text(">b1 first of b\nACgtNN\n>b2\n\n>b1 again\nGG\n")
    (folder / "a.fa.gz").write_bytes(gzip.compress(b">a\tcomment, of a\nTTTa\n"))
    (folder / "c.2bit").write_bytes(write_two_bit([("c", "ACGTnnA")]))
    (folder / "b.fa.fai").write_text("b1\t6\t15\t6\t7\n")
    (folder / "empty.fa").write_bytes(b"")
    (folder / "broken.fa").symlink_to(folder / "gone.fa")
    (tmp_path / "linked.fa").write_text(">linked\nCCC\n")
    (folder / "d.fa").symlink_to(tmp_path / "linked.fa")
    genome = read_genome(folder)
    assert genome.names == ("a", "b1", "b2", "b1", "c", "linked")
    assert genome.descriptions == (
        "a\tcomment, of a", "b1 first of b", "b2", "b1 again", "c", "linked",
    )  # fmt: skip
    assert genome.bases.tobytes() == b"TTTA" + b"ACGTNN" + b"GG" + b"ACGTNNA" + b"CCC"
    assert genome.lengths.tolist() == [4, 6, 0, 2, 7, 3]
    assert genome.masked.tolist() == [[3, 4], [6, 8], [16, 18]]
    assert genome.notes[0].startswith("3 files are no FASTA or 2bit, and passed over: b.fa.fai")
    assert any(note.startswith("b.fa: 1 name ") for note in genome.notes)


def test_a_file_is_a_genome_with_whole_headers(tmp_path):
    (tmp_path / "g.fa").write_text(">chr1 Homo sapiens, 1\nAC\n")
    assert read_genome(tmp_path / "g.fa").descriptions == ("chr1 Homo sapiens, 1",)
    (tmp_path / "g.2bit").write_bytes(write_two_bit([("c", "ACG")]))
    assert read_genome(tmp_path / "g.2bit").descriptions == ("c",)


def test_folders_without_sequences_are_told(tmp_path):
    with pytest.raises(FileFormatError, match="no such file or folder"):
        read_genome(tmp_path / "gone")
    (tmp_path / "a.txt").write_text("nothing")
    with pytest.raises(FileFormatError, match="none of the 1 file of the folder is FASTA"):
        read_genome(tmp_path)
    (tmp_path / "b.fa").write_text(">x\nAC!\n")
    with pytest.raises(FileFormatError, match=r"b\.fa, line 2"):
        read_genome(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_that_may_not_be_read_are_passed_over(tmp_path):
    (tmp_path / "a.fa").write_text(">a\nAC\n")
    (tmp_path / "b.fa").write_text(">b\nAC\n")
    (tmp_path / "b.fa").chmod(0)
    genome = read_genome(tmp_path)
    assert np.array_equal(genome.lengths, [2])
    assert "b.fa" in genome.notes[0]
