from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.lay import _write_enc_vector, read_lay, write_lay
from genoviz.io.graph.layout_tsv import read_layout_tsv
from genoviz.model import GraphLayout
from tests.conftest import real_data
from tests.oracles.lay import decode_lay


def layouts(elements, sizes=(0, 1, 2, 31, 32, 33, 63, 64, 65, 100)):
    return st.sampled_from(sizes).flatmap(
        lambda n: hnp.arrays(np.float64, (n, 2, 2), elements=elements)
    )


COORDINATES = st.floats(0, 1e300) | st.sampled_from([0.0, 1.0, 1000.0, 5e-324])


@pytest.fixture(scope="module")
def lay_path(tmp_path_factory):
    return tmp_path_factory.mktemp("lay") / "layout.lay"


@given(coordinates=layouts(COORDINATES))
def test_layout_comes_back_to_the_last_bit(lay_path, coordinates):
    write_lay(GraphLayout(coordinates), lay_path)
    np.testing.assert_array_equal(read_lay(lay_path).coordinates, coordinates)


@given(coordinates=layouts(st.floats(-1e300, 1e300)))
def test_negative_coordinates_come_back_but_for_rounding(lay_path, coordinates):
    write_lay(GraphLayout(coordinates), lay_path)
    extent = coordinates.max(initial=0) - coordinates.min(initial=0)
    np.testing.assert_allclose(
        read_lay(lay_path).coordinates, coordinates, rtol=0, atol=2**-52 * extent
    )


@given(coordinates=layouts(COORDINATES, sizes=(1, 31, 32, 33, 64)))
def test_written_file_is_what_the_format_says(lay_path, coordinates):
    write_lay(GraphLayout(coordinates), lay_path)
    points = np.array(decode_lay(lay_path.read_bytes()))
    np.testing.assert_array_equal(points, coordinates.reshape(-1, 2))


def test_codes_of_a_tiny_layout(tmp_path):
    write_lay(GraphLayout(np.array([[[0.0, 1.0], [1.0, 0.0]]])), tmp_path / "one.lay")
    data = (tmp_path / "one.lay").read_bytes()
    assert struct.unpack_from("<dQ", data) == (0.0, 4)
    one = 0x3FF << 52  # the bit pattern of 1.0, which is also the first difference: 62 bits
    n_bits = (11 + 61) + (13 + 64) + (13 + 63)  # then 0 as 65 bits, then 2**64 - one: 64 bits
    assert struct.unpack_from("<QB", data, 16) == (n_bits, 1)
    codes = int.from_bytes(data[25 : 25 + 32], "little")
    assert codes & (2**11 - 1) == 0b11110_1_00000  # 5 zeros, a one, the low 5 bits of 62
    assert codes >> 11 & (2**61 - 1) == one - 2**61
    assert codes >> 72 & (2**13 - 1) == 0b000001_1_000000  # 65 has 7 bits
    assert codes >> 85 & (2**64 - 1) == 0
    assert codes >> 149 & (2**13 - 1) == 0b000000_1_000000  # 64 has 7 bits
    assert codes >> 162 == 2**64 - one - 2**63
    assert struct.unpack_from("<QB", data, 57) == (4 * 8, 8)
    assert data[66:] == bytes([0, 0, 0, n_bits + 1, 0, 0, 0, 0])


@pytest.mark.parametrize("name", ["11", "13", "15", "29", "odgi"])
def test_real_layout_decodes_and_encodes_as_odgi_does(tmp_path, name):
    joint = "." if name == "odgi" else "_"
    path = real_data(f"layouts/DRB1-3123{joint}{name}.lay")
    layout = read_lay(path)
    points = decode_lay(path.read_bytes())
    np.testing.assert_array_equal(layout.points, points)

    offset = struct.unpack_from("<d", path.read_bytes())[0]
    with (tmp_path / "again.lay").open("wb") as file:
        file.write(struct.pack("<dQ", offset, 4 * layout.n_nodes))
        _write_enc_vector(file, encoded_values(path.read_bytes(), offset))
    assert (tmp_path / "again.lay").read_bytes() == path.read_bytes()

    write_lay(layout, tmp_path / "ours.lay")
    np.testing.assert_array_equal(read_lay(tmp_path / "ours.lay").coordinates, layout.coordinates)


def encoded_values(data, offset):
    """Return the stored integers, from a copy of the file whose offset is zero."""
    assert offset > 0
    points = np.array(decode_lay(struct.pack("<d", 0.0) + data[8:]))
    return points.ravel().view(np.uint64)


