from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from genoviz import FileFormatError, iter_read_genotypes, read_genotypes
from genoviz.io.genotypes.plink_files import read_psam, read_pvar
from tests.genotype_sets import assert_same
from tests.plink import Plink, plink_files

pytest.importorskip("pgenlib")


def export(files: Path, folder: Path, *arguments: str) -> Path:
    Plink("plink2", folder)(files, "--make-pgen", *arguments)
    return folder / "out.pgen"


@pytest.mark.parametrize("name", ["1kg_chr21_start", "gcta_test", "maize_mdp", "wheat_bglr"])
def test_what_plink_makes_of_real_files_is_the_same(name, tmp_path):
    files = plink_files(name)
    wanted = read_genotypes(f"{files}.bed")
    assert_same(read_genotypes(export(files, tmp_path)), wanted)
    assert read_genotypes(tmp_path / "out").notes == ()


def test_compressed_variants_are_read(tmp_path):
    files = plink_files("gcta_test")
    path = export(files, tmp_path, "vzs")
    assert not (tmp_path / "out.pvar").exists()
    assert_same(read_genotypes(path), read_genotypes(f"{files}.bed"))
    (tmp_path / "out.pvar.zst").write_bytes(b"\x28\xb5\x2f\xfd no")
    with pytest.raises(FileFormatError, match=r"out\.pvar\.zst: cannot be decompressed: "):
        read_genotypes(path)


def test_variants_of_more_alleles_are_left_out(tmp_path):
    Plink("plink2", tmp_path)
    rows = [("A", "G", "0/1"), ("A", "C,T", "1/2"), ("AT", "A", "1/1"), ("C", "<DEL>", "./.")]
    lines = [
        f"1\t{10 * k}\tv{k}\t{ref}\t{alt}\t.\t.\t.\tGT\t{genotype}\t0/0\n"
        for k, (ref, alt, genotype) in enumerate(rows, start=1)
    ]
    columns = "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\n"
    vcf = tmp_path / "x.vcf"
    vcf.write_text("##fileformat=VCFv4.2\n##contig=<ID=1>\n" + columns + "".join(lines))
    command = ["plink2", "--vcf", vcf, "--make-pgen", "--out", tmp_path / "x"]
    subprocess.run(command, check=True, capture_output=True)
    found = read_genotypes(tmp_path / "x.pgen")
    assert found.dosages(slice(None)).tolist() == [[1, 2, -1], [0, 0, 0]]
    assert found.variants.ids.tolist() == ["v1", "v3", "v4"]
    assert found.notes == ("1 variant of more than two alleles is left out.",)
    assert_same(found, read_genotypes(vcf))


@pytest.mark.parametrize("n", [4, 66_000])
def test_dosages_are_told(n, tmp_path):
    """Of more than 65,536 variants, a .pgen file has the kinds of records in several places."""
    Plink("plink2", tmp_path)
    fields = np.where(np.arange(n) % 4, "GT:DS\t0/1:1.2\t0/0:0.3\n", "GT\t0/1\t0/0\n").tolist()
    heads = [f"1\t{k + 1}\tv{k}\tA\tG\t.\t.\t.\t" for k in range(n)]
    vcf = tmp_path / "x.vcf"
    vcf.write_text(
        '##fileformat=VCFv4.2\n##contig=<ID=1>\n##FORMAT=<ID=DS,Number=1,Type=Float,Description="">'
        "\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\n"
        + "".join(map(str.__add__, heads, fields))
    )
    command = ["plink2", "--vcf", vcf, "dosage=DS", "--make-pgen", "--out", tmp_path / "x"]
    subprocess.run(command, check=True, capture_output=True)
    told = "variants have dosages, which are not taken: genotypes are those that were called."
    found = read_genotypes(tmp_path / "x.pgen", dosages=False)
    assert (found.notes, found.stored_dosages) == ((f"{3 * n // 4:,} {told}",), None)
    found = read_genotypes(tmp_path / "x.pgen")
    assert found.notes[0].startswith(f"{3 * n // 4:,} variants have dosages: frequencies, ")
    np.testing.assert_array_equal(found.has_stored_dosages, np.arange(n) % 4 > 0)
    last = found.exact_dosages(np.array([0, n - 1]))
    np.testing.assert_array_equal(last, [[1, 19661 / 16384], [0, 4915 / 16384]])
    if n == 4:
        assert read_genotypes(vcf, dosages=False).notes == (f"3 {told}",)
        assert read_genotypes(vcf).notes == found.notes


