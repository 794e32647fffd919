"""Text that is not UTF-8: names are never changed, so that two of them never become one."""

from __future__ import annotations

import re
import struct

import numpy as np
import pytest

from genoviz.analyses.graph.layout.guides import add_reference_paths
from genoviz.errors import FileFormatError
from genoviz.io.genotypes.instructions import iter_lines
from genoviz.io.genotypes.pedigree import read_pedigree
from genoviz.io.genotypes.plink_files import read_bim, read_psam, read_pvar
from genoviz.io.genotypes.relationship_files import read_relationships
from genoviz.io.genotypes.sample_tables import read_fam, read_sample_file
from genoviz.io.genotypes.variant_tables import read_id_list, read_variant_sets
from genoviz.io.graph.gfa import read_gfa
from genoviz.io.intervals.annotations import read_annotations
from genoviz.io.intervals.bigwig_writer import read_genome
from genoviz.io.intervals.intervals import read_intervals
from genoviz.io.offtargets.cas_offinder_input import read_offtarget_input
from genoviz.io.offtargets.guide_files import read_guides
from genoviz.io.sequences.reader import read_sequences
from genoviz.io.text.encoding import find_not_utf8
from genoviz.model import ByteStrings

GFF = "chr1\tx\tgene\t1\t9\t.\t+\t.\tID={}\n"
# A reader, a file with two names that differ in a letter, and the line of the first of them.
NAMES = {
    "fam": (read_fam, "x.fam", "F1 a 0 0 1 1\nF1 Mü 0 0 1 1\nF1 Mö 0 0 1 1\n", 2),
    "father": (read_fam, "x.fam", "F1 a Mü 0 1 1\nF1 b Mö 0 1 1\n", 1),
    "sample file": (read_sample_file, "x.sample", "ID_1 ID_2\n0 0\nf a\nf Mü\nf Mö\n", 4),
    "bim": (read_bim, "x.bim", "1 a 0 1 A C\n\n1 rü 0 2 A C\n1 rö 0 3 A C\n", 3),
    "contig of bim": (read_bim, "x.bim", "1 a 0 1 A C\nü 0 0 2 A C\nö 0 0 3 A C\n", 2),
    "psam": (read_psam, "x.psam", "## made in München\n#IID SEX\nMü 1\nMö 1\n", 3),
    "pvar": (read_pvar, "x.pvar", "#CHROM POS ID REF ALT\n1 1 rü A C\n1 2 rö A C\n", 2),
    "grm.id": (
        lambda path: read_relationships(path.with_suffix(".bin")),
        "x.grm.id",
        "F a\nF Mü\nF Mö\n",
        2,
    ),
    "pedigree": (read_pedigree, "x.ped", "a 0 0\nMü 0 0\nMö 0 0\n", 2),
    "ID list": (read_id_list, "x.txt", "a\nrü\nrö\n", 2),
    "sets": (read_variant_sets, "x.txt", "g rü\ng rö\n", 1),
    "instructions": (lambda path: [*iter_lines(path)], "x.inp", "# für\na # für\nMü !DENSE\n", 3),
    "bed": (read_intervals, "x.bed", "# für\nc\t1\t2\ta\nc\t1\t2\tMü\nc\t1\t2\tMö\n", 3),
    "contig of bed": (read_intervals, "x.bed", "c\t1\t2\nü\t1\t2\nö\t1\t2\n", 2),
    "contig of GFF": (read_intervals, "x.gff", GFF.replace("chr1", "ü").format("a"), 1),
    "table of intervals": (read_intervals, "x.csv", "chrom,start,end,name\nc,1,2,Mü\n", 2),
    "annotations": (read_annotations, "x.bed", "# für\nc\t1\t2\ta\nc\t1\t2\tMü\n", 3),
    "GFF": (read_annotations, "x.gff", "# für\n" + GFF.format("a") + GFF.format("gü"), 3),
    "genome": (read_genome, "x.genome", "# für\nc\t1\nü\t2\nö\t3\n", 3),
    "guides": (read_guides, "x.txt", "ACGTACGTACGT a\nACGTACGTACGT Mü\n", 2),
    "Cas-OFFinder": (
        lambda path: read_offtarget_input(path, needs_genome=False),
        "x.txt",
        "für.fa\nNNNNNNNNNNGG\nACGTACGTACNN 2 ü\n",
        3,
    ),
    "FASTA": (read_sequences, "x.fa", ">a für\nACGT\n>sü b\nACGT\n>sö b\nACGT\n", 3),
}


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_not_utf8_are_refused_and_those_that_are_stay(tmp_path, name):
    read, file, text, line = NAMES[name]
    path = tmp_path / file
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError) as error:
        read(path)
    assert re.fullmatch(
        rf"{file}, line {line}: has a letter that is not UTF-8 \(perhaps ü\), needs UTF-8: .*",
        str(error.value),
    )
    path.write_text(text, encoding="utf-8")
    if name == "grm.id":
        (tmp_path / "x.grm.bin").write_bytes(np.ones(6, "<f4").tobytes())
    read(path)


