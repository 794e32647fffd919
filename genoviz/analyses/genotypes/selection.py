"""Selection of genotypes by sample, region or set, and packing of dosages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from genoviz.analyses.genotypes.variant_blocks import variants_at_a_time
from genoviz.errors import ParameterError, n_words
from genoviz.generators import Progress, iter_slices, last_of
from genoviz.model import Intervals, packing_loops
from genoviz.model.columns import distinct
from genoviz.model.genotypes.chromosomes import Kind, chromosome_numbers
from genoviz.model.genotypes.dosages import to_int8
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable
from genoviz.model.intervals.intervals import map_contigs

_BLOCK_BYTES = 1 << 26


def select_samples(genotypes: Genotypes, indices: np.ndarray) -> Genotypes:
    """Return the genotypes of some samples, in the given order, packed anew.

    Parameters
    ----------
    genotypes
        Of all samples.
    indices
        Sample indices, integers of shape (k,), without duplicates; or bool of shape (n_samples,).

    Raises
    ------
    ParameterError
        If an index is out of range or occurs twice.
    """
    return last_of(iter_select_samples(genotypes, indices)).result


def iter_select_samples(genotypes: Genotypes, indices: np.ndarray) -> Iterator[Progress]:
    """Pack blocks of variants; the last step has the result of `select_samples`."""
    indices = _check_indices(indices, genotypes.n_samples)
    packed = np.zeros((genotypes.n_variants, (len(indices) + 3) // 4), np.uint8)

    def take(first: int, stop: int) -> None:
        packing_loops.take_samples(genotypes.packed[first:stop], indices, packed[first:stop])

    first_size = variants_at_a_time(genotypes, backend="cpu")
    slices = iter_slices(
        take, genotypes.n_variants, first_size=first_size, multiple=packing_loops.N_TOGETHER
    )
    for n_done, _ in slices:
        yield Progress("taking samples", n_done / genotypes.n_variants)
    stored = genotypes.stored_dosages
    taken = replace(
        genotypes,
        packed=packed,
        samples=genotypes.samples.take(indices),
        stored_dosages=None if stored is None else stored.take_samples(indices),
    )
    yield Progress("taking samples", 1.0, taken)


def genotypes_in_region(genotypes: Genotypes, contig: str, start: int, end: int) -> Genotypes:
    """Return the genotypes of variants with start <= position < end, 0-based, sorted."""
    return genotypes.take_variants(genotypes.variants.in_region(contig, start, end))


def pack_dosages(dosages: np.ndarray, samples: SampleTable, variants: VariantTable) -> Genotypes:
    """Return packed genotypes from counts of allele A1.

    Parameters
    ----------
    dosages
        Integers or floats, shape (n_samples, n_variants): 0, 1, 2; negative or NaN is missing.
    samples, variants
        The sample and variant tables.

    Raises
    ------
    ParameterError
        If a number is invalid, or the shape does not match samples and variants.
    """
    shape = (len(samples), len(variants))
    if np.shape(dosages) != shape:
        raise ParameterError(f"dosages have shape {np.shape(dosages)}, need {shape}")
    packed = np.empty((shape[1], (shape[0] + 3) // 4), np.uint8)
    step = max(1, _BLOCK_BYTES // max(shape[0], 1))
    for first in range(0, shape[1], step):
        block = to_int8(np.asarray(dosages[:, first : first + step]), first)
        packed[first : first + step] = packing_loops.pack_dosages(np.ascontiguousarray(block.T))
    return Genotypes(packed, samples, variants)


def _check_indices(indices: np.ndarray, n: int) -> np.ndarray:
    indices = np.asarray(indices)
    if indices.dtype == np.bool_:
        if indices.shape != (n,):
            raise ParameterError(f"indices are bool of shape {indices.shape}, need ({n},)")
        return np.flatnonzero(indices)
    if indices.size == 0:
        return np.empty(0, np.int64)
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        found = f"indices are {indices.dtype} of {n_words(indices.ndim, 'dimension')}"
        raise ParameterError(f"{found}, need integers of 1")
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= n:
        found = low if low < 0 else high
        raise ParameterError(f"sample {found:,} is not there, needs to be from 0 to {n - 1:,}")
    if np.bincount(indices).max() > 1:
        twice = int(np.argmax(np.bincount(indices) > 1))
        raise ParameterError(f"sample {twice:,} is named twice, needs to be named once")
    return indices.astype(np.int64)


def condition_columns(
    genotypes: Genotypes, ids: Sequence[str], *, x_model: str = "diploid"
) -> np.ndarray:
    """Return dosages of variants as covariates for conditional tests.

    Parameters
    ----------
    genotypes
        The genotypes.
    ids
        IDs of the variants.
    x_model
        As in `iter_associate`; with ``"haploid"`` the A1 of a male at X counts as 1 here, too.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_samples, len(ids)): dosages of A1, NaN where missing.

    Raises
    ------
    ParameterError
        If an ID matches no variant, or several.
    """
    found = []
    for name in ids:
        rows = np.flatnonzero(genotypes.variants.ids == name)
        if len(rows) != 1:
            what = (
                f"is the ID of {n_words(len(rows), 'variant')}"
                if len(rows)
                else "is not a variant's ID"
            )
            raise ParameterError(f"{name!r} {what}; a scan is conditional on one by its ID")
        found.append(int(rows[0]))
    return dosages_of_rows(genotypes, found, x_model=x_model)


def dosages_of_rows(
    genotypes: Genotypes, rows: Sequence[int], *, x_model: str = "diploid"
) -> np.ndarray:
    """Return dosages of variants as `condition_columns` does, by their indices."""
    dosages = genotypes.exact_dosages(np.array(rows, np.int64))
    if x_model == "haploid":
        is_halved = genotypes.samples.is_male[:, None] & (genotypes.kinds[rows] == Kind.X)
        dosages = np.where(is_halved, dosages / 2, dosages)
    return dosages


def sets_of_regions(
    variants: VariantTable, regions: Intervals, *, n_autosomes: int | None = None
) -> dict[str, np.ndarray]:
    """Return the indices of the variants whose first base is in regions, by name of the region.

    Regions with the same name, such as exons of a gene, are one set. A region without a name is
    called contig:start-end, 0-based half-open. Sets are in the order of the file; some may be
    empty. Contigs ``1``, ``01`` and ``chr1`` are one chromosome, by the number of autosomes as in
    `Genotypes`.
    """
    n = len(variants.contigs)
    numbers = chromosome_numbers([*variants.contigs, *regions.contigs], n_autosomes)
    chromosomes = numbers[variants.contig_ids]
    order = np.lexsort((variants.positions, chromosomes))
    chromosomes, positions = chromosomes[order], variants.positions[order]
    found: dict[str, list[np.ndarray]] = {}
    bounds = np.searchsorted(chromosomes, np.arange(n + 1))
    columns = (regions.contig_ids, regions.starts, regions.ends)
    names = names_of_regions(regions)
    for name, contig_id, start, end in zip(names, *map(np.ndarray.tolist, columns), strict=True):
        of_set = found.setdefault(name, [])
        number = int(numbers[n + contig_id])
        if number < n:
            low, high = bounds[number : number + 2].tolist()
            first, last = np.searchsorted(positions[low:high], (start, end))
            of_set.append(order[low + first : low + last])
    none = np.empty(0, np.int64)
    return {name: distinct(np.concatenate([none, *parts])) for name, parts in found.items()}


def names_of_regions(regions: Intervals) -> list[str]:
    """Return the names of the sets of regions."""
    names = [""] * len(regions) if regions.names is None else [*regions.names]
    columns = (regions.contig_ids, regions.starts, regions.ends)
    places = zip(names, *map(np.ndarray.tolist, columns), strict=True)
    contigs = regions.contigs
    return [name or f"{contigs[number]}:{start}-{end}" for name, number, start, end in places]


def sets_of_ids(
    variants: VariantTable, sets: Mapping[str, Iterable[str]]
) -> tuple[dict[str, np.ndarray], int]:
    """Return the indices of the variants of sets of IDs, and the number of IDs of no variant.

    An ID of several variants stands for all of them.
    """
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(variants.ids.tolist()):
        if name not in ("", "."):
            rows.setdefault(name, []).append(row)
    found = {
        name: distinct(np.array([row for each in ids for row in rows.get(each, ())], np.int64))
        for name, ids in sets.items()
    }
    return found, len({each for ids in sets.values() for each in ids} - rows.keys())


@dataclass(frozen=True, eq=False)
class VariantSets:
    """Sets of variants, and where they are.

    Attributes
    ----------
    rows
        Indices of the variants of each set, int64, by name.
    contig_ids
        int32, shape (n_sets,): contig of all variants of a set; -1 if there are several, or none.
    starts, ends
        int64, shape (n_sets,): from the first base of its regions, or else variants, to the last;
        0-based half-open, bp.
    notes
        Contigs that were renamed, and IDs of no variant, one sentence each.
    """

    rows: dict[str, np.ndarray]
    contig_ids: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    notes: tuple[str, ...] = ()


def find_sets(
    genotypes: Genotypes, listed: Intervals | Mapping[str, Sequence[str]], title: str = "sets"
) -> VariantSets:
    """Return the variants of regions, or of lists of IDs; see `sets_of_regions`, `sets_of_ids`.

    Notes call the lists by their title.
    """
    variants = genotypes.variants
    if isinstance(listed, Intervals):
        regions = map_contigs(listed, variants.contigs)
        rows = sets_of_regions(variants, regions, n_autosomes=genotypes.n_autosomes)
        notes, places = regions.notes, {name: k for k, name in enumerate(rows)}
        starts, ends = np.full(len(rows), np.iinfo(np.int64).max), np.zeros(len(rows), np.int64)
        numbers = np.array([places[name] for name in names_of_regions(regions)], np.int64)
        np.minimum.at(starts, numbers, regions.starts)
        np.maximum.at(ends, numbers, regions.ends)
    else:
        rows, n_unknown = sets_of_ids(variants, listed)
        n = n_words(len({each for ids in listed.values() for each in ids}), "ID")
        notes = (f"{n_unknown:,} of {n} of {title} are of no variant.",) if n_unknown else ()
        positions = [variants.positions[each] for each in rows.values()]
        starts = np.array([each.min(initial=np.iinfo(np.int64).max) for each in positions])
        ends = np.array([each.max(initial=-1) + 1 for each in positions])
    contigs = [variants.contig_ids[each] for each in rows.values()]
    ids = [each[0] if len(each) and (each == each[0]).all() else -1 for each in contigs]
    return VariantSets(rows, np.array(ids, np.int32), starts, ends, notes)
