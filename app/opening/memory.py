"""Memory budget for open files, checked before a file is read.

The memory for opening a file is estimated generously from its size, format and first lines, and
claimed from the server's budget until no tab has the file open. A file that does not fit is
rejected with the numbers. The process that reads it is limited to the free memory.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from genoviz.collection.members import GraphMember
from genoviz.collection.reading import estimate_member
from genoviz.errors import FileFormatError
from genoviz.io.files.content import MAX_BYTES_IN_MEMORY
from genoviz.io.files.reading_rules import show_bytes
from genoviz.io.genotypes.bgen import read_bgen_header
from genoviz.io.genotypes.plink_files import ENDINGS, plink_paths
from genoviz.io.graph.gbz_base import SQLITE_MAGIC
from genoviz.io.intervals.kinds import ROW_FORMATS, find_kind
from genoviz.io.text.text_file import read_start
from genoviz_app.server.limits import Share

SERVER_SHARE = 0.6
"""Default share of the machine's memory for open files."""

FILE_SHARE = 0.5
"""Maximum share of the budget for one file."""

KEPT_SHARE = 0.125
"""Share of the budget for files that no tab has open."""

MAX_DOSAGE_BYTES = 4 << 30
"""Dosages up to this size are read with genotypes, to the cache folder."""

_CGROUPS = ("memory.max", "memory/memory.limit_in_bytes", "memory.limit_in_bytes")
_PGEN_COUNTS = slice(3, 11)
_SAMPLE_BYTES = 1 << 20
_N_PARTS, _PART_BYTES = 64, 16 << 10
_COMPRESSED_SAMPLE_BYTES = 1 << 16
_MAX_RATIO = 1_032  # of gzip
_BYTES_PER_DATABASE_BYTE = 24
_N_OWN_REFERENCES = 3  # to a kept content: the cache's, a local variable's, and getrefcount's


class Claim:
    """Memory claimed for an open file."""

    def __init__(
        self, budget: MemoryBudget, n_bytes: int, max_bytes: int | None, tab: Any = None
    ) -> None:
        self._budget, self.n_bytes, self.max_bytes = budget, n_bytes, max_bytes
        self.tab: Any = None if tab is None else weakref.ref(tab)
        self.content = 0
        self.used = 0.0

    def keep(self, content: Any) -> None:
        """Bind the claim to a content; it is released when nobody has the content."""
        self.content, self.tab = id(content), None
        self.used = time.monotonic()
        weakref.finalize(content, self.release)

    def is_of(self, tabs: Iterable[Any], contents: set[int]) -> bool:
        """Return whether it belongs to one of the contents, or to an opening of one of the tabs."""
        opener = None if self.tab is None else self.tab()
        return self.content in contents or (opener is not None and opener in tabs)

    def release(self) -> None:
        """Release the claim; idempotent."""
        self._budget.give_back(self)


