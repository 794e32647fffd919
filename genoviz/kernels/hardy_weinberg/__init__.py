"""The exact test of Hardy-Weinberg proportions.

Given the counts of both alleles, heterozygotes come in steps of two, and neighbours differ by::

    P(h + 2) / P(h) = 4 a b / ((h + 2) (h + 1))        a, b: homozygotes when there are h

At X, where males have one copy, the alleles of males say something too: given the counts of both
alleles, of f females and m males, with m_A of the males having A1::

    P(m_A, h)  is proportional to  2^h / (m_A! (m - m_A)! a! h! b!)

``p_values_of_x(counts, of_males, mid_p)`` returns float64 (m,): the sum of P over all m_A and h
that are as likely as what is observed or less.

``p_values(counts, mid_p)`` returns float64 (m,): the sum of P over all numbers of heterozygotes
that are as likely as the observed one or less; 1 where no genotype is called, 0 below 1e-300.

========== ============== ===========================================================
counts     int64 (m, 4)   samples homozygous for A1, missing, heterozygous, homozygous
                          for A2
mid_p      bool           whether numbers as likely as the observed one count half
========== ============== ===========================================================

The host alone has it, as counts are small. Terms are summed up from the observed number outwards,
and from the mean no further than they matter: about 20 standard deviations, some sqrt(n) terms.

References
----------
Wigginton et al. 2005, A note on exact tests of Hardy-Weinberg equilibrium,
doi:10.1086/429864. Graffelman and Moreno 2013, The mid p-value in exact tests for Hardy-Weinberg
equilibrium, doi:10.1515/sagmb-2012-0039. Graffelman and Weir 2016, Testing for
Hardy-Weinberg equilibrium at biallelic genetic markers on the X chromosome,
doi:10.1038/hdy.2016.20.
"""
