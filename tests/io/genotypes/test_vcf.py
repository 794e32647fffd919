from __future__ import annotations

import gzip
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz import (
    FileFormatError,
    GenovizError,
    ParameterError,
    iter_read_genotypes,
    read_genotypes,
    write_dosages,
    write_plink,
    write_vcf,
)
from genoviz.io.files import optional
from genoviz.io.genotypes import vcf
from genoviz.io.text import spaced_lines
from tests.conftest import real_data
from tests.genotype_sets import CODES, assert_same, genotypes_of
from tests.plink import Plink, plink_files

HEADER = """##fileformat=VCFv4.2
##contig=<ID=1>
##contig=<ID=2>
##INFO=<ID=AC,Number=A,Type=Integer,Description="Count">
##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">
##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">
"""
COLUMNS = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\tc\n"
NOT_IN_VCF = ("centimorgans",)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("vcf")


def record(*genotypes, alt="G", form="GT", place="1\t10\trs1"):
    return "\t".join([place, "A", alt, ".", ".", ".", form, *genotypes]) + "\n"


def write(folder, *records, header=HEADER + COLUMNS):
    path = folder / "x.vcf"
    path.write_text(header + "".join(records))
    return path


def to_bcf(path):
    if shutil.which("bcftools") is None:
        pytest.skip("bcftools is not installed")
    bcf = path.with_suffix(".bcf")
    subprocess.run(["bcftools", "view", "-Ob", "-o", bcf, path], check=True, capture_output=True)
    return bcf


RECORDS = (
    record("0/0", "0|1", "1/1"),
    record("./.", ".|1", "0/.", place="2\t1\t."),
    record("1", ".", "0", alt="<DEL>", place="1\t30\t.;x"),
    record("0/0/1", "1|0", "0/0"),
    record("1/1:7", "./.:.", "0|0:3", form="GT:DP"),
    record("0/0", "1/2", "0/1", alt="G,T"),
    record("7", ".", "3", form="DP"),
    record("0/0", "0/0", "./.", alt="."),
)


@pytest.mark.parametrize("kind", ["vcf", "bcf"])
def test_each_kind_of_genotype_is_read(tmp_path, kind):
    path = write(tmp_path, *RECORDS)
    found = read_genotypes(path if kind == "vcf" else to_bcf(path))
    assert found.dosages(slice(None)).T.tolist() == [
        [0, 1, 2],
        [-1, -1, -1],
        [2, -1, 0],
        [-1, 1, 0],
        [2, -1, 0],
        [0, 0, -1],
    ]
    assert found.variants.positions.tolist() == [9, 0, 29, 9, 9, 9]
    assert found.variants.contigs == ("1", "2")
    assert found.variants.contig_ids.tolist() == [0, 1, 0, 0, 0, 0]
    assert found.variants.ids.tolist() == ["rs1", ".", ".;x", "rs1", "rs1", "rs1"]
    assert found.variants.allele1.tolist() == ["G", "G", "<DEL>", "G", "G", "."]
    assert found.variants.allele2.tolist() == ["A"] * 6
    assert found.samples.ids.tolist() == ["a", "b", "c"]
    assert found.notes == (
        "1 variant of more than two alleles is left out.",
        "1 record without genotypes (GT) is left out.",
        "2 haploid genotypes count as homozygous.",
        "2 half-calls, such as ./1, count as missing.",
        "1 genotype of three or more alleles is missing.",
    )


def test_a_record_of_several_alleles_is_split_when_asked(tmp_path):
    path = write(
        tmp_path,
        record("0/0", "1/2", "0/1", alt="G,T"),
        record("2|2", "./2", "0|3", alt="G,<DEL>,*", place="1\t20\t."),
        record("0/1", "0", "2/1/0", alt="C,T", place="2\t5\t."),
        record("0/0", "0/0", "0/1", place="2\t7\t."),
    )
    found = read_genotypes(path, split_alleles=True)
    assert found.dosages(slice(None)).T.tolist() == [
        [0, 1, 1], [0, 1, 0],
        [0, -1, 0], [2, -1, 0], [0, -1, 1],
        [1, 0, -1], [0, 0, -1],
        [0, 0, 1],
    ]  # fmt: skip
    assert found.variants.allele1.tolist() == [*"GT", "G", "<DEL>", "*", *"CT", "G"]
    assert found.variants.positions.tolist() == [9, 9, 19, 19, 19, 4, 4, 6]
    assert found.variants.ids.tolist() == ["rs1"] * 2 + ["."] * 6
    assert (
        found.notes[0] == "3 variants of more than two alleles are split, a variant for each ALT."
    )
    assert read_genotypes(path).n_variants == 1
    bad = write(tmp_path, record("0/0", "1/3", "0/1", alt="G,T"))
    with pytest.raises(FileFormatError, match=r"of b has allele 3, needs 0, 1, 2 or \."):
        read_genotypes(bad, split_alleles=True)
    with pytest.raises(FileFormatError, match="is not VCF or BCF, and alleles are split of these"):
        read_genotypes(tmp_path / "x.npz", split_alleles=True)


