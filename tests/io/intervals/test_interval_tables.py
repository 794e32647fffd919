from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz import FileFormatError, Intervals, ParameterError
from genoviz.io.intervals.intervals import intervals_from_table, read_intervals
from genoviz.model.intervals.intervals import map_contigs

COLUMNS = {
    "Chrom": ["a", "b", "a"],
    "chromStart": [1, 2**40, 3],
    "End": [4, 2**41, 3],
    "strand": ["+", "-", "."],
    "name": ["x", None, "z"],
    "score": [1.0, None, 2.5],
}


def check(found):
    assert found.contigs == ("a", "b")
    assert found.contig_ids.tolist() == [0, 1, 0]
    assert found.starts.tolist() == [1, 2**40, 3]
    assert found.ends.tolist() == [4, 2**41, 3]
    assert found.strands.tolist() == [1, -1, 0]
    assert list(found.names) == ["x", "", "z"]
    np.testing.assert_array_equal(found.scores, [1, np.nan, 2.5])


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_data_frames_become_intervals(library):
    frames = pytest.importorskip(library)
    check(
        intervals_from_table(
            ({"pyarrow": "table"}.get(library) and frames.table(COLUMNS))
            or frames.DataFrame(COLUMNS)
        )
    )


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
def test_table_files_become_intervals(tmp_path, kind):
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(COLUMNS)
    path = tmp_path / f"table.{kind}"
    {"parquet": table.write_parquet, "arrow": table.write_ipc, "csv": table.write_csv}[kind](path)
    check(read_intervals(path))
    assert read_intervals(path, region="b:0-5000000000000").contig_ids.tolist() == [1]


def test_one_based_starts_are_moved():
    found = intervals_from_table({"chr": ["a"], "start": [1], "stop": [1]}, one_based=True)
    assert (found.starts.tolist(), found.ends.tolist()) == ([0], [1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"chromStart": [1, 2, 9]}, "row 2 starts at 9 and ends at 3, needs a start from 0 on"),
        ({"chromStart": [1, -2, 1]}, "row 1 starts at -2"),
        ({"chromStart": [1.5, 2, 1]}, r"row 0 has 1.5 as 'chromStart', needs a whole number"),
        ({"chromStart": ["1", "2", "1"]}, "row 0 has '1' as 'chromStart', needs a whole number"),
        ({"chromStart": ["1", "x", "1"]}, "row 1 has 'x' as 'chromStart', needs a whole number"),
        ({"Chrom": ["a", None, "a"]}, "row 1 has no contig, needs a name"),
    ],
)
def test_a_wrong_row_is_named(change, words):
    table = COLUMNS | change
    with pytest.raises(ParameterError, match=words):
        intervals_from_table({name: np.array(values) for name, values in table.items()})


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ParameterError, match="has no column 'start', it has chrom, end"):
        intervals_from_table({"chrom": ["a"], "end": [1]})
    with pytest.raises(ParameterError, match="a int has no columns"):
        intervals_from_table(5)
    pytest.importorskip("polars")
    path = tmp_path / "a.csv"
    path.write_text("chrom,start\na,1\n")
    with pytest.raises(FileFormatError, match=r"a.csv: the table has no column 'end'"):
        read_intervals(path)
    path.write_text("# made by hand\n#chrom,start,end\na,1,2\na,3,4,5,6\n")
    with pytest.raises(FileFormatError, match=r"a.csv, line 4: has 5 fields, and the header has 3"):
        read_intervals(path)
    path.write_text("")
    assert len(read_intervals(path)) == 0
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and no more PAR1")
    with pytest.raises(FileFormatError, match="is no parquet table that can be read"):
        read_intervals(path)


def named(*contigs):
    return Intervals.from_columns(contigs, [0] * len(contigs), [1] * len(contigs))


@pytest.mark.parametrize(
    ("contigs", "names", "renamed"),
    [
        (["1", "MT"], ["chr1", "chrM"], ["chr1", "chrM"]),
        (["chr1", "chrM"], ["1", "MT"], ["1", "MT"]),
        (["chr1"], ["chr1", "1"], ["chr1"]),
        (["X", "chrX"], ["chrX"], ["X", "chrX"]),
        (["MT"], ["chrM", "chrMT"], ["MT"]),
        (["M", "MT"], ["chrM"], ["chrM", "MT"]),
        (["scaffold_1"], ["chr1"], ["scaffold_1"]),
        (["chr"], ["1"], ["chr"]),
    ],
)
def test_contigs_are_named_as_there(contigs, names, renamed):
    found = map_contigs(named(*contigs), names)
    assert list(found.contigs) == renamed
    assert bool(found.notes) == (renamed != contigs or contigs[0] not in names)


def test_each_change_of_a_name_is_noted():
    found = map_contigs(named(*"123456", "X", "chrX", "GL0"), [f"chr{k}" for k in "123456X"])
    assert found.notes == (
        "Contigs are renamed: 1 to chr1, 2 to chr2, 3 to chr3, 4 to chr4 and 2 more.",
        "Contigs keep their names, for another may be meant: X.",
    )
    assert map_contigs(named("c1", "c2"), ["1", "2"]).notes == (
        "No contig is known there: c1, c2 here, 1, 2 there.",
    )


@given(
    st.lists(st.sampled_from(["1", "chr1", "M", "MT", "chrM", "chrMT", "X", "chrX"]), unique=True),
    st.lists(st.sampled_from(["1", "chr1", "M", "MT", "chrM", "chrMT", "X", "chrX"]), unique=True),
)
def test_contigs_stay_different(contigs, names):
    found = map_contigs(named(*contigs), names)
    assert len(set(found.contigs)) == len(contigs)
    kept = [a for a, b in zip(contigs, found.contigs, strict=True) if a == b]
    assert {name for name in contigs if name in names} <= set(kept)


def test_contigs_of_csv_are_as_written_and_later_rows_may_be_of_another_kind(tmp_path):
    path = tmp_path / "a.csv"
    rows = [*["01,5,9,1"] * 200, "X,5,9,0.5", "1,6,8,2"]
    lines = ["##made by hand", "# note", "#Chrom,Start,End,Score", *rows[:2], "# more", *rows[2:]]
    for start in ("", "\ufeff"):
        text = start + "\n".join(lines if not start else ["Chrom,Start,End,Score", *rows]) + "\n"
        path.write_text(text)
        found = read_intervals(path)
        assert found.contigs == ("01", "X", "1")
        assert found.scores.tolist() == [1] * 200 + [0.5, 2]
        assert found.starts.tolist() == [5] * 201 + [6]
