"""A link is read value by value: what is wrong is said, and the rest is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.address import Address, Region
from genoviz.errors import ParameterError

PAGES = ("pangenome", "coverage")


def test_page_file_and_region_are_read():
    address = Address.parse(
        "?page=coverage&file=/data/a%20b.gfa&region=HG002%231%23chr6:10-2,500", pages=PAGES
    )
    assert address == Address("coverage", "/data/a b.gfa", Region("HG002#1#chr6", 10, 2500))


def test_one_wrong_value_does_not_discard_the_others():
    address = Address.parse("?page=nowhere&file=drb1&region=chr6:9-2", pages=PAGES)
    assert (address.page, address.file, address.region) == ("", "drb1", None)
    assert address.complaints == (
        "The link names page 'nowhere'; there are pangenome, coverage.",
        "The link is not followed all the way: region 'chr6:9-2' ends at 2, "
        "needs an end after its start.",
    )


@pytest.mark.parametrize("text", ["", "chr6", "chr6:1-", "chr6:-5", ":1-2", "chr6:a-b", "chr6:,-,"])
def test_what_is_no_region_is_named(text):
    with pytest.raises(ParameterError, match="region"):
        Region.parse(text)


@given(
    st.sampled_from(["", *PAGES]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.none()
    | st.builds(
        lambda path, start, length: Region(path, start, start + length),
        st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1),
        st.integers(0, 10**9),
        st.integers(1, 10**9),
    ),
)
def test_what_is_written_is_read_again(page, file, region):
    address = Address(page, file, region)
    assert Address.parse(address.query, pages=PAGES) == address