def test_headers_say_what_columns_are(tmp_path):
    psam, pvar = tmp_path / "x.psam", tmp_path / "x.pvar"
    psam.write_text("##comment\n#IID\tSEX\tother\nb\tM\t1\na\t2\t-\n")
    samples = read_psam(psam)
    assert samples.ids.tolist() == ["b", "a"]
    assert samples.family_ids.tolist() == ["0", "0"]
    assert samples.sexes.tolist() == [1, 2]
    pvar.write_text("##INFO\n#CHROM\tPOS\tID\tREF\tALT\tINFO\nX\t7\t.\tA\tG\tPR\n")
    variants = read_pvar(pvar)
    assert (variants.contigs, variants.positions.tolist()) == (("X",), [6])
    assert (variants.allele1.tolist(), variants.allele2.tolist()) == (["G"], ["A"])
    for path in (psam, pvar):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_psam(psam).ids.tolist() == ["b", "a"]
    assert read_pvar(pvar).contigs == ("X",)


def test_files_without_headers_are_as_those_of_plink_1(tmp_path):
    psam, pvar = tmp_path / "x.psam", tmp_path / "x.pvar"
    psam.write_text("f a 0 0 2 -9\n")
    assert read_psam(psam).sexes.tolist() == [2]
    pvar.write_text("1\trs1\t0.5\t7\tG\tA\n")
    assert read_pvar(pvar).centimorgans.tolist() == [0.5]
    pvar.write_text("1\trs1\t7\tG\tA\n")
    variants = read_pvar(pvar)
    assert (variants.allele1.tolist(), variants.positions.tolist()) == (["G"], [6])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("pvar", None, "out.pvar: there is no such file in "),
        ("psam", None, ", which out.pgen needs"),
        ("pgen", None, "out.pgen: there is no such file in "),
        ("pvar", "#CHROM\tPOS\tID\tREF\n", "has columns CHROM POS ID REF, needs ALT"),
        ("psam", "#FID\tSEX\n", "has columns FID SEX, needs IID"),
        ("psam", "#IID\tSEX\na\n", "out.psam, line 2: has 1 field, needs 2: IID SEX"),
        ("psam", "#IID\na\n", "out.pgen: does not fit its 1,279 variants (.pvar) of 1 samples"),
        ("pgen", "no", "(.psam), or is damaged"),
    ],
)
def test_bad_files_are_refused(tmp_path, name, content, words):
    path = export(plink_files("wheat_bglr"), tmp_path)
    if content is None:
        path.with_suffix(f".{name}").unlink()
    else:
        path.with_suffix(f".{name}").write_text(content)
    with pytest.raises(FileFormatError) as error:
        read_genotypes(path)
    assert words in str(error.value)


def test_a_cut_file_is_refused(tmp_path):
    path = export(plink_files("gcta_test"), tmp_path)
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(FileFormatError, match=r"out\.pgen: "):
        read_genotypes(path)


def test_many_samples_are_read_in_blocks(tmp_path, monkeypatch):
    path = export(plink_files("wheat_bglr"), tmp_path)
    whole = read_genotypes(path)
    monkeypatch.setattr("genoviz.io.genotypes.plink_files._BLOCK_BYTES", 10_000)
    *steps, last = iter_read_genotypes(path)
    np.testing.assert_array_equal(last.genotypes.packed, whole.packed)
    n_done = [step.n_done for step in steps if step.n_total == whole.n_variants]
    assert len(n_done) > 2
    assert (n_done, n_done[-1]) == (sorted(n_done), whole.n_variants)
