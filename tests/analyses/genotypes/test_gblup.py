from __future__ import annotations

import numpy as np

from genoviz import gblup, read_genotypes
from tests.conftest import real_data
from tests.oracles import mixed_models


def test_breeding_values_of_wheat_equal_those_by_an_inverted_relationship_matrix(backend):
    genotypes = read_genotypes(real_data("genotypes/wheat_bglr.bed"))
    table = np.genfromtxt(real_data("genotypes/wheat_bglr.pheno.csv"), delimiter=",", skip_header=1)
    phenotype = table[:, 1]
    phenotype[::5] = np.nan
    dosages = genotypes.dosages(slice(None)).astype(float)
    z, scale = mixed_models.centred(np.where(dosages < 0, np.nan, dosages))
    # G is singular: its inverse is that of a matrix that differs in the last digits.
    inverse = np.linalg.inv(z @ z.T / scale + 1e-9 * np.eye(len(z)))
    intercept = np.ones((len(z), 1))
    _, expected = mixed_models.solve(phenotype, intercept, np.eye(len(z)), inverse, 1.0)
    found = gblup(genotypes, phenotype, heritability=0.5, tolerance=1e-18, backend=backend)
    np.testing.assert_allclose(found.breeding_values, expected, atol=1e-6)
    np.testing.assert_allclose(z @ found.effects, found.breeding_values, atol=1e-10)
