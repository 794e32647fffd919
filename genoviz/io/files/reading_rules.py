"""How this process reads files of other people: what it may map, and how much it takes.

A command reads files of the person who runs it, and ends with them. A process that serves others
must outlive every file: a file that is rewritten shorter while it is mapped ends the process that
looks at it (SIGBUS), and a small file may hold more text than the machine has memory.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ReadingRules:
    """What holds for all files that this process reads.

    Attributes
    ----------
    snapshots
        Whether files are copied before they are looked at. Otherwise they are mapped as they are.
    max_text_bytes
        How many bytes a compressed file may hold; None for any number.
    max_ratio
        How many bytes of text may come of a compressed byte, beyond the first 256 MB of text; None
        for any number. Genomes have 3 to 5, graphs and tables up to some 50; the
        maximum of gzip is 1,032.
    max_line_bytes
        How long a line of a compressed file may be, at least 8 MB; None for any length.
    """

    snapshots: bool = False
    max_text_bytes: int | None = None
    max_ratio: int | None = None
    max_line_bytes: int | None = None


RULES = ReadingRules()
"""What holds in this process; who serves others sets it before the first file is read."""


def show_bytes(n: int) -> str:
    """Return a number of bytes for people.

    Examples
    --------
    >>> show_bytes(950), show_bytes(1_500_000), show_bytes(12_600_000_000)
    ('950 bytes', '1.5 MB', '12.6 GB')
    """
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:,} bytes"
