"""Products of packed genotypes against dense matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genoviz.analyses.genotypes.products import GenotypeMatrix
from genoviz.analyses.simulation.genotypes import simulate_genotypes
from genoviz.backend import array_module, cuda_is_available, load_kernel
from genoviz.kernels.genotype_product import cpu, cpu_integers
from genoviz.kernels.genotype_product.cpu_amx import has_amx
from genoviz.kernels.genotype_product.wide_columns import find_wide_columns
from tests.oracles import matrix_unit
from tests.oracles.genotypes import codes_of, dense

SHAPES = [(0, 3), (3, 0), (1, 1), (4, 2), (5, 7), (37, 65), (130, 33), (67, 1)]
WIDTHS = [1, 2, 3, 8, 10, 21]


@pytest.fixture(
    scope="module",
    params=[
        "tables",
        pytest.param("integers", marks=pytest.mark.amx),
        pytest.param("cuda", marks=pytest.mark.gpu),
    ],
)
def backend(request):
    """Each backend in turn, and of the CPU each way, whichever is taken on this processor."""
    if request.param == "cuda":
        if not cuda_is_available():
            pytest.skip("no NVIDIA GPU can be used here")
        yield "cuda"
        return
    if request.param == "integers":
        needs_amx()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cpu, "has_amx", lambda: request.param == "integers")
        yield "cpu"


def needs_amx():
    if not has_amx():
        pytest.skip("this processor has no matrix unit (AMX)")


def make_case(n_samples, n_variants, k, seed, dtype=np.float64):
    rng = np.random.default_rng(seed)
    packed = rng.integers(0, 256, (n_variants, (n_samples + 3) // 4), np.uint8)
    values = rng.normal(size=(n_variants, 4))
    right = rng.normal(size=(n_variants, k)).astype(dtype)
    left = rng.normal(size=(n_samples, k)).astype(dtype)
    return packed, values, right, left


def inflate(packed, n_samples, values):
    shape = n_samples, len(packed)
    return dense(packed, n_samples, values) if min(shape) else np.zeros(shape)


def check_products(backend, n_samples, n_variants, k, seed, dtype=np.float64, tolerance=1e-12):
    packed, values, right, left = make_case(n_samples, n_variants, k, seed, dtype)
    matrix = inflate(packed, n_samples, values)
    kernel = load_kernel("genotype_product", backend)
    for multiply, other, wide in (
        (kernel.multiply, right, matrix),
        (kernel.multiply_transposed, left, matrix.T),
    ):
        product = multiply(packed, n_samples, values, other)
        assert product.dtype == dtype
        assert product.shape == (len(wide), k)
        scale = np.abs(wide) @ np.abs(other) + 1e-300
        assert (np.abs(product - wide @ other) <= tolerance * scale).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", WIDTHS)
def test_products_are_those_of_the_dense_matrix(backend, shape, k):
    check_products(backend, *shape, k, seed=k)


@pytest.mark.parametrize(
    ("n_samples", "n_variants", "k"), [(70, 300, 1), (530, 390, 17), (1, 1, 3)]
)
def test_sums_of_integers_need_no_matrix_unit_to_be_right(n_samples, n_variants, k):
    with matrix_unit.in_numpy():
        check_products("cpu", n_samples, n_variants, k, seed=k)
        check_products("cpu", n_samples, n_variants, k, k, np.float32, tolerance=1e-6)


@pytest.mark.parametrize("code", [1, 2, 3])
@pytest.mark.parametrize(("variant", "sample"), [(200, 17), (3, 299), (259, 0)])
def test_a_single_code_is_found_wherever_it_is(variant, sample, code):
    packed, (_, values, right, left) = np.zeros((260, 75), np.uint8), make_case(300, 260, 1, 7)
    packed[variant, sample // 4] = code << 2 * (sample % 4)
    matrix = inflate(packed, 300, values)
    with matrix_unit.in_numpy():
        products = (
            cpu.multiply(packed, 300, values, right),
            cpu.multiply_transposed(packed, 300, values, left),
        )
    for product, expected in zip(products, (matrix @ right, matrix.T @ left), strict=True):
        np.testing.assert_allclose(product, expected, atol=1e-10)


@pytest.mark.parametrize("k", [1, 3, 10, 17])
def test_float32_is_summed_up_in_float32(backend, k):
    check_products(backend, 203, 150, k, seed=k, dtype=np.float32, tolerance=1e-5)


@settings(max_examples=30)
@given(
    st.integers(0, 90), st.integers(0, 40), st.integers(1, 40), st.integers(0, 2**32 - 1)
)  # fmt: skip
def test_random_products_are_those_of_the_dense_matrix(backend, n_samples, n_variants, k, seed):
    check_products(backend, n_samples, n_variants, k, seed)


@pytest.mark.parametrize("k", [1, 10])
def test_products_of_more_than_one_block(backend, k):
    n_samples, n_variants = 9001, 1203
    packed, values, right, left = make_case(n_samples, n_variants, k, seed=5)
    kernel = load_kernel("genotype_product", backend)
    product = kernel.multiply(packed, n_samples, values, right)
    rows = np.arange(0, n_samples, 997)
    codes = packed[:, rows // 4] >> 2 * (rows % 4).astype(np.uint8) & 3
    some = np.take_along_axis(values, codes.astype(np.int64), axis=1).T
    np.testing.assert_allclose(product[rows], some @ right, rtol=1e-10, atol=1e-10)
    transposed = kernel.multiply_transposed(packed, n_samples, values, left)
    columns = np.arange(0, n_variants, 100)
    some = dense(packed[columns], n_samples, values[columns])
    np.testing.assert_allclose(transposed[columns], some.T @ left, rtol=1e-10, atol=1e-10)


def test_arrays_where_the_backend_has_them_are_taken(backend):
    packed, values, right, left = make_case(50, 20, 4, seed=1)
    module, kernel = array_module(backend), load_kernel("genotype_product", backend)
    arrays = [module.asarray(array) for array in (packed, values, right, left)]
    product = kernel.multiply(arrays[0], 50, *arrays[1:3])
    assert isinstance(product, module.ndarray)
    transposed = kernel.multiply_transposed(arrays[0], 50, arrays[1], arrays[3])
    matrix = dense(packed, 50, values)
    np.testing.assert_allclose(product.tolist(), matrix @ right, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(transposed.tolist(), matrix.T @ left, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_samples", [0, 1, 3, 4, 32, 63, 64, 101, 1030])
def test_codes_are_counted(backend, n_samples):
    packed, *_ = make_case(n_samples, 13, 1, seed=n_samples)
    counts = load_kernel("genotype_product", backend).count_codes(packed, n_samples)
    codes = codes_of(packed, n_samples)
    assert counts.dtype == np.int64
    assert counts.tolist() == [[(column == c).sum() for c in range(4)] for column in codes.T]


def test_a_file_mapped_for_reading_is_multiplied(backend, tmp_path):
    packed, values, right, _ = make_case(41, 17, 2, seed=3)
    path = tmp_path / "packed"
    packed.tofile(path)
    mapped = np.memmap(path, np.uint8, mode="r", shape=packed.shape)
    product = load_kernel("genotype_product", backend).multiply(mapped, 41, values, right)
    np.testing.assert_allclose(product, dense(packed, 41, values) @ right, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("shape", [(70, 300), (1500, 900)])
def test_sums_of_integers_are_exact(backend, shape):
    n_samples, n_variants = shape
    packed, *_ = make_case(n_samples, n_variants, 1, seed=6)
    values = np.tile([2.0, 1, 1, 0], (n_variants, 1))
    rng = np.random.default_rng(7)
    right, left = (rng.integers(-(2**30), 2**30, (n, 12)) for n in (n_variants, n_samples))
    matrix = dense(packed, n_samples, values).astype(np.int64)
    kernel = load_kernel("genotype_product", backend)
    product = kernel.multiply(packed, n_samples, values, right.astype(np.float64))
    assert (product == matrix @ right).all()
    product = kernel.multiply_transposed(packed, n_samples, values, left.astype(np.float64))
    assert (product == matrix.T @ left).all()


@pytest.mark.parametrize("power", [-1070, -900, 0, 900, 1000])
def test_columns_of_any_size_are_multiplied(backend, power):
    packed, values, right, left = make_case(60, 70, 3, seed=8)
    scale, matrix = np.ldexp(1.0, power), dense(packed, 60, values)
    rounding = 70 * np.finfo(np.float64).smallest_subnormal / scale
    kernel = load_kernel("genotype_product", backend)
    for multiply, wide, other in (
        (kernel.multiply, matrix, right),
        (kernel.multiply_transposed, matrix.T, left),
    ):
        product = multiply(packed, 60, values, other * np.array([1.0, scale, 0.0]))
        expected = wide @ other
        np.testing.assert_allclose(product[:, 0], expected[:, 0], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            product[:, 1] / scale, expected[:, 1], rtol=1e-10, atol=1e-12 + rounding
        )
        assert not product[:, 2].any()


NOT_FINITE = {"nan": [np.nan], "inf": [np.inf], "-inf": [-np.inf], "both": [np.inf, -np.inf]}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("coding", ["any", "dosages"])
@pytest.mark.parametrize("numbers", NOT_FINITE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_not_finite_comes_out_as_of_numpy(backend, numbers, coding, dtype):
    packed, values, right, left = make_case(40, 50, 3, seed=9, dtype=dtype)
    if coding == "dosages":
        values[:] = DOSAGES
    for k, number in enumerate(NOT_FINITE[numbers]):
        right[7 + 5 * k, 1] = left[11 + 3 * k, 1] = number
    kernel, matrix = load_kernel("genotype_product", backend), dense(packed, 40, values)
    for product, expected in (
        (kernel.multiply(packed, 40, values, right), matrix @ right),
        (kernel.multiply_transposed(packed, 40, values, left), matrix.T @ left),
    ):
        for wrong in (np.isnan, np.isposinf, np.isneginf):
            assert (wrong(product[:, 1]) == wrong(expected[:, 1])).all()
        assert np.isfinite(product[:, [0, 2]]).all()


DOSAGES = 2.0, 0.0, 1.0, 0.0
WIDE = {
    "one large number": lambda x: np.put(x, 3, 1e15),
    "many sizes": lambda x: np.multiply(x, 10.0 ** np.linspace(-9, 9, len(x)), out=x),
    "a tenth is small": lambda x: np.multiply(x, np.where(np.arange(len(x)) % 10, 1e6, 1), out=x),
}


def check_columns(multiply, multiply_transposed, seed=13):
    """See that each product is within 1e-12 of the magnitudes of its own terms."""
    packed, values, right, left = make_case(300, 400, 4, seed)
    values[:] = DOSAGES
    for column, make_wide in enumerate(WIDE.values()):
        for array in (right, left):
            make_wide(array[:, column])
    matrix = dense(packed, 300, values).astype(np.longdouble)
    for product, wide, array in (
        (multiply(packed, 300, values, right), matrix, right),
        (multiply_transposed(packed, 300, values, left), matrix.T, left),
    ):
        error = np.abs(product - wide @ array.astype(np.longdouble))
        assert (error <= 1e-12 * (np.abs(wide) @ np.abs(array))).all(0).tolist() == [True] * 4


def test_entries_that_count_nothing_add_no_error(backend):
    kernel = load_kernel("genotype_product", backend)
    check_columns(kernel.multiply, kernel.multiply_transposed)


def emulate_integers(packed, n_samples, values, right):
    """Return Z @ right as sums of integers make it: numbers rounded alike within a column."""
    offsets, (slopes, *rests) = cpu_integers.split_values(values)
    codes = codes_of(packed, n_samples)
    counts = np.array([0, 1, 1, 2])[codes]
    out = np.tile(offsets @ right, (n_samples, 1))
    for weights, matrix in zip((slopes, *rests), (counts, codes == 1, codes == 2), strict=True):
        rows = weights[:, None] * right
        quantum = np.ldexp(1.0, np.frexp(np.abs(rows).max(0))[1] - 54)
        out += matrix @ (np.rint(rows / quantum) * quantum)
    return out


def emulate_integers_transposed(packed, n_samples, values, left):
    codes = codes_of(packed, n_samples)
    quantum = np.ldexp(1.0, np.frexp(np.abs(left).max(0))[1] - 54)
    rows = np.rint(left / quantum) * quantum
    out = values[:, :1] * left.sum(0)
    for code in (1, 2, 3):
        out += (values[:, code] - values[:, 0])[:, None] * ((codes == code).T @ rows)
    return out


def test_tables_make_products_where_the_matrix_unit_may_not(monkeypatch):
    """Products of integers are not those of numbers here, so that one sees who made them."""
    genotypes = simulate_genotypes(70, 40, missing_rate=0.1, seed=3)
    rng = np.random.default_rng(4)
    right, left = rng.normal(size=(40, 3)), rng.normal(size=(70, 3))
    monkeypatch.setattr(cpu, "has_amx", lambda: True)
    for name, n_rows in (("multiply", 70), ("multiply_transposed", 40)):
        result = np.full((n_rows, 3), -1.0)
        monkeypatch.setattr(cpu_integers, name, lambda *_, result=result: result)
    with_unit, without = (
        GenotypeMatrix(genotypes, matrix_unit=flag, backend="cpu") for flag in (True, False)
    )
    assert (with_unit @ right == -1.0).all()
    assert (with_unit.T @ left == -1.0).all()
    matrix = dense(genotypes.packed, 70, without.values)
    np.testing.assert_allclose(without @ right, matrix @ right, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(without.T @ left, matrix.T @ left, rtol=1e-11, atol=1e-12)


def test_wide_columns_never_become_integers(monkeypatch):
    monkeypatch.setattr(cpu, "has_amx", lambda: True)
    monkeypatch.setattr(cpu_integers, "multiply", emulate_integers)
    monkeypatch.setattr(cpu_integers, "multiply_transposed", emulate_integers_transposed)
    check_columns(cpu.multiply, cpu.multiply_transposed)
    with pytest.raises(AssertionError):
        check_columns(emulate_integers, emulate_integers_transposed)


@pytest.mark.parametrize("module", ["numpy", pytest.param("cupy", marks=pytest.mark.gpu)])
def test_columns_are_wide_where_many_numbers_are_small(module):
    module = pytest.importorskip(module)
    if module is not np and not cuda_is_available():
        pytest.skip("no NVIDIA GPU can be used here")
    rng = np.random.default_rng(14)
    columns = {
        "normal": (rng.normal(size=5000), False),
        "heavy tails": (rng.standard_t(3, 5000), False),
        "zeros": (np.zeros(5000), False),
        "one number": (np.eye(5000)[0], False),
        "subnormal": (np.ldexp(rng.normal(size=5000), -1060), False),
        "few are small": (np.where(np.arange(5000) % 20, 1.0, 1e-7), False),
        "many are small": (np.where(np.arange(5000) % 15, 1.0, 1e-7), True),
        "one large": (np.where(np.arange(5000), rng.normal(size=5000), 1e15), True),
        "NaN": (np.where(np.arange(5000) == 7, np.nan, 1.0), True),
        "infinity": (np.where(np.arange(5000) == 7, -np.inf, 1.0), True),
    }
    array = module.asarray(np.column_stack([column for column, _ in columns.values()]))
    found = find_wide_columns(array).tolist()
    if module is np:
        assert cpu._find_wide(array, np.ones(5000)).tolist() == found
    assert dict(zip(columns, found, strict=True)) == {name: v for name, (_, v) in columns.items()}
    weights = module.asarray(np.where(np.arange(5000), 1.0, 1e9))
    assert find_wide_columns(array[:, :1], weights).tolist() == [True]
    if module is np:
        assert cpu._find_wide(array[:, :1], weights).tolist() == [True]


def test_ordinary_columns_stay_with_the_fast_way(monkeypatch):
    def refuse(*_arguments):
        raise AssertionError("a column of normal numbers was taken for a wide one")

    monkeypatch.setattr(cpu, "_multiply_wide", refuse)
    monkeypatch.setattr(cpu, "_multiply_wide_transposed", refuse)
    packed, values, right, left = make_case(900, 700, 10, seed=15)
    cpu.multiply(packed, 900, values, right)
    cpu.multiply_transposed(packed, 900, values, left)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [1, 3])
def test_products_genotype_by_genotype_are_those_of_the_dense_matrix(shape, k):
    packed, values, right, left = make_case(*shape, k, seed=16)
    matrix = inflate(packed, shape[0], values)
    found = cpu._multiply_wide(packed, shape[0], values, right)
    np.testing.assert_allclose(found, matrix @ right, rtol=1e-11, atol=1e-12)
    found = cpu._multiply_wide_transposed(packed, shape[0], values, left)
    np.testing.assert_allclose(found, matrix.T @ left, rtol=1e-11, atol=1e-12)


@pytest.mark.amx
def test_sums_that_might_not_fit_are_taken_in_between(monkeypatch):
    needs_amx()
    monkeypatch.setattr(cpu, "has_amx", lambda: True)
    monkeypatch.setattr(cpu_integers.IntegerProduct, "max_steps", 1)
    check_products("cpu", 1100, 1300, 4, seed=10)


@pytest.mark.parametrize("n_missing", [0, 1, 400])
def test_few_missing_genotypes_count_as_they_should(backend, n_missing):
    n_samples, n_variants = 900, 700
    packed, values, right, left = make_case(n_samples, n_variants, 2, seed=11)
    packed &= ~(packed & ~(packed >> 1) & 0x55)
    rng = np.random.default_rng(12)
    for _ in range(n_missing):
        packed[rng.integers(n_variants), rng.integers(packed.shape[1])] = 0b01111101
    values[:, 2] = (values[:, 0] + values[:, 3]) / 2
    matrix, kernel = dense(packed, n_samples, values), load_kernel("genotype_product", backend)
    product = kernel.multiply(packed, n_samples, values, right)
    np.testing.assert_allclose(product, matrix @ right, rtol=1e-10, atol=1e-10)
    product = kernel.multiply_transposed(packed, n_samples, values, left)
    np.testing.assert_allclose(product, matrix.T @ left, rtol=1e-10, atol=1e-10)
