"""What a tab has open is there again after the server was started anew and the page reloaded."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from genoviz.samples import get_sample
from genoviz_app.dashboard import Dashboard
from genoviz_app.opening.files import FileCache
from tests.app.conftest import GFA, poll_until

ANNOTATIONS = "ref\tx\tgene\t1\t6\t.\t+\t.\tID=g1;Name=abc\n"


def open_tab(query):
    """Return a dashboard that has opened all that a link names."""
    dashboard = Dashboard(query)
    dashboard.open_first()
    session = dashboard.session
    poll_until(
        dashboard.poll,
        lambda: (
            session.problem
            or (
                session.opened
                and session.annotation_files.sources
                and session.tracks.files
                and session.indexes.opened
                and session.genotypes.opened
            )
        ),
    )
    assert session.problem == ""
    return dashboard


def state_of(dashboard):
    session = dashboard.session
    return {
        "page": dashboard.deck.page.slug,
        "file": session.opened.source,
        "annotations": session.annotation_files.sources,
        "tracks": session.tracks.sources,
        "sequences": session.indexes.source,
        "genotypes": session.genotypes.source,
        "phenotypes": session.genotypes.phenotypes_source,
        "region": session.region,
    }


@pytest.mark.parametrize("page", ["", "tracks", "kmers", "genotypes"])
def test_a_link_brings_back_what_was_open(page, tmp_path):
    graph, annotations = tmp_path / "a.gfa", tmp_path / "a.gff3"
    graph.write_text(GFA)
    annotations.write_text(ANNOTATIONS)
    query = {
        "file": graph, "annotations": annotations, "track": get_sample("exons"),
        "sequences": get_sample("genome"), "genotypes": "genotypes", "page": page,
    }  # fmt: skip
    first = open_tab("?" + urlencode({key: value for key, value in query.items() if value}))
    poll_until(first.poll, lambda: first.bar.shown)
    before, link = state_of(first), first.bar.shown["query"]
    first.close()
    FileCache.forget_all()  # what the server had in memory
    second = open_tab(link)
    poll_until(second.poll, lambda: second.bar.shown)
    assert state_of(second) == before
    assert second.bar.shown["query"] == link
    second.close()
