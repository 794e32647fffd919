"""Sample files by name: our own, which come with the project, and public ones to download.

Downloads are kept in the user's cache folder (``GENOVIZ_CACHE_DIR`` names another) and checked by
SHA-256. ``GENOVIZ_SAMPLES_URL`` names a mirror: a folder that serves the files by name.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from genoviz.errors import DownloadError, GenovizError, ParameterError

BUNDLED_FOLDER = Path(__file__).parents[1] / "data_samples"
TIMEOUT_SECONDS = 20
_POLL_SECONDS = 0.05
_CHUNK_BYTES = 1 << 16
_READS_SEED = 2
_GENOME_SEED = 5
_GENOTYPES_SEED = 7
_N_READS = 5_000
_GITHUB = "https://raw.githubusercontent.com"
_ODGI = f"{_GITHUB}/pangenome/odgi"


@dataclass(frozen=True)
class SampleFile:
    """A file that comes with the file of a sample, in the same folder.

    Attributes
    ----------
    file_name, n_bytes, sha256
        As of a `Sample`.
    """

    file_name: str
    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class Sample:
    """A file that can be had by name.

    Attributes
    ----------
    name
        What `get_sample` takes.
    title
        What it is, for people.
    file_name
        Name of the file, in ``data_samples`` or in the cache.
    kind
        What the file holds: ``"gfa"``, ``"bed"`` (intervals), ``"genome"`` (FASTA) or
        ``"genotypes"`` (a .bed file of PLINK 1).
    n_bytes
        Size of the file.
    sha256
        Its SHA-256 in hexadecimal digits.
    url
        Where to download it, or None for a file that comes with the project.
    source, licence
        Where it is from, and under which terms.
    companions
        What else there is in the same folder: the parts of a PLINK 1 set, and its phenotypes.
    """

    name: str
    title: str
    file_name: str
    kind: str
    n_bytes: int
    sha256: str
    url: str | None
    source: str
    licence: str
    companions: tuple[SampleFile, ...] = ()

    @property
    def is_public(self) -> bool:
        """Whether the file is public data to be downloaded."""
        return self.url is not None


@dataclass(frozen=True)
class DownloadProgress:
    """How far the fetching of a sample is; ``path`` is set in the last report only."""

    n_bytes_done: int
    n_bytes_total: int
    path: Path | None = None


_SAMPLES = (
    Sample(
        "simulated",
        "Simulated region with bubbles, inversions and duplications, 12 paths, 3,500 nodes",
        "simulated.gfa.gz",
        "gfa",
        125_229,
        "22215be6f5582ac1c8cdc825ecaee9fb1590919d936740c0dce229e31c704f07",
        None,
        "data_samples/make_samples.py",
        "MIT",
    ),
    Sample(
        "exons",
        "Simulated exons of 32 genes on two contigs",
        "exons.bed.gz",
        "bed",
        1_779,
        "dd752cc5b15c24ae26f5a0984fa9289375418a2894cd473f21efe5bac2962e70",
        None,
        "data_samples/make_samples.py",
        "MIT",
    ),
    Sample(
        "reads",
        "Simulated reads of these genes, spliced, 5,000 of 100 bp, as BED12",
        "reads.bed.gz",
        "bed",
        55_978,
        "d7650c156dcc22d33f32c65245129d8aa844970bbe1cc3db77b846f5349a9f98",
        None,
        "data_samples/make_samples.py",
        "MIT",
    ),
    Sample(
        "genome",
        "Simulated genome with repeats, a gap and soft masking, 3 contigs, 200 kb",
        "genome.fa.gz",
        "genome",
        63_423,
        "8cf5a69b65857880491296dfb13e18cb18fb613ad2ab2634de93aca34ddc956b",
        None,
        "data_samples/make_samples.py",
        "MIT",
    ),
    Sample(
        "genotypes",
        "Simulated genotypes of 300 samples of 3 populations at 2,000 SNPs, 8 of them causal",
        "genotypes.bed",
        "genotypes",
        150_003,
        "c9285ab2c44e141558affd3f9d4f8e14bef268b7388fc69b8e5294e45942904e",
        None,
        "data_samples/make_samples.py",
        "MIT",
        (
            SampleFile(
                "genotypes.bim",
                62_549,
                "3e4945a7b27207d60219adbfe335e47b5a03b72e6e1f5190a1a496ed499cfb00",
            ),
            SampleFile(
                "genotypes.fam",
                7_092,
                "e9150dafb4132a7a406e76c90fb97415a6fc263a95a10d1f873e0ac70f8fea8d",
            ),
            SampleFile(
                "genotypes.pheno.csv",
                8_638,
                "af1ad38fa0a38b170f79e8987b03956a794408991ccbeda746f09fc2f053a127",
            ),
        ),
    ),
    Sample(
        "drb1",
        "HLA-DRB1 of 12 human haplotypes, 4,955 nodes",
        "DRB1-3123.gfa",
        "gfa",
        462_776,
        "dce19510d4a9a01b31675aee4bb0f78db661d6fc8ee54d2ef3557d85821d40ae",
        f"{_ODGI}/f75fafa3e2cb740588d7a0effce05de6dcbcad8b/test/DRB1-3123.gfa",
        "pangenome/odgi, test/DRB1-3123.gfa",
        "MIT",
    ),
    Sample(
        "lpa",
        "Lipoprotein(a) with its kringle repeats, 13 paths, 3,751 nodes",
        "LPA.gfa",
        "gfa",
        1_600_736,
        "9017b433f35b604bdcafd9339318f1649585bceda4ccf263f1ee1f16adf0cdf3",
        f"{_ODGI}/cd2ea1671689c32f21812533717302298f7da803/test/LPA.gfa",
        "pangenome/odgi, test/LPA.gfa",
        "MIT",
    ),
    Sample(
        "c4",
        "Complement C4 of 90 human haplotypes, 1,748 nodes",
        "chr6.C4.gfa",
        "gfa",
        1_034_521,
        "a55ed279c0e59c4f2aa9516605ae87f2398b1e2f473bff306eedca13df706d42",
        f"{_ODGI}/757246094bcb84b01f3713d1ad3082823854364e/test/chr6.C4.gfa",
        "pangenome/odgi, test/chr6.C4.gfa",
        "MIT",
    ),
    Sample(
        "chr5.yeast",
        "Chromosome V of five yeast strains, 26,234 nodes",
        "chr5.yeast.gfa",
        "gfa",
        2_453_585,
        "8a029fd46b71196598a567f28783f86aaeee7603d7eea8a4f7d5ef7b4df4a1fe",
        f"{_GITHUB}/MoinSebi/gretl/6fa3f820aac97a4fcef2013b9669fb5f4bf2bfe7"
        "/data/example_data/chr5.yeast.gfa",
        "MoinSebi/gretl, data/example_data/chr5.yeast.gfa",
        "MIT",
    ),
    Sample(
        "mhc",
        "The human MHC, 5 walks, 111,805 nodes",
        "MHC_4.gfa.gz",
        "gfa",
        3_372_016,
        "d4e37769721af8a50f278e783f502584214386e577cbda31b578c44cb64ddfe7",
        f"{_GITHUB}/at-cg/PHI/HEAD/test/MHC_4.gfa.gz",
        "at-cg/PHI, test/MHC_4.gfa.gz",
        "public domain",
    ),
)


def list_samples() -> tuple[Sample, ...]:
    """Return all samples, those that need no download first."""
    return _SAMPLES


def find_sample(name: str) -> Sample:
    """Return a sample by name, in upper or lower case.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    for sample in list_samples():
        if sample.name.lower() == name.strip().lower():
            return sample
    names = ", ".join(sample.name for sample in list_samples())
    raise ParameterError(f"no sample is named {name!r}; there are {names}")


