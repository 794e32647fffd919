"""Products of packed genotypes with a dense matrix, without unpacking the genotypes.

With ``Z[i, j] = values[j, c]``, where ``c`` is the 2-bit code of sample ``i`` at variant ``j``::

    multiply:             out = Z @ right        out[i, l] = sum_j Z[i, j] * right[j, l]
    multiply_transposed:  out = Z.T @ left       out[j, l] = sum_i Z[i, j] * left[i, l]

Centred, standardised and raw dosages, and missing genotypes that count as zero or as the mean,
differ only in ``values``: code 0 is dosage 2, code 1 missing, code 2 dosage 1, code 3 dosage 0.

Arguments
---------
========== ============================= ==================================================
packed     uint8 (m, (n + 3) // 4)       C order, perhaps read-only; 2 bits a sample, the lowest
                                         first (PLINK 1 .bed); bits beyond the last sample may be
                                         anything
n_samples  int                           n
values     float64 (m, 4)                value of each code at each variant
right      float64 or float32 (m, k)     C order, k >= 1
left       float64 or float32 (n, k)     C order, k >= 1
========== ============================= ==================================================

Products have the dtype of the dense matrix; float32 is accumulated in float32. For a GPU, each
array may be on the host or on the card: products are where the dense matrix is, counts where
``packed`` is. ``packed`` may have any size; from the host it is sent in blocks.

Errors
------
The *size* of an entry of a dense column is its magnitude, in ``multiply`` times the largest
``abs(values[j])``. For float64, the error of integer products (tensor cores, matrix units) is at
most 2^-53 of the column's largest size for each genotype, plus float64's rounding of the sum of
all entries. This is within 1e-12 of the sum of magnitudes of a product's own terms if the mean
size of these is at least 2^-14 of the largest.

A column is *wide* if more than 1/16 of its nonzero entries are below 2^-14 of its largest size, or
if one is infinite or NaN. Wide columns are multiplied in float64, genotype by genotype, on all
backends. Each product is then within 1e-12 of the sum of magnitudes of its own terms: an entry
whose genotype counts 0 adds no error, and infinities and NaN give the result of NumPy's ``Z @
right`` (0 times infinity is NaN). For float32, the bounds are 2^-30 and 1e-5.

On a CPU, ``matrix_unit=False`` selects tables where integer products would be used.

``count_codes`` returns int64 (m, 4): the number of samples with each code at each variant.

References
----------
Freudenberg et al. 2023, Accelerated matrix-vector multiplications for matrices involving genotype
covariates with applications in genomic prediction, doi:10.3389/fgene.2023.1220408 (5codes).
"""
