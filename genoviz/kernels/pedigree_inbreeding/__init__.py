"""Inbreeding coefficients from a pedigree, without the matrix of relationships; CPU only.

With A = L D L', the diagonal of A is ``A[i, i] = sum_j L[i, j]**2 * D[j]`` over the ancestors j of
i, and the inbreeding coefficient is ``A[i, i] - 1``. Row i of L is followed up the pedigree,
generation by generation, so that an ancestor's share is whole before its parents get their halves.

Arguments
---------
============= ======= ============ ==============================================
name          dtype   shape        meaning
============= ======= ============ ==============================================
sires, dams   int64   (n_animals,) number of a parent, less than one's own, or -1
coefficients  float64 (n_animals,) out
============= ======= ============ ==============================================

There is no CUDA twin: an animal needs its parents' coefficients first.

References
----------
Meuwissen and Luo 1992, Computing inbreeding coefficients in large populations,
doi:10.1186/1297-9686-24-4-305
"""
