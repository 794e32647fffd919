"""The matrix of genotypes as an operator, against NumPy."""

import numpy as np
import pytest

from genoviz.analyses.genotypes.code_values import spare_missing
from genoviz.analyses.genotypes.products import GenotypeMatrix, allele_counts
from genoviz.backend import cuda_is_available
from genoviz.errors import ParameterError
from genoviz.model.genotypes.genotypes import Genotypes, SampleTable, VariantTable
from tests.conftest import count_gpus, real_data
from tests.oracles.genotypes import dosages_of, pack


def make_genotypes(n_samples=53, n_variants=29, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.choice(4, p=[0.2, 0.1, 0.4, 0.3], size=(n_samples, n_variants))
    if n_variants > 3:
        codes[:, 0], codes[:, 1], codes[:, 2] = 3, 1, 2
    return genotypes_of(pack(codes), n_samples)


def genotypes_of(packed, n_samples):
    n = len(packed)
    samples = SampleTable.from_ids(np.arange(n_samples).astype(str))
    none = np.zeros(n)
    texts = none.astype(str)
    variants = VariantTable(("1",), none.astype(np.int32), np.arange(n), *[texts] * 3, none)
    return Genotypes(packed, samples, variants)


def dense_matrix(genotypes, *, centre, standardise, missing, frequencies=None):
    dosages = dosages_of(genotypes.packed, genotypes.n_samples)
    if frequencies is None:
        called = ~np.isnan(dosages)
        frequencies = np.nansum(dosages, 0) / np.maximum(2 * called.sum(0), 1)
    matrix = np.where(np.isnan(dosages), 2 * frequencies if missing == "mean" else 0, dosages)
    if centre:
        matrix = matrix - 2 * frequencies
    if standardise:
        variances = 2 * frequencies * (1 - frequencies)
        scales = np.where(variances > 0, np.sqrt(variances), np.inf)
        matrix = matrix / scales
    return matrix


@pytest.mark.parametrize("missing", ["mean", "zero"])
@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("centre", [False, True])
def test_the_operator_is_the_dense_matrix(backend, centre, standardise, missing):
    genotypes = make_genotypes()
    options = {"centre": centre, "standardise": standardise, "missing": missing}
    matrix = GenotypeMatrix(genotypes, **options, backend=backend)
    wanted = dense_matrix(genotypes, **options)
    rng = np.random.default_rng(1)
    for shape in ((), (1,), (10,)):
        right, left = rng.normal(size=(29, *shape)), rng.normal(size=(53, *shape))
        near = {"rtol": 1e-11, "atol": 1e-12}
        np.testing.assert_allclose(matrix.multiply(right), wanted @ right, **near)
        np.testing.assert_allclose(matrix @ right, wanted @ right, **near)
        np.testing.assert_allclose(matrix.multiply_transposed(left), wanted.T @ left, **near)
        np.testing.assert_allclose(matrix.T @ left, wanted.T @ left, **near)
        np.testing.assert_allclose(matrix.T.multiply_transposed(right), wanted @ right, **near)
    assert matrix.shape == matrix.T.T.shape == (53, 29)
    assert matrix.T.shape == (29, 53)


@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize("shape", [(53, 29), (5, 3), (300, 41), (0, 4), (4, 0)])
def test_five_variants_in_a_byte_are_the_same_matrix(shape, k):
    genotypes = make_genotypes(*shape)
    options = {"standardise": True, "missing": "zero", "backend": "cpu"}
    matrix = GenotypeMatrix(genotypes, packing="5codes", **options)
    wanted = GenotypeMatrix(genotypes, **options)
    rng = np.random.default_rng(1)
    near = {"rtol": 0, "atol": 1e-11}
    right, left = rng.normal(size=(shape[1], k)), rng.normal(size=(shape[0], k))
    np.testing.assert_allclose(matrix @ right, wanted @ right, **near)
    np.testing.assert_allclose(matrix.T @ left, wanted.T @ left, **near)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("packing", ["2bit", "5codes"])
def test_what_is_not_finite_comes_out_as_of_numpy(packing):
    genotypes = make_genotypes(60, 31)
    options = {"centre": False, "missing": "zero"}
    matrix = GenotypeMatrix(genotypes, packing=packing, **options, backend="cpu")
    wanted = dense_matrix(genotypes, standardise=False, **options)
    right, left = np.ones((31, 4)), np.ones((60, 4))
    for array in (right, left):
        array[7, 0], array[9, 1], array[11, 2], array[13, 2] = np.inf, np.nan, np.inf, -np.inf
        array[17, 3] = 1e15
    np.testing.assert_allclose(matrix @ right, wanted @ right, rtol=1e-12)
    np.testing.assert_allclose(matrix.T @ left, wanted.T @ left, rtol=1e-12)


def test_five_variants_in_a_byte_cannot_say_that_a_genotype_is_missing():
    genotypes = make_genotypes()
    with pytest.raises(ParameterError, match=r"there are .*: it needs missing 'zero'"):
        GenotypeMatrix(genotypes, packing="5codes", backend="cpu")
    called = genotypes_of(np.full((7, 3), 0b10_00_11_00, np.uint8), 12)
    right = np.arange(7.0)
    wanted = GenotypeMatrix(called, backend="cpu") @ right
    product = GenotypeMatrix(called, packing="5codes", backend="cpu") @ right
    np.testing.assert_allclose(product, wanted, atol=1e-12)


def test_frequencies_of_another_population_centre_the_matrix(backend):
    genotypes = make_genotypes()
    frequencies = np.random.default_rng(2).uniform(size=29)
    matrix = GenotypeMatrix(genotypes, frequencies=frequencies, standardise=True, backend=backend)
    wanted = dense_matrix(
        genotypes, centre=True, standardise=True, missing="mean", frequencies=frequencies
    )
    np.testing.assert_allclose(matrix @ np.eye(29), wanted, rtol=1e-12, atol=1e-12)


def test_missing_genotypes_are_nothing_when_they_count_as_the_mean(backend):
    genotypes = make_genotypes()
    matrix = GenotypeMatrix(genotypes, backend=backend)
    assert not matrix.values[:, 1].any()
    assert matrix.frequencies[:3].tolist() == [0, 0, 0.5]


def test_float32_matrices_give_float32(backend):
    matrix = GenotypeMatrix(make_genotypes(), dtype=np.float32, backend=backend)
    product = matrix @ np.ones(29)
    assert product.dtype == np.float32
    exact = GenotypeMatrix(make_genotypes(), backend="cpu") @ np.ones(29)
    np.testing.assert_allclose(product, exact, rtol=1e-4, atol=1e-4)


def test_counts_of_codes(backend):
    genotypes = make_genotypes()
    dosages = dosages_of(genotypes.packed, 53)
    wanted = [(dosages == 2).sum(0), np.isnan(dosages).sum(0), (dosages == 1).sum(0),
              (dosages == 0).sum(0)]  # fmt: skip
    counts = allele_counts(genotypes, backend=backend)
    assert counts.dtype == np.int64
    assert counts.T.tolist() == [count.tolist() for count in wanted]


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (1, 1)])
def test_matrices_without_samples_or_variants(backend, shape):
    matrix = GenotypeMatrix(make_genotypes(*shape), backend=backend)
    assert (matrix @ np.ones((shape[1], 3))).shape == (shape[0], 3)
    assert (matrix.T @ np.ones(shape[0])).shape == (shape[1],)
    assert (matrix @ np.ones((shape[1], 0))).shape == (shape[0], 0)


