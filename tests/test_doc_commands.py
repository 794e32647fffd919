"""Every command in the documents runs, and finds something."""

from __future__ import annotations

import gzip
import re
import shlex
import shutil

import numpy as np
import pytest

from genoviz import read_graph, write_gbz
from genoviz.cli.main import main
from tests.conftest import ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4}(?:\.venv/bin/)?(genoviz [a-z].*)$", re.MULTILINE)
COMMAND = re.compile(r"^(genoviz [a-z].*)$", re.MULTILINE)
NEEDS_COMPILER = () if shutil.which("cc") else ("genoviz geno library",)
NOT_RUN = ("genoviz serve", "genoviz samples get", *NEEDS_COMPILER)
PATH = "REFA#0#chr1"
PLACES = {"PATH": PATH, "grch38#chr6:31982057-32002681": f"{PATH}:2000-4000"}
"""Replacements for names of the reader's own graph, and of the sample's, in documents."""
TELOMERE = "TTAGGG" * 30
CAS12A = "ACCTGAATCGGCATTACGCAAGT"


def commands_of(document):
    text = document.read_text(encoding="utf-8")
    lines = [*INDENTED.findall(text), *COMMAND.findall("\n".join(FENCED.findall(text)))]
    found = [line.split(" #")[0].strip() for line in lines]
    # test_cluster has a scheduler.
    return [each for each in found if not each.startswith(NOT_RUN) and "--scheduler" not in each]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """A folder with all files that the documents name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    samples = ROOT / "data_samples"
    (tmp_path / "data_samples").symlink_to(samples)
    return Files(tmp_path, samples)


class Files:
    """Files that are made when a command names them."""

    def __init__(self, folder, samples):
        self.folder, self.samples = folder, samples

    def make(self, word):
        """Make a file that is not here yet; nothing for other words."""
        make = getattr(self, "make_" + re.sub(r"\W", "_", word.strip("/")), None)
        if make is not None and not (self.folder / word).exists():
            make(self.folder / word)

    def genome(self):
        text = gzip.decompress((self.samples / "genome.fa.gz").read_bytes()).decode()
        return f"{text}>end\n{TELOMERE}TTTA{CAS12A}\n"

    def make_genome_fa_gz(self, path):
        path.write_bytes(gzip.compress(self.genome().encode()))

    def make_genomes(self, path):
        path.mkdir()
        (path / "genome.fa").write_text(self.genome())

    def make_genome_2bit(self, path):
        from tests.oracles.two_bit import write_two_bit

        records = [part.partition("\n") for part in self.genome().split(">")[1:]]
        letters = [(name, text.replace("\n", "")) for name, _, text in records]
        path.write_bytes(write_two_bit(letters))

    def make_input_txt(self, path):
        self.make("genome.fa.gz")
        path.write_text(f"genome.fa.gz\n{'N' * 21}GG\nACTTCAAATCCTATGCCACCNNN 3\n")

    def make_guides_csv(self, path):
        path.write_text(f"name,guide\ncas12a,{CAS12A}\n")

    def make_guides_txt(self, path):
        path.write_text("ACTTCAAATCCTATGCCACC\nATGTCACCTATGCTGATTCA\n")  # of genome and graph

    def make_graph_gfa_gz(self, path):
        shutil.copy(self.samples / "simulated.gfa.gz", path)

    def make_graph_gfa(self, path):
        path.write_bytes(gzip.decompress((self.samples / "simulated.gfa.gz").read_bytes()))

    def make_graph_gbz(self, path):
        write_gbz(read_graph(self.samples / "simulated.gfa.gz"), path)

    def make_phased_vcf_gz(self, path):
        """A SNP in every 500 bases of the first sequence, carried in turn."""
        name, *lines = self.genome().split(">")[1].splitlines()
        text, lines = "".join(lines), ["##fileformat=VCFv4.3", f"##contig=<ID={name.split()[0]}>"]
        lines.append('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">')
        columns = "#CHROM POS ID REF ALT QUAL FILTER INFO FORMAT s1 s2"
        lines.append(columns.replace(" ", "\t"))
        for number, at in enumerate(range(499, len(text), 500)):
            alleles = [text[at].upper(), "C" if text[at] in "Aa" else "A"]
            genotypes = [f"{number >> bit & 1}|{number >> bit + 1 & 1}" for bit in (0, 2)]
            row = [name.split()[0], str(at + 1), ".", *alleles, ".", ".", ".", "GT", *genotypes]
            lines.append("\t".join(row))
        path.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))

    def make_samples_tsv(self, path):
        path.write_text("sample\tpopulation\ns1\tnorth\ns2\tsouth\n")

    def make_layout_lay(self, path):
        run("layout", "graph.gfa.gz", "--iterations", "2", "--output", path)

    def make_exons_bed(self, path):
        path.write_bytes(gzip.decompress((self.samples / "exons.bed.gz").read_bytes()))

    def make_reads_1_fq_gz(self, path):
        """Reads of a random genome, each place of which is in 20 on average."""
        rng = np.random.default_rng(len(path.name))
        text = "".join(rng.choice([*"ACGT"], 20_000).tolist())
        starts = rng.integers(0, len(text) - 100, 4_000).tolist()
        reads = [f"@{k}\n{text[k : k + 100]}\n+\n{'I' * 100}\n" for k in starts]
        path.write_bytes(gzip.compress("".join(reads).encode()))

    make_reads_2_fq_gz = make_reads_1_fq_gz

    def make_reads_bam(self, path):
        pysam = pytest.importorskip("pysam")
        lines = gzip.decompress((self.samples / "reads.bed.gz").read_bytes()).decode().splitlines()
        rows = [line.split("\t") for line in lines]
        names = sorted({row[0] for row in rows})
        rows.sort(key=lambda row: (row[0], int(row[1])))
        header = {"HD": {"VN": "1.6", "SO": "coordinate"},
                  "SQ": [{"SN": name, "LN": 200_000} for name in names]}  # fmt: skip
        with pysam.AlignmentFile(str(path), "wb", header=header) as out:
            for number, row in enumerate(rows):
                read = pysam.AlignedSegment()
                read.query_name, read.reference_id = f"r{number}", names.index(row[0])
                read.reference_start = int(row[1])
                read.cigartuples = [(0, int(row[2]) - int(row[1]))]
                out.write(read)

    def make_cohort_bed(self, path):
        for ending in ("bed", "bim", "fam"):
            shutil.copy(self.samples / f"genotypes.{ending}", path.with_suffix(f".{ending}"))

    def make_genes_gff3_gz(self, path):
        """Genes of 20 neighbouring variants each."""
        self.make("cohort.bed")
        rows = [line.split() for line in (self.folder / "cohort.bim").read_text().splitlines()]
        pairs = [(rows[k], rows[k + 19]) for k in range(0, len(rows), 20)]
        lines = [
            f"{first[0]}\t.\tgene\t{first[3]}\t{last[3]}\t.\t+\t.\tID=gene{k}\n"
            for k, (first, last) in enumerate(pairs) if first[0] == last[0]
        ]  # fmt: skip
        path.write_bytes(gzip.compress("".join(lines).encode()))

    def make_herd_bed(self, path):
        """Half of the animals of a pedigree, with two traits of their own and covariances."""
        self.make("cohort.bed")
        for ending in ("bed", "bim", "fam"):
            shutil.copy(path.with_name(f"cohort.{ending}"), path.with_suffix(f".{ending}"))
        names = [line.split()[1] for line in path.with_suffix(".fam").read_text().splitlines()]
        sires = ["0"] * 10 + names[: len(names) - 10]
        lines = [f"{name} {sire} 0\n" for name, sire in zip(names, sires, strict=True)]
        path.with_suffix(".ped").write_text("".join(lines))
        rows = [f"{name},{k % 7},{k % 11}\n" for k, name in enumerate(names)]
        (self.folder / "milk.csv").write_text("".join(["IID,fat,protein\n", *rows]))
        values = {"fat\tfat": 2, "fat\tprotein": 1, "protein\tprotein": 3}
        rows = [f"{part}\t{pair}\t{value}\n" for part in ("genotypes", "residual")
                for pair, value in values.items()]  # fmt: skip
        header = "#COMPONENT\tTRAIT1\tTRAIT2\tCOVARIANCE\n"
        (self.folder / "covariances.tsv").write_text("".join([header, *rows]))

    def make_milk_par(self, path):
        """An animal model of three animals, two of them with a record."""
        effect = "RANDOM_GROUP\n2\nRANDOM_TYPE\nadd_animal\nFILE\nanimals.ped\n(CO)VARIANCES\n1\n"
        path.write_text(
            "DATAFILE\nmilk.dat\nNUMBER_OF_TRAITS\n1\nNUMBER_OF_EFFECTS\n2\nOBSERVATION(S)\n3\n"
            f"WEIGHT(S)\n\nEFFECTS:\n2 1 cross\n1 3 cross\nRANDOM_RESIDUAL VALUES\n2\n{effect}"
        )
        (self.folder / "milk.dat").write_text("2 1 31.5\n3 1 28.0\n")
        (self.folder / "animals.ped").write_text("1 0 0\n2 1 0\n3 1 0\n")

    def make_milk_mix(self, path):
        """The same, for MiXBLUP."""
        self.make("milk.par")
        path.write_text(
            "TITLE milk\nDATAFILE milk.dat\ncow A\nmean A\nmilk T\nPEDFILE animals.ped\ncow A\n"
            "sire A\ndam A\nPARFILE milk.cov\nMODEL\nmilk ~ mean !RANDOM G(cow)\n"
        )
        (self.folder / "milk.cov").write_text("G\nmilk(cow) 1\nRes\nmilk 2\n")

    def make_kept_txt(self, path):
        self.make("cohort.bed")
        run("geno", "prune", "cohort.bed", "-o", path)

    def make_gwas_tsv_gz(self, path):
        self.make("cohort.bed")
        self.make("traits.csv")
        run("geno", "gwas", "cohort.bed", "--pheno", "traits.csv", "-o", path)

    def make_other_tsv_gz(self, path):
        self.make("gwas.tsv.gz")
        shutil.copy(self.folder / "gwas.tsv.gz", path)

    def make_traits_csv(self, path):
        text = (self.samples / "genotypes.pheno.csv").read_text()
        rows = [line.split(",") for line in text.splitlines()]
        lines = ["FID,IID,height,yield,case"]
        for k, row in enumerate(rows[1:]):
            lines.append(",".join([*row[:2], row[3], row[3], str(int(k % 4 == 0))]))
        path.write_text("\n".join(lines) + "\n")

    def make_weights_tsv(self, path):
        self.make("cohort.bed")
        rows = [line.split() for line in (self.folder / "cohort.bim").read_text().splitlines()]
        lines = [f"{row[1]}\t{row[4]}\t{k % 7 - 3}\n" for k, row in enumerate(rows)]
        path.write_text("".join(["ID\tA1\tweight\n", *lines]))

    def make_effects_tsv(self, path):
        self.make("cohort.bed")
        n_variants = len((self.folder / "cohort.bim").read_text().splitlines())
        path.write_text("".join(f"{number % 7 - 3}\n" for number in range(n_variants)))


def run(*words):
    with pytest.raises(SystemExit) as exit_:
        main([str(word) for word in words])
    return exit_.value.code or 0


def is_nothing(text):
    """Tell whether a text is empty, a header alone, or a table of which all counts are 0."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return True
    if re.search(r"(?<![\d,.])0 hits\b", text):
        return True
    first = lines[0]
    mark = "\t" if "\t" in first else ","
    titles = first.removeprefix("#").split(mark)
    # A header has no number and names of columns; comments begin with #.
    has_header = first.startswith("#") or (
        len(titles) > 1 and all(re.fullmatch(r"[A-Za-z_][\w. ]*", title) for title in titles)
    )
    rows = [line.split(mark) for line in lines if not line.startswith("#")]
    rows = rows[1:] if has_header and not first.startswith("#") else rows
    if not rows:
        return True
    counted = [at for at, title in enumerate(titles) if title in ("count", "hits")]
    return has_header and bool(counted) and all(row[at] == "0" for row in rows for at in counted)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", True),
        ("\n", True),
        ("#name\tkmer\tcount\n", True),
        ("#name\tkmer\tcount\n.\tGATTACA\t0\n", True),
        ("#name\tkmer\tcount\n.\tGATTACA\t0\n.\tTTA\t10\n", False),
        ("guide,contig,start\n", True),
        ("guide,contig,start\nACGT,chr1,3\n", False),
        ("0 hits of 1 guide in 3 contigs", True),
        ("10 hits of 1 guide; 1,000 hits; 2.0 hits", False),
        ("chr1\t5\t9\t0\n", False),
        ("path stress 0.25", False),
        ("wrote picture.png, 1600 x 502, 144 dpi", False),
    ],
)
def test_what_is_nothing_is_found(text, expected):
    assert is_nothing(text) == expected


