"""Complete validation of index files (``.gvfm``) before use."""

from __future__ import annotations

from collections.abc import Collection, Generator

import numpy as np

from genoviz.io.sequences.gvfm_file import ArrayFile, Progress


def iter_check_arrays(
    file: ArrayFile, wanted: Collection[str], *, mmap: bool
) -> Generator[Progress, None, dict[str, np.ndarray]]:
    """Check all sections of a file, and return some arrays; yields bytes done and total.

    Parameters
    ----------
    file
        The file.
    wanted
        Names of sections to return.
    mmap
        Whether to memory-map these; otherwise they are copied to memory, and the copies are
        checked.

    Raises
    ------
    FileFormatError
        If a section is missing or damaged.
    """
    found = {name: file.array(name) for name in wanted}
    n_total = sum(section.n_bytes for section in file.sections.values())
    n_done = 0
    for name in file.sections:
        copied = None
        if not mmap and name in found:
            found[name] = copied = _make_room(found[name])
        for n_bytes in file.check(name, copied):
            n_done += n_bytes
            yield n_done, n_total
    return found


def _make_room(array: np.ndarray) -> np.ndarray:
    """Return an empty array like another, aligned to 64 bytes as index lines require."""
    room = np.empty(array.nbytes + 64, np.uint8)
    first = -room.ctypes.data % 64
    return room[first : first + array.nbytes].view(array.dtype).reshape(array.shape)
