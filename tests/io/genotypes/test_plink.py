from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from genoviz import FileFormatError, GenovizError, ParameterError, read_genotypes, write_plink
from genoviz.io.genotypes.plink_files import read_bim
from genoviz.io.text import spaced_lines
from tests.genotype_sets import CODES, assert_same, genotypes_of
from tests.plink import Plink, plink_files

REAL = ("1kg_chr21_start", "gcta_test", "maize_mdp", "mice_bglr", "toydata.5chrom", "wheat_bglr")
BIM = "1\trs1\t0\t10\tA\tG\n1\trs2\t0.5\t20\tT\tC\n"
FAM = "f a 0 0 1 -9\nf b 0 0 2 1.5\nf c a b 0 2\n"
BED = b"\x6c\x1b\x01\x1b\x2c"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("plink")


def write(folder, *, bed=BED, bim=BIM, fam=FAM):
    for ending, content in ((".bed", bed), (".bim", bim), (".fam", fam)):
        path = folder / f"x{ending}"
        path.unlink(missing_ok=True)
        if content is not None:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder / "x.bed"


def test_the_parts_of_a_file_are_read(tmp_path):
    found = read_genotypes(write(tmp_path))
    assert found.dosages(slice(None)).tolist() == [[0, 2], [1, 0], [-1, 1]]
    assert found.samples.ids.tolist() == ["a", "b", "c"]
    assert found.samples.mother_ids.tolist() == ["0", "0", "b"]
    assert found.samples.sexes.tolist() == [1, 2, 0]
    assert found.variants.contigs == ("1",)
    assert found.variants.positions.tolist() == [9, 19]
    assert found.variants.centimorgans.tolist() == [0, 0.5]
    assert (found.variants.allele1.tolist(), found.variants.allele2.tolist()) == (
        ["A", "T"],
        ["G", "C"],
    )
    assert not found.packed.flags.writeable


def test_a_file_of_the_old_order_is_turned(tmp_path):
    wanted = read_genotypes(write(tmp_path))
    # Samples 0 2, 1 0 and -1 1 at two variants, the first in the lowest bits.
    found = read_genotypes(write(tmp_path, bed=b"\x6c\x1b\x00\x03\x0e\x09"))
    assert_same(found, wanted)
    assert found.notes == (
        "x.bed is in the old order, sample after sample, and was turned in memory.",
    )


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path):
    wanted, mark = read_genotypes(write(tmp_path)), b"\xef\xbb\xbf"
    found = read_genotypes(write(tmp_path, bim=mark + BIM.encode(), fam=mark + FAM.encode()))
    assert_same(found, wanted)
    assert found.variants.contigs == ("1",)


@pytest.mark.parametrize("ending", ["", ".bim", ".fam"])
def test_any_of_the_three_names_the_files(tmp_path, ending):
    path = write(tmp_path)
    assert_same(read_genotypes(str(path.with_suffix("")) + ending), read_genotypes(path))


@pytest.mark.parametrize("name", ["1kg_chr21_start", "maize_mdp", "wheat_bglr"])
def test_dosages_count_the_allele_that_plink_counts(name, tmp_path):
    files = plink_files(name)
    genotypes = read_genotypes(f"{files}.bed")
    plink = Plink("plink1.9", tmp_path)
    plink(files, "--keep-allele-order", "--recode", "A", "--make-just-bim")
    lines = (tmp_path / "out.raw").read_text().splitlines()
    rows = [
        [-1 if field == "NA" else int(field) for field in line.split()[6:]] for line in lines[1:]
    ]
    np.testing.assert_array_equal(genotypes.dosages(slice(None)), np.array(rows, np.int8))
    named = [title.rpartition("_") for title in lines[0].split()[6:]]
    assert [title[0] for title in named] == genotypes.variants.ids.tolist()
    assert [title[2] for title in named] == genotypes.variants.allele1.tolist()


@pytest.mark.parametrize("name", REAL)
def test_files_are_written_as_plink_writes_them(name, tmp_path):
    files = plink_files(name)
    plink = Plink("plink1.9", tmp_path)
    plink(files, "--keep-allele-order", "--make-bed")
    genotypes = read_genotypes(tmp_path / "out.bed")
    phenotype = [float(line.split()[5]) for line in (tmp_path / "out.fam").read_text().splitlines()]
    written = write_plink(genotypes, tmp_path / "again", phenotype=np.array(phenotype))
    for path in written:
        assert path.read_bytes() == (tmp_path / f"out{path.suffix}").read_bytes()


