"""The exact test of Hardy-Weinberg proportions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from genoviz.backend import load_kernel
from genoviz.errors import ParameterError
from genoviz.generators import Progress, iter_slices, last_of

_FIRST_VARIANTS = 1 << 14
_WHAT = "testing Hardy-Weinberg proportions"


def hardy_weinberg_p(
    counts: np.ndarray, *, of_males: np.ndarray | None = None, mid_p: bool = False
) -> np.ndarray:
    """Return exact p values of Hardy-Weinberg proportions.

    Parameters
    ----------
    counts
        Integers, shape (n_variants, 4): homozygous A1, missing, heterozygous, homozygous A2, as
        from `allele_counts`. For autosomes, or for females at X; preferably of unrelated samples.
    of_males
        The same counts for males, who have one copy, at variants of X. A heterozygous male counts
        as missing. The p value then covers females and males together.
    mid_p
        Whether outcomes as likely as the observed one count half, as ``--hardy midp`` of PLINK.
        The plain exact test is conservative; this correction makes it less so.

    Returns
    -------
    numpy.ndarray
        float64, shape (n_variants,): 1 for a constant variant (0.5 with ``mid_p``), 0 below 1e-300.

    Raises
    ------
    ParameterError
        If counts have the wrong shape.

    References
    ----------
    Wigginton et al. 2005, A note on exact tests of Hardy-Weinberg equilibrium, doi:10.1086/429864.
    Graffelman and Moreno 2013, The mid p-value in exact tests for Hardy-Weinberg equilibrium,
    doi:10.1515/sagmb-2012-0039.
    Graffelman and Weir 2016, Testing for Hardy-Weinberg equilibrium at biallelic genetic markers on
    the X chromosome, doi:10.1038/hdy.2016.20.

    Examples
    --------
    >>> hardy_weinberg_p([[3, 0, 14, 83], [0, 1, 0, 99]]).round(3).tolist()
    [0.053, 1.0]
    """
    return last_of(iter_hardy_weinberg_p(counts, of_males=of_males, mid_p=mid_p)).result


def iter_hardy_weinberg_p(
    counts: np.ndarray, *, of_males: np.ndarray | None = None, mid_p: bool = False
) -> Iterator[Progress]:
    """Test blocks of variants; the last step has the result of `hardy_weinberg_p`."""
    found = np.asarray(counts, np.int64)
    if found.ndim != 2 or found.shape[1] != 4:
        raise ParameterError(f"counts have shape {found.shape}, need (n_variants, 4)")
    males = None if of_males is None else np.asarray(of_males, np.int64)
    if males is not None and males.shape != found.shape:
        raise ParameterError(f"of_males has shape {males.shape}, needs {found.shape} as counts")
    kernel, p = load_kernel("hardy_weinberg", "cpu"), np.empty(len(found))

    def test(first: int, stop: int) -> None:
        if males is None:
            p[first:stop] = kernel.p_values(found[first:stop], mid_p)
        else:
            p[first:stop] = kernel.p_values_of_x(found[first:stop], males[first:stop], mid_p)

    for n_done, _ in iter_slices(test, len(p), first_size=_FIRST_VARIANTS):
        yield Progress(_WHAT, n_done / len(p))
    yield Progress(_WHAT, 1.0, p)
