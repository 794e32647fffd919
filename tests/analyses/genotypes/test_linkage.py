"""Squared correlations and pruning, against PLINK 1.9 and correlations of dense columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import genoviz.analyses.genotypes.linkage as linkage_module
from genoviz import (
    Genotypes,
    ParameterError,
    iter_linkage_windows,
    iter_prune_by_linkage,
    linkage,
    linked_pairs,
    prune_by_linkage,
    variant_statistics,
)
from genoviz.analyses.genotypes.linkage import MEASURES
from tests.analyses.genotypes.test_statistics import genotypes_of
from tests.oracles.genotypes import dosages_of
from tests.plink import Plink, plink_files, read_real


def linked_codes(n_samples, n_variants, missing=0.1, seed=1):
    """Return codes of variants that resemble those before them."""
    rng = np.random.default_rng(seed)
    codes = rng.choice([0, 2, 3], (n_samples, n_variants))
    for j in range(1, n_variants):
        is_copied = rng.random(n_samples) < 0.8
        codes[is_copied, j] = codes[is_copied, j - 1]
    codes[rng.random(codes.shape) < missing] = 1
    return codes


def correlations(dosages):
    """Return r^2 of all pairs, over complete samples."""
    m = dosages.shape[1]
    found = np.full((m, m), np.nan)
    for i in range(m):
        for j in range(m):
            both = np.isfinite(dosages[:, i]) & np.isfinite(dosages[:, j])
            x, y = dosages[both, i], dosages[both, j]
            if len(x) and np.ptp(x) and np.ptp(y):
                found[i, j] = np.corrcoef(x, y)[0, 1] ** 2
    return found


def prune_by_hand(r2, frequencies, window, step, max_r2):
    """Return the kept variants of a contig as PLINK 1.9 finds them."""
    m = len(r2)
    kept, looked = frequencies > 0, {i: i for i in range(m)}
    for start in range(0, m, step):
        inside = range(start, min(start + window, m))
        is_changed = True
        while is_changed:
            is_changed = False
            for i in inside:
                later = [j for j in inside if j > looked[i] and kept[j]] if kept[i] else []
                for j in later:
                    looked[i] = j
                    if r2[i, j] > max_r2:
                        kept[i if frequencies[i] < frequencies[j] * (1 - 1e-11) else j] = False
                        is_changed = True
                        break
    return kept


@pytest.mark.parametrize("n_samples", [1, 63, 64, 65, 131])
def test_linkage_is_the_squared_correlation(n_samples):
    codes = linked_codes(n_samples, 20)
    codes[:, 3], codes[:, 4] = 1, 3
    genotypes = genotypes_of(codes)
    genotypes.packed[:, -1] |= 0xFF << 2 * ((n_samples - 1) % 4 + 1) & 0xFF
    expected = correlations(dosages_of(genotypes.packed, n_samples))
    np.testing.assert_allclose(linkage(genotypes, slice(0, 20)), expected, rtol=1e-12)
    chosen = np.array([7, 2, 19])
    np.testing.assert_allclose(
        linkage(genotypes, chosen), expected[np.ix_(chosen, chosen)], rtol=1e-12
    )
    with pytest.raises(ParameterError, match="not among the 20 there are"):
        linkage(genotypes, [20])


def in_contigs(genotypes, contig_ids):
    variants = genotypes.variants
    table = type(variants)(
        ("1", "2"),
        np.asarray(contig_ids, np.int32),
        *(getattr(variants, name) for name in list(variants.__dataclass_fields__)[2:]),
    )
    return Genotypes(genotypes.packed, genotypes.samples, table)


def test_windows_are_bands_of_the_matrix(monkeypatch):
    monkeypatch.setattr(linkage_module, "_PAIRS", 30)
    contigs = np.repeat([0, 1], [13, 16])
    genotypes = in_contigs(genotypes_of(linked_codes(50, 29)), contigs)
    whole = linkage(genotypes, slice(0, 29))
    for block, band in iter_linkage_windows(genotypes, window=8):
        for i, row in zip(range(29)[block], band, strict=True):
            for step, r2 in enumerate(row, start=1):
                is_there = i + step < 29 and contigs[i] == contigs[min(i + step, 28)]
                expected = whole[i, i + step] if is_there else np.nan
                assert r2 == expected or np.isnan([r2, expected]).all()


@pytest.mark.parametrize(("window", "step", "max_r2"), [(10, 3, 0.3), (5, 5, 0.1), (7, 9, 0.5)])
def test_pruning_is_what_it_says(window, step, max_r2, monkeypatch):
    monkeypatch.setattr(linkage_module, "_STEP_WORDS", 2 * window * step)
    codes = linked_codes(80, 90)
    codes[:, 20] = 3
    codes[:, 30] = np.where(np.arange(80) % 9, 2, 1)
    genotypes = in_contigs(genotypes_of(codes), np.repeat([0, 1], [48, 42]))
    kept = prune_by_linkage(genotypes, window=window, step=step, max_r2=max_r2)
    frequencies = variant_statistics(genotypes).minor_allele_frequency
    frequencies[30] = 0  # All are heterozygous: the dosage does not vary, as of 20.
    r2 = linkage(genotypes, slice(0, 90))
    for part in (slice(0, 48), slice(48, 90)):
        expected = prune_by_hand(r2[part, part], frequencies[part], window, step, max_r2)
        assert kept[part].tolist() == expected.tolist()
        for start in range(part.start, part.stop, step):
            left = [j for j in range(start, min(start + window, part.stop)) if kept[j]]
            assert not (np.triu(r2[np.ix_(left, left)], 1) > max_r2).any()
    assert not kept[[20, 30]].any()


def test_pruning_does_not_depend_on_the_order_of_the_file():
    genotypes = in_contigs(genotypes_of(linked_codes(80, 60)), np.repeat([0, 1], 30))
    kept = prune_by_linkage(genotypes, window=10, step=3, max_r2=0.3)
    order = np.random.default_rng(2).permutation(60)
    shuffled = genotypes.take_variants(order)
    found = prune_by_linkage(shuffled, window=10, step=3, max_r2=0.3)
    assert found.tolist() == kept[order].tolist()
    with pytest.raises(ParameterError, match="windows need variants in order of position"):
        next(iter_linkage_windows(shuffled))


@pytest.mark.parametrize("name", ["maize_mdp", "1kg_chr21_start", "gcta_test"])
def test_pruning_keeps_what_plink_keeps(name, tmp_path):
    files, plink = plink_files(name), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    plink(files, "--indep-pairwise", "50", "5", "0.2")
    steps = list(iter_prune_by_linkage(genotypes, window=50, step=5, max_r2=0.2))
    kept = genotypes.variants.ids[steps[-1].result]
    assert kept.tolist() == plink.lines("prune.in")
    assert all(0 <= step.fraction <= 1 for step in steps)


def test_linkage_is_plinks_where_genotypes_are_missing(tmp_path):
    files, plink = plink_files("gcta_test"), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    plink(files, "--r2", "square", "--from-bp", "0", "--to-bp", "10000000", "--chr", "1")
    inside = genotypes.variants.in_region("1", 0, 10_000_000)
    expected = plink.matrix("ld")
    np.testing.assert_allclose(linkage(genotypes, inside), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("measure", ["dosage", "haplotype"])
@pytest.mark.parametrize(("distance", "window"), [(40, None), (25, 6), (1000, 3), (0, None)])
def test_pairs_are_the_linked_ones_of_the_matrix(measure, distance, window, monkeypatch):
    monkeypatch.setattr(linkage_module, "_MAX_PAIRS", 40)
    rng = np.random.default_rng(3)
    genotypes = in_contigs(genotypes_of(linked_codes(60, 29)), rng.integers(0, 2, 29))
    positions = rng.choice(80, 29, replace=False)
    positions[[5, 6]] = positions[7]
    positions[11] = -1
    genotypes = replace(genotypes, variants=replace(genotypes.variants, positions=positions))
    first, second = (ends.ravel() for ends in np.indices((29, 29)))
    r2 = MEASURES[measure](genotypes, first, second).reshape(29, 29)
    contigs = genotypes.variants.contig_ids
    options = {"max_distance": distance, "window": window, "min_r2": 0.1, "measure": measure}
    wanted = {}
    for contig in (0, 1):
        inside = np.flatnonzero((contigs == contig) & (positions >= 0))
        inside = inside[np.argsort(positions[inside], kind="stable")].tolist()
        for k, a in enumerate(inside):
            for b in inside[k + 1 : None if window is None else k + window]:
                if positions[b] - positions[a] <= distance and r2[a, b] >= 0.1:
                    wanted[a, b] = r2[a, b]
    found = linked_pairs(genotypes, **options)
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    assert dict(zip(pairs, found.r2.tolist(), strict=True)) == wanted
    assert len(found) == len(wanted)
    chosen = np.array([7, 2, 11])
    found = linked_pairs(genotypes, variants=chosen, **options)
    pairs = zip(found.first.tolist(), found.second.tolist(), strict=True)
    both = wanted | {(b, a): value for (a, b), value in wanted.items()}
    both = {pair: value for pair, value in both.items() if pair[0] in chosen}
    assert dict(zip(pairs, found.r2.tolist(), strict=True)) == pytest.approx(both, rel=1e-12)


def test_pairs_are_those_of_plink(tmp_path):
    files, plink = plink_files("gcta_test"), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    window = ("--ld-window", "30", "--ld-window-kb", "300", "--ld-window-r2", "0.1")
    plink(files, "--r2", *window)
    found = linked_pairs(genotypes, max_distance=300_000, window=30, min_r2=0.1)
    ids = genotypes.variants.ids
    table = plink.table("ld")
    assert ids[found.first].tolist() == table["SNP_A"].tolist()
    assert ids[found.second].tolist() == table["SNP_B"].tolist()
    np.testing.assert_allclose(found.r2, plink.column("ld", "R2"), rtol=1e-5)


def test_numbers_out_of_range_are_told():
    genotypes = genotypes_of(linked_codes(5, 4))
    with pytest.raises(ParameterError, match="window is 1, needs to be at least 2 variants"):
        prune_by_linkage(genotypes, window=1)
    with pytest.raises(ParameterError, match="step is 0, needs at least 1"):
        prune_by_linkage(genotypes, step=0)
    with pytest.raises(ParameterError, match="max_r2 is 2, needs to be 0 to 1"):
        prune_by_linkage(genotypes, max_r2=2)
    with pytest.raises(ParameterError, match="max_distance is -1, needs at least 0"):
        linked_pairs(genotypes, max_distance=-1)
    with pytest.raises(ParameterError, match="window is 1, needs to be at least 2 variants"):
        linked_pairs(genotypes, window=1)
    assert len(linked_pairs(genotypes.take_variants(slice(0, 0)))) == 0
    assert prune_by_linkage(genotypes.take_variants(slice(0, 0))).shape == (0,)
