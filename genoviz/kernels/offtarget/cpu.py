"""Off-target sites on all cores; the contract is in this folder's ``__init__``."""

import numpy as np

from genoviz.kernels.offtarget import ANY
from genoviz.kernels.offtarget.cpu_planes import LANES, find_densely, find_pam_first
from genoviz.kernels.offtarget.cpu_popcount import find_by_popcount
from genoviz.kernels.offtarget.plan import find_span, pack_masks, pattern_letters, plan_rows

_N_BASES = np.array([bin(mask).count("1") for mask in range(16)])


def find_sites_popcount(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by AND and the count of bits, four bits a base."""
    planes, packed = tuple(planes), (pack_masks(pattern[None]), pack_masks(guides))
    find_by_popcount(planes, first_word, block_words, len(pattern), *packed, max_mismatches, *hits)


def find_sites_dense(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by adding planes of all positions."""
    planes, rows = tuple(planes), plan_rows(pattern, guides).rows(LANES)
    letters = pattern_letters(pattern)
    find_densely(
        planes, first_word, block_words, len(pattern), rows, letters, max_mismatches, *hits
    )


def find_sites_pam_first(planes, first_word, block_words, pattern, guides, max_mismatches, hits):
    """Fill hits by adding planes of the windows at which the pattern fits."""
    span = find_span(guides)
    rows = plan_rows(np.full_like(pattern[span], ANY), guides[:, span]).rows(LANES)
    planes, window = tuple(planes), (span.start, span.stop - span.start)
    letters, n_fours = pattern_letters(pattern), _usual_fours(pattern)
    find_pam_first(
        planes, first_word, block_words, window, rows, letters, n_fours, max_mismatches, *hits
    )


def _usual_fours(pattern):
    """Return a quarter of what few words have more of: starts at which a pattern fits."""
    chance = float(np.prod(_N_BASES[pattern] / 4))
    mean, spread = 64 * chance, (64 * chance * (1 - chance)) ** 0.5
    return int(-(-(mean + spread) // 4))
