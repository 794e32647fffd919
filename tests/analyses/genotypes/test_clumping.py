"""Clumps of linked variants, against PLINK 1.9 and by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from genoviz import ParameterError, clump, linkage, linked_pairs, prune_by_linkage
from genoviz.analyses.genotypes import clumping
from tests.analyses.genotypes.test_linkage import linked_codes
from tests.analyses.genotypes.test_statistics import genotypes_of
from tests.plink import Plink, plink_files, read_real


def clump_by_hand(r2, positions, p, index_p, min_r2, distance):
    """Return index variants with their members, from the matrix of r^2."""
    free, found = {k for k in range(len(p)) if p[k] == p[k]}, []
    for index in sorted(free, key=lambda k: (p[k], positions[k])):
        if p[index] > index_p or index not in free:
            continue
        free.remove(index)
        near = [k for k in free if abs(positions[k] - positions[index]) <= distance]
        members = sorted((k for k in near if r2[index, k] >= min_r2), key=lambda k: positions[k])
        free -= {*members}
        found.append((index, members))
    return found


@pytest.mark.parametrize(("n_together", "n_pairs"), [(1, 1), (3, 1000), (64, 7), (64, 1000)])
@pytest.mark.parametrize(("min_r2", "distance"), [(0.3, 200), (0.6, 3), (0, 10)])
def test_clumps_are_those_by_hand(min_r2, distance, n_together, n_pairs, monkeypatch):
    monkeypatch.setattr(clumping, "INDEXES_TOGETHER", n_together)
    monkeypatch.setattr(clumping, "BLOCK_GENOTYPES", 80 * n_pairs)
    rng = np.random.default_rng(5)
    genotypes = genotypes_of(linked_codes(80, 60, seed=2))
    positions = rng.permutation(60)
    positions[7] = positions[8]
    variants = replace(genotypes.variants, positions=positions)
    genotypes = replace(genotypes, variants=variants)
    p = np.round(rng.random(60) ** 3, 2)
    p[[4, 9]] = np.nan
    found = clump(genotypes, p, index_p=0.3, min_r2=min_r2, max_distance=distance, measure="dosage")
    wanted = clump_by_hand(linkage(genotypes, slice(None)), positions, p, 0.3, min_r2, distance)
    assert [(k, found.of(i).tolist()) for i, k in enumerate(found.index_variants)] == wanted
    assert len(found) == len(wanted) > 1
    r2 = linkage(genotypes, slice(None))
    index = np.repeat(found.index_variants, np.diff(found.offsets))
    np.testing.assert_array_equal(found.r2, r2[index, found.members])


def test_contigs_of_one_chromosome_are_one():
    """Alternate variants of a chromosome have another spelling of it, in pairs, clumps, pruning."""
    genotypes = genotypes_of(linked_codes(80, 60, seed=2))
    variants = replace(genotypes.variants, contigs=("1",), contig_ids=np.zeros(60, np.int32),
                       positions=np.arange(60) * 10)  # fmt: skip
    plain = replace(genotypes, variants=variants)
    spelled = replace(variants, contigs=("chr1", "01", "2"), contig_ids=np.arange(60) % 2)
    order = np.argsort(spelled.contig_ids, kind="stable")
    mixed = replace(genotypes, variants=spelled).take_variants(order)
    p = np.random.default_rng(1).random(60)
    one, two = (clump(g, q, index_p=0.5, min_r2=0.1) for g, q in ((plain, p), (mixed, p[order])))
    assert [one.of(k).tolist() for k in range(len(one))] == [
        order[two.of(k)].tolist() for k in range(len(two))
    ]
    assert np.diff(one.offsets).sum() > 5
    one, two = (linked_pairs(each, max_distance=100, min_r2=0.1) for each in (plain, mixed))
    np.testing.assert_array_equal(one.first, order[two.first])
    np.testing.assert_array_equal(one.second, order[two.second])
    kept = prune_by_linkage(mixed, max_r2=0.1)
    np.testing.assert_array_equal(prune_by_linkage(plain, max_r2=0.1)[order], kept)
    assert 0 < kept.sum() < 60


@pytest.mark.parametrize(
    ("name", "index_p", "member_p", "min_r2", "kb"),
    [
        ("gcta_test", 0.01, 0.02, 0.3, 250),
        ("maize_mdp", 0.05, 0.2, 0.2, 2000),
        ("1kg_chr21_start", 0.01, 0.01, 0.2, 100),
    ],
)
def test_clumps_are_those_of_plink(name, index_p, member_p, min_r2, kb, tmp_path):
    files, plink = plink_files(name), Plink("plink1.9", tmp_path)
    genotypes = read_real(files)
    ids, rng = genotypes.variants.ids, np.random.default_rng(4)
    p = np.round(rng.permutation(genotypes.n_variants * 10)[: len(ids)] ** 2 / 1e9 + 1e-7, 10)
    assert len(np.unique(p)) == len(p)  # PLINK's order of ties is any
    rows = (f"{name} {value:.10g}\n" for name, value in zip(ids, p, strict=True))
    (tmp_path / "scan").write_text("SNP P\n" + "".join(rows))
    options = ("--clump-p1", index_p, "--clump-p2", member_p, "--clump-r2", min_r2,
               "--clump-kb", kb)  # fmt: skip
    plink(files, "--clump", str(tmp_path / "scan"), *map(str, options))
    lines = (tmp_path / "out.clumped").read_text().splitlines()
    wanted = [line.split() for line in lines[1:] if line.strip()]
    found = clump(genotypes, p, index_p=index_p, min_r2=min_r2, max_distance=1000 * kb)
    assert ids[found.index_variants].tolist() == [row[2] for row in wanted]
    assert len(wanted) > 20
    for k, row in enumerate(wanted):
        members = found.of(k)
        named = sorted(ids[members[p[members] < member_p]].tolist())
        told = [] if row[11] == "NONE" else sorted(x.split("(")[0] for x in row[11].split(","))
        assert (len(members), named) == (int(row[5]), told)


def test_variants_without_a_place_stand_alone():
    genotypes = genotypes_of(np.tile([[0], [2], [3], [3]], (1, 4)))
    positions = np.array([5, -1, -1, 8])
    genotypes = replace(genotypes, variants=replace(genotypes.variants, positions=positions))
    found = clump(genotypes, np.array([0.2, 0.1, 0.3, 0.4]), index_p=1)
    assert found.index_variants.tolist() == [1, 0, 2]
    assert [found.of(k).tolist() for k in range(3)] == [[], [3], []]
    nowhere = replace(genotypes.variants, positions=np.full(4, -1))
    with pytest.raises(ParameterError, match="none of 4 variants has a position"):
        clump(replace(genotypes, variants=nowhere), np.ones(4))


def test_numbers_out_of_range_are_told():
    genotypes = genotypes_of(linked_codes(5, 4))
    for p, options, words in (
        (np.ones(3), {}, r"p has shape \(3,\), needs \(4,\)"),
        (np.full(4, 1.5), {}, "p has 1.5, needs to be 0 to 1"),
        (np.ones(4), {"index_p": 2}, "index_p is 2, needs to be 0 to 1"),
        (np.ones(4), {"min_r2": -1}, "min_r2 is -1, needs to be 0 to 1"),
        (np.ones(4), {"max_distance": -1}, "max_distance is -1, needs at least 0"),
        (np.ones(4), {"measure": "phase"}, "measure is 'phase', needs one of dosage, haplotype"),
    ):
        with pytest.raises(ParameterError, match=words):
            clump(genotypes, p, **options)
    none = genotypes.take_variants(slice(0, 0))
    assert len(clump(none, np.empty(0))) == 0
