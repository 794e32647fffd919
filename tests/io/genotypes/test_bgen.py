from __future__ import annotations

import contextlib
import struct
import subprocess
from pathlib import Path

import numpy as np
import pytest

from genoviz import FileFormatError, Genotypes, iter_read_genotypes, read_genotypes
from genoviz.io.genotypes import bgen, dosages
from genoviz.io.genotypes.bgen import read_bgen_header
from tests.genotype_sets import assert_same
from tests.oracles.bgen import Variant, dosage, hard_call, write_bgen
from tests.plink import Plink

N = 11
IDS = [f"s{k}" for k in range(N)]
USES = "dosages: frequencies, scores and association (except its mixed model) use them"
DOSAGES = f"{{}} have {USES}, everything else uses hard calls."


def numbers(rng: np.random.Generator, one: int, *, is_phased: bool) -> tuple[int, int]:
    """Return two stored numbers: certain, nearly so (about 0.1 away), or any."""
    kind = rng.integers(3)
    if is_phased:
        return tuple(_near(rng, one, kind, int(rng.integers(2)) * one) for _ in range(2))
    first = _near(rng, one, kind, int(rng.integers(2)) * one)
    return first, _near(rng, one - first, kind, int(rng.integers(2)) * (one - first))


def _near(rng: np.random.Generator, one: int, kind: int, end: int) -> int:
    if kind == 0:
        return end
    if kind == 1:
        return abs(end - round(one * float(rng.choice([0.03, 0.05, 0.1]))))
    return int(rng.integers(one + 1))


def variants_of(n_bits: int, *, ploidies=(2,), seed=0, n=6) -> list[Variant]:
    rng, made = np.random.default_rng([n_bits, seed]), []
    one = 2**n_bits - 1
    for k in range(n):
        is_phased = bool(k % 2)
        genotypes = [
            numbers(rng, one, is_phased=is_phased)[:ploidy] if rng.random() < 0.9 else None
            for ploidy in rng.choice(ploidies, N)
        ]
        place = {"name": f"v{k}", "contig": "ab"[k > 2], "position": 10 * k + 1}
        made.append(Variant(tuple(genotypes), n_bits, is_phased, **place))
    return made


def check(path: Path, variants: list[Variant], layout: int = 2):
    found = read_genotypes(path)
    kept = [v for v in variants if len(v.alleles) == 2]
    dosages = [[dosage(numbers, v, layout) for numbers in v.genotypes] for v in kept]
    wanted = np.array([[hard_call(each) for each in row] for row in dosages])
    np.testing.assert_array_equal(found.dosages(slice(None)).T, wanted)
    n = sum(any(each is not None and each.denominator > 1 for each in row) for row in dosages)
    told = DOSAGES.format(f"{n} variants" if n != 1 else "1 variant").replace(
        "1 variant have", "1 variant has"
    )
    assert (told in found.notes) == (n > 0)
    n_uncertain = sum(x is not None and hard_call(x) < 0 for row in dosages for x in row)
    exact = [[np.nan if each is None else float(each) for each in row] for row in dosages]
    exact = np.array(exact).reshape(wanted.shape)
    np.testing.assert_array_equal(found.exact_dosages(np.arange(len(kept))).T, exact)
    far = "missing, as the dosage is farther than 0.1 from a whole number."
    assert any(f"{n_uncertain:,} hard call" in note and far in note for note in found.notes) == (
        n_uncertain > 0
    )
    assert found.samples.ids.tolist() == IDS
    table = found.variants
    contigs = np.array(table.contigs)[table.contig_ids].tolist()
    assert contigs == [v.contig for v in kept]
    assert (table.positions + 1).tolist() == [v.position for v in kept]
    assert table.ids.tolist() == [v.name for v in kept]
    assert list(zip(table.allele2.tolist(), table.allele1.tolist(), strict=True)) == [
        v.alleles for v in kept
    ]
    return found


@pytest.mark.parametrize("n_bits", range(1, 33))
def test_all_numbers_of_bits_are_read(tmp_path, n_bits):
    variants = variants_of(n_bits) + variants_of(n_bits, ploidies=(0, 1, 2, 2, 3), seed=1)
    path = write_bgen(tmp_path / "x.bgen", variants, N, ids=IDS, compression=n_bits % 3)
    check(path, variants)