def test_every_second_variant_of_real_genotypes(backend):
    path = real_data("genotypes/wheat_bglr.bed")
    n_samples = len(path.with_suffix(".fam").read_text().splitlines())
    packed = np.memmap(path, np.uint8, "r", 3).reshape(-1, (n_samples + 3) // 4)
    genotypes = genotypes_of(packed[::2], n_samples)
    matrix = GenotypeMatrix(genotypes, backend=backend)
    right = np.random.default_rng(0).normal(size=(genotypes.n_variants, 10))
    dosages = genotypes.dosages(slice(None)).astype(float)
    dosages[dosages < 0] = np.nan
    centred = np.nan_to_num(dosages - np.nanmean(dosages, 0))
    np.testing.assert_allclose(matrix @ right, centred @ right, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"missing": "none"}, "missing is 'none', needs one of mean, zero"),
        ({"packing": "5"}, "packing is '5', needs one of 2bit, 5codes"),
        ({"dtype": np.int64}, "dtype is int64, needs float64 or float32"),
        ({"frequencies": np.zeros(3)}, r"frequencies have shape \(3,\), need \(29,\)"),
        ({"frequencies": np.full(29, 1.5)}, "frequencies have 1.5, need values from 0 to 1"),
        ({"devices": [0], "backend": "cpu"}, "devices are numbers of GPUs, and the backend is"),
    ],
)
def test_wrong_options_are_refused(options, words):
    with pytest.raises(ParameterError, match=words):
        GenotypeMatrix(make_genotypes(), **options)


