"""Simulated pedigrees, and genotypes that are passed down them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from genoviz.analyses.genotypes.code_values import frequencies_of_counts
from genoviz.analyses.genotypes.products import allele_counts
from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable
from genoviz.model.genotypes.pedigree import Pedigree


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
        Animals without parents, at least 2.
    n_generations
        Generations after them.
    n_progeny
        Animals of each of these, as many as founders if None.
    sire_share
        Share of a generation that become sires of the next, at least one animal; the others are
        its dams, drawn at random as often as there are progeny.
    seed
        The same seed gives the same pedigree.

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
    """Return genotypes of all animals: those of founders, passed down with crossovers.

    Parameters
    ----------
    pedigree
        All animals.
    founders
        Genotypes of the animals with two unknown parents, in the order of the pedigree. Which of
        the two haplotypes has A1 of a heterozygous genotype is random. What is missing, and what an
        unknown parent of others passes on, is drawn by the frequency of A1.
    seed
        The same seed gives the same genotypes.

    Returns
    -------
    Genotypes
        Of the animals, in the order of the pedigree; no genotype is missing. Crossovers follow the
        map (Haldane), or 1 cM for each Mb where the variants have no map.

    Raises
    ------
    ParameterError
        If there are not as many founders as animals without parents.

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
    """Return the recombination rate of each variant with the one before; 1/2 between contigs."""
    places = variants.centimorgans / 100
    if not places.any():
        places = variants.positions / 1e8
    distances = np.abs(np.diff(places, prepend=0.0))
    rates = 0.5 * (1 - np.exp(-2 * distances))
    rates[np.diff(variants.contig_ids, prepend=-1) != 0] = 0.5
    return rates


def _samples_of(pedigree: Pedigree) -> SampleTable:
    """Return the animals as samples; sexes are known of those that are parents."""
    ids = np.append(pedigree.ids, "0")
    sexes = np.zeros(len(pedigree.ids), np.uint8)
    sexes[pedigree.dams[pedigree.dams >= 0]] = 2
    sexes[pedigree.sires[pedigree.sires >= 0]] = 1
    families = np.full(len(sexes), "0")
    return SampleTable(families, pedigree.ids, ids[pedigree.sires], ids[pedigree.dams], sexes)
