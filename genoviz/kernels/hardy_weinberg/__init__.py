"""The exact test of Hardy-Weinberg proportions.

Given both allele counts, the number of heterozygotes changes in steps of two, with::

    P(h + 2) / P(h) = 4 a b / ((h + 2) (h + 1))        a, b: homozygotes when there are h

On X, where males have one copy, the alleles of males carry information too. Given both allele
counts of f females and m males, of which m_A males have A1::

    P(m_A, h)  is proportional to  2^h / (m_A! (m - m_A)! a! h! b!)

``p_values_of_x(counts, of_males, mid_p)`` returns float64 (m,): the sum of P over all m_A and h
that are at most as likely as the observed ones.

``p_values(counts, mid_p)`` returns float64 (m,): the sum of P over all numbers of heterozygotes
that are at most as likely as the observed one; 1 if no genotype is called, 0 below 1e-300.

========== ============== ===========================================================
counts     int64 (m, 4)   samples homozygous for A1, missing, heterozygous, homozygous
                          for A2
mid_p      bool           whether numbers as likely as the observed one count half
========== ============== ===========================================================

There is no CUDA twin, as counts are small. Terms are summed from the observed number outwards, and
from the mean only as far as they matter: about 20 standard deviations, some sqrt(n) terms.

References
----------
Wigginton et al. 2005, A note on exact tests of Hardy-Weinberg equilibrium,
doi:10.1086/429864. Graffelman and Moreno 2013, The mid p-value in exact tests for Hardy-Weinberg
equilibrium, doi:10.1515/sagmb-2012-0039. Graffelman and Weir 2016, Testing for
Hardy-Weinberg equilibrium at biallelic genetic markers on the X chromosome,
doi:10.1038/hdy.2016.20.
"""
