"""Derivatives of the log likelihood of logistic models, one model per variant.

Let x = [columns, g] for a sample with dosage g, and p = 1 / (1 + exp(-x'b)) with the coefficients b
of a variant. Sums are over the samples with a genotype::

    gradient = sum (y - p) x        hessian = sum p (1 - p) x x'        (k = c + 1 coefficients)

``derivatives(dosages, rows, phenotype, columns, coefficients)`` returns the gradients, float64
(r, k), and the negative Hessians, float64 (r, k, k), as NumPy arrays.

``penalties(dosages, rows, phenotype, columns, coefficients, inverses)`` returns log likelihoods,
float64 (r,), and the contributions of Firth's penalty to the gradients, float64 (r, k)::

    likelihood = sum y x'b - log(1 + exp(x'b))      pull = sum h (1/2 - p) x, h = p (1 - p) x'Ax

============== =================== =============================================================
dosages        float64 (m, n)      of m variants, NaN where a genotype is missing
rows           int64 (r,)          the variants that are wanted
phenotype      float64 (n,)        y: 0 or 1
columns        float64 (c, n)      covariates, C order
coefficients   float64 (r, k)      b; that of the dosage is the last
inverses       float64 (r, k, k)   A, symmetric: of the Hessians
============== =================== =============================================================

x'b is clipped to [-40, 40]. On a GPU, the first four arguments are there.
"""

MAX_LOGIT = 40.0
