"""Inbreeding, and products with relationships, from a pedigree without their matrix; CPU only.

With A = L D L', the diagonal of A is ``A[i, i] = sum_j L[i, j]**2 * D[j]`` over the ancestors j of
i, and the inbreeding coefficient is ``A[i, i] - 1``. Row i of L is traced up the pedigree one
generation at a time, so an ancestor's share is complete before half of it goes to each parent. With
metafounders of relationships Gamma as unknown parents, the sum has the extra term ``q Gamma q'``,
where q are the shares of the metafounders in i. A metafounder's own coefficient is its diagonal
element minus 1.

A product has three factors. For L', each animal adds half of its numbers to each parent, from the
youngest on; then D; for L, each adds half of its parents' numbers, from the oldest on.

Arguments
---------
============= ======= ============ ==============================================
name          dtype   shape        meaning
============= ======= ============ ==============================================
sires, dams   int64   (n_animals,) number of a parent, less than one's own; -1, or
                                   -2 - g for group g, if it is unknown
of_groups     float64 (n_animals,) what each has of Gamma: q Gamma q'
group_        float64 (n_groups,)  those of groups: -1 if unrelated to all
coefficients
coefficients  float64 (n_animals,) out
variances     float64 (n_animals,) D, of the Mendelian sampling
columns       float64 (n_animals, in and out: A times what it was
                      k)
============= ======= ============ ==============================================

There is no CUDA twin: an animal depends on its parents.

References
----------
Meuwissen and Luo 1992, Computing inbreeding coefficients in large populations,
doi:10.1186/1297-9686-24-4-305
Colleau 2002, An indirect approach to the extensive calculation of relationship coefficients,
doi:10.1186/1297-9686-34-4-409
Legarra, Christensen, Vitezica, Aguilar and Misztal 2015, Ancestral relationships using
metafounders: finite ancestral populations and across population relationships,
doi:10.1534/genetics.115.177014
"""
