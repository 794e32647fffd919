"""Decode packed genotypes to a dense block.

``decode(packed, n_samples, values)`` returns ``out[j, i] = values[j, c]``, where ``c`` is the 2-bit
code of sample ``i`` at variant ``j``: shape (m, n), C order, of the dtype of ``values``.

========== ============================= ==================================================
packed     uint8 (m, (n + 3) // 4)       2 bits a sample, the lowest first (PLINK 1 .bed);
                                         bits beyond the last sample may be anything
n_samples  int                           n
values     float64 or float32 (m, 4)     the value of each code at each variant
========== ============================= ==================================================

On a GPU the result is there.
"""
