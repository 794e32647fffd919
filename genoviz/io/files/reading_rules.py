"""Rules for reading untrusted files: memory-mapping and size limits.

A command reads its user's own files. A server must survive every file: truncating a mapped file
kills the process that reads it (SIGBUS), and a small compressed file may expand beyond the memory
of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ReadingRules:
    """Rules for all files that this process reads.

    Attributes
    ----------
    snapshots
        Whether to copy files before reading. Otherwise they are mapped directly.
    max_text_bytes
        Maximum uncompressed size of a file; None for no limit.
    max_ratio
        Maximum compression ratio, applied beyond the first 256 MB of text; None for no limit.
        Genomes have 3 to 5, graphs and tables up to about 50; gzip's maximum is 1,032.
    max_line_bytes
        Maximum length of a line in a compressed file, at least 8 MB; None for no limit.
    """

    snapshots: bool = False
    max_text_bytes: int | None = None
    max_ratio: int | None = None
    max_line_bytes: int | None = None


RULES = ReadingRules()
"""Rules of this process; a server sets them before the first file is read."""


def show_bytes(n: int) -> str:
    """Return a number of bytes as text.

    Examples
    --------
    >>> show_bytes(950), show_bytes(1_500_000), show_bytes(12_600_000_000)
    ('950 bytes', '1.5 MB', '12.6 GB')
    """
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if n >= size:
            return f"{n / size:.3g} {unit}"
    return f"{n:,} bytes"
