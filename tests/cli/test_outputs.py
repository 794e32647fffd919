"""A known ending decides what is written, or is refused before anything is done."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from genoviz.cli.main import main
from genoviz.cli.output_kinds import TABLE, choose_kind
from genoviz.io.intervals.big_files import BigWig
from genoviz.io.intervals.intervals import read_intervals

READS = "c\t0\t10\ta\t0\t+\nc\t5\t20\tb\t0\t-\nd\t3\t4\tc\t0\t+\n"
GFA = "H\tVN:Z:1.1\nS\t1\tACGT\nS\t2\tGG\nL\t1\t+\t2\t+\t0M\nP\tp\t1+,2+\t*\n"
WRITES = {"BED": (".bed",), "bigWig": (".bw",), "table": TABLE}


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command in a folder of small files; return exit code, output and errors."""
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    Path("a.bed").write_text(READS)
    Path("a.gtf").write_text('c\tx\tgene\t1\t9\t.\t+\t.\tgene_id "g";\n')
    Path("g.gfa").write_text(GFA)
    Path("s.fa").write_text(">s\nACGTACGTTGCA\n")
    Path("a.genome").write_text("c\t15\nd\t5\n")

    def run(*arguments):
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        captured = capfd.readouterr()
        return exit_.value.code or 0, captured.out, " ".join(captured.err.split())

    return run


@pytest.mark.parametrize(
    "words",
    [
        ("split", "g.gfa", "-o"),
        ("layout", "--all", "g.gfa", "-o"),
        ("bwt", "build", "s.fa", "s.fa", "-o"),
        ("simulate", "--genome", "hprc-v1.1-mc", "--scale", "1e-6", "-o"),
    ],
)
def test_a_file_where_results_need_a_folder_is_one_sentence(run, words):
    code, _, said = run(*words, "a.bed")
    assert (code, said.partition("genoviz: ")[2]) == (
        1, "a.bed: is a file, needs to be a folder for the results"
    )  # fmt: skip
    assert Path("a.bed").read_text() == READS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.bed", "BED"),
        ("x.BED.GZ", "BED"),
        ("x.bw", "bigWig"),
        ("x.tsv.bgz", "table"),
        ("x", "table"),
        ("x.counts", "table"),
        ("x.v2", "table"),
        ("-", "table"),
        ("/dev/stdout", "table"),
        (None, "table"),
    ],
)
def test_the_ending_says_what_is_written(name, kind):
    output = None if name is None else Path(name)
    assert choose_kind(output, WRITES, default="table", binary=("bigWig",)) == kind


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("x.bam", r"-o x.bam: .bam is the ending of reads, .*; needs one of .bed, .bw, .tsv"),
        ("x.vcf.gz", r"-o x.vcf.gz: .vcf is the ending of variants"),
        ("x.csv", r".csv is the ending of comma-separated, which is not written here"),
        ("x.bw.gz", r"-o x.bw.gz: bigWig is compressed in itself, leave out the .gz"),
    ],
)
def test_the_ending_of_something_else_is_refused(name, words):
    with pytest.raises(typer.BadParameter, match=words):
        choose_kind(Path(name), WRITES, default="table", binary=("bigWig",))


