"""Squared correlations of genotypes by popcounts, and pruning by them.

``make_planes(packed, n_samples)`` returns uint64 (m, 3, (n + 63) // 64): three bit planes for each
variant, one bit a sample: heterozygous, homozygous for A1, and called. Bit ``i`` of a word is
sample ``i / 2`` of its 64, or ``32 + (i - 1) / 2`` if ``i`` is odd.

``squared_correlations(planes, n_samples, first, second)`` returns float64 (p,): r^2 of the dosages
of variants ``first[q]`` and ``second[q]`` over the samples called at both; NaN if one does not vary
there. Sums are exact.

``joint_counts(planes, first, second)`` returns int64 (p, 3, 3): the number of samples with each
pair of genotypes. Rows are homozygous for A1, heterozygous, homozygous for A2 at ``first[q]``,
columns the same at ``second[q]``.

The rows of planes may also be samples, and their bits variants: pairs are then of samples.

``prune(planes, n_samples, frequencies, is_kept, n_compared, n_windows, window, step, max_r2)``
clears in ``is_kept`` the variants that PLINK 1.9 drops in consecutive windows of a contig. A window
has ``window`` variants, and windows begin every ``step`` variants. In a window, each kept variant
in turn looks for the first later kept one with r^2 above ``max_r2``; of the two, the one with the
lower frequency is dropped, the later one if equal. This repeats until no pair is above ``max_r2``.
A contig may be pruned in parts, with views of the same state arrays that begin at a window.

=========== ============================= ==================================================
packed      uint8 (m, (n + 3) // 4)       2 bits a sample, the lowest first (PLINK 1 .bed);
                                          bits beyond the last sample may be anything
n_samples   int                           n
planes      uint64 (m, 3, words)          as ``make_planes`` returns it
first       int64 (p,)                    row of a variant in ``planes``
second      int64 (p,)                    row of another
frequencies float64 (m,)                  of the rarer allele
is_kept     bool (m,)                     at first, those that vary
n_compared  int64 (m,)                    the number of next variants each was compared with;
                                          0 at first
n_windows   int                           at most ceil(m / step)
window      int                           at least 2
step        int                           at least 1
max_r2      float                         0 to 1
=========== ============================= ==================================================

There is no CUDA twin.

References
----------
Chang et al. 2015, Second-generation PLINK, doi:10.1186/s13742-015-0047-8.
"""
