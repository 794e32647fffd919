"""Tables of nodes are read as their users mean them, and errors name file and line."""

from __future__ import annotations

import csv
import gzip
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.errors import FileFormatError, ParameterError
from genoviz.io.graph.node_list import find_nodes
from genoviz.io.graph.node_table import parse_colour_text, read_node_table
from genoviz.model import ByteStrings
from tests.graphs import make_graph


@pytest.fixture
def read(tmp_path):
    """Write a table and read it for a graph with the nodes 1 to 4."""

    def read(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_node_table(path, make_graph([1, 1, 1, 1], [[1, 2]]))

    return read


def test_a_column_whose_half_are_texts_is_one_of_texts(read):
    assert column(read, "node,value\n1,7\n2,x\n", "value")[1] == "texts"
    with pytest.raises(FileFormatError, match="line 3: 'x' is not a number"):
        read("node,value\n1,7\n2,x\n3,8\n")


def column(read, text, name=""):
    found = read(text).find(name)
    return found.name, found.kind, found.values.tolist(), found.texts


@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_numbers_are_values_and_other_nodes_have_none(read, separator, newline):
    rows = [("node", "coverage"), ("3", "1.5"), ("1", "-2"), ("2", "NA")]
    text = newline.join(separator.join(row) for row in rows) + newline
    found = read(text).find()
    assert (found.name, found.kind, found.values.dtype) == ("coverage", "numbers", np.float32)
    np.testing.assert_array_equal(found.values, [-2, np.nan, 1.5, np.nan])


def test_a_header_is_optional(read):
    assert column(read, "1,5\n2,6\n")[:2] == ("Value", "numbers")
    assert column(read, "1,5\n2,6\n") != column(read, "node,v\n1,5\n2,6\n")
    assert [c.name for c in read("1\ta\t3\n").columns] == ["column 2", "column 3"]


def test_colours_may_be_hexadecimal_or_named(read):
    assert column(read, "node,colour\n1,#F00\n2,steelblue\n3,#ff0000\n") == (
        "colour",
        "colours",
        [0, 1, 2, -1],
        ("#ff0000", "#4682b4", "#ff0000"),
    )
    assert parse_colour_text("#12345") is None


def test_texts_are_labels(read):
    assert column(read, 'node\tgene\n2\t"a, b"\n4\tc\n1\tc\n'.replace("\t", ",")) == (
        "gene",
        "texts",
        [1, 0, -1, 1],
        ("a, b", "c"),
    )


def test_several_columns_are_kept_and_asked_for_by_name(read):
    table = read("##comment\nnode,value,label\n1,2,x\n2,3,y\n")
    assert [(c.name, c.kind) for c in table.columns] == [("value", "numbers"), ("label", "texts")]
    assert table.find("label").texts == ("x", "y")
    assert table.find("label").values.dtype == np.int32  # float32 has only 2^24 indices
    with pytest.raises(ParameterError, match="has no column 'gene'; it has value, label"):
        table.find("gene")


def test_a_gzipped_table_is_read(read):
    assert column(lambda text: read(gzip.compress(text), "t.tsv.gz"), b"1\t5\n")[1] == "numbers"


def test_rows_of_other_nodes_are_counted(read):
    table = read("node,v\n1,1\nx,2\ny,3\n")
    assert table.notes == (
        "table.csv: 2 of 3 rows name nodes that the graph lacks, the first 'x' in line 3.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "table.csv: is empty|table.csv: .*empty"),
        ("1\n2\n", "table.csv, line 1: has one column, needs at least two"),
        ("node,v\n", "table.csv: has no rows below its header"),
        ("node,v\n1,2\n2\n", "table.csv, line 3: has 1 field, and the first row has 2"),
        ("##x\nnode,v\n1,2\n\n2,3,4\n", "table.csv, line 5: has 3 fields"),
        ('node,v\n"1",2\n2,"3",4\n', "table.csv, line 3: has 3 fields"),
        ("s1,5\ns2,6\n", "table.csv, line 1: the graph has no node 's1'"),
        ("node,v\ns1,5\n", "table.csv, line 2: the graph has no node 's1'"),
        ("node,colour\n1,red\n2,rot\n", "table.csv, line 3: 'rot' is not a colour, needs #rrggbb"),
        ("node,value\n1,1\n\n2,2\n3,x\n", "table.csv, line 5: 'x' is not a number"),
    ],
)
def test_errors_name_file_and_line(read, text, message):
    with pytest.raises(FileFormatError, match=message):
        read(text)


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.floats(-1e9, 1e9, width=32) | st.none()),
        min_size=1,
    )
)
def test_values_are_those_of_the_last_row_of_each_node(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("table") / "t.csv"
    target = io.StringIO()
    csv.writer(target).writerows([("node", "v"), *((n, "" if v is None else v) for n, v in rows)])
    path.write_text(target.getvalue())
    expected = {node: value for node, value in rows if value is not None}
    found = read_node_table(path, make_graph([1] * 4, [[1]])).find()
    if not expected:
        assert found.kind == "texts"
        return
    for node, value in enumerate(found.values.tolist(), 1):
        assert value == expected[node] if node in expected else math.isnan(value)


@given(st.lists(st.text("ab019", min_size=1, max_size=4), min_size=1, unique=True), st.data())
def test_nodes_are_found_by_name(names, data):
    graph = make_graph([1] * len(names), [[1]])
    object.__setattr__(graph, "node_names", ByteStrings.from_texts(names))
    wanted = data.draw(st.lists(st.sampled_from(names) | st.text("ab019", max_size=4)))
    expected = [names.index(name) if name in names else -1 for name in wanted]
    assert find_nodes(graph, wanted).tolist() == expected