FIELDS = st.builds(
    lambda alleles, mark, rest: mark.join(alleles) + rest,
    st.lists(st.sampled_from("01."), min_size=1, max_size=3),
    st.sampled_from("/|"),
    st.sampled_from(["", ":", ":7:.", ":7:0/1"]),
)


def dosage_by_hand(text):
    alleles = text.split(":")[0].replace("|", "/").split("/")
    alleles = 2 * alleles if len(alleles) == 1 else alleles
    return -1 if "." in alleles or len(alleles) > 2 else alleles.count("1")


@settings(max_examples=60)
@given(st.lists(st.lists(FIELDS, min_size=3, max_size=3), max_size=6), st.sampled_from(["", "\r"]))
def test_any_genotypes_are_read_as_by_hand(folder, rows, line_end):
    records = [record(*row, form="GT:DP:X")[:-1] + line_end + "\n" for row in rows]
    found = read_genotypes(write(folder, *records))
    wanted = [[dosage_by_hand(text) for text in row] for row in rows]
    assert found.dosages(slice(None)).T.tolist() == wanted


def test_real_files_are_as_those_of_plink():
    wanted = read_genotypes(real_data("genotypes/1kg_chr21_start.bed"))
    found = read_genotypes(real_data("genotypes/1kg_phase3_chr21_start.vcf.gz"))
    assert_same(found, wanted)


@pytest.mark.parametrize("kind", ["vcf", "vcf bgz", "bcf"])
@pytest.mark.parametrize("name", ["1kg_chr21_start", "gcta_test"])
def test_exports_of_plink_come_back(name, kind, tmp_path):
    files = plink_files(name)
    Plink("plink2", tmp_path)(files, "--export", *kind.split(), "id-paste=iid")
    (path,) = [path for path in tmp_path.iterdir() if path.suffix != ".log"]
    but = ("family_ids", "sexes", "father_ids", "mother_ids", *NOT_IN_VCF)
    assert_same(read_genotypes(path), read_genotypes(f"{files}.bed"), but=but)


def test_plink_makes_the_same_of_what_is_written(tmp_path):
    genotypes = read_genotypes(real_data("genotypes/gcta_test.bed")).take_variants(slice(0, 100))
    path = tmp_path / "x.vcf.gz"
    write_vcf(genotypes, path)
    Plink("plink2", tmp_path)
    subprocess.run(
        ["plink2", "--vcf", path, "--make-bed", "--out", tmp_path / "out"],
        check=True,
        capture_output=True,
    )
    but = ("family_ids", "sexes", "father_ids", "mother_ids", *NOT_IN_VCF)
    assert_same(read_genotypes(tmp_path / "out.bed"), genotypes, but=but)


@settings(max_examples=30)
@given(CODES, st.sampled_from(["vcf", "vcf.gz"]))
def test_what_is_written_comes_back(folder, codes, ending):
    genotypes = genotypes_of(codes)
    write_vcf(genotypes, folder / f"any.{ending}")
    assert_same(read_genotypes(folder / f"any.{ending}"), genotypes, but=NOT_IN_VCF)


@pytest.mark.parametrize("word", ["a b", "s\t1", ""])
def test_names_that_the_format_cannot_hold_are_refused(tmp_path, word):
    genotypes = genotypes_of(np.zeros((2, 2), int))
    for part in ("samples", "variants"):
        table = replace(getattr(genotypes, part), ids=np.array(["s0", word]))
        with pytest.raises(ParameterError, match="has no name or a blank in it, so PLINK files"):
            write_plink(replace(genotypes, **{part: table}), tmp_path / "x")
    twice = replace(genotypes.samples, ids=np.array(["s0", "s0"]))
    with pytest.raises(ParameterError, match="'s0' would be the second column of that name, VCF"):
        write_vcf(replace(genotypes, samples=twice), tmp_path / "x.vcf")
    with pytest.raises(ParameterError, match="no samples, VCF needs genotypes of some"):
        write_vcf(genotypes_of(np.zeros((0, 2), int)), tmp_path / "x.vcf")
    assert not [*tmp_path.iterdir()]


