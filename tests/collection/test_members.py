from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from genoviz.collection.members import GraphMember, read_collection
from genoviz.collection.reading import MemberReader, read_member
from genoviz.errors import FileFormatError, ParameterError
from genoviz.generators import last_of
from genoviz.io.files import file_source
from genoviz.io.graph.gbz_writer import write_gbz
from genoviz.io.graph.reader import read_graph
from tests.conftest import real_data

CHR6 = "S\t1\tACGT\nS\t2\tGG\nL\t1\t+\t2\t+\t0M\nW\tGRCh38\t0\tchr6\t0\t6\t>1>2\n"
CHR19 = "S\t3\tA\nS\t4\tCC\nW\tGRCh38\t0\tchr19\t0\t3\t>3>4\nW\tHG1\t1\tJA1\t0\t2\t>4\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GENOVIZ_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("graphs").mkdir()
    for name in ("chr10", "chr2", "chrX"):
        Path("graphs", f"{name}.gfa").write_text(CHR6)
    Path("graphs", "chr1.GFA.gz").write_bytes(gzip.compress(CHR6.encode()))
    Path("graphs", "notes.txt").write_text("not a graph\n")
    Path("graphs", ".chr3.gfa.part").write_text("S\n")
    Path("all.gfa").write_text(CHR6 + CHR19)
    return tmp_path


def test_a_folder_has_its_graphs_by_number():
    collection = read_collection("graphs")
    assert collection.names == ("chr1", "chr2", "chr10", "chrX")
    assert collection["chr1"].path.name == "chr1.GFA.gz"
    assert {member.n_nodes for member in collection} == {None}  # nothing was read
    assert read_member(collection["chr10"]).n_steps == 2
    with pytest.raises(ParameterError, match="has no graph named 'chr9'; it has chr1, chr2"):
        collection["chr9"]


def test_a_pattern_has_what_fits():
    assert read_collection("graphs/chr?.gfa").names == ("chr2", "chrX")
    with pytest.raises(FileFormatError, match=r"chrQ\*\.gfa: has no graph, needs files that end"):
        read_collection("graphs/chrQ*.gfa")


@pytest.mark.parametrize(
    "part",
    ["chr6", "NC_000006.12", "a/b", "..", ".", "%2F", "a%2Fb", "x y\n", "é|#?&", "chr6.bed"],
)
def test_an_address_is_of_one_graph(part):
    member = GraphMember(part, Path("all.gfa"), part)
    assert GraphMember.at(member.address) == member
    assert GraphMember.at(member.address.resolve()).part == part, "as a link has it"
    assert member.address.parent == member.path
    assert "." not in member.address.name, "no ending of a file"
    assert GraphMember.at(Path("graphs/chr1.GFA.gz")).address == Path("graphs/chr1.GFA.gz")
    assert GraphMember.at(Path("graphs/chr1.GFA.gz")) == GraphMember(
        "chr1", Path("graphs/chr1.GFA.gz")
    )
    assert member.title == f"{part} of all.gfa"
    assert GraphMember.at(Path("graphs/chr2.gfa")).title == "chr2.gfa"


def test_a_list_names_files_and_parts():
    Path("graphs", "list.toml").write_text(
        '[graphs]\none = "chr2.gfa"\nsix = {file = "../all.gbz", part = "chr6"}\n'
    )
    write_gbz(read_graph("all.gfa"), "all.gbz")
    collection = read_collection("graphs/list.toml")
    assert collection.names == ("one", "six")
    assert list(read_member(collection["six"]).node_names) == ["1", "2"]
    # The GBZ says at its beginning how many steps all of it has, of one chromosome it says nothing.
    assert [member.n_steps for member in collection] == [None, None]


def test_a_file_has_its_chromosomes():
    collection = read_collection("all.gfa")
    assert collection.names == ("chr6", "chr19")
    sizes = [(each.n_nodes, each.n_steps, each.length) for each in collection]
    assert sizes == [(2, 2, 6), (2, 3, 3)]
    assert [member.name for member in collection.largest_first] == ["chr19", "chr6"]
    graph = read_member(collection["chr19"])
    assert graph.path_names == ("GRCh38#0#chr19:0-3", "HG1#1#JA1:0-2")
    assert list(graph.node_sequences) == ["A", "CC"]


def test_a_file_with_one_chromosome_is_that():
    (member,) = read_collection("graphs/chr2.gfa")
    assert (member.name, member.part, member.n_steps) == ("chr6", None, 2)


