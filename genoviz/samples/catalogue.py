"""The list of samples: what each is, how large, and where it is from."""

from __future__ import annotations

from dataclasses import dataclass

from genoviz.errors import ParameterError

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


SAMPLES = (
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
    return SAMPLES


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
