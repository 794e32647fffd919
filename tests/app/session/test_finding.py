"""What a text may mean in all that a tab has open, and what else is at a place."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from genoviz.analyses.graph.query.annotate import place_annotations
from genoviz.errors import ParameterError
from genoviz.io.intervals.annotations import read_annotations
from genoviz.model import Intervals, PathRegion
from genoviz.model.genotypes.genotypes import VariantTable
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening.companions import OpenAnnotations
from genoviz_app.opening.track_data import TrackData, TrackKind
from genoviz_app.opening.track_features import FeatureTable
from genoviz_app.pages.genotypes.association.snp_facts import variants_highlight
from genoviz_app.pages.tracks.places import known_contig
from genoviz_app.parts.wayfinding import Finder
from genoviz_app.session.finding import (
    MAX_CHOICES,
    Found,
    Openings,
    also_here,
    find_everywhere,
    suggest,
)
from genoviz_app.session.lit_sets import Highlight, LitSet
from genoviz_app.session.session import OpenGraph
from tests.app.conftest import poll_until
from tests.graphs import make_graph

PATHS = ("a#1#chr1:100-110", "b#1#chr1:100-106")


@pytest.fixture
def there(tmp_path):
    """Two haplotypes of chr1 from base 100 on, a gene, a track of chr1, and three SNPs."""
    graph = replace(make_graph([4, 2, 4], [[1, 2, 3], [1, 2]]), path_names=PATHS)
    bed = tmp_path / "genes.bed"
    bed.write_text("a#1#chr1\t102\t105\tGENE1\na#1#chr1\t104\t109\tGENE10\n")
    intervals = Intervals.from_columns(
        ["chr1", "chr7"], [103, 5], [104, 9], names=["peak1", "Peak2"]
    )
    table = FeatureTable.of(intervals)
    data = TrackData(TrackKind.FEATURES, table.intervals, features=table)
    variants = VariantTable(
        centimorgans=np.zeros(3),
        ids=np.array(["rs1", "rs2", "rs30"], object),
        contigs=("chr1",),
        contig_ids=np.zeros(3, np.int32),
        positions=np.array([101, 104, 400]),
        allele1=np.array(["A"] * 3, object),
        allele2=np.array(["C"] * 3, object),
    )
    return Openings(
        graph,
        place_annotations(graph, read_annotations(bed)),
        (SimpleNamespace(data=data),),
        variants,
        (),
    )


def kinds_and_places(found):
    return [(each.kind, str(each.region or each.nodes.tolist())) for each in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", [("node", "[1]")]),
        ("1, 3", [("node", "[0, 2]")]),
        ("a#1#chr1:104-108", [("region", f"{PATHS[0]}:3-8")]),
        ("chr1:102-105", [("region", f"{PATHS[0]}:1-5"), ("region", f"{PATHS[1]}:1-5")]),
        ("chr1:108-109", [("region", f"{PATHS[0]}:7-9")]),
        ("chr7:3-4", [("region", "chr7:2-4")]),
        ("7:3-4", [("region", "chr7:2-4")]),
        ("chr7:3", [("region", "chr7:2-3")]),
        ("gene1", [("gene", f"{PATHS[0]}:2-5"), ("gene", f"{PATHS[0]}:4-9")]),
        ("peak2", [("feature", "chr7:5-9")]),
        ("rs2", [("SNP", "chr1:104-105")]),
        ("gattaca", [("k-mer", "[]")]),
        ("GATTACAGATTACAGATTAC", [("k-mer", "[]"), ("guide", "[]")]),
        ("nothing", []),
    ],
)
def test_a_text_is_found_wherever_it_is(there, text, expected):
    assert kinds_and_places(find_everywhere(there, text)) == expected


def test_a_place_that_nothing_has_is_explained(there):
    with pytest.raises(ParameterError, match="not in the graph"):
        find_everywhere(there, "a#1#chr1:900-1000")
    with pytest.raises(ParameterError, match="first base is 1"):
        find_everywhere(there, "chr7:0-4")


def test_names_of_contigs_that_end_like_positions_are_names(there):
    hla = "HLA-DRB1*15:01:01:01"
    intervals = Intervals.from_columns([hla], [3], [40])
    data = TrackData(TrackKind.READS, intervals)
    tracks = (*there.tracks, SimpleNamespace(data=data))
    there = replace(there, tracks=tracks)
    found = [kinds_and_places(find_everywhere(there, text)) for text in (hla, f"{hla}:5-9")]
    assert found == [[("region", f"{hla}:0-40")], [("region", f"{hla}:4-9")]]


def test_a_snp_on_plinks_chromosome_23_is_on_the_x_of_a_track(there):
    intervals = Intervals.from_columns(["chrX"], [100], [110])
    track = SimpleNamespace(data=TrackData(TrackKind.READS, intervals))
    genotypes = SimpleNamespace(variants=replace(there.variants, contigs=("23",)), n_autosomes=None)
    session = SimpleNamespace(
        opened=None, annotation_files=OpenAnnotations(), chromosomes=(),
        genotypes=SimpleNamespace(opened=SimpleNamespace(genotypes=genotypes)),
        tracks=SimpleNamespace(files=[track]), highlights=SimpleNamespace(sets=()),
    )  # fmt: skip
    there = Openings.of(session)
    (found,) = find_everywhere(there, "rs2")
    assert known_contig(found.region.path, {"chrX": 1000}) == "chrX"
    assert also_here(there, PathRegion("chrX", 100, 110)) == "1 track, 2 SNPs"
    lit = LitSet(variants_highlight(genotypes, np.array([1])), 1, "", "")
    assert lit.stretches("chrX").tolist() == [[104, 105]]


def test_nothing_open_finds_letters_alone():
    empty = Openings(None, None, (), None, ())
    assert [each.kind for each in find_everywhere(empty, "ACGTA")] == ["k-mer"]
    assert find_everywhere(empty, "gene") == ()
    assert suggest(empty, "g") == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gene", [("GENE1", "gene"), ("GENE10", "gene")]),
        ("PEAK", [("peak1", "feature"), ("Peak2", "feature")]),
        ("b#", [(PATHS[1], "path")]),
        ("chr7", [("chr7", "contig")]),
        ("chr1", [("chr1", "contig"), (PATHS[0], "path"), (PATHS[1], "path")]),
        ("rs3", [("rs30", "SNP")]),
        ("3", [("3", "node")]),
        ("chr1:5", []),
        ("", []),
    ],
)
def test_names_are_suggested_with_what_they_are(there, text, expected):
    assert list(suggest(there, text)) == expected


def test_nodes_are_suggested_by_how_their_names_begin(there):
    graph = make_graph([1] * 12, [[1, 2]])
    names = suggest(replace(there, graph=graph, annotations=None), "1")
    assert names == tuple((text, "node") for text in ("1", "10", "11", "12"))


def test_what_else_is_at_a_place_is_counted_on_the_path_and_on_its_contig(there):
    assert also_here(there, PathRegion(PATHS[0], 0, 5)) == "1 track, 2 genes, 2 SNPs"
    assert also_here(there, PathRegion(PATHS[0], 0, 2)) == "1 SNP"
    assert also_here(there, PathRegion(PATHS[0], 9, 10)) == ""


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("gene mRNA exon exon tRNA_gene", "2 genes"),
        ("mRNA exon exon", "1 annotation"),
        ("repeat_region repeat_region", "2 annotations"),
    ],
)
def test_genes_at_a_place_are_counted_without_their_other_rows(there, tmp_path, kinds, expected):
    rows = [f"a#1#chr1\tx\t{kind}\t102\t109\t.\t+\t.\tID=r{i}\n"
            for i, kind in enumerate(kinds.split())]  # fmt: skip
    (tmp_path / "x.gff3").write_text("##gff-version 3\n" + "".join(rows))
    placed = place_annotations(there.graph, read_annotations(tmp_path / "x.gff3"))
    only = Openings(there.graph, placed, (), None, (), ())
    assert also_here(only, PathRegion(PATHS[0], 0, 5)) == expected


def test_the_likeliest_is_gone_to_and_the_others_are_choices(session, there):
    session.opened = OpenGraph("two", "two", there.graph)
    gone = []
    finder = Finder(session, gone.append, list)
    finder.find("chr1:102-105")
    poll_until(session.poll, lambda: gone)
    assert str(gone[0].region) == f"{PATHS[0]}:1-5"
    assert finder.found["choices"] == [f"{PATHS[1]}:2-5 (region)"]
    session.highlights.light_up(Highlight("all", "node", nodes=np.arange(2), graph=there.graph))
    poll_until(session.poll, lambda: session.highlights.sets)
    finder._handle_msg({"act": "choose", "row": 1})
    assert str(gone[1].region) == f"{PATHS[1]}:1-5"
    poll_until(session.poll, lambda: finder.found["also"])
    assert finder.found["also"] == "1 of all"
    finder._handle_msg({"act": "light"})
    poll_until(session.poll, lambda: len(session.highlights.sets) == 2)
    assert session.highlights.sets[1].words == "1 region on 2 nodes, 2 haplotypes"
    finder._handle_msg({"act": "close"})
    assert finder.found == {}


def test_more_than_can_be_chosen_from_is_said(session, there):
    n_paths = 14
    names = tuple(f"s{number}#1#chr1" for number in range(n_paths))
    graph = replace(make_graph([4], [[1]] * n_paths), path_names=names)
    session.opened = OpenGraph("many", "many", graph)
    finder = Finder(session, lambda _: None, list)
    finder.find("chr1:1-2")
    poll_until(session.poll, lambda: finder.found)
    assert len(finder.found["choices"]) == MAX_CHOICES - 1, "the first one is gone to"
    assert "Several match" in finder.found["more"]
    finder.find("s3#1#chr1:1-2")
    poll_until(session.poll, lambda: not finder.found["choices"])
    assert finder.found["more"] == ""


def test_a_link_to_a_place_of_several_contigs_asks_which(session, tmp_path):
    path = tmp_path / "two.gfa"
    path.write_text("S\t1\tACGT\nP\ta#1#chr1\t1+\t*\nP\tb#1#chr1\t1+\t*\n")
    gone = []
    finder = Finder(session, gone.append, list)
    session.open(str(path), region=PathRegion("chr1", 1, 3))
    poll_until(session.poll, lambda: finder.found)
    assert (finder.found["title"], session.problem) == ("chr1:2-3", "")
    assert finder.found["choices"] == ["a#1#chr1:2-3 (region)", "b#1#chr1:2-3 (region)"]
    assert gone == [], "nobody has chosen"
    finder._handle_msg({"act": "choose", "row": 2})
    assert str(gone[0].region) == "b#1#chr1:1-3"
    assert finder.found["choices"] == ["a#1#chr1:2-3 (region)"]
    session.open(str(path), region=PathRegion("chr9", 1, 3))
    poll_until(session.poll, lambda: "chr9" in session.problem)


def test_the_header_leads_to_the_page_that_has_it(graph):
    dashboard = Dashboard("")
    session = dashboard.session
    try:
        session.opened = OpenGraph("small", "small", graph)
        dashboard.deck.show("genotypes")
        dashboard.finder.find("ref:2-3")
        poll_until(dashboard.poll, lambda: session.region == PathRegion("ref", 1, 3))
        assert dashboard.page.slug == "pangenome"
        dashboard.deck.show("tracks")
        dashboard.finder.find("alt:5-9")
        poll_until(dashboard.poll, lambda: session.region == PathRegion("alt", 4, 9))
        assert dashboard.page.slug == "tracks"
        dashboard.finder.find("s3")
        poll_until(dashboard.poll, lambda: session.picked.tolist() == [2])
        assert dashboard.page.slug == "pangenome"
        dashboard.finder.find("GATTACA")
        poll_until(dashboard.poll, lambda: dashboard.page.slug == "kmers")
        assert dashboard.page.query.field.value == "GATTACA"
        dashboard.finder.find("GATTACAGATTACAGATTAC")
        poll_until(dashboard.poll, lambda: dashboard.finder.found.get("choices"))
        dashboard.finder._handle_msg({"act": "choose", "row": 1})
        assert dashboard.page.slug == "offtargets"
        assert "GATTACAGATTACAGATTAC" in dashboard.page.form.guides.value
        dashboard.links.go_to(Found("SNP", "rs1"))
        assert (dashboard.page.slug, dashboard.page.views.slug) == ("genotypes", "association")
    finally:
        dashboard.close()


def test_a_page_and_then_the_region_there_are_one_step_of_the_way_back(graph):
    dashboard = Dashboard("")
    session, bar = dashboard.session, dashboard.bar

    def rests_at(words):
        poll_until(dashboard.poll, lambda: words in bar.shown.get("query", ""))
        return bar.shown["replaces"]

    try:
        session.opened = OpenGraph("small", "small", graph)
        dashboard.deck.show("genotypes")
        assert rests_at("page=genotypes")  # nobody has done anything yet
        bar._handle_msg({})
        dashboard.deck.show("kmers")
        assert not rests_at("page=kmers")
        session.region = PathRegion("ref", 1, 3)  # what the click has led to
        assert rests_at("at=ref:2-3")
        bar._handle_msg({})
        session.region = PathRegion("alt", 4, 9)
        assert not rests_at("at=alt:5-9")
        bar._handle_msg({})
        bar._handle_msg({"query": "?page=genotypes&file=small"})
        poll_until(dashboard.poll, lambda: dashboard.page.slug == "genotypes")
        session.region = PathRegion("ref", 2, 3)
        assert rests_at("at=ref:3-3")
    finally:
        dashboard.close()
