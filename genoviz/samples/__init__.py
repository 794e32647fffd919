"""Named sample files: bundled ones, and public ones that are downloaded.

Downloads are stored in the user's cache folder (or ``GENOVIZ_CACHE_DIR``) and checked by SHA-256.
``GENOVIZ_SAMPLES_URL`` names a mirror: a folder that serves the files by name.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from genoviz.errors import DownloadError, GenovizError
from genoviz.generators import last_of
from genoviz.samples.catalogue import Sample, SampleFile, find_sample, list_samples

__all__ = [
    "BUNDLED_FOLDER",
    "MAKERS",
    "DownloadProgress",
    "Sample",
    "SampleFile",
    "find_sample",
    "get_sample",
    "iter_get_sample",
    "list_samples",
    "samples_folder",
]

BUNDLED_FOLDER = Path(__file__).parents[2] / "data_samples"
_POLL_SECONDS = 0.05
_CHUNK_BYTES = 1 << 16
TIMEOUT_SECONDS = 20
_READS_SEED = 2
_GENOME_SEED = 5
_GENOTYPES_SEED = 7
_N_READS = 5_000


@dataclass(frozen=True)
class DownloadProgress:
    """Progress of fetching a sample; ``path`` is set in the last report only."""

    n_bytes_done: int
    n_bytes_total: int
    path: Path | None = None


def get_sample(name: str, *, base_url: str | None = None) -> Path:
    """Return the file of a sample; see `iter_get_sample`."""
    return last_of(iter_get_sample(name, base_url=base_url)).path


def iter_get_sample(name: str, *, base_url: str | None = None) -> Iterator[DownloadProgress]:
    """Fetch a sample and yield the progress; the last report has the path of the file.

    A complete file in the cache is not fetched again. Partial or unexpected files are deleted.
    Closing the iterator stops the download.

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
        If there is no network, the server lacks the file, or the file differs.
    """
    sample = find_sample(name)
    if not sample.is_public:
        yield DownloadProgress(sample.n_bytes, sample.n_bytes, _bundled_path(sample))
        return
    base_url = base_url or os.environ.get("GENOVIZ_SAMPLES_URL")
    url = f"{base_url.rstrip('/')}/{sample.file_name}" if base_url else sample.url
    download = Download(sample, url)
    thread = threading.Thread(target=download.run, name=f"download {sample.name}", daemon=True)
    # pooch runs in its own thread, so that a stalled connection does not block the caller.
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


def _bundled_path(sample: Sample) -> Path:
    """Return the file of a bundled sample; regenerate it if the project folder is absent."""
    path = BUNDLED_FOLDER / sample.file_name
    if path.exists():
        return path
    path = samples_folder() / sample.file_name
    names = [file.file_name for file in (sample, *sample.companions)]
    if not all(path.with_name(name).exists() for name in names):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            MAKERS[sample.name](path)
        except OSError as error:
            raise DownloadError(
                f"sample {sample.name!r} was not made: {path.parent} cannot be written: "
                f"{error.strerror or error}"
            ) from error
    return path


def samples_folder() -> Path:
    """Return the folder in which downloaded samples are kept."""
    import platformdirs

    folder = os.environ.get("GENOVIZ_CACHE_DIR") or platformdirs.user_cache_path("genoviz")
    return Path(folder) / "samples"


class _GivenUpError(Exception):
    """The download was cancelled."""


class Download:
    """One call of pooch, with state that other threads can read."""

    def __init__(self, sample: Sample, url: str) -> None:
        self.sample = sample
        self.url = url
        self.n_bytes_done = 0
        self.is_given_up = False
        self.path: Path | None = None
        self.error: GenovizError | None = None

    def run(self) -> None:
        """Fetch the file, or record the error."""
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
        """Write the content of ``url`` to ``path``; a downloader for pooch."""
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


# Generation of the bundled samples, from fixed seeds ----------------------------------------------


def make_simulated_sample(path: Path) -> None:
    """Write the graph of the sample ``simulated``."""
    from genoviz.analyses.simulation.graphs import VariationRates, simulate_pangenome
    from genoviz.io.graph.gfa_writer import write_gfa

    # More large variants than in a human genome, so that a small graph shows each kind.
    rates = VariationRates(snp=0.6, sv=0.05, inversion=0.01, duplication=0.015)
    write_gfa(simulate_pangenome(3_500, 12, seed=14, sequences=True, rates=rates), path)


def make_exons_sample(path: Path) -> None:
    """Write the exons of the sample ``exons``."""
    from genoviz.analyses.simulation.genome_and_reads import exons_of, simulate_genes
    from genoviz.io.intervals.writer import write_bed

    write_bed(path, exons_of(simulate_genes(seed=_READS_SEED)))


def make_reads_sample(path: Path) -> None:
    """Write the reads of the sample ``reads``, each with its blocks (BED12)."""
    from genoviz.analyses.simulation.genome_and_reads import simulate_genes, simulate_reads
    from genoviz.io.text.text_file import write_text

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
    from genoviz.analyses.simulation.genome_and_reads import simulate_genome
    from genoviz.io.sequences.fasta import write_fasta

    write_fasta(simulate_genome(seed=_GENOME_SEED), path)


def make_genotypes_sample(path: Path) -> None:
    """Write the sample ``genotypes``: a PLINK 1 set, and a table of phenotypes beside it.

    The trait has a heritability of 0.6 from 8 variants, called ``causal1`` to ``causal8``; a tenth
    of its values are missing. Samples above its 70th percentile are cases of the disease.
    """
    import numpy as np

    from genoviz.analyses.simulation.genotypes import simulate_genotypes
    from genoviz.analyses.simulation.traits import simulate_trait
    from genoviz.io.genotypes.writers import write_plink
    from genoviz.io.text.text_file import write_text

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
