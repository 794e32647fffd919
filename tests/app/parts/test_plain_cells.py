"""Tables that are saved have no cell that a spreadsheet would compute."""

from __future__ import annotations

import csv
import io

import pytest

from genoviz_app.parts.file_button import plain_cells, write_to_bytes

FORMULAS = [
    *("=cmd()", "=1+1", "=HYPERLINK(http://evil.example)", "@SUM(A1)", "+cmd|' /C calc'!A0"),
    *("-2+3+cmd|' /C calc'!A0", "-cmd", "+1-1", "=", "@", "-1e5x", "--1", "+A1", "-.5.x"),
    '=HYPERLINK("http://evil.example")',
]
HARMLESS = [
    "+",
    "-",
    "-1",
    "+1.5",
    "-1.5e-08",
    "1e+5",
    "-inf",
    "a=b",
    "a@b",
    "chr1",
    "-nan",
    "",
    "'=x",
]


@pytest.mark.parametrize("ending", ["csv", "tsv"])
@pytest.mark.parametrize("cell", FORMULAS)
def test_a_cell_that_would_be_computed_is_a_text(ending, cell):
    mark = "," if ending == "csv" else "\t"
    for row in ([cell, "x"], ["x", cell, "y"], ["x", cell], [cell]):
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL):
            out = io.StringIO()
            csv.writer(out, delimiter=mark, quoting=quoting).writerows([row, row])
            safe = plain_cells(f"a.{ending}", out.getvalue().encode()).decode()
            read = list(csv.reader(io.StringIO(safe), delimiter=mark))
            assert read == [[f"'{cell}" if each == cell else each for each in row]] * 2


@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_names_strands_and_numbers_stay_as_they_are(ending):
    mark = "," if ending == "csv" else "\t"
    text = f"{mark.join(HARMLESS)}\n".encode() * 2
    assert plain_cells(f"a.{ending}", text) == text


def test_files_of_other_kinds_stay_as_they_are():
    for name in ("a.bed", "a.gfa", "a.png", "a.parquet", "a.vcf"):
        assert plain_cells(name, b"=1\n") == b"=1\n"


def test_a_file_that_is_saved_is_such_a_table():
    assert write_to_bytes("a.csv", lambda path: path.write_bytes(b"x\n=1\n")) == b"x\n'=1\n"
