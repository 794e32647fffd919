"""Conflicts of parents and progeny, counted one by one."""

from __future__ import annotations

import numpy as np
import pytest

from genoviz import parentage_conflicts
from genoviz.errors import ParameterError
from tests.genotype_sets import genotypes_of_dosages


def test_opposite_homozygotes_are_counted():
    generator = np.random.default_rng(2)
    dosages = generator.integers(0, 4, (30, 70)).astype(float)
    dosages[dosages == 3] = np.nan
    progeny, parents = generator.integers(0, 30, (2, 50))
    found = parentage_conflicts(
        genotypes_of_dosages(dosages, np.arange(30).astype(str)), progeny, parents
    )
    table = [
        [{dosages[a, j], dosages[b, j]} == {0.0, 2.0} for j in range(70)]
        for a, b in zip(progeny, parents, strict=True)
    ]
    assert found.of_pairs.tolist() == np.sum(table, axis=1).tolist()
    assert found.of_variants.tolist() == np.sum(table, axis=0).tolist()
    genotypes, nobody = (
        genotypes_of_dosages(dosages, np.arange(30).astype(str)),
        np.zeros(0, np.int64),
    )
    assert parentage_conflicts(genotypes, nobody, nobody).of_variants.sum() == 0
    with pytest.raises(ParameterError, match="pairs are of samples 0 to 30, there are 0 to 29"):
        parentage_conflicts(genotypes, np.array([0]), np.array([30]))
    with pytest.raises(ParameterError, match=r"progeny has shape \(2,\), and parents \(1,\)"):
        parentage_conflicts(genotypes, np.array([0, 1]), np.array([3]))