class MemoryBudget:
    """Memory budget of all open files.

    Attributes
    ----------
    total
        Total bytes; None for no limit.
    """

    def __init__(self) -> None:
        self.total: int | None = None
        self._claims: set[Claim] = set()
        self._lock = threading.RLock()  # reentrant: garbage collection may release a claim

    @property
    def taken(self) -> int:
        """Bytes claimed by files that are open or being opened."""
        with self._lock:
            return sum(claim.n_bytes for claim in self._claims)

    @property
    def max_file(self) -> int | None:
        """Maximum bytes of one file; None for no limit."""
        return None if self.total is None else int(self.total * FILE_SHARE)

    def check_shares(
        self, path: Path, needed: int, shares: Iterable[Share], content: Any = None
    ) -> None:
        """Reject a file that exceeds the rest of one of some shares.

        A ``content`` that others already have open is not counted twice.
        """
        for share in shares:
            contents = {id(other) for tab in share.tabs for other in tab.contents}
            contents.discard(id(content))
            with self._lock:
                taken = sum(
                    claim.n_bytes for claim in self._claims if claim.is_of(share.tabs, contents)
                )
            if taken + needed > share.n_bytes:
                raise FileFormatError(
                    path,
                    f"needs about {show_bytes(needed)} of memory to be opened, and {share.words} "
                    f"has files of {show_bytes(taken)} open of the {show_bytes(share.n_bytes)} "
                    f"that it may have; {share.remedy}",
                )

    def bytes_of(self, content: Any) -> int:
        """Return the bytes claimed for a content; 0 if unknown."""
        with self._lock:
            return sum(claim.n_bytes for claim in self._claims if claim.content == id(content))

    def claim(
        self, path: Path, needed: int, make_room: Callable[[], None], tab: Any = None
    ) -> Claim:
        """Claim memory for a file.

        Parameters
        ----------
        path
            The file.
        needed
            Approximate bytes needed to open it.
        make_room
            Called once if they are not free; drops files that no tab has open.
        tab
            The tab that opens it, with its ``shares``; None for no tab limits.

        Raises
        ------
        FileFormatError
            If they are not free; the message says how many are.
        """
        self.check_shares(path, needed, getattr(tab, "shares", ()))
        maximum = self.max_file
        if maximum is None:
            claim = Claim(self, needed, None, tab)
            with self._lock:
                self._claims.add(claim)
            return claim
        if needed > maximum:
            raise FileFormatError(
                path,
                f"needs about {show_bytes(needed)} of memory to be opened, and one file may take "
                f"{show_bytes(maximum)}, half of what this server has for files; a larger --memory "
                "raises both",
            )
        if self.total - self.taken < needed:
            make_room()
            gc.collect()  # reference cycles; a server otherwise collects rarely
        with self._lock:
            free = self.total - self.taken
            if free < needed:
                raise FileFormatError(
                    path,
                    f"needs about {show_bytes(needed)} of memory to be opened, and "
                    f"{show_bytes(max(free, 0))} of the {show_bytes(self.total)} that this server "
                    "has for files are free; close files in this tab or others first, or give the "
                    "server a larger --memory",
                )
            claim = Claim(self, needed, max(needed, min(maximum, free)), tab)
            self._claims.add(claim)
        return claim

    def forget_idle(
        self, caches: Iterable[tuple[dict[tuple, Any], Any]], seconds: float, now: float
    ) -> int:
        """Drop contents that have been unused for long or exceed their share; return the number.

        Called regularly, because use is detected only then. Above the share, the longest unused
        contents are dropped first.

        Parameters
        ----------
        caches
            Kept contents and lock of each cache.
        seconds
            Time that unused contents are kept.
        now
            Current `time.monotonic`.
        """
        with self._lock:
            claims = {claim.content: claim for claim in self._claims}
        idle = []
        for kept, lock in caches:
            with lock:
                for key in kept:
                    content = kept[key]
                    claim = claims.get(id(content))
                    if claim is not None and sys.getrefcount(content) > _N_OWN_REFERENCES:
                        claim.used = now
                    elif claim is not None:
                        idle.append((claim.used, claim.n_bytes, key, kept, lock))
                    del content
        n_forgotten, n_bytes_left = 0, KEPT_SHARE * (self.total or float("inf"))
        for used, n_bytes, key, kept, lock in sorted(idle, key=lambda found: -found[0]):
            n_bytes_left -= n_bytes
            if now - used >= seconds or n_bytes_left < 0:
                with lock:
                    n_forgotten += kept.pop(key, None) is not None
        return n_forgotten

    def give_back(self, claim: Claim) -> None:
        """Take back the memory of a claim."""
        with self._lock:
            self._claims.discard(claim)


MEMORY = MemoryBudget()
"""Memory budget of this server."""


def server_memory() -> int | None:
    """Return `SERVER_SHARE` of the memory of the machine or of this process's cgroup, bytes."""
    found = []
    with contextlib.suppress(AttributeError, OSError, ValueError):
        found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in _CGROUPS:
        with contextlib.suppress(OSError, ValueError):  # "max" means no limit
            found.append(int(Path("/sys/fs/cgroup", name).read_text(encoding="ascii")))
    return int(SERVER_SHARE * min(found)) if found else None


def limit_memory(max_bytes: int | None) -> None:
    """Limit this process's own memory beyond its current use, if the system supports it."""
    if max_bytes is None or not sys.platform.startswith("linux"):
        return
    import resource

    text = Path("/proc/self/status").read_text(encoding="ascii").partition("VmData:")[2]
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)  # as by ulimit -d; it cannot be raised
    limits = [1024 * int(text.split()[0]) + max_bytes] + [hard] * (hard != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))