def test_positions_that_plink_does_not_read_are_refused(tmp_path):
    genotypes = genotypes_of(np.zeros((2, 4), int))
    for last, is_read in ((2**31 - 3, True), (2**31 - 2, False)):  # 0-based
        positions = np.array([0, last, 0, 5])
        moved = replace(genotypes, variants=replace(genotypes.variants, positions=positions))
        if is_read:
            write_plink(moved, tmp_path / "x")
            Plink("plink2", tmp_path)(tmp_path / "x", "--freq")
            continue
        for write_it, name in ((write_plink, "y"), (write_vcf, "y.vcf")):
            with pytest.raises(ParameterError, match=r"'rs1' is at 2,147,483,647, needs .* PLINK"):
                write_it(moved, tmp_path / name)
    assert not [*tmp_path.glob("y*")]


def test_long_alleles_do_not_widen_all_others(tmp_path, monkeypatch):
    monkeypatch.setattr(spaced_lines, "MAX_FIXED_BYTES", 500)
    path = write(tmp_path, *RECORDS, record("0/0", "0/0", "0/1", alt="ACGT" * 30))
    alleles = read_genotypes(path).variants.allele1
    assert alleles.dtype == np.dtypes.StringDType()
    assert alleles.tolist()[-3:] == ["G", ".", "ACGT" * 30]
    genotypes = read_genotypes(path)
    for write_again, name in ((write_vcf, "y.vcf"), (write_dosages, "y.npz"), (write_plink, "y")):
        write_again(genotypes, tmp_path / name)
        assert_same(read_genotypes(tmp_path / name), genotypes)


@pytest.mark.parametrize("kind", ["vcf", "vcf.gz", "bcf"])
def test_parts_of_a_file_are_read_as_the_whole(tmp_path, monkeypatch, kind):
    genotypes = genotypes_of(np.random.default_rng(0).integers(0, 4, (37, 300)))
    path = tmp_path / "x.vcf"
    write_vcf(genotypes, path)
    if kind == "bcf":
        path = to_bcf(path)
    elif kind == "vcf.gz":
        path = tmp_path / "plain.vcf.gz"
        path.write_bytes(gzip.compress((tmp_path / "x.vcf").read_bytes()))
    monkeypatch.setattr(vcf, "_STEP_GENOTYPES", 7 * genotypes.n_samples)
    *progress, last = iter_read_genotypes(path)
    assert len(progress) == genotypes.n_variants // 7
    done = [step.n_done for step in progress]
    assert 0 < done[0] <= done[-1] <= progress[-1].n_total == path.stat().st_size
    assert done == sorted(done)
    assert_same(last.genotypes, genotypes, but=NOT_IN_VCF)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            record("0/0", "0/2", "1/1"),
            "record 2, at 1:10: the genotype of b has allele 2, needs 0, 1 or .",
        ),
        (record("0/0", "x", "1/1"), "record 2, behind 1:10, is damaged or cut off"),
        (record("0/0", "0/", "1/1"), "record 2, behind 1:10, is damaged or cut off"),
        (record("0/0", "0/0"), "record 2, behind 1:10, is damaged or cut off"),
        ("1\t10\trs1\n", "record 2, behind 1:10, is damaged or cut off"),
        (record("0/0", "0/0", "0/0", place="1\tten\t."), "record 2, behind 1:10, is damaged"),
        ("no tabs\n", "record 2, behind 1:10, begins with 'no tabs', needs a contig"),
        ("##fileformat=VCFv4.2\n", "a position, between tabs (are these several files in one?)"),
    ],
)
def test_bad_records_are_refused(tmp_path, text, words):
    with pytest.raises(FileFormatError) as error:
        read_genotypes(write(tmp_path, RECORDS[0], text, RECORDS[0]))
    assert words in str(error.value)


def test_records_without_genotypes_are_left_out(tmp_path):
    without = ("\n", record("1:0/0", "2:0/1", "3:1/1", form="DP:GT"))
    found = read_genotypes(write(tmp_path, RECORDS[0], *without, RECORDS[0]))
    assert found.variants.ids.tolist() == ["rs1", "rs1"]
    assert found.notes == ("1 record without genotypes (GT) is left out.",)


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("", "the file is empty"),
        (HEADER, "has a header that is damaged, cut off, or names a sample twice"),
        ("chr1\t1\t5\n", "is not a VCF or BCF file, needs one, plain or gzipped"),
        (HEADER + COLUMNS.replace("\tREF", ""), "needs a line that begins with #CHROM"),
        (HEADER + COLUMNS.replace("\tFORMAT\ta\tb\tc", ""), "has no samples, needs genotypes"),
        (HEADER + COLUMNS.replace("\tb", "\ta"), "names a sample twice"),
    ],
)
def test_bad_headers_are_refused(tmp_path, header, words):
    with pytest.raises(FileFormatError) as error:
        read_genotypes(write(tmp_path, header=header))
    assert words in str(error.value)


