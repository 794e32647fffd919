"""Hits as files: what is written is what is there, row by row."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from genoviz import Intervals, Sequences, find_offtargets
from genoviz.analyses.offtargets.genome_planes import make_genome_planes
from genoviz.analyses.offtargets.hits import empty_hits
from genoviz.errors import ParameterError
from genoviz.io.intervals.intervals import read_intervals
from genoviz.io.offtargets import hit_table
from genoviz.io.offtargets.output import (
    FORMATS,
    HitTable,
    iter_rows,
    write_offtargets,
    write_tables,
)
from genoviz.io.text import columns as text_columns
from genoviz.io.text.columns import integer_column, join_columns, text_column
from genoviz.io.text.numbers import float_column, shortest_column, table_column
from genoviz.model.offtargets.protospacer import BulgeType
from tests.oracles.offtargets import count_misfits, reverse_complement

polars = pytest.importorskip("polars")

CONTIGS = [
    ("chr1", "chr1 Homo sapiens, 1", "ACGTTGCANNRYACCAGGTTGCAACGTTAGGCCATTGCAGG" * 3),
    ("empty", "empty", ""),
    ("chr2", 'chr2\tsaid "two"', "TTGCACCTGCAACCTTGGCCAATTGGCCTGCAACC"),
    ("é", "é ü", "ACGTTGCAGGACGTTGCTGG"),
]
GUIDES = ("ACGTTGCNNN", "TTGCAACNNN", "ACGTTGCNNN")
IDS = ("one", "two, or 2", 'three "3"')
PATTERN = "NNNNNNNNGG"


@pytest.fixture(scope="module")
def planes():
    sequences = Sequences.from_records((name, letters) for name, _, letters in CONTIGS)
    texts = tuple(text for _, text, _ in CONTIGS)
    return make_genome_planes(
        Sequences(sequences.names, sequences.offsets, sequences.bases, sequences.masked, (), texts)
    )


@pytest.fixture(scope="module")
def plain(planes):
    return find_offtargets(GUIDES, planes, PATTERN, max_mismatches=[3, 3, 2])


@pytest.fixture(scope="module")
def bulged(planes):
    sizes = {"dna_bulge": 2, "rna_bulge": 1, "placements": "all"}
    return find_offtargets(GUIDES, planes, PATTERN, max_mismatches=[2, 2, 1], **sizes)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(hit_table, "ROWS_AT_ONCE", 7)


@pytest.fixture(autouse=True, params=[1, 1 << 12])
def many_texts(request, monkeypatch):
    """Texts are many, and looked up by those that are named, or few."""
    monkeypatch.setattr(text_columns, "_MANY", request.param)


def rows_of(hits):
    """Return the cells of each hit, one by one, from the letters of the contigs."""
    rows = []
    for row, line in enumerate(hits.alignments()):
        name, text, letters = CONTIGS[hits.contig_ids[row]]
        start, kind = int(hits.starts[row]), BulgeType(hits.bulge_types[row])
        site = letters[start : start + len(line.site.replace("-", ""))]
        strand = "+" if hits.strands[row] > 0 else "-"
        seen = site if strand == "+" else reverse_complement(site)
        assert line.site.replace("-", "").upper() == seen
        guide = GUIDES[hits.guide_ids[row]]
        size = int(hits.bulge_sizes[row])
        assert sum(c.islower() for c in line.site) == hits.mismatches[row]
        if kind is BulgeType.NONE:
            assert count_misfits(guide, seen) == hits.mismatches[row]
        assert line.guide.count("-") == (size if kind is BulgeType.DNA else 0)
        assert line.site.count("-") == (size if kind is BulgeType.RNA else 0)
        rows.append(
            {
                "id": IDS[hits.guide_ids[row]],
                "guide": guide,
                "bulge_type": kind.label,
                "crrna": line.guide,
                "dna": line.site,
                "contig": name,
                "header": text,
                "start": str(start),
                "end": str(start + len(site)),
                "strand": strand,
                "mismatches": str(hits.mismatches[row]),
                "bulge_size": str(size),
            }
        )
    return rows


def text_of(hits, form, ids=None, **scores):
    return b"".join(iter_rows([HitTable(hits, ids, scores)], form)).decode()


def lines_of(hits, names):
    rows = rows_of(hits)
    assert len(rows) > 10
    return ["\t".join(row[name] for name in names.split()) for row in rows]


def test_rows_of_version_2_are_those_of_the_letters(plain):
    names = "guide header start dna strand mismatches"
    assert text_of(plain, "v2").splitlines() == lines_of(plain, names)
    assert text_of(plain, "v2", IDS).splitlines() == lines_of(plain, names + " id")


def test_rows_with_bulges_are_those_of_the_letters(bulged):
    names = "bulge_type crrna dna header start strand mismatches bulge_size"
    assert {*bulged.bulge_types.tolist()} == {0, 1, 2}
    *_, header, body = text_of(bulged, "v3", IDS).split("\n", 2)
    assert header.startswith("#Id\tBulge Type\tcrRNA\tDNA\tChromosome\tLocation")
    assert body.splitlines() == lines_of(bulged, "id " + names)
    # Those of the third guide, which is the first once more, are left out.
    kept = bulged.take(bulged.guide_ids < 2)
    header, *rows = text_of(bulged, "bulge", IDS).splitlines()
    assert header.startswith("#Bulge type\tcrRNA\tDNA\tChromosome\tPosition")
    assert rows == lines_of(kept, names)
    assert len(kept) < len(bulged)


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_tables_are_read_as_they_were_written(bulged, form):
    scores = {"cut_site": np.arange(len(bulged)) - 3, "cfd": np.linspace(0, 1, len(bulged))}
    scores["cfd"][3] = np.nan
    text = text_of(bulged, form, IDS, **scores)
    if form == "csv":
        found = [*csv.DictReader(io.StringIO(text))]
    else:
        header, *lines = text.splitlines()
        found = [dict(zip(header.split("\t"), line.split("\t"), strict=True)) for line in lines]
    wanted = rows_of(bulged)
    for row, cells in enumerate(wanted):
        cells |= {"cut_site": str(row - 3), "cfd": f"{scores['cfd'][row]:.6g}"}
        if form == "tsv":
            cells["header"] = cells["header"].replace("\t", " ")
    wanted[3]["cfd"] = ""
    assert found == wanted


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r"])
@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_spreadsheet_finds_no_formula_in_a_text(form, first):
    name = f'{first}HYPERLINK("http://a.b")'
    letters = "ACGTTGCAGG"
    sequences = Sequences.from_records([(name.strip(), letters)])
    texts = (name,)
    planes = make_genome_planes(
        Sequences(sequences.names, sequences.offsets, sequences.bases, sequences.masked, (), texts)
    )
    hits = find_offtargets(["ACGTTGCNNN"], planes, PATTERN, max_mismatches=0)
    scores = {"gene": np.array([name] * len(hits)), "low": np.full(len(hits), -1.5)}
    scores["cut_site"] = np.full(len(hits), -7)
    text = text_of(hits, form, [name], **scores)
    if form == "tsv":
        assert "'" not in text
        return
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    kept = [row["id"], row["header"], row["gene"]]
    assert kept == ["'" + name] * 3
    numbers = [row[column] for column in ("start", "end", "mismatches", "low", "cut_site")]
    assert numbers == ["0", "10", "0", "-1.5", "-7"]
    assert row["strand"] == "+"


def test_parquet_has_the_columns_of_the_tables(bulged, tmp_path):
    scores = {"cut_site": np.arange(len(bulged)), "cfd": np.linspace(0, 1, len(bulged))}
    scores["cfd"][3] = np.nan
    tables = [HitTable(bulged, IDS, scores), HitTable(bulged, IDS, scores)]
    write_tables(tables, tmp_path / "hits.parquet", format="parquet")
    found = polars.read_parquet(tmp_path / "hits.parquet")
    assert len(found) == 2 * len(bulged)
    assert found["start"].dtype == found["cut_site"].dtype == polars.Int64
    assert found["mismatches"].dtype == polars.UInt8
    assert found["cfd"].dtype == polars.Float64
    assert found["cfd"].null_count() == 2
    np.testing.assert_allclose(found["cfd"].fill_null(np.nan)[: len(bulged)], scores["cfd"], 1e-5)
    wanted = rows_of(bulged)
    for name in wanted[0]:
        column = [row[name].replace("\t", " ") for row in wanted]
        assert found[name].cast(polars.String).to_list() == 2 * column, name


def test_bed_is_read_as_intervals(bulged, tmp_path):
    path = tmp_path / "hits.bed.gz"
    write_offtargets(bulged, path, format="bed", ids=IDS)
    found, wanted = read_intervals(path), rows_of(bulged)
    assert isinstance(found, Intervals)
    assert [found.contigs[i] for i in found.contig_ids] == [row["contig"] for row in wanted]
    assert [*found.names] == [row["id"] for row in wanted]
    for name, values in (("start", found.starts), ("end", found.ends)):
        assert values.tolist() == [int(row[name]) for row in wanted]
    assert found.strands.tolist() == bulged.strands.tolist()
    lost = [100 * (int(row["mismatches"]) + int(row["bulge_size"])) for row in wanted]
    assert found.scores.tolist() == [max(1000 - n, 0) for n in lost]
    cfd = np.linspace(0, 1, len(bulged))
    write_offtargets(bulged, path, format="bed", scores={"cfd": cfd})
    found = read_intervals(path)
    assert found.scores.tolist() == np.rint(1000 * cfd).tolist()
    assert [*found.names] == [row["guide"] for row in wanted]


@pytest.mark.parametrize("form", FORMATS)
def test_no_hits_are_a_file_too(planes, tmp_path, form):
    path = tmp_path / "hits"
    write_offtargets(empty_hits(GUIDES, PATTERN, planes), path, format=form)
    n_lines = {"v2": 0, "bed": 0, "v3": 2}.get(form, 1)
    if form == "parquet":
        assert polars.read_parquet(path).shape == (0, 12)
    else:
        assert path.read_text().count("\n") == n_lines


def test_what_cannot_be_written_is_told(plain, bulged, tmp_path):
    path = tmp_path / "hits"
    for hits, options, words in (
        (bulged, {}, "v2 have no bulges"),
        (plain, {"format": "sam"}, "format is 'sam'"),
        (plain, {"ids": ["one"]}, "1 ids for 3 guides"),
        (plain, {"scores": {"cfd": np.zeros(2)}}, r"cfd has shape \(2,\)"),
    ):
        with pytest.raises(ParameterError, match=words):
            write_offtargets(hits, path, **options)
        assert not path.exists()


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_lines_are_those_of_python(data):
    n = data.draw(st.integers(0, 9))
    texts = data.draw(st.lists(st.text("abé ,", max_size=4), min_size=1, max_size=4))
    rows = np.array([data.draw(st.integers(0, len(texts) - 1)) for _ in range(n)], np.int64)
    whole = [data.draw(st.integers(-(2**62), 2**62)) for _ in range(n)]
    numbers = st.floats(allow_infinity=False) | st.just(np.nan)
    floats = [data.draw(numbers) for _ in range(n)]
    columns = [
        text_column(texts, rows),
        integer_column(np.array(whole, np.int64)),
        float_column(np.array(floats, np.float64)),
    ]
    shown = ["" if value != value else f"{value:.6g}" for value in floats]
    wanted = [
        f"{texts[row]}\t{number}\t{value}\n"
        for row, number, value in zip(rows, whole, shown, strict=True)
    ]
    assert join_columns(columns).decode() == "".join(wanted)


def test_numbers_are_written_as_python_writes_them():
    numbers = np.random.default_rng(3)
    n = 3000
    tens = 10.0 ** np.arange(-307, 308)
    values = np.concatenate([
        numbers.integers(0, 2**64, n, np.uint64).view(np.float64),
        numbers.random(n) * 10.0 ** numbers.integers(-12, 12, n),
        # Many are halfway between two decimals of so many digits.
        numbers.integers(0, 10**7, n) / 2.0 ** numbers.integers(0, 9, n),
        tens, np.nextafter(tens, 0), -0.999999 * tens, 9.9999995 * tens,
        [0, -0.0, 5e-324, 2.2250738585072014e-308, np.inf, -np.inf, np.nan],
    ])  # fmt: skip
    for digits in (1, 2, 6, 9, 15):
        shown = ["" if value != value else f"{value:.{digits}g}" for value in values.tolist()]
        assert join_columns([float_column(values, digits)]).decode() == "\n".join([*shown, ""])


def test_shortest_numbers_are_those_of_python():
    numbers = np.random.default_rng(4)
    n = 3000
    tens, twos = 10.0 ** np.arange(-307, 308), 2.0 ** np.arange(-1022, 1024)
    values = np.concatenate([
        numbers.integers(0, 2**64, n, np.uint64).view(np.float64),
        numbers.random(n) * 10.0 ** numbers.integers(-12, 18, n),
        numbers.integers(0, 40001, n) / 40000, numbers.integers(0, 10**7, n) / 1e6,
        tens, np.nextafter(tens, 0), -tens, twos, np.nextafter(twos, 0), np.nextafter(twos, 1e308),
        [0, -0.0, 5e-324, 2.2250738585072014e-308, 2.0**53, 2.0**53 + 2, 1e16, 1e-5, 9.5e-6],
    ])  # fmt: skip
    shown = join_columns([shortest_column(values, "nan")]).decode().splitlines()
    assert np.array_equal(np.array(shown, np.float64), values, equal_nan=True)
    pairs = zip(shown, map(repr, values.tolist()), strict=True)
    assert [each for each in pairs if _digits(each[0]) != _digits(each[1])] == []


def _digits(text: str) -> str:
    return text.lstrip("-").partition("e")[0].replace(".", "").strip("0")


def test_columns_of_tables_are_those_of_polars():
    numbers = np.random.default_rng(5)
    columns = {
        "text": np.array(["rs1", "A", "", 'a "b"', "tab\t", "é", "line\n"]),
        "plain": np.array(["rs1", "A", "x" * 20, "1", "2", "3", "4"]),
        "whole": np.array([0, -1, 7, 2**62, -(2**63) + 1, 5, 6]),
        "truth": np.array([True, False] * 3 + [True]),
        "real": np.array([0.25, np.nan, np.inf, -np.inf, 1e-7, 123456.0, 1e-5]),
        "single": numbers.random(7).astype(np.float32),
        "strided": numbers.random((7, 2))[:, 1],
    }
    frame = polars.DataFrame(columns).fill_nan(None)
    wanted = frame.write_csv(separator="\t", null_value="NA", include_header=False)
    parts = [table_column(values) for values in columns.values()]
    assert join_columns(parts).decode() == wanted
    assert join_columns([table_column(values[:0]) for values in columns.values()]) == b""