def test_names_of_binary_files_that_are_not_utf8_are_refused(tmp_path):
    head = "@HD\tVN:1.6\n@SQ\tSN:ü\tLN:100\n@SQ\tSN:ö\tLN:100\nr\t0\tü\t1\t9\t2M\t*\t0\t0\tAC\t*\n"
    (tmp_path / "x.sam").write_bytes(head.encode("latin-1"))
    with pytest.raises(FileFormatError, match="has a contig whose name is not UTF-8, needs"):
        read_intervals(tmp_path / "x.sam")
    index = struct.pack("<4I", 0x1A412743, 0, 1, 0) + b"\2s\xfc" + struct.pack("<I", 23)
    (tmp_path / "x.2bit").write_bytes(index + struct.pack("<4I", 4, 0, 0, 0) + b"\x1b")
    with pytest.raises(FileFormatError, match=r"entry 1 of the index has the name 's\\xfc', needs"):
        read_sequences(tmp_path / "x.2bit")


def test_free_text_may_have_any_letters(tmp_path):
    gff, fasta = tmp_path / "x.gff", tmp_path / "x.fa"
    text = "# für\n" + GFF.format("g\ufffd") + "##FASTA\n>sü\nACGT\n"
    gff.write_bytes(text.encode().replace("ü".encode(), b"\xfc"))
    assert [*read_annotations(gff).names] == ["g\ufffd"]
    fasta.write_bytes(b">s1 f\xfcr\nACGT\n")
    assert read_sequences(fasta).names == ("s1",)


def test_reference_sequences_of_a_graph_stay_apart(tmp_path):
    path = tmp_path / "x.gfa"
    lines = [f"S\t{k}\tACG\tSN:Z:c{letter}\tSO:i:0\tSR:i:0\n" for k, letter in enumerate("üö", 1)]
    path.write_bytes("".join(lines).encode("latin-1"))
    assert sorted(add_reference_paths(read_gfa(path)).path_names) == [r"c\xf6", r"c\xfc"]


def test_each_string_is_checked_by_itself():
    names = [b"a", b"", "ü".encode(), b"b"]
    for wrong in (None, 0, 3):
        row = names if wrong is None else [*names[:wrong], b"\xfc", *names[wrong:]]
        strings = ByteStrings.from_texts(row)
        assert find_not_utf8(strings.data, strings.offsets) == (-1 if wrong is None else wrong)
    # Together, the halves are a letter.
    halves = ByteStrings.from_texts([b"a", b"b\xc3", b"\xbc"])
    assert find_not_utf8(halves.data, halves.offsets) == 1


# Blanks that are not ASCII are letters of a name, as for PLINK, GCTA and htslib.
ODD = "a\u00a0b", "a\u2028b", "a\u0085b", "a\u3000b"


@pytest.mark.parametrize("name", ODD)
def test_names_with_odd_blanks_stay_whole(tmp_path, name):
    def write(file, text):
        (tmp_path / file).write_bytes(text.encode())
        return tmp_path / file

    assert read_fam(write("x.fam", f"F {name} 0 0 1 1\n")).ids.tolist() == [name]
    assert read_id_list(write("x.txt", f"{name} 1\nc\n")) == {name, "c"}
    assert read_variant_sets(write("x.txt", f"s\t{name}\n")) == {"s": [name]}
    pedigree = read_pedigree(write("x.ped", f"{name} 0 0\r\nc {name} 0\r\n"))
    assert sorted(pedigree.ids.tolist()) == sorted([name, "c"])
    assert read_sequences(write("x.fa", f">{name} of c\nACGT\n")).names == (name,)
    write("x.grm.bin", "")
    (tmp_path / "x.grm.bin").write_bytes(np.ones(3, "<f4").tobytes())
    write("x.grm.id", f"F {name}\nF c\n")
    assert read_relationships(tmp_path / "x.grm.bin").samples.ids.tolist() == [name, "c"]
    assert read_guides(write("x.fa", f">{name} x\nACGTACGTACGT\n")).names == (name,)
