"""The program in a shell: signals, pipes, and ``-`` for standard input and output."""

import contextlib
import gzip
import io
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from genoviz.cli.main import main
from tests.conftest import ROOT
from tests.signals import hear_signals
from tests.waiting import PATIENCE, wait_until

PROGRAM = [sys.executable, "-m", "genoviz"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a graph, its layout, intervals, sequences and genotypes."""
    folder = tmp_path_factory.mktemp("shell")
    commands = (
        "simulate -n 300 -p 4 --sequences -o g.gfa",
        "layout g.gfa -o g.lay --iterations 3 --stress-samples 0 --backend cpu",
        "geno simulate -o g -n 40 -m 60 --contigs 2",
    )
    for command in commands:
        finish(start(folder, command), 0)
    (folder / "a.bed").write_text("chr1\t1\t5\tx\t0\t+\nchr1\t3\t9\ty\t0\t-\n")
    (folder / "b.bed").write_text("chr1\t2\t4\n")
    (folder / "s.fa").write_text(">chr1\nGATTACAGATTACAGGGCCCATTAGATTACAGGTT\n")
    (folder / "v.vcf").write_text(
        "##fileformat=VCFv4.2\n##contig=<ID=1>\n"
        '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
        "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\n"
        "1\t5\tx\tA\tC\t.\t.\t.\tGT\t0/1\t1/1\n"
    )
    (folder / "nodes.txt").write_text("1\n2\n17\n")
    return folder


def start(folder: Path, command: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [*PROGRAM, *command.split()],
        cwd=folder,
        env={
            **os.environ,
            "TERM": "xterm",
            "COLUMNS": "120",
            "PYTHONPATH": str(ROOT),
            "GENOVIZ_CACHE_DIR": str(folder / "cache"),
        },
        **{
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            "preexec_fn": hear_signals,
            **options,
        },
    )


def finish(process: subprocess.Popen, code: int, given: bytes | None = None) -> tuple[bytes, bytes]:
    """Return standard output and error of a process that ends with a code."""
    out, err = process.communicate(given, timeout=PATIENCE)
    assert process.returncode == code, err.decode()
    return out, err


def run(folder: Path, command: str, code: int = 0, given: bytes | None = None):
    stdin = subprocess.DEVNULL if given is None else subprocess.PIPE
    return finish(start(folder, command, stdin=stdin), code, given)


def wait_for_part(process: subprocess.Popen, folder: Path, pattern: str) -> None:
    """Wait until a process writes a file, but no longer than it lives."""
    wait_until(lambda: process.poll() is not None or len(list(folder.glob(pattern))) == 1)
    assert process.poll() is None, process.communicate(timeout=PATIENCE)


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGTERM, 143, b"genoviz: terminated by SIGTERM\n"),
        (signal.SIGHUP, 129, b"genoviz: terminated by SIGHUP\n"),
        (signal.SIGINT, 130, b""),
    ],
)
def test_a_signal_leaves_nothing_half_written(folder, tmp_path, number, code, words):
    """The depth of each base of 10^12 takes hours to write; the signal comes when it has begun."""
    (tmp_path / "long.bed").write_text("chr1\t0\t1000000000000\n")
    before = [file.name for file in tmp_path.iterdir()]
    process = start(tmp_path, "depth long.bed --per-base -o out.tsv")
    wait_for_part(process, tmp_path, ".out.tsv.*.part")
    process.send_signal(number)
    if number == signal.SIGTERM:  # as timeout sends it
        process.send_signal(number)
    assert finish(process, code) == (b"", words)
    assert [file.name for file in tmp_path.iterdir() if file.name != "cache"] == before


STUCK = """
import sys
import genoviz
from numba import njit
from genoviz.cli.main import main
from genoviz.io.files.replace_file import replace_file

@njit(nogil=True)
def spin(n):
    total = 0
    for i in range(n):
        total ^= i * i % 7
    return total

def never_ends(intervals, zeros):
    spin(10)
    with replace_file("out.bedgraph"):
        spin(2**62)

sys.modules[genoviz.depth_steps.__module__].iter_depth_steps = never_ends
main(["depth", "-"])
"""


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [
        (signal.SIGTERM, 143, b"genoviz: terminated by SIGTERM\n"),
        (signal.SIGINT, 130, b""),
    ],
)
def test_a_command_is_stopped_in_the_longest_kernel(tmp_path, number, code, words):
    """A kernel that runs for years stands for any that takes long."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_signals,
    )
    process.stdin.write(b"chr1\t1\t5\n")
    process.stdin.close()
    process.stdin = None
    wait_for_part(process, tmp_path, ".out.bedgraph.*.part")
    assert len(list(temporary.iterdir())) == 1
    process.send_signal(number)
    assert finish(process, code) == (b"", words)
    assert [file.name for file in tmp_path.iterdir()] == ["tmp"]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "number", "code"),
    [("--exact", signal.SIGTERM, 143), ("--samples 1000000000000", signal.SIGINT, 130)],
    ids=["exact-TERM", "samples-INT"],
)
def test_path_stress_is_stopped_while_it_shows_how_far_it_is(folder, options, number, code):
    """One path of 400,000 steps has 3e11 terms."""
    long = folder / "long.gfa"
    if not long.exists():
        nodes = "".join(f"S\t{node}\t*\tLN:i:5\n" for node in range(2000))
        walk = ",".join(f"{step % 2000}+" for step in range(400_000))
        long.write_text(f"{nodes}P\tx\t{walk}\t*\n")
        rows = "".join(f"{point}\t{point}.5\t0\n" for point in range(4000))
        (folder / "long.tsv").write_text(f"idx\tX\tY\n{rows}")
    master, slave = pty.openpty()
    process = start(folder, f"stress long.gfa long.tsv {options} --backend cpu", stderr=slave)
    os.close(slave)
    shown = ""
    pattern = re.compile(r"Path stress [^%]* \d+ % .*pairs/s")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and not pattern.search(shown):
        if select.select([master], [], [], 0.1)[0]:
            shown += re.sub(r"\x1b\[[?\d;]*\w", "", os.read(master, 1 << 16).decode("latin1"))
    assert pattern.search(shown), shown[-2000:]
    process.send_signal(number)
    while process.poll() is None and time.monotonic() < end:
        if select.select([master], [], [], 0.1)[0]:
            with contextlib.suppress(OSError):
                os.read(master, 1 << 16)
    os.close(master)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (code, b"")


