"""Parameters of a search: guides, PAM and limits, parsed from text or sampled from a genome."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from genoviz.analyses.offtargets.finding import guide_with_pam, guides_without_pam
from genoviz.analyses.offtargets.request import SearchOptions
from genoviz.errors import ParameterError
from genoviz.io.offtargets.guide_files import SHORTEST_GUIDE
from genoviz.model import PathName
from genoviz.model.offtargets.genome_planes import GenomePlanes
from genoviz.model.offtargets.letters import LETTER_MASKS
from genoviz_app.pages.offtargets.search.guide_groups import GuideGroup
from genoviz_app.parts.words import n_words

LETTERS = frozenset("ACGTURYSWKMBDHVN")
MAX_MISMATCHES, MAX_BULGE = 10, 2
MAX_GUIDES, MAX_LETTERS = 10_000, 200
NO_PAM = "none"
NO_NAME = "#> "
"""Names cannot start with these, because such lines are not guides."""
LONGEST_LINK, LONGEST_NAME = 1500, 16
"""A word of at least this many nucleotides beside a guide is not a name."""
N_GUIDES, GUIDE_LENGTH = 5, 20
STRETCH, N_TRIES = 20_000, 60


@dataclass(frozen=True)
class Guide:
    """A guide: name, and protospacer without the PAM."""

    name: str
    letters: str


@dataclass(frozen=True)
class Pam:
    """A PAM: its bases, and whether it is 5' of the protospacer.

    Examples
    --------
    >>> Pam.parse("TTTV-"), str(Pam.parse("-NGG")), str(Pam.parse("none"))
    (Pam(letters='TTTV', is_first=True), '-NGG', 'none')
    """

    letters: str
    is_first: bool = False

    def __str__(self) -> str:
        if not self.letters:
            return NO_PAM
        return f"{self.letters}-" if self.is_first else f"-{self.letters}"

    @classmethod
    def parse(cls, text: str) -> Pam:
        """Parse a PAM: ``-NGG`` at the 3' end, ``TTTV-`` at the 5' end."""
        text = text.strip().upper().replace("U", "T")
        letters = text.strip("-")
        if text.lower() == NO_PAM or not letters:
            return cls("")
        _check_letters(letters, "the PAM")
        if len(letters) > MAX_LETTERS:
            raise ParameterError(
                f"the PAM has {n_words(len(letters), 'letter')}, needs {MAX_LETTERS} most"
            )
        return cls(letters, text.endswith("-"))


@dataclass(frozen=True)
class OffTargetQuery:
    """The parameters of a search.

    Attributes
    ----------
    guides
        Guides of one or several lengths.
    pam
        The PAM.
    max_mismatches, dna_bulge, rna_bulge
        The limits; bulges in nt.
    note
        Message on guides that were left out; "" if there are none.
    """

    guides: tuple[Guide, ...]
    pam: Pam
    max_mismatches: int
    dna_bulge: int = 0
    rna_bulge: int = 0
    note: str = field(default="", compare=False)

    @classmethod
    def of(cls, guides: Sequence[Guide], pam: Pam, *limits: int) -> OffTargetQuery:
        """Return a search for guides, some of which may include the PAM."""
        names, letters = [guide.name for guide in guides], [guide.letters for guide in guides]
        found, note = guides_without_pam(
            letters, pam.letters, is_pam_first=pam.is_first, names=names
        )
        return cls(tuple(map(Guide, names, found)), pam, *limits, note=note)

    @property
    def options(self) -> SearchOptions:
        """The limits as keyword arguments of a search."""
        sizes = {"dna_bulge": self.dna_bulge, "rna_bulge": self.rna_bulge}
        return SearchOptions(max_mismatches=self.max_mismatches, **sizes)

    @cached_property
    def linked_guides(self) -> str:
        """The guides as a part of a link; "" if they are too many for one."""
        lines = guide_lines((guide.name, guide.letters) for guide in self.guides)
        text = ";".join(line.replace(";", " ") for line in lines)
        return text if len(text) <= LONGEST_LINK else ""

    @property
    def lengths(self) -> tuple[int, ...]:
        """Distinct lengths of the protospacers, nt, ascending."""
        return tuple(sorted({len(guide.letters) for guide in self.guides}))

    @cached_property
    def groups(self) -> tuple[GuideGroup, ...]:
        """Guides by length, with N in place of the PAM."""
        groups = []
        for length in self.lengths:
            ids = [row for row, guide in enumerate(self.guides) if len(guide.letters) == length]
            both = [
                guide_with_pam(
                    self.guides[row].letters, self.pam.letters, is_pam_first=self.pam.is_first
                )
                for row in ids
            ]
            guides = tuple(guide for guide, _ in both)
            groups.append(GuideGroup(guides, both[0][1], np.array(ids, np.int64)))
        return tuple(groups)

    @property
    def patterns(self) -> tuple[list[str], str]:
        """Guides of one length with N in place of the PAM, and the pattern."""
        if len(self.groups) > 1:
            raise ParameterError(
                f"guides have {' and '.join(map(str, self.lengths))} nt; on the paths of a graph, "
                "guides of one search need to be as long as each other, without the PAM"
            )
        return list(self.groups[0].guides), self.groups[0].pattern


def parse_guides(text: str) -> tuple[Guide, ...]:
    r"""Parse guides, one per line: a guide, or a name and a guide.

    A text that begins with ``>`` is parsed as FASTA, like
    `genoviz.io.offtargets.guide_files.read_guides`: a guide may span several lines, and its name is
    the first word after ``>``. Guides without a name are numbered. Lines that begin with ``#`` are
    skipped.

    Raises
    ------
    ParameterError
        If a line has no guide or several, a FASTA name has no guide or one of fewer than 8 nt, a
        guide is too long, or there are too many guides.

    Examples
    --------
    >>> parse_guides("GATTACAGATTA, AAPL1\nctrl GGCATTACAGAU")
    (Guide(name='AAPL1', letters='GATTACAGATTA'), Guide(name='ctrl', letters='GGCATTACAGAT'))
    """
    lines = [
        (number, line.strip())
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    is_fasta = bool(lines) and lines[0][1].startswith(">")
    guides = _read_fasta(lines) if is_fasta else _read_lines(lines)
    _check_guides(guides)
    return tuple(guides)


def _read_fasta(lines: Sequence[tuple[int, str]]) -> list[Guide]:
    records: list[tuple[int, str, list[str]]] = []
    for number, line in lines:
        if line.startswith(">"):
            name = (line[1:].split() or [""])[0].lstrip(NO_NAME)
            records.append((number, name, []))
        else:
            letters = "".join(line.split()).upper()
            _check_letters(letters, f"line {number}")
            records[-1][2].append(letters.replace("U", "T"))
    for number, name, letters in records:
        if not letters:
            of_name = f", {name[:40]}," if name else ""
            raise ParameterError(f"the name in line {number}{of_name} has no guide below it")
        n = sum(map(len, letters))
        if n < SHORTEST_GUIDE:
            raise ParameterError(
                f"the guide below line {number} has {n} nt, needs {SHORTEST_GUIDE} in FASTA"
            )
    return [
        Guide(name or f"g{row}", "".join(letters))
        for row, (_, name, letters) in enumerate(records, start=1)
    ]


def _read_lines(lines: Sequence[tuple[int, str]]) -> list[Guide]:
    guides: list[Guide] = []
    name = ""
    for number, line in lines:
        words = line.replace(",", " ").replace(";", " ").split()
        if not words:
            continue
        if words[0].startswith(">"):
            name = " ".join(words).lstrip(NO_NAME)
            continue
        label, letters = _split(words, number)
        guides.append(Guide(label or name or f"g{len(guides) + 1}", letters))
        name = ""
    return guides


def guide_lines(guides: Iterable[tuple[str, str]]) -> list[str]:
    """Format names and bases of guides as lines that `parse_guides` reads.

    Examples
    --------
    >>> guide_lines([("g1", "GATTACA"), ("#2", "GGCATTA")])
    ['GATTACA', '2 GGCATTA']
    """
    lines = []
    for number, (name, letters) in enumerate(guides, start=1):
        name = name.lstrip(NO_NAME)
        lines.append(letters if name in ("", f"g{number}") else f"{name} {letters}")
    return lines


def _split(words: Sequence[str], number: int) -> tuple[str, str]:
    """Return name and guide from the words of a line."""
    are_guides = [LETTERS.issuperset(word.upper()) for word in words]
    if len(words) == 1 and not are_guides[0]:
        _check_letters(words[0].upper(), f"line {number}")
    place = max(range(len(words)), key=lambda i: (are_guides[i], len(words[i]), i))
    longest, n = max(words, key=len).upper(), len(words[place])
    if not are_guides[place] or n < min(SHORTEST_GUIDE, len(longest)):
        # The longest word was probably meant as the guide; its error is the most useful one.
        wrong = next((i for i, letter in enumerate(longest) if letter not in LETTERS), 0)
        raise ParameterError(
            f"line {number} has no guide: letter {wrong + 1} of {longest[:40]} is "
            f"{longest[wrong]!r}, needs nucleotides (IUPAC)"
        )
    others = [word for i, word in enumerate(words) if i != place and are_guides[i]]
    if any(len(word) >= LONGEST_NAME for word in others):
        raise ParameterError(
            f"line {number} has two guides, {others[-1][:40]} and {words[place][:40]}; "
            "write one a line, with its name before it"
        )
    name = " ".join(word for i, word in enumerate(words) if i != place)
    return name, words[place].upper().replace("U", "T")


def _check_letters(letters: str, where: str) -> None:
    for place, letter in enumerate(letters, start=1):
        if letter not in LETTERS:
            raise ParameterError(
                f"{where} has {letter!r} at position {place}, needs nucleotides (IUPAC)"
            )


def _check_guides(guides: Sequence[Guide]) -> None:
    if not guides:
        raise ParameterError("no guides; enter one per line")
    if len(guides) > MAX_GUIDES:
        raise ParameterError(
            f"there are {n_words(len(guides), 'guide')}; the page takes {MAX_GUIDES:,}"
        )
    for guide in guides:
        n_letters = len(guide.letters)
        if n_letters > MAX_LETTERS:
            raise ParameterError(f"{guide.name} has {n_letters:,} nt; at most {MAX_LETTERS} fit")


def pick_guides(
    planes: GenomePlanes, pam: Pam, random: np.random.Generator
) -> list[tuple[str, str]]:
    """Sample protospacers next to a PAM on the forward strand; return names and bases.

    Raises
    ------
    ParameterError
        If none is found at many random positions.
    """
    guides: list[tuple[str, str]] = []
    for _ in range(N_TRIES):
        first = int(random.integers(max(planes.n_bases - STRETCH, 1)))
        letters = planes.cut(first, min(first + STRETCH, planes.n_bases))
        starts = _fitting(letters, pam)
        if len(starts):
            start = int(random.choice(starts)) + len(pam.letters) * pam.is_first
            word = letters[start : start + GUIDE_LENGTH].tobytes().decode()
            ends = np.array([first + start, first + start + GUIDE_LENGTH - 1])
            contig, last = planes.find_contigs(ends).tolist()
            if contig == last:
                place = first + start - int(planes.offsets[contig]) + 1
                # The name of a haplotype is unambiguous and shorter than that of its path.
                name = PathName.parse(planes.names[contig])
                of = "#".join(filter(None, (name.sample, name.haplotype))) or name.text
                guides.append((f"{of}:{place}", word))
        if len(guides) == N_GUIDES:
            break
    if not guides:
        raise ParameterError("no protospacer with this PAM was found; choose another PAM")
    return guides


def _fitting(letters: np.ndarray, pam: Pam) -> np.ndarray:
    """Return positions of a PAM next to a protospacer of A, C, G and T; int64."""
    length = GUIDE_LENGTH + len(pam.letters)
    if len(letters) < length:
        return np.empty(0, np.int64)
    masks = LETTER_MASKS[letters]
    n = len(letters) - length + 1
    is_plain = np.isin(letters, np.frombuffer(b"ACGT", np.uint8))
    sums = np.concatenate([[0], np.cumsum(is_plain)])
    fits = sums[length : length + n] - sums[:n] == length
    shift = 0 if pam.is_first else GUIDE_LENGTH
    for place, letter in enumerate(pam.letters.encode()):
        at = masks[shift + place : shift + place + n]
        fits &= (at & LETTER_MASKS[letter]) != 0
    return np.flatnonzero(fits)
