"""Widths that columns of tables need, px."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

POSITION, IDENTIFIER, ALLELE = 92, 84, 38
"""Widths in which a position of nine digits, ``rs12345678`` and some bases are readable."""
LETTER, WIDE_LETTER, PADDING = 7.3, 12.0, 11
"""Width of a letter of a header, of one of `WIDE`, and of the margins of a cell."""
WIDE = frozenset("MWmw%")


def width_of_title(title: str) -> int:
    """Return the width of a header, which is wrapped between words.

    Examples
    --------
    >>> width_of_title("In reference"), width_of_title("SE"), width_of_title("Mismatches")
    (77, 26, 93)
    """
    words = (
        sum(WIDE_LETTER if letter in WIDE else LETTER for letter in word) for word in title.split()
    )
    return PADDING + round(max(words, default=0))


def share_width(
    columns: list[dict[str, Any]], shares: Mapping[str, int], min_widths: Mapping[str, int]
) -> None:
    """Set minimum widths, and let columns with widths in per cent share that of their table.

    Parameters
    ----------
    columns
        Tabulator's columns, which are changed.
    shares
        Relative widths of columns that replace their per cents, by title.
    min_widths
        Minimum widths of columns by title, px; titles are never cut.
    """
    sharing = [column for column in columns if str(column.get("width")).endswith("%")]
    usual = [float(column.pop("width").removesuffix("%")) for column in sharing]
    parts = [shares.get(each.get("field"), part) for each, part in zip(sharing, usual, strict=True)]
    for column, part in zip(sharing, parts, strict=True):
        column["widthGrow"] = part / sum(parts)  # Tabulator rounds "px"
    for column in columns:
        if (title := column.get("field")) in min_widths:
            column["minWidth"] = max(min_widths[title], width_of_title(title))
