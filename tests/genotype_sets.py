"""Genotypes for tests: random ones, and whether two are the same."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from genoviz import Genotypes, SampleTable, VariantTable
from tests.oracles.genotypes import pack

SAMPLE_NAMES = ("family_ids", "ids", "father_ids", "mother_ids", "sexes")
VARIANT_NAMES = ("positions", "ids", "allele1", "allele2", "centimorgans")

CODES = hnp.arrays(
    np.uint8, st.tuples(st.integers(1, 9), st.integers(0, 5)), elements=st.integers(0, 3)
)
"""2-bit codes of samples (rows) at variants (columns)."""


def genotypes_of(codes: np.ndarray) -> Genotypes:
    """Return genotypes of 2-bit codes (n_samples, n_variants), with two contigs and two alleles."""
    n_samples, n_variants = codes.shape
    numbers = np.arange(n_variants)
    n_first = -(-n_variants // 2)
    variants = VariantTable(
        ("1", "2")[: 1 + (n_variants > 1)],
        (numbers >= n_first).astype(np.int32),
        10 * numbers,
        np.array([f"rs{number}" for number in numbers], np.str_),
        np.where(numbers % 2, "A", "TTG"),
        np.where(numbers % 2, "C", "T"),
        numbers / 8,
    )
    samples = SampleTable.from_ids([f"s{number}" for number in range(n_samples)])
    return Genotypes(pack(codes), samples, variants)


def assert_same(found: Genotypes, wanted: Genotypes, *, but: tuple[str, ...] = ()) -> None:
    """See that two have the same genotypes, samples and variants, but for some columns."""
    np.testing.assert_array_equal(found.dosages(slice(None)), wanted.dosages(slice(None)))
    for name in SAMPLE_NAMES:
        if name not in but:
            np.testing.assert_array_equal(
                getattr(found.samples, name), getattr(wanted.samples, name)
            )
    for name in VARIANT_NAMES:
        if name not in but:
            values = getattr(found.variants, name), getattr(wanted.variants, name)
            np.testing.assert_array_equal(*values, err_msg=name)
    contigs = [
        np.array(genotypes.variants.contigs, np.str_)[genotypes.variants.contig_ids]
        for genotypes in (found, wanted)
    ]
    np.testing.assert_array_equal(*contigs)
