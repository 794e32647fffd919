"""Search for off-target sites of guides in a genome, with mismatches and bulges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from genoviz.analyses.offtargets.hits import HitCollector, OffTargetHits
from genoviz.analyses.offtargets.request import (
    METHODS,
    PLACEMENTS,
    STRANDS,
    SearchOptions,
    make_request,
)
from genoviz.analyses.offtargets.search import make_parts
from genoviz.analyses.offtargets.tiles import iter_found
from genoviz.backend import Backend, Scheduler
from genoviz.generators import in_one_go
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.offtargets.letters import LETTER_MASKS
from genoviz.model.sequences.sequences import Sequences

__all__ = [
    "METHODS",
    "PLACEMENTS",
    "STRANDS",
    "OffTargetProgress",
    "find_offtargets",
    "guide_with_pam",
    "guides_without_pam",
    "iter_find_offtargets",
    "stream_offtargets",
]

PROTOSPACER_LENGTHS = range(20, 25)
"""Valid lengths, nt, of a guide after removing its PAM: no shorter, because a truncated guide may
end in GG by chance, and no longer."""
_NAMED = 5


@dataclass(frozen=True, eq=False)
class OffTargetProgress:
    """Progress of a search.

    Parameters
    ----------
    n_done, n_total
        Work done and in total: bases times strands times kinds of bulge.
    n_found
        Number of hits so far, counting all placements of bulges.
    hits
        All hits in the last report; None before.
    """

    n_done: int
    n_total: int
    n_found: int
    hits: OffTargetHits | None = None


def iter_find_offtargets(
    guides: Sequence[str],
    genome: Sequences | GenomePlanes,
    pattern: str,
    *,
    max_mismatches: int | Sequence[int],
    dna_bulge: int = 0,
    rna_bulge: int = 0,
    strands: str = "both",
    placements: str = "best",
    method: str = "auto",
    devices: Sequence[int] | None = None,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[OffTargetProgress]:
    """Yield the progress of `find_offtargets`; the last report has the hits."""
    options = SearchOptions(
        max_mismatches=max_mismatches,
        dna_bulge=dna_bulge,
        rna_bulge=rna_bulge,
        strands=strands,
        placements=placements,
        method=method,
        devices=devices,
        scheduler=scheduler,
        backend=backend,
    )
    return iter_hits(guides, genome, pattern, options)


@in_one_go(iter_find_offtargets)
def find_offtargets(last: OffTargetProgress) -> OffTargetHits:
    """Find the sites of a genome that match guides with few mismatches.

    The pattern decides which windows are candidates. All letters of a guide are then compared, so
    guides have ``N`` at the PAM. A plain letter matches only itself. A degenerate letter matches
    everything except the plain bases that it excludes. N and IUPAC letters of the genome are
    mismatches only to plain letters. Windows never cross contig ends.

    Parameters
    ----------
    guides
        Each as long as the pattern; U and unknown letters match everything.
    genome
        Sequences, or their planes, which speed up repeated searches.
    pattern
        IUPAC letters, such as ``"NNNNNNNNNNNNNNNNNNNNNGG"``.
    max_mismatches
        For all guides, or one for each.
    dna_bulge, rna_bulge
        Maximum bulge sizes, nt; a site has at most one bulge.
    strands
        ``"both"``, ``"+"`` or ``"-"``.
    placements
        Of the alignments of a guide with the same strand and PAM, return the ``"best"`` (fewest
        mismatches plus bulged nt, then fewest bulged nt, then the leftmost bulge) or ``"all"``.
    method
        One of ``METHODS``; the results are the same.
    devices
        Numbers of GPUs that each search a part of the genome concurrently; only the current one
        by default. For the backend ``"cuda"``.
    scheduler
        Address of a Dask scheduler, or a ``distributed`` client. Each worker task searches a tile
        of the genome for a block of guides. None uses this process only.

    Raises
    ------
    ParameterError
        If guides and pattern do not match, or an option is out of range.
    BackendError
        If the backend cannot be used.

    References
    ----------
    Bae et al. 2014, Cas-OFFinder, doi:10.1093/bioinformatics/btu048.

    Examples
    --------
    >>> genome = Sequences.from_records([("c", "TTGACCTGTCGCTGACGCTGGAA")])
    >>> hits = find_offtargets(["GACCTGTCGCTGACGCNNN"], genome, "N" * 17 + "GG", max_mismatches=1)
    >>> hits.starts.tolist(), hits.mismatches.tolist()
    ([2], [0])
    """
    return last.hits


def iter_hits(
    guides: Sequence[str], genome: Sequences | GenomePlanes, pattern: str, options: SearchOptions
) -> Iterator[OffTargetProgress]:
    """Yield the progress of a search; the last report has the hits."""
    request = make_request(guides, genome, pattern, options)
    collector, n_done, n_found = HitCollector(request), 0, 0
    for found in iter_found(request, make_parts(request)):
        n_done += found.n_bases
        n_found += len(found.positions)
        collector.add(found)
        yield OffTargetProgress(n_done, request.n_total, n_found)
    hits = collector.join()
    if options.placements == "best" and len(request.variants) > 1:
        hits = hits.best_placements()
    yield OffTargetProgress(request.n_total, request.n_total, n_found, hits)


def stream_offtargets(
    guides: Sequence[str],
    genome: Sequences | GenomePlanes,
    pattern: str,
    *,
    max_mismatches: int | Sequence[int],
    dna_bulge: int = 0,
    rna_bulge: int = 0,
    strands: str = "both",
    method: str = "auto",
    devices: Sequence[int] | None = None,
    scheduler: Scheduler = None,
    backend: Backend = "auto",
) -> Iterator[OffTargetHits]:
    """Yield the hits of `find_offtargets` in pieces, for results that are larger than memory.

    A piece covers one stretch of the genome, one strand and one kind of bulge, and is sorted. All
    placements of bulges are returned.
    """
    options = SearchOptions(
        max_mismatches=max_mismatches,
        dna_bulge=dna_bulge,
        rna_bulge=rna_bulge,
        strands=strands,
        method=method,
        devices=devices,
        scheduler=scheduler,
        backend=backend,
    )
    request = make_request(guides, genome, pattern, options)
    collector = HitCollector(request)
    for found in iter_found(request, make_parts(request)):
        collector.add(found)
        if len(found.positions):
            yield collector.join()


def guide_with_pam(protospacer: str, pam: str, *, is_pam_first: bool = False) -> tuple[str, str]:
    """Return guide and pattern for a protospacer and a PAM.

    Examples
    --------
    >>> guide_with_pam("ACGT", "NGG")
    ('ACGTNNN', 'NNNNNGG')
    """
    guide, pattern = protospacer + "N" * len(pam), "N" * len(protospacer) + pam
    if is_pam_first:
        guide, pattern = "N" * len(pam) + protospacer, pam + "N" * len(protospacer)
    return guide, pattern


def guides_without_pam(
    guides: Sequence[str], pam: str, *, is_pam_first: bool = False, names: Sequence[str] = ()
) -> tuple[tuple[str, ...], str]:
    """Strip the PAM from guides that were written with it; return protospacers and a note.

    Tables of CRISPOR and Benchling append the PAM to the protospacer, and Cas-OFFinder input has N
    there. The last letters are removed if they match the PAM or are all N, and the rest has one of
    ``PROTOSPACER_LENGTHS``. The note names these guides; it is empty if there are none.

    Parameters
    ----------
    guides
        In upper case.
    pam, is_pam_first
        The PAM in IUPAC letters, and whether it is at the 5' end. A PAM of only N is never removed.
    names
        Names of the guides in the note; their letters by default.

    Examples
    --------
    >>> guides, note = guides_without_pam(["GACCTGTCGCTGACGCATTCAGG"], "NGG")
    >>> guides
    ('GACCTGTCGCTGACGCATTC',)
    >>> note
    '1 guide ends in the PAM NGG, which is left out of it: GACCTGTCGCTGACGCATTCAGG'
    """
    found = [_without_pam(guide, pam, is_pam_first) for guide in guides]
    rows = [row for row, guide in enumerate(guides) if found[row] != guide]
    if not rows:
        return tuple(found), ""
    many = "s" * (len(rows) > 1)
    shown = ", ".join((names or guides)[row] for row in rows[:_NAMED])
    more = f" and {len(rows) - _NAMED:,} more" if len(rows) > _NAMED else ""
    verb = f"begin{'' if many else 's'} with" if is_pam_first else f"end{'' if many else 's'} in"
    return tuple(found), (
        f"{len(rows):,} guide{many} {verb} the PAM {pam}, which is left out of "
        f"{'them' if many else 'it'}: {shown}{more}"
    )


def _without_pam(guide: str, pam: str, is_pam_first: bool) -> str:
    n_left = len(guide) - len(pam)
    if not pam.strip("N") or n_left not in PROTOSPACER_LENGTHS:
        return guide
    letters = guide[: len(pam)] if is_pam_first else guide[n_left:]
    fits = all(
        LETTER_MASKS[ord(letter)] & ~LETTER_MASKS[ord(needed)] == 0
        for letter, needed in zip(letters, pam, strict=True)
    )
    if not fits and letters.strip("N"):
        return guide
    return guide[len(pam) :] if is_pam_first else guide[:n_left]