@pytest.mark.parametrize("compression", [0, 1])
def test_layout_1_is_read(tmp_path, compression):
    rng = np.random.default_rng(compression)
    rows = [[(*numbers(rng, 32768, is_phased=False), 0) for _ in range(N)] for _ in range(5)]
    rows = [
        [(a, b, max(32768 - a - b - int(rng.integers(3)), 0)) for a, b, _ in row] for row in rows
    ]
    variants = [
        Variant((*map(tuple, row[1:]), None), 15, name=f"v{k}") for k, row in enumerate(rows)
    ]
    (tmp_path / "x.sample").write_text(
        "ID_1 ID_2 missing\n0 0 0\n" + "".join(f"0 {name} 0\n" for name in IDS)
    )
    path = write_bgen(tmp_path / "x.bgen", variants, N, layout=1, compression=compression)
    check(path, variants, 1)


def test_variants_of_one_allele_have_no_other(tmp_path):
    variants = [Variant(((), (), (), ()), alleles=("A",)), Variant(((0, 0),) * 4, name="b")]
    content = write_bgen(tmp_path / "x.bgen", variants, 4, ids=IDS[:4], compression=0).read_bytes()
    # Genotypes of one allele have copies, of which nothing need be stored.
    (tmp_path / "x.bgen").write_bytes(content.replace(bytes(4) + b"\0\x08", b"\2\2\1\x82\0\x08"))
    found = read_genotypes(tmp_path / "x.bgen")
    assert found.dosages(slice(None)).T.tolist() == [[0, 0, 0, -1], [2, 2, 2, 2]]
    assert found.variants.allele1.tolist() == [".", "G"]


def test_what_is_left_out_or_special_is_told(tmp_path):
    whole = ((255, 0), (0, 255), (0, 0), None, (255,), (0,), None, (1, 2, 3), (), (0, 0), (0, 255))
    three = Variant(((255, 0, 0, 0, 0),) * N, alleles=("A", "C", "G"))
    variants = [Variant(whole), three, Variant(whole, name="", alleles=("AT", "A"))]
    path = write_bgen(tmp_path / "x.bgen", variants, N, ids=IDS)
    found = read_genotypes(path)
    assert found.dosages(slice(None)).T.tolist() == [[0, 1, 2, -1, 0, 2, -1, -1, -1, 2, 1]] * 2
    assert found.variants.ids.tolist() == ["rs1", "other"]
    assert found.notes == (
        "1 variant of more than two alleles is left out.",
        "4 haploid genotypes count as homozygous.",
        "2 genotypes of three or more alleles are missing.",
    )


@pytest.mark.parametrize("n_bits", [1, 2, 7, 8, 11, 16, 28])
def test_plink_2_makes_the_same_calls(tmp_path, n_bits):
    made = [v for seed in range(20) for v in variants_of(n_bits, seed=seed)]
    made = [Variant(v.genotypes, n_bits, v.is_phased, f"v{k}", "1") for k, v in enumerate(made)]
    path = write_bgen(tmp_path / "x.bgen", made, N, ids=IDS, compression=1 + n_bits % 2)
    # PLINK 2 also stores 1/3 and 2/3 in the copies of a genotype, a dosage of 1.
    assert_like_plink(path, has_notes=n_bits != 2)