def test_dense_matrices_of_other_shapes_are_refused():
    matrix = GenotypeMatrix(make_genotypes(), backend="cpu")
    with pytest.raises(ParameterError, match=r"shape \(53,\), needs \(29,\) or \(29, k\)"):
        matrix @ np.ones(53)
    with pytest.raises(ParameterError, match="for 53 samples"):
        matrix.multiply_transposed(np.ones((29, 2)))


@pytest.mark.gpu
@pytest.mark.skipif(not cuda_is_available(), reason="no NVIDIA GPU can be used here")
def test_gpus_share_the_variants():
    import cupy

    n_devices = count_gpus()
    genotypes = make_genotypes(97, 50)
    rng = np.random.default_rng(3)
    right, left = rng.normal(size=(50, 4)), rng.normal(size=(97, 4))
    alone = GenotypeMatrix(genotypes, backend="cpu")
    shared = GenotypeMatrix(genotypes, devices=[0, n_devices - 1], backend="cuda")
    for module in (np, cupy):
        product = shared @ module.asarray(right)
        transposed = shared.T @ module.asarray(left)
        assert isinstance(product, module.ndarray)
        np.testing.assert_allclose(product.tolist(), alone @ right, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(transposed.tolist(), alone.T @ left, rtol=1e-11, atol=1e-12)
    with pytest.raises(ParameterError, match=f"devices is {n_devices}, needs numbers of GPUs"):
        GenotypeMatrix(genotypes, devices=[n_devices], backend="cuda")


def test_missing_genotypes_cost_nothing_where_there_are_none():
    codes = np.random.default_rng(8).choice(4, (60, 9), p=[0.3, 0.1, 0.3, 0.3])
    codes[:, 3] = np.where(codes[:, 3] == 1, 2, codes[:, 3])
    genotypes = genotypes_of(pack(codes), 60)
    counts = allele_counts(genotypes, backend="cpu")
    values = GenotypeMatrix(genotypes, backend="cpu").values
    spared = spare_missing(values, counts)
    assert (counts[:, 1] == 0).tolist() == [k == 3 for k in range(9)]
    assert spared[3, 1] == values[3, 2] != values[3, 1]
    others = np.arange(9) != 3
    assert (spared[others] == values[others]).all()
    known = GenotypeMatrix(genotypes, counts=counts, backend="cpu")
    right = np.random.default_rng(9).normal(size=(9, 2))
    expected = np.take_along_axis(values, codes.T, 1).T @ right
    np.testing.assert_allclose(known @ right, expected, rtol=1e-10, atol=1e-12)
