"""Packing of genotypes at 2 bits, and repacking of some samples.

Arguments
---------
=============== ============================= =================================================
packed          uint8 (m, (n + 3) // 4)       2 bits a sample, the lowest first (PLINK 1 .bed);
                                              bits beyond the last sample may be anything
samples         int64 (k,)                    numbers below n of the samples to take, any order
taken           uint8 (m, (k + 3) // 4)       zeros, which ``take_samples`` fills; None for a new
                                              array
dosages         int8 (m, n)                   variants by samples, any strides: 2, 1, 0, and
                                              anything else for a missing genotype
=============== ============================= =================================================

``take_samples`` returns uint8 (m, (k + 3) // 4), ``pack_dosages`` uint8 (m, (n + 3) // 4): code 0
for dosage 2, 1 for missing, 2 for dosage 1, 3 for dosage 0; bits beyond the last sample are 0.
"""
