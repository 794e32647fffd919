"""Hits as files: BED, or a table for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from genoviz_app.pages.kmers.hits import GenomeAxis, HitSet

ROWS = 100_000
HEAD = "contig\tstart\tend\tstrand\tkmer\n"


def write_hits(path: Path, hits: HitSet, axis: GenomeAxis) -> None:
    """Write all hits that were located: TSV with a header, or BED6; both 0-based, half-open."""
    with path.open("w", encoding="utf-8") as file:
        if hits.is_cut:
            file.write(f"# the first {len(hits)} of {hits.n_hits} hits\n")
        if path.suffix == ".tsv":
            file.write(HEAD)
        file.writelines(iter_lines(hits, axis, is_bed=path.suffix == ".bed"))


def iter_lines(hits: HitSet, axis: GenomeAxis, *, is_bed: bool) -> Iterator[str]:
    """Yield the lines of hits, many at a time."""
    letters = hits.kmer.letters
    k = len(letters)
    name = (hits.kmer.name or letters[:255]).replace("\t", " ")
    for first in range(0, len(hits), ROWS):
        block = slice(first, first + ROWS)
        rows = zip(
            hits.ids[block].tolist(),
            hits.starts[block].tolist(),
            hits.strands[block].tolist(),
            strict=True,
        )
        lines = []
        for contig, start, strand in rows:
            sign = "+" if strand > 0 else "-"
            head = f"{axis.names[contig]}\t{start}\t{start + k}\t"
            lines.append(head + (f"{name}\t0\t{sign}\n" if is_bed else f"{sign}\t{letters}\n"))
        yield "".join(lines)
