"""Each command shows how far it is, and a signal in the midst of its work leaves nothing behind.

What is inside a kernel is stopped as test_shell.py shows, whatever the command.
"""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from genoviz.cli.main import main, make_program
from genoviz.cli.results import ProgressBar
from tests.cli.test_own_inputs import COVARIANCES, INSTRUCTIONS, PARAMETERS
from tests.cli.test_values import walk
from tests.waiting import PATIENCE

PERCENT = "percent"
ROUNDS = "rounds"  # an iteration whose number of rounds nobody knows before
NAME = "name"  # only the name of the stage

# The command line of each command, its long stage, and what is shown of that.
COMMANDS = {
    "layout": ("g.gfa -o new.lay --iterations 3 --backend cpu", "Layout", PERCENT),
    "stress": ("g.gfa g.lay --exact --backend cpu", "Path stress", PERCENT),
    "draw": ("g.gfa g.lay -o new.png --width 200 --backend cpu", "Drawing", PERCENT),
    "position": ("g.gfa --node 1", "Looking up", NAME),
    "extract": ("g.gfa --nodes 1,2 -o new.gfa", "Extracting", NAME),
    "split": ("g.gfa -o new", "Writing", PERCENT),
    "construct": ("s.fa --vcf h.vcf -o new.gfa", "Making paths", PERCENT),
    "stats": ("g.gfa", "Counting", PERCENT),
    "sites": ("g.gfa -o new.tsv", "Counting alleles", PERCENT),
    "similarity": ("g.gfa -o new.tsv", "Comparing", NAME),
    "matrix": ("g.gfa -o new.png", "Drawing", NAME),
    "presence": ("g.gfa -o new.tsv", "Comparing", NAME),
    "growth": ("g.gfa -o new.tsv", "Comparing", NAME),
    "count": ("a.bed b.bed -o new.bed", "Counting", PERCENT),
    "coverage": ("a.bed b.bed -o new.bed", "Measuring", PERCENT),
    "depth": ("a.bed -o new.bedgraph", "Depth", PERCENT),
    "offtarget": (
        "--guide GATTACAGATTA --pam CAG --genome s.fa --no-cache -o new.tsv",
        "Searching 1 guide of 15 nt",
        PERCENT,
    ),
    "design": ("chr1:1-30 --genome s.fa -o new.tsv", "Searching 1 guide", NAME),
    "simulate": ("-n 500 -p 4 -o new.gfa", "Growing sites", PERCENT),
    "reproduce": ("layout-sampled --small -o new.svg", "stress of many layouts", PERCENT),
    "bwt build": ("s.fa -o new.gvfm", "Index: suffix array", PERCENT),
    "bwt count": ("s.fa GATTACA", "Index: suffix array", PERCENT),
    "bwt locate": ("s.fa GATTACA -o new.bed", "Index: suffix array", PERCENT),
    "bwt spectrum": ("s.fa -k 3", "Counting", PERCENT),
    "bwt assess": ("s.fa --reads r.fq -k 5", "Counting", PERCENT),
    "bwt compare": ("s.fa s.fa -k 5", "Counting", PERCENT),
    "bwt multiplicity": ("s.fa -k 3", "Counting", PERCENT),
    "geno freq": ("g.bed -o new.tsv", "counting genotypes", PERCENT),
    "geno grm": ("g.bed -o new.npy", "Relationship matrix", PERCENT),
    "geno pca": ("g.bed -o new.tsv", "Principal components", PERCENT),
    "geno king": ("g.bed -o new.tsv", "Kinship", PERCENT),
    "geno ld": ("g.bed -o new.tsv", "Linkage", PERCENT),
    "geno prune": ("g.bed -o new.txt", "Pruning", PERCENT),
    "geno clump": ("g.bed scan.tsv -o new.tsv", "Clumping", PERCENT),
    "geno reml": ("g.bed --pheno y.tsv -o new.tsv", "Estimating variances", ROUNDS),
    "geno gwas": ("g.bed --pheno y.tsv -o new.tsv", "Association", PERCENT),
    "geno meta": ("scan.tsv scan.tsv -o new.tsv", "Reading", PERCENT),
    "geno sets": (
        "g.bed sets.bed --pheno y.tsv --max-maf 0.5 -o new.tsv", "Testing sets", PERCENT
    ),
    "geno finemap": (
        "g.bed --region 1:0-2000000 --pheno y.tsv -o new.tsv", "Fine mapping", PERCENT
    ),
    "geno blup": ("g.bed --pheno y.tsv -o new.tsv", "Solving", ROUNDS),
    "geno multiblup": (
        "--pedigree p.ped --pheno y.tsv --trait y --with z --covariances c.tsv -o new.tsv",
        "Solving",
        ROUNDS,
    ),
    "geno blupf90": ("m.par -o new.tsv", "Solving", ROUNDS),
    "geno mixblup": ("m.mix -o new.tsv", "Solving", ROUNDS),
    "geno score": ("g.bed w.tsv -o new.tsv", "Scoring", PERCENT),
    "geno convert": ("g.bed -o new.vcf", "Writing", NAME),
    "geno product": ("g.bed w.npy -o new.npy", "multiplying", PERCENT),
    "geno simulate": ("-n 60 -m 60 -o new", "drawing genotypes", PERCENT),
}  # fmt: skip
ELSEWHERE = {
    "serve": "runs until it is interrupted: tests/app/server",
    "samples get": "test_download_that_is_given_up_ends_and_leaves_nothing",
    "geno library": "waits for a C compiler, which hears the same signal",
}
FILES = {
    "a.bed": "chr1\t1\t5\tx\t0\t+\nchr1\t3\t9\ty\t0\t-\n",
    "b.bed": "chr1\t2\t4\n",
    "s.fa": ">chr1\nGATTACAGATTACAGGGCCCATTAGATTACAGGTT\n",
    "r.fq": "@a\nGATTACAGATTACAGG\n+\nIIIIIIIIIIIIIIII\n",
    "h.vcf": (
        "##fileformat=VCFv4.2\n##contig=<ID=chr1>\n"
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tp\tq\n"
        "chr1\t5\tx\tA\tC\t.\t.\t.\tGT\t0|1\t1|1\n"
    ),
    "scan.tsv": (
        "#CHROM\tPOS\tID\tA1\tA2\tBETA\tSE\tP\n1\t33999\tsnp1\tT\tG\t0.5\t0.1\t1e-6\n"
        "1\t84980\tsnp2\tA\tC\t0.3\t0.1\t0.003\n"
    ),
    "sets.bed": "1\t0\t2000000\ts\n",
    "w.tsv": "ID\tA1\tBETA\nsnp1\tT\t0.5\nsnp2\tA\t0.5\n",
    "c.tsv": (
        "#COMPONENT\tTRAIT1\tTRAIT2\tCOVARIANCE\n"
        "genotypes\ty\ty\t1\ngenotypes\ty\tz\t0.3\ngenotypes\tz\tz\t1\n"
        "residual\ty\ty\t1\nresidual\ty\tz\t0\nresidual\tz\tz\t1\n"
    ),
    "m.par": PARAMETERS,
    "m.mix": INSTRUCTIONS,
    "m.cov": COVARIANCES,
    "m.dat": "1 1 3.5\n2 1 4\n3 2 5.5\n3 2 4.1\n",
    "m.ped": "1 0 0\n2 0 0\n3 1 2\n",
}


