"""No command writes over a file that it reads, by whatever name."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest

from genoviz.cli.main import main
from genoviz.io.files.replace_file import replace_file
from tests.conftest import ROOT

GFA = "S\ta\tACGT\nS\tb\tGG\nS\tc\tT\nP\tx\ta+,b+,c+\t*\nP\ty\ta+,c+\t*\n"
PARAMETERS = """DATAFILE
m.dat
NUMBER_OF_TRAITS
1
NUMBER_OF_EFFECTS
2
OBSERVATION(S)
3
WEIGHT(S)

EFFECTS:
2 2 cross
1 3 cross
RANDOM_RESIDUAL
1
RANDOM_GROUP
2
RANDOM_TYPE
add_animal
FILE
m.ped
(CO)VARIANCES
0.5
"""
INSTRUCTIONS = """DATAFILE m.dat
animal I
herd I
y T
PEDFILE m.ped
PARFILE m.cov
MODEL
y ~ herd !RANDOM G(animal)
"""
COVARIANCES = "G\ny(animal) 0.5\nRes\ny 1.0\n"
REFUSED = "is read by this command, which must not write over it; give another name"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.gfa").write_text(GFA)
    (tmp_path / "names.txt").write_text("a\nb\n")
    (tmp_path / "g.tsv").write_text(
        "idx\tX\tY\n0\t0\t0\n1\t4\t0\n2\t4\t0\n3\t6\t0\n4\t6\t0\n5\t7\t0\n"
    )
    (tmp_path / "c.bed").write_text("x\t0\t3\n")
    shutil.copy(ROOT / "data_samples" / "genotypes.bed", tmp_path / "p.bed")
    shutil.copy(ROOT / "data_samples" / "genotypes.bim", tmp_path / "p.bim")
    shutil.copy(ROOT / "data_samples" / "genotypes.fam", tmp_path / "p.fam")
    (tmp_path / "m.par").write_text(PARAMETERS)
    (tmp_path / "m.mix").write_text(INSTRUCTIONS)
    (tmp_path / "m.cov").write_text(COVARIANCES)
    (tmp_path / "m.dat").write_text("1 1 3.5\n2 1 4\n3 2 5.5\n3 2 4.1\n")
    (tmp_path / "m.ped").write_text("1 0 0\n2 0 0\n3 1 2\n")
    (tmp_path / "r.grm.id").write_text("0 a\n0 b\n0 c\n")
    np.array([1, 0, 1, 0.5, 0.5, 1], "<f4").tofile(tmp_path / "r.grm.bin")
    np.full(6, 9, "<f4").tofile(tmp_path / "r.grm.N.bin")
    (tmp_path / "y.txt").write_text("IID y\na 1.5\nb 2\nc 4\n")
    (tmp_path / "t.csv").symlink_to("g.gfa")
    (tmp_path / "s.gfa").symlink_to("g.gfa")
    os.link(tmp_path / "g.gfa", tmp_path / "h.gfa")
    for ending in ("bed", "tsv", "png", "gvfm"):
        os.link(tmp_path / "g.gfa", tmp_path / f"l.{ending}")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "extract g.gfa --nodes a -o g.gfa",
        "extract g.gfa --nodes a -o ./cache/../g.gfa",
        "extract g.gfa --nodes a -o s.gfa",
        "extract g.gfa --nodes a -o h.gfa",
        "extract s.gfa --nodes a -o h.gfa",
        "extract g.gfa/x --nodes a -o g.gfa",
        "extract s.gfa/x --nodes a -o h.gfa",
        "extract g.gfa --nodes names.txt -o names.txt",
        "layout g.gfa --start g.tsv -o g.tsv",
        "layout g.gfa --tsv l.tsv",
        "draw g.gfa g.tsv -o l.png",
        "sites g.gfa -o l.bed",
        "sites g.gfa --gaps l.bed",
        "count c.bed c.bed -o c.bed",
        "depth c.bed -o c.bed",
        "coverage c.bed c.bed -o c.bed",
        "geno freq p --keep g.tsv -o g.tsv",
        "geno freq p.bed -o f.tsv --samples p.bim",
        "bwt build g.gfa -o l.gvfm",
        "geno blupf90 m.par -o m.dat",
        "geno blupf90 m.par -o m.ped",
        "geno mixblup m.mix -o m.dat",
        "geno mixblup m.mix -o m.ped",
        "geno mixblup m.mix -o m.cov",
        "geno reml r.grm.bin --pheno y.txt -o r.grm.id",
        "geno reml r.grm.bin --pheno y.txt -o r.grm.N.bin",
    ],
)
def test_an_input_is_not_written_over(folder, capsys, command):
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    (folder / "cache").mkdir()
    with pytest.raises(SystemExit) as end:
        main(command.split())
    assert REFUSED in capsys.readouterr().err
    assert end.value.code == 1
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_what_was_written_before_is_written_again(folder, capsys):
    for _ in range(2):
        with pytest.raises(SystemExit) as end:
            main(["extract", "g.gfa", "--nodes", "a", "-o", "part.gfa"])
        assert end.value.code in (0, None), capsys.readouterr().err
    with replace_file(folder / "g.gfa") as file:  # no command runs any more
        file.write(b"x")
    assert (folder / "h.gfa").read_text() == GFA


@pytest.mark.parametrize(("second", "code"), [("./z.tsv", 2), ("/dev/null", 0)])
def test_two_outputs_need_two_names(folder, capsys, second, code):
    first = "z.tsv" if code else second
    with pytest.raises(SystemExit) as end:
        main(["geno", "freq", "p", "-o", first, "--samples", second])
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert (end.value.code or 0) == code
    assert ("--output and --samples are both z.tsv; name two files" in told) == bool(code)
    assert not (folder / "z.tsv").exists()
