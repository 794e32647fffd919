"""Oracle: BED, bedGraph and GFF parsed line by line."""

from __future__ import annotations

import gzip
import math
from pathlib import Path


def read_rows(path: Path, kind: str) -> list[dict]:
    """Return dictionaries of contig, start, end, name, score and strand, one per row."""
    content = path.read_bytes()
    text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()
    rows = []
    for line in text.split("\n"):
        line = line.rstrip("\r")
        first = line.split()[:1]
        if not first or line.startswith("#") or first[0] in ("track", "browser"):
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        get = dict(enumerate(fields)).get
        if kind == "gff":
            name, score, strand = "", get(5), get(6)
            start, end = int(fields[3]) - 1, int(fields[4])
        elif kind == "bedgraph":
            name, score, strand = "", get(3), None
            start, end = int(fields[1]), int(fields[2])
        else:
            name, score, strand = get(3), get(6 if kind == "narrowpeak" else 4), get(5)
            start, end = int(fields[1]), int(fields[2])
        rows.append(
            {
                "contig": fields[0],
                "start": start,
                "end": end,
                "name": name or "",
                "score": _to_number(score),
                "strand": {"+": 1, "-": -1}.get(strand, 0),
            }
        )
    return rows


def _to_number(text: str | None) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan
