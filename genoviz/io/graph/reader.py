"""Reading of pangenome graphs in any supported format: GFA (plain or gzipped), GBZ, GBZ-base."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from genoviz.errors import FileFormatError
from genoviz.generators import in_one_go
from genoviz.io.graph.gbz import iter_read_gbz
from genoviz.io.graph.gbz_base import SQLITE_MAGIC, iter_read_gbz_base
from genoviz.io.graph.gbz_parts import GBZ_MAGIC
from genoviz.io.graph.gfa import GfaProgress, iter_read_gfa
from genoviz.io.text.text_file import read_start
from genoviz.model import PangenomeGraph

_N_START = 16
_NOT_READ = {
    bytes.fromhex("376b376b"): "a GBWT without sequences; open the GBZ or the GFA of it",
    bytes.fromhex("af64376b"): "a GBWTGraph without its GBWT; open the GBZ or the GFA of it",
}
_NOT_READ_ENDINGS = {
    ".gfaz": "GFAz; decompress it to GFA with gfaz",
    ".vg": "vg's own format; convert it with vg convert -f",
    ".xg": "vg's own format; convert it with vg convert -f",
    ".pg": "vg's own format; convert it with vg convert -f",
    ".og": "odgi's own format; convert it with odgi view -g",
}
_READ_ENDINGS = {".gbz": "a GBZ", ".db": "a database of GBZ-base (SQLite)"}
_GFA_STARTS = (
    *(letter + b"\t" for letter in (b"H", b"S", b"L", b"P", b"W")),
    b"#",
    b"\xef\xbb\xbf",
)


def iter_read_graph(
    path: str | PathLike[str], *, sequences: bool = True, cache: bool = True
) -> Iterator[GfaProgress]:
    """Yield the progress of reading a graph file; the last report has the graph.

    The first bytes determine the format, whatever the file name. See `iter_read_gfa`,
    `iter_read_gbz` and `iter_read_gbz_base`.

    Parameters
    ----------
    path
        The file.
    sequences
        Whether to keep the sequences of the nodes, one byte per base.
    cache
        Whether to cache the graph in the user's cache folder, and to reuse it if the file is
        unchanged.

    Raises
    ------
    FileFormatError
        If the file cannot be read or its format is not supported; the message suggests a remedy.
    """
    path = Path(path)
    start = read_start(path, _N_START) if path.is_file() else b""
    if start.startswith(SQLITE_MAGIC):
        yield from iter_read_gbz_base(path, sequences=sequences, cache=cache)
        return
    for magic, what in _NOT_READ.items():
        if start.startswith(magic):
            raise FileFormatError(path, f"is {what}")
    what = _NOT_READ_ENDINGS.get(path.suffix.lower())
    if what and not start.startswith(_GFA_STARTS):
        raise FileFormatError(path, f"is {what}")
    if not start.startswith(GBZ_MAGIC):
        what = _READ_ENDINGS.get(path.suffix.lower())
        if what and path.is_file() and not start.startswith(_GFA_STARTS):
            found = f"begins neither as {what}, whose name it has, nor as GFA; needs one of the two"
            raise FileFormatError(path, found if start else f"the file is empty, needs {what}")
        yield from iter_read_gfa(path, sequences=sequences, cache=cache)
        return
    with path.open("rb") as file:
        if file.read(len(GBZ_MAGIC)) != GBZ_MAGIC:
            raise FileFormatError(path, "is a GBZ in gzip, needs to be decompressed first")
    yield from iter_read_gbz(path, sequences=sequences, cache=cache)


@in_one_go(iter_read_graph)
def read_graph(last: GfaProgress) -> PangenomeGraph:
    """Return the graph of a GFA, GBZ or GBZ-base file; see :func:`iter_read_graph`."""
    return last.graph
