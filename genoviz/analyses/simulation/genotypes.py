"""Simulated genotypes: populations with linked variants, and animals of a pedigree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import Progress, in_one_go
from genoviz.model.genotypes.chromosomes import HUMAN_AUTOSOMES
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable
from genoviz.model.genotypes.pedigree import Pedigree

MIN_MAF = 0.01
BASES_PER_VARIANT = 50_000
CONTIG_BASES = 250_000_000  # of human chromosome 1; files of genotypes have positions of 31 bits
BASES_PER_CENTIMORGAN = 1e6
_SCALE = 1 << 16
_BLOCK_GENOTYPES = 10_000_000


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

    A1 is the overall minor allele, with a frequency uniform between 0.01 and 0.5. The frequencies
    of each population vary around these (Balding-Nichols model). Along a contig, a haplotype keeps
    its allele class between neighbouring variants with a probability that decreases with distance,
    so that neighbours are linked (r of both signs). Memory is that of the result.

    Parameters
    ----------
    n_samples, n_variants
        Size of the matrix, each at least 1.
    n_contigs
        Number of contigs ``"1"``, ``"2"``, ..., each with an equal share of the variants: one
        per 50 kb, or more densely, so that a contig has about 250 Mb at most.
    seed
        Random seed.
    missing_rate
        Share of genotypes that are missing at random, 0 to 1.
    linkage
        Probability of keeping the class over the mean distance of two variants, 0 (none) to 1.
    n_populations
        Number of populations of equal size. Their names, ``"pop1"``, ``"pop2"``, ..., are the
        family IDs.
    fst
        Differentiation between the populations, 0 < fst < 1; unused for one population.

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
    spacing = min(BASES_PER_VARIANT, max(CONTIG_BASES * n_contigs // n_variants, 1))
    variants = _make_variants(rng, n_variants, n_contigs, spacing)
    frequencies = _draw_frequencies(rng, n_variants, n_populations, fst)
    draw = {
        "keeps": _keeps(variants, linkage, spacing),
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


@in_one_go(iter_simulate_genotypes)
def simulate_genotypes(last: Progress) -> Genotypes:
    """Return simulated genotypes; see `iter_simulate_genotypes`."""
    return last.result


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


def _make_variants(rng: np.random.Generator, n: int, n_contigs: int, spacing: int) -> VariantTable:
    """Return variants at distinct random positions, sorted."""
    contig_ids = (np.arange(n) * n_contigs // n).astype(np.int32)
    gaps = 1 + rng.geometric(1 / spacing, n)
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


def _keeps(variants: VariantTable, linkage: float, spacing: int) -> np.ndarray:
    """Return 65536 times the probability of keeping the class; 0 at the start of a contig."""
    gaps = np.diff(variants.positions, prepend=0) / spacing
    keeps = np.rint(linkage ** np.maximum(gaps, 0) * _SCALE).astype(np.uint32)
    keeps[np.searchsorted(variants.contig_ids, np.arange(len(variants.contigs)))] = 0
    return keeps


def _make_samples(rng: np.random.Generator, offsets: np.ndarray) -> SampleTable:
    """Return samples whose family is their population."""
    n = int(offsets[-1])
    names = np.char.add("pop", np.arange(1, len(offsets)).astype(np.str_))
    families = np.repeat(names, np.diff(offsets)) if len(names) > 1 else np.full(n, "0")
    ids = np.char.add("sample", np.arange(1, n + 1).astype(np.str_))
    none = np.full(n, "0")
    return SampleTable(families, ids, none, none, rng.integers(1, 3, n).astype(np.uint8))


def simulate_pedigree(
    n_founders: int,
    n_generations: int,
    *,
    n_progeny: int | None = None,
    sire_share: float = 0.1,
    seed: int = 0,
) -> Pedigree:
    """Return a pedigree of discrete generations with few sires and many dams.

    Parameters
    ----------
    n_founders
        Number of animals without parents, at least 2.
    n_generations
        Number of generations after the founders.
    n_progeny
        Animals in each of these, as many as founders if None.
    sire_share
        Share of a generation that become sires of the next, at least one animal. The others are
        dams, drawn with replacement for each progeny.
    seed
        Random seed.

    Returns
    -------
    Pedigree
        IDs are ``"g0.1"``, ``"g0.2"``, ... for the founders, ``"g1.1"``, ... for their progeny.

    Raises
    ------
    ParameterError
        If an argument is out of range.
    """
    n_progeny = n_founders if n_progeny is None else n_progeny
    if n_founders < 2 or n_generations < 0 or (n_generations > 1 and n_progeny < 2):
        raise ParameterError(
            f"a pedigree of {n_founders} founders and {n_generations} generations of {n_progeny}: "
            "needs at least 2 animals to mate in each, and no fewer generations than 0"
        )
    if not 0 < sire_share < 1:
        raise ParameterError(f"sire_share is {sire_share}, needs more than 0 and less than 1")
    rng = np.random.default_rng(seed)
    sires, dams = [np.full(n_founders, -1)], [np.full(n_founders, -1)]
    first, n_mating = 0, n_founders
    for _ in range(n_generations):
        n_sires = min(max(1, round(sire_share * n_mating)), n_mating - 1)
        order = first + rng.permutation(n_mating)
        sires.append(rng.choice(order[:n_sires], n_progeny))
        dams.append(rng.choice(order[n_sires:], n_progeny))
        first, n_mating = first + n_mating, n_progeny
    ids = [f"g{g}.{k + 1}" for g, born in enumerate(sires) for k in range(len(born))]
    return Pedigree(np.array(ids), np.concatenate(sires), np.concatenate(dams))


def drop_genotypes(pedigree: Pedigree, founders: Genotypes, *, seed: int = 0) -> Genotypes:
    """Return genotypes of all animals by dropping founder haplotypes with crossovers.

    Parameters
    ----------
    pedigree
        All animals.
    founders
        Genotypes of the animals with two unknown parents, in pedigree order. Heterozygous founder
        genotypes are phased at random. Missing genotypes, and alleles from the unknown parent of
        animals with one, are drawn by the frequency of A1.
    seed
        Random seed.

    Returns
    -------
    Genotypes
        Genotypes of the animals in pedigree order, without missing values. Crossovers follow the
        genetic map (Haldane), or 1 cM per Mb if the variants have no map.

    Raises
    ------
    ParameterError
        If the number of founders differs from the number of animals without parents.

    References
    ----------
    MacCluer et al. 1986, Pedigree analysis by computer simulation, doi:10.1002/zoo.1430050209
    Haldane 1919, The combination of linkage values and the calculation of distances between the
    loci of linked factors, Journal of Genetics 8: 299-309
    """
    is_founder = (pedigree.sires < 0) & (pedigree.dams < 0)
    n_animals, n_founders = len(is_founder), int(is_founder.sum())
    if founders.n_samples != n_founders:
        raise ParameterError(
            f"there are genotypes of {founders.n_samples:,} founders, and {n_founders:,} animals "
            "of the pedigree have no parents"
        )
    rows = np.full(n_animals, -1)
    rows[is_founder] = np.arange(n_founders)
    packed = np.empty((founders.n_variants, (n_animals + 3) // 4), np.uint8)
    load_kernel("genotype_simulation", "cpu").drop_genotypes(
        0,
        rows,
        pedigree.sires,
        pedigree.dams,
        np.ascontiguousarray(founders.packed),
        frequencies_of_counts(allele_counts(founders, backend="cpu")),
        _crossovers(founders.variants),
        np.uint64(seed),
        np.zeros((2, n_animals), np.uint8),
        packed,
    )
    return replace(founders, packed=packed, samples=_samples_of(pedigree), notes=())


def _crossovers(variants: VariantTable) -> np.ndarray:
    """Return the recombination rate of each variant with the previous; 1/2 between contigs."""
    places = variants.centimorgans / 100
    if not places.any():
        places = variants.positions / 1e8
    distances = np.abs(np.diff(places, prepend=0.0))
    rates = 0.5 * (1 - np.exp(-2 * distances))
    rates[np.diff(variants.contig_ids, prepend=-1) != 0] = 0.5
    return rates


def _samples_of(pedigree: Pedigree) -> SampleTable:
    """Return the animals as samples; sex is known for parents."""
    ids = np.append(pedigree.ids, "0")
    sexes = np.zeros(len(pedigree.ids), np.uint8)
    sexes[pedigree.dams[pedigree.dams >= 0]] = 2
    sexes[pedigree.sires[pedigree.sires >= 0]] = 1
    families = np.full(len(sexes), "0")
    fathers, mothers = (ids[np.maximum(column, -1)] for column in (pedigree.sires, pedigree.dams))
    return SampleTable(families, pedigree.ids, fathers, mothers, sexes)