@pytest.mark.parametrize("kind", ["bgen-1.1", "bgen-1.2", "bgen-1.3"])
def test_files_of_plink_2_are_read(tmp_path, kind):
    """Males are haploid on X, one of which has a dosage; layout 1 has only diploid genotypes."""
    Plink("plink2", tmp_path)
    rng, lines = np.random.default_rng(1), []
    for k in range(300):
        dosages = np.round(2 * rng.beta(0.3, 0.3, N), int(rng.integers(1, 4)))
        fields = [f"./.:{x}" if rng.random() < 0.9 else "./.:." for x in dosages]
        contig = "X" if k > 200 else "1"
        lines.append("\t".join([contig, str(k + 3_000_000), f"v{k}", *"AG...", "GT:DS", *fields]))
    columns = "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT".replace(" ", "\t")
    (tmp_path / "x.vcf").write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=1>\n##contig=<ID=X>\n"
        '##FORMAT=<ID=DS,Number=1,Type=Float,Description="">\n'
        + "\n".join(["\t".join([columns, *IDS]), *lines, ""])
    )
    sexes = "#IID SEX\n" + "".join(f"{name} {1 + k % 2}\n" for k, name in enumerate(IDS))
    (tmp_path / "sexes.txt").write_text(sexes)
    run("--vcf", tmp_path / "x.vcf", "dosage=DS", "--update-sex", tmp_path / "sexes.txt",
        "--export", kind, "ref-first", "--out", tmp_path / "x")  # fmt: skip
    found = assert_like_plink(tmp_path / "x.bgen", "--sample", tmp_path / "x.sample")
    assert found.variants.contigs == ("1", "X")
    assert found.samples.sexes.tolist() == [1, 2] * 5 + [1]
    assert (found.dosages(slice(None)) >= 0).mean() > 0.3
    assert any("haploid" in note for note in found.notes) == (kind != "bgen-1.1")


def run(*command: str | Path) -> None:
    done = subprocess.run(["plink2", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def assert_like_plink(path: Path, *options: str | Path, has_notes: bool = True) -> Genotypes:
    pytest.importorskip("pgenlib")
    Plink("plink2", path.parent)
    run("--bgen", path, "ref-first", *options, "--make-pgen", "--out", path.with_name("p"))
    wanted, found = read_genotypes(path.with_name("p.pgen")), read_genotypes(path)
    assert_same(found, wanted)
    assert found.notes[-1:] == wanted.notes or not has_notes
    return found


def test_samples_are_those_of_the_table(tmp_path):
    variants = [Variant(((255, 0),) * 3)]
    path, table = tmp_path / "x.bgen", tmp_path / "x.sample"
    write_bgen(path, variants, 3)
    assert not read_bgen_header(path).has_ids
    with pytest.raises(FileFormatError, match=r"x\.bgen: names no samples, needs x\.sample beside"):
        read_genotypes(path)
    table.write_text(
        "ID_1 ID_2 missing father mother sex y\n0 0 0 D D D P\n"
        "f a 0 0 0 1 1.5\nf b 0 0 0 2 NA\nf c 0 a b NA 2\n"
    )
    found = read_genotypes(table)
    assert found.notes == ()
    assert found.samples.ids.tolist() == ["a", "b", "c"]
    assert found.samples.family_ids.tolist() == ["f"] * 3
    assert found.samples.sexes.tolist() == [1, 2, 0]
    assert found.samples.father_ids.tolist() == ["0", "0", "a"]
    assert found.samples.mother_ids.tolist() == ["0", "0", "b"]
    for ids in (["a", "b", "c"], ["f_a", "f_b", "f_c"]):
        assert read_genotypes(write_bgen(path, variants, 3, ids=ids)).notes == ()
    found = read_genotypes(write_bgen(path, variants, 3, ids=["b", "a", "c"]))
    assert found.notes == ("Samples are named as in x.sample; x.bgen has other names for them.",)
    table.write_text("ID\n0\na\nb\nc\n")
    assert read_genotypes(path).samples.family_ids.tolist() == ["0"] * 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "x.sample: "),
        ("ID_1 ID_2 missing\na a 0\nb b 0\n", "needs a line of titles"),
        ("ID_1 ID_2 missing\n0 0\na a 0\n", "needs a line of titles"),
        ("ID_1 ID_2 missing\n0 0 0\na a 0\n", "has 1 sample, needs 2 as x.bgen has"),
        ("ID_1 ID_2 missing\n0 0 0\na a 0\nb b\n", "line 4: has 2 fields, needs 3"),
        ("ID_1 ID_2 missing\n0 0 0\na a 0\na a 0\n", "line 4: sample 'a' of family 'a' is there"),
    ],
)
def test_bad_tables_of_samples_are_refused(tmp_path, text, words):
    path = write_bgen(tmp_path / "x.bgen", [Variant(((255, 0),) * 2)], 2)
    path.with_suffix(".sample").write_text(text)
    with pytest.raises(FileFormatError) as error:
        read_genotypes(path)
    assert words in str(error.value)


