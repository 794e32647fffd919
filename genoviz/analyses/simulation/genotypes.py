"""Simulated genotypes: populations, linked variants, missing ones, packed as they are drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.analyses.genotypes.progress import Progress
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.model.genotypes.chromosomes import HUMAN_AUTOSOMES
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable

MIN_MAF = 0.01
BASES_PER_VARIANT = 50_000
BASES_PER_CENTIMORGAN = 1e6
_SCALE = 1 << 16
_BLOCK_GENOTYPES = 10_000_000


def simulate_genotypes(
    n_samples: int,
    n_variants: int,
    *,
    n_contigs: int = 1,
    seed: int = 0,
    missing_rate: float = 0.0,
    linkage: float = 0.9,
    n_populations: int = 1,
    fst: float = 0.1,
) -> Genotypes:
    """Return simulated genotypes; see `iter_simulate_genotypes`."""
    *_, last = iter_simulate_genotypes(
        n_samples,
        n_variants,
        n_contigs=n_contigs,
        seed=seed,
        missing_rate=missing_rate,
        linkage=linkage,
        n_populations=n_populations,
        fst=fst,
    )
    return last.result


def iter_simulate_genotypes(
    n_samples: int,
    n_variants: int,
    *,
    n_contigs: int = 1,
    seed: int = 0,
    missing_rate: float = 0.0,
    linkage: float = 0.9,
    n_populations: int = 1,
    fst: float = 0.1,
) -> Iterator[Progress]:
    """Simulate genotypes block by block; the last step has the `Genotypes`.

    A1 is the minor allele of the whole, with a frequency that is uniform from 0.01 to 0.5. Each
    population has frequencies of its own around these (Balding and Nichols). Along a contig a
    haplotype keeps its class of alleles from one variant to the next with a probability that falls
    with the distance, which links neighbours (r of both signs). Memory is that of the result.

    Parameters
    ----------
    n_samples, n_variants
        Size of the matrix, each at least 1.
    n_contigs
        Contigs ``"1"``, ``"2"``, ..., with an equal share of the variants each, one in 50 kb.
    seed
        The same seed gives the same genotypes.
    missing_rate
        Share of the genotypes that are missing, at random; 0 to 1.
    linkage
        Probability to keep the class over the mean distance of two variants, 0 (none) to 1.
    n_populations
        How many populations have an equal share of the samples each, named by family IDs
        ``"pop1"``, ``"pop2"``, ...
    fst
        How far the populations differ, 0 < fst < 1; not used for one population.

    Raises
    ------
    ParameterError
        If an argument is out of range.

    References
    ----------
    Balding and Nichols 1995, A method for quantifying differentiation between populations at
    multi-allelic loci and its implications for investigating identity and paternity,
    doi:10.1007/BF01441146
    """
    _check_sizes(n_samples, n_variants, n_contigs, n_populations)
    _check_share("missing_rate", missing_rate)
    _check_share("linkage", linkage)
    if n_populations > 1 and not 0 < fst < 1:
        raise ParameterError(f"fst is {fst}, needs more than 0 and less than 1")
    rng = np.random.default_rng(seed)
    variants = _make_variants(rng, n_variants, n_contigs)
    frequencies = _draw_frequencies(rng, n_variants, n_populations, fst)
    draw = {
        "keeps": _keeps(variants, linkage),
        "limits": np.rint(frequencies * _SCALE).astype(np.uint32),
        "flips": rng.integers(2, size=n_variants, dtype=np.uint16) * np.uint16(_SCALE - 1),
    }
    offsets = np.linspace(0, n_samples, n_populations + 1).astype(np.int64)
    classes = np.zeros((2, n_samples), np.uint16)
    packed = np.empty((n_variants, (n_samples + 3) // 4), np.uint8)
    step = max(1, _BLOCK_GENOTYPES // n_samples)
    kernel = load_kernel("genotype_simulation", "cpu")
    for first in range(0, n_variants, step):
        yield Progress("drawing genotypes", first / n_variants)
        rows = slice(first, first + step)
        kernel.draw_genotypes(
            first,
            *(array[rows] for array in draw.values()),
            np.uint64(round(missing_rate * _SCALE)),
            offsets,
            np.uint64(seed),
            classes,
            packed[rows],
        )
    n_autosomes = n_contigs if n_contigs > HUMAN_AUTOSOMES else None
    samples = _make_samples(rng, offsets)
    genotypes = Genotypes(packed, samples, variants, n_autosomes=n_autosomes)
    yield Progress("drawing genotypes", 1.0, genotypes)


def _check_sizes(n_samples: int, n_variants: int, n_contigs: int, n_populations: int) -> None:
    sizes = {"n_samples": n_samples, "n_variants": n_variants, "n_contigs": n_contigs}
    for name, size in {**sizes, "n_populations": n_populations}.items():
        if size < 1:
            raise ParameterError(f"{name} is {size}, needs at least 1")
    if n_contigs > n_variants:
        raise ParameterError(f"n_contigs is {n_contigs}, more than the {n_variants} variants")
    if n_populations > n_samples:
        raise ParameterError(f"n_populations is {n_populations}, more than {n_samples} samples")


def _check_share(name: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ParameterError(f"{name} is {share}, needs a number from 0 to 1")


def _make_variants(rng: np.random.Generator, n: int, n_contigs: int) -> VariantTable:
    """Return variants at random places, sorted, no two at the same."""
    contig_ids = (np.arange(n) * n_contigs // n).astype(np.int32)
    gaps = 1 + rng.geometric(1 / BASES_PER_VARIANT, n)
    starts = np.searchsorted(contig_ids, np.arange(n_contigs))
    ends = np.cumsum(gaps)
    positions = ends - (ends - gaps)[starts][contig_ids]
    first = rng.integers(4, size=n)
    second = (first + 1 + rng.integers(3, size=n)) % 4
    letters = np.array([*"ACGT"])
    return VariantTable(
        tuple(str(number + 1) for number in range(n_contigs)),
        contig_ids,
        positions,
        np.char.add("snp", np.arange(1, n + 1).astype(np.str_)),
        letters[first],
        letters[second],
        positions / BASES_PER_CENTIMORGAN,
    )


def _draw_frequencies(
    rng: np.random.Generator, n_variants: int, n_populations: int, fst: float
) -> np.ndarray:
    """Return frequencies of A1: float64, shape (n_variants, n_populations)."""
    ancestral = rng.uniform(MIN_MAF, 0.5, (n_variants, 1))
    if n_populations == 1:
        return ancestral
    sharpness = (1 - fst) / fst
    shape = (n_variants, n_populations)
    return rng.beta(ancestral * sharpness, (1 - ancestral) * sharpness, shape)


def _keeps(variants: VariantTable, linkage: float) -> np.ndarray:
    """Return 65536 times the probabilities to keep the class; 0 where a contig begins."""
    gaps = np.diff(variants.positions, prepend=0) / BASES_PER_VARIANT
    keeps = np.rint(linkage ** np.maximum(gaps, 0) * _SCALE).astype(np.uint32)
    keeps[np.searchsorted(variants.contig_ids, np.arange(len(variants.contigs)))] = 0
    return keeps


def _make_samples(rng: np.random.Generator, offsets: np.ndarray) -> SampleTable:
    """Return samples of which the family is the population."""
    n = int(offsets[-1])
    names = np.char.add("pop", np.arange(1, len(offsets)).astype(np.str_))
    families = np.repeat(names, np.diff(offsets)) if len(names) > 1 else np.full(n, "0")
    ids = np.char.add("sample", np.arange(1, n + 1).astype(np.str_))
    none = np.full(n, "0")
    return SampleTable(families, ids, none, none, rng.integers(1, 3, n).astype(np.uint8))
