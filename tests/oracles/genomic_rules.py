"""Quality control, blending and tuning of genotypes as BLUPF90 does them, by dense matrices."""

from __future__ import annotations

import numpy as np

# Numbers of animals, and their markers. Y. Masuda, Introduction to BLUPF90 suite programs (2019),
# "Quality control of SNP markers"; its examples are in the public domain, at
# https://github.com/masuday/data
PUBLISHED = """
11 1212020111001211212000102001202022201112000110020102011001012212110122100001210101112200210010022220
15 1512025111151211221110502101202152112111000511011211101005101111111222500110011051112200150000111220
12 2222020200110122210121001100022221102111000010011202020002002222000222000020120000020200200000200220
2 2122020101100221121111212100112111112212000101012211111001201211112022100201220110022200220020111120
5 2111121101111210121211112210202021211211000110021211111001101211101122100111221000022200120020101120
7 2211121200121111220211011210112121111201000120011202020002002222000222000021221000021200110010101220
8 2222020200110122210121001100022221102111000010011202020002002222000222000020120000020200200000200220
9 2122020101210121121222101200112122102212000010012211111001101211101122100110220000021200210010200120
1 2122020101210121121222101200112122102212000010012211111001101211101122100110220000021200210010200120
"""  # noqa: E501


def control(dosages, parents, order, rules):
    """Return which markers and animals are kept, by loops.

    ``dosages`` are (animals, markers) with NaN; ``parents`` are rows among the animals, -1 for
    none.
    """
    n, m = dosages.shape
    kept = []
    for marker in range(m):
        called = [each for each in dosages[:, marker] if not np.isnan(each)]
        rate = len(called) / n
        p = sum(called) / (2 * len(called)) if called else 0.0
        heterozygous = sum(each == 1 for each in called) / max(len(called), 1)
        is_good = rate >= rules.min_call_rate and min(p, 1 - p) >= rules.min_maf
        is_good &= not (rules.removes_constant and p in (0, 1))
        if rules.max_hwe_difference is not None:
            is_good &= abs(heterozygous - 2 * p * (1 - p)) <= rules.max_hwe_difference
        if is_good:
            kept.append(marker)
    used = {
        k for k in range(n) if np.mean(~np.isnan(dosages[k, kept])) >= rules.min_sample_call_rate
    }
    if rules.parentage != "remove":
        return kept, sorted(used)
    pairs = [(k, p) for k in range(n) for p in parents[k] if {k, p} <= used]

    def opposite(pair, marker):
        return sorted(dosages[list(pair), marker].tolist()) == [0.0, 2.0]

    if len(pairs) >= rules.min_pairs:
        limit = rules.max_variant_conflicts * len(pairs)
        kept = [j for j in kept if sum(opposite(pair, j) for pair in pairs) <= limit]
    wrong = [
        pair for pair in pairs
        if sum(opposite(pair, j) for j in kept) > rules.max_conflicts * len(kept)
    ]  # fmt: skip
    for own, parent in sorted(wrong, key=lambda pair: order[pair[0]]):
        if parent in used:
            used -= {own}
    return kept, sorted(used)


def tuned(dosages, kept, used, related, rules):
    """Return G of the animals that are used; ``related`` is A of all genotyped ones."""
    p = np.nanmean(dosages[:, kept], axis=0) / 2
    centred = np.nan_to_num(dosages[:, kept] - 2 * p)
    genomic = centred @ centred.T / (2 * p @ (1 - p))
    is_out = np.setdiff1d(np.arange(len(dosages)), used)
    matrices = []
    for each in (genomic, related):
        each = each.copy()
        each[is_out], each[:, is_out] = 0, 0
        each[is_out, is_out] = 1
        matrices.append(each)
    alpha, beta = rules.weights
    blended = alpha * matrices[0] + beta * matrices[1]
    is_other = ~np.eye(len(dosages), dtype=bool)
    target = {
        "pedigree": (np.diag(matrices[1]).mean(), matrices[1][is_other].mean()),
        "unrelated": (1, 0),
    }
    intercept, slope = rules.line
    if rules.targets is not None:
        diagonal, others = target[rules.targets]
        slope = (diagonal - others) / (np.diag(blended).mean() - blended[is_other].mean())
        intercept = others - slope * blended[is_other].mean()
    return (intercept + slope * blended)[np.ix_(used, used)]


def correlation(dosages, kept, used, related, rules):
    """Return the correlation of the blended G with A22 in related pairs, one after the other."""
    p = np.nanmean(dosages[:, kept], axis=0) / 2
    centred = np.nan_to_num(dosages[:, kept] - 2 * p)
    pairs = []
    for k, row in enumerate(used):
        for column in used[:k]:
            of_pedigree = related[row, column]
            if of_pedigree >= rules.min_relationship:
                of_genotypes = centred[row] @ centred[column] / (2 * p @ (1 - p))
                blended = rules.weights[0] * of_genotypes + rules.weights[1] * of_pedigree
                pairs.append((blended, of_pedigree))
    return np.corrcoef(np.transpose(pairs))[0, 1]