def test_sizes_come_from_the_cache_and_from_gbz(monkeypatch):
    monkeypatch.setattr(file_source, "MIN_BYTES", 1)
    write_gbz(read_graph("all.gfa", cache=False), "graphs/chr20.gbz")
    graph = read_graph("graphs/chr2.gfa")
    members = read_collection("graphs")
    chr2 = members["chr2"]
    assert (chr2.n_nodes, chr2.n_steps, chr2.length) == (2, graph.n_steps, graph.total_length)
    assert members["chrX"].n_nodes is None
    assert (members["chr20"].n_nodes, members["chr20"].n_steps) == (None, 5)
    # A file that has changed is not what the cache knows.
    Path("graphs", "chr2.gfa").write_text(CHR6 + CHR19)
    assert read_collection("graphs")["chr2"].n_nodes is None


def test_several_members_of_a_file_read_it_once(monkeypatch):
    collection = read_collection("all.gfa")
    reader = MemberReader(cache=False)
    first = last_of(reader.iter_read(collection["chr6"])).graph
    Path("all.gfa").unlink()
    second = last_of(reader.iter_read(collection["chr19"])).graph
    assert (first.n_nodes, second.n_nodes) == (2, 2)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graphs = 3", r"list\.toml: has no table \[graphs\], needs one with lines such as"),
        ("[graphs]\n", r"has no table \[graphs\]"),
        ("[graphs]\nchr1 = \n", r"list\.toml: is not TOML: .*line 2"),
        ("[graphs]\nchr1 = 7\n", "'chr1' is 7, needs a file"),
        ('[graphs]\nchr1 = {part = "chr1"}\n', "'chr1' is .*, needs a file"),
        ('[graphs]\nchr1 = {file = "a", what = "b"}\n', "'chr1' is .*, needs a file"),
        ('[graphs]\nchr1 = "no.gfa"\n', r"'chr1' names no\.gfa, and there is no such file"),
        ('[graphs]\nchr1 = "graphs"\n', r"'chr1' names graphs, and there is no such file"),
        ('[graphs]\n"" = "all.gfa"\n', "'' is .*, needs a file"),
    ],
)
def test_a_wrong_list_is_refused_in_a_sentence(text, message):
    Path("list.toml").write_text(text)
    with pytest.raises(FileFormatError, match=message):
        read_collection("list.toml")


def test_what_cannot_be_a_collection_is_refused():
    Path("empty").mkdir()
    with pytest.raises(FileFormatError, match="empty: has no graph, needs files that end in"):
        read_collection("empty")
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_collection("nowhere.gfa")
    with pytest.raises(FileFormatError, match="there is no such file"):
        read_collection("nowhere.toml")
    Path("graphs", "chr2.gbz").write_bytes(b"GBZ ")
    with pytest.raises(ParameterError, match=r"chr2\.gbz and chr2\.gfa would both be named 'chr2'"):
        read_collection("graphs")
    Path("list.toml").write_bytes(b"[graphs]\nchr1 = '\xff'\n")
    with pytest.raises(FileFormatError, match="is not text in UTF-8"):
        read_collection("list.toml")


def test_a_part_that_is_not_there_is_told():
    Path("list.toml").write_text('[graphs]\nten = {file = "all.gfa", part = "chr10"}\n')
    with pytest.raises(
        FileFormatError, match=r"all\.gfa: no chromosome .* is named 'chr10'; there"
    ):
        read_member(read_collection("list.toml")["ten"])


def walk(graph, path):
    handles = graph.path_steps(graph.find_path(path)).tolist()
    return [(graph.node_names[handle >> 1], handle & 1) for handle in handles]


@pytest.mark.parametrize("name", ["gbz/micb-kir3dl1.gbz", "gbz/micb-kir3dl1.gfa.gz"])
def test_two_regions_of_a_real_graph(name):
    path = real_data(name)
    collection = read_collection(path)
    assert collection.names == ("chr6", "chr19")
    graph = read_graph(path, cache=False)
    assert sum(member.n_nodes for member in collection) == graph.n_nodes
    assert sum(member.n_steps for member in collection) == graph.n_steps
    reader = MemberReader(cache=False)
    parts = [last_of(reader.iter_read(member)).graph for member in collection]
    assert sorted(name for part in parts for name in part.path_names) == sorted(graph.path_names)
    for part, member in zip(parts, collection, strict=True):
        assert (part.n_nodes, part.n_steps) == (member.n_nodes, member.n_steps)
        named = {name.contig for name in part.parsed_path_names if name.sample == "GRCh38"}
        assert named == {member.name}
        for path_name in part.path_names[:3]:
            assert walk(part, path_name) == walk(graph, path_name)