def text_of(path):
    content = path.read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"{len(content)} bytes"


@pytest.mark.parametrize(
    "document",
    [document for document in DOCUMENTS if commands_of(document)],
    ids=lambda document: document.name,
)
def test_commands_run_and_find_something(document, files, capfd):
    commands = commands_of(document)
    for command in commands:
        words = [PLACES.get(word, word).replace("PATH:", f"{PATH}:") for word in
                 shlex.split(command)[1:]]  # fmt: skip
        for word in words:
            files.make(word)
        if "layout.lay" in words:
            files.make("graph.gfa.gz")
        before = {path: path.stat().st_mtime_ns for path in files.folder.iterdir()}
        capfd.readouterr()
        code = run(*words)
        out, err = capfd.readouterr()
        assert code == 0, f"{command}\n{err}"
        made = [
            path
            for path in files.folder.iterdir()
            if path.is_file() and path.stat().st_mtime_ns != before.get(path)
        ]
        assert made or out, f"{command}: no output"
        for text in [*([out] if out else []), *map(text_of, made)]:
            assert not is_nothing(text), f"{command}\n{text[:500]}"
        assert "0 hits" not in re.findall(r"[\d,.]+ hits", err), f"{command}\n{err}"


def test_the_documents_have_commands():
    assert len(commands_of(ROOT / "README.md")) >= 15
    assert sum(len(commands_of(document)) for document in DOCUMENTS) >= 35
