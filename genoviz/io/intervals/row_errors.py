"""What is wrong with a row of BED, bedGraph or GFF, in words."""

from __future__ import annotations

from genoviz.io.intervals.kinds import RowFormat
from genoviz.io.intervals.parser import MAX_DIGITS
from genoviz.io.text.line_errors import show


def explain_row(line: bytes, rows: RowFormat, *, any_blank: bool) -> str:
    """Say why a row was refused."""
    fields = line.split() if any_blank else line.split(b"\t")
    if len(fields) < rows.n_needed:
        by = "" if any_blank or len(line.split()) < 3 else ", set apart by tabs"
        return f"has {_columns(len(fields))}, {rows.title} needs {rows.n_needed}{by}"
    if not fields[0]:
        return "has an empty contig, needs a name"
    start, end = fields[rows.start], fields[rows.end]
    for text, what in ((start, "start"), (end, "end")):
        if not text.isdigit() or len(text) > MAX_DIGITS:
            needs = f"a whole number from {rows.first_base} on, of at most {MAX_DIGITS} digits"
            return f"the {what} is {show(text)}, needs {needs}"
    if int(start) < rows.first_base:
        return f"the start is 0, but {rows.title} counts from 1"
    return (
        f"starts at {int(start):,} and ends at {int(end):,}, needs an end that is not before "
        "the start"
    )


def explain_blocks(line: bytes, *, any_blank: bool) -> str:
    """Say why the blocks of a BED12 row were refused."""
    fields = line.split() if any_blank else line.split(b"\t")
    shown = ", ".join(show(field, 24) for field in fields[9:12])
    return (
        f"has the blocks {shown}, needs a number of blocks, as many sizes and starts, "
        "and none beyond the end"
    )


def _columns(n: int) -> str:
    return f"{n} column{'' if n == 1 else 's'}"
