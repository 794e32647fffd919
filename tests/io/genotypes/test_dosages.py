"""Dosages of VCF files, by hand, and where those of any file are kept."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import FileFormatError, read_genotypes
from genoviz.io.genotypes import dosages

pytest.importorskip("cyvcf2")
HEADER = """##fileformat=VCFv4.2
##contig=<ID=1>
##FORMAT=<ID=GT,Number=1,Type=String,Description="">
##FORMAT=<ID=DS,Number=A,Type=Float,Description="">
##FORMAT=<ID=HDS,Number=.,Type=Float,Description="">
##FORMAT=<ID=GP,Number=G,Type=Float,Description="">
##FORMAT=<ID=AD,Number=1,Type=Integer,Description="">
#CHROM	POS	ID	REF	ALT	QUAL	FILTER	INFO	FORMAT	a	b	c
"""
NONE = np.nan


def write(folder, *rows, header=HEADER):
    """Write records of alternative alleles, a format, and the fields of three samples."""
    path = folder / "x.vcf"
    lines = [
        "\t".join(["1", str(k), f"v{k}", "A", alt, ".", ".", ".", *fields])
        for k, (alt, *fields) in enumerate(rows, start=10)
    ]
    path.write_text(header + "".join(f"{line}\n" for line in lines))
    return path


def units(*numbers):
    """Return dosages rounded to 1/16384."""
    return [number if number != number else int(number * 16384 + 0.5) / 16384 for number in numbers]


@pytest.mark.parametrize(
    ("fields", "wanted", "calls"),
    [
        ("GT:DS 0/1:1.2 ./.:0.3 0/1:.", units(1.2, 0.3, 1), [1, -1, 1]),
        ("GT:DS 0|1 1:0.45 .:.", units(1, 0.9, NONE), [1, 2, -1]),
        ("DS 1.2 0.05 .", units(1.2, 0.05, NONE), [-1, 0, -1]),
        ("DS:GT 1.2 0.05 .", None, None),
        ("GT:HDS 0|1:0.25,0.9 1:0.4 ./.:.", units(1.15, 0.8, NONE), [1, 2, -1]),
        ("HDS 0.25,0.9 0.4 .,.", units(1.15, 0.8, NONE), [-1, -1, -1]),
        ("GT:GP 0/0:0.5,0.4,0.1 1:0.25,0.75 ./.:.", units(0.6, 1.5, NONE), [0, 2, -1]),
        ("GP 0.5,0.4,0.11 0.25,0.75 .", units(0.62 / 1.01, 1.5, NONE), [-1, -1, -1]),
        ("GT:GP:DS 0/0:1,0,0:0.5 0/0:1,0,0:0 ./.:.:.", units(0.5, 0, NONE), [0, 0, -1]),
        ("GT:DS 0/1/1:2.5 0/0:0.1 1/1:2", units(NONE, 0.1, 2), [-1, 0, 2]),
    ],
)
def test_fields_are_read(tmp_path, fields, wanted, calls):
    path = write(tmp_path, ("C", "GT", "0/0", "0/1", "1/1"), ("G", *fields.split()))
    found = read_genotypes(path)
    if wanted is None:
        assert (found.n_variants, found.stored_dosages) == (1, None)
        return
    assert found.stored_dosages.rows.tolist() == [-1, 0]
    np.testing.assert_array_equal(found.exact_dosages(np.array([1]))[:, 0], wanted)
    np.testing.assert_array_equal(found.dosages(slice(1, 2))[:, 0], calls)
    uses = "frequencies, scores and association (except its mixed model) use them"
    assert found.notes[-1] == f"1 variant has dosages: {uses}, everything else uses hard calls."
    called = read_genotypes(path, dosages=False)
    assert called.stored_dosages is None
    np.testing.assert_array_equal(called.dosages(slice(1, 2))[:, 0], calls)


@pytest.mark.parametrize(
    ("contig", "n_read"), [("X", 2), ("chrM", 2), ("chrY", 2), ("23", 3), ("PAR1", 3), ("7", 3)]
)
def test_a_dosage_of_one_copy_or_two_is_not_guessed(tmp_path, contig, n_read):
    """PLINK 2 refuses DS without GT there: it may be from 0 to 1 or from 0 to 2."""
    rows = ("DS 0.9 0.05 .", "GP:DS 0.1,0.9:0.9 1,0,0:0 .:.", "GT:DS 1:0.9 0/0:0 ./.:.")
    path = write(tmp_path, *(("G", *row.split()) for row in rows))
    path.write_text(
        path.read_text().replace("\n1\t", f"\n{contig}\t").replace("ID=1", f"ID={contig}")
    )
    found = read_genotypes(path)
    assert found.n_variants == n_read
    assert any("1 record of X, Y and MT with DS" in note for note in found.notes) == (n_read == 2)
    if n_read == 2:
        # By GP, the first is of one copy.
        first = found.exact_dosages(np.array([0]))[:, 0]
        np.testing.assert_array_equal(first, units(1.8, 0, NONE))


def test_a_missing_number_of_htslib_is_read_without_a_warning():
    missing = np.full((1, 1), 0x7F800001, np.uint32).view(np.float32)
    with np.errstate(all="raise"):
        assert dosages.read_field("DS", missing, None) == dosages.MISSING_DOSAGE


def test_dosages_of_calls_take_no_place(tmp_path):
    rows = [("G", "GT:DS", "0/1:1", "1:1", "./.:."), ("G", "DS", "0", "2", ".")]
    found = read_genotypes(write(tmp_path, *rows))
    assert found.stored_dosages is None
    assert found.dosages(slice(None)).T.tolist() == [[1, 2, -1], [0, 2, -1]]
    assert not any("dosages" in note for note in found.notes)


def test_alleles_that_are_split_have_their_own(tmp_path):
    rows = [
        ("C,G", "GT:DS", "1/2:0.9,0.8", "0/1:1,0", "./.:."),
        ("C,G", "DS", "0.3,1.7", "1,0", "."),
        ("C,G", "GP", "1,0,0,0,0,0", "1,0,0,0,0,0", "."),
    ]
    found = read_genotypes(write(tmp_path, *rows), split_alleles=True)
    wanted = np.array([units(*row) for row in [(0.9, 1, NONE), (0.8, 0, NONE), (0.3, 1, NONE),
                                               (1.7, 0, NONE)]])  # fmt: skip
    np.testing.assert_array_equal(found.exact_dosages(np.arange(4)).T, wanted)
    assert found.notes[1] == "1 record without genotypes (GT) is left out."


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("GT:DS 0/1:2.5 0/0:0 0/0:0", "DS of a is 2.5, needs 0 to 2, or 0 to 1 if the genotype"),
        ("DS 0 -0.1 .", "DS of b is -0.1, needs 0 to 2"),
        ("GT:DS 0/0:0 1:1.5 .:.", "DS of b is 1.5, needs 0 to 2, or 0 to 1 if the genotype is hap"),
        ("GT:DS 0/0:0,1 0/0:0 .:.", "DS has 2 numbers a sample, needs 1"),
        ("DS 0 inf .", "DS of b is inf, needs"),
        ("HDS 0,0 0.5,1.5 .", "HDS of b is 0.5,1.5, needs 0 to 1 for each haplotype"),
        ("GT:HDS 0|0:0,0 0|1:0.5 .", "HDS of b is 0.5,., needs 0 to 1 for each haplotype"),
        ("GT:GP 0/0:1,0,0 0/1:0.1,0.1,0.1 .", "GP of b is 0.1,0.1,0.1, needs probabilities that"),
        ("GT:GP 0/0:1,0,0 0/1:0.5,0.5 .", "GP of b is 0.5,0.5,., needs probabilities that sum"),
        ("GP 0.5,0.5,0,0 1,0,0 .", "GP has 4 numbers a sample, needs 3"),
        ("GP 1.5,-0.5,0 1,0,0 .", "GP of a is 1.5,-0.5,0, needs probabilities"),
    ],
)
def test_wrong_dosages_are_one_sentence(tmp_path, fields, words):
    path = write(tmp_path, ("C", "GT", "0/0", "0/1", "1/1"), ("G", *fields.split()))
    with pytest.raises(FileFormatError) as error:
        read_genotypes(path)
    assert str(error.value).startswith(f"x.vcf: record 2, at 1:11: {words}")
    assert "\n" not in str(error.value)


def test_dosages_need_to_be_numbers(tmp_path):
    header = HEADER.replace("DS,Number=A,Type=Float", "DS,Number=1,Type=String")
    path = write(tmp_path, ("G", "GT:DS", "0/0:0.1", "0/0:x", "0/0:."), header=header)
    with pytest.raises(FileFormatError, match="DS is not of Type=Float in the header"):
        read_genotypes(path)


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    path = write(tmp_path, ("G", "DS", "0.5", "1", "."))
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(dosages, "MAX_BYTES_IN_MEMORY", 1)
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(FileFormatError, match=r"x\.vcf: needs .* bytes, which do not fit in "):
        read_genotypes(path)
