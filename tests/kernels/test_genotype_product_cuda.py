"""What only the GPU's way of multiplying genotypes has: digits, splits, gates and blocks."""

import numpy as np
import pytest

from genoviz.backend import cuda_is_available, load_kernel

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not cuda_is_available(), reason="no NVIDIA GPU can be used here"),
]


def make_packed(n_samples, n_variants, seed, missing=0):
    """Return random genotypes; only so many variants have missing ones."""
    packed = np.random.default_rng(seed).integers(
        0, 256, (n_variants, (n_samples + 3) // 4), np.uint8
    )
    called = packed[missing:]
    called |= (called & ~(called >> 1) & 0x55) << 1
    return packed


def make_values(kind, n_variants, seed):
    rng = np.random.default_rng(seed)
    if kind == "any":
        return rng.normal(size=(n_variants, 4))
    means = rng.uniform(0, 2, (n_variants, 1))
    missing = {"mean": means, "heterozygous": 1.0}[kind]
    values = np.tile(np.array([2.0, 0.0, 1.0, 0.0]), (n_variants, 1))
    values[:, 1:2] = missing
    return (values - means) * rng.uniform(0.5, 2, (n_variants, 1))


def check(packed, n_samples, values, k, seed=0, dtype=np.float64, tolerance=1e-13):
    """Compare both products with the CPU's, relative to the sums of magnitudes."""
    rng = np.random.default_rng(seed)
    cpu, cuda = (load_kernel("genotype_product", backend) for backend in ("cpu", "cuda"))
    for name, n_rows in (("multiply", len(packed)), ("multiply_transposed", n_samples)):
        dense = rng.normal(size=(n_rows, k)).astype(dtype)
        expected = getattr(cpu, name)(packed, n_samples, values, dense.astype(np.float64))
        scale = getattr(cpu, name)(packed, n_samples, abs(values), abs(dense).astype(np.float64))
        product = getattr(cuda, name)(packed, n_samples, values, dense)
        assert product.dtype == dtype
        assert (abs(product - expected) <= tolerance * scale.max()).all(), name


@pytest.mark.parametrize("missing", [0, 1, 900])
@pytest.mark.parametrize("kind", ["mean", "heterozygous", "any"])
@pytest.mark.parametrize("n_samples", [1301, 2050, 4096])
def test_components_that_values_need_are_added(n_samples, kind, missing):
    packed = make_packed(n_samples, 900, n_samples, missing)
    check(packed, n_samples, make_values(kind, 900, 1), 10)


@pytest.mark.parametrize("k", [1, 2, 4, 5, 8, 9, 11, 20, 64])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_columns_go_in_groups(k, dtype):
    packed = make_packed(601, 530, k, 40)
    tolerance = 1e-13 if dtype == np.float64 else 1e-6
    check(packed, 601, make_values("mean", 530, 2), k, dtype=dtype, tolerance=tolerance)


@pytest.mark.parametrize("shape", [(400_003, 37), (37, 140_001)])
def test_long_sums_are_split(shape):
    n_samples, n_variants = shape
    packed = make_packed(n_samples, n_variants, 3, n_variants // 3)
    check(packed, n_samples, make_values("mean", n_variants, 3), 3)


def test_the_largest_digits_do_not_overflow(monkeypatch):
    from genoviz.kernels.genotype_product import cuda_integers

    monkeypatch.setattr(cuda_integers, "MAX_SPLITS", 1)
    n_samples, n_variants = 9, 511 * 256
    packed = np.full((n_variants, 3), 0xFF, np.uint8)
    values = np.tile(np.array([0.0, 0.5, 1.0, 2.0]), (n_variants, 1))
    right = np.full((n_variants, 1), float(0x3F7F7F7F7F7F7E << 2))
    product = load_kernel("genotype_product", "cuda").multiply(packed, n_samples, values, right)
    np.testing.assert_allclose(product, n_variants * 2.0 * right[0, 0], rtol=1e-14)


OTHER_CARDS = {
    "little memory": {"MaxSharedMemoryPerBlockOptin": 101_376},
    "no groups of warps": {"ComputeCapability": "80"},
    "neither": {"MaxSharedMemoryPerBlockOptin": 101_376, "ComputeCapability": "80"},
}


@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize("card", OTHER_CARDS)
def test_other_cards_find_the_same(monkeypatch, card, k):
    from genoviz.kernels.genotype_product import cuda_cards, cuda_digits, cuda_integers

    found = cuda_cards.card_attribute
    for module in (cuda_cards, cuda_digits, cuda_integers):
        monkeypatch.setattr(
            module,
            "card_attribute",
            lambda name: OTHER_CARDS[card].get(name, found(name)),
        )
    packed = make_packed(1601, 530, 4, 40)
    check(packed, 1601, make_values("any", 530, 2), k)


@pytest.mark.parametrize("block_bytes", [None, 1, 4_000])
@pytest.mark.parametrize("shape", [(1003, 401), (5, 3000), (300_001, 3)])
def test_wide_columns_are_those_of_the_cpu(shape, block_bytes):
    n_samples, n_variants = shape
    packed = make_packed(n_samples, n_variants, 8, n_variants // 2)
    values = make_values("any", n_variants, 8)
    rng = np.random.default_rng(8)
    cpu, cuda = (load_kernel("genotype_product", backend) for backend in ("cpu", "cuda"))
    for name, n_rows in (("multiply", n_variants), ("multiply_transposed", n_samples)):
        dense = rng.normal(size=(n_rows, 5))
        dense[0, 1], dense[n_rows // 2, 3] = 1e15, 1e12
        expected = getattr(cpu, name)(packed, n_samples, values, dense)
        product = getattr(cuda, name)(packed, n_samples, values, dense, block_bytes=block_bytes)
        np.testing.assert_allclose(product, expected, rtol=1e-9, atol=1e-11 * n_rows**0.5)


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e300])
def test_numbers_of_any_size_are_multiplied(scale):
    packed = make_packed(50, 70, 1)
    values = make_values("mean", 70, 1)
    right = scale * np.random.default_rng(1).normal(size=(70, 3))
    products = [
        load_kernel("genotype_product", backend).multiply(packed, 50, values, right)
        for backend in ("cpu", "cuda")
    ]
    np.testing.assert_allclose(*products, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.parametrize("block_bytes", [1, 5_000, 40_000])
def test_blocks_from_the_host_give_what_resident_genotypes_give(block_bytes):
    import cupy

    n_samples, n_variants = 1003, 401
    packed = make_packed(n_samples, n_variants, 5, 100)
    values = make_values("any", n_variants, 5)
    rng = np.random.default_rng(5)
    kernel = load_kernel("genotype_product", "cuda")
    for multiply, n_rows in (
        (kernel.multiply, n_variants),
        (kernel.multiply_transposed, n_samples),
    ):
        dense = rng.normal(size=(n_rows, 10))
        product = multiply(packed, n_samples, values, dense, block_bytes=block_bytes)
        resident = multiply(cupy.asarray(packed), n_samples, values, dense)
        np.testing.assert_allclose(product, resident, rtol=0, atol=1e-12 * abs(resident).max())
    counts = kernel.count_codes(packed, n_samples, block_bytes=block_bytes)
    resident = kernel.count_codes(cupy.asarray(packed), n_samples)
    assert isinstance(resident, cupy.ndarray)
    np.testing.assert_array_equal(counts, resident.get())


def test_products_are_the_same_each_time():
    import cupy

    packed = cupy.asarray(make_packed(5003, 2000, 6, 100))
    values = cupy.asarray(make_values("mean", 2000, 6))
    left = cupy.asarray(np.random.default_rng(6).normal(size=(5003, 10)))
    kernel = load_kernel("genotype_product", "cuda")
    first, *others = (kernel.multiply_transposed(packed, 5003, values, left) for _ in range(3))
    assert all((other == first).all() for other in others)
