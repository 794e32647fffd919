"""A simulated genome with what makes real ones hard to search: repeats, gaps, soft masking."""

from __future__ import annotations

import numpy as np

from genoviz.errors import ParameterError
from genoviz.model.sequences.bases import reverse_complement

CONTIG_SHARES = {"chr1": 0.6, "chr2": 0.32, "chr3": 0.08}
MIN_BASES = 20_000
_LETTERS = np.frombuffer(b"ACGT", np.uint8)
_LOWER = 0x20
# Next base after A, C, G and T; CG is rare, as it is in vertebrates.
_NEXT_BASE = np.array(
    [
        [0.33, 0.17, 0.24, 0.26],
        [0.35, 0.25, 0.05, 0.35],
        [0.29, 0.21, 0.25, 0.25],
        [0.22, 0.20, 0.25, 0.33],
    ]
)
_FAMILY_LENGTHS = (300, 450, 1_100, 2_400)
_SHARE_OF_REPEATS = 0.30
_MONOMER = 171

Record = tuple[str, np.ndarray]


def simulate_genome(n_bases: int = 200_000, *, seed: int = 0) -> list[Record]:
    """Return name and letters (uint8) of three contigs, the same for each seed.

    Of the bases, about 30 % are copies of four families of interspersed repeats, on both strands
    and up to 15 % off their consensus; there is an array of a 171 bp monomer, microsatellites, a
    stretch of ``chr1`` that is found again on the other strand of ``chr2`` with few differences,
    and one that is repeated exactly. Repeats are in lower case. ``chr1`` has a gap of N, and a few
    letters are ambiguous.

    Raises
    ------
    ParameterError
        If ``n_bases`` is less than 20,000.
    """
    if n_bases < MIN_BASES:
        raise ParameterError(f"n_bases is {n_bases:,}, needs at least {MIN_BASES:,}")
    rng = np.random.default_rng(seed)
    lengths = [round(n_bases * share) for share in CONTIG_SHARES.values()]
    contigs = [_make_background(rng, length) for length in lengths]
    _add_families(rng, contigs)
    _add_tandem_repeats(rng, contigs)
    _add_duplications(rng, contigs)
    _add_unknown(rng, contigs[0])
    return list(zip(CONTIG_SHARES, contigs, strict=True))


def _make_background(rng: np.random.Generator, n: int) -> np.ndarray:
    cumulative = np.cumsum(_NEXT_BASE, axis=1)
    # What each base would be after A, C, G or T; which of the four holds is followed below.
    choices = (rng.random(n)[:, None, None] > cumulative[None]).sum(axis=2).clip(max=3)
    codes, code = np.empty(n, np.int64), 0
    for i, choice in enumerate(choices.tolist()):
        code = choice[code]
        codes[i] = code
    return _LETTERS[codes]


def _mutate(rng: np.random.Generator, bases: np.ndarray, divergence: float) -> np.ndarray:
    """Return a copy with substitutions, and with a tenth as many bases left out."""
    mutated = bases.copy()
    is_other = rng.random(len(bases)) < divergence
    mutated[is_other] = rng.choice(_LETTERS, int(is_other.sum()))
    return mutated[rng.random(len(bases)) >= divergence / 10]


def _place(rng: np.random.Generator, contigs: list[np.ndarray], bases: np.ndarray) -> None:
    """Write bases in lower case over a stretch of some contig that has room for them."""
    room = np.array([max(len(contig) - len(bases), 0) for contig in contigs])
    contig = contigs[rng.choice(len(contigs), p=room / room.sum())]
    start = rng.integers(0, len(contig) - len(bases))
    contig[start : start + len(bases)] = bases | _LOWER


def _add_families(rng: np.random.Generator, contigs: list[np.ndarray]) -> None:
    n_bases = sum(map(len, contigs))
    for length in _FAMILY_LENGTHS:
        consensus = _make_background(rng, length)
        n_left = n_bases * _SHARE_OF_REPEATS / len(_FAMILY_LENGTHS)
        while n_left > 0:
            copy = _mutate(rng, consensus, rng.choice([0.005, 0.02, 0.06, 0.15]))
            # As with retrotransposons, the end is nearly always there and the start often not.
            copy = copy[rng.choice([0, rng.integers(0, len(copy) * 3 // 4)]) :]
            _place(rng, contigs, copy if rng.random() < 0.5 else reverse_complement(copy))
            n_left -= len(copy)


def _add_tandem_repeats(rng: np.random.Generator, contigs: list[np.ndarray]) -> None:
    n_bases = sum(map(len, contigs))
    monomer = _make_background(rng, _MONOMER)
    n_copies = max(4, n_bases // 40 // _MONOMER)
    array = np.concatenate([_mutate(rng, monomer, 0.02) for _ in range(n_copies)])
    start = len(contigs[1]) // 2
    contigs[1][start : start + len(array)] = array | _LOWER
    for unit in (b"A", b"CA", b"AAT", b"GATA", b"TTAGGG"):
        for _ in range(max(1, n_bases // 50_000)):
            n_units = int(rng.integers(15, 60)) // len(unit) + 3
            _place(rng, contigs, np.frombuffer(unit * n_units, np.uint8))


def _add_duplications(rng: np.random.Generator, contigs: list[np.ndarray]) -> None:
    first, second = contigs[:2]
    n = len(first) // 20
    copy = reverse_complement(_mutate(rng, first[n : 2 * n], 0.002))
    second[n // 2 : n // 2 + len(copy)] = copy
    exact = n // 3
    first[-2 * exact : -exact] = first[4 * n : 4 * n + exact]


def _add_unknown(rng: np.random.Generator, contig: np.ndarray) -> None:
    n = len(contig)
    contig[n // 3 : n // 3 + n // 80] = ord("N")
    contig[rng.integers(0, n, 6)] = np.frombuffer(b"RYKMSW", np.uint8)
