"""What samples without a genotype add to sums of products over all samples.

``missing_products(packed, n_samples, columns)`` returns float64 (m, k, k)::

    out[j, a, b] = sum of columns[i, a] * columns[i, b] over the samples i missing at variant j

Subtracted from ``columns.T @ columns`` it leaves the sums over the samples that have a genotype.

========== ============================= ==================================================
packed     uint8 (m, (n + 3) // 4)       2 bits a sample, the lowest first (PLINK 1 .bed);
                                         bits beyond the last sample may be anything
n_samples  int                           n
columns    float64 (n, k)                C order
========== ============================= ==================================================

The host alone has it: the time goes with the number of missing genotypes, which are few.
"""
