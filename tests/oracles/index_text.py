"""Oracle: the text of an index, letter by letter."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class SlowText:
    """Symbols, with contig and position of each, and the text position of each letter."""

    symbols: list[int] = field(default_factory=list)
    places: list[tuple[int, int]] = field(default_factory=list)
    run_lengths: list[int] = field(default_factory=list)
    position_of: dict[tuple[int, int], int] = field(default_factory=dict)

    def _add(self, symbol: int, contig: int, start: int) -> None:
        self.symbols.append(symbol)
        self.places.append((contig, start))


def slow_text(contigs: list[str]) -> SlowText:
    """Return the text of upper-case contigs."""
    text = SlowText()
    for number, letters in enumerate(contigs):
        in_run = False
        for start, letter in enumerate(letters):
            if letter in "ACGT":
                text.position_of[number, start] = len(text.symbols)
                text._add("ACGT".index(letter), number, start)
            elif in_run:
                text.run_lengths[-1] += 1
            else:
                text._add(4, number, start)
                text.run_lengths.append(1)
            in_run = letter not in "ACGT"
            text.position_of.setdefault((number, start), -1)
        text._add(4, number, len(letters))
        text.run_lengths.append(0)
    return text
