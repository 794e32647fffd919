"""What has to be said of variants of sex chromosomes and mitochondria."""

from __future__ import annotations

import numpy as np

from genoviz.model.genotypes import VariantTable

NAMES = ("X", "Y", "XY", "M", "MT")


def note_sex_chromosomes(variants: VariantTable) -> tuple[str, ...]:
    """Return that variants of X, Y or mitochondria count like others; nothing if there are none.

    Contigs are known by name, ``chrX`` as ``X``; numbers of chromosomes mean one thing in one
    species and another in the next.

    Examples
    --------
    >>> from genoviz import simulate_genotypes
    >>> note_sex_chromosomes(simulate_genotypes(5, 4, seed=1).variants)
    ()
    """
    counts = np.bincount(variants.contig_ids, minlength=len(variants.contigs))
    found = {
        name: int(count)
        for name, count in zip(variants.contigs, counts, strict=True)
        if count and name.lower().removeprefix("chr").upper() in NAMES
    }
    if not found:
        return ()
    n = sum(found.values())
    what = f"{n:,} variants count" if n > 1 else "1 variant counts"
    return (f"{what} as on autosomes, with two alleles in males too: those of {', '.join(found)}.",)