def test_a_signal_that_is_ignored_stays_ignored(folder):
    process = start(
        folder,
        "depth -",
        stdin=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
    )
    process.send_signal(signal.SIGHUP)
    assert finish(process, 0, b"chr1\t1\t5\n")[0] == b"chr1\t1\t5\t1\n"


@pytest.fixture
def program(folder, monkeypatch, capfdbinary):
    """Run the program within this process; return its code, standard output and error."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(folder / "cache"))

    def program(command: str, given: bytes = b""):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(given)))
        with pytest.raises(SystemExit) as end:
            main(command.split())
        captured = capfdbinary.readouterr()
        return end.value.code or 0, captured.out, captured.err.decode()

    return program


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("stats {}", "g.gfa"),
        ("stats g.gfa --layout {}", "g.lay"),
        ("position {} --node 1", "g.gfa"),
        ("extract {} --nodes 1,2 -o -", "g.gfa"),
        ("extract g.gfa --nodes {} -o -", "nodes.txt"),
        ("sites {} -o -", "g.gfa"),
        ("stress {} g.lay --exact --json", "g.gfa"),
        ("stress g.gfa {} --exact --json", "g.lay"),
        ("layout {} -o - --threads 1 --iterations 2 --stress-samples 0 --backend cpu", "g.gfa"),
        ("draw {} g.lay --width 200 -o - --backend cpu", "g.gfa"),
        ("depth {}", "a.bed"),
        ("depth {} --path REFA#0#chr1", "g.gfa"),
        ("count {} b.bed", "a.bed"),
        ("count a.bed {}", "b.bed"),
        ("coverage {} b.bed", "a.bed"),
        ("bwt count {} GATTACA", "s.fa"),
        ("bwt locate {} GATTACA", "s.fa"),
        ("bwt spectrum {} -k 3", "s.fa"),
        ("bwt multiplicity {} -k 3", "s.fa"),
        ("offtarget --guide GATTACAGATTA --pam CAG --genome {} --no-cache", "s.fa"),
        ("geno freq {}", "v.vcf"),
    ],
)
def test_standard_input_is_read_like_a_file(program, folder, command, name):
    code, out, err = program(command.format(name))
    assert (code, bool(out)) == (0, True), err
    content = (folder / name).read_bytes()
    without_seconds = [line for line in out.splitlines() if b"seconds" not in line]
    for given in (content, gzip.compress(content)):
        if name.endswith(".lay") and given != content:
            continue
        code, out, err = program(command.format("-"), given)
        assert code == 0, err
        assert [line for line in out.splitlines() if b"seconds" not in line] == without_seconds
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("simulate -n 50 -p 3 -o {}", "out.gfa"),
        ("extract g.gfa --nodes 1,2 -o {}", "out.gfa"),
        ("extract g.gfa --nodes 1,2 --fasta nodes -o {}", "out.fa"),
        ("sites g.gfa -o {}", "out.tsv"),
        ("sites g.gfa --gaps {}", "out.bed"),
        ("layout g.gfa --threads 1 --iterations 2 --backend cpu --stress-samples 0 -o {}", "o.lay"),
        (
            "layout g.gfa --threads 1 --iterations 2 --backend cpu --stress-samples 0 --tsv {}",
            "o.tsv",
        ),
        ("draw g.gfa g.lay --width 200 --backend cpu -o {}", "out.png"),
        ("depth a.bed -o {}", "out.bedgraph"),
        ("depth a.bed --output {}", "out.bedgraph"),
        ("count a.bed b.bed -o {}", "out.bed"),
        ("coverage a.bed b.bed -o {}", "out.bed"),
        ("bwt count s.fa GATTACA -o {}", "out.tsv"),
        ("bwt locate s.fa GATTACA -o {}", "out.tsv"),
        ("bwt spectrum s.fa -k 3 -o {}", "out.tsv"),
        ("bwt multiplicity s.fa -k 3 -o {}", "out.bedgraph"),
        ("offtarget --guide GATTACAGATTA --pam CAG --genome s.fa --no-cache -o {}", "out.txt"),
        ("geno freq g.bed -o {}", "out.tsv"),
        ("geno freq g.bed -o freq.tsv --samples {}", "out.tsv"),
        ("geno grm g.bed -o {}", "out.tsv"),
        ("geno grm g.bed -o grm.npy --pairs {} --at-least -1", "pairs.tsv"),
        ("geno king g.bed -o {}", "out.tsv"),
        ("geno king g.bed --at-least 0 -o king.tsv --unrelated {}", "unrelated.tsv"),
        ("geno ld g.bed --min-r2 0 -o {}", "out.tsv"),
        ("geno prune g.bed -o {}", "out.txt"),
        ("geno prune g.bed --max-r2 0 -o kept.txt --removed {}", "out.txt"),
        ("geno pca g.bed -k 2 -o {}", "out.tsv"),
        ("geno pca g.bed -k 2 -o pca.tsv --loadings {}", "loadings.tsv"),
        ("geno gwas g.bed --pheno g.pheno.tsv --trait trait -o {}", "gwas.tsv"),
        ("geno blup g.bed --pheno g.pheno.tsv --trait trait -o {}", "blup.tsv"),
    ],
)
def test_standard_output_gets_what_a_file_would(program, folder, command, name):
    code, _, err = program(command.format(name))
    assert code == 0, err
    code, out, err = program(command.format("-"))
    assert code == 0, err
    assert out == (folder / name).read_bytes()
    assert len(out) > 0 or "--gaps" in command  # this graph has none
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("depth -", "standard input, line 2: "),
        ("stats -", "standard input"),
        ("bwt count - A", "standard input"),
        ("geno freq -", "standard input"),
    ],
)
def test_messages_about_standard_input_name_it(program, command, words):
    code, out, err = program(command, b"chr1\t1\t5\nwrong\n")
    assert (code, out) == (1, b"")
    assert err.startswith(f"genoviz: {words}"), err
    assert "/" not in err


@pytest.mark.parametrize(
    "command",
    [
        "simulate -n 50 -p 3 -o -",
        "extract g.gfa --nodes 1,2 -o -",
        "sites g.gfa -o -",
        "draw g.gfa g.lay --width 200 --backend cpu -o -",
        "geno grm g.bed -o grm.tsv --pairs -",
    ],
)
def test_sentences_name_standard_output(program, command):
    code, _, err = program(command)
    assert code == 0, err
    assert "standard output" in err
    assert "/dev/" not in err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("stress - -", "GRAPH and LAYOUT are both -"),
        ("count - -", "A and B are both -"),
        ("coverage - -", "A and B are both -"),
        ("position - --file -", "GRAPH and --file are both -"),
        ("draw - g.lay --annotations - -o x.png", "GRAPH and --annotations are both -"),
        ("extract - --nodes - -o x.gfa", "GRAPH and --nodes are both -"),
        ("layout g.gfa -o - --tsv -", "--output and --tsv are both -"),
        ("geno freq g.bed -o - --samples -", "--output and --samples are both -"),
        ("bwt build s.fa -o -", "-o - is standard output"),
        ("geno simulate -n 2 -m 2 -o -", "-o - is standard output"),
    ],
)
def test_one_stream_is_not_used_twice(program, folder, command, words):
    before = sorted(path.name for path in folder.iterdir())
    code, out, err = program(command)
    text = " ".join(err.replace("│", " ").split())
    assert (code, out) == (2, b"")
    assert words in text
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "stats g.gfa",
        "simulate -n 20000 -p 20 -o -",
        "depth a.bed",
        "depth a.bed -o /dev/stdout",
        "bwt spectrum s.fa -k 3",
    ],
)
def test_a_reader_that_goes_ends_the_program_in_silence(folder, command):
    """The pipe is broken before anything is written, as by ``| true``."""
    reader, writer = os.pipe()
    os.close(reader)
    process = start(folder, command, stdout=writer)
    os.close(writer)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert b"Traceback" not in err
    assert b"Broken" not in err
    assert b"Error" not in err


def test_a_broken_standard_error_does_not_keep_a_file_from_being_written(folder, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    output = tmp_path / "blup.tsv"
    process = start(
        folder, f"geno gwas g.bed --pheno g.pheno.tsv --trait trait -o {output}", stderr=writer
    )
    os.close(writer)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert len(output.read_bytes().splitlines()) == 61