def get_sample(name: str, *, base_url: str | None = None) -> Path:
    """Return the file of a sample; see `iter_get_sample`."""
    *_, last = iter_get_sample(name, base_url=base_url)
    return last.path


def iter_get_sample(name: str, *, base_url: str | None = None) -> Iterator[DownloadProgress]:
    """Fetch a sample and yield how far it is; the last report has the path of the file.

    A file that is in the cache and whole is not fetched again. What is not the expected file, or
    came only in part, is not kept. Giving the iterator up ends the download.

    Parameters
    ----------
    name
        Name of a sample.
    base_url
        Folder of a mirror; by default ``GENOVIZ_SAMPLES_URL`` or else the public source.

    Raises
    ------
    ParameterError
        If there is no such sample.
    DownloadError
        If there is no network, the server has not got the file, or it is another file.
    """
    sample = find_sample(name)
    if not sample.is_public:
        yield DownloadProgress(sample.n_bytes, sample.n_bytes, _bundled_path(sample))
        return
    base_url = base_url or os.environ.get("GENOVIZ_SAMPLES_URL")
    url = f"{base_url.rstrip('/')}/{sample.file_name}" if base_url else sample.url
    download = _Download(sample, url)
    thread = threading.Thread(target=download.run, name=f"download {sample.name}", daemon=True)
    # A stalled connection must not stall who iterates, so that pooch has a thread to itself.
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_SECONDS)
            yield DownloadProgress(download.n_bytes_done, sample.n_bytes)
    finally:
        download.is_given_up = True
    if download.error is not None:
        raise download.error
    yield DownloadProgress(sample.n_bytes, sample.n_bytes, download.path)