@pytest.mark.parametrize("compression", [0, 1, 2])
def test_damaged_files_are_one_sentence(tmp_path, compression):
    """No byte and no end of a file brings another error, or a part of the variants."""
    path = write_bgen(tmp_path / "x.bgen", variants_of(9, n=3), N, ids=IDS, compression=compression)
    content = path.read_bytes()
    for n in range(0, len(content), 3):
        path.write_bytes(content[:n])
        with pytest.raises(FileFormatError, match=r"^x\.bgen: [^\n]+$"):
            read_genotypes(path)
    path.write_bytes(content + b"\0")
    with pytest.raises(FileFormatError, match="has 1 byte behind its 3 variants, needs none"):
        read_genotypes(path)
    rng = np.random.default_rng(compression)
    n_read = 0
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] = (damaged[place] + int(rng.integers(1, 256))) % 256
        path.write_bytes(damaged)
        with contextlib.suppress(FileFormatError):
            read_genotypes(path)
            n_read += 1
    assert n_read < 0.7 * len(content)


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        (Variant(((200, 56), (0, 0))), "variant 1 of 1 has probabilities of sample s0 that are"),
        (Variant(((0, 0),)), "variant 1 of 1 has genotypes of 1 sample and 2 alleles, needs 2"),
        (Variant(((0, 0), (0, 0)), alleles=("A",)), "variant 1 of 1 has 4 bytes of probabilities"),
    ],
)
def test_wrong_genotypes_are_refused(tmp_path, variant, words):
    path = write_bgen(tmp_path / "x.bgen", [variant], 2, ids=IDS[:2])
    with pytest.raises(FileFormatError) as error:
        read_genotypes(path)
    assert words in str(error.value)


def test_files_that_are_not_there_or_not_bgen_are_refused(tmp_path):
    with pytest.raises(FileFormatError, match=r"no\.bgen: there is no such file in"):
        read_genotypes(tmp_path / "no.sample")
    path = tmp_path / "x.bgen"
    for content, words in [
        (b"", "is empty, needs a header"),
        (b"##fileformat=VCFv4.2 and so on\n", "is not a BGEN file"),
    ]:
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=words):
            read_genotypes(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(FileFormatError, match="cannot be read"):
        read_genotypes(path)


def test_parts_of_a_file_are_read_as_the_whole(tmp_path, monkeypatch):
    variants = variants_of(8, n=7)
    path = write_bgen(tmp_path / "x.bgen", variants, N, ids=IDS)
    whole = read_genotypes(path)
    monkeypatch.setattr(bgen, "_STEP_GENOTYPES", 2 * N)
    monkeypatch.setattr(dosages, "MAX_BYTES_IN_MEMORY", 5 * N)
    _, *progress, last = iter_read_genotypes(path)
    assert len(progress) == 3
    assert [step.n_done for step in progress] == sorted({step.n_done for step in progress})
    assert progress[-1].n_total == path.stat().st_size
    assert_same(last.genotypes, whole)
    numbers_of = np.arange(7)
    found = last.genotypes.exact_dosages(numbers_of)
    np.testing.assert_array_equal(found, whole.exact_dosages(numbers_of))
    assert not last.genotypes.stored_dosages.values.flags.writeable  # mapped
    called = read_genotypes(path, dosages=False)
    assert (called.stored_dosages, "which are not taken" in called.notes[-1]) == (None, True)
    assert read_genotypes(write_bgen(path, [], N, ids=IDS)).packed.shape == (0, 3)


def test_compressed_genotypes_need_their_checksum(tmp_path):
    path = write_bgen(tmp_path / "x.bgen", [Variant(((255, 0),) * 3)], 3, ids=IDS[:3])
    content = path.read_bytes()
    n_stored = content.rindex(b"\x78\x9c")
    packed = content[n_stored:-4]
    path.write_bytes(content[: n_stored - 8] + struct.pack("<I", len(packed) + 4)
                     + content[n_stored - 4 : n_stored] + packed)  # fmt: skip
    with pytest.raises(FileFormatError, match="variant 1 of 1 has genotypes without their end"):
        read_genotypes(path)
    with pytest.raises(FileFormatError, match="has no samples"):
        read_genotypes(write_bgen(path, [], 0, ids=[]))
