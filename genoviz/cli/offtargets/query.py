"""What ``genoviz offtarget`` searches for, where, and the search with its progress bar."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from genoviz.backend import cuda_is_available
from genoviz.cli.intervals.options import as_file
from genoviz.cli.results import ProgressBar, print_notes
from genoviz.errors import ParameterError, n_words
from genoviz.model.offtargets.protospacer import ENZYMES

if TYPE_CHECKING:
    import numpy as np

    from genoviz.analyses.offtargets.carriers import PossibleSites
    from genoviz.analyses.offtargets.paths import PathOffTargets
    from genoviz.analyses.offtargets.pieces import HitSpool
    from genoviz.analyses.offtargets.reference import ReferenceSites
    from genoviz.analyses.offtargets.request import SearchOptions
    from genoviz.analyses.offtargets.summaries import SummaryCollector
    from genoviz.model.offtargets.genome_planes import GenomePlanes
    from genoviz.model.offtargets.hits import OffTargetHits


_PART = r"[0-9]{1,4}(?::[0-9]{1,4}){0,2}"
_DEVICE = re.compile(rf"([CGA])({_PART}(?:,{_PART})*)?")


EnzymeName = StrEnum("EnzymeName", [(name, name) for name in ENZYMES])


@dataclass(frozen=True)
class Search:
    """Guides of one length that are searched together.

    Parameters
    ----------
    pattern
        What a site needs to have.
    guides
        Each as long as the pattern.
    max_mismatches
        Of each guide.
    ids
        Name of each guide, or None.
    """

    pattern: str
    guides: tuple[str, ...]
    max_mismatches: tuple[int, ...]
    ids: tuple[str, ...] | None


@dataclass(frozen=True)
class Query:
    """What is asked for.

    Parameters
    ----------
    genome
        File or folder of sequences.
    searches
        One for each length of guides.
    dna_bulge, rna_bulge
        Largest bulges, nt.
    has_bulges
        Whether rows have columns for bulges.
    is_input_file
        Whether an input file asks for it.
    """

    genome: Path
    searches: tuple[Search, ...]
    dna_bulge: int
    rna_bulge: int
    has_bulges: bool
    is_input_file: bool


def read_query(path: Path) -> Query:
    """Return what an input file of Cas-OFFinder asks for; notes go to standard error."""
    from genoviz.io.offtargets.cas_offinder_input import read_offtarget_input

    found = read_offtarget_input(as_file(path))
    print_notes(*found.notes)
    search = Search(found.pattern, found.guides, found.max_mismatches, found.ids)
    sizes = found.dna_bulge, found.rna_bulge
    return Query(found.genome, (search,), *sizes, found.has_bulges, True)


def make_query(
    genome: Path | None,
    given: Sequence[str],
    file: Path | None,
    pam: str,
    *,
    pam_first: bool,
    mismatches: int,
    dna_bulge: int,
    rna_bulge: int,
) -> Query:
    """Return what options ask for: guides of the command line, then of a file.

    The PAM of guides that have it is left out; a note on standard error names them.
    """
    from genoviz.analyses.offtargets.finding import guide_with_pam, guides_without_pam
    from genoviz.io.offtargets.cas_offinder_input import PATTERN_LETTERS, GuideList, read_guides

    if genome is None:
        raise typer.BadParameter("give --genome, or an INPUT file")
    if not given and file is None:
        raise typer.BadParameter("give --guide or --guides, or an INPUT file")
    pam = pam.upper()
    wrong = {*pam} - {*PATTERN_LETTERS}
    if wrong:
        raise typer.BadParameter(
            f"--pam {pam} has {min(wrong)!r}, needs letters of {PATTERN_LETTERS}"
        )
    listed = GuideList((), (), ()) if file is None else read_guides(as_file(file))
    print_notes(*listed.notes)
    guides = (*map(_check_guide, given), *listed.guides)
    limits = (None,) * len(given) + listed.max_mismatches
    names = (*(f"guide_{n}" for n in range(1, len(given) + 1)), *listed.names)
    called = (*guides[: len(given)], *listed.names)
    guides, note = guides_without_pam(guides, pam, is_pam_first=pam_first, names=called)
    print_notes(note)
    rows: dict[int, list[int]] = {}
    for row, guide in enumerate(guides):
        rows.setdefault(len(guide), []).append(row)
    searches = []
    for same in rows.values():
        padded = [guide_with_pam(guides[row], pam, is_pam_first=pam_first) for row in same]
        searches.append(
            Search(
                padded[0][1],
                tuple(guide for guide, _ in padded),
                tuple(mismatches if limits[row] is None else limits[row] for row in same),
                tuple(names[row] for row in same) if file is not None or len(rows) > 1 else None,
            )
        )
    has_bulges = dna_bulge > 0 or rna_bulge > 0
    return Query(as_file(genome), tuple(searches), dna_bulge, rna_bulge, has_bulges, False)


def _check_guide(guide: str) -> str:
    from genoviz.io.offtargets.guide_files import GUIDE_LETTERS

    for place, letter in enumerate(guide.upper(), start=1):
        if letter not in GUIDE_LETTERS:
            raise ParameterError(
                f"letter {place} of --guide {guide} is {letter!r}, needs one of {GUIDE_LETTERS}"
            )
    if not guide:
        raise ParameterError("--guide is empty, needs letters")
    return guide.upper().replace("U", "T")


def protect_genome(genome: Path, output: Path | None) -> None:
    """Let no file of a genome be written over: those of its folder, or one that INPUT names."""
    from genoviz.io.files.replace_file import protect_more, refuse_input
    from genoviz.io.offtargets.genome_sequences import find_genome_files

    protect_more(find_genome_files(genome)[0])
    if output is not None:
        refuse_input(output)


def open_genome(path: Path, bar: ProgressBar, *, cache: bool) -> GenomePlanes:
    """Return the planes of a genome; notes go to standard error."""
    from genoviz.analyses.offtargets.genome_planes import make_genome_planes
    from genoviz.io.offtargets.genome_planes import iter_read_genome_planes

    for progress in iter_read_genome_planes(path, make_genome_planes, cache=cache):
        bar.update(progress.stage, progress.n_bytes, progress.n_bytes_total, "B")
    print_notes(*progress.notes)
    if progress.planes.n_bases == 0:
        print_notes(f"{path.name} has no bases, so there are no hits")
    return progress.planes


@dataclass(frozen=True, eq=False)
class Answer:
    """What a search found.

    Parameters
    ----------
    search
        What was searched for.
    counts
        int64, shape (n_guides, n): hits of each guide by mismatches.
    hits
        The hits, where they are wanted: all at once, or spooled; of a graph, each site at its
        first place.
    sums
        What guides amount to, once every hit has been added; None where that is not wanted, and
        of a graph.
    sites, reference
        Of a graph: the sites with all their places, and what the reference has there, if there is
        one.
    possible
        Which sites depend on alleles whose phase is not known; None where none can.
    """

    search: Search
    counts: np.ndarray
    hits: OffTargetHits | HitSpool | None = None
    sums: SummaryCollector | None = None
    sites: PathOffTargets | None = None
    reference: ReferenceSites | None = None
    possible: PossibleSites | None = None


def run_searches(
    query: Query,
    planes: GenomePlanes,
    bar: ProgressBar,
    options: SearchOptions,
    *,
    count_only: bool,
    closest: int | None,
    scores: bool,
) -> list[Answer]:
    """Return what each search of a query found.

    Parameters
    ----------
    query, planes, bar
        What to search for, where, and what shows how far it is.
    options
        How to search; each search has mismatches of its own.
    count_only
        Whether hits are counted and not kept.
    closest
        How many hits of each guide are kept; None for all.
    scores
        Whether guides are to be summed up.
    """
    from genoviz.analyses.offtargets.summaries import SummaryCollector

    answers = []
    for search in query.searches:
        stage = f"Searching {n_words(len(search.guides), 'guide')} of {len(search.pattern)} nt"
        asked = search.guides, planes, search.pattern
        options = replace(options, max_mismatches=search.max_mismatches)
        # The best of several placements is known only once there are hits.
        may_repeat = options.placements == "best" and options.has_bulges
        if count_only and not may_repeat:
            answers.append(Answer(search, _count(asked, options, bar, stage)))
        else:
            hits, counts = _find(asked, options, closest, bar, stage, len(query.searches))
            sums = SummaryCollector(search.guides, search.pattern) if scores else None
            answers.append(Answer(search, counts, None if count_only else hits, sums))
    return answers


def _find(
    asked: tuple,
    options: SearchOptions,
    closest: int | None,
    bar: ProgressBar,
    stage: str,
    n_searches: int,
) -> tuple[OffTargetHits | HitSpool, np.ndarray]:
    """Return the hits of a search, spooled unless they are the closest, and how many there are."""
    import numpy as np

    from genoviz.analyses.offtargets.counts import find_closest
    from genoviz.analyses.offtargets.pieces import RUN_HITS, iter_spooled
    from genoviz.analyses.offtargets.request import make_request

    if closest is not None:
        bar.update(stage, 0, None, "")
        hits = find_closest(*asked, options, closest)
        return hits, hits.count_by_mismatches()
    request = make_request(*asked, options)
    for progress in iter_spooled(request, max_in_memory=RUN_HITS // n_searches):
        bar.update(stage, progress.n_done, progress.n_total, "bp")
    counts = progress.spool.counts
    # As wide as what was found.
    return progress.spool, counts[:, : max(1, len(np.trim_zeros(counts.sum(axis=0), "b")))]


def _count(asked: tuple, options: SearchOptions, bar: ProgressBar, stage: str) -> np.ndarray:
    from genoviz.analyses.offtargets.counts import iter_counts

    for progress in iter_counts(*asked, options):
        bar.update(stage, progress.n_done, progress.n_total, "bp")
    return progress.counts


@dataclass(frozen=True)
class Device:
    """Where to search.

    Parameters
    ----------
    backend
        As of `find_offtargets`.
    devices
        Numbers of GPUs, or None.
    """

    backend: str
    devices: tuple[int, ...] | None = None


def parse_device(text: str) -> Device:
    """Return what a device argument means.

    A list has numbers, and ranges (``0:4`` is 0 to 3, ``0:4:2`` is 0 and 2). Without one all GPUs
    are used; processors are always all used. ``A`` is GPUs where there are some.

    Examples
    --------
    >>> parse_device("C0").backend, parse_device("G0,2:4").devices
    ('cpu', (0, 2, 3))
    """
    found = _DEVICE.fullmatch(text)
    numbers = _numbers(found[2]) if found and found[2] else ()
    if not found or (found[2] and not numbers):
        raise typer.BadParameter(
            f"DEVICE is {text!r}, needs C (processors), G (GPUs) or A (what there is), with a list "
            "of numbers or without, such as G0,2 or G0:2"
        )
    if found[1] == "C" or (found[1] == "A" and not cuda_is_available()):
        return Device("cpu")
    if not numbers and cuda_is_available():
        import cupy

        numbers = tuple(range(cupy.cuda.runtime.getDeviceCount()))
    return Device("cuda", numbers or None)


def _numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of a list, each once."""
    numbers: dict[int, None] = {}
    for part in text.split(","):
        bounds = [int(bound) for bound in part.split(":")]
        if len(bounds) == 3 and bounds[2] == 0:
            return ()
        numbers |= dict.fromkeys(range(*bounds) if len(bounds) > 1 else bounds)
    return tuple(numbers)