def test_without_a_default_every_other_ending_is_refused():
    for name in ("x", "x.xyz", "x.bam"):
        with pytest.raises(typer.BadParameter, match=rf"-o {name} needs one of the endings .bed"):
            choose_kind(Path(name), WRITES, default=None)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("depth a.bed", ("x.bam", "x.vcf", "x.bed", "x.bw.gz", "x.bb", "x.wig", "x.csv")),
        ("depth a.bed --per-base", ("x.bw", "x.bedgraph")),
        ("count a.bed a.bed", ("x.bam", "x.gff", "x.bw", "x.bedgraph", "x.csv", "x.parquet")),
        ("count a.gtf a.bed", ("x.bed", "x.bw")),
        ("count a.bed --graph g.gfa", ("x.gfa", "x.csv")),
        ("coverage a.bed a.bed", ("x.gtf", "x.bigwig", "x.json")),
        ("layout g.gfa", ("x.gfa", "x.csv", "x.lay.gz", "x")),
        ("layout g.gfa -o y.lay --tsv", ("x.lay",)),
        ("draw g.gfa x.lay", ("x.gfa", "x.jpg", "x.png.gz", "x")),
        ("extract g.gfa --region p", ("x.bed", "x.vg", "x")),
        ("sites g.gfa", ("x.vcf", "x")),
        ("simulate -n 20 -p 2", ("x.vg", "x.fa", "x.lay")),
        ("bwt build s.fa", ("x.fa", "x.gfa", "x.gvfm.gz")),
        ("bwt count s.fa ACG", ("x.csv", "x.bed", "x.gvfm")),
        ("bwt locate s.fa ACG", ("x.gff", "x.csv")),
        ("bwt locate s.fa ACG --format tsv", ("x.bed",)),
        ("bwt spectrum s.fa", ("x.bedgraph", "x.png")),
        ("bwt multiplicity s.fa -k 3", ("x.bw", "x.bed")),
        (
            "offtarget --genome s.fa --guide ACGTACGTACGTACGTACGT",
            ("x.bam", "x.vcf", "x.parquet.gz", "x.xlsx"),
        ),
        (
            "offtarget --genome s.fa --guide ACGTACGTACGTACGTACGT --format bed",
            ("x.csv", "x.parquet"),
        ),
        ("geno freq none.bed", ("x.csv", "x.npy", "x.bed")),
        ("geno grm none.bed", ("x.csv", "x.xlsx", "x.npy.gz", "x.tsv.gz", "x")),
        ("geno product none.bed none.npy", ("x.csv", "x.npy.gz")),
    ],
)
def test_no_command_writes_one_kind_under_the_name_of_another(run, command, names):
    for name in names:
        code, _, err = run(*command.split(), *(() if command.endswith("--tsv") else ("-o",)), name)
        assert (code, name in err) == (2, True), (command, name, err)
        assert not Path(name).exists()


def test_depth_is_written_as_bigwig(run):
    code, out, err = run("depth", "a.bed", "-o", "x.bw")
    assert (code, out) == (0, "")
    assert err.startswith(
        "note: a.bed does not say how long its contigs are; in x.bw they end with"
    )
    steps, text = read_intervals("x.bw"), run("depth", "a.bed")[1]
    rows = zip(steps.contig_ids, steps.starts, steps.ends, steps.scores, strict=True)
    assert text == "".join(
        f"{steps.contigs[contig]}\t{start}\t{end}\t{value:g}\n"
        for contig, start, end, value in rows
    )
    assert text == "c\t0\t5\t1\nc\t5\t10\t2\nc\t10\t20\t1\nd\t3\t4\t1\n"
    err = run("depth", "a.bed", "-g", "a.genome", "--zeros", "-o", "y.bigWig")[2]
    assert "does not say" not in err
    assert BigWig(Path("y.bigWig")).contig_lengths == {"c": 15, "d": 5}
    assert read_intervals("y.bigWig").scores.tolist() == [1, 2, 1, 0, 1, 0]


@pytest.mark.parametrize(
    ("region", "lines"),
    [
        ("d", ["d\t3\t4\t1"]),
        ("c:5", ["c\t5\t6\t2"]),
        ("c:8-12", ["c\t8\t10\t2", "c\t10\t12\t1"]),
        ("chrc:8-9", ["c\t8\t9\t2"]),
    ],
)
def test_depth_of_a_contig_a_base_and_a_stretch(run, region, lines):
    code, out, err = run("depth", "a.bed", "--region", region)
    assert (code, out.splitlines()) == (0, lines)
    noted = f"note: --region {region} is taken for c"
    assert err == (noted if region.startswith("chr") else "")


def test_a_contig_with_a_number_behind_a_colon_is_itself(run):
    Path("hla.bed").write_text("A*01:01\t1\t5\nA*01\t2\t3\n")
    for region, lines in (("A*01:01", "A*01:01\t1\t5\t1"), ("A*01:01:2", "A*01:01\t2\t3\t1")):
        code, out, err = run("depth", "hla.bed", "--region", region)
        assert (code, out.splitlines(), err) == (0, [lines], "")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("depth a.bed --region c:99999999999999999999", "region 'c:99999999999999999999' has"),
        ("depth a.bed --region c:5-9223372036854775808", "position 9,223,372,036,854,775,808"),
        ("depth a.bed -g far.genome --zeros", "far.genome, line 2: says that 'd' has"),
    ],
)
def test_positions_that_64_bits_do_not_hold_are_refused(run, words, told):
    Path("far.genome").write_text(f"c\t15\nd\t{10**20}\n")
    code, out, err = run(*words.split())
    assert (code, out) == (1, "")
    assert told in err
    assert "needs 4,611,686,018,427,387,904 at most" in err


