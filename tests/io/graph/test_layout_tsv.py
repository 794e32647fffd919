from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.layout_tsv import read_layout_tsv, write_layout_tsv
from genoviz.model import GraphLayout
from tests.conftest import real_data

ONE_NODE = "idx\tX\tY\n0\t1\t2\n1\t3\t4\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("tsv")


def write_text(path, text):
    path.write_bytes(text.encode())
    return path


@given(
    coordinates=st.integers(0, 40).flatmap(
        lambda n: hnp.arrays(
            np.float64,
            (n, 2, 2),
            elements=st.floats(allow_nan=False, allow_infinity=False)
            | st.floats(0, 1e6)
            | st.integers(-1000, 1000).map(lambda value: value / 8),
        )
    ),
    with_components=st.booleans(),
    ending=st.sampled_from([".tsv", ".tsv.gz"]),
)
def test_layout_comes_back_to_the_last_bit(folder, coordinates, with_components, ending):
    components = np.arange(len(coordinates), dtype=np.int32) if with_components else None
    path = folder / f"layout{ending}"
    write_layout_tsv(GraphLayout(coordinates, components), path)
    layout = read_layout_tsv(path)
    np.testing.assert_array_equal(layout.coordinates, coordinates)
    np.testing.assert_array_equal(layout.components, components)


@given(
    texts=st.lists(
        st.from_regex(
            r"[+-]?([0-9]{1,20}(\.[0-9]{0,20})?|\.[0-9]{1,20})(e[+-]?[0-9]{1,2})?", fullmatch=True
        ),
        min_size=4,
        max_size=40,
    )
)
@example(texts=["9007199254740993", "9007199254740992.5", "0.1", "123456789012345678e22"])
@example(texts=["1e22", "1e23", "2.2250738585072011e-5", "900719925474099.25e-1"])
@example(texts=["9300000000000000000", "999999999999999999", "1000000000000000000", "0"])
def test_numbers_are_read_as_python_reads_them(folder, texts):
    del texts[len(texts) // 4 * 4 :]
    pairs = zip(texts[0::2], texts[1::2], strict=True)
    rows = "".join(f"{index}\t{x}\t{y}\n" for index, (x, y) in enumerate(pairs))
    layout = read_layout_tsv(write_text(folder / "numbers.tsv", "idx\tX\tY\n" + rows))
    np.testing.assert_array_equal(layout.coordinates.ravel(), [float(text) for text in texts])


@given(value=st.floats(1e-7, 1e18) | st.floats(0, 1e5) | st.integers(0, 10**17).map(float))
@example(value=0.1)
@example(value=np.nextafter(0.1, 0))
@example(value=np.nextafter(1e-5, 1))
@example(value=np.nextafter(1e15, 0))
@example(value=5e-324)
def test_numbers_are_written_with_17_digits_at_most(folder, value):
    path = folder / "digits.tsv"
    write_layout_tsv(GraphLayout(np.full((1, 2, 2), value)), path)
    texts = path.read_text().splitlines()[1].split("\t")[1:]
    for text in texts:
        assert float(text) == value
        digits = text.partition("e")[0].replace(".", "").strip("0")
        assert len(digits) <= max(16, len(repr(value).partition("e")[0].replace(".", "")))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_rows_may_be_in_any_order_and_lines_end_as_they_like(tmp_path, newline, end):
    text = "idx\tX\tY\tcomponent\n3\t7.5\t8\t1\n0\t1\t2\t0\n2\t5\t6\t1\n1\t3\t-4e0\t0" + end
    layout = read_layout_tsv(write_text(tmp_path / "x.tsv", text.replace("\n", newline)))
    assert layout.coordinates.tolist() == [[[1, 2], [3, -4]], [[5, 6], [7.5, 8]]]
    assert layout.components.tolist() == [0, 1]


def test_dialect_without_components_has_none(tmp_path):
    assert read_layout_tsv(write_text(tmp_path / "x.tsv", ONE_NODE)).components is None
    assert read_layout_tsv(write_text(tmp_path / "x.tsv", "idx\tX\tY")).n_nodes == 0


def test_written_text_is_odgis(tmp_path):
    layout = GraphLayout(np.array([[[1000.0, -0.5], [0.1, 1e-7]]]), np.array([3], np.int32))
    write_layout_tsv(layout, tmp_path / "x.tsv")
    expected = "idx\tX\tY\tcomponent\n0\t1000\t-0.5\t3\n1\t0.1\t1e-7\t3\n"
    assert (tmp_path / "x.tsv").read_text() == expected


def test_same_layout_is_the_same_gzip_file(tmp_path):
    layout = GraphLayout(np.ones((2, 2, 2)))
    for name in ("a.tsv.gz", "b.tsv.gz"):
        write_layout_tsv(layout, tmp_path / name)
    assert (tmp_path / "a.tsv.gz").read_bytes() == (tmp_path / "b.tsv.gz").read_bytes()


@pytest.mark.parametrize("name", ["DRB1-3123.odgi", "LPA.odgi", "chr6.C4.odgi"])
def test_odgi_tsv_is_read_as_numpy_reads_it(name):
    path = real_data(f"layouts/{name}.tsv.gz")
    rows = np.loadtxt(path, skiprows=1)
    rows = rows[np.argsort(rows[:, 0])]
    layout = read_layout_tsv(path)
    np.testing.assert_array_equal(layout.points, rows[:, 1:3])
    np.testing.assert_array_equal(layout.components, rows[::2, 3])


def test_published_chromosome_layout_is_read():
    layout = read_layout_tsv(real_data("layouts/hprc_chrY.lay.tsv.gz"))
    assert layout.n_nodes == 163_806
    assert layout.components is None
    assert layout.coordinates[0].tolist() == [[1000.0, 290565.75], [2771355.75, 254181.09375]]
    assert layout.bounds == (1000.0, 1000.0, 57311548.0, 443361.625)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x.tsv: the file is empty"),
        ("\n", "x.tsv, line 1: the header is not 'idx X Y' or 'idx X Y component'"),
        ("idx X Y\n", "x.tsv, line 1: the header"),
        ("idx\tX\tY\tz\n", "x.tsv, line 1: the header"),
        (ONE_NODE + "2\t1\n", r"line 4: has 2 columns, needs 3 \(idx, X, Y\)"),
        (ONE_NODE + "2\t1\t2\t3\n", "line 4: has 4 columns, needs 3"),
        ("idx\tX\tY\tcomponent\n0\t1\t2\n", r"line 2: has 3 columns, needs 4 \(idx, X, Y, comp"),
        (ONE_NODE + "\n2\t1\t2\n", "line 4: is empty"),
        (ONE_NODE + "2\tx\t2\n", "line 4: X is 'x', needs a finite number"),
        (ONE_NODE + "2\t1\tnan\n", "line 4: Y is 'nan', needs a finite number"),
        (ONE_NODE + "2\t1\t-inf\n", "line 4: Y is '-inf', needs a finite number"),
        (ONE_NODE + "2\t1\t1e999\n", "line 4: Y is '1e999', needs a finite number"),
        (ONE_NODE + "2\t1_0\t2\n", "line 4: X is '1_0', needs a finite number"),
        (ONE_NODE + "2.0\t1\t2\n", "line 4: idx is '2.0', needs an integer from 0"),
        (ONE_NODE + "-2\t1\t2\n", "line 4: idx is '-2', needs an integer from 0"),
        (
            ONE_NODE + "9" * 30 + "\t1\t2\n",
            "line 4: idx is '99999999",
        ),
        (ONE_NODE + "2\t1\t" + "2" * 2000 + "\n", "line 4: is longer than 999 bytes"),
        (ONE_NODE + "0\t1\t2\n", "line 4: idx 0 was already given in line 2"),
        (ONE_NODE + "2\t1\t2\n", "has 3 rows, needs two for each node"),
        (ONE_NODE + "5\t1\t2\n2\t1\t2\n", "idx 3 is missing, needs each of 0 to 3 in 4 rows"),
        ("idx\tX\tY\tcomponent\n0\t1\t2\t0\n1\t1\t2\t1\n", "line 3: the two ends of node 0 are"),
        ("idx\tX\tY\tcomponent\n0\t1\t2\t-1\n", "line 2: component is '-1', needs an integer"),
        ("idx\tX\tY\tcomponent\n0\t1\t2\t9999999999\n", "line 2: component is '9999999999'"),
    ],
)
def test_bad_text_says_what_is_wrong(tmp_path, text, message):
    with pytest.raises(FileFormatError, match=message):
        read_layout_tsv(write_text(tmp_path / "x.tsv", text))


