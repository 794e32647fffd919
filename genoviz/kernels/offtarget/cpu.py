"""Off-target sites on all cores; the contract is in this folder's ``__init__``."""

import numpy as np

from genoviz.kernels.offtarget import ANY
from genoviz.kernels.offtarget.cpu_planes import LANES, find_densely, find_pam_first
from genoviz.kernels.offtarget.cpu_popcount import find_by_popcount
from genoviz.kernels.offtarget.plan import find_span, pack_masks, plan_rows


def find_sites_popcount(
    low,
    high,
    other,
    valid,
    first_word,
    block_words,
    pattern,
    guides,
    max_mismatches,
    positions,
    guide_ids,
    mismatches,
    n_found,
    counts,
):
    """Fill hits by AND and the count of bits, four bits a base."""
    find_by_popcount(
        low,
        high,
        other,
        valid,
        first_word,
        block_words,
        len(pattern),
        *pack_masks(pattern[None]),
        *pack_masks(guides),
        max_mismatches,
        positions,
        guide_ids,
        mismatches,
        n_found,
        counts,
    )


def find_sites_dense(
    low,
    high,
    other,
    valid,
    first_word,
    block_words,
    pattern,
    guides,
    max_mismatches,
    positions,
    guide_ids,
    mismatches,
    n_found,
    counts,
):
    """Fill hits by adding planes of all positions."""
    plan = plan_rows(pattern, guides)
    places = np.flatnonzero(pattern != ANY)
    find_densely(
        low,
        high,
        other,
        valid,
        first_word,
        block_words,
        len(pattern),
        plan.masks,
        plan.row_keys,
        plan.guide_rows.ravel() * np.uint64(LANES),
        plan.n_groups,
        pattern[places],
        places,
        max_mismatches,
        positions,
        guide_ids,
        mismatches,
        n_found,
        counts,
    )


def find_sites_pam_first(
    low,
    high,
    other,
    valid,
    first_word,
    block_words,
    pattern,
    guides,
    max_mismatches,
    positions,
    guide_ids,
    mismatches,
    n_found,
    counts,
):
    """Fill hits by adding planes of the windows at which the pattern fits."""
    span = find_span(guides)
    plan = plan_rows(np.full_like(pattern[span], ANY), guides[:, span])
    places = np.flatnonzero(pattern != ANY)
    find_pam_first(
        low,
        high,
        other,
        valid,
        first_word,
        block_words,
        span.start,
        span.stop - span.start,
        plan.masks,
        plan.row_keys,
        plan.guide_rows.ravel() * np.uint64(LANES),
        plan.n_groups,
        pattern[places],
        places,
        _usual_fours(pattern),
        max_mismatches,
        positions,
        guide_ids,
        mismatches,
        n_found,
        counts,
    )


def _usual_fours(pattern):
    """Return a quarter of what few words have more of: starts at which a pattern fits."""
    chance = float(np.prod(_N_BASES[pattern] / 4))
    mean, spread = 64 * chance, (64 * chance * (1 - chance)) ** 0.5
    return int(-(-(mean + spread) // 4))


_N_BASES = np.array([bin(mask).count("1") for mask in range(16)])