def test_an_interval_that_overhangs_its_contig_is_cut_off_with_a_note(run):
    # As `bedtools genomecov -bga -i a.bed -g a.genome` 2.30.0.
    code, out, err = run("depth", "a.bed", "-g", "a.genome", "--zeros")
    wanted = "c\t0\t5\t1\nc\t5\t10\t2\nc\t10\t15\t1\nd\t0\t3\t0\nd\t3\t4\t1\nd\t4\t5\t0\n"
    assert (code, out) == (0, wanted)
    assert err == "note: a.bed: 1 interval reaches beyond its contig, and is cut off at the end"


def test_one_overhanging_read_does_not_refuse_its_file(run):
    Path("a.sam").write_text(
        "@SQ\tSN:c\tLN:100\nr\t0\tc\t11\t30\t5M\t*\t0\t0\tAAAAA\t*\n"
        "over\t0\tc\t96\t30\t10M\t*\t0\t0\tAAAAAAAAAA\t*\n"
    )
    code, out, err = run("depth", "a.sam", "--zeros")
    assert (code, out) == (0, "c\t0\t10\t0\nc\t10\t15\t1\nc\t15\t95\t0\nc\t95\t100\t1\n")
    assert "a.sam: 1 interval reaches beyond its contig" in err


def test_reads_without_an_aligned_base_are_counted_as_bedtools_does(run):
    Path("b.sam").write_text(
        "@SQ\tSN:c\tLN:100\nr1\t0\tc\t11\t30\t10M\t*\t0\t0\tAAAAAAAAAA\t*\n"
        "insertion\t0\tc\t15\t30\t10I\t*\t0\t0\tAAAAAAAAAA\t*\n"
        "clip\t0\tc\t20\t30\t10S\t*\t0\t0\tAAAAAAAAAA\t*\n"
    )
    Path("q.bed").write_text("c\t0\t100\nc\t14\t14\nc\t10\t14\nc\t14\t15\nc\t18\t20\nc\t25\t30\n")
    # `bedtools intersect -c -a q.bed -b b.bam` and `coverage` 2.30.0; -split counts r1 alone.
    out = run("count", "q.bed", "b.sam")[1]
    assert [line.split("\t")[3] for line in out.splitlines()] == ["3", "2", "2", "2", "2", "0"]
    out = run("count", "q.bed", "b.sam", "--split")[1]
    assert [line.split("\t")[3] for line in out.splitlines()] == ["1", "1", "1", "1", "1", "0"]
    out = run("coverage", "q.bed", "b.sam")[1]
    assert [line.split("\t")[3:5] for line in out.splitlines()] == [
        *(["3", "10"], ["2", "2"], ["2", "4"], ["2", "1"], ["2", "2"], ["0", "0"])
    ]


def test_messages_name_the_file_and_what_to_do(run):
    Path("bare.bed").write_text("c\t0\t9\n")
    wanted = "genoviz: bare.bed: has no strands, which -s and -S need: leave these out, or give BED"
    for command in (
        "count a.bed bare.bed -s",
        "count bare.bed a.bed -S",
        "coverage a.bed bare.bed -s",
    ):
        code, _, err = run(*command.split())
        assert (code, err.startswith(wanted)) == (1, True), err
    for command in ("count a.bed bare.bed -s --split", "coverage bare.bed a.bed -S --split"):
        assert run(*command.split())[2].startswith(wanted)
    err = run("depth", "bare.bed", "--strand", "+")[2]
    assert err.startswith("genoviz: bare.bed: has no strands, which --strand needs: leave it out")
    err = run("depth", "bare.bed", "--zeros")[2]
    assert err.startswith("genoviz: bare.bed: does not say how long its contigs are")
    Path("other.genome").write_text("x\t9\n")
    err = run("depth", "bare.bed", "-g", "other.genome")[2]
    assert "bare.bed: has intervals on 'c', which other.genome has not: give a genome file" in err


@pytest.mark.parametrize("options", [["--split"], ["--graph", "g.gfa"]])
def test_what_runs_on_the_cpu_alone_refuses_a_gpu(run, options):
    files = ["a.bed"] if "--graph" in options else ["a.bed", "a.bed"]
    code, _, err = run("count", *files, *options, "--backend", "cuda")
    assert (code, "runs on the CPU, leave out --backend cuda" in err) == (2, True)
