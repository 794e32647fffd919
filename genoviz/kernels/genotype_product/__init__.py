"""Products of packed genotypes with a dense matrix, never inflated.

With ``Z[i, j] = values[j, c]``, where ``c`` is the 2-bit code of sample ``i`` at variant ``j``::

    multiply:             out = Z @ right        out[i, l] = sum_j Z[i, j] * right[j, l]
    multiply_transposed:  out = Z.T @ left       out[j, l] = sum_i Z[i, j] * left[i, l]

Centred, standardised and raw dosages, and missing genotypes that count as zero or as the mean,
differ in ``values`` alone: code 0 is dosage 2, code 1 missing, code 2 dosage 1, code 3 dosage 0.

Arguments
---------
========== ============================= ==================================================
packed     uint8 (m, (n + 3) // 4)       C order, perhaps read-only; 2 bits a sample, the lowest
                                         first (PLINK 1 .bed); bits beyond the last sample may be
                                         anything
n_samples  int                           n
values     float64 (m, 4)                what each code of each variant counts
right      float64 or float32 (m, k)     C order, k >= 1
left       float64 or float32 (n, k)     C order, k >= 1
========== ============================= ==================================================

Products have the dtype of the dense matrix; float32 is summed up in float32. For a GPU each array
may lie on the host or on the card: products lie where the dense matrix does, counts where
``packed`` does, and ``packed`` of any size is sent in blocks where it lies on the host.

Errors
------
The *size* of an entry of a dense column is its magnitude, in ``multiply`` times the largest
``abs(values[j])``. For float64, products of integers (tensor cores, matrix units) are off by at
most 2^-53 of the column's largest size for each genotype, and by float64's rounding of the sum of
all entries. That is within 1e-12 of the sum of magnitudes of a product's own terms where these
have on average 2^-14 of the largest size or more.

A column is *wide* where more than 1/16 of its entries, zeros left out, have less than that, or
where one is infinite or NaN. Wide columns are multiplied in float64, genotype by genotype, on all
backends: each product is within 1e-12 of the sum of magnitudes of its own terms, so an entry whose
genotype counts 0 adds no error, and infinities and NaN come out as of NumPy's ``Z @ right`` (0
times infinity is NaN). For float32, read 2^-30 and 1e-5.

On a CPU, ``matrix_unit=False`` has tables make the products where integers would.

``count_codes`` returns int64 (m, 4): how many samples have each code at each variant.

References
----------
Freudenberg et al. 2023, Accelerated matrix-vector multiplications for matrices involving genotype
covariates with applications in genomic prediction, doi:10.3389/fgene.2023.1220408 (5codes).
"""