def run(line):
    """Return the exit code of a command."""
    with pytest.raises(SystemExit) as end:
        main(line.split())
    return end.value.code or 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with inputs of all commands."""
    folder = tmp_path_factory.mktemp("stopping")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in (
            "simulate -n 300 -p 4 --sequences -o g.gfa",
            "layout g.gfa -o g.lay --iterations 3 --stress-samples 0 --backend cpu",
            "geno simulate -o g -n 60 -m 60 --contigs 2 --trait-heritability 0.5",
        ):
            assert run(line) == 0
    for name, text in FILES.items():
        (folder / name).write_text(text)
    rows = (folder / "g.pheno.tsv").read_text().splitlines()[1:]
    (folder / "y.tsv").write_text("\n".join(["FID\tIID\ty\tz", *rows, ""]))
    (folder / "p.ped").write_text("".join(f"{row.split()[1]} 0 0\n" for row in rows))
    np.save(folder / "w.npy", np.ones((60, 1)))
    return folder


def test_the_table_has_all_commands():
    names = {
        " ".join(words) for words, command in walk(make_program()) if not hasattr(command, "load")
    }
    assert names - {"samples"} == COMMANDS.keys() | ELSEWHERE.keys()
    shown = [kind for *_, kind in COMMANDS.values()]
    assert (shown.count(NAME), shown.count(ROUNDS)) == (8, 5), "percentages are better"


@pytest.fixture
def signals():
    """Signals end the program; the end of a command has them ignored after it."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.usefixtures("signals")
def test_a_signal_in_the_midst_of_a_command_leaves_nothing(command, folder, monkeypatch, capfd):
    """Its first report of the long stage comes from the command's own thread, between slices."""
    options, stage, kind = COMMANDS[command]
    is_even = list(COMMANDS).index(command) % 2 == 0
    number, code, words = (
        (signal.SIGINT, 130, "") if is_even else (signal.SIGTERM, 143, "terminated by SIGTERM")
    )
    sent = []

    def update(_bar, what, n_done, n_total, unit, detail=""):
        is_known = n_total is not None and n_done <= n_total
        if what != stage or (kind == PERCENT and not is_known):
            return
        sent.append((n_total, time.monotonic()))
        os.kill(os.getpid(), number)
        while time.monotonic() < sent[0][1] + PATIENCE:
            time.sleep(0.01)

    monkeypatch.setattr(ProgressBar, "update", update)
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(folder / "cache"))
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    assert run(f"{command} {options}") == code, capfd.readouterr().err
    ((n_total, at),) = sent
    assert time.monotonic() - at < 60
    assert (n_total is not None) == (kind == PERCENT)
    assert sorted(path for path in folder.rglob("*") if path.name != "cache") == before
    out, err = capfd.readouterr()
    assert out == ""
    assert err.count("genoviz:") == bool(words)
    assert words in err
