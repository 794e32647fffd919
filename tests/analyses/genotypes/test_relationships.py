"""Relationship matrices and filters, against PLINK and dense formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from genoviz import (
    FilterOptions,
    ParameterError,
    RelationshipMatrix,
    SampleTable,
    filter_genotypes,
    iter_relationship_matrix,
    relationship_matrix,
    relatives,
)
from genoviz.analyses.genotypes import crossproducts, relationships
from genoviz.io.genotypes.relationship_files import write_relationships
from genoviz.io.genotypes.writers import write_plink
from tests.analyses.genotypes.test_statistics import genotypes_of
from tests.oracles.genotypes import dosages_of
from tests.plink import Plink, plink_files, read_real, write_table


def dense_relationships(dosages, method):
    """Return the matrix by its formula, sample by sample."""
    p = np.nanmean(dosages, 0) / 2
    is_varied = (p > 0) & (p < 1)
    x, p = dosages[:, is_varied], p[is_varied]
    z, called = x - 2 * p, ~np.isnan(x)
    if method == "vanraden":
        z = np.where(called, z, 0)
        return z @ z.T / (2 * p * (1 - p)).sum()
    z = np.where(called, z / np.sqrt(2 * p * (1 - p)), 0)
    return z @ z.T / (called.astype(int) @ called.T.astype(int))


@pytest.mark.parametrize("of_panels", [False, True])
@pytest.mark.parametrize("method", ["vanraden", "gcta"])
def test_matrix_is_its_formula(method, of_panels, backend, monkeypatch):
    if of_panels and backend == "cuda":
        pytest.skip("panels are of the CPU")
    monkeypatch.setattr(crossproducts, "_panels_are_faster", lambda *_: of_panels)
    monkeypatch.setattr(crossproducts, "PANEL_SAMPLES", 16)
    monkeypatch.setattr(crossproducts, "STRIP_PANELS", 3)
    monkeypatch.setattr(crossproducts, "PANEL_VARIANTS", 29)
    monkeypatch.setattr(crossproducts, "BLOCK_VARIANTS", 16)
    monkeypatch.setattr(crossproducts, "STEP_PRODUCTS", {"numpy": 1, "cupy": 1})
    codes = np.random.default_rng(1).choice(4, (131, 45), p=[0.3, 0.1, 0.3, 0.3])
    codes[:, 7] = 3
    genotypes = genotypes_of(codes)
    steps = list(iter_relationship_matrix(genotypes, method=method, backend=backend))
    fractions = [step.fraction for step in steps]
    assert fractions == sorted(fractions)
    assert len(steps) > 6
    matrix = steps[-1].result
    expected = dense_relationships(dosages_of(genotypes.packed, 131), method)
    np.testing.assert_allclose(matrix.values, expected, rtol=1e-10, atol=1e-12)
    assert (matrix.values == matrix.values.T).all()
    assert matrix.n_variants == 44
    called = dosages_of(genotypes.packed, 131)[:, np.arange(45) != 7] >= 0
    shared = called.astype(int) @ called.T
    assert (matrix.pair_variants == (shared if method == "gcta" else 44)).all()
    rough = relationship_matrix(genotypes, method=method, dtype=np.float32, backend=backend)
    np.testing.assert_allclose(rough.values, expected, atol=1e-5)


def test_matrix_of_some_samples():
    genotypes = genotypes_of(np.random.default_rng(2).choice([0, 2, 3], (20, 30)))
    chosen = np.array([7, 3, 11, 0])
    matrix = relationship_matrix(genotypes, samples=chosen)
    expected = dense_relationships(dosages_of(genotypes.packed, 20)[chosen], "vanraden")
    np.testing.assert_allclose(matrix.values, expected, atol=1e-12)
    assert matrix.samples.ids.tolist() == ["s7", "s3", "s11", "s0"]


@pytest.mark.parametrize("name", ["gcta_test", "maize_mdp"])
def test_matrix_is_plinks_also_where_genotypes_are_missing(name, tmp_path):
    files, plink = plink_files(name), Plink("plink2", tmp_path)
    genotypes = read_real(files)
    chosen = np.arange(0, genotypes.n_samples, 1 + genotypes.n_samples // 500)
    kept = genotypes.samples.take(chosen)
    who = write_table(tmp_path / "keep.txt", (kept.family_ids, kept.ids), {})
    plink(files, "--keep", str(who), "--make-rel", "bin", "square", "--mac", "1")
    matrix = relationship_matrix(genotypes, method="gcta", samples=chosen)
    expected = np.fromfile(tmp_path / "out.rel.bin").reshape(matrix.values.shape)
    np.testing.assert_allclose(matrix.values, expected, rtol=1e-9, atol=1e-9)


HOLED = """
0 1 3 2 2 0 3 1 3 2
1 1 2 3 0 2 2 3 1 0
3 2 1 1 1 3 0 2 1 3
2 0 0 3 1 1 1 1 2 2
3 3 2 0 2 1 3 0 0 1
"""
"""2-bit codes of five samples at ten variants."""
HOLED_COUNTS = 8, 6, 7, 4, 4, 6, 5, 3, 3, 6, 6, 5, 4, 5, 8
HOLED_VALUES = (
    1.3645834, -0.21666667, 0.90476191, -1.5, -0.33333334, 1.4222223, -0.34666666, 0.4,
    -0.13333334, 0.8888889, -0.31388888, -0.98, -0.2, -0.88, 1.4979167,
)  # fmt: skip
"""Lower triangles of plink1.9 v1.90b6.26 --make-grm-bin --mac 1."""


def test_counts_of_pairs_are_written_as_plinks(tmp_path):
    codes = np.array([line.split() for line in HOLED.split("\n")[1:-1]], int)
    genotypes = genotypes_of(codes)
    matrix = relationship_matrix(genotypes, method="gcta")
    own = tmp_path / "own.grm.bin"
    write_relationships(matrix.values, matrix.samples, matrix.pair_variants, own)
    counts = np.fromfile(tmp_path / "own.grm.N.bin", "<f4")
    assert counts.tolist() == list(HOLED_COUNTS)
    np.testing.assert_allclose(np.fromfile(own, "<f4"), HOLED_VALUES, rtol=1e-6)
    plink = Plink("plink1.9", tmp_path)
    write_plink(genotypes, tmp_path / "in")
    plink(tmp_path / "in", "--make-grm-bin", "--mac", "1")
    for ending in ("grm.bin", "grm.N.bin"):
        written, expected = (tmp_path / f"{name}.{ending}" for name in ("own", "out"))
        assert written.read_bytes() == expected.read_bytes()


@pytest.mark.parametrize("name", ["gcta_test", "maize_mdp"])
def test_counts_of_real_pairs_are_plinks(name, tmp_path):
    files, plink = plink_files(name), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    chosen = np.arange(0, genotypes.n_samples, 1 + genotypes.n_samples // 200)
    kept = genotypes.samples.take(chosen)
    who = write_table(tmp_path / "keep.txt", (kept.family_ids, kept.ids), {})
    plink(files, "--keep", str(who), "--make-grm-bin", "--mac", "1")
    matrix = relationship_matrix(genotypes, method="gcta", samples=chosen)
    lower = np.tril_indices(len(chosen))
    counts = np.fromfile(tmp_path / "out.grm.N.bin", "<f4")
    assert np.array_equal(matrix.pair_variants[lower], counts)
    values = np.fromfile(tmp_path / "out.grm.bin", "<f4")
    np.testing.assert_allclose(matrix.values[lower], values, rtol=1e-5, atol=1e-6)


def test_clusters_lie_together():
    rng = np.random.default_rng(3)
    group = rng.permutation(np.repeat([0, 1, 2], 15))
    frequencies = rng.uniform(0.05, 0.95, (3, 200))
    dosages = rng.binomial(2, frequencies[group])
    matrix = relationship_matrix(genotypes_of(np.array([3, 2, 0])[dosages]))
    order = matrix.order_by_clusters()
    assert sorted(order.tolist()) == list(range(45))
    assert np.count_nonzero(np.diff(group[order])) == 2
    assert relationship_matrix(genotypes_of([[0], [3]])).order_by_clusters().tolist() == [0, 1]


def order_of_scipy(values):
    scales = 1 / np.sqrt(np.diag(values))
    distances = np.maximum(1 - values * scales * scales[:, None], 0)
    np.fill_diagonal(distances, 0)
    return leaves_list(linkage(squareform(distances, checks=False), "average"))


@pytest.mark.parametrize("n_samples", [3, 4, 7, 60, 300])
def test_the_order_of_clusters_is_scipys(n_samples):
    for seed in range(20):
        z = np.random.default_rng(seed).normal(size=(n_samples, 40))
        matrix = RelationshipMatrix(z @ z.T / 40, SampleTable.from_ids(range(n_samples)), "", 40)
        assert np.array_equal(matrix.order_by_clusters(), order_of_scipy(matrix.values))


def test_the_order_of_clusters_of_real_samples_is_scipys():
    matrix = relationship_matrix(read_real(plink_files("maize_mdp")))
    assert np.array_equal(matrix.order_by_clusters(), order_of_scipy(matrix.values))


def test_clusters_are_found_while_other_threads_run():
    assert relationships._join_nearest.targetoptions["nogil"]
    again = np.ones((4, 4))  # all alike, twice
    matrix = RelationshipMatrix(again, SampleTable.from_ids(range(4)), "", 1)
    assert sorted(matrix.order_by_clusters().tolist()) == [0, 1, 2, 3]


def test_relatives_are_all_pairs_above():
    rng = np.random.default_rng(4)
    half = rng.normal(size=(300, 300))
    matrix = RelationshipMatrix(half + half.T, SampleTable.from_ids(range(300)), "gcta", 1)
    pairs = relatives(matrix, at_least=2.0)
    expected = {(i, j) for i in range(300) for j in range(i + 1, 300) if matrix.values[i, j] >= 2}
    assert set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)) == expected
    assert len(pairs) == len(expected)
    assert (np.diff(pairs.relationship) <= 0).all()
    assert (matrix.values[pairs.first, pairs.second] == pairs.relationship).all()
    assert len(relatives(matrix, at_least=99)) == 0


def test_what_has_no_relationships_says_so(monkeypatch):
    with pytest.raises(ParameterError, match="none of 2 variants varies among 3 samples"):
        relationship_matrix(genotypes_of([[0, 3], [0, 1], [0, 3]]))
    with pytest.raises(ParameterError, match="method is 'ibs', needs one of vanraden, gcta"):
        relationship_matrix(genotypes_of([[0], [3]]), method="ibs")
    with pytest.raises(ParameterError, match="10,000,000 samples takes 800,000 GB"):
        crossproducts._check_memory(10_000_000)


def test_filters_are_plinks(tmp_path):
    files, plink = plink_files("gcta_test"), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    thresholds = ("--mind", "0.02", "--geno", "0.01", "--maf", "0.05", "--hwe", "0.001")
    plink(files, *thresholds, "--make-just-bim", "--make-just-fam")
    options = FilterOptions(0.05, 0.01, 0.02, 0.001)
    kept = filter_genotypes(genotypes, options)
    fam = (tmp_path / "out.fam").read_text().splitlines()
    assert kept.genotypes.samples.ids.tolist() == [line.split()[1] for line in fam]
    bim = (tmp_path / "out.bim").read_text().splitlines()
    assert kept.genotypes.variants.ids.tolist() == [line.split()[1] for line in bim]
    again = genotypes.dosages(kept.variant_indices)[kept.sample_indices]
    assert (kept.genotypes.dosages(slice(None)) == again).all()


def test_filters_say_what_they_did():
    codes = np.random.default_rng(5).choice([0, 2, 3], (40, 6))
    codes[:, 1], codes[:10, 2], codes[3, 1:] = 3, 1, 1
    genotypes = genotypes_of(codes)
    everything = filter_genotypes(genotypes)
    assert everything.genotypes is genotypes
    assert everything.sentence == "40 of 40 samples and 6 of 6 variants are kept."
    kept = filter_genotypes(
        genotypes, FilterOptions(0.1, 0.2, 0.5), samples=np.arange(1, 40), variants=np.arange(5)
    )
    assert kept.sentence == (
        "38 of 40 samples and 3 of 6 variants are kept; 1 sample has over 0.5 missing; "
        "1 variant has over 0.2 missing; 1 variant has a MAF below 0.1."
    )
    assert kept.variant_indices.tolist() == [0, 3, 4]
    assert 3 not in kept.sample_indices
    with pytest.raises(ParameterError, match=r"nothing is left to analyse: 40 of 40 samples and 0"):
        filter_genotypes(genotypes_of(np.full((40, 6), 3)), FilterOptions(0.1))
    with pytest.raises(ParameterError, match=r"min_maf is 0\.7, needs to be 0 to 0.5"):
        FilterOptions(min_maf=0.7)
    with pytest.raises(ParameterError, match="samples are named that are not among the 40"):
        filter_genotypes(genotypes, samples=[40])