@settings(max_examples=30)
@given(CODES)
def test_what_is_written_comes_back(folder, codes):
    genotypes = genotypes_of(codes)
    bed, *_ = write_plink(genotypes, folder / "any")
    assert_same(read_genotypes(bed), genotypes)


def test_bits_beyond_the_last_sample_are_written_as_zeros(tmp_path):
    genotypes = genotypes_of(np.zeros((5, 3), int))
    genotypes.packed[:, -1] |= 0b11100100
    bed, *_ = write_plink(genotypes, tmp_path / "x")
    assert bed.read_bytes()[3:] == bytes(6)
    assert genotypes.packed[0, -1] == 0b11100100


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        (
            {"bed": BED[:-1]},
            "x.bed: has 4 bytes, needs 5 for 2 variants (.bim) of 3 samples (.fam)",
        ),
        (
            {"bed": b"\x6c\x1b\x00\x1b\x2c"},
            "has 5 bytes, needs 6 for 2 variants (.bim) of 3 samples",
        ),
        (
            {"bed": b"chr1\t5\t9\n"},
            "x.bed: begins with 63 68 72, needs 6c 1b 01, so it is not a .bed file of PLINK",
        ),
        ({"bed": b""}, "x.bed: is empty, so it is not a .bed file of PLINK"),
        ({"bim": ""}, "x.bim: is empty, needs a line for each variant of x.bed"),
        ({"fam": ""}, "x.fam: is empty, needs a line for each sample of x.bed"),
        ({"bim": BIM + "\0"}, "x.bim, line 3: has a byte of zero, so it is not text"),
        ({"bim": None}, "x.bim: there is no such file in "),
        ({"fam": None}, ", which x.bed needs"),
        ({"bed": None}, "x.bed: there is no such file in "),
        ({"bim": BIM.replace("20\t", "")}, "x.bim, line 2: has 5 fields, needs 6: chromosome, ID"),
        ({"bim": BIM.replace("20", "2x")}, "line 2: the position is '2x', needs a whole number"),
        ({"bim": BIM.replace("0.5", "?")}, "line 2: the place in centimorgans is '?', needs a num"),
        ({"fam": FAM + "\n\nd d 0 0\n"}, "x.fam, line 6: has 4 fields, needs 6: family ID"),
        ({"fam": FAM.replace("f b", "f a")}, "line 2: sample 'a' of family 'f' is there already"),
    ],
)
def test_bad_files_are_refused(tmp_path, parts, words):
    with pytest.raises(FileFormatError) as error:
        read_genotypes(write(tmp_path, **parts))
    assert words in str(error.value)


def test_unusual_fields_are_read(tmp_path, monkeypatch):
    long = "ACGT" * 50
    bim = f"chrÄ  é {1e-300} -5 {long} 0\r\n\n  X\t.\t12345.678901234567  0 A G  "
    variants = read_genotypes(write(tmp_path, bim=bim)).variants
    assert variants.contigs == ("chrÄ", "X")
    assert variants.ids.tolist() == ["é", "."]
    assert variants.positions.tolist() == [-1, -1]
    assert variants.centimorgans.tolist() == [1e-300, 12345.678901234567]
    assert variants.allele1.tolist() == [long, "A"]
    monkeypatch.setattr(spaced_lines, "MAX_FIXED_BYTES", 1000)
    again = read_bim(tmp_path / "x.bim")
    assert again.allele1.dtype == np.dtypes.StringDType()
    assert again.allele1.tolist() == [long, "A"]


def test_files_without_variants_or_samples_are_read(tmp_path):
    assert read_genotypes(write(tmp_path, bed=BED[:3], bim="")).n_variants == 0
    assert read_genotypes(write(tmp_path, bed=BED[:3], fam="")).n_samples == 0


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="is a folder, needs the name of a file or a prefix"):
        write_plink(genotypes_of(np.zeros((1, 1), int)), ".")
    genotypes = genotypes_of(np.zeros((2, 3), int))
    with pytest.raises(GenovizError, match=r"x\.bed: cannot be written"):
        write_plink(genotypes, tmp_path / "none" / "x")
    with pytest.raises(ParameterError, match=r"phenotype has shape \(3,\), needs \(2,\)"):
        write_plink(genotypes, tmp_path / "x", phenotype=np.zeros(3))