@pytest.mark.parametrize("n_bytes", [3, 20, -9, -1])
def test_cut_gzip_is_refused(tmp_path, n_bytes):
    path = tmp_path / "x.tsv.gz"
    path.write_bytes(gzip.compress(ONE_NODE.encode() * 2)[:n_bytes])
    with pytest.raises(FileFormatError, match="the gzip data end too early"):
        read_layout_tsv(path)


@given(data=st.data())
def test_any_bytes_are_read_or_refused(folder, data):
    text = bytearray(b"idx\tX\tY\n0\t1.5\t2\n1\t3\t4e1\n2\t-5\t6\n3\t7\t8\n")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    path = folder / "any.tsv"
    path.write_bytes(text)
    try:
        layout = read_layout_tsv(path)
    except FileFormatError:
        return
    rows = [row.split("\t") for row in text.decode().replace("\r\n", "\n").split("\n")[1:] if row]
    expected = sorted((int(index), float(x), float(y)) for index, x, y in rows)
    assert layout.points.tolist() == [[x, y] for _, x, y in expected]


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz"])
def test_layout_that_is_not_finite_is_refused(tmp_path, ending):
    coordinates = np.ones((3, 2, 2))
    coordinates[1, 1, 0] = np.nan
    with pytest.raises(ParameterError, match="node 1 has a coordinate that is not finite"):
        write_layout_tsv(GraphLayout(coordinates), tmp_path / f"x{ending}")
    assert not list(tmp_path.iterdir())
