"""Validated parameters of an off-target search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from genoviz.analyses.offtargets.bulges import GuideVariants, iter_variants, reverse_masks
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.backend import Backend, Scheduler, resolve_backend
from genoviz.errors import ParameterError, check_choice, n_words
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.sequences.sequences import Sequences

METHODS = ("auto", "popcount", "dense", "pam_first")
STRANDS = ("both", "+", "-")
PLACEMENTS = ("best", "all")
MAX_LENGTH = 255


@dataclass(frozen=True, eq=False, kw_only=True)
class SearchOptions:
    """Options of an off-target search; see `find_offtargets` for their meaning.

    The public functions list all options in their signatures and pass them on in this record.
    """

    max_mismatches: int | Sequence[int] = 0
    dna_bulge: int = 0
    rna_bulge: int = 0
    strands: str = "both"
    placements: str = "best"
    method: str = "auto"
    devices: Sequence[int] | None = None
    scheduler: Scheduler = None
    backend: Backend = "auto"

    @property
    def has_bulges(self) -> bool:
        """Whether bulges are allowed."""
        return bool(self.dna_bulge or self.rna_bulge)


@dataclass(frozen=True, eq=False)
class StrandSearch:
    """Guides of one length and kind of bulge, to be searched on one strand.

    Parameters
    ----------
    variant
        The guides.
    variant_id
        Its number in the request.
    sign
        1 or -1.
    pattern
        uint8, shape (length,): masks in forward orientation.
    masks
        uint8, shape (n, length): masks of the guides in forward orientation.
    limits
        int64, shape (n,): maximum number of mismatches of each.
    """

    variant: GuideVariants
    variant_id: int
    sign: int
    pattern: np.ndarray
    masks: np.ndarray
    limits: np.ndarray


@dataclass(frozen=True, eq=False)
class OffTargetRequest:
    """A validated request.

    Parameters
    ----------
    guides, pattern
        In upper case.
    planes
        The genome.
    limits
        int64, shape (n_guides,): maximum number of mismatches of each guide.
    variants
        The guides as given, then with bulges.
    signs
        Strands.
    options
        The options.
    """

    guides: tuple[str, ...]
    pattern: str
    planes: GenomePlanes
    limits: np.ndarray
    variants: tuple[GuideVariants, ...]
    signs: tuple[int, ...]
    options: SearchOptions

    @property
    def n_total(self) -> int:
        """Bases times strands times kinds of bulge."""
        return self.planes.n_bases * len(self.variants) * len(self.signs)

    def iter_searches(self) -> Iterator[StrandSearch]:
        """Yield the searches, grouped by length."""
        for number, variant in enumerate(self.variants):
            limits = np.minimum(self.limits[variant.guide_ids], len(variant.pattern))
            for sign in self.signs:
                pattern, masks = variant.pattern, variant.masks
                if sign < 0:
                    pattern, masks = reverse_masks(pattern), reverse_masks(masks)
                yield StrandSearch(variant, number, sign, pattern, masks, limits)


def make_request(
    guides: Sequence[str],
    genome: Sequences | GenomePlanes,
    pattern: str,
    options: SearchOptions,
) -> OffTargetRequest:
    """Return the request for a search.

    Raises
    ------
    ParameterError
        If guides and pattern do not match, or an option is out of range.
    BackendError
        If the backend cannot be used.
    """
    guides = tuple(guide.upper() for guide in guides)
    pattern = pattern.upper()
    check_choice("placements", options.placements, PLACEMENTS)
    limits = _check(guides, pattern, options)
    check_choice("strands", options.strands, STRANDS)
    check_choice("method", options.method, METHODS)
    if options.scheduler is None:
        resolve_backend(options.backend)
    sizes = {"dna_bulge": options.dna_bulge, "rna_bulge": options.rna_bulge}
    variants = tuple(iter_variants(pattern, guides, **sizes))
    planes = make_genome_planes(genome) if isinstance(genome, Sequences) else genome
    signs = {"both": (1, -1), "+": (1,), "-": (-1,)}[options.strands]
    return OffTargetRequest(guides, pattern, planes, limits, variants, signs, options)


def _check(guides: Sequence[str], pattern: str, options: SearchOptions) -> np.ndarray:
    """Return the mismatch limit of each guide."""
    if not 1 <= len(pattern) <= MAX_LENGTH:
        raise ParameterError(
            f"the pattern has {n_words(len(pattern), 'letter')}, needs 1 to {MAX_LENGTH}"
        )
    wrong = sorted({*pattern} - {*"ACGTRYSWKMBDHVN"})
    if wrong:
        raise ParameterError(
            f"the pattern has {wrong[0]!r}, needs letters of IUPAC (ACGTRYSWKMBDHVN)"
        )
    for guide in guides:
        if len(guide) != len(pattern):
            raise ParameterError(
                f"guide {guide!r} has {n_words(len(guide), 'letter')} and the pattern "
                f"{len(pattern)}; "
                "they need to be as long as each other, with N where the PAM is"
            )
    for name in ("dna_bulge", "rna_bulge"):
        if getattr(options, name) < 0:
            raise ParameterError(f"{name} is {getattr(options, name)}, needs to be 0 or more")
    if len(pattern) + options.dna_bulge > MAX_LENGTH:
        raise ParameterError(
            f"dna_bulge is {options.dna_bulge:,} and the pattern has {len(pattern)} letters, "
            f"together they need to be {MAX_LENGTH} at most"
        )
    given = np.asarray(options.max_mismatches, np.int64)
    if given.ndim and len(given) != len(guides):
        raise ParameterError(
            f"max_mismatches has {len(given)} numbers for {len(guides)} guides, "
            "needs one for each, or one for all"
        )
    limits = np.broadcast_to(given, len(guides)).copy()
    if len(limits) and limits.min() < 0:
        raise ParameterError(f"max_mismatches is {limits.min()}, needs to be 0 or more")
    return np.minimum(limits, len(pattern))
