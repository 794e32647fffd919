"""Whatever a file calls its nodes, genes or samples is shown as a text, and never as markup."""

from __future__ import annotations

import ast
import re
from collections import Counter
from html import escape, unescape
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import panel as pn
import panel_material_ui as pmui
import pytest

from genoviz_app.dashboard import Dashboard
from genoviz_app.pages import PAGES
from genoviz_app.pages.pangenome.nodes.card import NodeCard
from genoviz_app.server.people import LOGIN_PAGE, NOT_LISTED
from tests.app.conftest import poll_until
from tests.conftest import ROOT

MARKUP = (
    "<img/src=x/onerror=hit()>",
    "<script>hit()</script>",
    '"><svg/onload=hit()>',
    "'onmouseover='hit()",
    "</td><iframe/src=javascript:hit()>",
)
EVIL_TAGS = {"img", "script", "iframe", "object", "embed", "form", "link", "base", "meta"}


class Reader(HTMLParser):
    """Collects what a name could have made of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.found, self.words = [], ""

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        is_evil = tag in EVIL_TAGS or any(
            name.startswith("on") or "javascript:" in (value or "")
            for name, value in values.items()
        )
        if is_evil:
            self.found.append((tag, values))

    def handle_data(self, data):
        self.words += data


def read(text):
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


@pytest.mark.parametrize("name", MARKUP)
def test_the_reader_sees_what_a_name_could_do(name):
    assert read(f"<td title='{name}'>{name}</td>").found


def hostile(kind: str, number: int) -> str:
    """Return a name of a kind; no two are the same."""
    return f"{kind}{number}{MARKUP[number % len(MARKUP)]}"


def write_all(folder: Path) -> dict[str, str | list[str]]:
    """Write a file of each kind with hostile names; return what a link opens."""
    title = "<img src=x onerror=hit()>"
    nodes = [hostile("node", n) for n in range(5)]
    paths = [hostile("path", n) for n in range(5)]
    graph = folder / f"{title}.gfa"
    walk = ",".join(f"{node}+" for node in nodes)
    graph.write_text(
        "".join(f"S\t{node}\tACGTACGTAC\n" for node in nodes)
        + "".join(f"L\t{one}\t+\t{other}\t+\t0M\n" for one, other in pairwise(nodes))
        + "".join(f"P\t{path}\t{walk}\t*\n" for path in paths)
    )
    annotations = folder / f"{title}.gff3"
    annotations.write_text(
        "".join(
            f"{path}\tx\tgene\t1\t20\t.\t+\t.\tID=g{n};Name={hostile('gene', n)}\n"
            for n, path in enumerate(paths)
        )
    )
    track = folder / f"{title}.bed"
    track.write_text(
        "".join(f"{hostile('contig', n)}\t5\t500\t{hostile('read', n)}\t0\t+\n" for n in range(5))
    )
    genome = folder / f"{title}.fa"
    genome.write_text("".join(f">{hostile('sequence', n)}\n{'ACGTTGCA' * 30}\n" for n in range(5)))
    genotypes = folder / f"{title}2.bed"
    genotypes.write_bytes(b"\x6c\x1b\x01" + bytes([0b11100011, 0b00001011] * 40))
    genotypes.with_suffix(".bim").write_text(
        "".join(f"{1 + n % 3}\t{hostile('variant', n)}\t0\t{n + 1}\tA\tC\n" for n in range(40))
    )
    genotypes.with_suffix(".fam").write_text(
        "".join(f"f{n} {hostile('sample', n)} 0 0 1 {n}.5\n" for n in range(8))
    )
    traits = folder / f"{title}.csv"
    named = ",".join(f'"{hostile("trait", n).replace(chr(34), chr(34) * 2)}"' for n in range(5))
    traits.write_text(
        f"sample,{named}\n"
        + "".join(
            '"{}",{}\n'.format(
                hostile("sample", n).replace('"', '""'), ",".join(str(n + k) for k in range(5))
            )
            for n in range(8)
        )
    )
    return {
        "file": str(graph), "annotations": [str(annotations)], "track": [str(track)],
        "sequences": str(genome), "genotypes": str(genotypes), "phenotypes": str(traits),
    }  # fmt: skip


def markup_of(part) -> list[str]:
    """Return what a part of a page has for the browser to take as markup."""
    if isinstance(part, pn.pane.HTML):
        return [str(part.object or "")]
    if isinstance(part, (pn.pane.Markdown, pmui.Typography, pmui.Alert)):
        text = str(part.object or "")
        made = pn.pane.Markdown(text)._transform_object(text)["object"]
        return [unescape(str(made))]  # as the browser does first
    return []


def shown_on(dashboard):
    """Return all markup of all pages that are made, by the kind of part."""
    for part in dashboard.root.select():
        for text in markup_of(part):
            yield type(part).__name__, text


def words_of(seen):
    """Return all that was to be read."""
    return " ".join(read(text).words for _, text in seen)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What all pages have said, from the first opening until a node was picked."""
    folder = tmp_path_factory.mktemp("hostile")
    dashboard = Dashboard("?" + urlencode(write_all(folder), doseq=True))
    seen = set()

    def look():
        dashboard.poll()
        seen.update(shown_on(dashboard))

    try:
        dashboard.open_first()
        session = dashboard.session
        poll_until(
            look,
            lambda: (
                (
                    (session.opened and session.tracks.files and not session.graphs.is_opening)
                    and (session.indexes.opened and session.genotypes.opened)
                    and session.genotypes.phenotypes
                )
                or session.problem
            ),
        )
        assert session.problem == ""
        session.picked = np.array([1])
        dashboard.deck.show(PAGES[0].slug)
        dashboard.page.dock.show(NodeCard)
        poll_until(look, lambda: "Node node1" in words_of(seen))
        for page in PAGES:
            dashboard.deck.show(page.slug)
            for _ in range(20):
                look()
            poll_until(look, lambda: not session.is_busy)
            look()
        session.complain(f"{MARKUP[0]} is not there.")
        look()
        yield seen
    finally:
        dashboard.close()