def text_bytes(path: Path) -> int:
    """Return the approximate text length of a file, from the compression of its first part."""
    n_bytes = path.stat().st_size
    n_packed = min(n_bytes, _COMPRESSED_SAMPLE_BYTES)
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return n_bytes
    return n_bytes * max(len(read_start(path, _MAX_RATIO * n_packed)), 1) // n_packed


def count_lines(path: Path) -> int:
    """Return the approximate number of lines, from the line length in the first part."""
    sample = read_start(path, _SAMPLE_BYTES)
    return text_bytes(path) * (sample.count(b"\n") + 1) // max(len(sample), 1)


def graph_bytes(path: Path) -> int:
    """Return the approximate memory of a graph: 60 bytes per node, plus text for bases and steps.

    Nodes are counted in samples from all over the file; a compressed file is assumed to have half
    as many as its first part. The cache and a GBZ state their counts. A byte of a GBZ-base database
    holds at most some four steps (HPRC v2.1: 38e9 in 10 GB).
    """
    member = GraphMember.at(path)
    if estimated := estimate_member(member):
        return estimated
    path = member.path
    if read_start(path, len(SQLITE_MAGIC)) == SQLITE_MAGIC:
        return _BYTES_PER_DATABASE_BYTE * path.stat().st_size
    n_bytes = text_bytes(path)
    is_plain = n_bytes == path.stat().st_size
    sample = _spread_sample(path) if is_plain else read_start(path, _SAMPLE_BYTES)
    n_nodes = sample.count(b"\nS\t") * n_bytes // max(len(sample) * (1 if is_plain else 2), 1)
    return 60 * n_nodes + n_bytes + min(n_bytes, MAX_BYTES_IN_MEMORY)


def _spread_sample(path: Path) -> bytes:
    """Return samples of a file from its beginning to its end."""
    n_bytes, parts = path.stat().st_size, []
    with path.open("rb") as file:
        for part in range(_N_PARTS):
            file.seek(max(n_bytes - _PART_BYTES, 0) * part // (_N_PARTS - 1))
            parts.append(file.read(_PART_BYTES))
    return b"".join(parts)


def track_bytes(path: Path) -> int:
    """Return the approximate memory of a track; named features take by far the most."""
    kind = find_kind(path)
    if kind in ("bed", "gff"):
        return 1_100 * count_lines(path)
    if kind in ROW_FORMATS or kind == "sam":
        return 200 * count_lines(path)
    return 20 * path.stat().st_size


def sequences_bytes(factor: int) -> Callable[[Path], int]:
    """Return an estimator with this number of bytes per base of sequences."""
    return lambda path: factor * text_bytes(path)


def dosages_bytes(path: Path) -> int:
    """Return the approximate bytes of dosages on disk, if all variants of a file have them."""
    if path.suffix in (".bgen", ".sample"):
        header = read_bgen_header(path.with_suffix(".bgen"))
        return 2 * header.n_variants * header.n_samples
    if path.suffix in (".pgen", ".pvar", ".psam"):
        start = read_start(path.with_suffix(".pgen"), _PGEN_COUNTS.stop)[_PGEN_COUNTS]
        return 2 * math.prod(int.from_bytes(part, "little") for part in (start[:4], start[4:]))
    if path.suffix == ".bcf":
        return 6 * path.stat().st_size
    # A genotype of VCF with a dosage takes at least 8 characters.
    return text_bytes(path) // 4 if ".vcf" in path.name.lower() else 0


def genotypes_bytes(path: Path) -> int:
    """Return the approximate memory of genotypes: PLINK files and dosages are mapped."""
    reading = min(dosages_bytes(path), 2 * MAX_BYTES_IN_MEMORY)
    if path.suffix in ENDINGS:
        bed, bim, fam = plink_paths(path)
        small = min(bed.stat().st_size, MAX_BYTES_IN_MEMORY)
        return small + 6 * (text_bytes(bim) + text_bytes(fam))
    if path.suffix in (".bgen", ".sample"):
        header = read_bgen_header(path.with_suffix(".bgen"))
        return header.n_variants * (header.n_samples // 4 + 400) + 400 * header.n_samples + reading
    if path.suffix in (".npy", ".npz", ".pgen", ".parquet", ".bcf"):
        return 6 * path.stat().st_size + reading
    return 600 * count_lines(path) + text_bytes(path) // 8 + reading


def table_bytes(path: Path) -> int:
    """Return the approximate memory of a phenotype table."""
    return 20 * text_bytes(path)
