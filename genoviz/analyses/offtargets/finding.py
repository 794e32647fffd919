"""Off-target sites of guides in a genome, with mismatches and bulges."""

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
from genoviz.analyses.offtargets.search import iter_search, make_parts
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
"""What is left of a guide that was written with its PAM, nt: no shorter, as a truncated guide may
well end in GG, and no longer."""
_NAMED = 5


@dataclass(frozen=True, eq=False)
class OffTargetProgress:
    """How far a search is.

    Parameters
    ----------
    n_done, n_total
        Bases times strands times kinds of bulge that were searched, and in all.
    n_found
        Hits so far, all placements of bulges counted.
    hits
        All hits, when the search is done; None before.
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
    """Yield the progress of `find_offtargets`; the last one has the hits."""
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
    """Return the sites at which guides fit a genome with few mismatches.

    The pattern decides which windows are sites; then all letters of a guide are compared, so that
    ``N`` stands where the PAM is. A plain letter fits itself alone, a degenerate one all but the
    plain bases that it excludes; N and IUPAC letters of the genome are mismatches to plain letters
    alone. Windows never cross the end of a contig.

    Parameters
    ----------
    guides
        As long as the pattern, each; U and unknown letters fit everything.
    genome
        Sequences, or their planes where several searches are made.
    pattern
        Letters of IUPAC, such as ``"NNNNNNNNNNNNNNNNNNNNNGG"``.
    max_mismatches
        For all guides, or one for each.
    dna_bulge, rna_bulge
        Largest bulges, nt; a site has one bulge at most.
    strands
        ``"both"``, ``"+"`` or ``"-"``.
    placements
        Of the alignments of a guide that share strand and PAM, the ``"best"`` (fewest mismatches
        and bulged nt, then fewest bulged nt, then the leftmost bulge) or ``"all"``.
    method
        One of ``METHODS``; all find the same.
    devices
        Numbers of GPUs that search a part of the genome each, side by side; the current one alone
        if none are given. For the backend ``"cuda"``.
    scheduler
        The address of a scheduler of Dask, or a client of ``distributed``, whose workers search
        a tile of the genome for a block of guides each; None for this process alone.

    Raises
    ------
    ParameterError
        If guides and pattern do not fit each other, or an option is out of range.
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
    """Yield the progress of a search; the last one has the hits."""
    request = make_request(guides, genome, pattern, options)
    collector, n_done, n_found = HitCollector(request), 0, 0
    for found in iter_search(request, make_parts(request)):
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

    A piece is of one stretch of the genome, one strand and one kind of bulge, and is sorted. All
    placements of bulges are there.
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
    for found in iter_search(request, make_parts(request)):
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
    """Return protospacers of guides that may have been written with their PAM, and a note.

    Tables of CRISPOR and Benchling have the PAM behind the protospacer, and input of Cas-OFFinder
    has N there. So it is left out where the letters fit the PAM, or are all N, and
    ``PROTOSPACER_LENGTHS`` has what is left. The note names these guides; it is empty without any.

    Parameters
    ----------
    guides
        In upper case.
    pam, is_pam_first
        The PAM in letters of IUPAC, and whether it is at the 5' end. One of N alone is never found.
    names
        What the note calls the guides; their letters by default.

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