def test_no_name_becomes_markup_on_any_page(said):
    found = [(kind, text, read(text).found) for kind, text in said]
    assert [each for each in found if each[-1]] == []


def test_the_names_are_shown_as_they_are(said):
    """Else the test before would see nothing, and say so by passing."""
    words = words_of(said)
    for name in (hostile("node", 1), "<img src=x onerror=hit()>.gfa", f"{MARKUP[0]} is not there"):
        assert name in words


@pytest.mark.parametrize("name", MARKUP)
def test_names_of_groups_uploads_links_and_people_are_texts(name):
    dashboard = Dashboard("?" + urlencode({"file": f"/nowhere/{name}.gfa", "page": name}))
    try:
        dashboard.open_first()
        session = dashboard.session
        poll_until(dashboard.poll, lambda: session.problem and not session.graphs.is_opening)
        session.open_upload(f"{name}.exe", b"")
        session.waiting = f"waiting for other jobs of the group {name}"
        seen = set(shown_on(dashboard))
    finally:
        dashboard.close()
    assert [each for each in seen if read(each[1]).found] == []
    assert f"of the group {name}" in words_of(seen)
    assert f"{name}.exe was not opened".rpartition("/")[2] in words_of(seen)
    page = LOGIN_PAGE.substitute(problem=escape(NOT_LISTED.format(person=name)))
    plain = LOGIN_PAGE.substitute(problem="")
    assert read(page).found == read(plain).found


HTML_PANES = Counter(
    {
        "pages/genotypes": 14,
        "pages/kmers": 13,
        "pages/offtargets": 6,
        "pages/pangenome": 15,
        "pages/quality": 10,
        "pages/tracks": 2,
        "parts/page.py": 1,
        "parts/remote_table.py": 1,
    }
)
"""How many there are in each room."""


def test_every_pane_of_html_is_among_those_that_were_looked_at():
    """Who adds one sees to it that what it shows is escaped, and adds it here."""
    found = Counter()
    for path in sorted((ROOT / "app").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "pn.pane.HTML":
                found["/".join(path.relative_to(ROOT / "app").parts[:2])] += 1
    assert found == HTML_PANES


def test_no_script_of_ours_writes_markup():
    for path in sorted((ROOT / "app").rglob("*.js")):
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", path.read_text()
        ), path
