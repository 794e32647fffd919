"""Squared correlations of genotypes, by counting bits; and the pruning that goes by them.

``make_planes(packed, n_samples)`` returns uint64 (m, 3, (n + 63) // 64): for each variant a bit a
sample, of the heterozygous, of those homozygous for A1 and of those that have a genotype.

``squared_correlations(planes, first, second)`` returns float64 (p,): r^2 of the dosages of variants
``first[q]`` and ``second[q]`` over the samples that have both; NaN where one does not vary there.
Sums are exact.

``joint_counts(planes, first, second)`` returns int64 (p, 3, 3): how many samples have each pair of
genotypes; rows are homozygous for A1, heterozygous, homozygous for A2 at ``first[q]``, columns the
same at ``second[q]``.

The rows of planes can as well be samples, and their bits variants: then pairs are of samples.

``prune(planes, frequencies, is_kept, n_compared, n_windows, window, step, max_r2)`` unmarks in
``is_kept`` the variants that PLINK 1.9 drops in consecutive windows of a contig, of ``window``
variants each, which begin every ``step`` variants. In each, until no pair is above ``max_r2``: each
kept variant in turn looks for the first later kept one above ``max_r2``; of both, the one with the
lower frequency goes, and the later one of equals. With the same state arrays, all variants of a
contig may come in parts: views of them that begin where a window does.

=========== ============================= ==================================================
packed      uint8 (m, (n + 3) // 4)       2 bits a sample, the lowest first (PLINK 1 .bed);
                                          bits beyond the last sample may be anything
n_samples   int                           n
planes      uint64 (m, 3, words)          as ``make_planes`` returns it
first       int64 (p,)                    row of a variant in ``planes``
second      int64 (p,)                    row of another
frequencies float64 (m,)                  of the rarer allele
is_kept     bool (m,)                     at first, those that vary
n_compared  int64 (m,)                    how many of the next variants each has looked at; at
                                          first 0
n_windows   int                           at most ceil(m / step)
window      int                           at least 2
step        int                           at least 1
max_r2      float                         0 to 1
=========== ============================= ==================================================

The host alone has them.

References
----------
Chang et al. 2015, Second-generation PLINK, doi:10.1186/s13742-015-0047-8.
"""