def samples_folder() -> Path:
    """Return the folder in which downloaded samples are kept."""
    import platformdirs

    folder = os.environ.get("GENOVIZ_CACHE_DIR") or platformdirs.user_cache_path("genoviz")
    return Path(folder) / "samples"


def make_simulated_sample(path: Path) -> None:
    """Write the graph of the sample ``simulated``."""
    from genoviz.analyses.simulate import VariationRates, simulate_pangenome
    from genoviz.io.gfa import write_gfa

    # More large variants than a human genome has, so that a small graph shows each kind.
    rates = VariationRates(snp=0.6, sv=0.05, inversion=0.01, duplication=0.015)
    write_gfa(simulate_pangenome(3_500, 12, seed=14, sequences=True, rates=rates), path)


def make_exons_sample(path: Path) -> None:
    """Write the exons of the sample ``exons``."""
    from genoviz.analyses.simulated_reads import exons_of, simulate_genes
    from genoviz.io.interval_writer import write_bed

    write_bed(path, exons_of(simulate_genes(seed=_READS_SEED)))


def make_reads_sample(path: Path) -> None:
    """Write the reads of the sample ``reads``, each with its blocks (BED12)."""
    from genoviz.analyses.simulated_reads import simulate_genes, simulate_reads
    from genoviz.io.text_writer import write_text

    reads = simulate_reads(simulate_genes(seed=_READS_SEED), _N_READS, seed=_READS_SEED)
    lines = []
    for read in reads:
        start, end = read.blocks[0][0], read.blocks[-1][1]
        sizes = ",".join(str(last - first) for first, last in read.blocks)
        offsets = ",".join(str(first - start) for first, _ in read.blocks)
        fields = (read.contig, start, end, ".", 0, read.strand, start, start, 0)
        fields += (len(read.blocks), sizes, offsets)
        lines.append("\t".join(map(str, fields)) + "\n")
    write_text(path, ["".join(lines).encode()])


def make_genome_sample(path: Path) -> None:
    """Write the sequences of the sample ``genome``."""
    from genoviz.analyses.simulated_genome import simulate_genome
    from genoviz.io.fasta import write_fasta

    write_fasta(simulate_genome(seed=_GENOME_SEED), path)


