"""A link is read value by value: what is wrong is said, and the rest is kept."""

from __future__ import annotations

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genoviz.errors import ParameterError
from genoviz_app.pages import PAGES as ALL_PAGES
from genoviz_app.session.address import OF_PAGES, WHOLE, Address, Region, parse_view, parse_zoom

PAGES = ("pangenome", "coverage")


def test_page_file_and_region_are_read():
    address = Address.parse(
        "?page=coverage&file=/data/a%20b.gfa&region=HG002%231%23chr6:10-2,500", pages=PAGES
    )
    assert address == Address(
        page="coverage", file="/data/a b.gfa", region=Region("HG002#1#chr6", 10, 2500)
    )


def test_files_colours_and_view_are_read():
    address = Address.parse(
        "?file=c4&layout=/d/c4.lay&annotations=/d/a.bed&annotations=/d/b.gff"
        "&colour=paths&path=HG002%231&path=a,b&view=0,10.5,-3e6,4",
        pages=PAGES,
    )
    assert address == Address(
        file="c4",
        layout="/d/c4.lay",
        annotations=("/d/a.bed", "/d/b.gff"),
        colour="paths",
        paths=("HG002#1", "a,b"),
        view=(0.0, 10.5, -3e6, 4.0),
    )


@pytest.mark.parametrize(
    "text",
    [
        *("", "1,2,3", "1,2,3,x", "2,1,0,1", "0,1,1,1", "0,inf,0,1", "nan,1,0,1"),
        *("-1e308,1e308,0,1", "0,1,-1e308,1e308", "0,1e-300,0,1", "0,1,0,1e-300"),
    ],
)
def test_what_is_no_view_is_named(text):
    with pytest.raises(ParameterError, match=r"view is .*needs x_min,x_max,y_min,y_max"):
        parse_view(text)


@pytest.mark.parametrize("text", ["", "1", "1,2,3", "a,2", "2,1", "1,1", "nan,2", "0,inf"])
def test_what_is_no_stretch_is_named(text):
    with pytest.raises(ParameterError, match=r"zoom is .*needs start,end in bp"):
        parse_zoom(text)


@pytest.mark.parametrize(
    ("query", "bounds"),
    [
        *[("region=HG1#1#c:10-2,500", (10, 2500)), ("at=HG1#1#c:11-2,500", (10, 2500))],
        *[("at=HG1#1#c:7-7", (6, 7)), ("at=HG1#1#c:7", (6, 7)), ("at=c:0-9", None)],
        *[("at=c:9-2", None), ("at=c", None), ("at=:1-2", None), ("at=c:-5", None)],
    ],
)
def test_a_region_is_counted_from_1_and_from_0_in_old_links(query, bounds):
    address = Address.parse(f"?{query.replace('#', '%23')}", pages=PAGES)
    assert address.region == (bounds and Region("HG1#1#c", *bounds))
    assert len(address.complaints) == (bounds is None)
    if bounds:
        assert address.query == f"?at=HG1%231%23c:{bounds[0] + 1}-{bounds[1]}"
    else:
        assert query.removeprefix("at=") in address.complaints[0]


def test_a_link_with_both_regions_has_the_new_one():
    address = Address.parse("?region=c:1-2&at=d:1-2", pages=PAGES)
    assert (address.region, address.complaints) == (Region("d", 0, 2), ())


@pytest.mark.parametrize("name", ["region", "at", "view", "zoom", "k", "page"])
def test_what_is_wrong_with_a_long_link_is_told_shortly(name):
    address = Address.parse(f"?{name}={'y' * 60_000}", pages=PAGES)
    (complaint,) = address.complaints
    assert len(complaint) < 400
    assert f"{name} " in complaint
    assert complaint.endswith("yyy...")


def test_one_wrong_value_does_not_discard_the_others():
    query = "?page=nowhere&file=drb1&region=chr6:9-2&colur=depth&xyz=1&theme=dark"
    address = Address.parse(query, pages=PAGES)
    assert (address.page, address.file, address.region) == ("", "drb1", None)
    assert address.complaints == (
        "The link has 'colur', which no page knows; 'colour' may be meant.",
        "The link has 'xyz', which no page knows; take it out of the link.",
        "The link names page 'nowhere'; there are pangenome, coverage.",
        "The link is not followed all the way: region 'chr6:9-2' ends at 2, "
        "needs an end after its start.",
    )


@pytest.mark.parametrize("text", ["", "chr6", "chr6:1-", "chr6:-5", ":1-2", "chr6:a-b", "chr6:,-,"])
def test_what_is_no_region_is_named(text):
    with pytest.raises(ParameterError, match="region"):
        Region.parse(text)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1)
REGIONS = st.builds(
    lambda path, start, length: Region(path, start, start + length),
    NAMES,
    st.integers(0, 10**9),
    st.integers(1, 10**9),
)
SPANS = st.tuples(st.integers(-(10**9), 10**9), st.integers(1, 10**9))


@given(
    st.builds(
        Address,
        page=st.sampled_from(["", *PAGES]),
        file=TEXTS,
        layout=TEXTS,
        annotations=st.lists(NAMES, max_size=2).map(tuple),
        region=st.none() | REGIONS,
        colour=TEXTS,
        paths=st.lists(NAMES, max_size=3).map(tuple),
        group=TEXTS,
        shape=TEXTS,
        window=TEXTS,
        blup=TEXTS,
        pedigree=TEXTS,
        results=st.lists(NAMES, max_size=2).map(tuple),
        zoom=st.none() | st.just((-3.0, 1234567.0)),
        view=st.none()
        | st.just(WHOLE)
        | st.tuples(SPANS, SPANS).map(
            lambda spans: tuple(
                float(end) for start, length in spans for end in (start, start + length)
            )
        ),
    )
)
def test_what_is_written_is_read_again(address):
    assert Address.parse(address.query, pages=PAGES) == address


def test_a_link_to_k_mers_goes_there_and_back():
    query = "?page=kmers&sequences=genome&kmers=GATTACA%0AACGN&strand=canonical&k=31&tab=spectrum"
    address = Address.parse(query, pages=("pangenome", "kmers"))
    assert (address.sequences, address.kmers) == ("genome", "GATTACA\nACGN")
    assert (address.strand, address.k, address.tab) == ("canonical", 31, "spectrum")
    assert Address.parse(address.query, pages=("kmers",)) == address


@pytest.mark.parametrize("k", ["0", "-3", "many", "²", "9" * 30])
def test_a_k_that_is_no_length_is_said(k):
    address = Address.parse(f"?k={k}", pages=())
    assert address.k == 0
    assert f"k is {k!r}" in address.complaints[0]


def test_all_that_a_link_says_is_for_one_page_or_for_what_is_in_sight():
    of_pages = [name for names in OF_PAGES.values() for name in names]
    assert len(of_pages) == len({*of_pages})
    assert {*OF_PAGES} <= {page.slug for page in ALL_PAGES}
    of_all = {
        *("page", "split", "file", "layout", "annotations", "tracks", "region", "tab", "lit"),
        *("genotypes", "phenotypes", "story", "lower", "complaints"),
    }
    assert of_all == {field.name for field in fields(Address)} - {*of_pages}
    whole = Address(kmers="GAT", k=5, tab="hits", region=Region("a", 1, 2), looks=("1,log",))
    assert whole.of_page("kmers") == Address(kmers="GAT", k=5)
    assert whole.of_page("quality") == Address()
