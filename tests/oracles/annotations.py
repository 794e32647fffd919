"""Oracle: BED, GFF3 and GTF parsed line by line, and intervals mapped to paths one by one."""

from __future__ import annotations

import re
from urllib.parse import unquote


def read_bed_text(text: str) -> list[tuple]:
    """Return contig, start, end, name, strand and blocks of each feature."""
    rows = []
    for line in text.splitlines():
        if not line.strip() or re.match(r"#|track\b|browser\b", line):
            continue
        fields = line.split("\t") if "\t" in line else line.split()
        name = fields[3] if len(fields) > 3 and fields[3] != "." else ""
        strand = {"+": 1, "-": -1}.get(fields[5], 0) if len(fields) > 5 else 0
        start = int(fields[1])
        blocks = []
        if len(fields) >= 12:
            sizes, starts = ([int(n) for n in fields[k].split(",") if n] for k in (10, 11))
            blocks = [(start + s, start + s + n) for s, n in zip(starts, sizes, strict=True)]
        rows.append((fields[0], start, int(fields[2]), name, strand, blocks))
    return rows


def read_gff_text(text: str) -> list[tuple]:
    """Return contig, start, end (0-based half-open), name, strand and type of each feature."""
    rows = []
    for line in text.split("##FASTA")[0].splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        attributes = {}
        for part in fields[8].split(";"):
            match = re.match(r'\s*(\w+)(?:=| +)"?([^"]*)"?\s*$', part)
            if match:
                attributes.setdefault(match[1], unquote(match[2]))
        keys = ("Name", "gene_name", "ID", "gene_id")
        name = next((attributes[key] for key in keys if attributes.get(key)), "")
        strand = {"+": 1, "-": -1}.get(fields[6], 0)
        contig = unquote(fields[0])
        rows.append((contig, int(fields[3]) - 1, int(fields[4]), name, strand, fields[2]))
    return rows


def place_interval(path_starts, path_lengths, start: int, end: int) -> list[tuple]:
    """Return path, start, end and whether it is clipped, found base by base or gap by gap."""
    places = []
    for path, (first, length) in enumerate(zip(path_starts, path_lengths, strict=True)):
        if start == end:
            inside = [start - first] if 0 <= start - first <= length else []
            stop = inside[0] if inside else None
        else:
            inside = [base - first for base in range(start, end) if 0 <= base - first < length]
            stop = inside[-1] + 1 if inside else None
        if inside:
            places.append((path, inside[0], stop, stop - inside[0] != end - start))
    return places