def make_genotypes_sample(path: Path) -> None:
    """Write the sample ``genotypes``: a PLINK 1 set, and a table of phenotypes beside it.

    The trait has a heritability of 0.6 by 8 variants, which are called ``causal1`` to ``causal8``;
    a tenth of it is missing. Who is above its 70th percentile is a case of the disease.
    """
    import numpy as np

    from genoviz.analyses.genotypes.simulate_genotypes import simulate_genotypes
    from genoviz.analyses.genotypes.simulate_traits import simulate_trait
    from genoviz.io.plink_writer import write_plink
    from genoviz.io.text_writer import write_text

    genotypes = simulate_genotypes(
        300, 2_000, n_contigs=5, n_populations=3, missing_rate=0.01, seed=_GENOTYPES_SEED
    )
    trait = simulate_trait(
        genotypes, heritability=0.6, n_causal=8, seed=_GENOTYPES_SEED, backend="cpu"
    )
    ids = genotypes.variants.ids.copy()
    ids[trait.causal] = [f"causal{k + 1}" for k in range(len(trait.causal))]
    named = replace(genotypes, variants=replace(genotypes.variants, ids=ids))
    write_plink(named, path)
    samples = genotypes.samples
    is_case = trait.phenotype > np.quantile(trait.phenotype, 0.7)
    is_missing = np.random.default_rng(_GENOTYPES_SEED).random(len(samples)) < 0.1
    lines = ["FID,IID,population,trait,disease\n"]
    for family, name, value, missing, case in zip(
        samples.family_ids, samples.ids, trait.phenotype, is_missing, is_case, strict=True
    ):
        shown = "NA" if missing else f"{value:.4f}"
        lines.append(f"{family},{name},{family},{shown},{int(case)}\n")
    write_text(path.with_suffix(".pheno.csv"), ["".join(lines).encode()])


MAKERS = {
    "simulated": make_simulated_sample,
    "exons": make_exons_sample,
    "reads": make_reads_sample,
    "genome": make_genome_sample,
    "genotypes": make_genotypes_sample,
}


def _bundled_path(sample: Sample) -> Path:
    """Return the file of a bundled sample, made anew where the project's folder is not there."""
    path = BUNDLED_FOLDER / sample.file_name
    if path.exists():
        return path
    path = samples_folder() / sample.file_name
    names = [file.file_name for file in (sample, *sample.companions)]
    if not all(path.with_name(name).exists() for name in names):
        path.parent.mkdir(parents=True, exist_ok=True)
        MAKERS[sample.name](path)
    return path


class _GivenUpError(Exception):
    """Nobody waits for the download any more."""


class _Download:
    """One call of pooch, and what there is to know of it from another thread."""

    def __init__(self, sample: Sample, url: str) -> None:
        self.sample = sample
        self.url = url
        self.n_bytes_done = 0
        self.is_given_up = False
        self.path: Path | None = None
        self.error: GenovizError | None = None

    def run(self) -> None:
        """Fetch the file, or keep the reason why not."""
        import pooch
        import requests

        pooch.get_logger().setLevel("WARNING")
        host = urlsplit(self.url).hostname
        try:
            path = pooch.retrieve(
                self.url,
                known_hash=f"sha256:{self.sample.sha256}",
                fname=self.sample.file_name,
                path=samples_folder(),
                downloader=self._write_content,
            )
            self.path = Path(path)
        except _GivenUpError:
            pass
        except requests.HTTPError as error:
            answer = f"{error.response.status_code} {error.response.reason}"
            self._fail(f"the server answers {answer} to {self.url}", error)
        except requests.exceptions.ChunkedEncodingError as error:
            self._fail(f"the connection to {host} broke off", error)
        except (requests.ConnectionError, requests.Timeout) as error:
            self._fail(f"there is no connection to {host}", error)
        except requests.RequestException as error:
            self._fail(f"{self.url} cannot be fetched", error)
        except ValueError as error:
            self._fail(f"{self.url} is another file than expected, by its SHA-256", error)
        except OSError as error:
            self._fail(f"{samples_folder()} cannot be written: {error.strerror or error}", error)

    def _write_content(self, url: str, path: str, _pooch: object) -> None:
        """Write what ``url`` gives to ``path``; what pooch calls a downloader."""
        import requests

        with (
            requests.get(url, timeout=TIMEOUT_SECONDS, stream=True) as response,
            Path(path).open("wb") as file,
        ):
            response.raise_for_status()
            for chunk in response.iter_content(_CHUNK_BYTES):
                if self.is_given_up:
                    raise _GivenUpError
                file.write(chunk)
                self.n_bytes_done = min(self.n_bytes_done + len(chunk), self.sample.n_bytes)

    def _fail(self, reason: str, cause: Exception) -> None:
        self.error = DownloadError(f"sample {self.sample.name!r} was not downloaded: {reason}")
        self.error.__cause__ = cause
