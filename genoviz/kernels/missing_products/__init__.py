"""The contribution of samples without a genotype to sums of products over all samples.

``missing_products(packed, n_samples, columns)`` returns float64 (m, k, k)::

    out[j, a, b] = sum of columns[i, a] * columns[i, b] over the samples i missing at variant j

``columns.T @ columns`` minus this is the sum over the samples that have a genotype.

========== ============================= ==================================================
packed     uint8 (m, (n + 3) // 4)       2 bits a sample, the lowest first (PLINK 1 .bed);
                                         bits beyond the last sample may be anything
n_samples  int                           n
columns    float64 (n, k)                C order
========== ============================= ==================================================

There is no CUDA twin: time is proportional to the number of missing genotypes, which are few.
"""