def test_real_lay_and_tsv_are_one_layout():
    from_lay = read_lay(real_data("layouts/DRB1-3123.odgi.lay"))
    from_tsv = read_layout_tsv(real_data("layouts/DRB1-3123.odgi.tsv.gz"))
    difference = np.abs(from_lay.coordinates - from_tsv.coordinates).max()
    assert 0 < difference < 5.5e-12  # half of the TSV's 16th digit at 13,204 bp


@pytest.mark.parametrize(
    "coordinates",
    [[1.0, np.nan, 2.0, 3.0], [np.inf, 1.0, 2.0, 3.0], [-1.7e308, 1.7e308, 0.0, 0.0]],
)
def test_unwritable_layout_is_refused_and_the_old_file_stays(tmp_path, coordinates):
    path = tmp_path / "old.lay"
    path.write_bytes(b"old")
    with pytest.raises(ParameterError, match="node 0 has a coordinate that is not finite"):
        write_lay(GraphLayout(np.array(coordinates).reshape(1, 2, 2)), path)
    assert [file.name for file in tmp_path.iterdir()] == ["old.lay"]
    assert path.read_bytes() == b"old"


def test_files_that_cannot_be_opened_are_named(tmp_path):
    with pytest.raises(FileFormatError, match=r"^x.lay: cannot be written: No such file"):
        write_lay(GraphLayout(np.zeros((1, 2, 2))), tmp_path / "no" / "x.lay")
    with pytest.raises(FileFormatError, match=r"^x.lay: there is no such file in"):
        read_lay(tmp_path / "x.lay")
    with pytest.raises(FileFormatError, match=r"cannot be read: Is a directory"):
        read_lay(tmp_path)


@pytest.fixture(scope="module")
def good_bytes(lay_path):
    rng = np.random.default_rng(5)
    write_lay(GraphLayout(rng.uniform(0, 1e6, (70, 2, 2))), lay_path)
    return lay_path.read_bytes()


@given(data=st.data())
def test_cut_file_is_refused(tmp_path_factory, good_bytes, data):
    path = tmp_path_factory.getbasetemp() / "cut.lay"
    path.write_bytes(good_bytes[: data.draw(st.integers(0, len(good_bytes) - 1))])
    with pytest.raises(FileFormatError, match=r"^cut.lay: (has \d+ bytes|ends before|says )"):
        read_lay(path)


@given(data=st.data())
def test_changed_file_is_refused_or_read_as_the_format_says(tmp_path_factory, good_bytes, data):
    path = tmp_path_factory.getbasetemp() / "changed.lay"
    changed = bytearray(good_bytes)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(changed)
    try:
        layout = read_lay(path)
    except FileFormatError:
        return
    np.testing.assert_array_equal(layout.points, decode_lay(bytes(changed)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data + b"x", "goes on after the end of its layout"),
        (lambda data: b"GIF89a" + data[6:16] + b"\0" * 40, "it is not a .lay file"),
        (lambda data: data[:8] + struct.pack("<Q", 281) + data[16:], "says 281 values"),
        (lambda data: data[:8] + struct.pack("<Q", 2**60) + data[16:], "says 1,152,921,504,606"),
        (lambda data: data[:16] + struct.pack("<Q", 2**63) + data[24:], "ends before its layout"),
        (lambda data: data[:30] + b"\0" * 16 + data[46:], "damaged codes for nodes 0 to 31"),
        (lambda data: struct.pack("<d", np.inf) + data[8:], "node 0 that is not finite"),
    ],
)
def test_damaged_file_says_what_is_wrong(tmp_path, good_bytes, change, message):
    path = tmp_path / "bad.lay"
    path.write_bytes(change(good_bytes))
    with pytest.raises(FileFormatError, match=message):
        read_lay(path)


@pytest.mark.parametrize(("n_bits", "is_good"), [(64, True), (65, True), (66, False), (127, False)])
def test_a_difference_has_at_most_65_bits(tmp_path, n_bits, is_good):
    low_bits = f"{n_bits - 64:06b}"[::-1]
    codes = "0" * 6 + "1" + low_bits + "0" * (n_bits - 1) + "1" + "1"  # then twice a step of 1
    words = int(codes[::-1], 2).to_bytes(8 * -(-len(codes) // 64), "little")
    path = tmp_path / "x.lay"
    path.write_bytes(
        struct.pack("<dQQB", 0.0, 4, len(codes), 1)
        + words
        + struct.pack("<QB8B", 4 * 8, 8, 0, 0, 0, len(codes) + 1, 0, 0, 0, 0)
    )
    if is_good:
        first = 2**63 if n_bits == 64 else 0
        expected = np.array([0, first, first + 1, first + 2], np.uint64).view(np.float64)
        np.testing.assert_array_equal(read_lay(path).coordinates.ravel(), expected)
    else:
        with pytest.raises(FileFormatError, match="damaged codes for nodes 0 to 31"):
            read_lay(path)
