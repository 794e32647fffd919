"""Tables of samples of genotypes: .fam files of PLINK 1, and .sample files of BGEN."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from genoviz.errors import FileFormatError
from genoviz.io.text.encoding import check_text
from genoviz.io.text.spaced_lines import SpacedLines, split_lines
from genoviz.io.text.text_file import read_bytes
from genoviz.model.genotypes.genotypes import SampleTable

_FAM_FIELDS = "family ID, individual ID, father, mother, sex, phenotype"


def read_fam(path: Path) -> SampleTable:
    """Return the samples of a .fam file."""
    lines = read_fam_lines(path)
    family_ids, ids, fathers, mothers = (lines.texts(column) for column in range(4))
    sexes = lines.texts(4)
    codes = np.zeros(len(lines), np.uint8)
    codes[np.isin(sexes, ("1", "M"))] = 1
    codes[np.isin(sexes, ("2", "F"))] = 2
    check_once(lines, family_ids, ids)
    return SampleTable(family_ids, ids, fathers, mothers, codes)


def read_fam_lines(path: Path) -> SpacedLines:
    """Return the fields of the lines of a .fam file: six, or more with several traits."""
    check_text(path)
    data = read_bytes(path, may_be_empty=True)
    first = data[: 1 << 16].tobytes().lstrip().partition(b"\n")[0]
    n_fields = max(6, len(first.split()))
    more = ", as the first line, where further ones are phenotypes too" * (n_fields > 6)
    return split_lines(path, data, n_fields, _FAM_FIELDS + more)


def read_sample_file(path: Path) -> SampleTable:
    """Return the samples of a .sample file, as PLINK 2: ID_1 is FID, ID_2 is IID.

    A file without ID_2 has IIDs alone. Sexes are 1 or M, and 2 or F, in column ``sex``; parents
    are in columns ``father`` and ``mother``.

    Raises
    ------
    FileFormatError
        If it lacks its two header lines, or names a sample twice.
    """
    check_text(path)
    data = read_bytes(path)
    text = data[: 1 << 20].tobytes()
    first, _, rest = text.partition(b"\n")
    second = rest.partition(b"\n")[0]
    titles = first.decode("utf-8", "replace").lower().split()
    types = second.decode("utf-8", "replace").split()
    if not titles or len(types) != len(titles) or types[0] != "0":
        found = "needs a line of titles (ID_1 ID_2 missing) and one of types (0 0 0) first"
        raise FileFormatError(path, found)
    below = data[len(first) + len(second) + 2 :]
    lines = split_lines(path, below, len(titles), " ".join(titles), 2)
    none = np.full(len(lines), "0")
    sex, father, mother = (
        lines.texts(titles.index(title)) if title in titles else none
        for title in ("sex", "father", "mother")
    )
    has_families = titles[1:2] == ["id_2"]
    ids, families = lines.texts(int(has_families)), lines.texts(0) if has_families else none
    check_once(lines, families, ids)
    sexes = np.isin(sex, ("1", "M", "m")) + 2 * np.isin(sex, ("2", "F", "f"))
    return SampleTable(families, ids, father, mother, sexes.astype(np.uint8))


def check_once(lines: SpacedLines, family_ids: np.ndarray, ids: np.ndarray) -> None:
    """Reject two samples with the same family and name."""
    if len(set(ids.tolist())) == len(ids):
        return
    seen: dict[tuple[str, str], int] = {}
    for row, names in enumerate(zip(family_ids.tolist(), ids.tolist(), strict=True)):
        if seen.setdefault(names, row) != row:
            found = f"sample {names[1]!r} of family {names[0]!r} is there already"
            lines.refuse(row, f"{found}, needs an ID of its own")