def test_files_that_are_not_there_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"no.vcf: there is no such file in"):
        read_genotypes(tmp_path / "no.vcf")
    (tmp_path / "folder.bcf").mkdir()
    with pytest.raises(FileFormatError, match=r"folder.bcf: cannot be read"):
        read_genotypes(tmp_path / "folder.bcf")


def test_files_without_records_have_no_variants(tmp_path):
    assert read_genotypes(write(tmp_path)).packed.shape == (0, 1)


@pytest.mark.parametrize("name", [*'x,y x<y x>y , [ " <a>'.split(), "a b", "", "a\tb"])
def test_names_that_vcf_has_no_place_for_are_refused(tmp_path, name):
    genotypes = genotypes_of(np.zeros((3, 2), np.uint8))

    def write(**columns):
        variants = replace(genotypes.variants, **columns)
        write_vcf(replace(genotypes, variants=variants), tmp_path / "x.vcf")
        return read_genotypes(tmp_path / "x.vcf").variants

    words = re.escape(f"contig {name!r} has no name or a letter of , < > and")
    with pytest.raises(ParameterError, match=words):
        write(contigs=(name,), contig_ids=np.zeros(2, np.int32))
    ids = np.array(["a", name])
    if "\t" in name or not name:
        with pytest.raises(ParameterError, match="has no letters, or a tab or an end of"):
            write(ids=ids)
    else:
        assert write(ids=ids).ids.tolist() == ["a", name]


@pytest.mark.parametrize("name", ["HLA-DRB1*10:01:01", "a=b", "Ä", "a'b", "a(b)", "a;b", "a|b"])
def test_contigs_of_other_letters_come_back(tmp_path, name):
    genotypes = genotypes_of(np.zeros((3, 2), np.uint8))
    contigs = {"contigs": (name,), "contig_ids": np.zeros(2, np.int32)}
    variants = replace(genotypes.variants, **contigs)
    write_vcf(replace(genotypes, variants=variants), tmp_path / "x.vcf")
    assert read_genotypes(tmp_path / "x.vcf").variants.contigs == (name,)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.vcf", b"hello\nworld\n"),
        ("x.vcf", b"##fileformat=VCFv4.2\nx\n"),
        ("x.vcf", (HEADER + COLUMNS + "1\tx\tr\tA\tC\t.\t.\t.\tGT\t0/1\t0/0\t0/0\n").encode()),
        ("x.bcf", bytes(range(255, 0, -1))),
    ],
)
def test_one_sentence_says_what_is_wrong(tmp_path, capfd, name, content):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FileFormatError):
        read_genotypes(path)
    assert capfd.readouterr().err == ""


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "x.vcf"

    def read(**columns):
        text = HEADER + COLUMNS + record("0/0", "0/1", "1/1", **columns)
        path.write_bytes(text.encode("latin-1"))
        return read_genotypes(path).variants

    with pytest.raises(FileFormatError, match="at 1:1: the ID is 'r�' with a letter that is not"):
        read(place="1\t1\tré")
    with pytest.raises(FileFormatError, match="record 1 has an allele that is not text"):
        read(alt="<é>")
    path.write_bytes((HEADER + COLUMNS.replace("\tb", "\té")).encode("latin-1"))
    with pytest.raises(FileFormatError, match="has a sample name that is not UTF-8 text"):
        read_genotypes(path)
    with pytest.raises(FileFormatError, match="record 1, behind its header, has a contig that is"):
        read(place="é\t1\tr")


@pytest.mark.parametrize("kind", ["vcf.gz", "bgzf.vcf.gz", "bcf"])
def test_no_file_that_is_cut_off_passes_for_a_whole_one(tmp_path, kind):
    genotypes = genotypes_of(np.random.default_rng(0).integers(0, 4, (100, 300)))
    path = tmp_path / f"x.{kind.removeprefix('bgzf.')}"
    write_vcf(genotypes, tmp_path / ("x.vcf.gz" if kind == "bgzf.vcf.gz" else "x.vcf"))
    if kind == "vcf.gz":
        path.write_bytes(gzip.compress((tmp_path / "x.vcf").read_bytes()))
    elif kind == "bcf":
        path = to_bcf(tmp_path / "x.vcf")
    content = path.read_bytes()
    assert read_genotypes(path).n_variants == 300
    n = len(content)
    for n_kept in (n - 1, n - 28, n - 30, n // 2, 700, 300, 40, 10):
        path.write_bytes(content[:n_kept])
        with pytest.raises(FileFormatError):
            read_genotypes(path)


def test_what_is_not_installed_is_named(tmp_path, monkeypatch):
    def fail(name):
        raise ImportError(name)

    monkeypatch.setattr(optional, "import_module", fail)
    with pytest.raises(GenovizError, match="VCF and BCF files are read with cyvcf2, which is not"):
        read_genotypes(write(tmp_path))
